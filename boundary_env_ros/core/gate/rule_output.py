# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules make of their inputs: why they step in, what is left of a command, the output."""

from __future__ import annotations

from boundary_env_ros.core.records.decision import Reason, RuleResult, Verdict
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: Shortest time (s) by which a change is divided to say how fast it would have been.
SHORTEST = 1e-9


@frozen(kw_only=False)
class Cause:
    """
    Why a rule steps in.

    Attributes
    ----------
    rule
        What its results are called; of a rule that has several sensors, the name of one follows
        after a dot.
    reason
        Its reason in the record.
    outcome
        What the rule asks for then.
    sentence
        What is said of it; empty: what is said of the reason.
    anomaly
        Kind of anomaly that it is in a report; empty: that of its outcome; None: it is none.

    """

    rule: str
    reason: Reason
    outcome: Verdict = Verdict.STOPPED
    sentence: str = ''
    anomaly: str | None = ''

    @property
    def text(self) -> str:
        """Return what is said of it."""
        return self.sentence or self.reason.text

    def result(
        self, of: str = '', value: float | None = None, limit: float | None = None,
        unit: str = '', dimension: int = -1, before: float | None = None,
        after: float | None = None,
    ) -> RuleResult:  # fmt: skip
        """
        Return the result of the rule.

        Parameters
        ----------
        of
            Which sensor; empty if there is one alone.
        value, limit, unit
            The number that made it step in, its limit, and the unit of both.
        dimension, before, after
            Which dimension of the command it is about, and what that was and is.

        """
        return RuleResult(
            rule=f'{self.rule}.{of}' if of else self.rule, outcome=self.outcome,
            reason=self.reason, dimension=dimension, before=before, after=after, value=value,
            limit=limit, unit=unit,
        )  # fmt: skip


#: Why a command is none: it is out of bounds that refuse, or no rotation.
BEYOND = Cause('bounds', Reason.OUT_OF_BOUNDS, Verdict.REJECTED)
NO_ROTATION = Cause('rotation', Reason.NOT_A_ROTATION, Verdict.REJECTED)
#: Why the limits on motion take something from a command, in the order in which they are asked.
BOUNDS = Cause('bounds', Reason.OUT_OF_BOUNDS, Verdict.LIMITED)
ROTATION = Cause('rotation', Reason.NOT_A_ROTATION, Verdict.LIMITED)
TOGETHER = Cause('scale_together', Reason.SCALED_TOGETHER, Verdict.LIMITED)
RATE = Cause('rate', Reason.RATE_LIMIT, Verdict.LIMITED)
ACCELERATION = Cause('acceleration', Reason.ACCELERATION_LIMIT, Verdict.LIMITED)
JERK = Cause('acceleration', Reason.JERK_LIMIT, Verdict.LIMITED)
ON_MOTION = BOUNDS, ROTATION, TOGETHER, RATE, ACCELERATION, JERK


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
        cause: Cause,
        dimension: int,
        after: float,
        value: float,
        limit: float,
        unit: str,
        of: str = '',
    ) -> None:
        """
        Take something from one dimension.

        Parameters
        ----------
        cause
            Why.
        dimension
            From which dimension.
        after
            What is left of it.
        value, limit, unit, of
            As of :meth:`Cause.result`.

        """
        before, self.values[dimension] = self.values[dimension], after
        if self.explains:
            self.results.append(cause.result(of, value, limit, unit, dimension, before, after))

    def limit_rate(
        self, dimension: int, was: float, after: float, step: float, rate: float, unit: str
    ) -> None:
        """
        Take from one dimension what changes too fast.

        Parameters
        ----------
        dimension
            From which dimension.
        was, after, step
            The command before, what is left of this one, and the seconds between the two.
        rate, unit
            How fast it may change, a second, and the unit of the dimension.

        """
        requested = abs(self.values[dimension] - was) / max(step, SHORTEST)
        self.limit(RATE, dimension, after, requested, rate, f'{unit}/s')
