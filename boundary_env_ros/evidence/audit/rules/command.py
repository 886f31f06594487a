# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what was published: within the bounds, no faster than allowed, one after another."""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.core.contract.model import ActionKind, Pacing
from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.contract.sources import Trajectory, Vector
from boundary_env_ros.core.gate.commands import translate
from boundary_env_ros.core.gate.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.measured import departed, known_of, measured_command
from boundary_env_ros.core.gate.rules.recorded import was_deactivated
from boundary_env_ros.core.timebase import elapsed
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    close,
    Found,
    known,
    limits_of,
    Link,
    Mismatch,
    number,
    of_decision,
    outside,
    ROUNDING,
    Terms,
    unlike,
    vector,
)
from boundary_env_ros.evidence.audit.rules.gate import MOVING, OF_POLICY, same_numbers
from boundary_env_ros.evidence.audit.rules.recompute import ruling_of

#: Seconds that may pass between a decision of the gate's timer and its command.
BEFORE_COMMAND = 0.05


@of_decision(catalogue.COMMAND_IN_BOUNDS, contract=True)
def _command_in_bounds(link: Link) -> Found:
    limits, command = known(link.terms), link.decision.command
    if not command:
        return
    if len(command) != len(limits.low):
        yield Mismatch('command', f'{len(limits.low)} values', str(len(command)))
        return
    previous = link.decision.previous_command
    for i, value in enumerate(command):
        low, high = limits.low[i], limits.high[i]
        if math.isnan(limits.safe[i]) and len(previous) == len(command):
            # A place that was measured outside may stay there, or come back.
            low, high = min(low, previous[i]), max(high, previous[i])
        yield from outside(f'command[{limits.names[i]}]', value, low, high)
    decision = link.decision
    if decision.runtime_limits.low or decision.runtime_limits.high:
        yield from _in_tighter_bounds(decision, limits_of(decision, limits), limits.names)


def _in_tighter_bounds(decision: GateDecision, limits: Limits, names: Sequence[str]) -> Found:
    """Yield what is out of tighter bounds, and farther than the command before was."""
    previous = decision.previous_command or decision.command
    for i in limits.plain:  # what follows a profile may have to brake outside of them
        low, high = min(limits.low[i], previous[i]), max(limits.high[i], previous[i])
        value, why = decision.command[i], 'as `runtime_limits` says'
        yield from outside(f'command[{names[i]}]', value, low, high, why)


@of_decision(catalogue.COMMAND_MOTION, contract=True)
def _command_rate(link: Link) -> Found:
    declared, decision = known(link.terms), link.decision
    command, previous = decision.command, decision.previous_command
    if len(command) != len(declared.rate):
        return
    stopped = decision.verdict is Verdict.STOPPED
    if len(previous) != len(command):
        # With nothing known of the state the only command is the safe one.
        if not (stopped and same_numbers(command, declared.safe)):
            expected = 'the command before, unless this is the safe one'
            yield Mismatch('previous_command', expected, vector(previous))
        return
    limits, names = limits_of(decision, declared), declared.names
    told = _told_to_take(declared)
    braked = brakes(decision, declared)
    for i in limits.bounded:
        value, was = command[i], previous[i]
        safe = was if math.isnan(declared.safe[i]) else declared.safe[i]
        nothing_to_brake = stopped and decision.seeded and i in limits.speeds
        if nothing_to_brake and close(value, safe):
            continue
        # What follows a profile when its rate is made tighter has to slow down first.
        rate = (declared if i in limits.profiled else limits).rate[i]
        seconds = min(decision.time_step or 0.0, told[i])
        most = (declared.stop[i] if braked else rate) * seconds
        place, why = (
            f'command[{names[i]}]',
            f'within {number(seconds)} s of {number(was)}',
        )
        yield from outside(place, value, was - most, was + most, why)
        if braked and limits.deceleration[i] < math.inf:
            rate = decision.previous_rate[i] if decision.previous_rate else 0.0
            least, most = sorted((was, was + rate * seconds))
            yield from outside(place, value, least, most, why)
        elif braked and abs(value - safe) > abs(was - safe) + ROUNDING:
            yield Mismatch(place, f'from {number(was)} towards {number(safe)}', number(value))


def _told_to_take(terms: Terms) -> list[float]:
    """Return the seconds within which a driver is told to be where it is sent, by dimension."""
    return [
        group.source.duration if isinstance(group.source, Trajectory) else math.inf
        for group in terms.contract.action
        for _ in group.low
    ]


def brakes(decision: GateDecision, terms: Terms) -> bool:
    """Return whether a decision follows the stop profile: a stop, or a hold that is to brake."""
    return decision.verdict is Verdict.STOPPED or (
        terms.contract.safety.on_timeout is OnTimeout.SAFE
        and any(result.reason is Reason.COMMAND_LATE for result in decision.rules)
    )


