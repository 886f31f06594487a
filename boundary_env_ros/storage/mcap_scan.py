# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
MCAP files from front to back, finished or not.

A file that was closed ends with a footer; one whose writer died does not, and is read up to where
it is torn. The usual readers start at the footer, and so refuse just the files that matter after a
crash. What a record holds is parsed by ``mcap``; its frame, and a message within a chunk, are read
here: where something is torn has to be known to the byte, and messages are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import accumulate, pairwise
from operator import itemgetter
import os
from pathlib import Path
import struct
import sys
from typing import Any, BinaryIO, Final
import zlib

from mcap import records
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.channel import Channel, Contents, Stored
from boundary_env_ros.storage.disk_errors import disk_error
from boundary_env_ros.storage.log_order import LogPart, Span, spans_of, WINDOW
from boundary_env_ros.storage.unpacking import unpacked

MAGIC: Final = b'\x89MCAP0\r\n'

#: Name of the metadata of a file that was torn and made whole again, which says where.
RECOVERED: Final = 'boundary_env_ros.recovered'

# A plain number: comparing with a member of an enum takes longer, and messages are many.
_MESSAGE: Final = int(Opcode.MESSAGE)
_LAST_KNOWN: Final = max(Opcode)
_PRIVATE: Final = 0x80

RECORD: Final = struct.Struct('<BQ')
#: Who our recorder says that it is, and so how its files begin.
LIBRARY: Final = 'boundary_env_ros'
OURS: Final = MAGIC + b'\x01\x1c' + bytes(7) + b'\4\0\0\0ros2\x10\0\0\0' + LIBRARY.encode()

# Least and greatest log time of a chunk, and its size when it is decompressed.
_CHUNK_HEAD = struct.Struct('<QQQ')
# The same times in the index of a chunk, and where the chunk begins.
_INDEX_HEAD = struct.Struct('<QQQ')
# Bytes of messages outside of chunks that are read together.
_TOGETHER: Final = 1 << 20
_MESSAGE_HEAD = struct.Struct('<HIQQ')
_FOOTER_SIZE: Final = 8 + 8 + 4
_END: Final = RECORD.size + _FOOTER_SIZE + len(MAGIC)

#: Bytes of a record at most, of those that are read at all.
_MOST: Final = {
    Opcode.SCHEMA: size_limits.DEFINITION,
    Opcode.CHANNEL: size_limits.DEFINITION,
    Opcode.MESSAGE: size_limits.MESSAGE,
    Opcode.CHUNK: size_limits.CHUNK,
}
_SUMMARY: Final = (
    Opcode.SCHEMA,
    Opcode.CHANNEL,
    Opcode.CHUNK_INDEX,
    Opcode.STATISTICS,
    Opcode.METADATA_INDEX,
)


