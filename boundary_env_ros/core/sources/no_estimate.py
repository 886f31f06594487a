# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Messages that say themselves that they have no estimate.

A driver that cannot tell a part of a message has to fill it all the same, and says in another part
that there is nothing in it. Such values are read as NaN, so that everybody treats them as what was
not measured: they are passed over, their field ages, and a rule that reads them stops the robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import re
from typing import Any, TypeAlias

from boundary_env_ros.core.contract.paths import Getter, getter, Message, split_call
from boundary_env_ros.core.sources.obstacle_distance import measured_range
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen

#: Returns the values of a message, NaN where it has no estimate, and why; empty if it has all.
EstimateCheck: TypeAlias = Callable[[Message, Vector], tuple[Vector, str]]


@frozen(kw_only=False)
class Mark:
    """
    How messages say that they have no estimate of a part.

    Attributes
    ----------
    about
        Expression that a type, a space and the path of a value match as a whole. The path of a
        function of a quaternion ends with ``.()``.
    at
        Path to where it is said, made of the groups of ``about``; empty: the message itself.
    matches
        From what is there to whether there is no estimate.
    words
        What is said, with the path.

    """

    about: str
    at: str
    matches: Callable[[Any], bool]
    words: str


def _all_zeros(about: str, at: str) -> Mark:
    words = '{} is a quaternion of zeros, which is no rotation'
    return Mark(about, at, lambda q: not (q.w or q.x or q.y or q.z), words)


#: By the comments in the definitions of the messages. Only that of an Imu gives -1 a meaning; in
#: the covariance of a pose, a twist, a fix or a magnetic field drivers write it for an unknown
#: variance of a good value. Many leave out ``present`` of a battery; its voltage tells. What is
#: nearer than a sensor can measure is near, so that is an estimate.
MARKS = (
    Mark(
        r'sensor_msgs/msg/Imu (\w+)\..*',
        r'\1_covariance[0]',
        lambda variance: bool(variance == -1.0),
        '{} is -1, by which the driver says that it has no estimate',
    ),
    _all_zeros(r'\S+ ((?:.*\.)?(?:orientation|rotation|quaternion))\.[xyzw]', r'\1'),
    _all_zeros(r'\S+ (.*)\.\(\)', r'\1'),
    _all_zeros('geometry_msgs/msg/Quaternion [xyzw]', ''),
    Mark(
        'sensor_msgs/msg/NavSatFix (latitude|longitude|altitude)',
        'status.status',
        lambda status: status < 0,
        '{} is negative, by which the receiver says that it has no fix',
    ),
    Mark(
        'sensor_msgs/msg/BatteryState (voltage|temperature|current|charge|capacity|percentage)',
        '',
        lambda battery: not (battery.present or battery.voltage),
        'present is false and voltage is 0: there is no battery',
    ),
    Mark(
        'sensor_msgs/msg/Range range',
        '',
        # Without both limits nothing is said of it.
        lambda it: (
            bool(it.min_range or it.max_range)
            and not measured_range(it.range, it.min_range, it.max_range)[1]
        ),
        'range is not from min_range to max_range',
    ),
)


def estimate_check(kind: str, paths: Sequence[str]) -> EstimateCheck | None:
    """
    Return what checks the values at some paths of a type; None if nothing could mark them.

    It is given the numbers at the paths, or all those of the sequence at the only one. A part that
    a message lacks, as one of a simulation in this process may, marks nothing.
    """
    marks = [
        (getter(at), mark.matches, places, mark.words.format(at or 'it'))
        for mark in MARKS
        for at, places in _places(mark, kind, paths).items()
    ]
    if not marks:
        return None

    def check(message: Message, values: Vector) -> tuple[Vector, str]:
        why = ''
        for get, matches, places, words in marks:
            try:
                if not matches(get(message)):
                    continue
            except (AttributeError, RecordError):
                continue
            marked = places if paths[1:] else range(len(values))
            values = tuple(math.nan if i in marked else v for i, v in enumerate(values))
            why = why or words
        return values, why

    return check


def _places(mark: Mark, kind: str, paths: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the values that a mark is about, by the path to where it is said."""
    found: dict[str, list[int]] = {}
    for place, path in enumerate(paths):
        function, inner = split_call(path)
        match = re.fullmatch(mark.about, f'{kind} {inner}{".()" if function else ""}')
        if match is not None:
            found.setdefault(match.expand(mark.at), []).append(place)
    return found


def estimate(kind: str, path: str) -> Getter:
    """Return the function that reads the number at a path, NaN where a message has no estimate."""
    get, check = getter(path), estimate_check(kind, (path,))
    return get if check is None else lambda message: check(message, (get(message),))[0][0]
