# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rules of the gate, all of them, on one action or on silence."""

from __future__ import annotations

from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.commands import admitted_action, as_action, translate, turned_all
from boundary_env_ros.core.gate.decision import Reason, RuleResult, Trigger, Verdict
from boundary_env_ros.core.gate.rules.admission import rejected
from boundary_env_ros.core.gate.rules.agent_order import BESIDE_A_STOP, HELD
from boundary_env_ros.core.gate.rules.braking import at_rest, brake, safe_from
from boundary_env_ros.core.gate.rules.limiting import shape
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.motion import brake_to, rest, start_anew
from boundary_env_ros.core.gate.rules.rotation import refuse_what_is_none
from boundary_env_ros.core.gate.rules.rule_input import RuleInput, RuleOutput
from boundary_env_ros.core.gate.rules.stopping import stops
from boundary_env_ros.frozen import replace


def rule(limits: Limits, situation: RuleInput, wanted: Vector | None) -> RuleOutput:
    """
    Rule on an action that is a command, or on silence.

    Parameters
    ----------
    limits
        Limits of the contract.
    situation
        The rest of what matters.
    wanted
        For a request, or a later action of a chunk, the action, well formed; for the operator,
        the command that they give; for the timer, the command that is in force, or None.

    """
    if situation.trigger is Trigger.TIMER:
        stop = stop_in_silence(limits, situation, wanted)
        return hold(limits, situation, wanted or ()) if stop is None else stop
    command = wanted
    translated: tuple[RuleResult, ...] = ()
    if wanted is not None and situation.trigger in (Trigger.REQUEST, Trigger.CHUNK):
        command, translated = translate(limits.groups, wanted, situation.previous)
    elif wanted is not None and situation.trigger is Trigger.OPERATOR:
        command = turned_all(limits.groups, wanted, situation.previous)
    results = stops(limits, situation, command)
    if results or wanted is None:
        return _stopped(limits, situation, command or (), results)
    refused = tuple(r for r in translated if r.outcome is Verdict.REJECTED)
    if command is not None:
        refused += _beyond(limits, situation, command) + refuse_what_is_none(limits, command)
    if refused or command is None:
        return RuleOutput(verdict=Verdict.REJECTED, wanted=command or (), results=refused)
    because = _BESIDES.get(situation.trigger, translated)
    shaped = shape(limits, situation, command, because)
    if situation.trigger in _BESIDES:
        return _with_action(limits, situation, shaped)
    admitted = admitted_action(limits.groups, wanted, shaped.command, situation.previous)
    return replace(shaped, admitted=admitted)


def stop_in_silence(
    limits: Limits, situation: RuleInput, in_force: Vector | None
) -> RuleOutput | None:
    """Rule on silence, as far as it stops the robot; None if the command in force is held."""
    results = stops(limits, situation, in_force)
    if not results and in_force is not None:
        return None
    because = (BESIDE_A_STOP,) if situation.others_turn else ()
    return _stopped(limits, situation, in_force or (), (*because, *results))


#: Why something is sent that no policy has asked for.
_BESIDES = {
    trigger: (RuleResult(rule=rule, outcome=Verdict.ADMITTED, reason=reason),)
    for trigger, rule, reason in (
        (Trigger.OPERATOR, 'operator', Reason.OPERATOR),
        (Trigger.PROBE, 'driver_timeout_probe', Reason.DRIVER_TIMEOUT_PROBE),
    )
}


def _stopped(
    limits: Limits, situation: RuleInput, wanted: Vector, results: tuple[RuleResult, ...]
) -> RuleOutput:
    command = brake(limits, situation)
    previous = situation.previous or command
    ruling = RuleOutput(verdict=Verdict.STOPPED, wanted=wanted, command=command, results=results)
    ruling = start_anew(limits, situation, ruling)
    idle = situation.deactivated and not situation.armed and situation.previous is not None
    if idle and at_rest(limits, previous, situation.previous_rate):
        # Nothing to brake, and the robot may have been moved since.
        ruling = replace(ruling, command=())
    return ruling


def hold(limits: Limits, situation: RuleInput, in_force: Vector) -> RuleOutput:
    """Send the command in force again; what that is when the next is late, the contract says."""
    if situation.others_turn:
        return _held(limits, situation, shape(limits, situation, in_force, (HELD,)))
    since, hold_timeout = situation.since_request, limits.safety.hold_timeout
    late = since is None or since > hold_timeout
    why = RuleResult(
        rule='silence' if late else 'republish',
        outcome=Verdict.HELD,
        reason=Reason.COMMAND_LATE if late else Reason.REPUBLISHED,
        value=since,
        limit=hold_timeout,
        unit='s',
    )
    previous, hold = situation.previous or in_force, limits.safety.on_timeout
    if not late:
        goal = in_force
    elif hold is OnTimeout.HOLD:
        goal = rest(limits, situation)
    else:
        goal = safe_from(limits.safe, previous)
    if late and hold is OnTimeout.SAFE:
        return _held(limits, situation, brake_to(limits, situation, goal, why))
    return _held(limits, situation, shape(limits, situation, goal, (why,)))


def _with_action(limits: Limits, situation: RuleInput, ruling: RuleOutput) -> RuleOutput:
    """Return a ruling with the action that its command means."""
    admitted = as_action(limits.groups, ruling.command, situation.previous)
    return replace(ruling, admitted=admitted)


def _held(limits: Limits, situation: RuleInput, ruling: RuleOutput) -> RuleOutput:
    return replace(_with_action(limits, situation, ruling), verdict=Verdict.HELD)


def _beyond(limits: Limits, situation: RuleInput, command: Vector) -> tuple[RuleResult, ...]:
    """
    Return what is out of the bounds of groups that refuse that.

    These are the bounds of the contract, which a policy knows. What only a tightened bound is in
    the way of is limited: to refuse it would leave the robot at what it does beyond that bound.
    """
    results = []
    for i, value in enumerate(command):
        low, high = limits.declared[i]
        if limits.reject_beyond[i] and not low <= value <= high:
            least, most = limits.room(i, situation.previous)
            if not least <= value <= most:
                results.append(
                    rejected(
                        'bounds',
                        Reason.OUT_OF_BOUNDS,
                        dimension=i,
                        before=value,
                        value=value,
                        limit=low if value < low else high,
                        unit=limits.unit[i],
                    )
                )
    return tuple(results)
