# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Derived fields: pure functions of other fields, named in the contract.

Shape, unit and bounds follow from those of the inputs, so that what comes out is in the space
whatever went in. A function sees the frozen values of every observation of the episode so far,
as many as it needs; before the first, that one is taken as what was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Derived
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: Values of the fields of one observation, by name; the newest observation comes last.
Frames = Sequence[Mapping[str, Vector]]


class Unfit(ValueError):
    """The inputs of a derived field do not fit its function; says what was expected."""


@frozen
class Space:
    """Shape, unit and bounds of what a function returns; see :class:`FieldSpec`."""

    shape: tuple[int, ...]
    unit: tuple[str, ...]
    low: Vector
    high: Vector
    frame: str


@frozen
class Function:
    """
    A function that a contract may name.

    Attributes
    ----------
    inputs
        How many fields it is of.
    parameter
        Name of its parameter; empty if it has none.
    space
        From the inputs and the parameter to the space of the result; raises :class:`Unfit`.
    compute
        From frames, names of the inputs and parameter to the values, flattened row-major.
    frames
        How many frames it uses, given its parameter.

    """

    inputs: int
    parameter: str = ''
    space: Callable[[Sequence[FieldSpec], int], Space]
    compute: Callable[[Frames, Sequence[str], int], Vector]
    frames: Callable[[int], int] = lambda _: 1


def parameter_of(derived: Derived) -> int:
    """Return the parameter of a derived field, 0 if its function has none."""
    return derived.parameters.get(FUNCTIONS[derived.function].parameter, 0)


def frames_needed(derived: Derived) -> int:
    """Return how many of the last observations a derived field uses."""
    return FUNCTIONS[derived.function].frames(parameter_of(derived))


def compute(derived: Derived, frames: Frames) -> Vector:
    """Return the values of a derived field; ``frames`` holds at least the newest observation."""
    return FUNCTIONS[derived.function].compute(frames, derived.of, parameter_of(derived))


# history, change ---------------------------------------------------------------------------------


def _history_space(inputs: Sequence[FieldSpec], count: int) -> Space:
    (field,) = inputs
    return Space(
        shape=(count, *field.shape),
        unit=field.unit * count,
        low=field.low * count,
        high=field.high * count,
        frame=field.frame,
    )


def _history(frames: Frames, of: Sequence[str], count: int) -> Vector:
    """Return the last values, the oldest first."""
    past = [frame[of[0]] for frame in frames[-count:]]
    past = [past[0]] * (count - len(past)) + past
    return tuple(value for values in past for value in values)


def _difference_space(inputs: Sequence[FieldSpec], _: int) -> Space:
    field, other = inputs[0], inputs[-1]
    if field.shape != other.shape or field.unit != other.unit:
        raise Unfit(
            f'fields of one shape and unit; {field.name!r} has {field.shape} {list(field.unit)}, '
            f'{other.name!r} has {other.shape} {list(other.unit)}'
        )
    if field.frame != other.frame:
        raise Unfit(f'fields of one frame, not {field.frame!r} and {other.frame!r}')
    return Space(
        shape=field.shape,
        unit=field.unit,
        low=tuple(a - b for a, b in zip(field.low, other.high, strict=True)),
        high=tuple(a - b for a, b in zip(field.high, other.low, strict=True)),
        frame=field.frame,
    )


def _change(frames: Frames, of: Sequence[str], _: int) -> Vector:
    """Return the newest value less the one before; 0 in the first observation."""
    newest, before = frames[-1][of[0]], frames[-2 if len(frames) > 1 else -1][of[0]]
    return tuple(a - b for a, b in zip(newest, before, strict=True))


def _difference(frames: Frames, of: Sequence[str], _: int) -> Vector:
    """Return the first field less the second."""
    return tuple(a - b for a, b in zip(frames[-1][of[0]], frames[-1][of[1]], strict=True))


