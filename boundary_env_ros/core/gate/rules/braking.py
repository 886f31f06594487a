# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The stop profile: the way to the safe command, at a rate of its own."""

from __future__ import annotations

import math

from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import RuleInput
from boundary_env_ros.core.vectors import Vector


def brake(limits: Limits, inputs: RuleInput) -> Vector:
    """
    Return the next command of the stop profile: towards the safe one at the declared rate.

    A position :func:`runs on <run_on>`; while it is not known, no command is right, and it is
    empty. Limits on acceleration and jerk do not hold for it. Where no command is in force to
    brake from, a velocity or an effort is the safe one at once: a stop sends none that was not
    commanded, whatever the robot says that it does.
    """
    if not inputs.previous_command:
        return () if any(map(math.isnan, limits.safe)) else limits.safe
    command = [
        run_on(limits, inputs, i)[0]
        if math.isnan(safe)
        else towards(previous, safe, stop * inputs.time_step)
        for i, (previous, safe, stop) in enumerate(
            zip(inputs.previous_command, limits.safe, limits.stop, strict=True)
        )
    ]
    if inputs.seeded:
        for i in limits.speeds:
            command[i] = limits.safe[i]
    return tuple(command)


def run_on(limits: Limits, inputs: RuleInput, dimension: int) -> tuple[float, float]:
    """
    Return where a stop sends a position next, and the velocity (unit/s) that it has there.

    Its velocity v falls by ``max_deceleration`` a to 0, so that it comes to rest v^2 / 2a further
    on and never turns back. Without that limit, and where the last command is so old that the
    driver has come to rest, it stays. The bounds of the contract end its way at once.
    """
    assert inputs.previous_command  # the caller knows where it is
    was, step = inputs.previous_command[dimension], inputs.time_step
    velocity = inputs.previous_rate[dimension] if inputs.previous_rate else 0.0
    deceleration = limits.deceleration[dimension]
    # The gate sends a command at least once a period as long as a profile moves; see its check.
    rests = not limits.lockstep and step >= limits.period
    if rests or deceleration == math.inf:
        return was, 0.0
    left = math.copysign(max(0.0, abs(velocity) - deceleration * step), velocity)
    seconds = min(step, abs(velocity) / deceleration)
    after = was + 0.5 * (velocity + left) * seconds
    low, high = limits.declared[dimension]
    inside = min(max(after, min(low, was)), max(high, was))
    return inside, left + 0.0 if inside == after else 0.0


def safe_from(safe: Vector, where: Vector) -> Vector:
    """Return the safe command; a dimension that is safe where it is stays ``where`` it is."""
    return tuple(was if math.isnan(goal) else goal for was, goal in zip(where, safe, strict=True))


def at_rest(limits: Limits, command: Vector, rate: Vector) -> bool:
    """Return whether a command is the safe one, and no position that runs on moves (unit/s)."""
    return all(
        limits.deceleration[i] == math.inf or not (rate and rate[i])
        if math.isnan(safe)
        else command[i] == safe
        for i, safe in enumerate(limits.safe)
    )


def towards(start: float, goal: float, most: float) -> float:
    """Return ``goal``, or the value on the way to it that is ``most`` away from ``start``."""
    if abs(goal - start) <= most:
        return goal
    return start + math.copysign(most, goal - start)
