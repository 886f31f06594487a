# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Exported data sets: the records of a run, one file for each kind, with the contract.

A data set is a folder with ``dataset.json``, which says what is in it, ``contract.yaml``, and the
records as Parquet or as JSON lines. Every record keeps its place among all, so that the data set
can be audited like the run that it comes from; only the raw messages are not in it.

A data set in the layout of another project has one in it, in the folder ``records``, and its own
``dataset.json`` has the hash of every file that the other project reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
import heapq
import json
from pathlib import Path
from typing import Any, Protocol

from boundary_env_ros import __version__
from boundary_env_ros.core.serialization import from_json, to_json
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError, WRONG_INPUT
from boundary_env_ros.evidence.export.parquet_records import (
    LOG_TIME,
    ORDER,
    ParquetWriter,
    read_parquet,
    TOPIC,
)
from boundary_env_ros.storage import limits
from boundary_env_ros.storage.atomic import write_atomically
from boundary_env_ros.storage.new_folder import new_folder
from boundary_env_ros.storage.records import Entry, Record, RECORDS
from boundary_env_ros.storage.yaml_text import MOST_BYTES

FORMATS = ('parquet', 'jsonl')
MANIFEST, CONTRACT = 'dataset.json', 'contract.yaml'


_VERSION = 1
_FILES = {
    'Transition': 'transitions',
    'GateDecision': 'gate_decisions',
    'PrivilegedObservation': 'evaluator_records',
    'ActuationEvidence': 'actuation_evidence',
    'EpisodeStatus': 'episode_statuses',
    'EpisodeLabel': 'episode_labels',
    'ContractDescription': 'contract_descriptions',
}
_CLASSES: dict[str, type[Record]] = {cls.__name__: cls for cls in RECORDS.values()}


class _Writer(Protocol):
    def write(self, order: int, entry: Entry) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """
    An exported data set; made by :func:`open_dataset`.

    Attributes
    ----------
    path
        Its folder.
    format
        ``parquet`` or ``jsonl``.
    counts
        Number of records of each kind.
    tear
        Where the record that it comes from ended before its end; empty if it was whole.

    """

    path: Path
    format: str
    counts: dict[str, int]
    tear: str = ''

    @property
    def contract(self) -> str:
        """Return the text of the contract; empty if it was not known."""
        file = self.path / CONTRACT
        if not file.is_file():
            return ''
        return limits.read_file(file, MOST_BYTES).decode(errors='replace')

    def entries(self) -> Iterator[Entry]:
        """
        Yield the records in the order of the run.

        Raises
        ------
        RecordError
            If a file is missing, or is not what it claims to be.

        """
        for _, entry in heapq.merge(*map(self._read, self.counts), key=lambda pair: pair[0]):
            yield entry

    def _read(self, kind: str) -> Iterator[tuple[int, Entry]]:
        cls, file = _CLASSES[kind], self.path / f'{_FILES[kind]}.{self.format}'
        if not file.is_file():
            raise RecordError(
                f'The data set {self.path} has no {file.name}. Export the run again.'
            )
        found, expected = 0, self.counts[kind]
        records = read_parquet(file, cls) if self.format == 'parquet' else _read_lines(file, cls)
        for order, entry in records:
            found += 1
            yield order, entry
        if found != expected:
            raise RecordError(
                f'{file.name} is not whole (expected {expected} records, as {MANIFEST} says, '
                f'got {found}).'
            )


