# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records and raw messages from wherever a run left them: a run folder, a bag of any storage, a file.

MCAP files are read up to where they are torn, SQLite files with the log of a recorder that died,
and either as rosbag2 compresses it, files or messages. All come in the same form, so that a bag
that was split is one, in the order of the log times; what our recorder wrote in that in which it
had it. Everything streams: only chunks whose times overlap are in memory together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
import itertools
from pathlib import Path
import re
import shutil
from tempfile import TemporaryDirectory
from typing import Any, cast, Final, TypeAlias
from weakref import finalize

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import Unlike
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.bag_metadata import (
    in_order,
    named_files,
)
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.decoding import CDR, Decoders, MSG
from boundary_env_ros.storage.disk_errors import disk_error
from boundary_env_ros.storage.log_order import in_log_order, LogPart, SIMULATED, WINDOW
from boundary_env_ros.storage.mcap_scan import MAGIC, McapScan
from boundary_env_ros.storage.records import (
    AnotherFormat,
    ContractDescription,
    Entry,
    Follow,
    format_in,
    match_format,
    Message,
    Piece,
    R,
    Record,
    RECORD_CLASSES,
    RECORDS,
    Unreadable,
)
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.sqlite_bag import SQLITE, SqliteFile
from boundary_env_ros.storage.transition_json import read_transition
from boundary_env_ros.storage.unpacking import unpacked

# Of the first one only the major was written.
_FORMAT: Final = re.compile(rb'\bFORMAT\s*=\s*["\']?([\d.]+)')
_WAY_OUT: Final = (
    'Name a run folder, a rosbag2 folder, or a file: .mcap, .db3, or .json of a transition.'
)
_ZSTD = b'\x28\xb5\x2f\xfd'
_PACKED = '.zstd'
_ROS_1 = b'#ROSBAG'

BagFile: TypeAlias = McapScan | SqliteFile


