# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The stop profile: the way to the safe command, at a rate of its own."""

from __future__ import annotations

import math

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rule_input import RuleInput


def brake(limits: Limits, situation: RuleInput) -> Vector:
    """
    Return the next command of the stop profile: towards the safe one at the declared rate.

    A position stays where it is; while that is not known, there is no command that is right, and
    it is empty. Limits on acceleration and jerk do not hold for it. Where no command is in force
    to brake from, a velocity or an effort is the safe one at once: a stop sends none that was not
    commanded, whatever the robot says that it does.
    """
    if situation.previous is None:
        return () if any(map(math.isnan, limits.safe)) else limits.safe
    command = [
        previous if math.isnan(safe) else towards(previous, safe, stop * situation.time_step)
        for previous, safe, stop in zip(situation.previous, limits.safe, limits.stop, strict=True)
    ]
    if situation.seeded:
        for i in limits.speeds:
            command[i] = limits.safe[i]
    return tuple(command)


def safe_from(safe: Vector, where: Vector) -> Vector:
    """Return the safe command; a dimension that is safe where it is stays ``where`` it is."""
    return tuple(was if math.isnan(goal) else goal for was, goal in zip(where, safe, strict=True))


def at_rest(limits: Limits, command: Vector) -> bool:
    """Return whether a command is the safe one."""
    return all(
        math.isnan(safe) or value == safe for value, safe in zip(command, limits.safe, strict=True)
    )


def towards(start: float, goal: float, most: float) -> float:
    """Return ``goal``, or the value on the way to it that is ``most`` away from ``start``."""
    if abs(goal - start) <= most:
        return goal
    return start + math.copysign(most, goal - start)
