# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is seen of one topic: how often its messages come, and of which shape they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate, islice
import re
from typing import Any, Final, TypeAlias

import numpy as np

from boundary_env_ros.core.contract.paths import getter, getters
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import IMAGE, JOINTS, QUANTITIES, SCAN, TRAJECTORY
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.core.sources.no_estimate import estimate
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError, WRONG_INPUT
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.definitions import Field, full_name
from boundary_env_ros.storage.message_types import MessageTypes, TypeMismatch
from boundary_env_ros.terminal import many

ODOMETRY: Final = 'nav_msgs/msg/Odometry'

#: Names of topics that command.
COMMANDING: Final = re.compile(
    r'(^|[/_])(cmd|cmds|command|commands|setpoint|setpoints|target|desired)([/_]|$)|cmd_vel'
)

_TIMES: Final = frozenset(
    ['builtin_interfaces/Time', 'builtin_interfaces/Duration', 'std_msgs/Header']
)
#: Where the sequence of numbers is that a field is read from, and the names of joints.
_SEQUENCES: Final = {**ARRAYS, SCAN: 'ranges'}
_NAMES: Final = {JOINTS: 'name', TRAJECTORY: 'joint_names'}
#: A definition can have any number of fields, and a message any joints.
_DEEPEST, _MOST_PATHS, _MOST_ELEMENTS, _MOST_SETS = 8, 1000, 8, 64

#: Where a message has speeds, m/s and rad/s, and the least that is no noise of a robot at rest.
_SPEEDS: Final = {
    ODOMETRY: getters(('twist.twist.linear.x', 'twist.twist.linear.y', 'twist.twist.angular.z')),
    JOINTS: getter('velocity'),
}
_MOVES: Final = 0.05

Intervals: TypeAlias = Counter[float]


#: An interval that is longer than both is a pause, or a step of the clock: s, and in medians.
_JUMP, _MEDIANS = 1.0, 10.0


#: How far mean and median may be apart where messages come evenly, some of them lost.
_EVEN = 1.5


class Pace:
    """
    The intervals of a stream of messages, in memory that does not grow with it.

    Attributes
    ----------
    messages
        How many messages came.

    """

    def __init__(self) -> None:
        self.messages = self._last = 0
        #: Of four digits, so that they are not more and more.
        self._intervals: Intervals = Counter()

    def count(self, arrived: int) -> None:
        """Take a message that came at an instant, ns."""
        if self.messages:
            self._intervals[float(f'{(arrived - self._last) / NANOSECONDS:.3e}')] += 1
        self._last = arrived
        self.messages += 1

    def _split(self) -> tuple[Intervals, Intervals, Intervals]:
        """Return the intervals, and apart those in which its time jumped ahead and back."""
        most = max(_JUMP, _MEDIANS * _median(self._intervals))
        even, ahead, back = Intervals(), Intervals(), Intervals()
        for each, count in self._intervals.items():
            (ahead if each > most else even if each > -_JUMP else back)[each] = count
        return even, ahead, back

    @property
    def rate(self) -> float | None:
        """
        Return the messages per second by the median interval; None if there were not two of them.

        Messages that come in bunches have no typical interval: theirs is the mean.
        """
        even, *_ = self._split()
        mean = sum(each * count for each, count in even.items()) / max(1, even.total())
        median = _median(even)
        period = median if mean / _EVEN < median < mean * _EVEN else mean
        return 1.0 / period if period > 0.0 else None

    def jumps(self) -> str:
        """Return how its time jumped, in words; empty if it did not: a pause, or a clock set."""
        return ' and '.join(
            f'{many(some.total(), "time")} {way}, by up to {max(map(abs, some)):.3g} s'
            for way, some in zip(('ahead', 'back'), self._split()[1:], strict=True)
            if some
        )


def _median(counted: Intervals) -> float:
    """Return the median, of an even number the lower one, which is a value; 0 if there is none."""
    ordered = sorted(counted)
    sums = accumulate(counted[each] for each in ordered)
    half = counted.total() / 2.0
    return next((each for each, below in zip(ordered, sums, strict=True) if below >= half), 0.0)


