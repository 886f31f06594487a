# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what a run left to a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from boundary_env_ros.evidence.dataset import Dataset, write_dataset
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.storage.records import Entry

#: Records that could not be read are named up to this number.
_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """
    What became of an export.

    Attributes
    ----------
    dataset
        The data set.
    unreadable
        Records that are not in it, since they could not be read; the first few.

    """

    dataset: Dataset
    unreadable: tuple[str, ...]


def export_run(
    path: Path,
    out: Path,
    format: str,  # noqa: A002 - the word of the command
    *,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> Exported:
    """
    Write the records of a run as a data set.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.jsonl`` file, or another data set.
    out
        A place where nothing is.
    format
        ``parquet`` or ``jsonl``.
    progress
        Is told how many records are written, and of how many, if that is known.

    Raises
    ------
    RecordError
        If there are no records at the path, something is at ``out``, or it cannot be written.
    MissingDependency
        If what the format needs is not installed.

    """
    run = Run(path)
    total = run.records
    unreadable: list[str] = []

    def entries() -> Iterator[Entry]:
        for piece in run.entries():
            if isinstance(piece, Entry):
                yield piece
            elif len(unreadable) < _NAMED:
                unreadable.append(f'{piece.place}: {piece.why}')

    dataset = write_dataset(
        out,
        format,
        entries(),
        contract=run.contract_text(),
        tear=lambda: run.tear,
        told=lambda done: progress(done, total),
    )
    return Exported(dataset=dataset, unreadable=tuple(unreadable))
