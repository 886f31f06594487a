# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Distance to obstacles: stop and slow down, on the side that the robot moves to.

Each rule of the contract is about one sensor and one dimension of the command, the forward speed;
several may be about the same dimension, and then the strictest wins.
"""

from __future__ import annotations

from collections.abc import Iterator

from boundary_env_ros.core.contract.safety import Corridor, Obstacle, Sector
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import measurement_of, Reason, RuleInput, RuleResult
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rule_output import LimitedCommand, stop

#: Speed (m/s) up to which a robot is at rest: what rounding leaves of a stop must not count as the
#: wish to drive into what is behind. It makes less than 4 mm in an hour.
AT_REST = 1e-6


def obstacle_stops(
    limits: Limits, inputs: RuleInput, wanted: Vector | None
) -> Iterator[RuleResult]:
    """Stop before what is near, on the side that the robot moves to or is asked to move to."""
    for rule in limits.safety.obstacles:
        name = f'obstacle_stop.{rule.name}'
        for distance, valid, sign in _sides(limits, inputs, rule):
            if not _heads(rule.dimension, sign, inputs.previous_command, wanted):
                continue
            if valid < rule.min_valid:
                yield stop(name, Reason.SENSOR_INVALID, valid, rule.min_valid, _of_what(rule))
            elif distance < rule.stop_distance:
                yield stop(name, Reason.OBSTACLE_STOP, distance, rule.stop_distance, 'm')


def slow_down(limits: Limits, inputs: RuleInput, shaped: LimitedCommand) -> None:
    """Limit the speed towards what is inside a slow-down zone, or would be reached too soon."""
    for apply in (_slow_zone, _collision):
        for rule in limits.safety.obstacles:
            for distance, _, sign in _sides(limits, inputs, rule):
                apply(rule, distance, sign, shaped)


def _slow_zone(rule: Obstacle, distance: float, sign: int, shaped: LimitedCommand) -> None:
    speed = shaped.values[rule.dimension] * sign
    if speed > rule.slow_speed and distance < rule.slow_distance:
        shaped.limit(
            f'obstacle_slow.{rule.name}',
            Reason.OBSTACLE_SLOW,
            rule.dimension,
            sign * rule.slow_speed + 0.0,
            distance,
            rule.slow_distance,
            'm',
        )


def _collision(rule: Obstacle, distance: float, sign: int, shaped: LimitedCommand) -> None:
    """Leave a speed that needs the declared time, or longer, to the stop distance."""
    speed = shaped.values[rule.dimension] * sign
    if rule.time_to_collision is None or not speed > 0.0:
        return
    left = max(0.0, distance - rule.stop_distance)
    most = left / rule.time_to_collision
    if speed > most:
        shaped.limit(
            f'time_to_collision.{rule.name}',
            Reason.TIME_TO_COLLISION,
            rule.dimension,
            sign * most + 0.0,
            left / speed,
            rule.time_to_collision,
            's',
        )


def _sides(
    limits: Limits, inputs: RuleInput, rule: Obstacle
) -> tuple[tuple[float, float, int], ...]:
    """
    Return (distance, usable fraction, sign of the motion to it) ahead and behind.

    Without a usable one there are no sides: the rule about sensors stops the robot then.
    """
    measurement = measurement_of(inputs.measurements, rule.input)
    if measurement is None or not limits.needs[rule.input].usable(measurement):
        return ()
    ahead, behind, valid_ahead, valid_behind = measurement.values
    return (ahead, valid_ahead, 1), (behind, valid_behind, -1)


def _heads(dimension: int, sign: int, *vectors: Vector | None) -> bool:
    return any(vector and vector[dimension] * sign > AT_REST for vector in vectors)


def _of_what(rule: Obstacle) -> str:
    if isinstance(rule.zone, Sector):
        return 'of the beams'
    return 'of the points' if isinstance(rule.zone, Corridor) else 'of the readings'
