# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Summing up the messages of one topic, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.sources import MOST_VALUES
from boundary_env_ros.core.sources.paths import FUNCTIONS, getter
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.survey import ImageForm, Lengths, Span, TopicSurvey
from boundary_env_ros.storage.message_paths import found_at, Kind
from boundary_env_ros.storage.message_types import MessageTypes, Mismatch

Message = Any
Array = npt.NDArray[np.float64]

IMAGE: Final = 'sensor_msgs/msg/Image'
JOINTS: Final = 'sensor_msgs/msg/JointState'
TRAJECTORY: Final = 'trajectory_msgs/msg/JointTrajectory'

_QUANTITIES: Final = ('position', 'velocity', 'effort')
_QUATERNION: Final = 'geometry_msgs/msg/Quaternion'
_TIMES: Final = frozenset(
    ['builtin_interfaces/msg/Time', 'builtin_interfaces/msg/Duration', 'std_msgs/msg/Header']
)
_DEEPEST, _MOST_LEAVES, _LONGEST, _MOST_JOINTS = 8, 256, 64, 64

#: Greater numbers are rubbish: an observation is of single precision.
_GREATEST: Final = 1e37

# What any attribute of a message of another form raises.
_BROKEN = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)


class TopicObserver:
    """
    The messages of one topic.

    Parameters
    ----------
    name, type_name
        Of the topic.
    types
        What is known about types.

    """

    def __init__(self, name: str, type_name: str, types: MessageTypes) -> None:
        self.name = name
        self.type = type_name
        self._trouble = ''
        fields = types.fields(type_name)
        if isinstance(fields, Mismatch):
            self._trouble, fields = str(fields), ()
        self._has_header = any(field.type == 'std_msgs/Header' for field in fields[:1])
        self._messages = self._stamped = self._first = self._last = 0
        self._frame = ''
        self._image: ImageForm | None = None
        self._joints: dict[str, dict[str, _Running]] = {}
        special = type_name in (IMAGE, JOINTS, TRAJECTORY)
        paths = () if special else islice(_leaves(type_name, types), _MOST_LEAVES)
        self._numbers = [
            (path, getter(path), _Running(is_sequence=is_sequence)) for path, is_sequence in paths
        ]

    @property
    def messages(self) -> int:
        """Return how many messages it has counted."""
        return self._messages

    @property
    def is_readable(self) -> bool:
        """Return whether it makes sense to decode more messages."""
        return not self._trouble

    def count(self, arrived: int) -> None:
        """Take a message that is not decoded, which came at an instant (ns)."""
        self._first = min(self._first, arrived) if self._messages else arrived
        self._last = max(self._last, arrived)
        self._messages += 1

    def see(self, message: Message, arrived: int) -> None:
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
                self._stamped += bool(stamp.sec or stamp.nanosec)
                self._frame = self._frame or str(message.header.frame_id)
            for _, get, running in self._numbers:
                running.see(get(message))
            if self.type == IMAGE:
                self._image = self._image or ImageForm(
                    height=int(message.height),
                    width=int(message.width),
                    encoding=str(message.encoding),
                )
            elif self.type == JOINTS:
                for quantity in _QUANTITIES:
                    self._see_joints(message.name, quantity, getattr(message, quantity))
            elif self.type == TRAJECTORY:
                self._see_joints(message.joint_names, 'position', ())
                for point in message.points:
                    self._see_joints(message.joint_names, 'position', point.positions)
        except (*_BROKEN, RecordError) as error:
            self.give_up(f'a message could not be read: {error}')

    def _see_joints(self, names: Iterable[Any], quantity: str, values: Iterable[Any]) -> None:
        # A quantity that is not measured is empty; any other length is an error.
        for name, value in zip_longest(map(str, names), values):
            # A joint without a name cannot be named.
            if name and (name in self._joints or len(self._joints) < _MOST_JOINTS):
                found = self._joints.setdefault(name, {})
                if value is not None:
                    found.setdefault(quantity, _Running()).see(value)

    def give_up(self, trouble: str) -> None:
        """Note why the messages cannot be read; the first reason stays."""
        self._trouble = self._trouble or trouble

    def result(
        self,
        *,
        publishers: int | None = None,
        subscribers: int | None = None,
        reliability: str = '',
        durability: str = '',
    ) -> TopicSurvey:
        """Return what has been seen so far, with what the graph says besides."""
        seconds = (self._last - self._first) / NANOSECONDS
        return TopicSurvey(
            name=self.name,
            type=self.type,
            messages=self._messages,
            publishers=publishers,
            subscribers=subscribers,
            reliability=reliability,
            durability=durability,
            rate=(self._messages - 1) / seconds if self._messages > 1 and seconds > 0 else None,
            stamped=self._stamped,
            frame=self._frame,
            spans={
                name: span
                for path, _, running in self._numbers
                for name, span in running.spans(path).items()
            },
            lengths={
                path: Lengths(least=running.least, most=running.most)
                for path, _, running in self._numbers
                if running.is_sequence and self._messages
            },
            joints=tuple(self._joints),
            joint_spans={
                quantity: found for quantity in _QUANTITIES if (found := self._spans_of(quantity))
            },
            image=self._image,
            trouble=self._trouble,
        )

    def _spans_of(self, quantity: str) -> dict[str, Span]:
        """Return the values of a quantity by joint."""
        return {
            joint: span
            for joint, found in self._joints.items()
            if quantity in found
            for span in found[quantity].spans(quantity).values()
        }


