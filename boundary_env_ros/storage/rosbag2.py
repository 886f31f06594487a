# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The raw messages of any bag of ROS 2, one at a time.

MCAP files are read by this package, which reads torn ones up to where they are torn. SQLite files,
and whatever rosbag2 has compressed as a whole or message by message, are read by ``rosbags``. Both
come in the same form, file by file, so that a bag that was split is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.storage.bag_metadata import (
    files_of_bag,
    in_order,
    information_of,
    METADATA,
)
from boundary_env_ros.storage.known_definitions import IDL, MSG
from boundary_env_ros.storage.mcap_scan import Channel, Contents, MAGIC, McapScan

_WAY_OUT = 'Name a rosbag2 folder, an .mcap file, a .db3 file or a run folder.'
SQLITE = b'SQLite format 3\0'
_ROS_1 = b'#ROSBAG'

Wanted = Callable[[Channel], bool]

#: Channel, log time and publish time (nanoseconds; the same where the bag has but one), bytes.
Raw = tuple[Channel, int, int, bytes]


class BagFile(Protocol):
    """
    One file of a bag, or a folder that is read as one.

    Attributes
    ----------
    path
        What is read.
    tear
        Where it is torn; empty if it is whole. Exact when it was read through.

    """

    path: Path
    tear: str

    @property
    def complete(self) -> bool:
        """Return whether its writer closed it."""
        ...

    def contents(self) -> Contents:
        """Return what is in it."""
        ...

    def messages(self, wanted: Wanted) -> Iterator[Raw]:
        """Yield the messages of some channels."""
        ...


@dataclass(frozen=True, slots=True)
class Bag:
    """
    A bag, to be read as often as one likes. Made by :func:`open_bag`.

    Attributes
    ----------
    path
        What was opened.
    files
        Its files in their order.

    """

    path: Path
    files: tuple[BagFile, ...]

    @property
    def count(self) -> int | None:
        """Return how many messages it has; None if only reading it through can tell."""
        if not all(file.complete for file in self.files):
            return None
        return sum(sum(file.contents().counts.values()) for file in self.files)

    @property
    def tear(self) -> str:
        """Return where it is torn, known when it was read through; empty if it is whole."""
        return '; '.join(file.tear for file in self.files if file.tear)

    @property
    def start(self) -> int | None:
        """Return its least log time, nanoseconds; None if there is no message."""
        starts = (file.contents().start for file in self.files)
        return min((start for start in starts if start is not None), default=None)

    def channels(self) -> tuple[Channel, ...]:
        """
        Return every topic, one that has no message too; two that differ in their type are two.

        Immediate for a bag that was closed; else it is read through.
        """
        found = {channel: None for file in self.files for channel in file.contents().counts}
        return tuple(found)

    def messages(self, wanted: Wanted) -> Iterator[Raw]:
        """
        Yield the messages of some topics, one file after the other.

        Parameters
        ----------
        wanted
            Whether those of a channel are wanted; asked for every one, with messages or without.

        Raises
        ------
        RecordError
            If it cannot be read.

        """
        for file in self.files:
            yield from file.messages(wanted)


def open_bag(path: Path) -> Bag:
    """
    Open a bag.

    Parameters
    ----------
    path
        A rosbag2 folder, a run folder with one in it, an ``.mcap`` file or a ``.db3`` file.

    Raises
    ------
    RecordError
        If it is none of them, or cannot be read.
    MissingDependency
        If it takes ``rosbags`` to read it, which is not installed.

    """
    try:
        return Bag(path, _opened(path))
    except OSError as error:
        raise RecordError(
            f'Expect to read {path}, actually: {error.strerror or error}. {_WAY_OUT}'
        ) from error


def _opened(path: Path) -> tuple[BagFile, ...]:
    if path.is_dir():
        return _folder(path)
    with path.open('rb') as file:
        head = file.read(len(SQLITE))
    if head.startswith(MAGIC) or path.suffix == '.mcap':
        return (McapScan(path),)
    if head.startswith(SQLITE):
        return (_ByRosbags(path),)
    if head.startswith(_ROS_1):
        raise RecordError(
            f'Expect a bag of ROS 2, actually: {path} is one of ROS 1. '
            'Convert it with `rosbags-convert`, which comes with rosbags.'
        )
    raise RecordError(f'Expect a bag, actually: {path} is none. {_WAY_OUT}')


