# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How fast the sequence of emitted commands may change: rate, acceleration, jerk."""

from __future__ import annotations

from boundary_env_ros.core.decision import Reason
from boundary_env_ros.core.gate_rules.braking import towards
from boundary_env_ros.core.gate_rules.limits import Limits
from boundary_env_ros.core.gate_rules.shaped import Shaped
from boundary_env_ros.core.gate_rules.situation import Situation
from boundary_env_ros.core.sources import Vector


def follow(limits: Limits, situation: Situation, shaped: Shaped) -> tuple[Vector, Vector]:
    """
    Limit how far the command may go from the one before it.

    Returns
    -------
    tuple
        Where the commands are going with it: rate (unit/s) and acceleration (unit/s^2).

    """
    previous, step = situation.previous, situation.time_step
    if previous is None:
        return (), ()
    for i, was in enumerate(previous):
        after = towards(was, shaped.values[i], limits.rate[i] * step)
        if after != shaped.values[i]:
            shaped.limit(
                'rate',
                Reason.RATE_LIMIT,
                i,
                after,
                value=abs(shaped.values[i] - was) / max(step, 1e-9),
                limit=limits.rate[i],
                unit=f'{limits.unit[i]}/s',
            )
    return rate_between(previous, tuple(shaped.values), step), ()


def rest(limits: Limits, situation: Situation) -> Vector:
    """Return the command at which the sequence comes to rest if nothing more is asked for."""
    return situation.previous or ()


def rate_between(previous: Vector, command: Vector, time_step: float) -> Vector:
    """Return the mean rate of change from one command to the next, unit/s."""
    if not time_step:
        return (0.0,) * len(command)
    return tuple((value - was) / time_step for value, was in zip(command, previous, strict=True))
