# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is seen of one topic: how often its messages come, and of which shape they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.core.sources.no_estimate import estimate
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.definitions import full_name
from boundary_env_ros.storage.message_types import MessageTypes, Mismatch

IMAGE: Final = 'sensor_msgs/msg/Image'
JOINTS: Final = 'sensor_msgs/msg/JointState'
SCAN: Final = 'sensor_msgs/msg/LaserScan'
TRAJECTORY: Final = 'trajectory_msgs/msg/JointTrajectory'
QUANTITIES: Final = ('position', 'velocity', 'effort')

_TIMES: Final = frozenset(
    ['builtin_interfaces/Time', 'builtin_interfaces/Duration', 'std_msgs/Header']
)
#: Where the sequence is of which the length is looked at, and the names of joints.
_SEQUENCES: Final = {**ARRAYS, SCAN: 'ranges'}
_NAMES: Final = {JOINTS: 'name', TRAJECTORY: 'joint_names'}
_DEEPEST, _MOST_PATHS, _MOST_JOINTS, _MOST_ELEMENTS = 8, 32, 64, 8

# What any attribute of a message of another form raises.
_BROKEN = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)


class TopicSurvey:
    """
    What is seen of one topic, in memory that does not grow with its messages.

    Parameters
    ----------
    name, type_name
        Fully qualified name, ``/odom``, and type, ``nav_msgs/msg/Odometry``.
    types
        What is known about types.

    Attributes
    ----------
    messages
        How many messages came.
    publishers, subscribers
        How many there were; None if it is not known, as from a bag.
    latched
        Whether its publishers keep the last message for those who come later.
    stamped
        Whether a message had a stamp in it that is not zero.
    frame
        The first ``frame_id`` of the headers; empty if there was none.
    paths
        Field paths of the numbers of its type, the first ones.
    lengths
        Least and greatest length of its sequence of numbers; None if it has none.
    joints, quantities
        Names of its joints, and what is told of them.
    unmeasured
        Field paths of what was NaN in every message that was seen.
    image
        Height, width and encoding of the first image.
    trouble
        Why messages cannot be read; empty if they can.

    """

    def __init__(self, name: str, type_name: str, types: MessageTypes) -> None:
        self.name, self.type = name, type_name
        self.publishers: int | None = None
        self.subscribers: int | None = None
        self.latched = self.stamped = False
        self.frame = self.trouble = ''
        self.messages = self._first = self._last = 0
        self.lengths: tuple[int, int] | None = None
        self.joints: tuple[str, ...] = ()
        self.quantities: tuple[str, ...] = ()
        self.image: tuple[int, int, str] | None = None
        self._has_header = False
        self.paths: tuple[str, ...] = ()
        try:
            fields = types.fields(type_name)
        except Mismatch as mismatch:
            self.trouble = str(mismatch)
        else:
            self._has_header = any(field.type == 'std_msgs/Header' for field in fields[:1])
            self.paths = tuple(islice(_numbers(type_name, types), _MOST_PATHS))
        self.unmeasured: tuple[str, ...] = ()
        self._unmeasured = {path: estimate(type_name, path) for path in self._looked_at()}

    def _looked_at(self) -> tuple[str, ...]:
        """Return the paths of which it is noted whether they ever have a value."""
        if self.type == JOINTS:
            return QUANTITIES
        if self.type in _SEQUENCES:
            return (_SEQUENCES[self.type],)
        parts = PARTS.get(self.type, {}).values()
        return tuple(path for part in parts for path in part.paths) or self.paths

    @property
    def rate(self) -> float | None:
        """Return the messages per second; None if there were not two of them."""
        seconds = (self._last - self._first) / NANOSECONDS
        return (self.messages - 1) / seconds if self.messages > 1 and seconds > 0 else None

    def count(self, arrived: int) -> None:
        """Take a message that is not decoded, which came at an instant (ns)."""
        self._first = min(self._first, arrived) if self.messages else arrived
        self._last = max(self._last, arrived)
        self.messages += 1

    def see(self, message: Any, arrived: int) -> None:
        """
        Take a decoded message.

        Parameters
        ----------
        message
            Anything with the attributes of the message.
        arrived
            When it came, nanoseconds of the clock that drivers stamp with.

        """
        self.count(arrived)
        try:
            if self._has_header:
                stamp = message.header.stamp
                self.stamped = self.stamped or bool(stamp.sec or stamp.nanosec)
                self.frame = self.frame or str(message.header.frame_id)
            if self.type in _SEQUENCES:
                length = len(getattr(message, _SEQUENCES[self.type]))
                least, most = self.lengths or (length, length)
                self.lengths = (min(least, length), max(most, length))
            elif self.type in _NAMES:
                names = filter(None, map(str, getattr(message, _NAMES[self.type])))
                self.joints = tuple(dict.fromkeys((*self.joints, *names)))[:_MOST_JOINTS]
            elif self.type == IMAGE and self.image is None:
                self.image = (int(message.height), int(message.width), str(message.encoding))
            if self.type == JOINTS and not self.quantities:
                self.quantities = tuple(q for q in QUANTITIES if len(getattr(message, q)))
            self._unmeasured = {p: g for p, g in self._unmeasured.items() if _is_nan(g(message))}
            self.unmeasured = tuple(self._unmeasured)
        except (*_BROKEN, RecordError) as error:
            self.give_up(f'a message could not be read: {error}')

    def give_up(self, trouble: str) -> None:
        """Note why the messages cannot be read; the first reason stays."""
        self.trouble = self.trouble or trouble


def _is_nan(value: Any) -> bool:
    """Return whether a number, or each number of a sequence that has some, is NaN."""
    values = value if hasattr(value, '__len__') else (value,)
    return len(values) > 0 and all(one != one for one in values)


def _numbers(
    type_name: str, types: MessageTypes, prefix: str = '', depth: int = 0
) -> Iterator[str]:
    """Yield the field paths of the numbers of a type, without those in sequences and times."""
    if depth > _DEEPEST:
        return
    for field in types.fields(type_name):
        path = f'{prefix}{field.name}'
        if field.is_text or field.type in _TIMES:
            continue
        if field.is_message and not field.array:
            with suppress(Mismatch):  # One that is not known here has none that could be read.
                yield from _numbers(full_name(field.type), types, f'{path}.', depth + 1)
        elif not field.array:
            yield path
        elif not field.is_message and field.size and field.size <= _MOST_ELEMENTS:
            yield from (f'{path}[{index}]' for index in range(field.size))