def open_dataset(path: Path) -> Dataset | None:
    """
    Return the data set in a folder; None if there is none.

    Raises
    ------
    RecordError
        If there is one that cannot be read.

    """
    manifest = path / MANIFEST
    if not manifest.is_file():
        return None
    try:
        data = json.loads(limits.read_file(manifest, limits.TEXT))
        if 'steps' in data:
            raise RecordError(
                f'{path} holds steps for {data["format"]} and no records. '
                'Name the run that it was exported from.'
            )
        counts = {str(kind): int(count) for kind, count in data['records'].items()}
        if data['dataset'] != _VERSION or data['format'] not in FORMATS:
            raise ValueError(f'version {data["dataset"]}, format {data["format"]!r}')
        if not set(counts) <= set(_CLASSES):
            raise ValueError(f'records {", ".join(set(counts) - set(_CLASSES))}')
        return Dataset(path=path, format=data['format'], counts=counts, tear=str(data['tear']))
    except (*WRONG_INPUT, OSError, RecursionError) as error:
        raise RecordError(
            f'This version cannot read the data set: {manifest}: {type(error).__name__}: {error}.'
        ) from error


def write_dataset(
    path: Path,
    format: str,  # noqa: A002 - the word of the command
    entries: Iterator[Entry],
    *,
    contract: str,
    tear: Callable[[], str] = lambda: '',
) -> Dataset:
    """
    Write a data set; it is there whole, or not at all.

    Parameters
    ----------
    path
        A place where nothing is.
    format
        ``parquet`` or ``jsonl``.
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
    if format not in FORMATS:
        raise RecordError(f'Unknown format (expected {", ".join(FORMATS)}, got {format!r}).')
    with new_folder(path, 'a new data set') as draft:
        counts = _write_records(draft, format, entries)
        if contract:
            write_atomically(draft / CONTRACT, contract.encode())
        dataset = Dataset(path=path, format=format, counts=counts, tear=tear())
        write_manifest(draft, {'format': format, 'records': counts, 'tear': dataset.tear})
    return dataset


def write_manifest(folder: Path, data: Mapping[str, object]) -> None:
    """Write what is said of a data set beside its files."""
    manifest = {'dataset': _VERSION, 'software_version': __version__, **data}
    write_atomically(folder / MANIFEST, f'{json.dumps(manifest, indent=2)}\n'.encode())


def _write_records(folder: Path, format_: str, entries: Iterator[Entry]) -> dict[str, int]:
    counts: dict[str, int] = {}
    writers: dict[str, _Writer] = {}
    with ExitStack() as files:

        def writer_of(kind: str) -> _Writer:
            if kind not in writers:
                file = folder / f'{_FILES[kind]}.{format_}'
                writer: _Writer = (
                    ParquetWriter(file, _CLASSES[kind])
                    if format_ == 'parquet'
                    else _LineWriter(file)
                )
                files.callback(writer.close)
                writers[kind] = writer
            return writers[kind]

        writer_of(Transition.__name__)
        counts[Transition.__name__] = 0
        for order, entry in enumerate(entries):
            kind = type(entry.record).__name__
            writer_of(kind).write(order, entry)
            counts[kind] = counts.get(kind, 0) + 1
    return counts


# JSON lines --------------------------------------------------------------------------------------


class _LineWriter:
    """A file of records, one line of strict JSON each."""

    def __init__(self, path: Path) -> None:
        self._file = path.open('xb')

    def write(self, order: int, entry: Entry) -> None:
        row = {ORDER: order, LOG_TIME: entry.log_time, TOPIC: entry.topic}
        row.update(to_json(entry.record))
        text = json.dumps(row, allow_nan=False, separators=(',', ':'))
        self._file.write(text.encode('ascii') + b'\n')

    def close(self) -> None:
        self._file.close()


def _read_lines(path: Path, cls: type[Record]) -> Iterator[tuple[int, Entry]]:
    for number, line in enumerate(limits.read_lines(path), 1):
        where = f'{path.name}, line {number}'
        try:
            row: dict[str, Any] = json.loads(line)
            order, log_time = int(row.pop(ORDER)), int(row.pop(LOG_TIME))
            topic = str(row.pop(TOPIC))
            record: Record = from_json(cls, row, where)
        except (*WRONG_INPUT, RecursionError) as error:
            raise RecordError(f'{where}: not a record as strict JSON: {error}.') from error
        yield order, Entry(record, topic, log_time, path, number)
