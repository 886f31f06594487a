# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what the gate knows of itself, of the clock, and of the other processes."""

from __future__ import annotations

from boundary_env_ros.core.contract.safety import OnForeignPublisher
from boundary_env_ros.core.gate.rule_output import Cause
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rule import Rule
from boundary_env_ros.core.records.decision import Reason, RuleInput, RuleResult, Trigger
from boundary_env_ros.core.vectors import Vector

# What the gate was sent -----------------------------------------------------------------------

_PRESSED = Cause('emergency_stop', Reason.EMERGENCY_STOP, anomaly='emergency_stop')
# That is declared for the end of every episode.
_OVER = Cause('authority', Reason.EPISODE_OVER, anomaly=None)


def _pressed(_: Limits, inputs: RuleInput, __: Vector | None) -> tuple[RuleResult, ...]:
    return (_PRESSED.result(),) if inputs.emergency_stop else ()


def _over(_: Limits, inputs: RuleInput, __: Vector | None) -> tuple[RuleResult, ...]:
    return (_OVER.result(),) if inputs.over else ()


EMERGENCY_STOP = Rule(causes=(_PRESSED,), stops=_pressed)
AUTHORITY = Rule(causes=(_OVER,), stops=_over)


# The gate itself, and the clock ---------------------------------------------------------------

_DEACTIVATED = Cause('gate', Reason.DEACTIVATED, anomaly='silence')
_LATE = Cause('gate', Reason.GATE_LATE, anomaly='silence')
_CLOCK = Cause('clock', Reason.CLOCK, anomaly='impossible_time')


def _gate(limits: Limits, inputs: RuleInput, _: Vector | None) -> tuple[RuleResult, ...]:
    """Stop when the gate is being deactivated, or itself ran too late."""
    ends = (_DEACTIVATED.result(),) if inputs.deactivated else ()
    since, limit = inputs.since_tick, limits.safety.gate_lateness
    if since is not None and since > limit and not limits.lockstep:
        return (*ends, _LATE.result('', since, limit, 's'))
    return ends


def _clock(limits: Limits, inputs: RuleInput, _: Vector | None) -> tuple[RuleResult, ...]:
    """Stop when ROS time and steady time disagree."""
    error, limit = inputs.clock_error, limits.safety.clock_jump
    jumped = error is not None and abs(error) > limit and not limits.lockstep
    return (_CLOCK.result('', error, limit, 's'),) if jumped else ()


# In lockstep the world stands still between two requests, however long that takes.
GATE = Rule(causes=(_DEACTIVATED, _LATE), stops=_gate)
CLOCK = Rule(causes=(_CLOCK,), stops=_clock)


# The others -----------------------------------------------------------------------------------

_FOREIGN = Cause('foreign_publisher', Reason.FOREIGN_PUBLISHER, anomaly='foreign_publisher')
_TIMEOUT = Cause('environment', Reason.ENVIRONMENT_TIMEOUT, anomaly='silence')


def _foreign(limits: Limits, inputs: RuleInput, _: Vector | None) -> tuple[RuleResult, ...]:
    """
    Stop when another node publishes commands, or what the gate goes by.

    What it commands passes no gate; and of two sensors on one topic one may hide what the other
    sees.
    """
    if not inputs.foreign or limits.safety.foreign_publisher is OnForeignPublisher.REPORT:
        return ()
    found = ('', inputs.foreign_commands), *((x.topic, x.count) for x in inputs.foreign_publishers)
    return tuple(_FOREIGN.result(of, float(n), 0.0, 'publishers') for of, n in found if n)


def _environment(limits: Limits, inputs: RuleInput, _: Vector | None) -> tuple[RuleResult, ...]:
    """
    Stop when the environment, which would end the episode, gives no heartbeat.

    Before the first episode and behind the last one nobody has to say anything.
    """
    since, limit = inputs.since_environment, limits.safety.environment_timeout
    if (since is not None and since <= limit) or inputs.deactivated:
        return ()
    return () if inputs.trigger is Trigger.PROBE else (_TIMEOUT.result('', since, limit, 's'),)


PUBLISHERS = Rule(causes=(_FOREIGN,), stops=_foreign)
ENVIRONMENT = Rule(causes=(_TIMEOUT,), stops=_environment)


# The policy -----------------------------------------------------------------------------------

_SILENT = Cause('silence', Reason.COMMAND_TIMEOUT, anomaly='silence')
_SLOW = Cause('latency_budget', Reason.LATENCY_BUDGET, anomaly='silence')
#: What stopped the robot may be gone in an instant. To go on then at what it had braked to is
#: nothing that anybody asked for.
STILL_STOPPED = Cause('silence', Reason.STILL_STOPPED, anomaly=None)


def _silence(limits: Limits, inputs: RuleInput, _: Vector | None) -> tuple[RuleResult, ...]:
    """Stop when the policy has been silent for too long. In lockstep it may think for longer."""
    since, awaited = inputs.since_request, inputs.trigger is Trigger.TIMER
    if since is None or not awaited or inputs.others_turn or inputs.over or inputs.deactivated:
        return ()  # nobody has to act
    limit = limits.lockstep_deadline if limits.lockstep else limits.safety.command_timeout
    return (_SILENT.result('', since, limit, 's'),) if since > limit else ()


def _overruns(limits: Limits, inputs: RuleInput, _: Vector | None) -> tuple[RuleResult, ...]:
    """Stop when too many of the last requests of the policy were over the latency budget."""
    rule, count = limits.safety.overruns, inputs.overruns
    by_policy = inputs.trigger in (Trigger.REQUEST, Trigger.CHUNK)
    if rule is None or not by_policy or count <= rule.exceeded:
        return ()
    numbers = float(count), float(rule.exceeded), f'of {rule.of} requests'
    return (_SLOW.result('', *numbers),)


SILENCE = Rule(causes=(_SILENT, STILL_STOPPED), stops=_silence)
LATENCY = Rule(causes=(_SLOW,), stops=_overruns)
