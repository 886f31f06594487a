# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps as Rerun shows them: images, the action four ways, verdicts, stages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.explain import sentences
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.sources.images import as_rgb, Image
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import needed

_ACTIONS = ('requested', 'admitted', 'commanded', 'measured')


class RerunLog:
    """
    A recording of Rerun that steps are added to.

    Parameters
    ----------
    contract
        The contract, for names and the meaning of pixels.
    path
        File to write (``.rrd``); None: open a viewer, and show the steps as they come.

    Raises
    ------
    MissingDependency
        If Rerun is not installed.

    """

    def __init__(self, contract: Contract, path: Path | None = None) -> None:
        with needed('Rerun shows it', "pip install 'boundary_env_ros[rerun]'"):
            import rerun
        self._rerun, self._contract = rerun, contract
        self._fields = {spec.name: spec for spec in contract.observation}
        self._stream = rerun.RecordingStream('boundary_env_ros')
        if path is None:
            self._stream.spawn()
        else:
            self._stream.save(path)
        for agent in contract.agents:
            for stage in _ACTIONS:
                names = [f'{stage} {dimension}' for dimension in contract.command_dimensions]
                lines = rerun.SeriesLines(names=names)
                self._stream.log(f'{agent}/action/{stage}', lines, static=True)

    def add(self, step: Transition, images: Mapping[str, Image]) -> None:
        """
        Add one step of an agent.

        Parameters
        ----------
        step
            Its record.
        images
            Pixels of the image fields that are known, by name.

        """
        rerun, log = self._rerun, self._stream.log
        self._stream.set_time('ros_time', timestamp=step.closed.ros.nanoseconds / NANOSECONDS)
        self._stream.set_time('step', sequence=step.id.step)
        agent = step.id.agent
        for field in step.after:
            spec = self._fields.get(field.name)
            if spec is not None and field.name in images:
                pixels = as_rgb(spec, images[field.name])
                log(f'{agent}/observation/{field.name}', rerun.Image(pixels).compress())
            elif field.values:
                log(f'{agent}/observation/{field.name}', rerun.Scalars(field.values))
        for stage in _ACTIONS:
            values = getattr(step, f'{stage}_action')
            if values:
                log(f'{agent}/action/{stage}', rerun.Scalars(values))
        log(f'{agent}/reward', rerun.Scalars(step.reward))
        for part in fields(step.latency):
            duration = getattr(step.latency, part.name).duration
            if duration is not None:
                log(f'{agent}/latency/{part.name}', rerun.Scalars(duration))
        for decision in step.decisions:
            if decision.verdict is not Verdict.ADMITTED:
                why = ' '.join(sentences(decision, self._contract))
                log(
                    f'{agent}/gate', rerun.TextLog(f'{decision.verdict.name}: {why}', level='WARN')
                )
        if step.ending:
            log(f'{agent}/gate', rerun.TextLog(f'ended: {step.ending}', level='INFO'))

    def close(self) -> None:
        """Write what is left."""
        self._stream.flush()
        self._stream.disconnect()
