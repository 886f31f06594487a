# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The raw messages of any bag of ROS 2, one at a time.

MCAP files are read by this package, which reads torn ones up to where they are torn. SQLite files,
and whatever rosbag2 has compressed, are read by ``rosbags``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from boundary_env_ros.errors import MissingDependency, RecordError
from boundary_env_ros.storage.bag_metadata import files_of_bag, METADATA
from boundary_env_ros.storage.mcap_scan import Channel, MAGIC, McapScan

_WAY_OUT = 'Name a rosbag2 folder, an .mcap file, a .db3 file or a run folder.'
_MSG, _IDL = 'ros2msg', 'ros2idl'


@dataclass(frozen=True, slots=True)
class BagTopic:
    """
    One topic of a bag.

    Attributes
    ----------
    name, type
        Of the topic.
    definition
        Definition of its type; empty if the bag has none.
    language
        What that is written in, ``ros2msg`` or ``ros2idl``; empty if there is none.

    """

    name: str
    type: str
    definition: str
    language: str


@dataclass(frozen=True, slots=True)
class Raw:
    """A message: its topic, when it was logged (ns), and its bytes."""

    topic: BagTopic
    logged: int
    data: bytes


Wanted = Callable[[BagTopic], bool]


class Bag(Protocol):
    """A bag that is read through once."""

    @property
    def count(self) -> int | None:
        """Return how many messages it has; None if only reading it through can tell."""
        ...

    @property
    def tear(self) -> str:
        """Return where it is torn, known when it was read through; empty if it is whole."""
        ...

    def messages(self, wanted: Wanted) -> Iterator[Raw]:
        """
        Yield the messages of some topics, one file after the other.

        Parameters
        ----------
        wanted
            Whether those of a topic are wanted; asked for every topic, with messages or without.

        Raises
        ------
        RecordError
            If it cannot be read.

        """
        ...


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
        return _opened(path)
    except OSError as error:
        raise RecordError(
            f'Expect to read {path}, actually: {error.strerror or error}. {_WAY_OUT}'
        ) from error


def _opened(path: Path) -> Bag:
    if path.is_dir():
        return _folder(path)
    with path.open('rb') as file:
        head = file.read(16)
    if head.startswith(MAGIC) or path.suffix == '.mcap':
        return _McapBag([path])
    if head.startswith(b'SQLite format 3\0'):
        return _OtherBag([path])
    if head.startswith(b'#ROSBAG'):
        raise RecordError(
            f'Expect a bag of ROS 2, actually: {path} is one of ROS 1. '
            'Convert it with `rosbags-convert`, which comes with rosbags.'
        )
    raise RecordError(f'Expect a bag, actually: {path} is none. {_WAY_OUT}')


def _folder(path: Path) -> Bag:
    if (path / METADATA).is_file():
        if _is_plain_mcap(path):
            return _McapBag(files_of_bag(path))
        return _OtherBag([path])
    # Without its metadata a bag was not closed; its files are there nevertheless.
    mcap, sqlite = sorted(path.glob('*.mcap')), sorted(path.glob('*.db3'))
    if mcap:
        return _McapBag(mcap)
    if sqlite:
        return _OtherBag(sqlite)
    inner = path / 'bag'
    if inner.is_dir():
        return _folder(inner)
    raise RecordError(f'Expect a bag in {path}, actually: there is none. {_WAY_OUT}')


def _is_plain_mcap(folder: Path) -> bool:
    information = _information(folder)
    mode = str(information.get('compression_mode', '')).lower()
    storage = information.get('storage_identifier', 'mcap')
    return storage == 'mcap' and mode in ('', 'none')


def _information(folder: Path) -> Mapping[str, Any]:
    """Return what the metadata of a bag says; nothing if it cannot be read."""
    try:
        loaded = yaml.safe_load((folder / METADATA).read_bytes())
        information = loaded['rosbag2_bagfile_information']
    except (OSError, yaml.YAMLError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return information if isinstance(information, Mapping) else {}


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
    for entry in _list(_information(folder).get('topics_with_message_count')):
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


# Two ways to read --------------------------------------------------------------------------------


class _McapBag:
    """MCAP files, one after the other."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = tuple(McapScan(file) for file in files)

    @property
    def count(self) -> int | None:
        if not all(file.complete for file in self._files):
            return None
        return sum(sum(file.contents().counts.values()) for file in self._files)

    @property
    def tear(self) -> str:
        return '; '.join(file.tear for file in self._files if file.tear)

    def messages(self, wanted: Wanted) -> Iterator[Raw]:
        topics: dict[Channel, BagTopic] = {}

        def is_wanted(channel: Channel) -> bool:
            topics[channel] = topic = _topic_of(channel)
            return wanted(topic)

        for file in self._files:
            for channel, logged, _, data in file.messages(is_wanted):
                yield Raw(topics[channel], logged, data)


def _topic_of(channel: Channel) -> BagTopic:
    known = channel.definition_encoding in (_MSG, _IDL)
    return BagTopic(
        name=channel.topic,
        type=channel.type,
        definition=channel.definition.decode(errors='replace') if known else '',
        language=channel.definition_encoding if known else '',
    )


class _OtherBag:
    """What ``rosbags`` reads: a folder, or files one after the other."""

    tear = ''

    def __init__(self, paths: Sequence[Path]) -> None:
        try:
            from rosbags.rosbag2 import Reader
        except ImportError as error:
            raise needs_rosbags(error) from error
        self._path = paths[0]
        try:
            self._readers = [Reader(path) for path in paths]
            self.count: int | None = 0
            for reader in self._readers:
                with reader:
                    self.count += reader.message_count
        except Exception as error:  # It raises what its storages raise.
            raise _unreadable(self._path, error) from error

    def messages(self, wanted: Wanted) -> Iterator[Raw]:
        for reader in self._readers:
            iterator = self._read(reader, wanted)
            while True:
                try:
                    message = next(iterator, None)
                except Exception as error:  # As above.
                    raise _unreadable(self._path, error) from error
                if message is None:
                    break
                yield message

    @staticmethod
    def _read(reader: Any, wanted: Wanted) -> Iterator[Raw]:
        with reader:
            topics = {}
            for connection in reader.connections:
                language = {'MSG': _MSG, 'IDL': _IDL}.get(connection.msgdef.format.name, '')
                topics[connection.id] = BagTopic(
                    connection.topic,
                    connection.msgtype,
                    connection.msgdef.data if language else '',
                    language,
                )
            chosen = [c for c in reader.connections if wanted(topics[c.id])]
            if chosen:
                for connection, logged, data in reader.messages(chosen):
                    yield Raw(topics[connection.id], logged, bytes(data))


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
