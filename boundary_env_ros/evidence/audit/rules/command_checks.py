# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Checks of what was published: within the bounds, no faster than allowed, one after another.

How the sequence moves is looked at without the functions of the gate. Of a curve whose second
derivative is at most A everywhere, the second divided difference of any three points is at most
A / 2 in magnitude; of one whose third is at most J, that of any four is at most J / 6: a divided
difference of order k is the mean of the k-th derivative over k! [1]_. So a sequence that is not on
such a curve is found, whatever the gate computed.

.. [1] Hermite-Genocchi; see C. de Boor: Divided Differences. Surveys in Approximation Theory 1,
   2005.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.timebase import elapsed
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.audit.rules.audit_rule import (
    AuditTerms,
    DecisionLink,
    Found,
    known,
    limits_of,
    of_decision,
    outside,
    same_numbers,
    unlike,
)
from boundary_env_ros.evidence.record_difference import close, Mismatch, number, ROUNDING, vector


@of_decision('command-in-bounds', contract=True)
def _command_in_bounds(link: DecisionLink) -> Found:
    terms, command = known(link.terms), link.decision.command
    limits = terms.limits
    if not command:
        return
    if len(command) != len(limits.low):
        yield Mismatch('command', f'{len(limits.low)} values', str(len(command)))
        return
    previous = link.decision.inputs.previous_command
    for i, value in enumerate(command):
        low, high = limits.low[i], limits.high[i]
        if math.isnan(limits.safe[i]) and len(previous) == len(command):
            # A place that was measured outside may stay there, or come back.
            low, high = min(low, previous[i]), max(high, previous[i])
        yield from outside(f'command[{limits.names[i]}]', value, low, high)
    decision = link.decision
    if decision.runtime_limits.low or decision.runtime_limits.high:
        yield from _in_tighter_bounds(decision, limits_of(decision, terms), limits.names)


def _in_tighter_bounds(decision: GateDecision, limits: Limits, names: Sequence[str]) -> Found:
    """Yield what is out of tighter bounds, and farther than the command before was."""
    previous = decision.inputs.previous_command or decision.command
    for i in limits.plain:  # what follows a profile may have to brake outside of them
        low, high = min(limits.low[i], previous[i]), max(limits.high[i], previous[i])
        value, why = decision.command[i], 'as `runtime_limits` says'
        yield from outside(f'command[{names[i]}]', value, low, high, why)


@of_decision('command-motion', contract=True)
def _command_rate(link: DecisionLink) -> Found:
    declared, decision = known(link.terms), link.decision
    command, previous = decision.command, decision.inputs.previous_command
    if len(command) != len(declared.limits.rate):
        return
    stopped = decision.verdict is Verdict.STOPPED
    if len(previous) != len(command):
        # With nothing known of the state the only command is the safe one.
        if not (stopped and same_numbers(command, declared.limits.safe)):
            expected = 'the command before, unless this is the safe one'
            yield Mismatch('previous_command', expected, vector(previous))
        return
    limits = limits_of(decision, declared)
    names = limits.names
    braked = brakes(decision, declared)
    for i in limits.bounded:
        value, was = command[i], previous[i]
        safe = was if math.isnan(limits.safe[i]) else limits.safe[i]
        nothing_to_brake = stopped and decision.inputs.seeded and i in limits.speeds
        if nothing_to_brake and close(value, safe):
            continue
        # What follows a profile when its rate is made tighter has to slow down first.
        rate = (declared.limits if i in limits.profiled else limits).rate[i]
        seconds = min(decision.inputs.time_step, declared.limits.within[i])
        most = (limits.stop[i] if braked else rate) * seconds
        place, why = (
            f'command[{names[i]}]',
            f'within {number(seconds)} s of {number(was)}',
        )
        yield from outside(place, value, was - most, was + most, why)
        if braked and limits.deceleration[i] < math.inf:
            rate = decision.inputs.previous_rate[i] if decision.inputs.previous_rate else 0.0
            least, most = sorted((was, was + rate * seconds))
            yield from outside(place, value, least, most, why)
        elif braked and abs(value - safe) > abs(was - safe) + ROUNDING:
            yield Mismatch(place, f'from {number(was)} towards {number(safe)}', number(value))


def brakes(decision: GateDecision, terms: AuditTerms) -> bool:
    """Return whether a decision follows the stop profile: a stop, or a hold that is to brake."""
    return decision.verdict is Verdict.STOPPED or (
        terms.contract.safety.on_timeout is OnTimeout.SAFE
        and any(result.reason is Reason.COMMAND_LATE for result in decision.rules)
    )


def begins_anew(last: GateDecision, decision: GateDecision) -> bool:
    """Return whether the gate was asked for something anew: in an episode, or a probe."""
    return last.id.episode_id != decision.id.episode_id or (
        decision.trigger is Trigger.PROBE and last.trigger is not Trigger.PROBE
    )


@of_decision('inputs-recomputed', contract=True, near=True)
def _silence_recomputed(link: DecisionLink) -> Found:
    decision, last, limits = link.decision, link.obeyed, known(link.terms)
    if limits.contract.is_lockstep or decision.verdict is Verdict.REJECTED:
        return
    if (
        last is None
        or last.id.episode_id != decision.id.episode_id
        or last.inputs.lease_id != decision.inputs.lease_id
        # A client that arms the gate for the next episode meanwhile is not silent.
        or any(result.reason is Reason.EPISODE_OVER for result in decision.rules)
    ):
        return
    since = elapsed(last.decided, decision.decided)
    if since is not None:
        why = f's since decision {last.sequence}'
        since = max(since, 0.0)
        yield from outside('since_request', decision.inputs.since_request, since, since, why)


