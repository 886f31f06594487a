# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Time as integers of nanoseconds that know their clock and their host.

Nothing here asks what time it is.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NewType

from boundary_env_ros.frozen import frozen

#: Compare a time with seconds as ``nanoseconds / NANOSECONDS``: like the decimals of a contract,
#: the quotient of two integers is the nearest float. A product (``1.001 * NANOSECONDS``) is not.
NANOSECONDS = 1_000_000_000

#: The ends of what seconds of 32 bit, as messages have them, can say, ns.
FIRST_TIME, LAST_TIME = -(2**31) * NANOSECONDS, 2**31 * NANOSECONDS - 1

#: Nanoseconds that travel as ``builtin_interfaces/Time``: a message's ``header.stamp``.
RosTime = NewType('RosTime', int)


class Clock(IntEnum):
    """
    The clocks that a stamp can be read from; the values are those of ``Stamp.msg``.

    A ROS clock without simulated time *is* the system clock and is recorded as ``SYSTEM``; ``ROS``
    means time that comes from ``/clock``.
    """

    ROS = 1
    SYSTEM = 2
    STEADY = 3


@frozen
class Stamp:
    """
    A moment on one clock of one host.

    Attributes
    ----------
    clock
        Clock it was read from.
    nanoseconds
        Nanoseconds since the epoch of that clock.
    host
        Host whose clock it is; empty if unknown.

    """

    clock: Clock
    nanoseconds: int
    host: str = ''


@frozen
class ClockReading:
    """
    A moment that one of our own processes took: its ROS clock and its steady clock, read together.

    Attributes
    ----------
    ros
        Reading of the ROS clock (``ROS`` under simulated time, else ``SYSTEM``).
    steady
        Steady clock of ``ros.host``, nanoseconds.

    """

    ros: Stamp
    steady: int


def seconds_between(start: Stamp | None, end: Stamp | None) -> float | None:
    """
    Return the seconds from one stamp to another, as their clocks tell.

    None if either is unknown, or if they cannot be subtracted: of different clocks, or steady ones
    of different hosts, where the clock starts again.
    """
    if start is None or end is None or start.clock is not end.clock:
        return None
    if start.clock is Clock.STEADY and start.host != end.host:
        return None
    return (end.nanoseconds - start.nanoseconds) / NANOSECONDS


def elapsed(start: ClockReading | None, end: ClockReading | None) -> float | None:
    """
    Return the seconds between two instants on the steady clock of one host.

    None if either is unknown or they are of different hosts.
    """
    if start is None or end is None or start.ros.host != end.ros.host:
        return None
    return (end.steady - start.steady) / NANOSECONDS


def to_nanoseconds(seconds: float) -> int:
    """Return seconds as the nearest integer of nanoseconds."""
    return round(seconds * NANOSECONDS)


def age_of(captured: Stamp | None, observed: ClockReading) -> float | None:
    """
    Return the age in seconds of something captured, at an instant; None if it cannot be known.

    A negative age is returned as it is: the clock of the source is ahead, and hiding that hides
    the fault.
    """
    return seconds_between(captured, observed.ros)


def age_in_words(captured: Stamp | None, age: float) -> str:
    """Return how old something is, or what is wrong with its stamp, in words."""
    if captured is not None and captured.nanoseconds == 0:
        return 'has no stamp'
    if age < 0.0:
        return f'is stamped {-age:.3g} s in the future'
    return f'is {age:.3g} s old'
