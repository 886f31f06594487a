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
import socket
import struct
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundary_env_ros.simulation.plugin import Baseline, PluginReading, PluginSpace, Update

Plain = dict[str, Any]

_LENGTH = struct.Struct('!I')
#: An answer that is longer is none, bytes.
_MOST = 1 << 30


def send(connection: socket.socket, message: Plain) -> None:
    """Send one message."""
    connection.sendall(packed(message))


def packed(message: Plain) -> bytes:
    """Return what is sent of a message; TypeError or ValueError if JSON cannot say it."""
    data = json.dumps(message, default=_plain).encode()
    return _LENGTH.pack(len(data)) + data


def receive(connection: socket.socket, seconds: float | None) -> Plain:
    """
    Return the next message.

    Raises
    ------
    TimeoutError
        If it is not there whole in that time (steady; None: it may take for ever).
    EOFError
        If the other end is gone.
    ValueError
        If what came is no message.

    """
    until = None if seconds is None else time.monotonic() + seconds
    (length,) = _LENGTH.unpack(_take(connection, _LENGTH.size, until))
    if length > _MOST:
        raise ValueError(f'a message of {length} bytes')
    found = json.loads(_take(connection, length, until))
    if not isinstance(found, dict):
        raise ValueError(f'a message that is {type(found).__name__}')
    return found


def _take(connection: socket.socket, size: int, until: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        if until is not None:
            left = until - time.monotonic()
            if left <= 0.0:
                raise TimeoutError
            connection.settimeout(left)
        else:
            connection.settimeout(None)
        try:
            piece = connection.recv(min(size - len(data), 1 << 20))
        except ConnectionError as error:
            raise EOFError from error
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


# Values ------------------------------------------------------------------------------------------


def from_answer(answer: Baseline | Update) -> Plain:
    """Return a baseline or an update as plain data."""
    said = {item.name: getattr(answer, item.name) for item in fields(answer)}
    return {**said, 'readings': {n: from_reading(each) for n, each in answer.readings.items()}}


def to_baseline(data: Plain) -> Baseline:
    """Return the baseline that plain data holds."""
    return Baseline(
        sensors=tuple(map(_to_space, data['sensors'])),
        actuators=tuple(map(_to_space, data['actuators'])),
        readings=_to_readings(data['readings']),
        time_step=float(data['time_step']),
        rewards=tuple(map(str, data['rewards'])),
        achieved={name: tuple(map(float, each)) for name, each in data['achieved'].items()},
        info=dict(data['info']),
        static_model=dict(data['static_model']),
    )


def to_update(data: Plain) -> Update:
    """Return the update that plain data holds."""
    return Update(
        readings=_to_readings(data['readings']),
        rewards={name: float(value) for name, value in data['rewards'].items()},
        done=_to_agents(data['done']),
        success=_to_agents(data['success']),
        elapsed=None if data['elapsed'] is None else float(data['elapsed']),
        info=dict(data['info']),
    )


def _to_agents(agents: Any) -> bool | list[str]:
    """Return whether something is so: for all agents alike, or the names of those."""
    return [str(agent) for agent in agents] if isinstance(agents, list) else bool(agents)


def _to_space(data: Plain) -> PluginSpace:
    return PluginSpace(
        name=str(data['name']),
        values=tuple(map(str, data['values'])),
        low=tuple(map(float, data['low'])),
        high=tuple(map(float, data['high'])),
        unit=tuple(map(str, data['unit'])),
        shape=None if data['shape'] is None else tuple(map(int, data['shape'])),
        document=bool(data['document']),
    )


def from_reading(reading: PluginReading) -> object:
    """Return a reading as plain data."""
    if isinstance(reading, np.ndarray) and reading.dtype == np.uint8 and reading.ndim == 3:
        return {'shape': list(reading.shape), 'data': b64encode(reading.tobytes()).decode()}
    if isinstance(reading, (Mapping, str)):
        return {'document': reading}
    return [float(value) for value in reading]


def _to_readings(data: Plain) -> dict[str, PluginReading]:
    return {name: to_reading(reading) for name, reading in data.items()}


def to_reading(data: Any) -> PluginReading:
    """Return the reading that plain data holds."""
    if isinstance(data, dict) and 'document' in data:
        document: PluginReading = data['document']
        return document
    if isinstance(data, dict):
        pixels: NDArray[np.uint8] = np.frombuffer(b64decode(data['data']), np.uint8)
        return pixels.reshape(tuple(data['shape']))
    return tuple(map(float, data))


def _plain(value: object) -> object:
    """Return what JSON knows of a value that it does not know."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Collection):
        return list(value)
    raise TypeError(f'{type(value).__name__} is no plain value')