@of_decision('inputs-recomputed', contract=True)
def _decided(link: DecisionLink) -> Found:
    decision, contract = link.decision, known(link.terms).contract
    if contract.is_lockstep:
        return
    if decision.trigger is Trigger.REQUEST:
        yield from unlike('decided', decision.received, decision.decided, 'as `received`')
        return
    since = elapsed(decision.decided, decision.commanded)
    if since is not None:
        yield from outside('decided', since, 0.0, math.inf, 's before its command')


#: A value that went through the path of a profile may be off by this, relative to its size.
_RESOLVED = 1e-13

#: Part of a limit by which a divided difference may be over it.
_SLACK = 1e-6

#: Angle (rad) by which a rotation may be off.
_ANGLE = 1e-7

#: Difference from 1 of the norm of four numbers that are a rotation.
_NORM = 2e-6

#: Places that a third derivative needs besides the newest.
_MOST = 3

#: A place of the sequence: seconds, and the command.
Node = tuple[float, Vector]


def _path(link: DecisionLink, terms: AuditTerms) -> list[Node]:
    """
    Return the last places of the emitted sequence, the newest first, at most four.

    The stop profile and a measured state begin a sequence anew; the first is no part of it.
    """
    decision: GateDecision = link.decision
    size = len(terms.limits.low)
    if brakes(decision, terms):
        return []
    time, nodes = 0.0, [(0.0, decision.command)]
    for last in (*reversed(link.emitted), None):
        previous, step = decision.inputs.previous_command, decision.inputs.time_step
        if len(previous) != size:
            break
        time -= step
        if step > 0.0:
            nodes.append((time, previous))
        if (
            last is None
            or len(nodes) > _MOST
            or decision.inputs.seeded
            or begins_anew(last, decision)
            or brakes(last, terms)
            or last.command != previous
        ):
            break
        decision = last
    return nodes


def divided_difference(nodes: Sequence[Node], dimension: int) -> tuple[float, float]:
    """
    Return the divided difference of one dimension, and what rounding may have made of it.

    Parameters
    ----------
    nodes
        Places at different times.
    dimension
        Which dimension of the command.

    """
    total = noise = 0.0
    for i, (at, command) in enumerate(nodes):
        weight = 1.0
        for j, (other, _) in enumerate(nodes):
            if i != j:
                weight /= at - other
        total += weight * command[dimension]
        noise += abs(weight) * max(1.0, abs(command[dimension])) * _RESOLVED
    return total, noise


@of_decision('command-motion', contract=True)
def _command_motion(link: DecisionLink) -> Found:
    bound, decision = known(link.terms), link.decision
    limits = bound.limits
    if not limits.profiled or len(decision.command) != len(limits.rate):
        return
    nodes = _path(link, bound)
    for i in limits.profiled:
        for count, factor, limit, name in (
            (3, 2.0, limits.acceleration[i], 'acceleration'),
            (4, 6.0, limits.jerk[i], 'jerk'),
        ):
            if len(nodes) < count or limit == math.inf:
                continue
            found, noise = divided_difference(nodes[:count], i)
            if factor * (abs(found) - noise) > limit * (1.0 + _SLACK):
                yield Mismatch(
                    f'command[{limits.names[i]}]',
                    f'at most {number(limit)} of {name} over {count} commands',
                    number(factor * abs(found)),
                )


@of_decision('command-motion', contract=True)
def command_rotation(link: DecisionLink) -> Found:
    """Yield where a rotation is none, or is turned too far."""
    declared, decision = known(link.terms), link.decision
    command, previous = decision.command, decision.inputs.previous_command
    if len(command) != len(declared.limits.low):
        return
    stopped = decision.verdict is Verdict.STOPPED
    seconds = decision.inputs.time_step
    for rotation in limits_of(decision, declared).rotations:
        now = [command[i] for i in rotation.dimensions]
        place = f'command[{rotation.dimensions[0]}..{rotation.dimensions[-1]}]'
        norm = math.hypot(*now)
        if not abs(norm - 1.0) <= _NORM:
            yield Mismatch(place, 'a norm of 1', number(norm))
            continue
        if len(previous) != len(command):
            continue
        was = [previous[i] for i in rotation.dimensions]
        most, angle = 0.0 if stopped else rotation.rate * seconds, _angle(was, now)
        if not angle <= most + _ANGLE:
            yield Mismatch(
                place,
                f'turned by at most {number(most)} rad in {number(seconds)} s',
                f'by {number(angle)} rad',
            )


def _angle(one: Sequence[float], other: Sequence[float]) -> float:
    """
    Return the angle (rad) from one rotation to another.

    Of the vector part of the product q p*, whose length is the sine of half the angle.
    """
    x, y, z, w = one
    a, b, c, d = other
    vector = (
        w * a - d * x + y * c - z * b,
        w * b - d * y + z * a - x * c,
        w * c - d * z + x * b - y * a,
    )
    scalar = w * d + x * a + y * b + z * c
    return 2.0 * math.atan2(math.hypot(*vector), abs(scalar))
