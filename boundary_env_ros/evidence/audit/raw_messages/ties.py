# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Values that a record says were measured, each tied to the raw message with its stamp.

A tie is exact: the message with that stamp says the value, or no message of that stamp does.
Topics overtake each other on their way to the recorder, so a value waits for its message until
that comes, or the record is at its end; of each topic the last messages are kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import accumulate, islice
from operator import sub
import struct
import sys
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract, slices_of
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.sources.readers import stamp_of
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.record_difference import Mismatch, same, vector
from boundary_env_ros.evidence.run_files import wired
from boundary_env_ros.storage.record_chain import CHAIN_TYPE
from boundary_env_ros.storage.records import Message as Recorded

#: Nanoseconds that messages are remembered; a topic that is silent for longer keeps its last ones.
KEEP, KEPT = 20 * NANOSECONDS, 64

#: Nanoseconds of log time by which topics overtake each other at most: what got lost is sent again
#: for so long.
REACH = 12 * NANOSECONDS

#: Nanoseconds behind a hole in which a record may speak of what was in it.
BEHIND = 2 * NANOSECONDS

#: Nanoseconds by which messages of several topics may be in another order than they came in.
EDGE = NANOSECONDS // 20

#: Messages of one topic that are remembered, however fast they come, and bytes of them.
MOST, MOST_BYTES = 20_000, 8 * 1024 * 1024

#: Seconds and nanoseconds of the header that a message begins with.
_STAMP = struct.Struct('<iI')

#: What a message is found by: its stamp, or without one when it was sent.
Key: TypeAlias = tuple[bool, int]


class LazyMessage:
    """
    One message of a topic; it is decoded when its readings are asked for.

    Parameters
    ----------
    recorded
        The message.
    stamp
        ``header.stamp`` in nanoseconds; None if it has none.
    inputs
        What is read from it.

    Attributes
    ----------
    key
        What it is found by: its stamp, or without one when it was sent.
    log_time, publish_time
        When the recorder had it and when it was sent, nanoseconds.
    length
        Its bytes on the wire.

    """

    __slots__ = ('_inputs', '_readings', '_recorded', 'key', 'length', 'log_time', 'publish_time')

    def __init__(self, recorded: Recorded, stamp: int | None, inputs: Sequence[Input]) -> None:
        self.log_time = recorded.log_time
        self.publish_time = recorded.publish_time or recorded.log_time
        self.key: Key = (False, self.publish_time) if stamp is None else (True, stamp)
        self.length = len(recorded.data)
        self._recorded: Recorded | None = recorded
        self._inputs = inputs
        self._readings: dict[Input, Reading] = {}

    @property
    def stamp(self) -> int | None:
        """Return its stamp in nanoseconds; None if it has none."""
        return self.key[1] if self.key[0] else None

    @property
    def has_publish_time(self) -> bool:
        """Return whether it is known when it was sent: a bag with log times only repeats them."""
        return self.publish_time != self.log_time

    @property
    def size(self) -> int:
        """Return the bytes that it holds until it is decoded."""
        return 0 if self._recorded is None else self.length

    @property
    def readings(self) -> Mapping[Input, Reading]:
        """Return what each input reads from it; one that cannot is left out."""
        if self._recorded is not None:
            recorded, self._recorded = self._recorded, None
            try:
                message = recorded.decode()
            except BoundaryError:
                return self._readings
            for item in self._inputs:
                try:
                    self._readings[item] = item.reading(message)
                except (BoundaryError, *WRONG_INPUT):
                    # The nodes pass over what they cannot read, and say so; what a record says
                    # was read there is found to have no support.
                    continue
        return self._readings


