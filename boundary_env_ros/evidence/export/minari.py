# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Minari data sets (HDF5), written by Minari."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
import re
from typing import Any

from gymnasium import spaces
import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import MissingDependency, needed
from boundary_env_ros.evidence.export.dataset_steps import DatasetObservation, DatasetStep
from boundary_env_ros.evidence.export.layout import about, choices, Layout
from boundary_env_ros.evidence.export.writer import StepWriter
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract_spaces import action_space, field_space, NUMBERS


def dataset_id(name: str) -> str:
    """Return the id of a data set in a folder of that name; the same, if it can be one."""
    if re.fullmatch(r'[-_\w]+-v\d+', name):
        return name
    return re.sub(r'[^-_\w]', '_', name).strip('-') + '-v0'


class MinariWriter(StepWriter):
    """
    A data set that is being written; it holds one episode at a time.

    Parameters
    ----------
    folder
        Where it goes; empty. Minari looks for data sets in ``data`` below.
    name
        Name of the data set; see :func:`dataset_id`.
    layout
        Its columns.

    Raises
    ------
    MissingDependency
        If Minari with h5py is not installed.

    """

    def __init__(self, folder: Path, name: str, layout: Layout) -> None:
        with needed('Minari writes its data sets', 'pip install "minari[hdf5]>=0.5.4" Pillow'):
            # Minari asks for these when it has written a part.
            import h5py  # noqa: F401
            import minari
            from minari.data_collector import EpisodeBuffer
            from minari.dataset.minari_storage import MinariStorage
            import PIL.Image  # noqa: F401
        if not hasattr(MinariStorage, 'jpeg_encoding'):
            raise MissingDependency(
                f'Expected Minari 0.5.4 or later, which keeps images without loss, got '
                f'{minari.__version__}. Install it with `pip install "minari[hdf5]>=0.5.4"`.'
            )
        self._layout = layout
        self._buffer: Any = EpisodeBuffer
        self._storage: Any = MinariStorage.new(
            # Minari, summing the sizes of its files, joins a relative path to itself.
            (folder / 'data').absolute(),
            spaces.Dict({s.name: field_space(s) for s in (*layout.numbers, *layout.images)}),
            # Of the record: doubles, and one action a step.
            action_space(replace(layout.contract, documents=()), dtype=np.float64, horizon=1),
            jpeg_encoding=False,
        )
        self._storage.update_metadata(
            {
                'dataset_id': dataset_id(name),
                'minari_version': minari.__version__,
                'description': layout.description,
                'contract': layout.contract.name,
                'contract_version': layout.contract.version,
                'columns': {column.name: column.text for column in layout.columns},
            }
        )
        self._episodes = 0
        self._rows: dict[str, Any] = {}

    def write(self, step: DatasetStep, /) -> None:
        """Take a step; the last one of its episode writes it."""
        layout, rows = self._layout, self._rows
        if not rows:
            self._see(step.before, {column.name: column.fill for column in layout.of_step})
        self._see(step.after, layout.step_values(step))
        _append(rows, 'actions', self._action(step))
        _append(rows, 'rewards', step.transition.reward)
        _append(rows, 'terminations', step.terminated)
        _append(rows, 'truncations', step.truncated)
        if step.last:
            self._write_episode(about(step))

    def _write_episode(self, metadata: dict[str, Any]) -> None:
        metadata['seed'] = np.uint64(metadata['seed'])
        self._storage.update_episodes([self._buffer(**self._rows)])
        self._storage.update_episode_metadata([metadata], [self._episodes])
        self._episodes += 1
        self._rows = {}

    def _see(self, seen: DatasetObservation, values: Mapping[str, Any]) -> None:
        layout = self._layout
        _append(self._rows, 'observations', layout.observation(seen) | layout.pixels(seen))
        _append(self._rows, 'infos', {**values, **layout.observation_values(seen)})

    def _action(self, step: DatasetStep) -> Any:
        groups = self._layout.contract.action
        if len({group.kind in NUMBERS for group in groups}) == 1:
            return _action(groups, step.applied)
        found, start = {}, 0
        for group in groups:
            part = step.applied[start : start + group.action_size]
            start += group.action_size
            found[group.name] = _action((group,), part)
        return found


def _action(groups: Sequence[ActionSpec], applied: Vector) -> Any:
    """Return the action of groups that are all numbers, or all choices."""
    if groups[0].kind in NUMBERS:
        return np.asarray(applied)
    one = len(groups) == 1 and groups[0].kind is ActionKind.DISCRETE
    return choices(applied)[0 if one else slice(None)]


def _append(rows: dict[str, Any], name: str, value: Any) -> None:
    """Append a value to a column; a mapping has a column for each of its names."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _append(rows.setdefault(name, {}), key, inner)
    else:
        rows.setdefault(name, []).append(value)