# distance, relative_position ---------------------------------------------------------------------


def _distance_space(inputs: Sequence[FieldSpec], _: int) -> Space:
    difference = _difference_space(inputs, 0)
    if len(set(difference.unit)) > 1:
        raise Unfit(f'values of one unit, not {list(difference.unit)}')
    return Space(
        shape=(1,),
        unit=difference.unit[:1],
        low=(0.0,),
        high=(_above(math.hypot(*map(_farthest, difference.low, difference.high))),),
        frame='',
    )


def _distance(frames: Frames, of: Sequence[str], _: int) -> Vector:
    """Return the Euclidean distance of two fields."""
    return (math.dist(frames[-1][of[0]], frames[-1][of[1]]),)


def _relative_space(inputs: Sequence[FieldSpec], _: int) -> Space:
    pose, point = inputs
    if pose.shape != (3,) or point.shape[:1] != (2,) or len(point.shape) != 1:
        raise Unfit(
            f'a pose (x, y, yaw) and a point (x, y); {pose.name!r} has shape {pose.shape}, '
            f'{point.name!r} has {point.shape}'
        )
    if pose.unit[:2] != point.unit or pose.unit[2:] != ('rad',):
        raise Unfit(
            f'a pose and a point of one unit, yaw in rad, not {list(pose.unit)} and '
            f'{list(point.unit)}'
        )
    if pose.frame != point.frame:
        raise Unfit(f'fields of one frame, not {pose.frame!r} and {point.frame!r}')
    low = [a - b for a, b in zip(point.low, pose.high, strict=False)]
    high = [a - b for a, b in zip(point.high, pose.low, strict=False)]
    farthest = _above(math.hypot(*map(_farthest, low, high)))
    return Space(shape=(2,), unit=point.unit, low=(-farthest,) * 2, high=(farthest,) * 2, frame='')


def _relative(frames: Frames, of: Sequence[str], _: int) -> Vector:
    """Return where a point is as seen from a planar pose: ahead and to the left (REP-103)."""
    (x, y, yaw), (px, py) = frames[-1][of[0]], frames[-1][of[1]]
    cosine, sine, dx, dy = math.cos(yaw), math.sin(yaw), px - x, py - y
    return (cosine * dx + sine * dy, cosine * dy - sine * dx)


def _farthest(low: float, high: float) -> float:
    return max(abs(low), abs(high))


def _above(value: float) -> float:
    """Return the bound with room for rounding, so that the farthest itself is inside."""
    return value * (1.0 + 1e-9)


# sine_cosine -------------------------------------------------------------------------------------


def _angle_space(inputs: Sequence[FieldSpec], index: int) -> Space:
    (field,) = inputs
    if index >= field.size or field.unit[index : index + 1] != ('rad',):
        raise Unfit(f'the index of an angle (rad) of {field.name!r}, not {index}')
    return Space(shape=(2,), unit=('', ''), low=(-1.0, -1.0), high=(1.0, 1.0), frame=field.frame)


def _angle(frames: Frames, of: Sequence[str], index: int) -> Vector:
    """Return sine and cosine of an angle, which have no jump where the angle wraps around."""
    angle = frames[-1][of[0]][index]
    return (math.sin(angle), math.cos(angle))


#: Every function, by the name that a contract gives.
FUNCTIONS: Mapping[str, Function] = {
    'history': Function(
        inputs=1,
        parameter='count',
        space=_history_space,
        compute=_history,
        frames=lambda count: count,
    ),
    'change': Function(inputs=1, space=_difference_space, compute=_change, frames=lambda _: 2),
    'difference': Function(inputs=2, space=_difference_space, compute=_difference),
    'distance': Function(inputs=2, space=_distance_space, compute=_distance),
    'relative_position': Function(inputs=2, space=_relative_space, compute=_relative),
    'sine_cosine': Function(inputs=1, parameter='index', space=_angle_space, compute=_angle),
}
