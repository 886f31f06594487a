# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Is what the rules go by there, new enough, and usable? Else the robot must stop."""

from __future__ import annotations

from collections.abc import Iterator

from boundary_env_ros.core.gate.rule_output import Cause
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rule import Rule
from boundary_env_ros.core.records.decision import (
    EMERGENCY_STOP,
    FEEDBACK,
    measurement_of,
    Reason,
    RuleInput,
    RuleResult,
)
from boundary_env_ros.core.vectors import Vector

#: Name of the rule; that of the input follows after a dot.
NAME = 'sensors'

#: Why a sensor stops the robot that is silent, and one that is not usable; and so of the button.
_REASONS = Reason.OBSERVATION_TIMEOUT, Reason.SENSOR_INVALID
_OF_SENSOR = tuple(Cause(NAME, reason, anomaly='silence') for reason in _REASONS)
_OF_BUTTON = tuple(Cause(EMERGENCY_STOP, reason, anomaly='silence') for reason in _REASONS)


def _sensors(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """Stop when a sensor that a rule needs is silent, frozen, ahead of time or not usable."""
    for name, need in limits.needs.items():
        if name.startswith(FEEDBACK) and name not in limits.followed:
            # Only needed to seed the limits: its absence shows as an unknown previous command.
            continue
        measurement = measurement_of(inputs.measurements, name)
        of = '' if name == EMERGENCY_STOP else name
        silent, unusable = _OF_SENSOR if of else _OF_BUTTON
        if not need.fresh(measurement):
            age = None if measurement is None else measurement.age
            yield silent.result(of, age, need.most, 's')
        elif not need.usable(measurement):
            yield unusable.result(of)
    # A contract of documents alone has no command that could be unknown.
    if limits.names and not inputs.previous_command:
        limit = limits.safety.sensor_timeout
        for name in _not_seeding(limits, inputs) or ['']:
            yield _OF_SENSOR[0].result(name, None, limit, 's')


def _not_seeding(limits: Limits, inputs: RuleInput) -> list[str]:
    """Return the feedback that keeps the limits from being seeded."""
    return [
        name
        for name, need in limits.needs.items()
        if name.startswith(FEEDBACK) and name not in limits.followed
        for measurement in (measurement_of(inputs.measurements, name),)
        if not (need.fresh(measurement) and need.usable(measurement))
    ]


SENSORS = Rule(causes=(*_OF_SENSOR, *_OF_BUTTON), stops=_sensors, of_world=True)
