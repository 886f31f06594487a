# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A damaged MCAP file made whole, in a new file: what can be read, then index and footer.

Nothing is decoded and nothing made up. The whole records of the old file are copied as they are,
without the chunks that cannot be read; of a last chunk that is torn itself, the messages that its
compressor gives back whole. The new file says in metadata of its own (:data:`RECOVERED`) what it
lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import os
from pathlib import Path
import struct
from typing import Any, BinaryIO, Final
import zlib

from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Chunk,
    DataEnd,
    Footer,
    Header,
    MessageIndex,
    Metadata,
    MetadataIndex,
    Statistics,
    SummaryOffset,
)
import zstandard

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.bag_metadata import BagFile, BagTopic, metadata_text, qos_of_text
from boundary_env_ros.storage.mcap_scan import MAGIC, RECOVERED
from boundary_env_ros.storage.mcap_torn import index_of, Messages, ROSBAG2, TornMcap

__all__ = ['RECOVERED', 'Repair', 'repair']

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """
    What was made of a torn file.

    Attributes
    ----------
    messages
        How many messages are in it.
    rescued
        How many of them come out of a chunk that was torn itself.
    dropped
        Bytes of the old file that were damaged before its end.
    unreadable
        Bytes at its end that nothing could be made of.
    torn
        Whether its end is missing: nobody knows what its writer had still to say.
    tear
        Where and why it ended, and what was damaged before.

    """

    messages: int
    rescued: int
    dropped: int
    unreadable: int
    torn: bool
    tear: str


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
            found = TornMcap(torn, old, progress)
            return _Repair(torn, found, old, out).run(name, custom_data, ros_distro)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise RecordError(
            f'Expect to write {new}, actually: {error.strerror or error}. The recovery needs as '
            f'much space as {torn.name} has; free it. The file itself is untouched.'
        ) from error


class _Repair:
    """Writes the new file."""

    def __init__(self, path: Path, torn: TornMcap, old: BinaryIO, out: BinaryIO) -> None:
        self._path, self._torn, self._old, self._out = path, torn, old, out
        self._known = torn.known

    def run(self, name: str, custom_data: Mapping[str, str], ros_distro: str) -> Repair:
        torn = self._torn
        self._copy()
        if torn.unindexed:
            self._write_indexes(self._known.chunks[-1], torn.unindexed)
        rescued = self._rescue()
        damages = [
            f'{length} bytes of {self._path.name} from byte {begin} on were damaged: {damage}'
            for begin, length, damage in torn.dropped
        ]
        if torn.why:
            damages.append(f'{self._path.name} ended at byte {torn.good}: {torn.why}')
        tear = '; '.join(damages)
        repaired = Repair(
            messages=sum(self._known.counts.values()),
            rescued=rescued,
            dropped=sum(length for _, length, _ in torn.dropped),
            unreadable=torn.size - torn.good if torn.why else 0,
            torn=bool(torn.why),
            tear=tear,
        )
        self._write_metadata(RECOVERED, {'tear': tear})
        text = self._text(name, custom_data, ros_distro)
        self._write_metadata(ROSBAG2, {'serialized_metadata': text})
        self._finish()
        self._out.flush()
        os.fsync(self._out.fileno())
        return repaired

    def _rescue(self) -> int:
        """Write what a torn chunk gives back; return how many messages that is."""
        data, messages = self._torn.torn_chunk()
        if not messages:
            return 0
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
        index = index_of(chunk, offset, self._out.tell() - offset)
        self._known.chunks.append(index)
        self._known.add(messages)
        self._write_indexes(index, messages)
        return len(times)

    def _copy(self) -> None:
        if self._torn.good <= len(MAGIC):
            self._out.write(MAGIC)
            self._write(Header(profile='ros2', library='boundary_env_ros'))
            return
        for piece in self._torn.pieces:
            if isinstance(piece, bytes):
                self._out.write(piece)
                continue
            begin, end = piece
            self._old.seek(begin)
            while left := end - self._old.tell():
                self._out.write(self._old.read(min(left, _BLOCK)))

    def _write(self, *records: Any) -> bytes:
        builder = RecordBuilder()
        for record in records:
            record.write(builder)
        data: bytes = builder.end()
        self._out.write(data)
        return data

    def _write_indexes(self, chunk: Any, messages: Messages) -> None:
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
                BagTopic(
                    name=channel.topic,
                    type=schema.name if (schema := known.schemas.get(channel.schema_id)) else '',
                    type_hash=channel.metadata.get('topic_type_hash', ''),
                    qos=qos_of_text(channel.metadata.get('offered_qos_profiles', '')),
                    messages=known.counts.get(number, 0),
                )
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
