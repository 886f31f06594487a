# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A damaged MCAP file made whole, in a new file: every message that can be read, index and footer.

Nothing is decoded and nothing made up, and of a chunk that was damaged nothing is taken. The new
file says in
metadata of its own (:data:`RECOVERED`) what it lacks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
import os
from pathlib import Path
import struct
from typing import Any, BinaryIO, Final

from mcap import records
from mcap.opcode import Opcode
from mcap.writer import Writer

from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.atomic import open_draft
from boundary_env_ros.storage.bag_metadata import metadata_text
from boundary_env_ros.storage.channel import Channel, Contents
from boundary_env_ros.storage.disk_errors import disk_error
from boundary_env_ros.storage.mcap_file import registered, Schemas
from boundary_env_ros.storage.mcap_scan import (
    body_of,
    BrokenError,
    Channels,
    chunk_content,
    in_chunk,
    LIBRARY,
    MAGIC,
    McapScan,
    OURS,
    parsed,
    RECORD,
    records_of,
    RECOVERED,
)

__all__ = ['RECOVERED', 'Repair', 'repair']

#: Name of the metadata that rosbag2 keeps in a file; a repaired file gets its own.
_ROSBAG2: Final = 'rosbag2'

#: So many damages are listed one by one, in so many characters each: there may be millions.
_REPORTED: Final = 20
_LETTERS: Final = 200

# What stands in the way of a record.
_UNREADABLE: Final = (BrokenError, struct.error, OverflowError)


@frozen
class Repair:
    """
    What was made of a torn file.

    Attributes
    ----------
    messages
        How many messages are in it.
    dropped
        Bytes of the old file that were damaged before its end.
    unreadable
        Bytes at its end that nothing could be made of.
    torn
        Whether its end is missing: what its writer had still to say is unknown.
    tear
        Where and why it ended, and what was damaged before.

    """

    messages: int
    dropped: int
    unreadable: int
    torn: bool
    tear: str


def repair(
    torn: Path,
    new: Path,
    custom_data: Mapping[str, str],
    ros_distro: str,
    progress: Callable[[int, int], None],
) -> Repair:
    """
    Write what can be read of a torn file to a new one, whole, and wait for the disk.

    Parameters
    ----------
    torn
        The file; it is only read.
    new
        The new one, which takes its place and its name later; overwritten.
    custom_data, ros_distro
        For its metadata.
    progress
        Gets the bytes that were read, and how many there are.

    Raises
    ------
    RecordError
        If the file is no MCAP file, or the new one cannot be written.

    """
    way_out = f'The recovery needs as much space as {torn.name} has; free it. '
    with disk_error(f'{new} cannot be written', f'{way_out}The file itself is untouched.'):
        try:
            with torn.open('rb') as old, open_draft(new) as out:
                work = _Repair(torn, old, out, progress)
                work.copy()
                repaired = work.finish(custom_data, ros_distro)
                out.flush()
                os.fsync(out.fileno())
                return repaired
        except OSError:
            new.unlink(missing_ok=True)
            raise


def has_no_beginning(file: BinaryIO) -> bool:
    """Return whether a file ends, or has zeros, before it says what it is."""
    begin = file.read(len(MAGIC))
    return begin != MAGIC and MAGIC.startswith(begin.rstrip(b'\0'))


