# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
TFRecord files of ``tf.train.Example``, written without TensorFlow.

Both are small: a record is its length, its bytes, and a checksum of each; an example is a protocol
buffer, a map from names to lists of bytes, floats or integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
import struct
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from boundary_env_ros.errors import MissingDependency

#: Values of one feature: texts and images as bytes, numbers as an array.
Values: TypeAlias = Sequence[bytes] | npt.NDArray[Any]


class RecordFile:
    """
    A TFRecord file that is being written.

    Parameters
    ----------
    path
        The file; made here.

    Attributes
    ----------
    records, size
        How many records were written, and their bytes, without what the file adds.

    Raises
    ------
    MissingDependency
        If google-crc32c is not installed.

    """

    def __init__(self, path: Path) -> None:
        try:
            import google_crc32c
        except ImportError as error:
            raise MissingDependency(
                f'TFRecord files need google-crc32c: {error}. '
                'Install it with `pip install google-crc32c pyarrow`.'
            ) from error
        self.path = path
        self.records = self.size = 0
        self._crc32c = google_crc32c.value
        self._file = path.open('xb')

    def write(self, data: bytes) -> None:
        """Write one record."""
        length = struct.pack('<Q', len(data))
        self._file.write(length + self._checksum(length))
        self._file.write(data)
        self._file.write(self._checksum(data))
        self.records += 1
        self.size += len(data)

    def _checksum(self, data: bytes) -> bytes:
        # Masked, since a checksum of what holds its own checksum says little.
        crc = self._crc32c(data)
        return struct.pack('<I', ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    def close(self) -> None:
        """Write the end of the file."""
        self._file.close()


def example(features: Mapping[str, Values]) -> bytes:
    """Return a ``tf.train.Example`` with some features, in their order."""
    entries = (
        _field(1, _field(1, name.encode()) + _field(2, _feature(values)))
        for name, values in features.items()
    )
    return _field(1, b''.join(entries))


def _feature(values: Values) -> bytes:
    if not isinstance(values, np.ndarray):
        return _field(1, b''.join(_field(1, value) for value in values))
    if values.dtype.kind == 'f':
        return _field(2, _field(1, values.astype('<f4').tobytes()))
    whole = values.astype('uint64') if values.dtype.kind == 'u' else values.astype('int64')
    return _field(3, _field(1, b''.join(map(_varint, whole.view('uint64').ravel().tolist()))))


def _field(number: int, data: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