class Window:
    """
    The last messages of one topic.

    Attributes
    ----------
    inputs
        What is read from each of them.

    """

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        # Of the first message of all: what it is found by, and when the recorder had it.
        self._first: tuple[Key, int] | None = None
        self._messages: deque[LazyMessage] = deque()
        self._by_key: dict[Key, list[LazyMessage]] = {}
        self._bytes = 0
        # Whether its messages begin with a header; None if that is not known, or it is elsewhere.
        self._has_header: bool | None = None

    def add(self, recorded: Recorded) -> LazyMessage:
        """Remember the next message of the topic, and forget those that are too old."""
        message = LazyMessage(recorded, self._stamp(recorded), self.inputs)
        messages = self._messages
        self._first = self._first or (message.key, message.log_time)
        messages.append(message)
        self._by_key.setdefault(message.key, []).append(message)
        self._bytes += message.length
        if self._bytes > MOST_BYTES:
            # What is large is read at once and let go of.
            for older in messages:
                _ = older.readings
            self._bytes = 0
        horizon = message.log_time - KEEP
        while len(messages) > MOST or (messages[0].log_time < horizon and len(messages) > KEPT):
            self._forget(messages.popleft())
        return message

    def _stamp(self, recorded: Recorded) -> int | None:
        """Return the stamp of a message, from the bytes where these begin with a header."""
        data = recorded.data
        if self._has_header and len(data) >= 12 and data[:2] == b'\0\1':
            seconds, nanoseconds = _STAMP.unpack_from(data, 4)
            return int(seconds) * NANOSECONDS + int(nanoseconds) or None
        if self._has_header is False:
            return None
        try:
            message = recorded.decode()
            if 'header' not in message.__slots__:
                self._has_header = False
            elif message.__slots__[0] == 'header' and message.header.__slots__[0] == 'stamp':
                self._has_header = True
            return stamp_of(message)
        except (BoundaryError, *WRONG_INPUT):  # what another calls a header is none, perhaps
            return None

    def _forget(self, message: LazyMessage) -> None:
        self._bytes = max(0, self._bytes - message.size)
        same = self._by_key[message.key]
        same.remove(message)
        if not same:
            del self._by_key[message.key]

    def at(self, key: Key) -> Sequence[LazyMessage]:
        """Return the messages with a key."""
        return self._by_key.get(key, ())

    @property
    def unstamped(self) -> Iterator[LazyMessage]:
        """Return the messages that have no stamp, the newest first."""
        return (message for message in reversed(self._messages) if not message.key[0])

    @property
    def end(self) -> int:
        """Return when the recorder had the last message, nanoseconds; 0 if there was none."""
        return self._messages[-1].log_time if self._messages else 0

    def why_missing(self, key: Key | None, log_time: int) -> str:
        """
        Return why the message of a value need not be there: the record begins late or ends early.

        Parameters
        ----------
        key
            What the message would be found by; None: only a message without a stamp, sent at a
            time that is not known.
        log_time
            When the recorder had the value, nanoseconds.

        """
        if self._first is None:
            return 'early'
        first, is_known = self._first, self._messages[-1].has_publish_time
        if key is not None and key[0] == first[0][0] and (key[0] or is_known):
            # A message that got lost is counted by the recorder when a later one comes. Several
            # publishers, and a clock that is set back, put the stamps of a topic in disorder.
            stamps = [m.key[1] for m in islice(reversed(self._messages), KEPT)][::-1]
            behind = max(map(sub, accumulate(stamps, max), stamps))
            early, torn = key[1] < first[0][1], key[1] >= max(stamps) - behind
        else:
            early, torn = log_time < first[1] + REACH, log_time > self.end - REACH
        return 'early' if early else 'torn' if torn else ''


class Holes:
    """
    The parts of a record whose messages were damaged.

    Parameters
    ----------
    holes
        The log times that each is between, nanoseconds.

    """

    def __init__(self, holes: Iterable[tuple[int, int]]) -> None:
        self._holes = sorted(holes)

    def __len__(self) -> int:
        return len(self._holes)

    def _last(self, log_time: int) -> tuple[int, int] | None:
        """Return the last one that begins before a log time; None if none does."""
        place = bisect_left(self._holes, (log_time,))
        return self._holes[place - 1] if place else None

    def begin_at(self, log_time: int) -> None:
        """Take what came before the record for missing."""
        if self._last(1) is None:
            self._holes.insert(0, (0, log_time))

    def fill(self, log_time: int) -> None:
        """Take note of a message: nothing is missing around it."""
        hole = self._last(log_time - EDGE) if self._holes else None
        if hole is not None and log_time < hole[1] - EDGE:
            self._holes.remove(hole)

    def reach(self, log_time: int) -> bool:
        """Return whether a record may speak of what was in one."""
        hole = self._last(log_time + 1)
        return hole is not None and log_time <= hole[1] + BEHIND


Find: TypeAlias = Callable[[str, Mismatch, StepId | None], None]

