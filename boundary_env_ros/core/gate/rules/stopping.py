# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Must the robot stop, whatever was asked for? STOPPED if so."""

from __future__ import annotations

from collections.abc import Iterator

from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.core.contract.safety import OnForeignPublisher
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import (
    measurement_of,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
)
from boundary_env_ros.core.gate.rules.limits import EMERGENCY_STOP, FEEDBACK, Limits
from boundary_env_ros.core.gate.rules.obstacles import obstacle_stops
from boundary_env_ros.core.gate.rules.rule_output import stop
from boundary_env_ros.core.gate.rules.workspace import workspace_stops

#: Rule about other publishers; of a topic that the gate goes by, its name follows after a dot.
FOREIGN_PUBLISHER = 'foreign_publisher'
#: Rule about what the gate goes by; the name of the input follows after a dot.
SENSORS = 'sensors'


def stops(limits: Limits, inputs: RuleInput, wanted: Vector | None) -> tuple[RuleResult, ...]:
    """Return why the robot must stop, whatever was asked for; empty if it need not."""
    results: list[RuleResult] = []
    if inputs.emergency_stop:
        results.append(stop('emergency_stop', Reason.EMERGENCY_STOP))
    if inputs.over:
        results.append(stop('authority', Reason.EPISODE_OVER))
    if inputs.deactivated:
        results.append(stop('gate', Reason.DEACTIVATED))
    lockstep = limits.pacing is Pacing.LOCKSTEP
    if not lockstep:
        # In lockstep the world stands still between two requests, however long that takes.
        results += _gate_and_clock(limits, inputs)
    results += _competing(limits, inputs)
    # Nobody has to act or to say anything then: before the first episode, and behind the last one.
    if not (inputs.trigger is Trigger.PROBE or inputs.deactivated):
        results += _environment(limits, inputs)
    by_timer = inputs.trigger is Trigger.TIMER
    if inputs.others_turn or not (by_timer and lockstep):
        # What the world shows in lockstep is judged with the next request: a timer of another
        # clock would make the record depend on how long it took.
        results += _sensors(limits, inputs)
        results += obstacle_stops(limits, inputs, wanted)
        results += workspace_stops(limits, inputs)
    if by_timer:
        if not (inputs.others_turn or inputs.over or inputs.deactivated):
            results += _silence(limits, inputs)
        if inputs.stopped and not results and (inputs.others_turn or not lockstep):
            # What stopped it may be gone in an instant. To go on then at what it had braked to is
            # nothing that anybody asked for.
            results.append(stop('silence', Reason.STILL_STOPPED))
    elif inputs.trigger in (Trigger.REQUEST, Trigger.CHUNK):
        results += _overruns(limits, inputs)  # of the policy, and no one else's
    return tuple(results)


def _gate_and_clock(limits: Limits, inputs: RuleInput) -> Iterator[RuleResult]:
    """Stop when the gate itself ran too late, or ROS time and steady time disagree."""
    since, limit = inputs.since_tick, limits.safety.gate_lateness
    if since is not None and since > limit:
        yield stop('gate', Reason.GATE_LATE, since, limit, 's')
    error, limit = inputs.clock_error, limits.safety.clock_jump
    if error is not None and abs(error) > limit:
        yield stop('clock', Reason.CLOCK, error, limit, 's')


def _competing(limits: Limits, inputs: RuleInput) -> Iterator[RuleResult]:
    """
    Stop when another node publishes commands, or what the gate goes by.

    What it commands passes no gate; and of two sensors on one topic one may hide what the other
    sees.
    """
    if limits.safety.foreign_publisher is not OnForeignPublisher.STOP:
        return
    found = [
        (f'{FOREIGN_PUBLISHER}.{each.topic}', each.count) for each in inputs.foreign_publishers
    ]
    if inputs.foreign_commands:
        found.insert(0, (FOREIGN_PUBLISHER, inputs.foreign_commands))
    for name, count in found:
        yield stop(name, Reason.FOREIGN_PUBLISHER, float(count), 0.0, 'publishers')


def _overruns(limits: Limits, inputs: RuleInput) -> Iterator[RuleResult]:
    """Stop when too many of the last requests were over the latency budget."""
    rule, count = limits.safety.overruns, inputs.overruns
    if rule is not None and count > rule.exceeded:
        most, unit = float(rule.exceeded), f'of {rule.of} requests'
        yield stop('latency_budget', Reason.LATENCY_BUDGET, float(count), most, unit)


def _environment(limits: Limits, inputs: RuleInput) -> Iterator[RuleResult]:
    """Stop when the environment, which would end the episode, gives no heartbeat."""
    since, limit = inputs.since_environment, limits.safety.environment_timeout
    if since is None or not since <= limit:
        yield stop('environment', Reason.ENVIRONMENT_TIMEOUT, since, limit, 's')


def _sensors(limits: Limits, inputs: RuleInput) -> Iterator[RuleResult]:
    """Stop when a sensor that a rule needs is silent, frozen, ahead of time or not usable."""
    for name, need in limits.needs.items():
        if name.startswith(FEEDBACK) and name not in limits.followed:
            # Only needed to seed the limits: its absence shows as an unknown previous command.
            continue
        measurement = measurement_of(inputs.measurements, name)
        rule_name = name if name == EMERGENCY_STOP else f'{SENSORS}.{name}'
        if not need.fresh(measurement):
            age = None if measurement is None else measurement.age
            yield stop(rule_name, Reason.OBSERVATION_TIMEOUT, age, need.most, 's')
        elif not need.usable(measurement):
            yield stop(rule_name, Reason.SENSOR_INVALID)
    # A contract of documents alone has no command that could be unknown.
    if limits.names and not inputs.previous_command:
        limit = limits.safety.sensor_timeout
        for name in _not_seeding(limits, inputs) or [SENSORS]:
            yield stop(name, Reason.OBSERVATION_TIMEOUT, None, limit, 's')


def _not_seeding(limits: Limits, inputs: RuleInput) -> list[str]:
    """Return the feedback that keeps the limits from being seeded."""
    return [
        f'{SENSORS}.{name}'
        for name, need in limits.needs.items()
        if name.startswith(FEEDBACK) and name not in limits.followed
        for measurement in (measurement_of(inputs.measurements, name),)
        if not (need.fresh(measurement) and need.usable(measurement))
    ]


def _silence(limits: Limits, inputs: RuleInput) -> Iterator[RuleResult]:
    """Stop when the policy has been silent for too long. In lockstep it may think for longer."""
    lockstep, since = limits.pacing is Pacing.LOCKSTEP, inputs.since_request
    limit = limits.lockstep_deadline if lockstep else limits.safety.command_timeout
    if since is not None and since > limit:
        yield stop('silence', Reason.COMMAND_TIMEOUT, since, limit, 's')