class Bag:
    """
    The records and messages of a bag, to be read as often as one likes. See :func:`open_bag`.

    Parameters
    ----------
    path
        What was opened.
    files
        Its files in their order.

    """

    def __init__(self, path: Path, files: Collection[BagFile]) -> None:
        self.path, self._files = path, tuple(files)
        self._decoders: dict[tuple[str, str, bytes], Decoders] = {}

    @property
    def count(self) -> int | None:
        """Return how many messages it has; None if only reading it through can show it."""
        if not all(file.complete for file in self._files):
            return None
        return sum(file.contents().messages for file in self._files)

    @property
    def tear(self) -> str:
        """Return where it is torn, known when it was read through; empty if it is whole."""
        return '; '.join(file.tear for file in self._files if file.tear)

    @property
    def complete(self) -> bool:
        """Return whether the records are whole: closed by their writer, not torn by a crash."""
        return not self.tear

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Return the log times between which messages were damaged, nanoseconds."""
        return tuple(hole for file in self._files for hole in file.holes)

    @property
    def as_recorded(self) -> bool:
        """Return whether our recorder wrote all its files."""
        return all(file.as_recorded for file in self._files)

    @property
    def start(self) -> int | None:
        """Return its least log time, nanoseconds; None if there is no message."""
        starts = (file.contents().start for file in self._files)
        return min((start for start in starts if start is not None), default=None)

    def channels(self) -> tuple[Channel, ...]:
        """
        Return every topic, one that has no message too; two that differ in their type are two.

        Immediate for a bag that was closed; else it is read through.
        """
        found = {channel: None for file in self._files for channel in file.contents().counts}
        return tuple(found)

    def read(
        self,
        classes: Collection[type[Record]],
        topics: Collection[str] | None,
        follow: Follow | None = None,
    ) -> Iterator[Piece]:
        """Yield records and messages in the order of the bag."""
        types = {name for name, cls in RECORDS.items() if cls in classes}
        decoders: dict[tuple[str, str, bytes], Decoders] = {}
        if classes:
            self._decoders = decoders
        numbers: dict[tuple[Path, str], Iterator[int]] = {}
        # What is done with the messages of a channel of a file, by the address of the channel,
        # which is kept.
        ways: dict[int, tuple[Channel, Decoders, bool, type[Record] | None, Iterator[int]]] = {}

        def wanted(channel: Channel) -> bool:
            chosen = topics is None or channel.topic in topics
            return chosen or channel.type in types or follow is not None

        stored = in_log_order(self._parts(wanted))
        for part, (channel, log_time, publish_time, data) in stored:
            if data.startswith(_ZSTD) and channel.encoding == CDR:
                # Compressed one by one; no CDR begins like that.
                where = f'a message of {channel.topic} in {part.file}'
                data = b''.join(unpacked('zstd', data, size_limits.MESSAGE, where))
            if follow is not None:
                follow(channel, log_time, publish_time, data)
            if (way := ways.get(id(channel))) is None:
                kind = channel.type
                key = (kind, channel.encoding, channel.definition)
                if key not in decoders:
                    # Refused for the whole bag, not for each message.
                    make = _of_format if kind in types else lambda channel, _: Decoders(channel)
                    decoders[key] = make(channel, part.file)
                raw = topics is None or channel.topic in topics
                cls = RECORDS[kind] if kind in types else None
                number = numbers.setdefault((part.file, channel.topic), itertools.count(1))
                way = ways[id(channel)] = channel, decoders[key], raw, cls, number
            _, decoder_for, raw, cls, number = way
            topic = channel.topic
            decoder_for.messages += 1
            if raw:
                # rosbag2 writes 0 where it is not known.
                when = publish_time or None
                yield Message(topic, channel.type, log_time, when, data, decoder_for)
            if cls is None:
                continue
            n = next(number)
            try:
                record = decoder_for[cls](data)
            except RecordError as error:
                yield Unreadable(place=f'{part.file.name}:{topic}#{n}', why=str(error))
            else:
                yield Entry(record, topic, log_time)

    @property
    def unlike(self) -> Unlike:
        """Return in what the records that were read last are unlike what they are here."""
        found = Unlike()
        for each in self._decoders.values():
            found.add(each.unlike.unknown, each.unlike.passed_over, each.messages)
        return found

    def _parts(self, wanted: Callable[[Channel], bool]) -> Iterator[LogPart]:
        """Yield the parts of the files, with their eras counted over the bag."""
        era = latest = 0
        after_ours = False
        for file in self._files:
            parts = file.parts(wanted)
            if not parts:
                continue
            # In a simulator a clock was set back between two files; else they overlap.
            restarted = parts[0].start < min(latest - WINDOW, SIMULATED)
            era += after_ours or file.as_recorded or restarted
            for part in parts:
                yield replace(part, era=era + part.era)
            era += parts[-1].era
            latest = max(part.start for part in parts)
            after_ours = file.as_recorded

    def topics(self) -> dict[tuple[str, str], int]:
        """Return the number of messages in the files by topic and type."""
        counts: Counter[tuple[str, str]] = Counter()
        for contents in (file.contents() for file in self._files):
            for channel, count in contents.counts.items():
                counts[channel.topic, channel.type] += count
        return dict(sorted(counts.items()))

    def entries(self, *classes: type[Record]) -> Iterator[Entry]:
        """
        Yield the records of some classes (of all, if none is named), each with its place.

        Raises
        ------
        RecordError
            If something is not what it should be; it names the place. What merely ends too
            early is no error, see :attr:`tear`.

        """
        for piece in self.read(classes or RECORD_CLASSES, ()):
            if isinstance(piece, Unreadable):
                raise RecordError(f'{piece.place}: {piece.why}')
            if isinstance(piece, Entry):
                yield piece

    def messages(self, topics: Collection[str] | None = None) -> Iterator[Message]:
        """
        Yield the messages of some topics (of all, for None), to be decoded one by one.

        Raises
        ------
        RecordError
            If the source holds no messages (one transition), or is damaged.

        """
        return (piece for piece in self.read((), topics) if isinstance(piece, Message))

    def pieces(
        self, topics: Collection[str] = (), follow: Follow | None = None
    ) -> Iterator[Piece]:
        """
        Yield every record, and the messages of some topics, as they follow each other.

        What cannot be read is yielded as what it is, and what follows it too. ``follow`` gets
        every message of a bag.
        """
        records = 0
        try:
            for piece in self.read(RECORD_CLASSES, topics, follow):
                records += not isinstance(piece, Message)
                yield piece
        except AnotherFormat:
            raise  # nothing is wrong with the record
        except RecordError as error:
            yield Unreadable(place=f'behind record {records}', why=str(error))

    def records(self, *classes: type[R]) -> Iterator[R]:
        """Yield the records of some classes (of all, if none is named); see :meth:`entries`."""
        return (cast('R', entry.record) for entry in self.entries(*cast('Any', classes)))

    def transitions(self) -> Iterator[Transition]:
        """
        Yield the transitions.

        Raises
        ------
        RecordError
            If there is none: it is the wrong bag.

        """
        none = True
        for transition in self.records(Transition):
            none = False
            yield transition
        if none:
            counts = self.topics()
            topics = ', '.join(f'{name} ({kind})' for name, kind in list(counts)[:5])
            found = f'{sum(counts.values())} messages on {len(counts)} topics'
            torn = f'; {self.tear}' if self.tear else ''
            raise RecordError(
                f'Expected transitions (boundary_env_ros/msg/Transition) in {self.path}, got '
                f'{found}{": " + topics if topics else ""}{torn}. '
                'Record the transition topic of the environment too.'
            )


def _of_format(channel: Channel, file: Path) -> Decoders:
    """
    Return what reads the records of a channel: its definition has their format in that of StepId.

    Raises
    ------
    AnotherFormat
        If it is of another major.

    """
    made = Decoders(channel)
    if channel.definition_encoding != MSG or RECORDS[channel.type] is ContractDescription:
        return made
    match = _FORMAT.search(channel.definition)
    match_format((match and format_in(match[1].decode())) or (0, 0), file.name, made.unlike)
    return made


class _LoneTransition(Bag):
    """A file of one transition, which has no topics."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ())
        self._unlike = Unlike()

    @property
    def unlike(self) -> Unlike:
        """Return in what the transition is unlike what it is here."""
        return self._unlike

    def read(
        self,
        classes: Collection[type[Record]],
        topics: Collection[str] | None,
        follow: Follow | None = None,
    ) -> Iterator[Piece]:
        """Yield the transition, if it is wanted."""
        if topics is None or (topics and not classes):
            raise _without_messages(self.path)
        if Transition not in classes:
            return
        try:
            self._unlike = Unlike()
            found = read_transition(self.path, self._unlike)
        except RecordError as error:
            why = str(error).removeprefix(f'{self.path.name}: ')
            yield Unreadable(place=self.path.name, why=why)
        else:
            yield Entry(found, '', found.closed.ros.nanoseconds)


