# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what a run left to a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.environment.episode_label import EpisodeLabel
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.episodes import Key
from boundary_env_ros.evidence.export.dataset import (
    CONTRACT,
    FORMATS,
    write_dataset,
    write_manifest,
)
from boundary_env_ros.evidence.export.episodes import EpisodeStream, Gaps, Head, Step
from boundary_env_ros.evidence.export.layout import Layout
from boundary_env_ros.evidence.run_files import labels_in_index, Run
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.contract_file import LoadedContract, loads
from boundary_env_ros.storage.new_folder import new_folder
from boundary_env_ros.storage.recorded_images import RecordedImages
from boundary_env_ros.storage.records import Entry

#: The layouts of other projects, and who writes them.
LAYOUTS = {
    'lerobot': 'boundary_env_ros.evidence.export.lerobot:LeRobotWriter',
    'minari': 'boundary_env_ros.evidence.export.minari:MinariWriter',
}

ALL_FORMATS = (*FORMATS, *LAYOUTS)

#: Records that could not be read are named up to this number.
_NAMED = 20

Told = Callable[[int, int | None], None]


class LayoutWriter(Protocol):
    """Writes the steps of a run in the layout of another project, into an empty folder."""

    def begin(self, head: Head) -> None:
        """Begin an episode."""

    def step(self, step: Step) -> None:
        """Write a step; the last one of its episode ends it."""

    def finish(self) -> None:
        """Write what stands beside the episodes."""

    def release(self) -> None:
        """Let go of the files, finished or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    contract: LoadedContract | None = None,
    progress: Told = lambda done, total: None,
) -> Exported:
    """
    Write the records of a run as a data set.

    Memory does not grow with the run; for another project, an episode is held at a time.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.jsonl`` file.
    out
        A place where nothing is.
    format
        ``parquet`` or ``jsonl``: the records as they are. ``lerobot`` or ``minari``: the steps as
        that project has them, written by it.
    contract
        Contract that the run was made under, if it has no copy of it, as JSON lines have none.
    progress
        Is told how many records were read, and of how many, if that is known. For another project
        they are read once for the labels, and once for each agent.

    Raises
    ------
    RecordError
        If there are no records at the path, or none that the format can hold, they were made under
        another contract, something is at ``out``, or it cannot be written.
    MissingDependency
        If what the format needs is not installed.

    """
    if format not in ALL_FORMATS:
        raise RecordError(f'Unknown format (expected {", ".join(ALL_FORMATS)}, got {format!r}).')
    run = Run(path, '' if contract is None else contract.text)
    if contract is not None:
        _check_contract(run, contract)
    reading = _Reading(run, progress)
    if format in FORMATS:
        counts = write_dataset(
            out, format, reading.entries(), contract=run.contract_text(), tear=lambda: run.tear
        )
        return Exported(counts=counts, unreadable=reading.unreadable)
    return _export_layout(run, out, format, reading)


class _Reading:
    """Reads the records of a run, once or more, and says how far it is."""

    def __init__(self, run: Run, progress: Told) -> None:
        self._run, self._progress = run, progress
        self._done = 0
        self._total = run.records
        self._unreadable: list[str] = []
        # An episode that was labelled later has its labels in the index of the run.
        self.labels: dict[Key, list[EpisodeLabel]] = {}
        for label in labels_in_index(run.path):
            self._label(label)

    @property
    def unreadable(self) -> tuple[str, ...]:
        return tuple(self._unreadable)

    def again(self, times: int) -> None:
        """Say that all will be read so many times more."""
        self._total = None if self._total is None else self._total * (1 + times)

    def told(self) -> None:
        self._done += 1
        self._progress(self._done, self._total)

    def _label(self, label: EpisodeLabel) -> None:
        known = self.labels.setdefault((label.id.agent, label.id.episode_id), [])
        if label not in known:
            known.append(label)

    def entries(self) -> Iterator[Entry]:
        for piece in self._run.entries():
            self.told()
            if isinstance(piece, Entry):
                if isinstance(piece.record, EpisodeLabel):
                    self._label(piece.record)
                yield piece
            elif len(self._unreadable) < _NAMED:
                self._unreadable.append(f'{piece.place}: {piece.why}')


def _export_layout(run: Run, out: Path, format_: str, reading: _Reading) -> Exported:
    contract = _contract_of(run)
    reading.again(len(contract.agents))
    images, left_out = _images_of(run, contract)
    episodes = steps = 0
    with new_folder(out, 'a new data set') as draft:
        module, _, name = LAYOUTS[format_].partition(':')
        make: Any = getattr(import_module(module), name)
        # First of all: what is not installed is said before anything is read.
        writer: LayoutWriter = make(draft, out.name, Layout(contract, images))
        gaps = Gaps()
        try:
            # A label may stand far behind the episode that it is about.
            for _ in reading.entries():
                pass
            for agent in contract.agents:
                stream = EpisodeStream(
                    contract, agent, images, _pictures(run, images), gaps, reading.labels
                )
                for piece in stream.follow(run.entries(), reading.told):
                    if isinstance(piece, Head):
                        writer.begin(piece)
                        episodes += 1
                    else:
                        writer.step(piece)
                        steps += 1
            if not steps:
                raise RecordError(
                    f'{run.path} has no step. There is nothing that {format_} could hold.'
                )
            writer.finish()
        finally:
            writer.release()
        left_out += _said(gaps)
        figures = {'episodes': episodes, 'steps': steps, 'left_out': left_out}
        write_manifest(draft, {'format': format_, **figures})
        write_atomically(draft / CONTRACT, run.contract_text().encode())
    return Exported(
        unreadable=reading.unreadable,
        episodes=episodes,
        steps=steps,
        left_out=tuple(left_out),
    )


def _check_contract(run: Run, contract: LoadedContract) -> None:
    first = run.first_transition()
    if first is None:
        return
    # The pacing may have been chosen apart from the file.
    digest = loads(contract.text, pacing=first.pacing).digest
    if first.id.digest != digest:
        raise RecordError(
            f'{run.path} was made under another contract (expected {first.contract} '
            f'{first.contract_version}, {first.id.digest}, got {contract.contract.name} '
            f'{contract.contract.version}, {digest}).'
        )


def _contract_of(run: Run) -> Contract:
    terms = run.terms()
    if terms.contract is None:
        raise RecordError(
            f'{run.path} has no contract, which says what is observed and done '
            f'(got {terms.problem or "none"}). Name it with --contract, or the run folder instead.'
        )
    return terms.contract


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


def _pictures(run: Run, images: tuple[FieldSpec, ...]) -> RecordedImages | None:
    return RecordedImages(run.source, images) if images else None


def _said(gaps: Gaps) -> list[str]:
    said = []
    if gaps.without_steps:
        said.append(f'{gaps.without_steps} episodes that ended before their first step')
    if gaps.lost_steps:
        said.append(f'{gaps.lost_steps} steps that are missing in the record between others')
    for name, count in gaps.lost_images.items():
        said.append(f'{count} images of {name!r} that the record refers to and does not have')
    return said