@dataclass(slots=True)
class Block:
    """
    Messages that stand together: in a chunk, or outside of chunks one behind the other.

    Attributes
    ----------
    opcode, offset, length
        What the first record is, where it begins, and how many bytes there are from there.
    start, end
        Least and greatest log time, nanoseconds.
    size
        Bytes of the messages.
    why
        Why there are none, nor any behind them; empty if there are.

    """

    opcode: int
    offset: int
    length: int
    start: int
    end: int
    size: int
    why: str = ''


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
        that of the file that it was made of: what its writer had still to say is unknown.
    holes
        The log times between which messages were damaged, nanoseconds, as its recovery says.
    complete
        Whether its writer closed it.
    as_recorded
        Whether our recorder wrote it: its messages stand in the order in which they came.
    channels, chunks
        The channels that its summary names, and where its chunks begin by it.

    Raises
    ------
    RecordError
        If it cannot be read, or is no MCAP file.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as file:
            self._size = os.fstat(file.fileno()).st_size
            start = file.read(len(OURS))
            file.seek(max(0, self._size - _END))
            end = file.read(_END)
        self.as_recorded = start == OURS
        if not start.startswith(MAGIC):
            begin = start[: len(MAGIC)]
            found = f'it begins with {begin!r}' if begin else 'it is empty'
            raise RecordError(
                f'{path} is not an MCAP file: {found}. '
                'Name another file; of this one nothing can be read.'
            )
        footer = RECORD.pack(Opcode.FOOTER, _FOOTER_SIZE)
        self.complete = len(end) == _END and end.startswith(footer) and end.endswith(MAGIC)
        self.tear = '' if self.complete else f'{path.name} was not closed by its writer'
        self.holes: tuple[tuple[int, int], ...] = ()
        # Looked for once, since all times are read for them; and what was learnt on the way.
        self._spans: tuple[list[Span], Channels] | None = None
        self.channels, self.chunks = Channels(lambda _: True), list[int]()
        self._contents: Contents | None = None  # by the summary, if that says enough
        if self.complete:
            self._read_summary(parsed(records.Footer, end[RECORD.size :]).summary_start)

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        with disk_error(f'{self.path} cannot be read'), self.path.open('rb') as file:
            yield file

    def contents(self) -> Contents:
        """
        Return what is in the file: from its summary if it has one, else by reading it through.

        Raises
        ------
        RecordError
            If a finished file is damaged.

        """
        return self._contents or self._counted()

    def messages(self, wanted: Callable[[Channel], bool]) -> Iterator[Stored]:
        """
        Yield the messages in file order.

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
        channels, tear = Channels(wanted), self.tear
        for block in self.blocks(channels):
            yield from self.read(block, channels)
            if self.tear != tear:
                return

    def parts(self, wanted: Callable[[Channel], bool]) -> list[LogPart]:
        """
        Return what is to be read for messages in the order of their log times.

        A file of our recorder is one part: it has the order in which the messages came and were
        chained, which says more than log times. Another has its blocks, found by their heads so
        that an index is not needed, and divided where the clock was set back; they are looked into
        only where the heads show that times go back, or leave room for it.

        Parameters
        ----------
        wanted
            As of :meth:`messages`.

        Raises
        ------
        RecordError
            If it cannot be read at all.

        """
        if self.as_recorded:
            return [LogPart(self.path, 0, 0, 0, partial(self.messages, wanted))]
        channels = Channels(wanted)
        blocks = self.blocks(channels)
        latest = accumulate((block.end for block in blocks), max)
        in_order = all(block.end - block.start <= WINDOW for block in blocks) and all(
            before.start <= block.start and end - block.start <= WINDOW
            for (before, block), end in zip(pairwise(blocks), latest, strict=False)
        )
        if self._spans is not None:
            channels.add_known(self._spans[1])
        elif not in_order:
            self._spans = spans_of(self._times(blocks, channels)), channels
        spans = self._spans[0] if self._spans is not None else []
        return [
            LogPart(
                self.path,
                span.era,
                span.start,
                block.size,
                partial(self._sorted, block, channels, span),
            )
            for span in spans or [Span(n, 0, block.start, 0) for n, block in enumerate(blocks)]
            for block in (blocks[span.block],)
        ]

    def _times(
        self, blocks: Sequence[Block], channels: Channels
    ) -> Iterator[tuple[int, int, int, int]]:
        for number, block in enumerate(blocks):
            try:
                data = self.content(block)
                for begin, _ in _messages_in(data, channels):  # wanted or not
                    channel, _, time, _ = _MESSAGE_HEAD.unpack_from(data, begin)
                    yield number, begin - RECORD.size, channel, time
            except (BrokenError, struct.error):
                yield number, 0, -1 - number, block.start  # It is reported when it is read.

    def _sorted(self, block: Block, channels: Channels, span: Span) -> list[Stored]:
        return sorted(self.read(block, channels, span.first, span.last), key=itemgetter(1))

    def blocks(self, channels: Channels) -> list[Block]:
        """
        Find the messages by the heads of the records, and learn the channels beside them.

        Where the file is torn the last of them has none, and says so when it is read.
        """
        blocks: list[Block] = []
        place, why = self._size, 'the data has no end' if self.complete else ''
        try:
            with self._opened() as file:
                for place, opcode, length in records_of(file, len(MAGIC), self._size):
                    if opcode in (Opcode.DATA_END, Opcode.FOOTER):
                        return blocks
                    if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                        channels.learn(opcode, body_of(file, place, opcode, length))
                    elif opcode == Opcode.CHUNK:
                        head = _CHUNK_HEAD.unpack(file.read(_CHUNK_HEAD.size))
                        blocks.append(Block(opcode, place, RECORD.size + length, *head))
                    elif opcode == Opcode.MESSAGE:
                        _join(blocks, place, length, file.read(_MESSAGE_HEAD.size))
        except (BrokenError, struct.error) as error:
            place, why = getattr(error, 'offset', None) or place, str(error)
        if why:
            blocks.append(Block(0, place, 0, sys.maxsize, sys.maxsize, 0, why))
        return blocks

    def content(self, block: Block) -> bytes:
        """
        Return the messages that stand together, as records.

        Raises
        ------
        BrokenError, struct.error
            If they are damaged.

        """
        if block.why:
            raise BrokenError(block.why, block.offset)
        with self._opened() as file:
            file.seek(block.offset)
            data = body_of(file, block.offset, block.opcode, block.length)
        return data if block.opcode == _MESSAGE else chunk_content(data[RECORD.size :])

    def read(
        self, block: Block, channels: Channels, first: int = 0, last: int | None = None
    ) -> Iterator[Stored]:
        """Yield the messages that stand together, between two of their bytes; as `messages`."""
        try:
            content = self.content(block)[first:last]
            for channel, _, log_time, publish_time, data in in_chunk(content, channels):
                yield channel, log_time, publish_time, data
        except (BrokenError, struct.error) as error:
            self._torn(getattr(error, 'offset', None) or block.offset, str(error))

    def _torn(self, offset: int, reason: str) -> None:
        tear = f'{self.path.name} is torn at byte {offset}: {reason}'
        if self.complete:
            raise RecordError(
                f'{self.path} was damaged after it was written (expected a whole MCAP file, since '
                f'it has a footer, got: {tear}); take another copy, or save the rest of it with '
                '`boundary-env bag recover`'
            )
        self.tear = tear

    def _counted(self) -> Contents:
        found = Contents()
        for channel, log_time, _, _ in self.messages(
            lambda channel: found.counts.setdefault(channel, 0) == 0
        ):
            found.add(channel, log_time)
        return found

    def _read_summary(self, start: int) -> None:
        """Learn what the summary says; a record that is damaged hides no other."""
        end, statistics = self._size - _END, None
        readable = suppress(BrokenError, struct.error, KeyError, OverflowError, ValueError)
        with readable, self._opened() as file:
            for offset, opcode, length in records_of(file, start, end) if start else ():
                if opcode not in _SUMMARY:
                    continue
                body = body_of(file, offset, opcode, length)
                with readable:
                    if opcode == Opcode.CHUNK_INDEX:
                        self.chunks.append(_INDEX_HEAD.unpack_from(body)[2])
                    elif opcode == Opcode.STATISTICS:
                        statistics = parsed(records.Statistics, body)
                    elif opcode == Opcode.METADATA_INDEX:
                        self._read_recovery(file, parsed(records.MetadataIndex, body))
                    else:
                        self.channels.learn(opcode, body)
        if statistics is not None:
            with readable:
                self._contents = self._contents_by(statistics)

    def _read_recovery(self, file: BinaryIO, index: records.MetadataIndex) -> None:
        """Learn where the file was torn before it was made whole, if it ever was."""
        if index.name == RECOVERED:
            file.seek(index.offset + RECORD.size)
            kept = file.read(min(index.length, size_limits.TEXT))
            metadata = parsed(records.Metadata, kept).metadata
            self.tear = f'{metadata["tear"]}; the rest was recovered'
            self.holes = _holes(metadata['holes'])

    def _contents_by(self, statistics: records.Statistics) -> Contents | None:
        """Return what the statistics say; None if that is not enough."""
        messages = statistics.message_count
        counts: dict[Channel, int] = dict.fromkeys(self.channels.all.values(), 0)
        for number, count in statistics.channel_message_counts.items():
            counts[self.channels.all[number]] += count
        if sum(counts.values()) != messages:
            return None
        return Contents(
            counts=counts,
            start=statistics.message_start_time if messages else None,
            end=statistics.message_end_time if messages else None,
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
        if opcode not in (Opcode.SCHEMA, Opcode.CHANNEL):
            return
        if len(body) > size_limits.DEFINITION:
            raise BrokenError(
                f'a definition of {len(body)} bytes, at most {size_limits.DEFINITION} are read'
            )
        if opcode == Opcode.SCHEMA:
            found = parsed(records.Schema, body)
            schema = (found.name, found.encoding, found.data)
            if self._schemas.get(found.id) != schema:
                self._schemas[found.id] = schema
                self._count(body)
            return
        found = parsed(records.Channel, body)
        if found.schema_id not in self._schemas:
            raise BrokenError(f'the topic {found.topic} has no schema')
        type_name, definition_encoding, definition = self._schemas[found.schema_id]
        channel = Channel(
            topic=found.topic,
            type=type_name,
            encoding=found.message_encoding,
            definition_encoding=definition_encoding,
            definition=definition,
            metadata=found.metadata,
        )
        if self.all.get(found.id) != channel:
            self._count(body)
            self._topics += 1
            if self._topics > size_limits.TOPICS:
                raise BrokenError(f'more than {size_limits.TOPICS} topics')
            self._put(found.id, channel)

    def add_known(self, other: Channels) -> None:
        """Take what others have learnt of the same file."""
        self._schemas |= other._schemas
        for number, channel in other.all.items():
            self._put(number, channel)

    def _put(self, number: int, channel: Channel) -> None:
        self.all[number] = channel
        self._selected[number] = channel if self._wanted(channel) else None

    def _count(self, body: bytes) -> None:
        self._definitions += len(body)
        if self._definitions > size_limits.DEFINITIONS:
            raise BrokenError(f'more than {size_limits.DEFINITIONS} bytes of definitions')

    def selected(self, number: int) -> Channel | None:
        """Return a channel, None if it is not wanted."""
        try:
            return self._selected[number]
        except KeyError:
            raise BrokenError(f'a message has no channel ({number})') from None


def in_chunk(data: bytes, channels: Channels) -> Iterator[tuple[Channel, int, int, int, bytes]]:
    """
    Yield channel, sequence, log time, publish time and bytes of the messages in a chunk.

    Raises
    ------
    BrokenError, struct.error
        Where it is torn.

    """
    for begin, end in _messages_in(data, channels):
        number, *head = _MESSAGE_HEAD.unpack_from(data, begin)
        if (channel := channels.selected(number)) is not None:
            yield channel, *head, data[begin + _MESSAGE_HEAD.size : end]


def _join(blocks: list[Block], offset: int, length: int, head: bytes) -> None:
    """Join a message outside of chunks to those right before it."""
    *_, time, _ = _MESSAGE_HEAD.unpack(head)
    block = blocks[-1] if blocks else Block(0, 0, 0, 0, 0, 0)
    if block.opcode != _MESSAGE or block.offset + block.length != offset or block.size > _TOGETHER:
        block = Block(_MESSAGE, offset, 0, time, time, 0)
        blocks.append(block)
    block.length = block.size = block.length + RECORD.size + length
    block.start, block.end = min(block.start, time), max(block.end, time)


def _messages_in(data: bytes, channels: Channels) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the content of each message, and learn the channels beside them."""
    following = 0
    while following < len(data):
        opcode, length = RECORD.unpack_from(data, following)
        begin = following + RECORD.size
        following = begin + length
        if following > len(data):
            raise BrokenError('a message ends behind its chunk')
        if opcode == _MESSAGE:
            yield begin, following
        else:
            channels.learn(opcode, data[begin:following])


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
    most = _MOST.get(opcode, size_limits.TEXT)
    if length > most:
        raise BrokenError(f'a record of {length} bytes, at most {most} are read', offset)
    return file.read(length)


