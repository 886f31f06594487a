# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can be read of a damaged MCAP file, and what its summary has to say of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
import os
from pathlib import Path
import struct
from typing import Any, BinaryIO, Final

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    Header,
    Metadata,
    MetadataIndex,
    Schema,
)

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage import limits
from boundary_env_ros.storage.mcap_scan import (
    body_of,
    BrokenError,
    chunk_content,
    chunk_head,
    MAGIC,
    McapScan,
    RECORD,
    records_of,
)

#: Messages of a chunk: log times and offsets in it, of each channel.
Messages = dict[int, list[tuple[int, int]]]

#: Name of the metadata that rosbag2 keeps in a file; a repaired file gets its own.
ROSBAG2: Final = 'rosbag2'

_MESSAGE_HEAD: Final = struct.Struct('<HIQQ')

# What the parsers of records raise.
_UNREADABLE: Final = (McapError, struct.error, ValueError, KeyError, IndexError, OverflowError)


@dataclass(slots=True)
class McapContents:
    """What is in the records that were read, as the summary will tell it."""

    schemas: dict[int, Any] = field(default_factory=dict)
    channels: dict[int, Any] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    chunks: list[Any] = field(default_factory=list)
    attachments: list[Any] = field(default_factory=list)
    metadata: list[Any] = field(default_factory=list)
    start: int | None = None
    end: int | None = None

    def add(self, messages: Messages) -> None:
        """Count messages, which stand as times and offsets under their channel."""
        for channel, records in messages.items():
            self.counts[channel] = self.counts.get(channel, 0) + len(records)
            times = [time for time, _ in records]
            self.start = min(times) if self.start is None else min(self.start, *times)
            self.end = max(times) if self.end is None else max(self.end, *times)