@of_decision(catalogue.PREVIOUS_COMMAND, near=True)
def _previous_command(link: Link) -> Found:
    terms = link.terms
    decision, last = link.decision, in_force(link, terms)
    if decision.verdict is Verdict.REJECTED:
        return
    if last is not None:
        anew = decision.seeded or not decision.previous_command
        if anew and _may_begin_anew(link, last, terms):
            return
        why = f'of decision {last.sequence}'
        yield from unlike('seeded', False, decision.seeded, why)
        if not decision.seeded and not _goes_on(link, last, terms):
            yield from unlike('previous_command', last.command, decision.previous_command, why)
    elif link.before is not None and not decision.seeded and decision.previous_command:
        if terms is None and decision.previous_command == link.before.command:
            return  # whether a reset moved the robot only the contract says
        expected = 'the measured state before the first command of an episode'
        yield Mismatch('seeded', expected, vector(decision.previous_command))


def begins_anew(last: GateDecision, decision: GateDecision) -> bool:
    """Return whether the gate was asked for something anew: in an episode, or a probe."""
    return last.id.episode_id != decision.id.episode_id or (
        decision.trigger is Trigger.PROBE and last.trigger is not Trigger.PROBE
    )


def in_force(link: Link, terms: Terms | None) -> GateDecision | None:
    """
    Return the decision whose command was in force before another; None if there was none.

    A lease is nothing that a driver knows of: a command outlives it, unless a reset may have moved
    the robot since, the gate was deactivated, or it is another one.
    """
    last, decision = link.published, link.decision
    ended = link.deactivated and not was_deactivated(decision)
    if last is None or ended or decision.sequence == 1:
        return None
    moved = terms is None or terms.contract.episode.reset.moves_robot
    return None if moved and begins_anew(last, decision) else last


def _goes_on(link: Link, last: GateDecision, terms: Terms | None) -> bool:
    """
    Return whether the command before a decision is the last one that was published.

    A stop begins at the safe command, or at the measured place, where a driver has taken over.
    """
    decision = link.decision
    previous = decision.previous_command
    if previous == last.command:
        return True
    if terms is None or not len(previous) == len(last.command) == len(terms.safe):
        return False
    # Between two episodes it may have braked, which is in no step.
    unseen = begins_anew(last, decision) and not link.direct
    left = left_alone(last, decision, terms)
    measured = known_since(link, terms)
    return all(
        now == was or (now == safe and (gone or unseen)) or (now == there and gone)
        for now, was, safe, there, gone in zip(
            previous, last.command, terms.safe, measured, left, strict=True
        )
    )


def _may_begin_anew(link: Link, last: GateDecision, terms: Terms | None) -> bool:
    """Return whether a decision may take the command before from the measured state."""
    decision = link.decision
    if terms is None or any(left_alone(last, decision, terms)):
        return True
    if begins_anew(last, decision) and not link.direct:
        return True  # what became of the gate in between is in no step
    contract = terms.contract
    measured = _measured(decision, last, terms)
    asked = decision.trigger is not Trigger.TIMER
    if not asked or contract.pacing is Pacing.LOCKSTEP or measured is None:
        return False
    return any(departed(terms.limits, last.command, measured))


def known_since(link: Link, terms: Terms) -> Vector:
    """Return what a decision knew of the robot since the last command; NaN for nothing."""
    found = {measurement.name: measurement for measurement in link.decision.measurements}
    return known_of(limits_of(link.decision, terms), found, since_sent(link, terms))


def since_sent(link: Link, terms: Terms) -> float:
    """Return the seconds from the last command to a decision; infinity where none tells."""
    last, decision = link.published, link.decision
    if last is None or terms.contract.pacing is Pacing.LOCKSTEP or decision.sequence == 1:
        return math.inf
    since = elapsed(last.commanded, decision.decided or decision.commanded)
    return math.inf if since is None else since + ROUNDING


def _measured(decision: GateDecision, last: GateDecision, terms: Terms) -> Vector | None:
    """Return what the robot did, to be held against the last command; None if that is unknown."""
    found = {measurement.name: measurement for measurement in decision.measurements}
    measured = measured_command(limits_of(decision, terms), found)
    return measured if measured is None or len(measured) == len(last.command) else None


def left_alone(
    last: GateDecision, decision: GateDecision, terms: Terms, *, surely: bool = False
) -> tuple[bool, ...]:
    """
    Return, by dimension, whether the gate was silent until its driver braked by itself.

    Parameters
    ----------
    last, decision
        The last decision that published a command, and the one in question.
    terms
        The contract.
    surely
        False: it may have been, as far as the record tells.

    """
    silence = elapsed(last.commanded, decision.commanded)
    # A probe ends when the drivers were seen to brake, however soon.
    probed = last.trigger is Trigger.PROBE is not decision.trigger
    # The gate looks at its clock before it publishes, so the silence may seem shorter than it was.
    slack = terms.contract.period / 2.0 * (1.0 if surely else -1.0)
    return tuple(
        group.driver_timeout is not None and not surely
        if silence is None or (probed and group.driver_timeout_probe)
        else group.driver_timeout is not None and silence > group.driver_timeout + slack
        for group in terms.contract.action
        for _ in group.low
    )


