# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what the gate knows of itself, of the clock, and of the other processes."""

from __future__ import annotations

from collections.abc import Iterator

from boundary_env_ros.core.contract.safety import OnForeignPublisher
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import Reason, RuleInput, RuleResult, Trigger
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rule import Rule
from boundary_env_ros.core.gate.rules.rule_output import Cause

# What the gate was told -----------------------------------------------------------------------

_PRESSED = Cause('emergency_stop', Reason.EMERGENCY_STOP, anomaly='emergency_stop')
# That is declared for the end of every episode.
_OVER = Cause('authority', Reason.EPISODE_OVER, anomaly=None)


def _pressed(_: Limits, inputs: RuleInput, __: Vector | None) -> Iterator[RuleResult]:
    if inputs.emergency_stop:
        yield _PRESSED.result()


def _over(_: Limits, inputs: RuleInput, __: Vector | None) -> Iterator[RuleResult]:
    if inputs.over:
        yield _OVER.result()


EMERGENCY_STOP = Rule(causes=(_PRESSED,), stops=_pressed)
AUTHORITY = Rule(causes=(_OVER,), stops=_over)


# The gate itself, and the clock ---------------------------------------------------------------

_DEACTIVATED = Cause('gate', Reason.DEACTIVATED, anomaly='silence')
_LATE = Cause('gate', Reason.GATE_LATE, anomaly='silence')
_CLOCK = Cause('clock', Reason.CLOCK, anomaly='impossible_time')


def _gate(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """Stop when the gate is being deactivated, or itself ran too late."""
    if inputs.deactivated:
        yield _DEACTIVATED.result()
    since, limit = inputs.since_tick, limits.safety.gate_lateness
    if since is not None and since > limit and not limits.lockstep:
        yield _LATE.result('', since, limit, 's')


def _clock(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """Stop when ROS time and steady time disagree."""
    error, limit = inputs.clock_error, limits.safety.clock_jump
    if error is not None and abs(error) > limit and not limits.lockstep:
        yield _CLOCK.result('', error, limit, 's')


# In lockstep the world stands still between two requests, however long that takes.
GATE = Rule(causes=(_DEACTIVATED, _LATE), stops=_gate)
CLOCK = Rule(causes=(_CLOCK,), stops=_clock)


# The others -----------------------------------------------------------------------------------

_FOREIGN = Cause('foreign_publisher', Reason.FOREIGN_PUBLISHER, anomaly='foreign_publisher')
_GONE = Cause('environment', Reason.ENVIRONMENT_TIMEOUT, anomaly='silence')


def _foreign(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """
    Stop when another node publishes commands, or what the gate goes by.

    What it commands passes no gate; and of two sensors on one topic one may hide what the other
    sees.
    """
    if limits.safety.foreign_publisher is not OnForeignPublisher.STOP:
        return
    if inputs.foreign_commands:
        yield _FOREIGN.result('', float(inputs.foreign_commands), 0.0, 'publishers')
    for each in inputs.foreign_publishers:
        yield _FOREIGN.result(each.topic, float(each.count), 0.0, 'publishers')


def _environment(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """
    Stop when the environment, which would end the episode, gives no heartbeat.

    Before the first episode and behind the last one nobody has to say anything.
    """
    since, limit = inputs.since_environment, limits.safety.environment_timeout
    awaited = not (inputs.trigger is Trigger.PROBE or inputs.deactivated)
    if awaited and (since is None or not since <= limit):
        yield _GONE.result('', since, limit, 's')


PUBLISHERS = Rule(causes=(_FOREIGN,), stops=_foreign)
ENVIRONMENT = Rule(causes=(_GONE,), stops=_environment)


# The policy -----------------------------------------------------------------------------------

_SILENT = Cause('silence', Reason.COMMAND_TIMEOUT, anomaly='silence')
_SLOW = Cause('latency_budget', Reason.LATENCY_BUDGET, anomaly='silence')
#: What stopped the robot may be gone in an instant. To go on then at what it had braked to is
#: nothing that anybody asked for.
STILL_STOPPED = Cause('silence', Reason.STILL_STOPPED, anomaly=None)


def _silence(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """Stop when the policy has been silent for too long. In lockstep it may think for longer."""
    since, awaited = inputs.since_request, inputs.trigger is Trigger.TIMER
    limit = limits.lockstep_deadline if limits.lockstep else limits.safety.command_timeout
    if inputs.others_turn or inputs.over or inputs.deactivated:
        awaited = False  # nobody has to act then
    if awaited and since is not None and since > limit:
        yield _SILENT.result('', since, limit, 's')


def _overruns(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """Stop when too many of the last requests of the policy were over the latency budget."""
    rule, count = limits.safety.overruns, inputs.overruns
    asks = inputs.trigger in (Trigger.REQUEST, Trigger.CHUNK)
    if asks and rule is not None and count > rule.exceeded:
        most, unit = float(rule.exceeded), f'of {rule.of} requests'
        yield _SLOW.result('', float(count), most, unit)


SILENCE = Rule(causes=(_SILENT, STILL_STOPPED), stops=_silence)
LATENCY = Rule(causes=(_SLOW,), stops=_overruns)