#: Values that wait for their messages; the first ones are given up for more.
MOST_WAITING = 16_384


@dataclass(slots=True, kw_only=True, eq=False)
class Tie:
    """
    One value that a record says was measured.

    Attributes
    ----------
    of
        The step that says so.
    kind
        What such values are called in the report.
    uses
        The topics, one of which has its message.
    key
        What that is found by; None: any message without a stamp may be it.
    sent
        When a message without a stamp was sent, nanoseconds; None if not known.
    log_time
        When the recorder had the record that says so, nanoseconds.
    differences
        Returns where a message does not say the value.
    besides
        Returns what else is wrong once the message is found, by rule.
    none
        Returns what is found if there is no such message.
    rule
        The rule that asks for the message.
    wrong
        How the nearest message differs.

    """

    of: StepId
    kind: str
    uses: Sequence[Input]
    key: Key | None
    sent: int | None = None
    log_time: int
    differences: Callable[[Input, LazyMessage], Sequence[Mismatch]]
    besides: Callable[[Input, LazyMessage], Iterable[tuple[str, Mismatch]]] = lambda *_: ()
    none: Callable[[], Mismatch]
    rule: str = 'values-from-sensors'
    wrong: Sequence[Mismatch] = field(default=())


def of_no_message(place: str, use: Input, values: Vector, stamped: str) -> Mismatch:
    """Return what is wrong with values that no message has."""
    expected = f'a message on {use.at}{stamped}'
    return Mismatch(place, expected, f'{vector(values)} of no message')


