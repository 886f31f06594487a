# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rules of the gate, all of them, on one action or on silence."""

from __future__ import annotations

from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.gate.commands import (
    admitted_action,
    as_action,
    Results,
    translate,
    turned_all,
)
from boundary_env_ros.core.gate.rule_output import (
    BEYOND,
    BOUNDS,
    Cause,
    LimitedCommand,
    RuleOutput,
)
from boundary_env_ros.core.gate.rules.agent_order import BESIDE_A_STOP, HELD
from boundary_env_ros.core.gate.rules.braking import at_rest, brake, safe_from
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.motion import brake_to, follow, rest, start_anew
from boundary_env_ros.core.gate.rules.rotation import normalise, refuse_invalid
from boundary_env_ros.core.gate.rules.scale_together import keep_curvature
from boundary_env_ros.core.gate.rules.stopping import LIMITING, stops
from boundary_env_ros.core.records.decision import Reason, RuleInput, RuleResult, Trigger, Verdict
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import replace


def rule(limits: Limits, inputs: RuleInput, wanted: Vector | None) -> RuleOutput:
    """
    Rule on an action that is a command, or on silence.

    Parameters
    ----------
    limits
        Limits of the contract.
    inputs
        The rest of what matters.
    wanted
        For a request, or a later action of a chunk, the action, well formed; for the operator,
        the command that they give; for the timer, the command that is in force, or None.

    """
    if inputs.trigger is Trigger.TIMER:
        stop = stop_in_silence(limits, inputs, wanted)
        return hold(limits, inputs, wanted or ()) if stop is None else stop
    command = wanted
    translated: tuple[RuleResult, ...] = ()
    if wanted is not None and inputs.trigger in (Trigger.REQUEST, Trigger.CHUNK):
        command, translated = translate(limits.groups, wanted, inputs.previous_command)
    elif wanted is not None and inputs.trigger is Trigger.OPERATOR:
        command = turned_all(limits.groups, wanted, inputs.previous_command)
    results = stops(limits, inputs, command)
    if results or wanted is None:
        return _stopped(limits, inputs, command or (), results)
    refused = tuple(r for r in translated if r.outcome is Verdict.REJECTED)
    if command is not None:
        refused += _beyond(limits, inputs, command) + refuse_invalid(limits, command)
    if refused or command is None:
        return RuleOutput(verdict=Verdict.REJECTED, wanted=command or (), results=refused)
    because = _BESIDES.get(inputs.trigger, translated)
    shaped = shape(limits, inputs, command, because)
    if inputs.trigger in _BESIDES:
        return _with_action(limits, inputs, shaped)
    admitted = admitted_action(limits.groups, wanted, shaped.command, inputs.previous_command)
    return replace(shaped, admitted=admitted)


def stop_in_silence(
    limits: Limits, inputs: RuleInput, in_force: Vector | None
) -> RuleOutput | None:
    """Rule on silence, as far as it stops the robot; None if the command in force is held."""
    results = stops(limits, inputs, in_force)
    if not results and in_force is not None:
        return None
    because = (BESIDE_A_STOP,) if inputs.others_turn else ()
    return _stopped(limits, inputs, in_force or (), (*because, *results))


#: Why the command in force is sent again.
LATE = Cause('silence', Reason.COMMAND_LATE, Verdict.HELD, anomaly='held')
AGAIN = Cause('republish', Reason.REPUBLISHED, Verdict.HELD)
#: Why something is sent that no policy has asked for.
BY_HAND = Cause('operator', Reason.OPERATOR, Verdict.ADMITTED)
PROBED = Cause('driver_timeout_probe', Reason.DRIVER_TIMEOUT_PROBE, Verdict.ADMITTED)
_BESIDES = {Trigger.OPERATOR: (BY_HAND.result(),), Trigger.PROBE: (PROBED.result(),)}


