# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Quaternions as what they are: rotations, which are turned, not clamped number by number.

A rotation has two quaternions, q and -q; which of them is asked for makes no difference to how far
it is turned.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from boundary_env_ros.core.gate.rule_output import (
    Cause,
    LimitedCommand,
    NO_ROTATION,
    RATE,
    ROTATION,
)
from boundary_env_ros.core.gate.rules.limits import Limits, Rotation
from boundary_env_ros.core.records.decision import RuleResult
from boundary_env_ros.core.vectors import all_near, Vector

#: Difference from 1 of the norm beyond which four numbers were not meant to be a rotation.
NOT_MEANT = 0.01
#: Difference from 1 of the norm that comes from rounding: an action space of float32 has it.
AS_GOOD_AS_ONE = 1e-6


def refuse_invalid(limits: Limits, command: Vector) -> tuple[RuleResult, ...]:
    """Refuse a command in which four numbers that are to be a unit quaternion are far from one."""
    results = []
    for rotation in limits.rotations:
        norm = math.hypot(*_part(command, rotation))
        if not abs(norm - 1.0) <= NOT_MEANT:
            place = rotation.dimensions[0]
            results.append(NO_ROTATION.result('', norm, 1.0, 'norm', dimension=place))
    return tuple(results)


def normalise(limits: Limits, shaped: LimitedCommand) -> None:
    """Make unit quaternions of what is nearly one; what float32 says is one is left as it is."""
    for rotation in limits.rotations:
        wanted = _part(shaped.values, rotation)
        norm = math.hypot(*wanted)
        if abs(norm - 1.0) > AS_GOOD_AS_ONE:
            _limit(shaped, rotation, _unit(wanted), ROTATION, norm, 1.0, 'norm')


def turn(limits: Limits, previous: Vector, time_step: float, shaped: LimitedCommand) -> None:
    """Limit how far rotations are turned from the command before."""
    for rotation in limits.rotations:
        was, wanted = _part(previous, rotation), _part(shaped.values, rotation)
        after = turned(was, wanted, rotation.rate * time_step)
        if after != wanted:
            requested = angle_between(was, wanted) / max(time_step, 1e-9)
            _limit(shaped, rotation, after, RATE, requested, rotation.rate, 'rad/s')


def measured_rotations(limits: Limits, measured: Vector) -> Vector:
    """
    Return a measured state in which rotations are unit quaternions.

    NaN for one that is none: from there nothing can be turned.
    """
    none = {result.dimension for result in refuse_invalid(limits, measured)}
    values = list(measured)
    for rotation in limits.rotations:
        unknown = rotation.dimensions[0] in none
        unit = (math.nan,) * 4 if unknown else _unit(_part(measured, rotation))
        for i, value in zip(rotation.dimensions, unit, strict=True):
            values[i] = value
    return tuple(values)


def nearer_sign(limits: Limits, values: Vector, reference: Vector) -> Vector:
    """
    Return values as near to a reference as they can be said.

    A rotation has two quaternions, an angle that wraps a number for each turn.
    """
    found = list(all_near(values, reference, limits.angles))
    for rotation in limits.rotations:
        there = _part(reference, rotation)
        if _dot(_part(values, rotation), there) < 0.0:
            for i in rotation.dimensions:
                found[i] = -values[i]
    return tuple(found)


def angle_between(one: Sequence[float], other: Sequence[float]) -> float:
    """
    Return the angle (rad, 0 to pi) by which one rotation is turned to make it another.

    Of the arc tangent, since the arc cosine of what is nearly 1 knows only half of the digits.
    """
    a, b = _unit(one), _unit(other)
    if _dot(a, b) < 0.0:
        b = tuple(-value for value in b)
    return 4.0 * math.atan2(math.dist(a, b), math.hypot(*map(sum, zip(a, b, strict=True))))


def turned(start: Vector, goal: Vector, most: float) -> Vector:
    """
    Return ``goal``, or the rotation on the shortest way to it that is ``most`` (rad) away.

    Spherical linear interpolation [1]_, with its result made a unit quaternion once more.

    .. [1] K. Shoemake: Animating rotation with quaternion curves. SIGGRAPH 1985.
    """
    angle = angle_between(start, goal)
    if angle <= most:
        return goal
    if most <= 0.0:
        return start
    part = most / angle
    a, b = _unit(start), _unit(goal)
    # Half the angle, since that is what there is between the quaternions: at most pi / 2.
    between = 0.5 * angle
    back, forth = math.sin((1.0 - part) * between), math.sin(part * between)
    if _dot(a, b) < 0.0:
        forth = -forth
    return _unit(tuple(back * p + forth * q for p, q in zip(a, b, strict=True)))


def _limit(
    shaped: LimitedCommand, rotation: Rotation, after: Vector, cause: Cause, *numbers: Any
) -> None:
    for i, left in zip(rotation.dimensions, after, strict=True):
        if left != shaped.values[i]:
            shaped.limit(cause, i, left, *numbers)


def _part(values: Sequence[float], rotation: Rotation) -> Vector:
    return tuple(values[i] for i in rotation.dimensions)


def _unit(quaternion: Sequence[float]) -> Vector:
    norm = math.hypot(*quaternion)
    return tuple(value / norm for value in quaternion)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(p * q for p, q in zip(one, other, strict=True))