class TopicSurvey(Pace):
    """
    What is seen of one topic, in memory that does not grow with its messages.

    Parameters
    ----------
    name, type_name
        Fully qualified name, ``/odom``, and type, ``nav_msgs/msg/Odometry``.
    types
        What is known about types.
    flags
        The topics of a robot that say true or false: one list, for all its surveys.
    joints
        Only messages about these joints come; empty for messages about any.

    Attributes
    ----------
    publishers, subscribers
        How many there were; None if it is not known, as from a bag.
    latched
        Whether its publishers keep the last message for those who come later.
    stamped
        Whether a message had a stamp in it that is not zero.
    frame
        The first ``frame_id`` of the headers; empty if there was none.
    paths
        Field paths of the numbers of its type.
    lists
        Field paths of its sequences of messages.
    lengths
        Least and greatest length of its sequences of numbers, by field path.
    joints, among
        Names of its joints, and of how many messages these are the ones that are about them.
    unmeasured
        By field path, what never had a value: the places in the sequence or among the joints that
        were NaN in every message, or None where there was no number in any.
    marked
        The paths among them whose message itself says that it has no estimate.
    image
        Height, width and encoding of the first image.
    moving
        How many messages showed motion while a flag said false, and while it said true.
    trouble
        Why messages cannot be read; empty if they can.

    """

    def __init__(
        self,
        name: str,
        type_name: str,
        types: MessageTypes,
        flags: list[TopicSurvey] | None = None,
        joints: tuple[str, ...] = (),
    ) -> None:
        super().__init__()
        self.name, self.type, self._types = name, type_name, types
        self.publishers: int | None = None
        self.subscribers: int | None = None
        self.latched = self.stamped = False
        self.frame = self.trouble = ''
        self.lengths: dict[str, tuple[int, int]] = {}
        self.joints, self.among = joints, 0
        self._names = '' if joints else _NAMES.get(type_name, '')
        self._sets: dict[frozenset[str], TopicSurvey] = {}
        self.image: tuple[int, int, str] | None = None
        self._flags = [] if flags is None else flags
        self._flag: bool | None = None
        self.moving = [0, 0]
        if type_name == STOP_TYPE:
            self._flags.append(self)
        self._speeds = None if COMMANDING.search(name.lower()) else _SPEEDS.get(type_name)
        self._has_header = False
        leaves: tuple[tuple[str, Field], ...] = ()
        try:
            fields = types.fields(type_name)
        except TypeMismatch as mismatch:
            self.trouble = str(mismatch)
        else:
            self._has_header = any(field.type == 'std_msgs/Header' for field in fields[:1])
            leaves = tuple(islice(_leaves(type_name, types), _MOST_PATHS + 1))
        if len(leaves) > _MOST_PATHS:
            self.trouble = f'it has more than {_MOST_PATHS} numbers: name some by hand'
        self.paths = tuple(path for path, field in leaves if field.is_number)
        self.lists = tuple(path for path, field in leaves if field.is_message)
        looked_at, sequences = self.paths, [path for path, field in leaves if field.is_numbers]
        if type_name in _SEQUENCES:
            looked_at, sequences = (), [_SEQUENCES[type_name]]
        elif type_name in (IMAGE, JOINTS, *PARTS):
            parts = PARTS.get(type_name, {}).values()
            looked_at, sequences = tuple(path for part in parts for path in part.paths), []
        if joints:
            looked_at = QUANTITIES
        self._sequences = sequences
        self._getters = {path: estimate(type_name, path) for path in (*looked_at, *sequences)}
        self.unmeasured: dict[str, frozenset[int] | None] = {}
        self.marked: set[str] = set()

    def on_message(self, decode: Callable[[], Any], arrived: int) -> None:
        """Look at a message, as long as those of the topic can be decoded, and count it."""
        if not self.trouble:
            try:
                message = decode()
            except RecordError as error:
                self.give_up(f'a message could not be decoded: {str(error).rstrip(".")}')
            else:
                self.on_decoded(message, arrived)
                return
        self.count(arrived)

    def on_decoded(self, message: Any, arrived: int) -> None:
        """
        Take a decoded message.

        Parameters
        ----------
        message
            Anything with the attributes of the message.
        arrived
            When it came, nanoseconds of the clock that drivers stamp with.

        """
        if not self.messages:
            self.unmeasured = dict.fromkeys(self._getters)
        self.count(arrived)
        try:
            if self._has_header:
                stamp = message.header.stamp
                self.stamped = self.stamped or bool(stamp.sec or stamp.nanosec)
                self.frame = self.frame or str(message.header.frame_id)
            if self.type == STOP_TYPE:
                self._flag = bool(message.data)
            elif self.type == IMAGE and self.image is None:
                self.image = (int(message.height), int(message.width), str(message.encoding))
            elif self._names:
                self._see_joints(message, arrived)
            if self._speeds and any(abs(speed) > _MOVES for speed in self._speeds(message)):
                for flag in self._flags:
                    flag.count_motion()
            self._see_numbers(message)
        except (*WRONG_INPUT, RecordError) as error:
            self.give_up(f'a message could not be read: {error}')

    def _see_joints(self, message: Any, arrived: int) -> None:
        """Look at a message beside the others about the same joints."""
        names = tuple(dict.fromkeys(filter(None, map(str, getattr(message, self._names)))))
        one = self._sets.get(frozenset(names))
        if names and one is None:
            if len(self._sets) == _MOST_SETS:
                raise ValueError('its messages are about other joints each time')
            self.joints = tuple(dict.fromkeys((*self.joints, *names)))
            one = TopicSurvey(self.name, self.type, self._types, joints=names)
            self._sets[frozenset(names)] = one
        if one is not None and self.type == JOINTS:
            one.on_decoded(message, arrived)

    def _see_numbers(self, message: Any) -> None:
        for path in self._sequences:
            length = len(self._getters[path](message))
            least, most = self.lengths.get(path, (length, length))
            self.lengths[path] = (min(least, length), max(most, length))
        for path, before in tuple(self.unmeasured.items()):
            values = self._getters[path](message)
            if self.type == JOINTS:
                given = len(values) == len(message.name)
                column = dict(zip(message.name, values, strict=True)) if given else {}
                values = [column[name] for name in self.joints if given]
            numbers = np.atleast_1d(values)
            if not numbers.size:
                continue
            never = frozenset(np.flatnonzero(numbers != numbers).tolist())
            never &= never if before is None else before
            # A scan may have beams that see nothing, ever.
            if never and (self.type != SCAN or len(never) == numbers.size):
                self.unmeasured[path] = never
                if not np.isnan(np.atleast_1d(getter(path)(message))).any():
                    self.marked.add(path)
            else:
                del self.unmeasured[path]

    def count_motion(self) -> None:
        """Take it that the robot moved while this topic said what it said last."""
        if self._flag is not None:
            self.moving[self._flag] += 1

    def apart(self) -> tuple[TopicSurvey, ...]:
        """Return what was seen of each publisher, as far as their joints distinguish them."""
        whole = [names for names in self._sets if not any(map(names.__lt__, self._sets))]
        if self.trouble or not whole:
            return (self,)
        several = len(whole) > 1 and sum(map(len, whole)) == len(self.joints)
        for names in whole:
            one = self._sets[names]
            one.latched = self.latched
            one.publishers = max(self.publishers or 0, len(whole)) if several else None
            one.among = self.messages
        return tuple(map(self._sets.__getitem__, whole))

    def give_up(self, trouble: str) -> None:
        """Note why the messages cannot be read; the first reason stays."""
        self.trouble = self.trouble or trouble


def _leaves(
    type_name: str, types: MessageTypes, prefix: str = '', depth: int = 0
) -> Iterator[tuple[str, Field]]:
    """Yield paths and fields of the numbers of a type, and of its sequences; not of times."""
    if depth > _DEEPEST:
        return
    for field in types.fields(type_name):
        path = f'{prefix}{field.name}'
        if field.is_text or field.type in _TIMES:
            continue
        if field.array and (field.size is None or field.size > _MOST_ELEMENTS):
            yield path, field
            continue
        for each in [f'{path}[{i}]' for i in range(field.size or 0)] if field.array else [path]:
            if field.is_message:
                with suppress(
                    TypeMismatch
                ):  # One that is not known here has none that could be read.
                    yield from _leaves(full_name(field.type), types, f'{each}.', depth + 1)
            else:
                yield each, replace(field, array=False)
