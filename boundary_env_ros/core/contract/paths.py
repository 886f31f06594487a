# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Field paths: how a contract names a number in a message.

A path is names and indices, ``pose.pose.position.x`` or ``pose.covariance[0]``, or one of the
functions of :data:`FUNCTIONS` of a path, ``yaw(pose.pose.orientation)``. A message is anything
with the right attributes; no ROS is needed to read one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
import math
from operator import attrgetter, itemgetter
import re
from typing import Any

import numpy as np

from boundary_env_ros.errors import RecordError

Message = Any  # anything with the attributes of the message
Getter = Callable[[Message], Any]
Numbers = tuple[float, ...]

_CALL = re.compile(r'(\w+)\((.*)\)')
_INDEX = re.compile(r'\[(\d+)\]\.?')


def roll(quaternion: Message) -> float:
    """Return the rotation about x of a quaternion, rad, in [-pi, pi]; see :func:`yaw`."""
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    return math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))


def pitch(quaternion: Message) -> float:
    """Return the rotation about y of a quaternion, rad, in [-pi/2, pi/2]; see :func:`yaw`."""
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    return math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x))))


def yaw(quaternion: Message) -> float:
    """
    Return the rotation about z of a quaternion, rad, in [-pi, pi].

    The Z-Y-X (yaw, pitch, roll) convention of REP-103, for ``geometry_msgs/Quaternion``.
    """
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


#: Functions of a quaternion that a path may name.
FUNCTIONS: dict[str, Callable[[Message], float]] = {'roll': roll, 'pitch': pitch, 'yaw': yaw}


def split_call(path: str) -> tuple[str, str]:
    """Return function and argument of a path; the function is empty if it has none."""
    call = _CALL.fullmatch(path)
    return (call[1], call[2]) if call else ('', path)


def getter(path: str) -> Getter:
    """
    Return the function that reads a path from a message.

    Raises
    ------
    RecordError
        When called with a message that has no such field.

    """
    function, inner = split_call(path)
    if function:
        return _call(path, FUNCTIONS[function], getter(inner))
    # Names, however many, and an index by turns.
    steps: list[Getter] = [
        itemgetter(int(part)) if number % 2 else attrgetter(part)
        for number, part in enumerate(_INDEX.split(inner))
        if part
    ]

    def get(message: Message) -> Any:
        value = message
        try:
            for step in steps:
                value = step(value)
        except (AttributeError, IndexError, TypeError) as error:
            raise _no_field(path, message, error) from error
        return value

    return get


def _call(path: str, function: Callable[[Message], float], inner: Getter) -> Getter:
    def apply(message: Message) -> float:
        try:
            return function(inner(message))
        except (AttributeError, TypeError) as error:
            raise _no_field(path, message, error) from error

    return apply


def _no_field(path: str, message: Message, error: Exception) -> RecordError:
    return RecordError(
        f'{type(message).__name__} has no field {path!r}: {error}. '
        "Compare the contract's path with `ros2 interface show`."
    )


def getters(paths: tuple[str, ...]) -> Callable[[Message], Numbers]:
    """
    Return the function that reads several paths from a message as floats.

    Raises
    ------
    RecordError
        When called with a message that has no such field, or no number in it.

    """
    each = [getter(path) for path in paths]

    def read(message: Message) -> Numbers:
        values = [get(message) for get in each]
        try:
            return tuple(map(float, values))
        except (TypeError, ValueError):
            raise _no_number(paths, values) from None

    return read


def _no_number(paths: tuple[str, ...], values: list[Any]) -> RecordError:
    for path, value in zip(paths, values, strict=True):
        if not isinstance(value, (int, float, np.number)):
            found = type(value).__name__
            return RecordError(
                f'The field {path!r} is not a number (got {found}). '
                "Compare the contract's path with `ros2 interface show`."
            )
    return RecordError(
        f'The fields are not numbers (expected numbers in the fields {list(paths)}, got {values}).'
    )


def put(tree: dict[str, Any], path: str, value: object) -> None:
    """Put a value where a path of names leads to in nested mappings."""
    *parents, last = path.split('.')
    for name in parents:
        tree = tree.setdefault(name, {})
    tree[last] = value


def short(names: Sequence[str]) -> tuple[str, ...]:
    """Return field paths without what they need not be told apart: ``yaw``, ``linear.x``."""
    for parts in (1, 2, 3):
        shortened = [_end(name, parts) for name in names]
        # One letter says what of a position, but not of a twist.
        plain = parts > 1 or all(len(name) > 1 for name in shortened) or _one_stem(names)
        if plain and max(Counter(shortened).values(), default=0) == 1:
            return tuple(shortened)
    return tuple(names)


def _end(name: str, parts: int) -> str:
    if name.endswith(')'):
        return name.split('(', 1)[0]
    return '.'.join(name.split('.')[-parts:])


def _one_stem(names: Sequence[str]) -> bool:
    stems = {name.rsplit('.', 1)[0] for name in names if not name.endswith(')')}
    return len(stems) == 1
