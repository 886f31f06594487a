# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Summing up the messages of one topic, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Collection, Iterable
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
        self._has_header = any(
            field.name == 'header' and field.type == 'std_msgs/Header' for field in fields
        )
        self._messages = self._stamped = self._first = self._last = 0
        self._frame = ''
        self._image: ImageForm | None = None
        self._joints: dict[str, None] = {}
        self._joint_spans: dict[str, dict[str, _Running]] = {q: {} for q in _QUANTITIES}
        special = type_name in (IMAGE, JOINTS, TRAJECTORY)
        paths = [] if special else list(_leaves(type_name, types))[:_MOST_LEAVES]
        self._numbers = [(path, getter(path), _Running()) for path in paths]

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

    def _see_joints(self, names: Iterable[Any], quantity: str, values: Any) -> None:
        spans, joints = self._joint_spans[quantity], [str(name) for name in names]
        for joint in joints:
            # A joint without a name cannot be named.
            if joint and len(self._joints) < _MOST_JOINTS:
                self._joints.setdefault(joint)
        # A quantity that is not measured is empty; any other length is an error.
        for joint, value in zip(joints, values, strict=False):
            if joint in self._joints:
                spans.setdefault(joint, _Running()).see(value)

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
                if running.is_sequence
            },
            joints=tuple(self._joints),
            joint_spans={
                quantity: {joint: span for joint, each in some.items() for span in each.one()}
                for quantity, some in self._joint_spans.items()
                if some
            },
            image=self._image,
            trouble=self._trouble,
        )


class _Running:
    """Running least and greatest values of a number, or of a sequence of constant length."""

    def __init__(self) -> None:
        self.least, self.most = 2**62, 0
        self.is_sequence = False
        self._low: Array | None = None
        self._high: Array | None = None

    def see(self, value: Any) -> None:
        """Take one more value."""
        self.is_sequence = isinstance(value, Collection) and not _is_byte(value)
        array = _array(value if self.is_sequence else [value])
        self.least, self.most = min(self.least, array.size), max(self.most, array.size)
        if self.least != self.most or array.size > MOST_VALUES:
            self._low = self._high = None
            return
        low = array if self._low is None else self._low
        high = array if self._high is None else self._high
        self._low, self._high = np.fmin(low, array), np.fmax(high, array)

    def one(self) -> list[Span]:
        """Return the span of all values together, nothing if none was finite."""
        if self._low is None or self._high is None or not np.isfinite(self._low).any():
            return []
        return [Span(low=float(np.nanmin(self._low)), high=float(np.nanmax(self._high)))]

    def spans(self, path: str) -> dict[str, Span]:
        """Return the spans by field path."""
        if not self.is_sequence or self.most > _LONGEST:
            found = self.one()
            return {path: found[0]} if found else {}
        pairs = zip(
            () if self._low is None else self._low.tolist(),
            () if self._high is None else self._high.tolist(),
            strict=True,
        )
        return {
            f'{path}[{index}]': Span(low=low, high=high)
            for index, (low, high) in enumerate(pairs)
            if low <= high  # neither is NaN
        }


def _is_byte(value: Any) -> bool:
    """Return whether a value is a single ``byte``, which ROS gives as a text of one byte."""
    return isinstance(value, bytes) and len(value) == 1


def _array(values: Any) -> Array:
    """Return numbers as an array, however the message holds them; NaN for what is none."""
    if isinstance(values, (bytes, bytearray, memoryview)):
        return np.frombuffer(values, np.uint8).astype(np.float64)
    if isinstance(values, list):
        values = [v[0] if isinstance(v, (bytes, bytearray)) else v for v in values]
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.abs(array) <= _GREATEST, array, np.nan)


def _leaves(
    type_name: str, types: MessageTypes, prefix: str = '', depth: int = 0
) -> Iterable[str]:
    """
    Yield the field paths of the numbers of a type, and of its sequences of numbers.

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
            yield path
        elif not found.array:
            yield from _leaves(found.type, types, f'{path}.', depth + 1)
            if found.type == _QUATERNION:
                yield from (f'{function}({path})' for function in FUNCTIONS)
