# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate knows of its own timer, of the clock, and of the latency of its policy."""

from __future__ import annotations

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.decision import ForeignPublishers
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.frozen import frozen, replace


@frozen
class Health:
    """
    What is known of the gate itself, as it runs.

    Attributes
    ----------
    contract
        The contract.
    foreign_commands
        Publishers on the command topics that are not the gate.
    foreign_publishers
        Publishers beyond those that there may be on the topics that the gate reads.
    unpublished
        The topic of the emergency stop, while it has no publisher.
    late
        Of the last requests of the lease, whether each was over the latency budget.
    ticked
        When the protecting timer ran last; None if it has not, since it was started.
    stood
        Steady nanoseconds for which ROS time had not moved on when that timer ran last.

    """

    contract: Contract
    foreign_commands: int = 0
    foreign_publishers: tuple[ForeignPublishers, ...] = ()
    unpublished: str = ''
    late: tuple[bool, ...] = ()
    ticked: ClockReading | None = None
    stood: int = 0

    def after_tick(self, now: ClockReading) -> Health:
        """Return it after the protecting timer has run."""
        # In lockstep the world stands still between two requests, however long that takes: what
        # the wall clock says would only make the record depend on it.
        if self.contract.is_lockstep:
            return self
        last, stood = self.ticked, 0
        if last is not None and now.ros.nanoseconds <= last.ros.nanoseconds:
            stood = self.stood + now.steady - last.steady
        return replace(self, ticked=now, stood=stood)

    def since_tick(self, now: ClockReading) -> float | None:
        """
        Return the steady seconds since the timer ran; None if it has not, or in lockstep.

        None have passed if it ran while what is decided on was waiting for its turn.
        """
        if self.ticked is None:
            return None
        return max(0, now.steady - self.ticked.steady) / NANOSECONDS

    def clock_error(self, now: ClockReading) -> float | None:
        """
        Return by how many seconds ROS time has moved further than steady time since that.

        Simulated time may run at any speed, but not backwards. If it has not moved on for longer
        than a sensor may be silent, it is by so much behind. None if nothing can be compared.
        """
        ticked = self.ticked
        if ticked is None or ticked.ros.clock is not now.ros.clock:
            return None
        moved = (now.ros.nanoseconds - ticked.ros.nanoseconds) / NANOSECONDS
        if self.contract.sim_time:
            # As the timer found it: the instant of a request may be put forward to its stamp.
            stood = self.stood / NANOSECONDS
            silent = stood > self.contract.safety.sensor_timeout
            return min(moved, -stood if silent else 0.0)
        return moved - (now.steady - ticked.steady) / NANOSECONDS

    def after_request(self, latency: float | None) -> Health:
        """
        Return it after a request.

        Parameters
        ----------
        latency
            Seconds from the observation that it answers until the gate had it: transport and
            inference; None if that is unknown, which counts as too long.

        """
        rule, budget = self.contract.safety.overruns, self.contract.latency_budget
        if rule is None:
            return self
        late = latency is None or latency > budget['transport'] + budget['inference']
        return replace(self, late=(*self.late, late)[-rule.of :])

    @property
    def overruns(self) -> int:
        """Return how many of the last requests were over the latency budget."""
        return sum(self.late)

    @property
    def overruns_if_in_time(self) -> int:
        """Return how many it would be after one more request that is within the budget."""
        rule = self.contract.safety.overruns
        full = rule is not None and len(self.late) == rule.of
        return self.overruns - (full and self.late[0])
