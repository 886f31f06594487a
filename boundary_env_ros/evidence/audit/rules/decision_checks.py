# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Checks of what a decision of the gate says of itself, and of the commands that it published.

How the sequence of commands moves is looked at without the functions of the gate. Of a curve whose
second derivative is at most A everywhere, the second divided difference of any three points is at
most A / 2 in magnitude; of one whose third is at most J, that of any four is at most J / 6: a
divided difference of order k is the mean of the k-th derivative over k! [1]_. So a sequence that
is not on such a curve is found, whatever the gate computed.

.. [1] Hermite-Genocchi; see C. de Boor: Divided Differences. Surveys in Approximation Theory 1,
   2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
import math

from boundary_env_ros.core.contract.model import slices_of
from boundary_env_ros.core.contract.safety import OnForeignPublisher, OnTimeout
from boundary_env_ros.core.gate.explain import unusable
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.core.records.decision import (
    ALIVE,
    GateDecision,
    Measurement,
    OPERATOR,
    Reason,
    RuntimeLimits,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.timebase import age_of, ClockReading, elapsed, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RequestRejected
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
from boundary_env_ros.evidence.record_difference import (
    close,
    format_value,
    Mismatch,
    number,
    ROUNDING,
    same,
    vector,
)
from boundary_env_ros.frozen import replace

#: Verdicts under which the robot goes on as it was asked to.
MOVING = (Verdict.ADMITTED, Verdict.LIMITED, Verdict.HELD)


@of_decision('episode-constant')
def _lease_constant(link: DecisionLink) -> Found:
    admitted, request = link.admitted, link.decision.request
    if request is None or admitted is None or link.decision.verdict is Verdict.REJECTED:
        return
    if admitted.id.episode_id == request.id.episode_id:
        for name in ('lease_id', 'client', 'client_version'):
            expected, actual = getattr(admitted, name), getattr(request, name)
            yield from unlike(f'request.{name}', expected, actual, 'as before')


@of_decision('decision-sequence', near=True)
def _decision_sequence(link: DecisionLink) -> Found:
    before, sequence = link.before, link.decision.sequence
    if before is None or (sequence == 1 and not link.direct):
        return
    expected = before.sequence + 1
    if sequence != expected and (link.direct or sequence < expected):
        yield Mismatch('sequence', str(expected), str(sequence))


@of_decision('instants-in-order')
def _decision_stamped(link: DecisionLink) -> Found:
    decision = link.decision
    needed = {'commanded': decision.published, 'received': decision.request is not None}
    for name, is_needed in needed.items():
        if (getattr(decision, name) is not None) != is_needed:
            expected = 'an instant' if is_needed else 'none'
            yield Mismatch(name, expected, format_value(getattr(decision, name)))
    instants = {name: getattr(decision, name) for name in ('received', 'decided', 'commanded')}
    hosts = {instant.ros.host for instant in instants.values() if instant is not None}
    if len(hosts) > 1:
        yield Mismatch(
            'decided', 'the host of `received` and `commanded`', ', '.join(sorted(hosts))
        )
    for (name, one), (after, other) in pairwise(instants.items()):
        passed = elapsed(one, other)
        if passed is not None and passed < 0:
            yield Mismatch(after, f'not before `{name}`', f'{number(passed)} s')


@of_decision('request-valid')
def _request_matches(link: DecisionLink) -> Found:
    decision, request = link.decision, link.decision.request
    if request is None:
        return
    expected_id = replace(request.id, step=decision.id.step)
    if decision.verdict is Verdict.REJECTED:  # whichever agent a stranger names
        expected_id = replace(expected_id, agent=decision.id.agent)
    yield from unlike('id', expected_id, decision.id)
    # A decision is for the first step of a request, or a later one of its chunk.
    later = decision.id.step - request.id.step
    if not (later == 0 if decision.trigger is Trigger.REQUEST else 0 < later < request.horizon):
        expected = f'a step that request {request.sequence} from {request.id.step} on is for'
        yield Mismatch('id.step', expected, str(decision.id.step))
    admitted = link.admitted
    if decision.trigger is Trigger.CHUNK and admitted is not None:
        yield from unlike('request', admitted, request, 'as it was admitted')


@of_decision('decision-recomputed')
def _changes_recorded(link: DecisionLink) -> Found:
    # Also where no contract says what the gate had to change.
    decision = link.decision
    strictest = max((result.outcome for result in decision.rules), default=Verdict.ADMITTED)
    if decision.verdict in MOVING:
        yield from unlike('verdict', strictest, decision.verdict, 'by its strictest rule')
    if decision.verdict is not Verdict.ADMITTED:
        return
    pairs = {'command': decision.requested_command, 'admitted_action': decision.requested_action}
    for name, asked in pairs.items():
        actual = getattr(decision, name)
        # Nobody asks for an action where an operator or a probe gives the command.
        if asked and not same_numbers(asked, actual):
            yield Mismatch(name, f'{vector(asked)}, as requested', vector(actual))


@of_decision('decision-recomputed', contract=True)
def _probe_as_contract(link: DecisionLink) -> Found:
    decision, terms = link.decision, known(link.terms)
    if decision.trigger is not Trigger.PROBE:
        return
    if not any(group.driver_timeout_probe for group in terms.contract.action):
        yield Mismatch('trigger', 'another one: the contract has no probe', 'PROBE')
    wanted = decision.requested_command
    for group, part in slices_of(terms.contract.action):
        probe = group.driver_timeout_probe
        if wanted and probe and not same_numbers(probe, wanted[part]):
            yield Mismatch('requested_command', f'{vector(probe)}, the probe', vector(wanted))


@of_decision('allowed-to-move')
def _allowed_to_move(link: DecisionLink) -> Found:
    decision, last = link.decision, link.published
    probing, moving = decision.trigger is Trigger.PROBE, decision.verdict in MOVING
    if decision.verdict is Verdict.REJECTED and decision.published:
        yield Mismatch(
            'command', 'none: a rejected action moves nothing', vector(decision.command)
        )
    if not (probing or moving):
        return
    why = f'for {decision.verdict.name} by {decision.trigger.name}'
    yield from unlike('armed', not probing, decision.inputs.armed, why)
    if bool(decision.id.episode_id) is probing:
        expected = 'none for a probe' if probing else 'an episode'
        yield Mismatch('id.episode_id', expected, repr(decision.id.episode_id))
    if not moving:
        return
    yield from unlike('emergency_stop', False, decision.inputs.emergency_stop, why)
    yield from unlike('running', not probing, decision.inputs.running, why)
    if (
        # What was left of a chunk is gone by a stop, too.
        decision.trigger in (Trigger.TIMER, Trigger.CHUNK)
        and last is not None
        and last.verdict is Verdict.STOPPED
        and last.id.episode_id == decision.id.episode_id
    ):
        yield Mismatch('verdict', f'STOPPED, as in decision {last.sequence}', why)
    safety = None if link.terms is None else link.terms.contract.safety
    if safety is not None and safety.foreign_publisher is not OnForeignPublisher.REPORT:
        yield from unlike('foreign_publishers', 0, decision.inputs.foreign, why)


@of_decision('request-answered', near=True)
def _request_lost(link: DecisionLink) -> Found:
    last, request = link.last_request, link.decision.request
    if request is None or last is None or last.lease_id != request.lease_id:
        return
    if request.sequence > last.sequence + 1:
        yield Mismatch('request.sequence', str(last.sequence + 1), str(request.sequence))


#: Seconds by which two readings of two clocks may be apart without a jump of either.
_READING = 0.01


@of_decision('runtime-limits-stricter', contract=True)
def _tightened_stricter(link: DecisionLink) -> Found:
    declared, decision, before = known(link.terms), link.decision, link.before
    if decision.runtime_limits != RuntimeLimits():
        try:
            tightened_limits(declared.limits, decision.runtime_limits)
        except RequestRejected as error:
            yield Mismatch('runtime_limits', 'stricter limits than the contract', str(error))
            return
    if (
        before is None
        or before.runtime_limits == decision.runtime_limits
        or not (before.inputs.armed and decision.inputs.armed and decision.id.episode_id)
        or before.id.episode_id != decision.id.episode_id
    ):
        return
    was, now = limits_of(before, declared), limits_of(decision, declared)
    for name, one, other in _looser(was, now):
        yield Mismatch(
            f'runtime_limits.{name}',
            f'as strict as {number(one)} of decision {before.sequence}',
            number(other),
        )


def _looser(was: Limits, now: Limits) -> Iterator[tuple[str, float, float]]:
    """Yield what has become less strict, with its numbers."""
    for name, sign in (('low', -1.0), ('high', 1.0), ('rate', 1.0)):
        for i, (one, other) in enumerate(zip(getattr(was, name), getattr(now, name), strict=True)):
            if sign * other > sign * one:
                yield f'{name}[{i}]', one, other
    if now.safety.command_timeout > was.safety.command_timeout:
        yield 'command_timeout', was.safety.command_timeout, now.safety.command_timeout


@of_decision('foreign-publisher')
def _foreign_publisher(link: DecisionLink) -> Found:
    found = _foreign(link.decision)
    # It is reported when it comes, not with every decision for as long as it stays.
    if not found or (link.before is not None and found == _foreign(link.before)):
        return
    for topic, others in found.items():
        yield Mismatch('foreign_publishers', f'no foreign publisher on {topic}', str(others))


def _foreign(decision: GateDecision) -> dict[str, int]:
    """Return how many foreign publishers a decision counts, by topic, as far as it names them."""
    inputs = decision.inputs
    found = {each.topic: each.count for each in inputs.foreign_publishers}
    return (
        {'a command topic': inputs.foreign_commands, **found} if inputs.foreign_commands else found
    )


@of_decision('inputs-recomputed', contract=True)
def _tick_recomputed(link: DecisionLink) -> Found:
    decision, last = link.decision, link.ticked
    if known(link.terms).contract.is_lockstep:
        return
    for name in ('since_tick', 'since_environment'):
        seconds = getattr(decision.inputs, name)
        if seconds is not None:
            yield from outside(name, seconds, 0.0, math.inf, 's')
    if (
        last is None
        or last.sequence > decision.sequence
        or last.id.episode_id != decision.id.episode_id
        or not decision.id.episode_id
    ):
        return
    passed = elapsed(last.decided, decision.decided)
    if passed is not None:
        why = f's, since decision {last.sequence}'
        # The timer may have run while a request was waiting for its turn.
        yield from outside('since_tick', decision.inputs.since_tick, 0.0, max(passed, 0.0), why)


@of_decision('inputs-recomputed', contract=True, near=True)
def _environment_silence(link: DecisionLink) -> Found:
    decision, last = link.decision, link.before
    if (
        known(link.terms).contract.is_lockstep
        or last is None
        or decision.sequence != last.sequence + 1
    ):
        return
    was, now = last.inputs.since_environment, decision.inputs.since_environment
    passed = elapsed(last.decided, decision.decided)
    if was is not None and now is not None and passed is not None:
        why = f's, by what decision {last.sequence} had heard'
        yield from outside('since_environment', now, 0.0, was + max(passed, 0.0), why)


@of_decision('allowed-to-move', contract=True)
def _clock_recomputed(link: DecisionLink) -> Found:
    decision, last, contract = link.decision, link.published, known(link.terms).contract
    if (
        last is None
        or last.commanded is None
        or decision.verdict not in MOVING
        # A robot at rest is not stopped again at every run of the timer.
        or last.verdict is Verdict.STOPPED
        or contract.is_lockstep
        or contract.sim_time
        or begins_anew(last, decision)
    ):
        return
    jump = _jumped(last.commanded, decision.decided)
    if jump is None or abs(jump) <= contract.safety.clock_jump + _READING:
        return
    yield Mismatch(
        'clock_error', f'{number(jump)} s, and STOPPED', number(decision.inputs.clock_error)
    )


def _jumped(start: ClockReading, end: ClockReading) -> float | None:
    """Return by how many seconds ROS time has moved further than steady time; None if unknown."""
    steady = elapsed(start, end)
    if steady is None or start.ros.clock is not end.ros.clock:
        return None
    return (end.ros.nanoseconds - start.ros.nanoseconds) / NANOSECONDS - steady


@of_decision('inputs-recomputed', contract=True)
def _measurement_age(link: DecisionLink) -> Found:
    decision = link.decision
    for i, measurement in enumerate(decision.inputs.measurements):
        if not measurement.received_steady:
            continue
        if known(link.terms).contract.is_lockstep:
            # Only simulated time ages what was measured.
            age = age_of(measurement.captured, decision.decided)
        else:
            age = _worse_age(measurement, decision.decided)
        if age is not None:
            why = f's since {measurement.name!r} came and was captured'
            yield from outside(f'measurements[{i}].age', measurement.age, age, age, why)


def _worse_age(measurement: Measurement, now: ClockReading) -> float:
    """Return the age by arrival or by capture, whichever is worse."""
    age = (now.steady - measurement.received_steady) / NANOSECONDS
    captured = measurement.captured
    if captured is not None and captured.host == now.ros.host:
        since = age_of(captured, now)
        age = age if since is None else max(age, abs(since))
    return age


@of_decision('measurements-as-contract', contract=True)
def _measurements_as_contract(link: DecisionLink) -> Found:
    contract, decision = known(link.terms).contract, link.decision
    sizes = {name: need.size for name, need in known(link.terms).limits.needs.items()}
    if contract.safety.operator is not None:
        sizes[OPERATOR] = contract.command_size + 1  # and the switch
    of_fields = {f'{ALIVE}.{field.name}': field.size for field in contract.fields}
    found = {measurement.name: measurement for measurement in decision.inputs.measurements}
    if set(found) != set(sizes) or len(found) != len(decision.inputs.measurements):
        actual = ', '.join(measurement.name for measurement in decision.inputs.measurements)
        yield Mismatch('measurements', ', '.join(sorted(sizes)), actual or 'none')
        return
    before = {} if link.before is None else {m.name: m for m in link.before.inputs.measurements}
    for name, measurement in found.items():
        size = sizes[name]
        if len(measurement.values) != size:
            # What was not measured is kept as it came, to be seen.
            size = of_fields.get(name, size) if unusable(measurement, contract) else size
        if measurement.values and len(measurement.values) != size:
            yield Mismatch(
                f'measurements.{name}.values', f'{size} values', str(len(measurement.values))
            )
        if name in before:
            place = f'measurements.{name}.topic'
            yield from unlike(place, before[name].topic, measurement.topic, 'as before')


def wrong_decision(in_step: GateDecision, published: GateDecision) -> Found:
    """Yield where a decision that a step carries is not the one that the gate published."""
    if not same(in_step, published):
        yield Mismatch(
            f'decision {in_step.sequence}',
            f'{published.verdict.name} {vector(published.command)}, as published',
            f'{in_step.verdict.name} {vector(in_step.command)}'
            + (' with other inputs' if in_step.command == published.command else ''),
        )


# Commands ----------------------------------------------------------------------------------------


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
