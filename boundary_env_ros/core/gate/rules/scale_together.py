# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Dimensions that are slowed together, as a twist that keeps its curvature.

A cart that is asked to drive 0.8 m/s and turn 0.4 rad/s follows an arc of 2 m. With one of the two
limited it would leave that arc, perhaps into what the policy drives around; slowed together they
only make it take longer.
"""

from __future__ import annotations

import math

from boundary_env_ros.core.gate.rule_output import LimitedCommand, TOGETHER
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.vectors import Vector

_UNIT = 'of what was asked for'


def keep_curvature(limits: Limits, wanted: Vector, shaped: LimitedCommand) -> None:
    """
    Scale what is declared to stay together by what was left of the dimension with least left.

    A dimension that a rule has moved away from 0, or past it, is no scaled one: then nothing is.
    """
    for dimensions in limits.curvatures:
        least = 1.0
        for i in dimensions:
            part = _part(wanted[i], shaped.values[i])
            if not 0.0 <= part <= 1.0:
                break
            least = min(least, part)
        else:
            for i in dimensions if least < 1.0 else ():
                left = shaped.values[i]
                after = wanted[i] * least + 0.0
                # The one with least left is what it is, and rounding must not add to any.
                if abs(after) < abs(left) and _part(wanted[i], left) > least:
                    _scale(shaped, i, after, least)


def _part(wanted: float, left: float) -> float:
    """Return the part of a dimension that is left; NaN where it is no part of it."""
    if wanted == 0.0:
        return 1.0 if left == 0.0 else math.nan
    return left / wanted


def slow_together(
    limits: Limits, previous: Vector, time_step: float, shaped: LimitedCommand
) -> set[int]:
    """
    Limit the rate of what is declared to stay together, as one.

    The greatest part of what is asked for is taken that is within reach in every dimension: since
    each allows an interval of parts, that is the upper end of what they have in common. If they
    have none in common, each is left to be limited for itself.

    Returns
    -------
    set
        The dimensions that are within their rate now.

    """
    done: set[int] = set()
    for dimensions in limits.curvatures:
        if any(i in limits.profiled for i in dimensions):
            continue  # each follows a profile of its own
        most = {i: limits.rate[i] * time_step for i in dimensions}
        least, part = 0.0, 1.0
        for i in dimensions:
            value, was = shaped.values[i], previous[i]
            if value == 0.0:
                least = max(least, 0.0 if abs(was) <= most[i] else math.inf)
                continue
            ends = (was - most[i]) / value, (was + most[i]) / value
            least, part = max(least, min(ends)), min(part, max(ends))
        beyond = {i for i in dimensions if abs(shaped.values[i] - previous[i]) > most[i]}
        if not beyond or least > part:
            continue
        done.update(dimensions)
        for i in dimensions:
            value = shaped.values[i]
            after = value * part + 0.0
            if after == value:
                continue
            if i in beyond:
                rate, unit = limits.rate[i], limits.unit[i]
                shaped.limit_rate(i, previous[i], after, time_step, rate, unit)
            else:
                _scale(shaped, i, after, part)
    return done


def _scale(shaped: LimitedCommand, dimension: int, after: float, part: float) -> None:
    shaped.limit(TOGETHER, dimension, after, part, 1.0, _UNIT)
