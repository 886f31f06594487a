# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate knows of its own timer, of the clock, and of the latency of its policy."""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.timebase import Instant, NANOSECONDS


class Health:
    """
    Watches the gate itself, as it runs.

    Parameters
    ----------
    contract
        The contract.

    Attributes
    ----------
    competing
        Publishers on the command topics that are not the gate.
    crowded
        How many publishers there are beyond those that there may be, by the topic that the gate
        goes by.
    unpublished
        The topic of the emergency stop, while nobody publishes there.

    """

    def __init__(self, contract: Contract) -> None:
        self.competing = 0
        self.crowded: Mapping[str, int] = {}
        self.unpublished = ''
        self._sim_time = contract.sim_time
        # There the world stands still between two requests, however long that takes: what the
        # wall clock says would only make the record depend on it.
        self._lockstep = contract.pacing is Pacing.LOCKSTEP
        rule, budget = contract.safety.overruns, contract.latency_budget
        self._of = 0 if rule is None else rule.of
        self._late: tuple[bool, ...] = ()
        self._budget = (
            None if rule is None else sum(budget[stage] for stage in ('transport', 'inference'))
        )
        self._ticked: Instant | None = None

    def tick(self, now: Instant) -> None:
        """Take note that the protecting timer has run."""
        if not self._lockstep:
            self._ticked = now

    def forget(self) -> None:
        """Take note that the timer starts anew."""
        self._ticked = None

    def since_tick(self, now: Instant) -> float | None:
        """Return the steady seconds since the timer ran; None if it has not, or in lockstep."""
        if self._ticked is None:
            return None
        return (now.steady - self._ticked.steady) / NANOSECONDS

    def clock_error(self, now: Instant) -> float | None:
        """
        Return by how many seconds ROS time has moved further than steady time since that.

        Simulated time may run at any speed, but not backwards. None if nothing can be compared.
        """
        ticked = self._ticked
        if ticked is None or ticked.ros.clock is not now.ros.clock:
            return None
        moved = (now.ros.nanoseconds - ticked.ros.nanoseconds) / NANOSECONDS
        if self._sim_time:
            return min(moved, 0.0)
        return moved - (now.steady - ticked.steady) / NANOSECONDS

    def asked(self, latency: float | None) -> None:
        """
        Take note of a request.

        Parameters
        ----------
        latency
            Seconds from the observation that it answers until the gate had it: transport and
            inference; None if that is unknown, which counts as too long.

        """
        if self._budget is not None:
            late = latency is None or latency > self._budget
            self._late = (*self._late, late)[-self._of :]

    @property
    def overruns(self) -> int:
        """Return how many of the last requests were over the latency budget."""
        return sum(self._late)

    @property
    def overruns_if_in_time(self) -> int:
        """Return how many it would be after one more request that is within the budget."""
        full = self._budget is not None and len(self._late) == self._of
        return self.overruns - (full and self._late[0])

    def begin(self) -> None:
        """Forget the latencies of the lease before."""
        self._late = ()
