# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Images as PNG: the pixels as they are, 8 or 16 bits, in the order of their channels."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from boundary_env_ros.core.sources.images import Image

_COLOURS = {1: 0, 3: 2, 4: 6}


def can_be_png(shape: tuple[int, ...], dtype: str) -> bool:
    """Return whether PNG holds such pixels without loss."""
    return shape[2] in {'uint8': tuple(_COLOURS), 'uint16': (1,)}.get(dtype, ())


def to_png(pixels: Image) -> bytes:
    """Return an image as PNG; shape (height, width, 1, 3 or 4), uint8 or uint16."""
    height, width, channels = pixels.shape
    rows = np.ascontiguousarray(pixels, pixels.dtype.newbyteorder('>')).view(np.uint8)
    rows = rows.reshape(height, -1)
    size = pixels.dtype.itemsize
    # Each row begins with its filter: 1, the difference to the pixel on the left.
    filtered = np.ones((height, rows.shape[1] + 1), np.uint8)
    filtered[:, 1:] = rows
    filtered[:, 1 + channels * size :] -= rows[:, : -channels * size]
    head = struct.pack('>IIBBBBB', width, height, 8 * size, _COLOURS[channels], 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + b''.join(
        (
            _chunk(b'IHDR', head),
            _chunk(b'IDAT', zlib.compress(filtered.tobytes(), 3)),
            _chunk(b'IEND', b''),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
