# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Summing up the messages of one topic, in memory that does not grow with their number."""

from __future__ import annotations

from dataclasses import dataclass
import io
import math
from typing import Any

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.leaves import (
    leaves_of,
    names,
    numbers,
    NumberWatch,
    Running,
    spans_of,
)
from boundary_env_ros.evidence.infer_contract.survey import ImageForm, TopicSurvey
from boundary_env_ros.storage.message_types import MessageTypes, Mismatch

Message = Any

IMAGE = 'sensor_msgs/msg/Image'
COMPRESSED = 'sensor_msgs/msg/CompressedImage'
JOINTS = 'sensor_msgs/msg/JointState'
TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'

_FRAMES = 3
_MOST_JOINTS = 64
_QUANTITIES = ('position', 'velocity', 'effort')
#: A greater one is no age: the stamps are of another clock than the arrivals.
_OLDEST = 60.0
#: Rates that a topic can have, Hz.
_SLOWEST, _FASTEST = 1e-4, 1e6


#: What a message may do wrong that does not have the fields of its type.
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
        self._messages = 0
        self._trouble = ''
        fields = types.fields(type_name)
        if isinstance(fields, Mismatch):
            self._trouble, fields = str(fields), ()
        self._has_header = any(
            field.name == 'header' and field.type == 'std_msgs/Header' for field in fields
        )
        self._timing = _Timing()
        self._stamped = 0
        self._frames: dict[str, None] = {}
        self._image = _Images() if type_name in (IMAGE, COMPRESSED) else None
        self._joints = _Joints() if type_name in (JOINTS, TRAJECTORY) else None
        special = self._image or self._joints
        self._numbers = None if special else NumberWatch(leaves_of(type_name, types))

    @property
    def messages(self) -> int:
        """Return how many messages it has counted."""
        return self._messages

    @property
    def is_readable(self) -> bool:
        """Return whether it makes sense to decode more messages."""
        return not self._trouble

    def count(self, arrived: int) -> None:
        """Take a message that nobody looks into, which came at an instant (ns)."""
        self._messages += 1
        self._timing.arrive(arrived)

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
                self._header(message.header, arrived)
            if self._numbers is not None:
                self._numbers.see(message)
            if self._image is not None:
                self._image.see(message)
            if self._joints is not None:
                self._joints.see(message)
        except (*_BROKEN, RecordError) as error:
            self.give_up(f'a message could not be read: {error}')

    def give_up(self, trouble: str) -> None:
        """Note why the messages cannot be read; the first reason stays."""
        self._trouble = self._trouble or trouble

    def _header(self, header: Message, arrived: int) -> None:
        stamp = header.stamp.sec * NANOSECONDS + header.stamp.nanosec
        if stamp:
            self._stamped += 1
            self._timing.stamp(stamp, arrived)
        if header.frame_id not in self._frames and len(self._frames) < _FRAMES:
            self._frames[str(header.frame_id)] = None

    def result(
        self,
        *,
        publishers: int | None = None,
        subscribers: int | None = None,
        reliability: str = '',
        durability: str = '',
    ) -> TopicSurvey:
        """Return what has been seen so far, with what the graph says besides."""
        joints, numbers_ = self._joints, self._numbers
        return TopicSurvey(
            name=self.name,
            type=self.type,
            messages=self._messages,
            publishers=publishers,
            subscribers=subscribers,
            reliability=reliability,
            durability=durability,
            rate=self._timing.rate(self._stamped == self._messages),
            longest_gap=self._timing.longest_gap,
            stamped=self._stamped,
            frames=tuple(frame for frame in self._frames if frame),
            age=self._timing.age(),
            spans=numbers_.spans() if numbers_ else {},
            lengths=numbers_.lengths() if numbers_ else {},
            joints=tuple(joints.names) if joints else (),
            joint_spans=joints.spans() if joints else {},
            image=self._image.form() if self._image else None,
            trouble=self._trouble,
        )