def _folder(path: Path) -> tuple[BagFile, ...]:
    if (path / METADATA).is_file():
        if _is_plain_mcap(path):
            return tuple(McapScan(file) for file in files_of_bag(path))
        return (_ByRosbags(path),)
    # Without its metadata a bag was not closed; its files are there nevertheless.
    if any(path.glob('*.mcap')):
        return tuple(McapScan(file) for file in files_of_bag(path))
    sqlite = sorted(path.glob('*.db3'), key=in_order)
    if sqlite:
        return tuple(_ByRosbags(file) for file in sqlite)
    inner = path / 'bag'
    if inner.is_dir():
        return _folder(inner)
    raise RecordError(f'Expect a bag in {path}, actually: there is none. {_WAY_OUT}')


def _is_plain_mcap(folder: Path) -> bool:
    information = information_of(folder)
    mode = str(information.get('compression_mode', '')).lower()
    storage = information.get('storage_identifier', 'mcap')
    return storage == 'mcap' and mode in ('', 'none')


# Offers of the publishers ------------------------------------------------------------------------

_RELIABILITY = {1: 'reliable', 2: 'best_effort'}
_DURABILITY = {1: 'transient_local', 2: 'volatile'}


def offers_of_bag(path: Path) -> dict[str, tuple[str, str]]:
    """
    Return reliability and durability that the publishers of each topic offered.

    As far as the metadata of a folder says it, in the words of rosbag2; nothing is an error.
    """
    folder = path if (path / METADATA).is_file() else path / 'bag'
    found = {}
    for entry in _list(information_of(folder).get('topics_with_message_count')):
        topic = entry.get('topic_metadata') if isinstance(entry, Mapping) else None
        if not isinstance(topic, Mapping):
            continue
        profiles = topic.get('offered_qos_profiles')
        try:
            # Up to Iron a text of its own, and the words are numbers.
            offered = yaml.safe_load(profiles) if isinstance(profiles, str) else profiles
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
        for profile in _list(offered):
            if isinstance(profile, Mapping):
                found[str(topic.get('name'))] = (
                    _word(profile.get('reliability'), _RELIABILITY),
                    _word(profile.get('durability'), _DURABILITY),
                )
    return found


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _word(value: object, words: Mapping[int, str]) -> str:
    if isinstance(value, int):
        return words.get(value, '')
    return value if isinstance(value, str) and value in words.values() else ''


# What this package does not read itself ----------------------------------------------------------


class _ByRosbags:
    """What ``rosbags`` reads: a folder, or one file. It knows log times only."""

    tear = ''
    complete = True

    def __init__(self, path: Path) -> None:
        try:
            from rosbags.rosbag2 import Reader
        except ImportError as error:
            raise needs_rosbags(error) from error
        self.path = path
        try:
            self._reader = Reader(path)
            with self._reader as reader:
                counts: dict[Channel, int] = {}
                for connection in reader.connections:
                    channel = _channel(connection)
                    counts[channel] = counts.get(channel, 0) + connection.msgcount
                some = reader.message_count > 0
                self._contents = Contents(
                    counts=counts,
                    start=reader.start_time if some else None,
                    # Theirs is the first moment behind the last message.
                    end=reader.end_time - 1 if some else None,
                )
        except Exception as error:  # It raises what its storages raise.
            raise _unreadable(path, error) from error

    def contents(self) -> Contents:
        return self._contents

    def messages(self, wanted: Wanted) -> Iterator[Raw]:
        iterator = self._read(wanted)
        while True:
            try:
                message = next(iterator, None)
            except Exception as error:  # As above.
                raise _unreadable(self.path, error) from error
            if message is None:
                break
            yield message

    def _read(self, wanted: Wanted) -> Iterator[Raw]:
        with self._reader as reader:
            channels = {connection.id: _channel(connection) for connection in reader.connections}
            chosen = [c for c in reader.connections if wanted(channels[c.id])]
            if chosen:
                for connection, logged, data in reader.messages(chosen):
                    yield channels[connection.id], logged, logged, bytes(data)


def _channel(connection: Any) -> Channel:
    language = {'MSG': MSG, 'IDL': IDL}.get(connection.msgdef.format.name, '')
    return Channel(
        topic=connection.topic,
        type=connection.msgtype,
        encoding=getattr(connection.ext, 'serialization_format', 'cdr'),
        definition_encoding=language,
        definition=connection.msgdef.data.encode() if language else b'',
    )


def _unreadable(path: Path, error: Exception) -> RecordError:
    text = str(error).rstrip('.') or type(error).__name__
    return RecordError(
        f'Expect to read the bag {path}, actually: {text}. Take another copy of it.'
    )


def needs_rosbags(error: ImportError) -> MissingDependency:
    """Return the error for what takes ``rosbags`` to read."""
    return MissingDependency(
        f'Expect rosbags, which reads bags, actually: {error}. '
        "Install it with `pip install 'boundary_env_ros[bags]'`."
    )