class TornMcap:
    """
    A damaged file, read from front to back: one that was never closed, or whose bytes changed.

    Parameters
    ----------
    path, file
        The file, open; it is only read.
    progress
        Gets the bytes that were read, and how many there are.

    Attributes
    ----------
    size
        Its bytes.
    good
        Up to where it consists of records, but for what was dropped.
    pieces
        What a whole file begins with: begin and end in this one, or bytes to put in there.
    why
        Why there are no more records; empty for a file that was closed.
    dropped
        Place, length and damage of what is unreadable before that.
    known
        What is in the pieces, with its offsets in the new file.
    unindexed
        Messages of its last chunk, if their index is torn.

    Raises
    ------
    RecordError
        If it is something else.

    """

    def __init__(self, path: Path, file: BinaryIO, progress: Callable[[int, int], None]) -> None:
        self._path, self._old, self._progress = path, file, progress
        self.size = os.fstat(file.fileno()).st_size
        self.known = McapContents()
        self.good = 0
        self.pieces: list[tuple[int, int] | bytes] = []
        self.why = ''
        self.dropped: list[tuple[int, int, str]] = []
        # How much later a byte comes in the new file.
        self._shift = 0
        # Of the last chunk: its messages, and the channels whose index was read.
        self._last: Messages | None = {}
        self._indexed: set[int] = set()
        self._last_end = 0
        self._summary = McapContents()
        self._closed = False
        self._walk()
        self.unindexed: Messages = {}
        if not self._closed and self._last and not self._last.keys() <= self._indexed:
            self.unindexed = self._last
            self.good = self._last_end
            self.known.chunks[-1].message_index_offsets = {}
            self.known.chunks[-1].message_index_length = 0
        self.pieces.append((self._begin, max(self.good, self._begin)))

    def _walk(self) -> None:
        """Read records up to where there is none."""
        self._begin = 0
        begin = self._old.read(len(MAGIC))
        if begin != MAGIC:
            if not MAGIC.startswith(begin.rstrip(b'\0')):
                raise RecordError(
                    f'Expect an MCAP file, actually: {self._path} begins with {begin!r}. '
                    'Nothing of it can be recovered.'
                )
            self.why = 'it has no beginning'
            return
        scan = McapScan(self._path)
        self._closed = scan.complete
        if self._closed:
            self._read_summary(scan.summary_start)
        self.good = len(MAGIC)
        while True:
            try:
                self._read_on()
                return
            except BrokenError as error:
                self.why = str(error)
            except _UNREADABLE as error:
                self.why = f'a record cannot be read ({error})'
            # The summary of a file that was closed says where the next chunk is.
            later = (c.chunk_start_offset for c in self._summary.chunks)
            following = min((at for at in later if at > self.good), default=None)
            if following is None:
                return
            self._drop(self.good, following, self.why)
            self.why = ''

    def _read_on(self) -> None:
        for offset, opcode, length in records_of(self._old, self.good, self.size):
            if opcode in (Opcode.DATA_END, Opcode.FOOTER):
                self.why = '' if self._closed else 'its index was not finished'
                return
            if (opcode == Opcode.HEADER) is not (offset == len(MAGIC)):
                raise BrokenError('it does not begin with its head')
            following = offset + RECORD.size + length
            if opcode == Opcode.CHUNK:
                self._take_chunk(offset, length)
            elif opcode == Opcode.MESSAGE_INDEX and self._last is None:
                self._cut(offset, following)
            else:
                # Of an attachment the head is enough.
                most = min(length, limits.TEXT) if opcode == Opcode.ATTACHMENT else length
                self._take(offset, opcode, length, body_of(self._old, offset, opcode, most))
            self.good = following
            self._progress(self.good, self.size)
        self.why = 'it was not closed by its writer'

    def _take(self, offset: int, opcode: int, length: int, body: bytes) -> None:
        known, at, size = self.known, offset + self._shift, RECORD.size + length
        stream = ReadDataStream(BytesIO(body))
        if opcode == Opcode.HEADER:
            Header.read(stream)
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            _learn(known, opcode, body)
        elif opcode == Opcode.MESSAGE:
            channel, _, log_time, _ = _MESSAGE_HEAD.unpack_from(body)
            if channel not in known.channels:
                raise BrokenError(f'a message has no channel ({channel})')
            known.add({channel: [(log_time, 0)]})
        elif opcode == Opcode.MESSAGE_INDEX and known.chunks:
            (channel,) = struct.unpack_from('<H', body)
            chunk = known.chunks[-1]
            chunk.message_index_offsets[channel] = at
            chunk.message_index_length += size
            self._indexed.add(channel)
        elif opcode == Opcode.ATTACHMENT:
            log_time, create_time = stream.read8(), stream.read8()
            name, media_type = stream.read_prefixed_string(), stream.read_prefixed_string()
            known.attachments.append(
                AttachmentIndex(
                    offset=at,
                    length=size,
                    create_time=create_time,
                    log_time=log_time,
                    data_size=stream.read8(),
                    name=name,
                    media_type=media_type,
                )
            )
        elif opcode == Opcode.METADATA:
            kept = Metadata.read(stream)
            if kept.name == ROSBAG2:
                self._cut(offset, offset + size)
            else:
                known.metadata.append(MetadataIndex(offset=at, length=size, name=kept.name))

    def _take_chunk(self, offset: int, length: int) -> None:
        end = offset + RECORD.size + length
        inner = McapContents(dict(self.known.schemas), dict(self.known.channels))
        try:
            body = body_of(self._old, offset, Opcode.CHUNK, length)
            content = chunk_content(body)
            messages, used = _inside(content, inner)
            if used != len(content):
                raise BrokenError('a chunk ends in the middle of a message')
            chunk = Chunk.read(ReadDataStream(BytesIO(body)))
        except (BrokenError, *_UNREADABLE) as error:
            self._drop(offset, end, str(error))
            return
        self.known.schemas, self.known.channels = inner.schemas, inner.channels
        self.known.add(messages)
        self.known.chunks.append(index_of(chunk, offset + self._shift, RECORD.size + length))
        self._last, self._indexed, self._last_end = messages, set(), end

    def _drop(self, begin: int, end: int, damage: str) -> None:
        """Leave out what is damaged; what it may have declared comes from the summary."""
        self.dropped.append((begin, end - begin, damage))
        known, summary = self.known, self._summary
        builder = RecordBuilder()
        for number, schema in summary.schemas.items():
            if known.schemas.setdefault(number, schema) is schema:
                schema.write(builder)
        for number, channel in summary.channels.items():
            if known.channels.setdefault(number, channel) is channel:
                channel.write(builder)
        declared: bytes = builder.end()
        self._cut(begin, end, declared)
        # The index of its messages goes with it.
        self._last = None
        self.good = end

    def _cut(self, begin: int, end: int, instead: bytes = b'') -> None:
        self.pieces += [(self._begin, begin), instead]
        self._begin = end
        self._shift += len(instead) - (end - begin)

    def _read_summary(self, begin: int) -> None:
        """Learn what a file that was closed says of itself, as far as that is readable."""
        summary = self._summary
        try:
            for offset, opcode, length in records_of(self._old, begin or self.size, self.size):
                if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                    _learn(summary, opcode, body_of(self._old, offset, opcode, length))
                elif opcode == Opcode.CHUNK_INDEX:
                    body = body_of(self._old, offset, opcode, length)
                    summary.chunks.append(ChunkIndex.read(ReadDataStream(BytesIO(body))))
                elif opcode == Opcode.FOOTER:
                    return
        except (BrokenError, *_UNREADABLE):
            pass

    def torn_chunk(self) -> tuple[bytes, Messages]:
        """Return what a chunk that is torn itself gives back; what it declares is known then."""
        nothing: tuple[bytes, Messages] = (b'', {})
        self._old.seek(self.good)
        rest = self._old.read(min(self.size - self.good, limits.CHUNK))
        if self._closed or len(rest) <= RECORD.size or rest[0] != Opcode.CHUNK:
            return nothing
        content = _decompressed_as_far_as_possible(rest[RECORD.size :])
        inner = McapContents(dict(self.known.schemas), dict(self.known.channels))
        try:
            messages, used = _inside(content, inner)
        except (BrokenError, *_UNREADABLE):
            return nothing
        if not messages:
            return nothing
        self.known.schemas, self.known.channels = inner.schemas, inner.channels
        return content[:used], messages


