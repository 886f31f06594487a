# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What simulated sensors measured, as the quantities that tests look at."""

from __future__ import annotations

from collections.abc import Iterable
import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from boundary_env_ros.simulation.messages import Fields
from boundary_env_ros.simulation.readings import SensorReading


def payloads(readings: Iterable[SensorReading], sensor: str) -> list[Any]:
    """Return what a sensor measured, as far as it was not lost."""
    return [seen(r) for r in readings if r.sensor == sensor and not r.dropped]


def seen(reading: SensorReading) -> Any:
    """Return what was measured by the names of the quantities, arrays of NumPy for several."""
    fields = reading.fields
    assert fields is not None
    found = SimpleNamespace(sensor=reading.sensor)
    if 'pose' in fields:
        _see_pose(found, fields['pose'])
    if 'twist' in fields:
        twist = fields['twist']['twist']
        found.linear, found.lateral = twist['linear']['x'], twist['linear']['y']
        found.angular = twist['angular']['z']
    if 'wrench' in fields:
        found.force, found.torque = map(_array, fields['wrench'].values())
    if 'linear_acceleration' in fields:
        for name in ('orientation', 'angular_velocity', 'linear_acceleration'):
            setattr(found, name, _array(fields[name]))
    if 'name' in fields:
        found.names = tuple(fields['name'])
        found.position, found.velocity = np.array(fields['position']), np.array(fields['velocity'])
    if 'ranges' in fields:
        found.__dict__.update(fields)
    if 'height' in fields:
        pixels = np.frombuffer(fields['data'], np.uint8)
        found.pixels = pixels.reshape(fields['height'], fields['width'], 3)
    elif 'data' in fields:
        found.touching = fields['data']
    return found


def _see_pose(found: SimpleNamespace, pose: Fields) -> None:
    if 'covariance' in pose:
        found.position_std = math.sqrt(pose['covariance'][0])
        found.yaw_std = math.sqrt(pose['covariance'][35])
    pose = pose.get('pose', pose)
    found.position, found.orientation = _array(pose['position']), _array(pose['orientation'])
    found.x, found.y = pose['position']['x'], pose['position']['y']
    found.yaw = 2.0 * math.atan2(pose['orientation']['z'], pose['orientation']['w'])


def _array(values: Fields) -> Any:
    return np.array(list(values.values()))