@of_decision(catalogue.INPUTS_RECOMPUTED, contract=True, near=True)
def _time_step(link: Link) -> Found:
    limits, decision = known(link.terms), link.decision
    if decision.verdict is Verdict.REJECTED:
        return
    period, actual = limits.contract.period, decision.time_step
    expected: float | None = None
    most = period
    last = link.published
    if limits.contract.pacing is Pacing.LOCKSTEP:
        expected = period
    elif last is not None and last.sequence < decision.sequence:  # else it is of another gate
        passed = elapsed(last.commanded, decision.decided)
        # Between two episodes it may have braked, which is in no step.
        if passed is not None and not begins_anew(last, decision):
            expected = min(max(passed, 0.0), period)
        # A decision is made before its command is out, so this much time at most has passed.
        bound = elapsed(last.commanded, decision.commanded)
        if bound is not None:
            most = min(period, max(bound, 0.0))
    least, most = (0.0, most) if expected is None else (expected, min(expected, most))
    yield from outside('time_step', actual, least, most, 's')


@of_decision(catalogue.PREVIOUS_COMMAND, near=True)
def _previous_rate(link: Link) -> Found:
    terms = link.terms
    last, decision = link.published, link.decision
    if last is None or decision.verdict is Verdict.REJECTED or begins_anew(last, decision):
        return
    rate: Vector = ()
    acceleration: Vector = ()
    if not decision.seeded:
        found = _motion_after(last, terms)
        if found is None:
            return
        rate, acceleration = found
    for name, expected in (('previous_rate', rate), ('previous_acceleration', acceleration)):
        actual = getattr(decision, name)
        if not same_numbers(expected, actual):
            yield Mismatch(name, vector(expected), vector(actual))


def _motion_after(last: GateDecision, terms: Terms | None) -> tuple[Vector, Vector] | None:
    """Return rate and acceleration after a decision; None if nothing in the record tells."""
    before, seconds = last.previous_command or last.command, last.time_step
    rate = tuple(
        (value - was) / seconds if seconds else 0.0
        for value, was in zip(last.command, before, strict=False)
    )
    if terms is None:
        return None if last.previous_acceleration else (rate, ())
    if not terms.limits.profiled:
        return rate, ()
    # The state of a profile is not in what was published: it is computed again.
    ruling = ruling_of(last, terms.limits, {m.name: m for m in last.measurements})
    return None if ruling is None else (ruling.rate, ruling.acceleration)


@of_decision(catalogue.INPUTS_RECOMPUTED, contract=True, near=True)
def _silence_recomputed(link: Link) -> Found:
    decision, last, limits = link.decision, link.obeyed, known(link.terms)
    if limits.contract.pacing is not Pacing.REALTIME or decision.verdict is Verdict.REJECTED:
        return
    if (
        last is None
        or last.id.episode_id != decision.id.episode_id
        # A client that arms the gate for the next episode meanwhile is not silent.
        or any(result.reason is Reason.EPISODE_OVER for result in decision.rules)
    ):
        return
    since = elapsed(last.decided or last.commanded, decision.decided or decision.commanded)
    if since is None:
        return
    least = since
    if decision.decided is None:
        least -= limits.contract.safety.gate_period + BEFORE_COMMAND
    most = since if last.decided else since + BEFORE_COMMAND
    why = f's since decision {last.sequence}'
    yield from outside('since_request', decision.since_request, least, most, why)


@of_decision(catalogue.REQUEST_VALID, contract=True)
def _action_in_space(link: Link) -> Found:
    contract, decision = known(link.terms).contract, link.decision
    if decision.verdict not in MOVING:
        return
    places = [('admitted_action', decision.admitted_action)]
    if decision.trigger in OF_POLICY:
        places.append(('requested_action', decision.requested_action))
    for name, action in places:
        if len(action) != contract.action_size:
            yield Mismatch(name, f'{contract.action_size} values', vector(action))
            continue
        start = 0
        for group in contract.action:
            values = action[start : start + group.action_size]
            start += group.action_size
            if group.kind not in (ActionKind.DISCRETE, ActionKind.MULTI_DISCRETE):
                continue
            unchanged = name == 'requested_action' or (
                decision.verdict is Verdict.ADMITTED and decision.trigger in OF_POLICY
            )
            # A command that was limited, or given by hand, need not be one that an index names.
            if any(math.isnan(value) for value in values) and not unchanged:
                continue
            if translate((group,), values, None)[0] is None:
                yield Mismatch(
                    f'{name} of {group.name}', 'an index of the contract', vector(values)
                )
