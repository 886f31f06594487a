# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The records of a run as Parquet or as JSON lines: one file for each kind, with the contract.

Beside the files stand ``contract.yaml``, and ``dataset.json``, which says what is in them. In
Parquet every record has its place among all, its log time and its topic, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
import json
from pathlib import Path

from boundary_env_ros import __version__
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeStatus
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.evidence.export.formats import FORMATS
from boundary_env_ros.evidence.export.writer import NumberedEntry, RecordWriter
from boundary_env_ros.storage.atomic import new_folder, write_atomically
from boundary_env_ros.storage.records import ContractDescription, Entry, Record

MANIFEST, CONTRACT = 'dataset.json', 'contract.yaml'

_VERSION = 1
_FILES: Mapping[type[Record], str] = {
    Transition: 'transitions',
    GateDecision: 'gate_decisions',
    PrivilegedObservation: 'privileged_observations',
    ActuationEvidence: 'actuation_evidence',
    EpisodeStatus: 'episode_statuses',
    EpisodeLabel: 'episode_labels',
    ContractDescription: 'contract_descriptions',
}


def write_dataset(
    path: Path,
    format: str,  # noqa: A002 - the word of the command
    entries: Iterator[Entry],
    *,
    contract: str,
    tear: Callable[[], str] = lambda: '',
) -> dict[str, int]:
    """
    Write a data set; it is there whole, or not at all.

    Returns how many records of each kind are in it.

    Parameters
    ----------
    path
        A place where nothing is.
    format
        One of :data:`~boundary_env_ros.evidence.export.formats.OF_RECORDS`.
    entries
        The records, in their order.
    contract
        Text of the contract; empty if it is not known.
    tear
        Returns where the record ended before its end, once it was read through.

    Raises
    ------
    RecordError
        If something is at the path already, or it cannot be written.
    MissingDependency
        If what the format needs is not installed.

    """
    with new_folder(path, 'a new data set') as draft:
        counts = _write_records(draft, format, entries)
        write_manifest(draft, contract, {'format': format, 'records': counts, 'tear': tear()})
    return counts


def write_manifest(folder: Path, contract: str, data: Mapping[str, object]) -> None:
    """Write what is said of a data set beside its files, and the contract if it is known."""
    if contract:
        write_atomically(folder / CONTRACT, contract.encode())
    manifest = {'dataset': _VERSION, 'software_version': __version__, **data}
    write_atomically(folder / MANIFEST, f'{json.dumps(manifest, indent=2)}\n'.encode())


def _write_records(folder: Path, format_: str, entries: Iterator[Entry]) -> dict[str, int]:
    make = FORMATS[format_].writer()
    writers: dict[type[Record], RecordWriter] = {}
    counts: dict[str, int] = {}
    with ExitStack() as files:

        def file_of(cls: type[Record]) -> RecordWriter:
            if cls not in writers:
                writers[cls] = make(folder / f'{_FILES[cls]}.{format_}', cls)
                files.callback(writers[cls].release)
                counts[cls.__name__] = 0
            return writers[cls]

        file_of(Transition)
        for order, entry in enumerate(entries):
            cls = type(entry.record)
            file_of(cls).write(NumberedEntry(order, entry))
            counts[cls.__name__] += 1
        for writer in writers.values():
            writer.finish()
    return counts


class LineWriter(RecordWriter):
    """A file of records, one line of strict JSON each."""

    def __init__(self, path: Path, cls: type[Record]) -> None:
        self._file = path.open('xb')

    def write(self, item: NumberedEntry, /) -> None:
        """Write one record."""
        text = json.dumps(to_json(item.entry.record), allow_nan=False, separators=(',', ':'))
        self._file.write(text.encode('ascii') + b'\n')

    def release(self) -> None:
        """Close the file."""
        self._file.close()
