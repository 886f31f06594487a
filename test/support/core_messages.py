# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages and decisions as the tests of the core make them."""

from __future__ import annotations

from dataclasses import fields, replace
import math
from typing import Any

import numpy as np

from boundary_env_ros.core.records.decision import GateDecision, RuleInput
from support.core_world import Message, stamped


def changed_decision(decision: GateDecision, **changes: Any) -> GateDecision:
    """Return a decision of which something, or something of its inputs, is another."""
    of_inputs = {f.name for f in fields(RuleInput)} & set(changes)
    inputs = replace(decision.inputs, **{name: changes.pop(name) for name in of_inputs})
    return replace(decision, inputs=inputs, **changes)


def quaternion(roll: float, pitch: float, heading: float) -> Message:
    """Return the quaternion of REP-103's Z-Y-X angles, multiplied out factor by factor."""

    def axis(angle: float, *unit: float) -> np.ndarray:
        return np.array([math.cos(angle / 2), *(math.sin(angle / 2) * u for u in unit)])

    def times(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        w, v = p[0] * q[0] - p[1:] @ q[1:], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])
        return np.array([w, *v])

    w, x, y, z = times(times(axis(heading, 0, 0, 1), axis(pitch, 0, 1, 0)), axis(roll, 1, 0, 0))
    return Message(x=x, y=y, z=z, w=w)


def odometry(x: float = 1.0, y: float = 2.0, heading: float = 0.5) -> Message:
    """Return the odometry of a planar pose."""
    pose = Message(position=Message(x=x, y=y, z=0.0), orientation=quaternion(0, 0, heading))
    return stamped(12.5, pose=Message(pose=pose, covariance=[0.01, *[0.0] * 35]))


def scan(
    ranges: list[float], *, low: float = 0.1, high: float = 10.0, start: float = -math.pi
) -> Message:
    """Return a scan of equal angles all around, from ``start`` on."""
    return stamped(
        1.0, ranges=ranges, range_min=low, range_max=high, angle_min=start,
        angle_increment=math.tau / max(1, len(ranges)),
    )  # fmt: skip


#: Beams of a ring.
AROUND = 360


def ring(**sectors: float) -> list[float]:
    """Return ranges of one a degree, with a value ahead and behind (45 degrees wide each)."""
    angles = np.arange(AROUND) * math.tau / AROUND - math.pi
    ranges = np.full(AROUND, 5.0)
    ranges[np.abs(angles) < math.radians(40)] = sectors.get('ahead', 5.0)
    ranges[np.abs(angles) > math.radians(140)] = sectors.get('behind', 5.0)
    found: list[float] = ranges.tolist()
    return found


def image(height: int, width: int, data: bytes, **changes: Any) -> Any:
    """Return an image, ``rgb8`` unless a change says otherwise."""
    fields: dict[str, Any] = {
        'height': height, 'width': width, 'encoding': 'rgb8', 'data': data, 'step': 0,
        'is_bigendian': 0,
    }  # fmt: skip
    return stamped(2.0, **{**fields, **changes})
