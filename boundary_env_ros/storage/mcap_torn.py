# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can be read of a torn MCAP file, and what its summary has to say of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
import os
from pathlib import Path
import struct
from typing import Any, BinaryIO, Final

import lz4.frame  # type: ignore[import-untyped]
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    Header,
    Metadata,
    MetadataIndex,
    Schema,
)
from mcap.stream_reader import get_chunk_data_stream
import zstandard

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.mcap_scan import MAGIC

#: Messages of a chunk: log times and offsets in it, of each channel.
Messages = dict[int, list[tuple[int, int]]]

_RECORD: Final = struct.Struct('<BQ')
_MESSAGE_HEAD: Final = struct.Struct('<HIQQ')
_CHUNK_HEAD: Final = struct.Struct('<QQQI')
_PRIVATE: Final = 0x80
_MOST: Final = 2**32

# What the parsers of records raise.
_UNREADABLE: Final = (McapError, struct.error, ValueError, KeyError, IndexError)


class _TornError(Exception):
    """Raised when what follows is not what an MCAP file has there."""


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
    A torn file, read from front to back.

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
        How many of them are whole records.
    why
        Why there are no more.
    known
        What is in them.
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
        self.why = ''
        # Of the last chunk: its messages, and the channels whose index was read.
        self._last: Messages = {}
        self._indexed: set[int] = set()
        self._last_end = 0
        self._walk()
        self.unindexed: Messages = {}
        if not self._last.keys() <= self._indexed:
            self.unindexed = self._last
            self.good = self._last_end
            self.known.chunks[-1].message_index_offsets = {}
            self.known.chunks[-1].message_index_length = 0

    def _walk(self) -> None:
        """Read whole records up to where there is none."""
        begin = self._old.read(len(MAGIC))
        if begin != MAGIC:
            if not MAGIC.startswith(begin.rstrip(b'\0')):
                raise RecordError(
                    f'Expect an MCAP file, actually: {self._path} begins with {begin!r}. '
                    'Nothing of it can be recovered.'
                )
            self.why = 'it has no beginning'
            return
        self.good = len(MAGIC)
        try:
            for offset, opcode, body in self._records():
                self._take(offset, opcode, body)
                self.good = offset + _RECORD.size + len(body)
                self._progress(self.good, self.size)
            self.why = self.why or 'it was not closed by its writer'
        except _TornError as error:
            self.why = str(error)
        except _UNREADABLE as error:
            self.why = f'a record cannot be read ({error})'

    def _records(self) -> Iterator[tuple[int, int, bytes]]:
        offset = len(MAGIC)
        while offset < self.size:
            self._old.seek(offset)
            head = self._old.read(_RECORD.size)
            if len(head) < _RECORD.size:
                raise _TornError('a record has no length')
            opcode, length = _RECORD.unpack(head)
            if opcode in (Opcode.DATA_END, Opcode.FOOTER):
                self.why = 'its index was not finished'
                return
            if not 0 < opcode <= Opcode.DATA_END and opcode < _PRIVATE:
                raise _TornError(f'there is no record of kind {opcode}')
            behind = offset + _RECORD.size + length - self.size
            if behind > 0 or length > _MOST:
                raise _TornError(f'a record ends {behind} bytes behind the end')
            yield offset, opcode, self._old.read(length)
            offset += _RECORD.size + length

    def _take(self, offset: int, opcode: int, body: bytes) -> None:
        known = self.known
        if (opcode == Opcode.HEADER) is not (offset == len(MAGIC)):
            raise _TornError('it does not begin with its head')
        if opcode == Opcode.HEADER:
            Header.read(ReadDataStream(BytesIO(body)))
        elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            _learn(known, opcode, body)
        elif opcode == Opcode.MESSAGE:
            channel, _, log_time, _ = _MESSAGE_HEAD.unpack_from(body)
            if channel not in known.channels:
                raise _TornError(f'a message has no channel ({channel})')
            known.add({channel: [(log_time, 0)]})
        elif opcode == Opcode.CHUNK:
            self._take_chunk(offset, body)
        elif opcode == Opcode.MESSAGE_INDEX and known.chunks:
            (channel,) = struct.unpack_from('<H', body)
            chunk = known.chunks[-1]
            chunk.message_index_offsets[channel] = offset
            chunk.message_index_length += _RECORD.size + len(body)
            self._indexed.add(channel)
        elif opcode == Opcode.ATTACHMENT:
            attachment = Attachment.read(ReadDataStream(BytesIO(body)))
            known.attachments.append(
                AttachmentIndex(
                    offset=offset,
                    length=_RECORD.size + len(body),
                    create_time=attachment.create_time,
                    log_time=attachment.log_time,
                    data_size=len(attachment.data),
                    name=attachment.name,
                    media_type=attachment.media_type,
                )
            )
        elif opcode == Opcode.METADATA:
            kept = Metadata.read(ReadDataStream(BytesIO(body)))
            known.metadata.append(
                MetadataIndex(offset=offset, length=_RECORD.size + len(body), name=kept.name)
            )

    def _take_chunk(self, offset: int, body: bytes) -> None:
        chunk = Chunk.read(ReadDataStream(BytesIO(body)))
        try:
            stream, length = get_chunk_data_stream(chunk, validate_crc=True)
            content = bytes(stream.read(length))
        except Exception as error:  # Each compressor raises what it likes.
            raise _TornError(f'a chunk cannot be read ({error})') from error
        inner = McapContents(dict(self.known.schemas), dict(self.known.channels))
        messages, used = _inside(content, inner)
        if used != len(content):
            raise _TornError('a chunk ends in the middle of a message')
        self.known.schemas, self.known.channels = inner.schemas, inner.channels
        self.known.add(messages)
        self.known.chunks.append(index_of(chunk, offset, _RECORD.size + len(body)))
        self._last, self._indexed = messages, set()
        self._last_end = offset + _RECORD.size + len(body)

    def torn_chunk(self) -> tuple[bytes, Messages]:
        """Return what a chunk that is torn itself gives back; what it declares is known then."""
        nothing: tuple[bytes, Messages] = (b'', {})
        self._old.seek(self.good)
        rest = self._old.read(min(self.size - self.good, _MOST))
        if len(rest) <= _RECORD.size or rest[0] != Opcode.CHUNK:
            return nothing
        content = _decompressed_as_far_as_possible(rest[_RECORD.size :])
        inner = McapContents(dict(self.known.schemas), dict(self.known.channels))
        try:
            messages, used = _inside(content, inner)
        except (_TornError, *_UNREADABLE):
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
        raise _TornError(f'the topic {channel.topic} has no definition')
    known.channels[channel.id] = channel


def _inside(content: bytes, known: McapContents) -> tuple[Messages, int]:
    """Return the messages of a chunk, as times and offsets of each channel, and where it ends."""
    found: Messages = {}
    offset = 0
    while offset + _RECORD.size <= len(content):
        opcode, length = _RECORD.unpack_from(content, offset)
        begin = offset + _RECORD.size
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
    try:
        (length,) = struct.unpack_from('<I', body, _CHUNK_HEAD.size)
        begin = _CHUNK_HEAD.size + 4 + length
        compression = body[_CHUNK_HEAD.size + 4 : begin].decode()
        data = body[begin + 8 :]
        if compression == 'zstd':
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        if compression == 'lz4':
            return bytes(lz4.frame.LZ4FrameDecompressor().decompress(data))
    except (struct.error, UnicodeDecodeError, zstandard.ZstdError, RuntimeError):
        pass
    # Without compression torn bytes look like any others.
    return b''
