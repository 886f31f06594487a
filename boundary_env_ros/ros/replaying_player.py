# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which recorded message is due when, at any rate, paused, or step by step.

It has no clock and no ROS: the steady time is an argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
import heapq

from boundary_env_ros.core.timebase import NANOSECONDS

#: How long after it was sent a message may have been received, and still be put in its place, ns.
AHEAD = NANOSECONDS // 2

#: How long a record begins: so long its nodes may take to latch their first words, ns.
BEGINNING = NANOSECONDS // 2

#: Between two looks at whether somebody wants to stop, in what is passed over: messages.
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


class Player:
    """
    The messages of a record in their order, and when each is due.

    Parameters
    ----------
    read
        Reads the record from its beginning, in the order of the times.
    begin
        Time from which it is replayed, nanoseconds of the record.
    rate, paused
        Seconds of the record in one second; whether it waits for the first command.
    latched
        How many of the last messages of a topic somebody gets who comes later, for the topics
        where it is any. Where it is more than one they are true beside each other, each of a node
        of its own; those that came while the record began are there from the first moment, also
        while the replay is paused.
    transition
        Type of the messages that end a step; empty: every message does.
    stopped
        Whether somebody wants to stop: then a long way to the beginning is given up.

    """

    def __init__(
        self,
        read: Callable[[], Iterator[Recorded]],
        begin: int,
        *,
        rate: float = 1.0,
        paused: bool = False,
        latched: Mapping[str, int] | None = None,
        transition: str = '',
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._rate, self._paused, self._transition = rate, paused, transition
        self._position, self._since = begin, 0
        # It begins when it is looked at first.
        self._begun = False
        latched = latched or {}
        kept: dict[str, deque[Recorded]] = {t: deque(maxlen=n) for t, n in latched.items()}
        early = _first_words(read(), latched)
        for message in early:
            kept[message.topic].append(message)
        self._messages = (m for m in read() if m not in early)
        self._next = next(self._messages, None)
        passed = 0
        while self._next is not None and self._next.time < begin:
            if self._next.topic in kept:
                kept[self._next.topic].append(self._next)
            passed += 1
            if passed % _LOOK == 0 and stopped():
                break
            self._next = next(self._messages, None)
        self._latched = deque(sorted((m for some in kept.values() for m in some), key=_time))

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._paused

    @property
    def over(self) -> bool:
        """Whether everything was played that there is."""
        return self._next is None and not self._latched

    def position(self, steady: int) -> int:
        """Return where in the record it is at an instant of the steady clock, both ns."""
        if self._paused or not self._begun:
            self._begun, self._since = True, steady
            return self._position
        return self._position + round((steady - self._since) * self._rate)

    def set_paused(self, paused: bool, steady: int) -> None:
        """Stand still, or go on."""
        self._position, self._since = self.position(steady), steady
        self._paused = paused

    def due(self, steady: int) -> Iterable[Recorded]:
        """
        Yield what is due by now, in order; each is taken when it is yielded.

        First what was latched before it began.
        """
        yield from self._taken_latched()
        now = self.position(steady)
        while not self._paused and self._next is not None and self._next.time <= now:
            yield self._taken()

    def wait(self, steady: int) -> float:
        """Return the seconds, steady, until something is due; infinite while it is paused."""
        if self._latched:
            return 0.0
        if self._next is None or self._paused:
            return float('inf')
        left = (self._next.time - self.position(steady)) / self._rate / NANOSECONDS
        return max(0.0, left)

    def step(self, steady: int) -> Iterable[Recorded]:
        """Pause, and yield all up to the next transition."""
        self.set_paused(True, steady)
        yield from self._taken_latched()
        while self._next is not None:
            message = self._taken()
            self._position = max(message.time, self._position)
            yield message
            if self._transition in ('', message.type):
                return

    def _taken_latched(self) -> Iterator[Recorded]:
        while self._latched:
            yield self._latched.popleft()

    def _taken(self) -> Recorded:
        message = self._next
        assert message is not None  # the callers have looked
        self._next = next(self._messages, None)
        return message


def _first_words(messages: Iterable[Recorded], latched: Mapping[str, int]) -> tuple[Recorded, ...]:
    """Return what was latched by several nodes while the record began."""
    found: list[Recorded] = []
    until: int | None = None
    for message in messages:
        until = message.time + BEGINNING if until is None else until
        if message.time > until:
            break
        if latched.get(message.topic, 0) > 1:
            found.append(message)
    return tuple(found)


def _time(message: Recorded) -> int:
    return message.time
