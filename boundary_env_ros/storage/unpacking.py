# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is compressed, block by block up to a limit, whatever its header says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final

import lz4.frame  # type: ignore[import-untyped]
import zstandard

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.size_limits import exceeded

_BLOCK: Final = 1 << 20


def unpacked(
    compression: str, packed: bytes | BinaryIO, most: int, where: object
) -> Iterator[bytes]:
    """
    Yield what was compressed, block by block, up to a limit.

    What is cut off gives what can be decompressed of it.

    Parameters
    ----------
    compression
        ``zstd``, ``lz4`` (of bytes only), or empty.
    packed
        What was compressed.
    most
        Number of bytes at most.
    where
        What errors call it.

    Raises
    ------
    RecordError
        If it is not so compressed, or gives more.

    """
    total = 0
    try:
        for block in _BLOCKS[compression](packed, min(most + 1, _BLOCK)):
            total += len(block)
            if total > most:
                raise exceeded(where, 'bytes', most)
            yield block
    except KeyError:
        raise RecordError(
            f'{where} cannot be read (expected zstd, lz4 or no compression, '
            f'got {compression[:20]!r})'
        ) from None
    except (zstandard.ZstdError, RuntimeError, MemoryError) as error:
        raise RecordError(f'{where} cannot be decompressed ({error})') from error


def _plain(packed: Any, size: int) -> Iterator[bytes]:
    yield packed


def _zstd(packed: Any, size: int) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    while block := reader.read(size):
        yield block


def _lz4(packed: Any, size: int) -> Iterator[bytes]:
    machine = lz4.frame.LZ4FrameDecompressor()
    while not machine.eof:
        block = machine.decompress(packed, max_length=size)
        packed = b''
        if not block and machine.needs_input:
            return
        yield block


_BLOCKS: Mapping[str, Callable[[Any, int], Iterator[bytes]]] = {
    '': _plain,
    'zstd': _zstd,
    'lz4': _lz4,
}
