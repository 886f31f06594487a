# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What goes between a plugin's process and its robot: JSON with its length before it, on a socket.

Nothing on it is code: a plugin can send numbers, names and pixels.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
import json
import math
import socket
import struct
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = struct.Struct('!I')
#: An answer that is longer is none, bytes.
_MOST = 1 << 30


def packed(message: Mapping[str, Any]) -> bytes:
    """Return what is sent of a message; TypeError or ValueError if JSON cannot say it."""
    data = json.dumps(message, default=_plain).encode()
    return _LENGTH.pack(len(data)) + data


def receive(connection: socket.socket, seconds: float = math.inf) -> dict[str, Any]:
    """
    Return the next message.

    Raises
    ------
    TimeoutError
        If it is not there whole in that time, steady.
    EOFError
        If the other end is gone.
    ValueError
        If what came is no message.

    """
    until = time.monotonic() + seconds
    (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size, until))
    if length > _MOST:
        raise ValueError(f'a message of {length} bytes')
    try:
        found = json.loads(_receive(connection, length, until))
    except RecursionError as error:
        raise ValueError('a message that is nested too deeply') from error
    if not isinstance(found, dict):
        raise ValueError(f'a message that is {type(found).__name__}')
    return found


def _receive(connection: socket.socket, size: int, until: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        left = until - time.monotonic()
        if left <= 0.0:
            raise TimeoutError
        connection.settimeout(left if math.isfinite(left) else None)
        try:
            piece = connection.recv(min(size - len(data), 1 << 20))
        except ConnectionError as error:
            raise EOFError from error
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def pixels_in(data: Any) -> NDArray[np.uint8]:
    """Return the pixels that plain data holds; KeyError, TypeError or ValueError if none."""
    return np.frombuffer(b64decode(data['data']), np.uint8).reshape(tuple(data['shape']))


def _plain(value: object) -> object:
    """Return what JSON knows of a value that it does not know; pixels as :func:`pixels_in`."""
    if isinstance(value, np.ndarray) and value.dtype == np.uint8 and value.ndim == 3:
        return {'shape': value.shape, 'data': b64encode(value.tobytes()).decode()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Collection):
        return list(value)
    raise TypeError(f'{type(value).__name__} is no plain value')
