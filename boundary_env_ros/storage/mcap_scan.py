# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
MCAP files from front to back, finished or not.

A file that was closed ends with a footer; one whose writer died does not, and is read up to where
it is torn. The usual readers start at the footer, and so refuse just the files that matter after a
crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
import struct
from typing import BinaryIO, Final
import zlib

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import limits

MAGIC: Final = b'\x89MCAP0\r\n'

#: Name of the metadata of a file that was torn and made whole again, which says where.
RECOVERED: Final = 'boundary_env_ros.recovered'

_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK = 2, 3, 4, 5, 6
_CHUNK_INDEX, _STATISTICS, _METADATA_INDEX, _DATA_END = 0x08, 0x0B, 0x0D, 0x0F
_LAST_KNOWN: Final = 0x0F
_PRIVATE: Final = 0x80

RECORD: Final = struct.Struct('<BQ')
_MESSAGE_HEAD = struct.Struct('<HIQQ')
_CHUNK_HEAD = struct.Struct('<QQQI')
_FOOTER_BODY = struct.Struct('<QQI')
_STATISTICS_HEAD = struct.Struct('<QHIIIIQQ')
_COUNT = struct.Struct('<HQ')
_END = RECORD.size + _FOOTER_BODY.size + len(MAGIC)

#: Bytes of a record at most, of those that are read at all.
_MOST: Final = {
    _SCHEMA: limits.DEFINITION,
    _CHANNEL: limits.DEFINITION,
    _MESSAGE: limits.MESSAGE,
    _CHUNK: limits.CHUNK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """
    One topic of a file.

    Attributes
    ----------
    topic, type
        Name of the topic and of its type.
    encoding, definition_encoding
        How messages and definition are written; ``cdr`` and ``ros2msg`` for what ROS 2 records.
    definition
        Text of the definition.
    metadata
        What its writer says of it besides; two that differ only in this are one.

    """

    topic: str
    type: str
    encoding: str
    definition_encoding: str
    definition: bytes = field(repr=False)
    metadata: Mapping[str, str] = field(repr=False, compare=False, default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """
    What is in a file.

    Attributes
    ----------
    counts
        Number of messages of each channel.
    start, end
        Least and greatest log time, nanoseconds; None if there is no message.

    """

    counts: Mapping[Channel, int]
    start: int | None
    end: int | None


class BrokenError(Exception):
    """Raised when bytes are not what an MCAP file has there, at a byte that may be known."""

    def __init__(self, what: str, offset: int | None = None) -> None:
        super().__init__(what)
        self.offset = offset


class McapScan:
    """
    One MCAP file.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    tear
        Where and why the file ends before its end; empty if it is whole. An unfinished file has
        one from the start, and after it was read through it is exact. One that was recovered has
        that of the file that it was made of: nobody knows what its writer had still to say.
    summary_start
        Where a finished file says that its summary begins; 0 if it has none.

    Raises
    ------
    RecordError
        If it cannot be read, or is no MCAP file.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open('rb') as file:
                self._size = os.fstat(file.fileno()).st_size
                start = file.read(len(MAGIC))
                file.seek(max(0, self._size - _END))
                end = file.read(_END)
        except OSError as error:
            raise _unreadable(path, error) from error
        if start != MAGIC:
            found = 'it is empty' if not start else f'it begins with {start!r}'
            raise RecordError(
                f'Expect an MCAP file, actually: {path}: {found}. '
                'Name another file; of this one nothing can be read.'
            )
        self.summary_start = 0
        finished = len(end) == _END and end.endswith(MAGIC)
        if finished:
            opcode, length = RECORD.unpack_from(end)
            finished = opcode == _FOOTER and length == _FOOTER_BODY.size
            self.summary_start = _FOOTER_BODY.unpack_from(end, RECORD.size)[0]
        self._finished = finished
        self.tear = '' if finished else f'{path.name} was not closed by its writer'
        if finished:
            self.tear = self._recovered()

    @property
    def complete(self) -> bool:
        """Return whether its writer closed it."""
        return self._finished

    def contents(self) -> Contents:
        """
        Return what is in the file: from its summary if it has one, else by reading it through.

        Raises
        ------
        RecordError
            If a finished file is damaged.

        """
        return self._summary() or self._counted()

    def messages(
        self, wanted: Callable[[Channel], bool]
    ) -> Iterator[tuple[Channel, int, int, bytes]]:
        """
        Yield channel, log time, publish time (nanoseconds) and bytes of messages, in file order.

        Holds one chunk at a time.

        Parameters
        ----------
        wanted
            Whether the messages of a channel are wanted; asked once for each.

        Raises
        ------
        RecordError
            If a finished file is damaged. An unfinished one ends where it is torn.

        """
        channels = Channels(wanted)
        begin = len(MAGIC)
        try:
            with self.path.open('rb') as file:
                for offset, opcode, body in self._records(file):
                    begin = offset
                    if opcode in (_CHUNK, _MESSAGE):
                        for channel, _, *times, data in messages_in(opcode, body, channels):
                            yield channel, times[0], times[1], data
                    else:
                        channels.learn(opcode, body)
        except BrokenError as error:
            self._torn(begin if error.offset is None else error.offset, str(error))
        except struct.error as error:
            self._torn(begin, str(error))
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def _torn(self, offset: int, reason: str) -> None:
        tear = f'{self.path.name} is torn at byte {offset}: {reason}'
        if self._finished:
            raise RecordError(
                f'{self.path} was damaged after it was written (expected a whole MCAP file, since '
                f'it has a footer, got: {tear}); take another copy, or save the rest of it with '
                '`boundary-env recover`'
            )
        self.tear = tear

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
        """Yield offset, opcode and content of the records of the data section that matter."""
        for offset, opcode, length in records_of(file, len(MAGIC), self._size):
            if opcode in (_DATA_END, _FOOTER):
                return
            if opcode in _MOST:
                yield offset, opcode, body_of(file, offset, opcode, length)
        if self._finished:
            raise BrokenError('the data has no end', self._size)

    def _counted(self) -> Contents:
        counts: dict[Channel, int] = {}
        start: int | None = None
        end: int | None = None

        def known(channel: Channel) -> bool:
            counts.setdefault(channel, 0)
            return True

        for channel, log_time, _, _ in self.messages(known):
            counts[channel] += 1
            start = log_time if start is None else min(start, log_time)
            end = log_time if end is None else max(end, log_time)
        return Contents(counts=counts, start=start, end=end)

    def summary_records(self) -> Iterator[tuple[int, bytes]]:
        """Yield opcode and content of the records of the summary, if there is one."""
        end = self._size - _END
        if not 0 < self.summary_start < end:
            return
        with self.path.open('rb') as file:
            for offset, opcode, length in records_of(file, self.summary_start, end):
                if opcode in (_SCHEMA, _CHANNEL, _CHUNK_INDEX, _STATISTICS, _METADATA_INDEX):
                    yield opcode, body_of(file, offset, opcode, length)

    def _recovered(self) -> str:
        """Return where the file was torn before it was made whole; empty if it never was."""
        try:
            for opcode, body in self.summary_records():
                if opcode == _METADATA_INDEX:
                    offset, length = struct.unpack_from('<QQ', body)
                    name, _ = _string(body, 16)
                    if name == RECOVERED:
                        with self.path.open('rb') as file:
                            file.seek(offset + RECORD.size)
                            kept = file.read(min(length, limits.TEXT))
                        _, begin = _string(kept, 0)
                        _, begin = _string(kept, begin + 4)
                        return f'{_string(kept, begin)[0]}; the rest was recovered'
        except (BrokenError, struct.error, OverflowError):
            pass  # Whoever reads the summary or the messages hears of it.
        except OSError as error:
            raise _unreadable(self.path, error) from error
        return ''

    def _summary(self) -> Contents | None:
        """Return what the summary says; None if there is none, or one that says not enough."""
        channels = Channels(lambda _: True)
        try:
            statistics = None
            for opcode, body in self.summary_records():
                if opcode == _STATISTICS:
                    statistics = body
                else:
                    channels.learn(opcode, body)
            if statistics is None:
                return None
            messages, *_, start, end = _STATISTICS_HEAD.unpack_from(statistics)
            counts = dict.fromkeys(channels.all.values(), 0)
            pairs = statistics[_STATISTICS_HEAD.size + 4 :]
            for channel_id, count in _COUNT.iter_unpack(pairs):
                counts[channels.all[channel_id]] += count
            if sum(counts.values()) != messages:
                return None
        except (BrokenError, struct.error, KeyError):
            return None
        except OSError as error:
            raise _unreadable(self.path, error) from error
        return Contents(
            counts=counts, start=start if messages else None, end=end if messages else None
        )


class Channels:
    """The channels of a file as far as it was read."""

    def __init__(self, wanted: Callable[[Channel], bool]) -> None:
        self._wanted = wanted
        self._schemas: dict[int, tuple[str, str, bytes]] = {0: ('', '', b'')}
        self._selected: dict[int, Channel | None] = {}
        self._definitions = self._topics = 0
        self.all: dict[int, Channel] = {}

    def learn(self, opcode: int, body: bytes) -> None:
        """Take note of a schema or a channel; other records are passed over."""
        if opcode in (_SCHEMA, _CHANNEL) and len(body) > limits.DEFINITION:
            raise BrokenError(
                f'a definition of {len(body)} bytes, at most {limits.DEFINITION} are read'
            )
        if opcode == _SCHEMA:
            (number,) = struct.unpack_from('<H', body)
            name, offset = _string(body, 2)
            encoding, offset = _string(body, offset)
            schema = (name, encoding, _prefixed(body, offset)[0])
            if self._schemas.get(number) != schema:
                self._schemas[number] = schema
                self._count(body)
        elif opcode == _CHANNEL:
            number, of = struct.unpack_from('<HH', body)
            topic, offset = _string(body, 4)
            encoding, offset = _string(body, offset)
            if of not in self._schemas:
                raise BrokenError(f'the topic {topic} has no schema')
            type_name, definition_encoding, definition = self._schemas[of]
            channel = Channel(
                topic=topic,
                type=type_name,
                encoding=encoding,
                definition_encoding=definition_encoding,
                definition=definition,
                metadata=_texts(body, offset),
            )
            if self.all.get(number) != channel:
                self._count(body)
                self._topics += 1
                if self._topics > limits.TOPICS:
                    raise BrokenError(f'more than {limits.TOPICS} topics')
                self.all[number] = channel
                self._selected[number] = channel if self._wanted(channel) else None

    def _count(self, body: bytes) -> None:
        self._definitions += len(body)
        if self._definitions > limits.DEFINITIONS:
            raise BrokenError(f'more than {limits.DEFINITIONS} bytes of definitions')

    def selected(self, number: int) -> Channel | None:
        """Return a channel, None if it is not wanted."""
        try:
            return self._selected[number]
        except KeyError:
            raise BrokenError(f'a message has no channel ({number})') from None


def messages_in(
    opcode: int, body: bytes, channels: Channels
) -> Iterator[tuple[Channel, int, int, int, bytes]]:
    """
    Yield what :func:`in_chunk` does of a chunk, or of a message that stands outside of chunks.

    Raises
    ------
    BrokenError, struct.error
        If it is damaged.

    """
    return in_chunk(content_of(opcode, body), channels)


def content_of(opcode: int, body: bytes) -> bytes:
    """
    Return what is in a chunk; a message that stands outside of chunks is one of its own.

    Raises
    ------
    BrokenError, struct.error
        If it is damaged.

    """
    return RECORD.pack(opcode, len(body)) + body if opcode == _MESSAGE else chunk_content(body)


def in_chunk(data: bytes, channels: Channels) -> Iterator[tuple[Channel, int, int, int, bytes]]:
    """
    Yield channel, sequence, log time, publish time and bytes of the messages in a chunk.

    Raises
    ------
    BrokenError, struct.error
        Where it is torn.

    """
    offset, end = 0, len(data)
    while offset < end:
        opcode, length = RECORD.unpack_from(data, offset)
        offset += RECORD.size
        following = offset + length
        if following > end:
            raise BrokenError('a message ends behind its chunk')
        if opcode == _MESSAGE:
            number, *head = _MESSAGE_HEAD.unpack_from(data, offset)
            if (channel := channels.selected(number)) is not None:
                yield channel, *head, data[offset + _MESSAGE_HEAD.size : following]
        else:
            channels.learn(opcode, data[offset:following])
        offset = following


def records_of(file: BinaryIO, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """
    Yield offset, opcode and length of record after record; the file then stands at its content.

    Raises
    ------
    BrokenError
        Where there is no whole record.

    """
    offset = begin
    while offset < end:
        file.seek(offset)
        head = file.read(RECORD.size)
        if len(head) < RECORD.size:
            raise BrokenError('a record has no length', offset)
        opcode, length = RECORD.unpack(head)
        if not 0 < opcode <= _LAST_KNOWN and opcode < _PRIVATE:
            raise BrokenError(f'there is no record of kind {opcode}', offset)
        following = offset + RECORD.size + length
        if following > end:
            raise BrokenError(f'a record ends {following - end} bytes behind the end', offset)
        yield offset, opcode, length
        offset = following


def body_of(file: BinaryIO, offset: int, opcode: int, length: int) -> bytes:
    """
    Return the content of the record that the file stands at.

    Raises
    ------
    BrokenError
        If it is beyond the limit for its kind.

    """
    most = _MOST.get(opcode, limits.TEXT)
    if length > most:
        raise BrokenError(f'a record of {length} bytes, at most {most} are read', offset)
    return file.read(length)


def chunk_head(body: bytes) -> tuple[int, int, str, int]:
    """Return size and checksum of what is in a chunk, its compression, and where that begins."""
    _, _, size, crc = _CHUNK_HEAD.unpack_from(body)
    compression, offset = _string(body, _CHUNK_HEAD.size)
    return size, crc, compression, offset + 8


def chunk_content(body: bytes) -> bytes:
    """
    Return what is in a chunk, given the content of its record.

    Raises
    ------
    BrokenError
        If it cannot be decompressed, or is not what the head of the chunk says.

    """
    size, crc, compression, begin = chunk_head(body)
    (length,) = struct.unpack_from('<Q', body, begin - 8)
    if size > limits.CHUNK:
        raise BrokenError(f'a chunk of {size} bytes, at most {limits.CHUNK} are read')
    if begin + length > len(body):
        raise BrokenError('a chunk ends behind its record')
    try:
        packed = body[begin : begin + length]
        content = b''.join(limits.unpacked(compression, packed, size, 'a chunk'))
    except RecordError as error:
        raise BrokenError(str(error)) from error
    if len(content) != size:
        raise BrokenError(f'a chunk holds {len(content)} bytes, not {size}')
    if crc and zlib.crc32(content) != crc:
        raise BrokenError('the checksum of a chunk is wrong')
    return content


def _prefixed(body: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from('<I', body, offset)
    end = offset + 4 + length
    if end > len(body):
        raise BrokenError('a text ends behind its record')
    return body[offset + 4 : end], end


def _string(body: bytes, offset: int) -> tuple[str, int]:
    text, end = _prefixed(body, offset)
    try:
        return text.decode(), end
    except UnicodeDecodeError as error:
        raise BrokenError(f'a text is not UTF-8 ({error.reason})') from error


def _texts(body: bytes, offset: int) -> dict[str, str]:
    """Return a map of texts, as channels and metadata have it."""
    (length,) = struct.unpack_from('<I', body, offset)
    offset, end = offset + 4, min(offset + 4 + length, len(body))
    found = {}
    while offset < end:
        name, offset = _string(body, offset)
        found[name], offset = _string(body, offset)
    return found


def _unreadable(path: Path, error: OSError) -> RecordError:
    return RecordError(f'Expect to read {path}, actually: {error.strerror or error}.')
