# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The size of a compressed image, from its head: nothing is decompressed."""

from __future__ import annotations

import struct

_PNG = b'\x89PNG\r\n\x1a\n'
_PNG_HEAD = struct.Struct('>8xI4sIIBB')
#: Channels by the colour type of a PNG; a palette is of three.
_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}

_JPEG = b'\xff\xd8'
_SEGMENT = struct.Struct('>BBH')
_FRAME = struct.Struct('>BHHB')
#: Markers of a frame (SOF0 to SOF15), without the three that are of something else.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}

UNKNOWN = (0, 0, 0)


def size_of(data: bytes) -> tuple[int, int, int]:
    """Return height, width and channels of a PNG or JPEG image; zeros if it is neither."""
    try:
        if data.startswith(_PNG):
            _, kind, width, height, _, colour = _PNG_HEAD.unpack_from(data)
            return (height, width, _PNG_CHANNELS.get(colour, 0)) if kind == b'IHDR' else UNKNOWN
        if data.startswith(_JPEG):
            return _jpeg(data)
    except struct.error:
        pass  # shorter than its head
    return UNKNOWN


def _jpeg(data: bytes) -> tuple[int, int, int]:
    offset = len(_JPEG)
    while True:
        start, marker, length = _SEGMENT.unpack_from(data, offset)
        if start != 0xFF:
            return UNKNOWN
        if marker in _FRAMES:
            _, height, width, channels = _FRAME.unpack_from(data, offset + _SEGMENT.size)
            return height, width, channels
        # Fill bytes may stand before a marker.
        offset += 1 if marker == 0xFF else 2 + max(length, 2)