class Ties:
    """
    Ties values to the raw messages of a record.

    Parameters
    ----------
    contract
        The contract.
    topics
        Type of each topic of the record.
    find
        Takes what is found.
    holes
        Where messages were damaged.

    Attributes
    ----------
    uses
        What each agent reads of the record, by name.
    listened
        The topics that are used.
    groups
        The groups of the action, each with its part of the command.
    checked
        How many measurements, fields, commands ... were compared with a raw message.
    asked
        How many checks of each kind there were, by the use of the topic; excused ones included.
    excused
        By the name of the excuse: how many checks of each kind were excused by it.
    lost
        How many messages the recorder says that it lost, or of how many topics it cannot say.
    reported_until
        Log time up to which it has said so; all is, where nothing says anything.
    now
        Log time of the record that is looked at, nanoseconds.

    """

    def __init__(
        self,
        contract: Contract,
        topics: Mapping[str, str],
        find: Find,
        holes: Sized = (),
    ) -> None:
        self.contract = contract
        self.find = find
        self._holes = holes
        self._has_chain = CHAIN_TYPE in topics.values()
        self.transforms = TransformFields(contract, cache_time=KEEP)
        self.groups = tuple(slices_of(contract.action))
        self.uses: Mapping[str, Mapping[str, Input]] = {
            agent: wired(contract, agent, topics, self.transforms) for agent in contract.agents
        }
        self.checked: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.excused: dict[str, Counter[str]] = {}
        self._labels = {use: use.label for uses in self.uses.values() for use in uses.values()}
        self._windows: dict[str, Window] = {}
        for uses in self.uses.values():
            for use in uses.values():
                if use.at:
                    self._windows.setdefault(use.at, Window()).inputs.append(use)
        self.listened = frozenset(self._windows)
        self.lost = self.now = 0
        self.reported_until = sys.maxsize
        self._waiting: dict[Tie, None] = {}  # in the order in which they came
        self._wanted: dict[tuple[str, Key | None], list[Tie]] = {}
        self._last_values: dict[tuple[str, str], tuple[object, ...]] = {}

    def use(self, agent: str, name: str) -> Input | None:
        """Return a use that the record has a topic for."""
        use = self.uses.get(agent, {}).get(name)
        return use if use is not None and use.at else None

    # Messages and values -------------------------------------------------------------------------

    def message(self, recorded: Recorded) -> LazyMessage:
        """Take a message of a topic that is used, and tie to it what waits for it."""
        topic = recorded.topic
        message = self._windows[topic].add(recorded)
        if not self._wanted:
            return message
        for key in (message.key,) if message.key[0] else (message.key, None):
            for tie in tuple(self._wanted.get((topic, key), ())):
                if any(use.at == topic and self._is_of(tie, use, message) for use in tie.uses):
                    self._stop_waiting(tie)
        return message

    def is_repeated(self, agent: str, place: str, value: tuple[object, ...]) -> bool:
        """Return whether a value, its stamp first, is of the same message as the last there."""
        before, self._last_values[agent, place] = self._last_values.get((agent, place)), value
        return before is not None and before[0] == value[0] and same(before, value)

    def tie(self, tie: Tie) -> None:
        """Tie a value to its message, which may still come."""
        for use in tie.uses:
            window = self._windows[use.at]
            for message in window.unstamped if tie.key is None else window.at(tie.key):
                if self._is_of(tie, use, message):
                    return
        self._waiting[tie] = None
        for topic in {use.at for use in tie.uses}:
            self._wanted.setdefault((topic, tie.key), []).append(tie)
        while (first := next(iter(self._waiting))) is not tie and self._is_over(first):
            self._give_up(first)

    def _is_over(self, tie: Tie) -> bool:
        """Return whether a value waits in vain: its topics went on for longer than they may."""
        ends = (self._windows[use.at].end for use in tie.uses)
        return len(self._waiting) > MOST_WAITING or min(ends) > tie.log_time + REACH

    def _is_of(self, tie: Tie, use: Input, message: LazyMessage) -> bool:
        """Return whether a message says a value; then it is tied to it."""
        if use not in message.readings:
            return False
        differences = tie.differences(use, message)
        if differences:
            tie.wrong = tie.wrong or differences
            return False
        self.count(tie.kind, self._labels[use])
        for rule, mismatch in tie.besides(use, message):
            self.find(rule, mismatch, tie.of)
        return True

    def _stop_waiting(self, tie: Tie) -> None:
        del self._waiting[tie]
        for topic in {use.at for use in tie.uses}:
            wanted = self._wanted[topic, tie.key]
            wanted.remove(tie)
            if not wanted:
                del self._wanted[topic, tie.key]

    def _give_up(self, tie: Tie) -> None:
        """Judge a value whose message did not come."""
        self._stop_waiting(tie)
        key, wrong = tie.key, () if tie.key is None else tie.wrong
        # Some sensors repeat a stamp, and a time of simulation stands still while the world is
        # reset: then the value may be of a message that is missing, and has the stamp of another.
        repeated = self.contract.sim_time or (
            key is not None and any(len(self._windows[use.at].at(key)) > 1 for use in tie.uses)
        )
        if (wrong and not repeated) or not self.may_be_missing(tie):
            self.contradict(tie, *(wrong or (tie.none(),)))

    def contradict(self, tie: Tie, *mismatches: Mismatch) -> None:
        """Note where a value is not what its message says."""
        self.asked[tie.uses[0].label] += 1
        for mismatch in mismatches:
            self.find(tie.rule, mismatch, tie.of)

    def finish(self) -> None:
        """Judge what still waits, once the record is at its end."""
        for tie in tuple(self._waiting):
            self._give_up(tie)

    # What may be missing -------------------------------------------------------------------------

    def count(self, kind: str, name: str) -> None:
        """Take note of a check that was made."""
        self.checked[kind] += 1
        self.asked[name] += 1

    def excuse(self, reason: str, name: str) -> None:
        """Take note of a check that could not be made; the report bounds how many may be."""
        self.asked[name] += 1
        self.excused.setdefault(reason, Counter())[name] += 1

    def why_missing(self, log_time: int = 0) -> str:
        """Return why messages about then may be missing in the middle; empty if none may be."""
        if not self._has_chain:
            return 'gap'
        if self._holes:
            return 'damaged'
        return 'lost' if self.lost or log_time > self.reported_until else ''

    def may_be_missing(self, tie: Tie, *, there: bool = False) -> bool:
        """
        Return whether the message of a value may honestly be missing, and count it then.

        Parameters
        ----------
        tie
            The value.
        there
            Whether there are messages before and behind it, so that none is missing unless one was
            lost.

        """
        why = self.why_missing()
        if not (why or there):
            key = (False, tie.sent) if tie.key is None and tie.sent is not None else tie.key
            found = [self._windows[use.at].why_missing(key, tie.log_time) for use in tie.uses]
            why = 'early' if 'early' in found else 'torn' if all(found) else ''
        why = why or self.why_missing(tie.log_time)
        if why:
            self.excuse(why, tie.uses[0].label)
        return bool(why)