class _Repair:
    """Reads the old file from front to back and writes the new one."""

    def __init__(
        self, path: Path, old: BinaryIO, out: BinaryIO, progress: Callable[[int, int], None]
    ) -> None:
        self._path, self._old, self._progress = path, old, progress
        self._size = os.fstat(old.fileno()).st_size
        self._writer = Writer(out)
        # What we recorded stays in the order in which it came.
        ours = old.read(len(OURS)) == OURS
        old.seek(0)
        self._writer.start(profile='ros2', library=LIBRARY if ours else '')
        self._channels = Channels(lambda _: True)
        self._numbers: dict[Channel, int] = {}
        self._schemas: Schemas = {}
        self._contents = Contents()
        # Where the chunks of a file that was closed begin.
        self._chunks: list[int] = []
        self._closed = False
        # Up to where the old file was read, why not further, and what is damaged before.
        self._good = 0
        self._why = ''
        self._damaged: list[str] = []
        self._damages = self._dropped = 0
        # The log times between which something is missing.
        self._holes: list[str] = []
        self._hole: int | None = None

    # Reading -------------------------------------------------------------------------------------

    def copy(self) -> None:
        """Copy records up to where there is none."""
        if has_no_beginning(self._old):
            self._why = 'it has no beginning'
            return
        scan = McapScan(self._path)
        self._closed, self._channels = scan.complete, scan.channels
        self._chunks = sorted(scan.chunks)
        self._good = len(MAGIC)
        while True:
            try:
                self._copy_on()
                break
            except _UNREADABLE as error:
                self._why = str(error)
            number = bisect_right(self._chunks, self._good)
            if number == len(self._chunks):
                break
            self._drop(self._good, self._chunks[number], self._why)
            self._why = ''

    def _copy_on(self) -> None:
        for offset, opcode, length in records_of(self._old, self._good, self._size):
            if opcode in (Opcode.DATA_END, Opcode.FOOTER):
                self._why = '' if self._closed else 'its index was not finished'
                return
            if (opcode == Opcode.HEADER) is not (offset == len(MAGIC)):
                raise BrokenError('it does not begin with its head')
            following = offset + RECORD.size + length
            try:
                if opcode != Opcode.MESSAGE_INDEX:
                    self._copy_record(opcode, body_of(self._old, offset, opcode, length))
            except _UNREADABLE as error:
                if opcode not in (Opcode.CHUNK, Opcode.ATTACHMENT):
                    raise
                self._drop(offset, following, str(error))
            self._good = following
            self._progress(self._good, self._size)
        self._why = 'it was not closed by its writer'

    def _copy_record(self, opcode: int, body: bytes) -> None:
        if opcode in (Opcode.CHUNK, Opcode.MESSAGE):
            # A message that stands outside of chunks is one of its own.
            alone = opcode == Opcode.MESSAGE
            content = RECORD.pack(opcode, len(body)) + body if alone else chunk_content(body)
            for _ in in_chunk(content, self._channels):
                pass  # All of it can be read, or nothing of it is taken.
            self._write(in_chunk(content, self._channels))
        elif opcode == Opcode.ATTACHMENT:
            kept = parsed(records.Attachment, body)
            self._writer.add_attachment(
                kept.create_time, kept.log_time, kept.name, kept.media_type, kept.data
            )
        elif opcode == Opcode.METADATA:
            texts = parsed(records.Metadata, body)
            if texts.name != _ROSBAG2:
                self._writer.add_metadata(texts.name, texts.metadata)
        else:
            self._channels.learn(opcode, body)

    def _drop(self, begin: int, end: int, damage: str) -> None:
        self._damages += 1
        if self._hole is None:
            self._hole = self._contents.end or 0
        self._dropped += end - begin
        if self._damages <= _REPORTED:
            self._damaged.append(
                f'{end - begin} bytes of {self._path.name} from byte {begin} on were damaged: '
                f'{damage[:_LETTERS]}'
            )
        self._good = end

    # Writing -------------------------------------------------------------------------------------

    def _write(self, messages: Any) -> None:
        for channel, sequence, log_time, publish_time, data in messages:
            if self._hole is not None:
                self._holes.append(f'{self._hole}-{log_time}')
                self._hole = None
            self._writer.add_message(self._number(channel), log_time, data, publish_time, sequence)
            self._contents.add(channel, log_time)

    def _number(self, channel: Channel) -> int:
        """Return the number of a topic in the new file, where its first use declares it."""
        number = self._numbers.get(channel)
        if number is None:
            number = registered(self._writer, channel, self._schemas)
            self._numbers[channel], self._contents.counts[channel] = number, 0
        return number

    def finish(self, custom_data: Mapping[str, str], ros_distro: str) -> Repair:
        """Write what the file lacks, its index and footer."""
        for channel in self._channels.all.values():
            self._number(channel)
        damages = self._damaged
        if self._damages > _REPORTED:
            damages.append(f'so were {self._damages - _REPORTED} more pieces of it')
        if self._why:
            damages.append(f'{self._path.name} ended at byte {self._good}: {self._why[:_LETTERS]}')
        repaired = Repair(
            messages=self._contents.messages,
            dropped=self._dropped,
            unreadable=self._size - self._good if self._why else 0,
            torn=bool(self._why),
            tear='; '.join(damages),
        )
        self._writer.add_metadata(
            RECOVERED, {'tear': repaired.tear, 'holes': ' '.join(self._holes[:_REPORTED])}
        )
        text = metadata_text({self._path.name: self._contents}, custom_data, ros_distro)
        self._writer.add_metadata(_ROSBAG2, {'serialized_metadata': text})
        self._writer.finish()
        return repaired
