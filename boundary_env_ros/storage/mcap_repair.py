# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A torn MCAP file made whole, in a new file: what can be read, byte by byte, then index and footer.

Nothing is decoded and nothing made up. The whole records of the torn file are copied as they are;
of a chunk that is torn itself, the messages that its compressor gives back whole. The new file
says in metadata of its own (:data:`RECOVERED`) that it ends where its writer died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
import os
from pathlib import Path
import struct
from typing import Any, BinaryIO, Final
import zlib

import lz4.frame  # type: ignore[import-untyped]
from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import (
    Attachment,
    AttachmentIndex,
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.stream_reader import get_chunk_data_stream
import zstandard

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.bag_metadata import BagFile, BagTopic, metadata_text, qos_of_text
from boundary_env_ros.storage.mcap_scan import MAGIC, RECOVERED

_RECORD: Final = struct.Struct('<BQ')
_MESSAGE_HEAD: Final = struct.Struct('<HIQQ')
_CHUNK_HEAD: Final = struct.Struct('<QQQI')
_PRIVATE: Final = 0x80
_MOST: Final = 2**32
_BLOCK: Final = 1 << 20

# What the parsers of records raise.
_UNREADABLE: Final = (McapError, struct.error, ValueError, KeyError, IndexError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """
    What was made of a torn file.

    Attributes
    ----------
    messages, end
        How many messages are in it, and the log time of the last, nanoseconds.
    rescued
        How many of them come out of a chunk that was torn itself.
    unreadable
        Bytes at the end of the old file that nothing could be made of.
    tear
        Where and why it was torn.

    """

    messages: int
    end: int | None
    rescued: int
    unreadable: int
    tear: str


class _TornError(Exception):
    """Raised when what follows is not what an MCAP file has there."""


@dataclass(slots=True)
class _Contents:
    """What is in the records that were read, as the summary will tell it."""

    schemas: dict[int, Any] = field(default_factory=dict)
    channels: dict[int, Any] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    chunks: list[Any] = field(default_factory=list)
    attachments: list[Any] = field(default_factory=list)
    metadata: list[Any] = field(default_factory=list)
    start: int | None = None
    end: int | None = None

    def add(self, messages: Mapping[int, list[tuple[int, int]]]) -> None:
        """Count messages, which stand as times and offsets under their channel."""
        for channel, records in messages.items():
            self.counts[channel] = self.counts.get(channel, 0) + len(records)
            times = [time for time, _ in records]
            self.start = min(times) if self.start is None else min(self.start, *times)
            self.end = max(times) if self.end is None else max(self.end, *times)


def repair(
    torn: Path,
    new: Path,
    *,
    name: str,
    custom_data: Mapping[str, str],
    ros_distro: str,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Repair:
    """
    Write what can be read of a torn file to a new one, whole, and wait for the disk.

    Parameters
    ----------
    torn
        The file; it is only read.
    new
        The new one; overwritten.
    name
        Its name later, for its metadata.
    custom_data, ros_distro
        For its metadata.
    progress
        Gets the bytes that were read, and how many there are.

    Raises
    ------
    RecordError
        If the file is no MCAP file, or the new one cannot be written.

    """
    try:
        with torn.open('rb') as old, new.open('wb') as out:
            return _Repair(torn, old, out, progress).run(name, custom_data, ros_distro)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise RecordError(
            f'Expect to write {new}, actually: {error.strerror or error}. The recovery needs as '
            f'much space as {torn.name} has; free it. The file itself is untouched.'
        ) from error


class _Repair:
    def __init__(
        self, path: Path, old: BinaryIO, out: BinaryIO, progress: Callable[[int, int], None]
    ) -> None:
        self._path, self._old, self._out, self._progress = path, old, out, progress
        self._size = os.fstat(old.fileno()).st_size
        self._known = _Contents()
        self._good = 0
        self._why = ''
        # Of the last chunk: its messages, and the channels whose index was read.
        self._last: dict[int, list[tuple[int, int]]] = {}
        self._indexed: set[int] = set()
        self._last_end = 0

    def run(self, name: str, custom_data: Mapping[str, str], ros_distro: str) -> Repair:
        self._walk()
        if not self._last.keys() <= self._indexed:
            # The indexes of the last chunk are torn; it has new ones.
            self._good = self._last_end
            if self._known.chunks:
                self._known.chunks[-1].message_index_offsets = {}
                self._known.chunks[-1].message_index_length = 0
        self._copy()
        if not self._last.keys() <= self._indexed:
            self._write_indexes(self._known.chunks[-1], self._last)
        rescued = self._rescue()
        tear = f'{self._path.name} was torn at byte {self._good}: {self._why}'
        repaired = Repair(
            messages=sum(self._known.counts.values()),
            end=self._known.end,
            rescued=rescued,
            unreadable=self._size - self._good,
            tear=tear,
        )
        self._write_metadata(RECOVERED, {'tear': tear})
        text = self._text(name, custom_data, ros_distro)
        self._write_metadata('rosbag2', {'serialized_metadata': text})
        self._finish()
        self._out.flush()
        os.fsync(self._out.fileno())
        return repaired

    # What can be read ----------------------------------------------------------------------------

    def _walk(self) -> None:
        """Read whole records up to where there is none."""
        begin = self._old.read(len(MAGIC))
        if begin != MAGIC:
            if not MAGIC.startswith(begin.rstrip(b'\0')):
                raise RecordError(
                    f'Expect an MCAP file, actually: {self._path} begins with {begin!r}. '
                    'Nothing of it can be recovered.'
                )
            self._why = 'it has no beginning'
            return
        self._good = len(MAGIC)
        try:
            for offset, opcode, body in self._records():
                self._take(offset, opcode, body)
                self._good = offset + _RECORD.size + len(body)
                self._progress(self._good, self._size)
            self._why = self._why or 'it was not closed by its writer'
        except _TornError as error:
            self._why = str(error)
        except _UNREADABLE as error:
            self._why = f'a record cannot be read ({error})'

    def _records(self) -> Iterator[tuple[int, int, bytes]]:
        offset = len(MAGIC)
        while offset < self._size:
            self._old.seek(offset)
            head = self._old.read(_RECORD.size)
            if len(head) < _RECORD.size:
                raise _TornError('a record has no length')
            opcode, length = _RECORD.unpack(head)
            if opcode in (Opcode.DATA_END, Opcode.FOOTER):
                self._why = 'its index was not finished'
                return
            if not 0 < opcode <= Opcode.DATA_END and opcode < _PRIVATE:
                raise _TornError(f'there is no record of kind {opcode}')
            behind = offset + _RECORD.size + length - self._size
            if behind > 0 or length > _MOST:
                raise _TornError(f'a record ends {behind} bytes behind the end')
            yield offset, opcode, self._old.read(length)
            offset += _RECORD.size + length

    def _take(self, offset: int, opcode: int, body: bytes) -> None:
        known = self._known
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
        inner = _Contents(dict(self._known.schemas), dict(self._known.channels))
        messages, used = _inside(content, inner)
        if used != len(content):
            raise _TornError('a chunk ends in the middle of a message')
        self._known.schemas, self._known.channels = inner.schemas, inner.channels
        self._known.add(messages)
        self._known.chunks.append(_index_of(chunk, offset, _RECORD.size + len(body)))
        self._last, self._indexed = messages, set()
        self._last_end = offset + _RECORD.size + len(body)

    def _rescue(self) -> int:
        """Write what a torn chunk gives back; return how many messages that is."""
        self._old.seek(self._good)
        rest = self._old.read(min(self._size - self._good, _MOST))
        if len(rest) <= _RECORD.size or rest[0] != Opcode.CHUNK:
            return 0
        content = _decompressed_as_far_as_possible(rest[_RECORD.size :])
        inner = _Contents(dict(self._known.schemas), dict(self._known.channels))
        try:
            messages, used = _inside(content, inner)
        except (_TornError, *_UNREADABLE):
            return 0
        if not messages:
            return 0
        self._known.schemas, self._known.channels = inner.schemas, inner.channels
        data = content[:used]
        times = [time for records in messages.values() for time, _ in records]
        chunk = Chunk(
            compression='zstd',
            data=zstandard.compress(data),
            message_start_time=min(times),
            message_end_time=max(times),
            uncompressed_crc=zlib.crc32(data),
            uncompressed_size=len(data),
        )
        offset = self._out.tell()
        self._write(chunk)
        index = _index_of(chunk, offset, self._out.tell() - offset)
        self._known.chunks.append(index)
        self._known.add(messages)
        self._write_indexes(index, messages)
        return len(times)

    # The new file --------------------------------------------------------------------------------

    def _copy(self) -> None:
        if self._good <= len(MAGIC):
            self._out.write(MAGIC)
            self._write(Header(profile='ros2', library='boundary_env_ros'))
            return
        self._old.seek(0)
        left = self._good
        while left:
            data = self._old.read(min(left, _BLOCK))
            self._out.write(data)
            left -= len(data)

    def _write(self, *records: Any) -> bytes:
        builder = RecordBuilder()
        for record in records:
            record.write(builder)
        data: bytes = builder.end()
        self._out.write(data)
        return data

    def _write_indexes(self, chunk: Any, messages: Mapping[int, list[tuple[int, int]]]) -> None:
        for channel, records in messages.items():
            chunk.message_index_offsets[channel] = self._out.tell()
            written = self._write(MessageIndex(channel_id=channel, records=records))
            chunk.message_index_length += len(written)

    def _write_metadata(self, name: str, texts: dict[str, str]) -> None:
        offset = self._out.tell()
        written = self._write(Metadata(name=name, metadata=texts))
        self._known.metadata.append(MetadataIndex(offset=offset, length=len(written), name=name))

    def _text(self, name: str, custom_data: Mapping[str, str], ros_distro: str) -> str:
        known = self._known
        return metadata_text(
            files=[
                BagFile(
                    name=name,
                    messages=sum(known.counts.values()),
                    start=known.start or 0,
                    end=known.end or 0,
                )
            ],
            topics=[
                topic_of(channel, known.schemas, known.counts.get(number, 0))
                for number, channel in known.channels.items()
            ],
            custom_data=custom_data,
            ros_distro=ros_distro,
        )

    def _finish(self) -> None:
        """Write the end of the data, the summary and the footer."""
        known = self._known
        self._write(DataEnd(0))
        begin = self._out.tell()
        statistics = Statistics(
            attachment_count=len(known.attachments),
            channel_count=len(known.channels),
            channel_message_counts=known.counts,
            chunk_count=len(known.chunks),
            message_count=sum(known.counts.values()),
            metadata_count=len(known.metadata),
            message_start_time=known.start or 0,
            message_end_time=known.end or 0,
            schema_count=len(known.schemas),
        )
        groups = (
            (Opcode.SCHEMA, list(known.schemas.values())),
            (Opcode.CHANNEL, list(known.channels.values())),
            (Opcode.STATISTICS, [statistics]),
            (Opcode.CHUNK_INDEX, known.chunks),
            (Opcode.ATTACHMENT_INDEX, known.attachments),
            (Opcode.METADATA_INDEX, known.metadata),
        )
        summary, offsets = b'', []
        for opcode, group in groups:
            at = self._out.tell()
            summary += self._write(*group)
            offsets.append(
                SummaryOffset(
                    group_opcode=opcode, group_start=at, group_length=self._out.tell() - at
                )
            )
        offsets_begin = self._out.tell()
        summary += self._write(*offsets)
        # The footer counts up to its own checksum.
        head = struct.pack('<BQQQ', Opcode.FOOTER, 20, begin, offsets_begin)
        crc = zlib.crc32(head, zlib.crc32(summary))
        self._write(
            Footer(summary_start=begin, summary_offset_start=offsets_begin, summary_crc=crc)
        )
        self._out.write(MAGIC)


def topic_of(channel: Any, schemas: Mapping[int, Any], messages: int) -> BagTopic:
    """Return what the metadata of a bag says of a channel of :mod:`mcap`."""
    schema = schemas.get(channel.schema_id)
    return BagTopic(
        name=channel.topic,
        type='' if schema is None else schema.name,
        type_hash=channel.metadata.get('topic_type_hash', ''),
        qos=qos_of_text(channel.metadata.get('offered_qos_profiles', '')),
        messages=messages,
    )


def _index_of(chunk: Any, offset: int, length: int) -> Any:
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


def _learn(known: _Contents, opcode: int, body: bytes) -> None:
    stream = ReadDataStream(BytesIO(body))
    if opcode == Opcode.SCHEMA:
        schema = Schema.read(stream)
        known.schemas[schema.id] = schema
        return
    channel = Channel.read(stream)
    if channel.schema_id and channel.schema_id not in known.schemas:
        raise _TornError(f'the topic {channel.topic} has no definition')
    known.channels[channel.id] = channel


def _inside(content: bytes, known: _Contents) -> tuple[dict[int, list[tuple[int, int]]], int]:
    """Return the messages of a chunk, as times and offsets of each channel, and where it ends."""
    found: dict[int, list[tuple[int, int]]] = {}
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


__all__ = ['RECOVERED', 'Repair', 'repair', 'topic_of']