def index_of(chunk: Any, offset: int, length: int) -> Any:
    """Return the index of a chunk, without those of its messages."""
    return ChunkIndex(
        message_start_time=chunk.message_start_time,
        message_end_time=chunk.message_end_time,
        chunk_start_offset=offset,
        chunk_length=length,
        message_index_offsets={},
        message_index_length=0,
        compression=chunk.compression,
        compressed_size=len(chunk.data),
        uncompressed_size=chunk.uncompressed_size,
    )


def _learn(known: McapContents, opcode: int, body: bytes) -> None:
    stream = ReadDataStream(BytesIO(body))
    if opcode == Opcode.SCHEMA:
        schema = Schema.read(stream)
        known.schemas[schema.id] = schema
        return
    channel = Channel.read(stream)
    if channel.schema_id and channel.schema_id not in known.schemas:
        raise BrokenError(f'the topic {channel.topic} has no definition')
    known.channels[channel.id] = channel


def _inside(content: bytes, known: McapContents) -> tuple[Messages, int]:
    """Return the messages of a chunk, as times and offsets of each channel, and where it ends."""
    found: Messages = {}
    offset = 0
    while offset + RECORD.size <= len(content):
        opcode, length = RECORD.unpack_from(content, offset)
        begin = offset + RECORD.size
        if begin + length > len(content):
            break
        if opcode == Opcode.MESSAGE:
            channel, _, log_time, _ = _MESSAGE_HEAD.unpack_from(content, begin)
            if channel not in known.channels:
                break
            found.setdefault(channel, []).append((log_time, offset))
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            _learn(known, opcode, content[begin : begin + length])
        else:
            break
        offset = begin + length
    return found, offset


def _decompressed_as_far_as_possible(body: bytes) -> bytes:
    """Return the beginning of the content of a torn chunk; nothing if nobody vouches for it."""
    content = bytearray()
    try:
        size, _, compression, begin = chunk_head(body)
        # Without compression torn bytes look like any others.
        if compression:
            most = min(size, limits.CHUNK)
            for block in limits.unpacked(compression, body[begin:], most, 'a chunk'):
                content += block
    except (struct.error, BrokenError, RecordError):
        pass
    return bytes(content)
