# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a gate remembers: one frozen value, which nothing but an event turns into the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.command_history import CommandHistory
from boundary_env_ros.core.gate.driver_probe import DriverProbe
from boundary_env_ros.core.gate.health import Health
from boundary_env_ros.core.gate.lease import LeaseState
from boundary_env_ros.core.gate.rules.admission import Lease
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.sensor_readings import SensorReadings
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    foreign_count,
    GateState,
    GateStatus,
    Reason,
    RuntimeLimits,
)
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen, replace


@frozen
class ReducerState:
    """
    All that a gate remembers.

    Attributes
    ----------
    lease_state, readings, commands, health
        Who holds the lease, what its sensors measured, what it sent, and its own condition.
    limits, runtime_limits
        The limits in force, and what was made stricter in them than the contract is.
    probe
        The measurement of the timeouts of the drivers; None before the first.
    status_received
        Steady time of the last heartbeat of the environment, ns.
    closed
        Steady time from which the last step is closed, ns.
    last_request
        Steady time from which the policy is silent, ns.
    pending
        A request that waits for its sensors, and when it came (lockstep).
    chunk
        What is left of a request that covers several steps.
    held_for
        Episode and step in which the robot was held for another agent last.
    sequence
        Number of the last decision.
    stopping, reasons
        The robot is stopped, and why.
    documents
        When each group was sent a document last: episode, step, and steady time, ns.

    """

    lease_state: LeaseState
    readings: SensorReadings
    commands: CommandHistory
    health: Health
    limits: Limits
    runtime_limits: RuntimeLimits = RuntimeLimits()
    probe: DriverProbe | None = None
    status_received: int | None = None
    closed: int = 0
    last_request: int | None = None
    pending: tuple[ActionRequest, ClockReading] | None = None
    chunk: Chunk | None = None
    held_for: tuple[str, int] = ('', 0)
    sequence: int = 0
    stopping: bool = False
    reasons: tuple[Reason, ...] = ()
    documents: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, contract: Contract, *, digest: str, agent: str, topics: Mapping[str, str]
    ) -> ReducerState:
        """
        Return that of a gate which is new.

        Parameters
        ----------
        contract, digest, agent
            The contract, its digest, and whose gate it is.
        topics
            Resolved topic of each input, by the name of the input.

        """
        limits = Limits(contract)
        return cls(
            lease_state=LeaseState(digest=digest, agent=agent),
            readings=SensorReadings(contract=contract, topics=topics, needs=limits.needs),
            commands=CommandHistory.of(contract),
            health=Health(contract=contract),
            limits=limits,
        )

    @property
    def moving(self) -> bool:
        """Whether the last command is another than the safe one, or a position runs on."""
        return self.commands.moving(self.limits)

    @property
    def answers_foreign(self) -> bool:
        """Whether the last command is a stop because of another publisher."""
        sent = self.commands.command is not None
        return sent and self.stopping and Reason.FOREIGN_PUBLISHER in self.reasons

    @property
    def probing(self) -> bool:
        """Whether the drivers are being probed."""
        return self.probe is not None and self.probe.running

    @property
    def probe_failure(self) -> str:
        """Why the last probe failed; empty if it did not."""
        return '' if self.probe is None else self.probe.why

    @property
    def bounds(self) -> tuple[Vector, Vector]:
        """The least and the greatest command, as strict as they are now."""
        return self.limits.low, self.limits.high

    def without_command(self) -> ReducerState:
        """Return it without what was asked for, and that it was a stop."""
        return replace(
            self,
            commands=self.commands.forgotten(),
            lease_state=replace(self.lease_state, braking=None),
            stopping=False,
            reasons=(),
        )

    def without_lease(self) -> ReducerState:
        """Return it without the lease; what still moves under it is braked to the end first."""
        lease_state = self.lease_state
        if self.moving and not self.limits.lockstep:
            lease_state = replace(lease_state, lease=None, braking=lease_state.id)
            return replace(self, lease_state=lease_state)
        # At rest; and in lockstep the world stands still.
        state = self.without_command()
        return replace(state, lease_state=replace(state.lease_state, lease=None))

    def under_lease(self, lease: Lease, now: ClockReading) -> ReducerState:
        """Return it under a new lease; what still moves under the last one is braked first."""
        state = self.without_lease()
        return replace(
            state,
            lease_state=replace(state.lease_state, lease=lease),
            health=replace(state.health, late=()),
            last_request=now.steady,
            pending=None,
            chunk=None,
        )

    @property
    def name(self) -> GateState:
        """What the gate is about."""
        lease_state = self.lease_state
        if lease_state.emergency:
            return GateState.EMERGENCY_STOPPED
        if self.probing:
            return GateState.PROBING
        if lease_state.lease is None:
            return GateState.DISARMED
        if lease_state.over or self.stopping or lease_state.braking is not None:
            return GateState.STOPPING
        return GateState.RUNNING if lease_state.running else GateState.ARMED

    def status(self, now: ClockReading) -> GateStatus:
        """Return what is to be latched for the others."""
        probe, lease = self.probe, self.lease_state.lease
        return GateStatus(
            digest=self.lease_state.digest,
            agent=self.lease_state.agent,
            state=self.name,
            lease_id=self.lease_state.lease_id,
            episode_id='' if lease is None else lease.episode_id,
            holder='' if lease is None else lease.holder,
            teleoperated=self.readings.switch_held(now),
            sequence=self.sequence,
            command=self.commands.command or (),
            reasons=self.reasons if self.stopping else (),
            foreign_publishers=foreign_count(
                self.health.foreign_commands, self.health.foreign_publishers
            ),
            driver_timeouts=() if probe is None else probe.timeouts,
            runtime_limits=self.runtime_limits,
            stamp=now,
        )


@frozen(kw_only=False)
class Chunk:
    """A request, and which of its actions is next; ``due`` is the steady time of its turn."""

    request: ActionRequest
    received: ClockReading
    index: int
    due: int

    @property
    def step(self) -> int:
        """The step that the next action is meant for."""
        return self.request.id.step + self.index

    def next(self, period: float) -> Chunk | None:
        """Return what is left after the next action; None if that was the last."""
        if self.index + 1 >= self.request.horizon:
            return None
        return replace(self, index=self.index + 1, due=self.due + round(period * NANOSECONDS))
