# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One MCAP file of a bag while it is written, on a file that keeps nothing back."""

from __future__ import annotations

from contextlib import suppress
import fcntl
import io
import os
from pathlib import Path
from typing import cast, IO

from mcap.writer import CompressionType, Writer

from boundary_env_ros.storage.channel import Channel, Contents
from boundary_env_ros.storage.mcap_scan import LIBRARY


class UnbufferedFile(io.BufferedIOBase):
    """
    The file as the MCAP writer sees it: without a buffer, and with a position known at once.

    A buffer would keep the end of a chunk in the process, where ``kill -9`` takes it.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.raw = path.open('xb', buffering=0)
        self.position = 0

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Write all of the data."""
        view = memoryview(data)
        while view:
            written = self.raw.write(view)
            self.position += written
            view = view[written:]
        return len(data)

    def tell(self) -> int:
        """Return the position."""
        return self.position

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        """Close the file."""
        self.raw.close()
        super().close()


Schemas = dict[tuple[str, str, bytes], int]


def registered(writer: Writer, channel: Channel, schemas: Schemas) -> int:
    """Declare a topic to a writer and return its number; each definition is written once."""
    key = (channel.type, channel.definition_encoding, channel.definition)
    if key not in schemas:
        schemas[key] = writer.register_schema(*key)
    number: int = writer.register_channel(
        channel.topic, channel.encoding, schemas[key], dict(channel.metadata)
    )
    return number


class McapFile:
    """
    One file, from its head to its footer; of one thread.

    Whatever of its calls raises ``OSError`` leaves a file whose whole chunks are readable after
    :meth:`cut_off`. While it is open it is locked (``flock``), so that others can distinguish a
    file that is being written from one whose writer died.

    Parameters
    ----------
    path
        The file, which must not exist.
    chunk_size
        Bytes (before compression) at which a chunk is closed.
    compress
        Whether chunks are compressed.

    Attributes
    ----------
    contents
        What is in it.
    messages, saved_messages
        How many were written, and how many of them have left this process.
    saved_bytes
        Size of the file up to the end of its last whole chunk.

    """

    def __init__(self, path: Path, *, chunk_size: int, compress: bool) -> None:
        self.path = path
        self._file = UnbufferedFile(path)
        self._writer = Writer(
            cast('IO[bytes]', self._file),
            chunk_size=chunk_size,
            compression=CompressionType.ZSTD if compress else CompressionType.NONE,
        )
        self._channels: dict[str, tuple[int, Channel]] = {}
        self._schemas: Schemas = {}
        self.contents = Contents()
        self.messages = self.saved_messages = 0
        self.saved_bytes = 0
        with suppress(OSError):
            # A file system that has no locks has bags all the same.
            fcntl.flock(self._file.raw.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            self._writer.start(profile='ros2', library=LIBRARY)
        except OSError:
            self.close()
            raise
        self.saved_bytes = self._file.position

    @property
    def size(self) -> int:
        """Return the size of the file as it is now, bytes."""
        return self._file.position

    def add_topic(self, channel: Channel) -> None:
        """Write the definition of a topic."""
        number = registered(self._writer, channel, self._schemas)
        self._channels[channel.topic] = number, channel
        self.contents.counts[channel] = 0

    def write(self, topic: str, data: bytes, log_time: int, publish_time: int) -> None:
        """Write a message; what fills a chunk leaves this process with it."""
        before = self._file.position
        number, channel = self._channels[topic]
        self._writer.add_message(number, log_time=log_time, data=data, publish_time=publish_time)
        self.contents.add(channel, log_time)
        self.messages += 1
        if self._file.position != before:
            self._saved()

    def flush(self) -> None:
        """Close the open chunk and hand it to the kernel."""
        self._writer.flush()
        self._saved()

    def finish(self, metadata: str) -> None:
        """Write the metadata of rosbag2, index and footer; the file can be closed then."""
        self.flush()
        self._writer.add_metadata('rosbag2', {'serialized_metadata': metadata})
        self._writer.finish()
        self.saved_bytes = self._file.position

    def descriptor(self) -> int:
        """Return a file descriptor with which to wait for the disk; the caller closes it."""
        return os.dup(self._file.raw.fileno())

    def cut_off(self) -> None:
        """
        Cut off what is torn: the file then ends with a whole chunk.

        If that fails too, it ends torn, and readers see that.
        """
        with suppress(OSError):
            self._file.raw.truncate(self.saved_bytes)

    def close(self) -> None:
        """Close the file, whatever state it is in; its figures stay, its index is let go."""
        self._file.close()
        self.__dict__.pop('_writer', None)

    def _saved(self) -> None:
        self.saved_messages = self.messages
        self.saved_bytes = self._file.position
