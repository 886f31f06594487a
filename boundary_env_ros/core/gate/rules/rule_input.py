# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a ruling depends on besides contract and action, and the ruling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import (
    GateDecision,
    Measurement,
    Reason,
    RuleResult,
    SentCommand,
    Trigger,
    Verdict,
)
from boundary_env_ros.frozen import frozen


@frozen
class RuleInput:
    """
    Everything but the action that a ruling depends on; recorded with every decision.

    Attributes
    ----------
    trigger
        What made the gate decide.
    time_step
        Seconds for the rate limits.
    previous
        Command before this one; None if neither a command nor a measured state is known.
    seeded
        It was taken from the measured state.
    previous_rate, previous_acceleration
        Rate of change of the emitted commands up to there, unit/s, and of that, unit/s^2; empty
        for none.
    recent_commands
        What was sent and may still be under way, the oldest first, for the rules about places.
        Empty: ``previous`` is all that matters.
    emergency_stop, over, deactivated
        The emergency stop is latched; the lease has ended; the gate is being deactivated.
    armed
        There is a lease.
    stopped
        The robot was stopped, and nothing that may be published was asked for since.
    others_turn
        In lockstep, the step is the turn of another agent: the robot is held, under all rules.
    since_request, since_environment
        Steady seconds since the last acceptable request and the last heartbeat of the
        environment.
    since_tick
        Steady seconds between the last two runs of the protecting timer; None before there were
        two.
    clock_error
        Seconds by which ROS time has moved further than steady time between the two; of simulated
        time, how far it is behind.
    foreign_commands
        Publishers on the command topics that are not the gate.
    crowded
        How many publishers there are beyond one, by the topic that the gate goes by.
    overruns
        How many of the last requests were over the latency budget.
    measurements
        Sensor values, by name, as far as the rules need them.

    """

    trigger: Trigger
    time_step: float
    previous: Vector | None
    seeded: bool = False
    previous_rate: Vector = ()
    previous_acceleration: Vector = ()
    recent_commands: tuple[SentCommand, ...] = ()
    emergency_stop: bool = False
    over: bool = False
    deactivated: bool = False
    armed: bool = True
    stopped: bool = False
    others_turn: bool = False
    since_request: float | None = None
    since_environment: float | None = None
    since_tick: float | None = None
    clock_error: float | None = None
    foreign_commands: int = 0
    crowded: Mapping[str, int] = field(default_factory=dict)
    overruns: int = 0
    measurements: Mapping[str, Measurement]

    @property
    def foreign(self) -> int:
        """Return how many publishers there are that there must not be."""
        return self.foreign_commands + sum(self.crowded.values())


#: What a decision says of its situation under the same names.
RECORDED = tuple(
    each.name
    for each in fields(RuleInput)
    if each.name in {known.name for known in fields(GateDecision)} - {'measurements'}
)


@frozen
class RuleOutput:
    """
    What the rules make of an action in a situation.

    Attributes
    ----------
    verdict
        The strictest outcome.
    admitted
        Action after the rules; empty for STOPPED and REJECTED.
    wanted
        The command that was asked for, before any rule; empty if none was.
    command
        What is to be published; empty for REJECTED.
    rate, acceleration
        Where the emitted commands are going with it, unit/s and unit/s^2; empty without a command.
    results
        Every rule that touched something, in order.

    """

    verdict: Verdict
    admitted: Vector = ()
    wanted: Vector = ()
    command: Vector = ()
    rate: Vector = ()
    acceleration: Vector = ()
    results: tuple[RuleResult, ...] = ()


class LimitedCommand:
    """
    What is left of a command.

    Parameters
    ----------
    wanted
        The command that was asked for.
    explains
        Whether to tell what was taken: not where only what would be left matters.

    Attributes
    ----------
    values
        What is left of it.
    results
        What was taken, in order.

    """

    __slots__ = ('explains', 'results', 'values')

    def __init__(self, wanted: Vector, *, explains: bool = True) -> None:
        self.values, self.explains = list(wanted), explains
        self.results: list[RuleResult] = []

    def limit(
        self,
        rule: str,
        reason: Reason,
        dimension: int,
        after: float,
        value: float,
        limit: float,
        unit: str,
    ) -> None:
        """
        Take something from one dimension.

        Parameters
        ----------
        rule, reason
            Who takes it, and why.
        dimension
            From which dimension.
        after
            What is left of it.
        value, limit, unit
            The number that triggered the rule, what it was compared with, and the unit of both.

        """
        before, self.values[dimension] = self.values[dimension], after
        if self.explains:
            self.results.append(
                RuleResult(
                    rule=rule,
                    outcome=Verdict.LIMITED,
                    reason=reason,
                    dimension=dimension,
                    before=before,
                    after=after,
                    value=value,
                    limit=limit,
                    unit=unit,
                )
            )


def stop(
    rule: str,
    reason: Reason,
    value: float | None = None,
    limit: float | None = None,
    unit: str = '',
) -> RuleResult:
    """Return what a rule says that stops the robot: the number that made it, and its limit."""
    return RuleResult(
        rule=rule, outcome=Verdict.STOPPED, reason=reason, value=value, limit=limit, unit=unit
    )
