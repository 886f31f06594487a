# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What may be published of what was asked for? LIMITED if that is less."""

from __future__ import annotations

from boundary_env_ros.core.gate.commands import Results
from boundary_env_ros.core.gate.rule_output import BOUNDS, LimitedCommand, RuleOutput
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.motion import follow
from boundary_env_ros.core.gate.rules.rotation import normalise
from boundary_env_ros.core.gate.rules.scale_together import keep_curvature
from boundary_env_ros.core.gate.rules.stopping import LIMITING
from boundary_env_ros.core.records.decision import RuleInput, Verdict
from boundary_env_ros.core.vectors import Vector


def shape(limits: Limits, inputs: RuleInput, wanted: Vector, because: Results = ()) -> RuleOutput:
    """Return as much of a wanted command as may be published, and why after what else is told."""
    shaped = LimitedCommand(wanted)
    _bounds(limits, inputs.previous_command, shaped)
    normalise(limits, shaped)
    for limit in LIMITING:
        limit(limits, inputs, shaped)
    keep_curvature(limits, wanted, shaped)
    rate, acceleration = follow(limits, inputs, shaped)
    results = (*because, *shaped.results)
    return RuleOutput(
        verdict=max((r.outcome for r in results), default=Verdict.ADMITTED),
        wanted=wanted,
        command=tuple(shaped.values),
        rate=rate,
        acceleration=acceleration,
        results=results,
    )


def _bounds(limits: Limits, previous: Vector | None, shaped: LimitedCommand) -> None:
    for i in limits.bounded:
        value = shaped.values[i]
        low, high = limits.room(i, previous)
        bound = min(max(value, low), high)
        if bound != value:
            shaped.limit(BOUNDS, i, bound, value, bound, limits.unit[i])
