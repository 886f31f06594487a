# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The time line of a bag: what its log times say of when something was there."""

from __future__ import annotations

from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp
from boundary_env_ros.storage.log_order import WINDOW

#: No log time of a running robot is so far from its stamps, unless they are of two clocks.
_A_DAY = 86_400 * NANOSECONDS

#: By so much a stamp may be ahead of the last ``/clock``, which comes after the sensors of a step.
#: More than that is a wrong stamp.
_AHEAD = NANOSECONDS

#: By so much a ``/clock`` goes back if another publisher disturbs it; by more it was set back.
_DISTURBED = NANOSECONDS // 10

#: So near to where it began a clock is after a reset.
_BEGINNING = NANOSECONDS

#: No ``/clock`` leaps so far, or runs so many times faster than the log times.
_LEAP, _FASTER = 10 * NANOSECONDS, 10

#: Stamps and log times that are nowhere nearer are of clocks that differ.
APART = 10 * NANOSECONDS

#: Host of the log times where it is not named: durations to the stamps of a sensor then
#: have an unknown uncertainty, as between two hosts whose offset was never measured.
RECORDER = 'recorder of the bag'


class TimeLine:
    """
    The contract's ROS clock, as far as a bag knows it.

    Without simulated time that is the recorder's system clock, by the log times. With it, the last
    ``/clock``; or the log times again, if there is none or they are of the same clock. Nothing is
    there before its simulated stamp.

    Parameters
    ----------
    sim_time
        Whether the contract runs on simulated time.
    has_clock
        Whether the bag has a ``/clock``.
    host
        Host of the recorder and of the sensors; empty: unknown.
    robot_host
        Host of the sensors by the contract; empty: as the recorder, if that is known.

    Attributes
    ----------
    now
        Where it is, nanoseconds; None before the first message that shows it. It only goes back
        where the clock was set back, which begins another time line.
    by_clock
        Whether `/clock` says where it is, and the log times do not.
    jumps
        From where to where the clock was set, nanoseconds, where that is no reset of a simulation.
    apart
        Least difference of a stamp from where it was then, nanoseconds; None without any.

    """

    def __init__(
        self, *, sim_time: bool, has_clock: bool, host: str = '', robot_host: str = ''
    ) -> None:
        self._clock = Clock.ROS if sim_time else Clock.SYSTEM
        self.by_clock = sim_time and has_clock
        self._host = host or RECORDER
        self._robot_host = robot_host or host
        self.now: int | None = None
        self._first: int | None = None
        self._last: int | None = None
        self._logged = 0
        self.jumps: list[tuple[int, int]] = []
        self.apart: int | None = None

    def logged(self, log_time: int, stamp: int | None = None) -> int | None:
        """Take log time and stamp of the next message; return where the time line is."""
        if not self.by_clock:
            self._go_to(log_time, WINDOW, _A_DAY)
        if self.now is None or self._last is None or stamp is None:
            return self.now
        if self._clock is Clock.ROS and stamp - self._last <= _AHEAD:
            self.now = max(self.now, stamp)
        return self.now

    def ticked(self, clock: int, log_time: int) -> None:
        """Take a ``/clock``, nanoseconds."""
        if not self.by_clock:
            return
        if self.now is None and abs(clock - log_time) < _A_DAY:
            # Recorded on simulated time: the log times say it finer than `/clock` does.
            self.by_clock = False
        else:
            passed = max(0, log_time - self._logged)
            self._go_to(clock, _DISTURBED, max(_LEAP, _FASTER * passed))
        self._logged = log_time

    def _go_to(self, time: int, back: int, leap: int) -> None:
        """Go to a time, given how far back and how far on the clock may go by itself."""
        last, self._first = self._last, time if self._first is None else self._first
        if last is not None and not last - back <= time <= last + leap:
            if self._clock is not Clock.ROS or time > self._first + _BEGINNING:
                self.jumps.append((last, time))
            if time < last:
                self.now = self._last = None
        self._last = time if self._last is None else max(self._last, time)
        self.now = self._last if self.now is None else max(self.now, self._last)

    def instant(self, nanoseconds: int) -> ClockReading:
        """Return a moment of the time line; the steady reading is the same, for want of any."""
        stamp = Stamp(clock=self._clock, nanoseconds=nanoseconds, host=self._host)
        return ClockReading(ros=stamp, steady=max(1, nanoseconds))

    def captured(self, stamp: int | None) -> Stamp | None:
        """Return what a header says, nanoseconds; None if it says nothing."""
        if stamp is None:
            return None
        if self.now is not None:
            apart = abs(stamp - self.now)
            self.apart = apart if self.apart is None else min(self.apart, apart)
        host = self._host if self._clock is Clock.ROS else self._robot_host
        return Stamp(clock=self._clock, nanoseconds=stamp, host=host)

    def middleware(self, nanoseconds: int | None) -> Stamp | None:
        """Return a time of the bag as a stamp of the middleware; None if it is simulated time."""
        if nanoseconds is None or (self._clock is Clock.ROS and not self.by_clock):
            return None
        return Stamp(clock=Clock.SYSTEM, nanoseconds=nanoseconds, host=self._host)
