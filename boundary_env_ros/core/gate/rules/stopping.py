# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Must the robot stop, whatever was asked for? The rules that may stop it, in their order."""

from __future__ import annotations

from functools import cache

from boundary_env_ros.core.gate.rules.battery import BATTERY
from boundary_env_ros.core.gate.rules.interlock import INTERLOCK
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.machinery import (
    AUTHORITY,
    CLOCK,
    EMERGENCY_STOP,
    ENVIRONMENT,
    GATE,
    LATENCY,
    PUBLISHERS,
    SILENCE,
    STILL_STOPPED,
)
from boundary_env_ros.core.gate.rules.obstacles import OBSTACLES
from boundary_env_ros.core.gate.rules.rule import is_seen, Rule, SensorRule
from boundary_env_ros.core.gate.rules.sensors import SENSORS
from boundary_env_ros.core.gate.rules.workspace import WORKSPACES
from boundary_env_ros.core.records.decision import RuleInput, RuleResult, Trigger
from boundary_env_ros.core.vectors import Vector

#: The rules, in the order in which they are asked and recorded. A new one is a file and a line.
RULES: tuple[Rule, ...] = (
    EMERGENCY_STOP,
    AUTHORITY,
    GATE,
    CLOCK,
    PUBLISHERS,
    ENVIRONMENT,
    SENSORS,
    OBSTACLES,
    WORKSPACES,
    BATTERY,
    INTERLOCK,
    SILENCE,
    LATENCY,
)

#: What a contract says to those that have sensors of their own.
SENSOR_RULES: tuple[type[SensorRule], ...] = tuple(rule.keys for rule in RULES if rule.keys)

#: Those that also take something from a command.
LIMITING = tuple(rule.limits for rule in RULES if rule.limits)


@cache
def _applicable(kinds: frozenset[type], seen: bool) -> tuple[Rule, ...]:
    """Return the rules that are asked under a contract that says something to some of them."""
    return tuple(
        rule
        for rule in RULES
        if (seen or not rule.of_world) and (rule.keys is None or rule.keys in kinds)
    )


def stops(limits: Limits, inputs: RuleInput, wanted: Vector | None) -> tuple[RuleResult, ...]:
    """Return why the robot must stop, whatever was asked for; empty if it need not."""
    results: list[RuleResult] = []
    seen, by_timer = is_seen(limits, inputs), inputs.trigger is Trigger.TIMER
    for rule in _applicable(limits.kinds, seen):
        results += rule.stops(limits, inputs, wanted)
    if inputs.stopped and by_timer and not results and seen:
        results.append(STILL_STOPPED.result())
    return tuple(results)
