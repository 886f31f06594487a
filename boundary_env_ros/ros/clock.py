# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading the clocks of a node: the one place where the package asks what time it is."""

from __future__ import annotations

import socket
import time

from rclpy.clock import Clock as RosClock

from boundary_env_ros.core.timebase import Clock, ClockReading, LAST_TIME, Stamp
from boundary_env_ros.frozen import replace

HOST = socket.gethostname()

_READINGS = 3
# Longer than two readings take on any machine; shorter than what anybody here measures, ns.
_APART = 500_000


class NodeClock:
    """
    The clocks of one node.

    Parameters
    ----------
    clock
        ROS clock of the node.
    sim_time
        Whether it follows ``/clock``.

    """

    def __init__(self, clock: RosClock, *, sim_time: bool) -> None:
        self._kind = Clock.ROS if sim_time else Clock.SYSTEM

        def simulated() -> int:
            # What is on /clock may be later than any message can say.
            return min(int(clock.handle.get_now().nanoseconds), LAST_TIME)

        # A reading by way of rclpy takes five times as long.
        self._nanoseconds = simulated if sim_time else time.time_ns

    def now(self) -> ClockReading:
        """Read both clocks."""
        nanoseconds, steady = self._read()
        return ClockReading(
            ros=Stamp(clock=self._kind, nanoseconds=nanoseconds, host=HOST), steady=steady
        )

    def _read(self) -> tuple[int, int]:
        """
        Return ROS and steady time of one instant, ns.

        If it loses the processor between the two readings, it reads again: the pair tells all who
        compare clocks how far they are apart.
        """
        for _ in range(_READINGS):
            before = time.monotonic_ns()
            nanoseconds = self._nanoseconds()
            steady = time.monotonic_ns()
            if steady - before < _APART:
                break
        return nanoseconds, steady

    def captured(self, nanoseconds: int | None, host: str = '') -> Stamp | None:
        """Return the stamp of a sensor's header; None if it has none."""
        if nanoseconds is None:
            return None
        return Stamp(clock=self._kind, nanoseconds=nanoseconds, host=host or HOST)

    @staticmethod
    def system(nanoseconds: int | None) -> Stamp | None:
        """Return a stamp of the middleware, which is of the system clock; None for its 0."""
        if not nanoseconds:
            return None
        return Stamp(clock=Clock.SYSTEM, nanoseconds=nanoseconds, host=HOST)


def steady_of(arrived: int) -> int:
    """Return when a message arrived, ns of the steady clock; as the middleware says, 0: now."""
    waited = max(0, time.time_ns() - arrived) if arrived else 0
    return time.monotonic_ns() - waited


def not_before(instant: ClockReading, cause: ClockReading) -> ClockReading:
    """
    Return the instant, but under simulated time not before its cause.

    There a message may overtake the ``/clock`` that it was sent under.
    """
    if instant.ros.clock is Clock.ROS and instant.ros.nanoseconds < cause.ros.nanoseconds:
        return replace(instant, ros=replace(instant.ros, nanoseconds=cause.ros.nanoseconds))
    return instant