def _without_messages(path: Path) -> RecordError:
    return RecordError(
        f'{path} holds a transition only, no messages. Name the run folder or its bag.'
    )


def open_records(path: Path) -> Bag:
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
    with disk_error(f'{path} cannot be read', _WAY_OUT):
        if path.is_dir():
            return Bag(path, [_file(file) for file in _files_in(path)])
        if not path.exists():
            raise RecordError(f'{path} does not exist. {_WAY_OUT}')
        if path.suffix == '.json' and path.stat().st_size:
            return _LoneTransition(path)
        return Bag(path, [_file(path)])


def open_bag(path: Path) -> Bag:
    """
    Open a bag; see :func:`open_records`.

    Raises
    ------
    RecordError
        Also if it is one transition.

    """
    source = open_records(path)
    if isinstance(source, _LoneTransition):
        raise _without_messages(path)
    return source


def _files_in(path: Path) -> list[Path]:
    """Return the files of a bag, or of the bag of a run."""
    run = RunFolder(path)
    folder = run.bag if run.bag.is_dir() else path
    if files := named_files(folder):
        return files
    # Without its metadata a bag was not closed; its files are there nevertheless.
    # Of a file that was being compressed the one that was whole counts.
    there = {f.name.removesuffix(_PACKED): f for f in sorted(folder.iterdir(), reverse=True)}
    for ending in ('.mcap', '.db3'):
        names = [Path(name) for name in there if name.endswith(ending)]
        if names:
            return [there[name.name] for name in sorted(names, key=in_order)]
    found = ', '.join(sorted(entry.name for entry in folder.iterdir())[:5]) or 'nothing'
    raise RecordError(f'{folder} holds no bag (expected its files, got {found}). {_WAY_OUT}')


def _file(path: Path) -> BagFile:
    with size_limits.open_file(path) as file:
        head = file.read(len(SQLITE))
    logs = [Path(f'{path}{end}') for end in ('-wal', '-journal')]
    logs = [log for log in logs if log.exists() and log.stat().st_size]
    if head.startswith(MAGIC) or path.suffix == '.mcap':
        return McapScan(path)
    if head.startswith(SQLITE):
        return _with_logs(path, logs) if logs else SqliteFile(path)
    if head.startswith(_ZSTD):
        return _decompressed(path)
    if head.startswith(_ROS_1):
        raise RecordError(
            f'{path} is a bag of ROS 1, not of ROS 2. '
            'Convert it with `rosbags-convert`, which comes with rosbags.'
        )
    if not head:
        raise RecordError(f'{path} is empty. {_WAY_OUT}')
    begin = head[: len(MAGIC)]
    raise RecordError(
        f'{path} is neither a bag nor a transition: it begins with {begin!r}. {_WAY_OUT}'
    )


def _with_logs(path: Path, logs: Collection[Path]) -> BagFile:
    """Return a copy of a database whose recorder died, with what stands in the logs beside it."""
    folder = TemporaryDirectory(prefix='boundary_env_bag_')
    for source in (path, *logs):
        with (
            size_limits.open_file(source) as old,
            (Path(folder.name) / source.name).open('wb') as new,
        ):
            shutil.copyfileobj(old, new)
    try:
        file = SqliteFile(Path(folder.name) / path.name, ours=True)
    except RecordError:
        file = SqliteFile(path)
        names = ' and '.join(log.name for log in logs)
        file.tear = f'{names} cannot be brought into {path.name}, which is read without'
    finalize(file, folder.cleanup)
    return file


def _decompressed(path: Path) -> BagFile:
    """Return what is in a file that is compressed as a whole, decompressed into another."""
    folder = TemporaryDirectory(prefix='boundary_env_bag_')
    inner = Path(folder.name) / path.stem
    size = path.stat().st_size
    most = min(
        max(size_limits.UNPACKED, size_limits.UNPACKED_TIMES * size),
        shutil.disk_usage(inner.parent).free // 2,
    )
    with path.open('rb') as packed, inner.open('wb') as out:
        for block in unpacked('zstd', packed, most, path):
            out.write(block)
    file = _file(inner)
    finalize(file, folder.cleanup)  # when nothing reads it any more
    return file