class _Content(BytesIO):
    """The content of a record, which never returns less than was asked for."""

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._left = len(body)

    def read(self, size: int | None = -1, /) -> bytes:
        """Return so many bytes."""
        if size is None or not 0 <= size <= self._left:
            raise BrokenError('a part of it ends behind its record')
        self._left -= size
        return super().read(size)


def parsed(kind: Any, body: bytes) -> Any:
    """
    Return a record of one of the classes of :mod:`mcap.records`, given its content.

    Raises
    ------
    BrokenError
        If it is none.

    """
    try:
        return kind.read(ReadDataStream(_Content(body)))
    except UnicodeDecodeError as error:
        raise BrokenError(f'a text is not UTF-8 ({error.reason})') from error


def chunk_content(body: bytes) -> bytes:
    """
    Return what is in a chunk, given the content of its record.

    Raises
    ------
    BrokenError
        If it cannot be decompressed, or is not what the head of the chunk says.

    """
    chunk = parsed(records.Chunk, body)
    size = chunk.uncompressed_size
    if size > size_limits.CHUNK:
        raise BrokenError(f'a chunk of {size} bytes, at most {size_limits.CHUNK} are read')
    try:
        content = b''.join(unpacked(chunk.compression, chunk.data, size, 'a chunk'))
    except RecordError as error:
        raise BrokenError(str(error)) from error
    if len(content) != size:
        raise BrokenError(f'a chunk holds {len(content)} bytes, not {size}')
    if chunk.uncompressed_crc and zlib.crc32(content) != chunk.uncompressed_crc:
        raise BrokenError('the checksum of a chunk is wrong')
    return content


def _holes(text: str) -> tuple[tuple[int, int], ...]:
    """Return the times between which a recovery found nothing, as it wrote them down."""
    pairs = (part.split('-') for part in text.split())
    return tuple((int(begin), int(end)) for begin, end in pairs)
