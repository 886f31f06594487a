# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How far a robot may still go: by what was sent before, and by what is sent now.

A measured place is that of some time ago, and a command acts some time from now. In between the
robot does what was commanded before, which the measurement does not show yet. To leave it out is
not safe: a robot that is slowed down by a measured distance alone runs beyond it [1]_.

The robot is taken to act on a command at any time from when it is sent to ``delay`` later, to be
as fast then as the command says at once, and to slow down with ``braking`` at least. What it may
do is the most of all that.

.. [1] v = d / D, seen L too late, is d' = -d(t - L) / D. It overshoots if L / D > 1 / e.
   I. Gyori, G. Ladas: Oscillation Theory of Delay Differential Equations, Oxford, 1991, theorem
   2.2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
import math

from boundary_env_ros.core.records.decision import SentCommand
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: How many commands of one instant are kept: the first, the last, and what was between them.
_SAME_INSTANT = 4


@frozen(kw_only=False)
class Recent:
    """
    The commands that a robot may still be acting on.

    Attributes
    ----------
    seconds
        How long one matters after the next was sent.
    sent
        When each went out, ns of the clock that moves the robot; the oldest first.

    """

    seconds: float
    sent: tuple[tuple[int, Vector], ...] = ()

    def after(self, command: Vector, at: int) -> Recent:
        """Return them after a command that goes out at a time, ns."""
        sent = self.sent
        if not sent or sent[-1][1] != command:
            sent = (*sent, (at, command))
        if len(sent) > _SAME_INSTANT and sent[-_SAME_INSTANT - 1][0] == at:
            # In lockstep the world stands still however often it is asked for a step. Of what
            # begins and ends at one instant only the extremes of each dimension matter.
            between = [each for _, each in sent[-_SAME_INSTANT:-1]]
            extremes = ((at, tuple(map(most, *between))) for most in (min, max))
            sent = (*sent[:-_SAME_INSTANT], *extremes, sent[-1])
        oldest = at - round(self.seconds * NANOSECONDS)
        expired = 0
        while len(sent) > expired + 1 and sent[expired + 1][0] <= oldest:
            expired += 1
        return Recent(self.seconds, sent[expired:])

    def forgotten(self) -> Recent:
        """Return none of them: the robot does what its driver says."""
        return Recent(self.seconds)

    def recalled(self, sent: Sequence[SentCommand], now: int) -> Recent:
        """Return them as a decision says that they were at a time, ns."""
        then = ((now - round(one.age * NANOSECONDS), one.command) for one in sent)
        return Recent(self.seconds, tuple(then))

    def at(self, now: int) -> tuple[SentCommand, ...]:
        """Return what was sent, and how long before a time (ns), the oldest first."""
        return tuple(
            SentCommand(age=max(0, now - at) / NANOSECONDS, command=command)
            for at, command in self.sent
        )


@frozen
class PendingMotion:
    """
    What a dimension may still do in one direction, whatever is sent from now on.

    Attributes
    ----------
    distance
        How far it may come from when its place was measured to ``delay`` from now, in the unit of
        the place.
    speed
        How fast it may be then, unit/s.
    last
        The last command, if it is in this direction, else 0.0.
    delay, braking
        As above.

    """

    distance: float
    speed: float
    last: float
    delay: float
    braking: float

    def needs(self, command: float, hold: float) -> float:
        """
        Return how far it may come with one more command, until it rests.

        Parameters
        ----------
        command
            Speed in this direction.
        hold
            Seconds that the command may be in force before the brakes are asked for.

        """
        command = max(command, 0.0)
        distance = self.distance + self.delay * max(0.0, command - self.last)
        if command >= self.speed:
            return distance + command * hold + 0.5 * command**2 / self.braking
        slowing = (self.speed - command) / self.braking
        return distance + 0.5 * self.speed**2 / self.braking + command * max(0.0, hold - slowing)


@lru_cache(maxsize=64)
def pending_motion(
    sent: tuple[tuple[float, float], ...], *, age: float, delay: float, braking: float
) -> PendingMotion:
    """
    Return what a dimension may still do.

    Parameters
    ----------
    sent
        Seconds since a command was sent, and its speed in the direction in question, the oldest
        first; what was sent before that is as the oldest.
    age
        Seconds since the place was measured.
    delay
        Seconds within which a command is acted on.
    braking
        What the robot slows down with at least, unit/s^2.

    """
    # In force from, in force until at the latest, and speed; the last holds until the next acts.
    spans = []
    for index, (since, speed) in enumerate(sent):
        if speed > 0.0:
            until = delay - (sent[index + 1][0] if index + 1 < len(sent) else 0.0)
            if speed > braking * (-age - until):
                spans.append((-since if index else -math.inf, until, speed))
    times = {-age, delay}
    times.update(t for begin, end, _ in spans for t in (begin, end) if -age < t < delay)
    instants = sorted(times)
    distance = 0.0
    for begin, end in pairwise(instants):
        commanded = max((v for b, e, v in spans if b <= begin and end <= e), default=0.0)
        distance += _distance(_left(spans, begin, braking), commanded, braking, end - begin)
    last = max(sent[-1][1], 0.0) if sent else 0.0
    return PendingMotion(
        distance=distance,
        speed=max(last, _left(spans, delay, braking)),
        last=last,
        delay=delay,
        braking=braking,
    )


def _left(spans: Sequence[tuple[float, float, float]], time: float, braking: float) -> float:
    """Return what may be left at a time of the speeds that are in force no more."""
    return max((v - braking * (time - end) for _, end, v in spans if end <= time), default=0.0)


def _distance(speed: float, least: float, braking: float, duration: float) -> float:
    """Return the way of a speed that is braked, but not below another."""
    if speed <= least:
        return least * duration
    slowing = min((speed - least) / braking, duration)
    return speed * slowing - 0.5 * braking * slowing**2 + least * (duration - slowing)