class _Running:
    """Running least and greatest values of a number, or of a sequence of constant length."""

    def __init__(self, *, is_sequence: bool = False) -> None:
        self.least, self.most = 2**62, 0
        self.is_sequence = is_sequence
        self._low = self._high = np.zeros(0)

    def see(self, value: Any) -> None:
        """Take one more value."""
        array = _array(value)
        if not self.most:
            self._low = self._high = array
        self.least, self.most = min(self.least, array.size), max(self.most, array.size)
        if self.least != self.most or array.size > MOST_VALUES:
            self._low = self._high = np.zeros(0)
            return
        self._low, self._high = np.fmin(self._low, array), np.fmax(self._high, array)

    def spans(self, path: str) -> dict[str, Span]:
        """Return the spans by field path: of a long sequence one of all, nothing of no number."""
        ends = self._low, self._high
        if not self.is_sequence or self.most > _LONGEST:
            known = [end[np.isfinite(end)] for end in ends]
            if not known[0].size:
                return {}
            return {path: Span(low=float(known[0].min()), high=float(known[1].max()))}
        return {
            f'{path}[{index}]': Span(low=low, high=high)
            for index, (low, high) in enumerate(zip(*(end.tolist() for end in ends), strict=True))
            if low <= high  # neither is NaN
        }


def _array(values: Any) -> Array:
    """Return numbers as an array, however the message holds them; NaN for what is none."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        values = np.frombuffer(values, np.uint8)
    elif isinstance(values, list):
        values = [v[0] if isinstance(v, bytes) else v for v in values]
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return np.where(np.abs(array) <= _GREATEST, array, np.nan)


def _leaves(
    type_name: str, types: MessageTypes, prefix: str = '', depth: int = 0
) -> Iterator[tuple[str, bool]]:
    """
    Yield the field paths of the numbers of a type, and of its sequences: whether it is one.

    Rotations about each axis of a quaternion stand behind it; numbers inside of sequences of
    messages are left out.
    """
    fields = types.fields(type_name)
    if isinstance(fields, Mismatch) or depth > _DEEPEST:
        return
    for member in fields:
        path, found = f'{prefix}{member.name}', found_at(member)
        if found.kind is Kind.TEXT or found.type in _TIMES:
            continue
        if found.kind is not Kind.MESSAGE:
            yield path, found.array
        elif not found.array:
            yield from _leaves(found.type, types, f'{path}.', depth + 1)
            if found.type == _QUATERNION:
                yield from ((f'{function}({path})', False) for function in FUNCTIONS)