def _stopped(
    limits: Limits, inputs: RuleInput, wanted: Vector, results: tuple[RuleResult, ...]
) -> RuleOutput:
    command = brake(limits, inputs)
    previous = inputs.previous_command or command
    output = RuleOutput(verdict=Verdict.STOPPED, wanted=wanted, command=command, results=results)
    output = start_anew(limits, inputs, output)
    idle = inputs.deactivated and not inputs.armed and inputs.previous_command
    if idle and at_rest(limits, previous, inputs.previous_rate):
        # Nothing to brake, and the robot may have been moved since.
        output = replace(output, command=())
    return output


def hold(limits: Limits, inputs: RuleInput, in_force: Vector) -> RuleOutput:
    """Send the command in force again; what that is when the next is late, the contract says."""
    if inputs.others_turn:
        return _held(limits, inputs, shape(limits, inputs, in_force, (HELD,)))
    since, hold_timeout = inputs.since_request, limits.safety.hold_timeout
    late = since is None or since > hold_timeout
    why = (LATE if late else AGAIN).result('', since, hold_timeout, 's')
    previous, hold = inputs.previous_command or in_force, limits.safety.on_timeout
    if not late:
        goal = in_force
    elif hold is OnTimeout.HOLD:
        goal = rest(limits, inputs)
        # It may be on the other side of where the robot came from.
        results = stops(limits, inputs, goal)
        if results:
            return _stopped(limits, inputs, goal, results)
    else:
        goal = safe_from(limits.safe, previous)
    if late and hold is OnTimeout.SAFE:
        return _held(limits, inputs, brake_to(limits, inputs, goal, why))
    return _held(limits, inputs, shape(limits, inputs, goal, (why,)))


def _with_action(limits: Limits, inputs: RuleInput, output: RuleOutput) -> RuleOutput:
    """Return an output with the action that its command means."""
    admitted = as_action(limits.groups, output.command, inputs.previous_command)
    return replace(output, admitted=admitted)


def _held(limits: Limits, inputs: RuleInput, output: RuleOutput) -> RuleOutput:
    return replace(_with_action(limits, inputs, output), verdict=Verdict.HELD)


def _beyond(limits: Limits, inputs: RuleInput, command: Vector) -> tuple[RuleResult, ...]:
    """
    Return what is out of the bounds of groups that refuse that.

    These are the bounds of the contract, which a policy knows. What only a tightened bound is in
    the way of is limited: to refuse it would leave the robot at what it does beyond that bound.
    """
    results = []
    for i, value in enumerate(command):
        low, high = limits.declared[i]
        if limits.reject_beyond[i] and not low <= value <= high:
            least, most = limits.bounds_at(i, inputs.previous_command)
            if not least <= value <= most:
                bound = low if value < low else high
                results.append(BEYOND.result('', value, bound, limits.unit[i], i, value))
    return tuple(results)


def shape(limits: Limits, inputs: RuleInput, wanted: Vector, because: Results = ()) -> RuleOutput:
    """Return as much of a wanted command as may be published, and why after the other reasons."""
    shaped = LimitedCommand(wanted)
    _bounds(limits, inputs.previous_command, shaped)
    normalise(limits, shaped)
    for limit in LIMITING:
        limit(limits, inputs, shaped)
    keep_curvature(limits, wanted, shaped)
    rate, acceleration = follow(limits, inputs, shaped)
    results = (*because, *shaped.results)
    return RuleOutput(
        verdict=max((r.outcome for r in results), default=Verdict.ADMITTED),
        wanted=wanted,
        command=tuple(shaped.values),
        rate=rate,
        acceleration=acceleration,
        results=results,
    )


def _bounds(limits: Limits, previous: Vector | None, shaped: LimitedCommand) -> None:
    for i in limits.bounded:
        value = shaped.values[i]
        low, high = limits.bounds_at(i, previous)
        bound = min(max(value, low), high)
        if bound != value:
            shaped.limit(BOUNDS, i, bound, value, bound, limits.unit[i])
