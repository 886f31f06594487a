# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records from wherever a run left them: a run folder, a bag of any storage, a file.

Everything streams: one chunk is in memory at a time. Records come in the order in
which they were written. What a crash left unfinished is read up to where it is torn, and the
source says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
import re
from typing import Final

from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.bag_metadata import METADATA
from boundary_env_ros.storage.cdr import Decoder, record_decoder
from boundary_env_ros.storage.decoding import message_decoder, MSG, readable
from boundary_env_ros.storage.mcap_scan import Channel, MAGIC
from boundary_env_ros.storage.records import (
    AnotherFormat,
    ContractDescription,
    Entry,
    Follow,
    FORMAT,
    Message,
    MessageDecoder,
    Piece,
    Record,
    RECORDS,
    RecordSource,
    Unreadable,
)
from boundary_env_ros.storage.rosbag2 import Bag, open_bag
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.sqlite_bag import SQLITE
from boundary_env_ros.storage.transition_json import read_transition

__all__ = [
    'ContractDescription',
    'Entry',
    'Message',
    'Record',
    'RecordSource',
    'open_records',
]

_FORMAT: Final = re.compile(rb'\bFORMAT\s*=\s*(\d+)')
_WAY_OUT: Final = (
    'Name a run folder, a rosbag2 folder, or a file: .mcap, .db3, or .json of a transition.'
)


class _BagSource(RecordSource):
    """The files of a bag, one after the other."""

    def __init__(self, path: Path, bag: Bag) -> None:
        self.path = path
        self._bag = bag
        self._files = bag.files

    @property
    def tear(self) -> str:
        """Return where the files are torn."""
        return self._bag.tear

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Return the log times between which messages were damaged."""
        return self._bag.holes

    def read(
        self,
        classes: Collection[type[Record]],
        topics: Collection[str] | None,
        follow: Follow | None = None,
    ) -> Iterator[Piece]:
        """Yield records and messages as they stand in the files."""
        types = {name for name, cls in RECORDS.items() if cls in classes}
        records: dict[tuple[str, bytes], Decoder[Record]] = {}
        messages: dict[tuple[str, bytes], MessageDecoder] = {}
        for file in self._files:
            numbers: dict[str, int] = {}
            for channel, log_time, publish_time, data in file.messages(
                lambda channel: (
                    follow is not None
                    or channel.type in types
                    or topics is None
                    or channel.topic in topics
                ),
            ):
                if follow is not None:
                    follow(channel, log_time, publish_time, data)
                topic, kind = channel.topic, channel.type
                key = (kind, channel.definition)
                if topics is None or topic in topics:
                    if key not in messages:
                        messages[key] = message_decoder(channel)
                    decoder = messages[key]
                    yield Message(topic, kind, log_time, publish_time, data, decoder)
                if kind not in types:
                    continue
                number = numbers[topic] = numbers.get(topic, 0) + 1
                if key not in records:  # for the whole bag, so not told of each message
                    _refuse_another_format(channel, file.path)
                try:
                    if key not in records:
                        records[key] = record_decoder(RECORDS[kind], kind, readable(channel))
                    record = records[key](data)
                except RecordError as error:
                    yield Unreadable(place=f'{file.path.name}:{topic}#{number}', why=str(error))
                else:
                    yield Entry(record, topic, log_time, file.path, number)

    def topics(self) -> dict[tuple[str, str], int]:
        """Return the number of messages in the files by topic and type."""
        counts: Counter[tuple[str, str]] = Counter()
        for contents in (file.contents() for file in self._files):
            for channel, count in contents.counts.items():
                counts[channel.topic, channel.type] += count
        return dict(sorted(counts.items()))


def _refuse_another_format(channel: Channel, file: Path) -> None:
    """Raise if a record was written with other messages: its definition has that of StepId."""
    if channel.definition_encoding != MSG or RECORDS[channel.type] is ContractDescription:
        return
    said = _FORMAT.search(channel.definition)
    found = int(said[1]) if said else 0
    if found != FORMAT:
        raise AnotherFormat(
            f'{file.name} has records of another format (expected {FORMAT}, got {found}). Read it '
            f'with {"a later" if found > FORMAT else "the earlier"} version of boundary_env_ros.'
        )


class _LoneTransition(RecordSource):
    """A file of one transition."""

    tear = ''

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(
        self,
        classes: Collection[type[Record]],
        topics: Collection[str] | None,
        follow: Follow | None = None,
    ) -> Iterator[Piece]:
        """Yield the transition, if it is wanted."""
        if topics is None or (topics and not classes):
            raise RecordError(
                f'{self.path} holds a transition only, no messages. Name the run folder or its '
                'bag.'
            )
        if Transition not in classes:
            return
        try:
            found = read_transition(self.path)
        except RecordError as error:
            why = str(error).removeprefix(f'{self.path.name}: ')
            yield Unreadable(place=self.path.name, why=why)
        else:
            yield Entry(found, '', found.closed.ros.nanoseconds, self.path, 1)

    def topics(self) -> dict[tuple[str, str], int]:
        """Return nothing: it has no topics."""
        return {}


def open_records(path: Path) -> RecordSource:
    """
    Open the records of a run.

    Parameters
    ----------
    path
        A run folder (its bag is read), a rosbag2 folder (MCAP or SQLite, compressed or not), an
        ``.mcap`` or ``.db3`` file, or a ``.json`` file of one transition.

    Raises
    ------
    RecordError
        If it is none of them, or cannot be read.

    """
    try:
        return _opened(path)
    except OSError as error:
        raise RecordError(
            f'{path} cannot be read: {error.strerror or error}. {_WAY_OUT}'
        ) from error


def _opened(path: Path) -> RecordSource:
    if path.is_dir():
        return _opened_folder(path)
    if not path.exists():
        raise RecordError(f'{path} does not exist. {_WAY_OUT}')
    with path.open('rb') as file:
        begin = file.read(len(MAGIC))
    if not begin:
        raise RecordError(f'{path} is empty. {_WAY_OUT}')
    if begin in (MAGIC, SQLITE[: len(MAGIC)]) or path.suffix == '.mcap':
        return _BagSource(path, open_bag(path))
    if path.suffix == '.json':
        return _LoneTransition(path)
    raise RecordError(
        f'{path} is neither a bag nor a transition: it begins with {begin!r}. {_WAY_OUT}'
    )


def _opened_folder(path: Path) -> RecordSource:
    run = RunFolder(path)
    if run.bag.is_dir():
        return _BagSource(path, open_bag(run.bag))
    if (path / METADATA).is_file() or any([*path.glob('*.mcap'), *path.glob('*.db3')]):
        return _BagSource(path, open_bag(path))
    found = ', '.join(sorted(entry.name for entry in path.iterdir())[:5]) or 'nothing'
    raise RecordError(f'{path} holds no record (expected a bag, got {found}). {_WAY_OUT}')
