# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A command on its way through the rules that may take from it, and what they took."""

from __future__ import annotations

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import Reason, RuleResult, Verdict


class LimitedCommand:
    """
    What is left of a command.

    Parameters
    ----------
    wanted
        The command that was asked for.

    Attributes
    ----------
    values
        What is left of it.
    results
        What was taken, in order.

    """

    __slots__ = ('results', 'values')

    def __init__(self, wanted: Vector) -> None:
        self.values = list(wanted)
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
        self.results.append(
            RuleResult(
                rule=rule,
                outcome=Verdict.LIMITED,
                reason=reason,
                dimension=dimension,
                before=self.values[dimension],
                after=after,
                value=value,
                limit=limit,
                unit=unit,
            )
        )
        self.values[dimension] = after
