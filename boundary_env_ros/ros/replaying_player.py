# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which recorded message is due when, at any rate, paused, step by step, or from another place on.

It has no clock and no ROS: the steady time is an argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
import heapq

from boundary_env_ros.core.timebase import NANOSECONDS

#: How long after it was sent a message may have been received, and still be put in its place, ns.
AHEAD = NANOSECONDS // 2

#: How long a record begins: so long its nodes may take to latch their first words, ns.
BEGINNING = NANOSECONDS // 2

#: Between two looks at whether somebody wants to stop, in what is passed over on a seek: messages.
_LOOK = 1000


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    A message to be published.

    Attributes
    ----------
    topic, type
        Of the record.
    received
        When the recorder had it, nanoseconds.
    time
        When it is published again: that, or when it was sent.
    data
        Its bytes.

    """

    topic: str
    type: str
    received: int
    time: int
    data: bytes


def in_order(messages: Iterable[Recorded]) -> Iterator[Recorded]:
    """
    Yield messages in the order of their times, where that of the record is another.

    What is late by more than :data:`AHEAD` comes where it stands, at the time when it was
    received: it was latched before the record began, or the clock of its sender goes wrong.
    """
    waiting: list[tuple[int, int, Recorded]] = []
    newest = 0
    for number, message in enumerate(messages):
        if not 0 <= message.received - message.time <= AHEAD:
            message = replace(message, time=message.received)
        newest = max(newest, message.received)
        heapq.heappush(waiting, (message.time, number, message))
        while waiting[0][0] < newest - AHEAD:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


class Unit(Enum):
    """What one step of a paused replay is."""

    MESSAGE = 1
    TRANSITION = 2


class Timeline:
    """
    Where in the record the replay is, by the steady clock.

    Parameters
    ----------
    position
        Where it begins, nanoseconds of the record.
    rate
        Seconds of the record in one second.
    paused
        Whether it stands still at first.

    """

    def __init__(self, position: int, *, rate: float, paused: bool) -> None:
        self._position, self._rate, self._paused = position, rate, paused
        self._since: int | None = None

    @property
    def rate(self) -> float:
        """Seconds of the record in one second."""
        return self._rate

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._paused

    def position(self, steady: int) -> int:
        """Return where it is at an instant of the steady clock, both nanoseconds."""
        if self._since is None or self._paused:
            # It begins when it is looked at first.
            self._since = steady
            return self._position
        return self._position + round((steady - self._since) * self._rate)

    def until(self, position: int, steady: int) -> float:
        """Return the seconds, steady, until a position is reached; infinite while it is paused."""
        if self._paused:
            return float('inf')
        return (position - self.position(steady)) / self._rate / NANOSECONDS

    def jump(self, position: int, steady: int | None) -> None:
        """Go on from another position, now or, without a time, when it is looked at next."""
        self._position, self._since = position, steady

    def set_rate(self, rate: float, steady: int) -> None:
        """Go on at another rate."""
        self.jump(self.position(steady), steady)
        self._rate = rate

    def set_paused(self, paused: bool, steady: int) -> None:
        """Stand still, or go on."""
        self.jump(self.position(steady), steady)
        self._paused = paused


class Player:
    """
    The messages of a record in their order, and when each is due.

    Parameters
    ----------
    read
        Reads the record from its beginning, in the order of the times.
    begin, end
        First and last time of what is replayed, nanoseconds of the record.
    rate, paused, loop
        How fast; whether it waits for the first command; whether it begins again after the end.
    latched
        How many of the last messages of a topic somebody gets who comes later, for the topics
        where it is any. Where it is more than one they are true beside each other, each of a node
        of its own; those that came while the record began are there from the first moment, also
        while the replay is paused.
    transition
        Type of the messages that end a step of the unit ``TRANSITION``; empty: every one does.
    stopped
        Whether somebody wants to stop: then a long way to a place is given up.

    Attributes
    ----------
    timeline
        Where the replay is.

    """

    def __init__(
        self,
        read: Callable[[], Iterator[Recorded]],
        begin: int,
        end: int,
        *,
        rate: float = 1.0,
        paused: bool = False,
        loop: bool = False,
        latched: Mapping[str, int] | None = None,
        transition: str = '',
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._read, self._begin, self._end, self._loop = read, begin, end, loop
        self._latched, self._transition = latched or {}, transition
        self._stopped = stopped
        self.timeline = Timeline(begin, rate=rate, paused=paused)
        self._messages: Iterator[Recorded] = iter(())
        self._next: Recorded | None = None
        self._again: deque[Recorded] = deque()
        self._early: tuple[Recorded, ...] = ()
        self._go_to(begin)

    @property
    def over(self) -> bool:
        """Whether everything was played that there is."""
        return self._next is None and not self._again

    def due(self, steady: int) -> Iterable[Recorded]:
        """
        Yield what is due by now, in order; each is taken when it is yielded.

        First, after the beginning or a jump, what was latched there.
        """
        yield from self._relatched()
        now = self.timeline.position(steady)
        if self.timeline.paused:
            return
        while self._next is not None and self._next.time <= now:
            yield self._taken()
        if self._next is None and self._loop:
            self.seek(self._begin)

    def wait(self, steady: int) -> float:
        """Return the seconds, steady, until something is due; infinite while it is paused."""
        if self._again:
            return 0.0
        if self._next is None:
            return float('inf')
        return max(0.0, self.timeline.until(self._next.time, steady))

    def step(self, unit: Unit, steady: int) -> Iterable[Recorded]:
        """Pause, and yield the next message, or all up to the next transition."""
        self.timeline.set_paused(True, steady)
        yield from self._relatched()
        while self._next is not None:
            message = self._taken()
            self.timeline.jump(max(message.time, self.timeline.position(steady)), steady)
            yield message
            if unit is Unit.MESSAGE or self._transition in ('', message.type):
                return

    def seek(self, position: int) -> None:
        """Go to a place of the record; it is brought between begin and end."""
        position = min(max(position, self._begin), self._end)
        self._go_to(position)
        # The way there is read, which may take long: that is no time of the record.
        self.timeline.jump(position, None)

    def _go_to(self, position: int) -> None:
        """Read on from a place; what was latched before it is published once more."""
        kept: dict[str, deque[Recorded]] = {
            topic: deque(maxlen=depth) for topic, depth in self._latched.items()
        }
        self._early = self._first_words()
        for message in self._early:
            kept[message.topic].append(message)
        self._messages = (m for m in self._read() if m not in self._early)
        self._next = next(self._messages, None)
        passed = 0
        while self._next is not None and self._next.time < position:
            if self._next.topic in kept:
                kept[self._next.topic].append(self._next)
            passed += 1
            if passed % _LOOK == 0 and self._stopped():
                break
            self._next = next(self._messages, None)
        self._again = deque(
            sorted((m for some in kept.values() for m in some), key=lambda m: m.time)
        )
        self._cut()

    def _first_words(self) -> tuple[Recorded, ...]:
        """Return what was latched by several nodes while the record began."""
        found: list[Recorded] = []
        until: int | None = None
        for message in self._read():
            until = message.time + BEGINNING if until is None else until
            if message.time > until:
                break
            if self._latched.get(message.topic, 0) > 1:
                found.append(message)
        return tuple(found)

    def _relatched(self) -> Iterator[Recorded]:
        while self._again:
            yield self._again.popleft()

    def _taken(self) -> Recorded:
        message = self._next
        assert message is not None  # the callers have looked
        self._next = next(self._messages, None)
        self._cut()
        return message

    def _cut(self) -> None:
        if self._next is not None and self._next.time > self._end:
            self._next = None
