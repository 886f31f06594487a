# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What goes between a plugin's process and its robot: JSON with its length before it, on a socket.

Nothing on it is code: a plugin can send numbers, names and pixels.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
import json
import socket
import struct
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.simulation.plugin import Baseline, PluginReading, PluginSpace, Update

Plain = dict[str, Any]

_LENGTH = struct.Struct('!I')
#: An answer that is longer is none, bytes.
_MOST = 1 << 30


def send(connection: socket.socket, message: Plain) -> None:
    """Send one message."""
    data = json.dumps(message).encode()
    connection.sendall(_LENGTH.pack(len(data)) + data)


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


def from_baseline(baseline: Baseline) -> Plain:
    """Return a baseline as plain data."""
    return {
        'sensors': [_from_space(space) for space in baseline.sensors],
        'actuators': [_from_space(space) for space in baseline.actuators],
        'readings': _from_readings(baseline.readings),
        'time_step': float(baseline.time_step),
        'rewards': [str(name) for name in baseline.rewards],
        'achieved': {str(n): _numbers(values) for n, values in baseline.achieved.items()},
        'info': dict(baseline.info),
        'static_model': dict(baseline.static_model),
    }


def to_baseline(data: Plain) -> Baseline:
    """Return the baseline that plain data holds."""
    return Baseline(
        sensors=tuple(map(_to_space, data['sensors'])),
        actuators=tuple(map(_to_space, data['actuators'])),
        readings=_to_readings(data['readings']),
        time_step=float(data['time_step']),
        rewards=tuple(data['rewards']),
        achieved={name: tuple(values) for name, values in data['achieved'].items()},
        info=data['info'],
        static_model=data['static_model'],
    )


def from_update(update: Update) -> Plain:
    """Return an update as plain data."""
    return {
        'readings': _from_readings(update.readings),
        'rewards': {str(name): float(value) for name, value in update.rewards.items()},
        'done': _from_agents(update.done),
        'success': _from_agents(update.success),
        'elapsed': None if update.elapsed is None else float(update.elapsed),
        'info': dict(update.info),
    }


def to_update(data: Plain) -> Update:
    """Return the update that plain data holds."""
    return Update(
        readings=_to_readings(data['readings']),
        rewards=dict(data['rewards']),
        done=data['done'],
        success=data['success'],
        elapsed=data['elapsed'],
        info=data['info'],
    )


def _from_agents(agents: bool | Collection[str]) -> bool | list[str]:
    """Return whether something is so: for all agents alike, or the names of those."""
    if isinstance(agents, Collection) and not isinstance(agents, str):
        return [str(agent) for agent in agents]
    return bool(agents)


def _from_space(space: PluginSpace) -> Plain:
    return {
        'name': str(space.name),
        'values': [str(name) for name in space.values],
        'low': _numbers(space.low),
        'high': _numbers(space.high),
        'unit': [str(unit) for unit in space.unit],
        'shape': None if space.shape is None else [int(size) for size in space.shape],
        'document': bool(space.document),
    }


def _to_space(data: Plain) -> PluginSpace:
    return PluginSpace(
        name=data['name'],
        values=tuple(data['values']),
        low=tuple(data['low']),
        high=tuple(data['high']),
        unit=tuple(data['unit']),
        shape=None if data['shape'] is None else tuple(data['shape']),
        document=data['document'],
    )


def _from_readings(readings: Mapping[str, PluginReading]) -> Plain:
    return {str(name): from_reading(reading) for name, reading in readings.items()}


def from_reading(reading: PluginReading) -> object:
    """Return a reading as plain data."""
    if isinstance(reading, np.ndarray) and reading.dtype == np.uint8 and reading.ndim == 3:
        return {'shape': list(reading.shape), 'data': b64encode(reading.tobytes()).decode()}
    if isinstance(reading, (Mapping, str)):
        return {'document': reading}
    return _numbers(reading)


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


def _numbers(values: Vector | Sequence[float] | PluginReading) -> list[float]:
    return [float(value) for value in values]
