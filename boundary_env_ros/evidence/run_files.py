# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The records of a run as its judges need them: bad ones passed over, with the contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.serialization import from_message
from boundary_env_ros.core.task import Task
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import ContractError, RecordError
from boundary_env_ros.storage.contract_file import loads, make_task
from boundary_env_ros.storage.jsonl import is_torn, load_line
from boundary_env_ros.storage.reader import open_records
from boundary_env_ros.storage.records import ContractDescription, Record, RECORDS, RecordSource
from boundary_env_ros.storage.run_folder import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """
    A record that could not be read.

    Attributes
    ----------
    place
        File and number, or line.
    why
        What is wrong with it.

    """

    place: str
    why: str


def read_all(path: Path) -> Iterator[Record | Unreadable]:
    """
    Yield every record of a run in its order, and for each that cannot be read, why.

    Raises
    ------
    RecordError
        If there are no records at the path at all.

    """
    source = open_records(path)
    if is_lines(source):
        yield from read_lines(source.path)
        return
    passed = 0
    try:
        for entry in source.entries():
            passed += 1
            yield entry.record
    except RecordError:
        # The fast way ends at the first bad record; the slow one goes on behind it.
        yield from _read_messages(source, passed)


def is_lines(source: RecordSource) -> bool:
    """Return whether a source is a file of JSON lines."""
    return source.path.is_file() and source.path.suffix == '.jsonl'


def read_lines(path: Path) -> Iterator[Transition | Unreadable]:
    """Yield the transitions of a file of JSON lines, and for each bad line, why."""
    torn = is_torn(path)
    with path.open('rb') as file:
        line = file.readline()
        number = 0
        while line:
            number += 1
            following = file.readline()
            if following or not torn:
                where = f'{path.name}, line {number}'
                try:
                    yield load_line(line, where)
                except RecordError as error:
                    why = str(error).removeprefix(where).removeprefix(': ')
                    yield Unreadable(place=where, why=why)
            line = following


def _read_messages(source: RecordSource, passed: int) -> Iterator[Record | Unreadable]:
    """Yield what comes after the first few records, one message at a time."""
    topics = {topic.name for topic in source.overview().topics if topic.type in RECORDS}
    number = 0
    try:
        for message in source.messages(topics):
            number += 1
            if number <= passed:
                continue
            try:
                yield from_message(RECORDS[message.type], message.decode())
            except RecordError as error:
                yield Unreadable(place=f'{message.topic}, record {number}', why=str(error))
    except RecordError as error:
        yield Unreadable(place=f'behind record {number}', why=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """
    The contract that a record was made under.

    Attributes
    ----------
    contract, task
        The contract, and its task; None if they are not known.
    problem
        Why not, where that is the fault of the record.

    """

    contract: Contract | None = None
    task: Task | None = None
    problem: str = ''


def terms_of(path: Path) -> Terms:
    """
    Return the contract of a run: the copy in its folder, or the one that its bag carries.

    Raises
    ------
    RecordError
        If there are no records at the path.

    """
    source = open_records(path)
    text = _text(path, source)
    if not text:
        return Terms()
    try:
        contract = loads(text, source=f'the contract of {path}', pacing=_pacing(path)).contract
    except ContractError as error:
        return Terms(problem=str(error))
    return with_task(contract)


def with_task(contract: Contract | None) -> Terms:
    """Return a contract with its task, if that is installed."""
    if contract is None:
        return Terms()
    try:
        return Terms(contract=contract, task=make_task(contract))
    except ContractError:
        return Terms(contract=contract)


def folder_of(path: Path) -> RunFolder | None:
    """Return the run folder that a path is, or lies in; None if there is none around it."""
    for place in (path, path.parent, path.parent.parent):
        run = RunFolder(place)
        if run.contract.is_file() and run.has_records:
            return run
    return None


def _text(path: Path, source: RecordSource) -> str:
    run = folder_of(path)
    if run is not None:
        try:
            return run.contract.read_text(encoding='utf-8', errors='replace')
        except OSError as error:
            raise RecordError(
                f'Expect to read {run.contract}, actually: {error.strerror or error}.'
            ) from error
    try:
        described = next(source.records(ContractDescription), None)
    except RecordError:
        return ''
    return '' if described is None else described.text


def _pacing(path: Path) -> Pacing | None:
    """Return the pacing of the run, which may have been chosen apart from the contract's file."""
    first = next((r for r in read_all(path) if isinstance(r, Transition)), None)
    return None if first is None else first.pacing
