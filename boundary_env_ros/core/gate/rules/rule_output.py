# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules make of their inputs: the output, and what is left of a command on the way."""

from __future__ import annotations

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import Reason, RuleResult, Verdict
from boundary_env_ros.frozen import frozen


@frozen
class RuleOutput:
    """
    What the rules make of an action, or of silence.

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