@dataclass(slots=True)
class _Timing:
    """Arrivals and stamps, nanoseconds."""

    arrivals: int = 0
    first: int = 0
    last: int = 0
    longest: int = 0
    stamps: int = 0
    first_stamp: int = 0
    last_stamp: int = 0
    age_sum: int = 0

    def arrive(self, at: int) -> None:
        if self.arrivals:
            self.longest = max(self.longest, at - self.last)
        else:
            self.first = at
        self.arrivals += 1
        self.last = max(self.last, at)

    def stamp(self, stamp: int, arrived: int) -> None:
        if not self.stamps:
            self.first_stamp = stamp
        self.stamps += 1
        self.last_stamp = max(self.last_stamp, stamp)
        self.age_sum += arrived - stamp

    def rate(self, by_stamp: bool) -> float | None:
        """Return messages per second, by their stamps if all have one, which jitter less."""
        spans = [(self.stamps, self.last_stamp - self.first_stamp)] if by_stamp else []
        for count, span in (*spans, (self.arrivals, self.last - self.first)):
            if count > 1 and span > 0:
                rate = (count - 1) * NANOSECONDS / span
                # Anything else comes of stamps that are none.
                if _SLOWEST <= rate <= _FASTEST:
                    return rate
        return None

    @property
    def longest_gap(self) -> float | None:
        return self.longest / NANOSECONDS if self.arrivals > 1 else None

    def age(self) -> float | None:
        mean = self.age_sum / self.stamps if self.stamps else math.inf
        return mean / NANOSECONDS if abs(mean) < _OLDEST * NANOSECONDS else None


class _Images:
    def __init__(self) -> None:
        self._first: tuple[int, int, str, str] | None = None
        self._changed = False

    def see(self, image: Message) -> None:
        if hasattr(image, 'format'):
            form = str(image.format)
            # Known after the first one: the others are not looked into.
            if self._first is not None:
                self._changed |= form != self._first[3]
                return
            self._first = (*_head_of(bytes(image.data)), form)
            return
        found = (int(image.height), int(image.width), str(image.encoding), '')
        self._first = self._first or found
        self._changed |= found != self._first

    def form(self) -> ImageForm | None:
        if self._first is None:
            return None
        height, width, encoding, compressed = self._first
        return ImageForm(
            height=height,
            width=width,
            encoding=encoding,
            compressed=compressed,
            changed=self._changed,
        )


def _head_of(data: bytes) -> tuple[int, int, str]:
    """Return height, width and encoding of a compressed image: nothing is decompressed."""
    try:
        import PIL.Image

        with PIL.Image.open(io.BytesIO(data), formats=('png', 'jpeg')) as image:
            encoding = {'L': 'mono8', 'RGB': 'rgb8', 'P': 'rgb8'}.get(image.mode, '')
            return image.height, image.width, encoding
    except Exception:  # noqa: BLE001 - without Pillow, or of rubbish: it raises what it likes
        return 0, 0, ''


class _Joints:
    """Joints by name, of a state or of the points of a trajectory."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self._running: dict[str, dict[str, Running]] = {q: {} for q in _QUANTITIES}

    def see(self, message: Message) -> None:
        if hasattr(message, 'points'):
            joints = names(message.joint_names, _MOST_JOINTS)
            for point in message.points:
                self._take('position', joints, point.positions)
        else:
            joints = names(message.name, _MOST_JOINTS)
            for quantity in _QUANTITIES:
                self._take(quantity, joints, getattr(message, quantity))
        for joint in joints:
            # A joint without a name cannot be named.
            if joint and len(self.names) < _MOST_JOINTS:
                self.names.setdefault(joint)

    def _take(self, quantity: str, joints: list[str], values: Any) -> None:
        running = self._running[quantity]
        # A quantity that is not measured is empty; any other length is nobody's.
        for joint, value in zip(joints, numbers(values).tolist(), strict=False):
            if joint in running or len(running) < _MOST_JOINTS:
                running.setdefault(joint, Running()).see(value)

    def spans(self) -> dict[str, dict[str, Any]]:
        return {q: found for q in _QUANTITIES if (found := spans_of(self._running[q]))}
