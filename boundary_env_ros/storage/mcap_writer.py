# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The MCAP writer on a file that keeps nothing back."""

from __future__ import annotations

import io
from pathlib import Path
from typing import cast, Final, IO, Protocol

from mcap.writer import CompressionType, Writer

from boundary_env_ros.errors import RecordError

_COMPRESSION: Final = {
    'zstd': CompressionType.ZSTD,
    'lz4': CompressionType.LZ4,
    'none': CompressionType.NONE,
}


class McapWriter(Protocol):
    """What is used of :class:`mcap.writer.Writer`, which has types for some of it only."""

    def start(self, profile: str, library: str) -> None:
        """Write the head of the file."""
        ...

    def register_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Declare a type and return its number."""
        ...

    def register_channel(
        self, topic: str, message_encoding: str, schema_id: int, metadata: dict[str, str]
    ) -> int:
        """Declare a topic and return its number."""
        ...

    def add_message(self, channel_id: int, log_time: int, data: bytes, publish_time: int) -> None:
        """Write a message."""
        ...

    def add_metadata(self, name: str, data: dict[str, str]) -> None:
        """Write named texts."""
        ...

    def flush(self) -> None:
        """Write the open chunk."""
        ...

    def finish(self) -> None:
        """Write the open chunk, index and footer."""
        ...


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


def open_writer(
    path: Path, *, chunk_size: int, compression: str
) -> tuple[McapWriter, UnbufferedFile]:
    """
    Return a writer of the ``ros2`` profile on a new file, and the file.

    Parameters
    ----------
    path
        The file, which must not exist.
    chunk_size
        Bytes (before compression) at which a chunk is closed.
    compression
        One that :func:`check_compression` lets pass.

    """
    file = UnbufferedFile(path)
    made = Writer(
        cast('IO[bytes]', file), chunk_size=chunk_size, compression=_COMPRESSION[compression]
    )
    return cast('McapWriter', made), file


def check_compression(name: str) -> None:
    """
    Refuse what is no compression of an MCAP chunk.

    Raises
    ------
    RecordError
        Naming those that there are.

    """
    if name not in _COMPRESSION:
        raise RecordError(
            f'Expect a compression out of {", ".join(_COMPRESSION)}, actually: {name!r}.'
        )
