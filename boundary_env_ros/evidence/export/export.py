# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what a run left to a data set."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.export.dataset import write_dataset, write_manifest
from boundary_env_ros.evidence.export.episodes import EpisodeStream, Gaps
from boundary_env_ros.evidence.export.formats import FORMATS, OF_RECORDS, writer_of
from boundary_env_ros.evidence.export.layout import Layout
from boundary_env_ros.evidence.run_files import Progress, Run
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.atomic import new_folder
from boundary_env_ros.storage.recorded_images import RecordedImages


@frozen
class Exported:
    """
    What became of an export.

    Attributes
    ----------
    counts
        How many records of each kind are in it; empty for the layout of another project.
    unreadable
        Records that are not in it, since they could not be read; the first few.
    episodes, steps
        How many are in the layout of another project; 0 for records alone.
    left_out
        What is in the record and not in that layout, one sentence each.

    """

    counts: Mapping[str, int] = field(default_factory=dict)
    unreadable: tuple[str, ...] = ()
    episodes: int = 0
    steps: int = 0
    left_out: tuple[str, ...] = ()


def export_run(
    path: Path,
    out: Path,
    format: str,  # noqa: A002 - the word of the command
    *,
    progress: Progress | None = None,
) -> Exported:
    """
    Write the records of a run as a data set.

    Memory does not grow with the run; for another project, an episode is held at a time.

    Parameters
    ----------
    path
        Run folder, bag or ``.mcap`` file.
    out
        A place where nothing is.
    format
        ``parquet`` or ``jsonl``: the records as they are. ``lerobot`` or ``minari``: the steps as
        that project has them, written by it.
    progress
        Is told how many records were read, and of how many, if that is known. For another project
        they are read once for the labels, and once for each agent.

    Raises
    ------
    RecordError
        If there are no records at the path, or none that the format can hold, something is at
        ``out``, or it cannot be written.
    MissingDependency
        If what the format needs is not installed.

    """
    if format not in FORMATS:
        raise RecordError(f'Unknown format (expected {", ".join(FORMATS)}, got {format!r}).')
    run = Run(path, progress)
    if format in OF_RECORDS:
        counts = write_dataset(
            out, format, run.entries(), contract=run.contract_text(), tear=lambda: run.source.tear
        )
        return Exported(counts=counts, unreadable=tuple(run.unreadable))
    return _export_layout(run, out, format)


def _export_layout(run: Run, out: Path, format_: str) -> Exported:
    contract = run.contract()
    if not contract.action:
        raise RecordError(
            f'{run.path} has no commands of numbers (expected those for {format_}, got documents '
            f'alone). Export it as {" or ".join(OF_RECORDS)}.'
        )
    images, left_out = _images_of(run, contract)
    documents = [group.name for group in contract.documents]
    documents += [spec.name for spec in contract.observation if spec.is_document]
    left_out += [f'the documents of {name!r}' for name in documents]
    episodes = steps = 0
    with new_folder(out, 'a new data set') as draft:
        # First of all: what is not installed is said before anything is read.
        writer = writer_of(format_)(draft, out.name, Layout(contract, images))
        gaps = Gaps()
        try:
            # A label may stand far behind the episode that it is about, or in the index.
            first = run.episodes()
            deque(first, maxlen=0)
            for agent in contract.agents:
                pictures = RecordedImages(run.source, images) if images else None
                stream = EpisodeStream(contract, agent, images, pictures, gaps, first.labels)
                for step in stream.follow(run.entries()):
                    writer.step(step)
                    steps += 1
                    episodes += step.last
            if not steps:
                raise RecordError(
                    f'{run.path} has no step. There is nothing that {format_} could hold.'
                )
            writer.finish()
        finally:
            writer.release()
        left_out += _said(gaps)
        figures = {'episodes': episodes, 'steps': steps, 'left_out': left_out}
        write_manifest(draft, run.contract_text(), {'format': format_, **figures})
    return Exported(
        unreadable=tuple(run.unreadable),
        episodes=episodes,
        steps=steps,
        left_out=tuple(left_out),
    )


def _images_of(run: Run, contract: Contract) -> tuple[tuple[FieldSpec, ...], list[str]]:
    """Return the image fields whose pixels the run has, and what is to be said of the others."""
    types = set(run.topics.values())
    wanted = [spec for spec in contract.observation if spec.is_image]
    absent = [spec for spec in wanted if spec.type not in types]
    said = [
        f'the image field {spec.name!r}: the record has no messages of {spec.topic}'
        for spec in absent
    ]
    return tuple(spec for spec in wanted if spec not in absent), said


def _said(gaps: Gaps) -> list[str]:
    said = []
    if gaps.without_steps:
        said.append(f'{gaps.without_steps} episodes that ended before their first step')
    if gaps.lost_steps:
        said.append(f'{gaps.lost_steps} steps that are missing in the record between others')
    for name, count in gaps.lost_images.items():
        why = gaps.why_lost.get(name, 'the record refers to them and does not have them')
        said.append(f'{count} images of {name!r}: {why}')
    return said
