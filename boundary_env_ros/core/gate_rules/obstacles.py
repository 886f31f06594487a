# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distance to obstacles: stop and slow down, on the side that the robot moves to."""

from __future__ import annotations

from boundary_env_ros.core.decision import Measurement, Reason, RuleResult, Verdict
from boundary_env_ros.core.gate_rules.limits import Limits
from boundary_env_ros.core.gate_rules.shaped import Shaped
from boundary_env_ros.core.gate_rules.situation import Situation
from boundary_env_ros.core.safety import Obstacle
from boundary_env_ros.core.sources import Vector


def obstacle_stops(
    limits: Limits, situation: Situation, wanted: Vector | None
) -> list[RuleResult]:
    """Stop before what is near, on the side that the robot moves to or is asked to move to."""
    return [
        result for rule in limits.safety.obstacles for result in _stops(rule, situation, wanted)
    ]


def _stops(rule: Obstacle, situation: Situation, wanted: Vector | None) -> list[RuleResult]:
    measurement = situation.measurements.get(rule.input)
    if measurement is None or not measurement.values:
        return []  # reported by the sensors' rule
    results = []
    for side, valid, sign in _sides(measurement):
        if not _heads(rule.dimension, sign, situation.previous, wanted):
            continue
        if valid < rule.min_valid:
            results.append(_stop(Reason.SENSOR_INVALID, valid, rule.min_valid, 'of the beams'))
        elif side < rule.stop_distance:
            results.append(_stop(Reason.OBSTACLE_STOP, side, rule.stop_distance, 'm'))
    return results


def _stop(reason: Reason, value: float, limit: float, unit: str) -> RuleResult:
    return RuleResult(
        rule='obstacle_stop',
        outcome=Verdict.STOPPED,
        reason=reason,
        value=value,
        limit=limit,
        unit=unit,
    )


def _sides(measurement: Measurement) -> tuple[tuple[float, float, int], tuple[float, float, int]]:
    """Return (distance, fraction of usable beams, sign of the motion to it) ahead and behind."""
    ahead, behind, valid_ahead, valid_behind = measurement.values
    return (ahead, valid_ahead, 1), (behind, valid_behind, -1)


def _heads(dimension: int, sign: int, *vectors: Vector | None) -> bool:
    return any(vector and vector[dimension] * sign > 0.0 for vector in vectors)


def slow_down(limits: Limits, situation: Situation, shaped: Shaped) -> None:
    """Limit the speed towards what is inside a slow-down zone."""
    for rule in limits.safety.obstacles:
        measurement = situation.measurements.get(rule.input)
        if measurement is None or not measurement.values:
            continue
        for distance, _, sign in _sides(measurement):
            speed = shaped.values[rule.dimension] * sign
            if speed > rule.slow_speed and distance < rule.slow_distance:
                shaped.limit(
                    'obstacle_slow',
                    Reason.OBSTACLE_SLOW,
                    rule.dimension,
                    sign * rule.slow_speed,
                    value=distance,
                    limit=rule.slow_distance,
                    unit='m',
                )
