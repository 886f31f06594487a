# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what the gate let through, what it changed, and whether it says so."""

from __future__ import annotations

from dataclasses import replace
import math

from boundary_env_ros.core.contract.model import ActionKind, Pacing
from boundary_env_ros.core.contract.safety import OnForeignPublisher, OnTimeout
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.commands import translate, turned, turned_all
from boundary_env_ros.core.gate.decision import ActionRequest, GateDecision, Trigger, Verdict
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another
from boundary_env_ros.core.gate.rules.braking import safe_from
from boundary_env_ros.core.gate.rules.limits import FEEDBACK, OPERATOR
from boundary_env_ros.core.gate.rules.recorded import was_silent
from boundary_env_ros.core.timebase import elapsed, NANOSECONDS
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    close,
    format_value,
    Found,
    is_republished,
    known,
    Link,
    Mismatch,
    number,
    of_decision,
    Terms,
    unlike,
    vector,
)

#: Verdicts under which the robot goes on as it was asked to.
MOVING = (Verdict.ADMITTED, Verdict.LIMITED, Verdict.HELD)

#: What makes the gate decide on an action of the policy.
OF_POLICY = (Trigger.REQUEST, Trigger.CHUNK)

#: Rules that refuse an action by what it means.
OF_THE_ACTION = frozenset({'bounds', 'rotation'})


def refused_unheard(decision: GateDecision) -> bool:
    """Return whether it was refused before the rules about the action were asked."""
    return decision.verdict is Verdict.REJECTED and any(
        result.rule not in OF_THE_ACTION for result in decision.rules
    )


def same_numbers(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Return whether two vectors are the same but for rounding."""
    return len(one) == len(other) and all(map(close, one, other))


@of_decision(catalogue.DECISION_SEQUENCE, near=True)
def _decision_sequence(link: Link) -> Found:
    before, sequence = link.before, link.decision.sequence
    if before is None or (sequence == 1 and not link.direct):
        return
    expected = before.sequence + 1
    if sequence != expected and (link.direct or sequence < expected):
        yield Mismatch('sequence', str(expected), str(sequence))


@of_decision(catalogue.DECISION_EXPLAINED)
def _verdict_explained(link: Link) -> Found:
    decision = link.decision
    expected = max((result.outcome for result in decision.rules), default=Verdict.ADMITTED)
    if decision.verdict is not expected:
        yield Mismatch('verdict', f'{expected.name}, by {_rules(decision)}', decision.verdict.name)


def _rules(decision: GateDecision) -> str:
    return ', '.join(result.rule for result in decision.rules) or 'no rule'


def _name(terms: Terms | None, dimension: int) -> str:
    names = () if terms is None else terms.limits.names
    return names[dimension] if 0 <= dimension < len(names) else f'dimension {dimension}'


@of_decision(catalogue.DECISION_EXPLAINED)
def _hidden_clip(link: Link) -> Found:
    terms = link.terms
    decision = link.decision
    if decision.verdict not in MOVING:
        return
    start, end = _asked_for(decision, terms), decision.command
    if len(start) != len(end):
        yield Mismatch('command', f'{len(start)} values', f'{len(end)}')
        return
    values = list(start)
    for i, result in enumerate(decision.rules):
        if result.outcome is not Verdict.LIMITED:
            continue
        if (
            not 0 <= result.dimension < len(values)
            or result.before is None
            or result.after is None
        ):
            yield Mismatch(
                f'rules[{i}]',
                'a dimension, and its value before and after',
                f'{result.rule} of {_name(terms, result.dimension)}',
            )
            return
        if not close(result.before, values[result.dimension]) or result.before == result.after:
            yield Mismatch(
                f'rules[{i}].before',
                f'{number(values[result.dimension])}, and a change',
                f'{number(result.before)} to {number(result.after)}',
            )
        values[result.dimension] = result.after
    for i, (explained, commanded) in enumerate(zip(values, end, strict=True)):
        if not close(explained, commanded):
            yield Mismatch(
                f'command[{_name(terms, i)}]',
                f'{number(explained)}, left of {number(start[i])} by {_rules(decision)}',
                number(commanded),
            )


def _asked_for(decision: GateDecision, terms: Terms | None) -> Vector:
    """
    Return the command that was asked for, before any rule, that of its own bounds included.

    A difference is added to the command before; an index names its command.
    """
    wanted = decision.requested_command
    if decision.trigger not in OF_POLICY:
        return wanted
    if terms is None:
        return _before_own_bounds(decision)
    contract, asked = terms.contract, decision.requested_action
    if len(asked) != contract.action_size:
        return asked
    previous = decision.previous_command
    command: list[float] = []
    for group in contract.action:
        values, asked = asked[: group.action_size], asked[group.action_size :]
        before = previous[len(command) : len(command) + group.size]
        if group.kind is ActionKind.CONTINUOUS:
            command += turned(group, values, before)
        elif group.kind is ActionKind.DELTA:
            command += (was + value for was, value in zip(before, values, strict=False))
        else:
            chosen, _ = translate((group,), values, before)
            command += () if chosen is None else chosen
    return tuple(command)


def _before_own_bounds(decision: GateDecision) -> Vector:
    """Return the wanted command, with what the bounds of a difference took from it put back."""
    wanted = list(decision.requested_command)
    for result in decision.rules:
        if result.rule != 'bounds' or not 0 <= result.dimension < len(wanted):
            break
        if result.before is None or result.after != wanted[result.dimension]:
            break
        wanted[result.dimension] = result.before
    return tuple(wanted)


@of_decision(catalogue.WANTED_COMMAND, contract=True, near=True)
def _wanted_command(link: Link) -> Found:
    decision = link.decision
    expected = _wanted(link, known(link.terms))
    if expected and not any(same_numbers(one, decision.requested_command) for one in expected):
        yield Mismatch(
            'requested_command',
            ' or '.join(map(vector, expected)),
            vector(decision.requested_command),
        )


def _wanted(link: Link, terms: Terms) -> tuple[Vector, ...]:
    """Return what the wanted command of a decision may be; nothing if that cannot be told."""
    decision, contract = link.decision, terms.contract
    if refused_unheard(decision):
        return ((),)
    if decision.trigger in OF_POLICY:
        return ()  # `ruling-recomputed` makes it of the requested action.
    if decision.trigger is Trigger.OPERATOR:
        hand = commanded_by_hand(decision)
        return (turned_all(contract.action, hand, decision.previous_command),)
    if decision.trigger is Trigger.PROBE:
        return _probed(link, terms)
    last = link.published
    if decision.verdict is Verdict.STOPPED:
        # Nothing is in force when the driver has taken over, or the lease has ended.
        if link.goal is None:
            return ()
        return ((), link.goal, last.command if last else (), *_let_go(link, terms))
    if holds_for_another(decision) and link.goal is None:
        return (safe_from(terms.safe, decision.previous_command),)
    if is_republished(decision):
        if link.goal is None:
            return () if link.before is None else ((),)
        return (link.goal, *_let_go(link, terms))
    previous = decision.previous_command
    if len(previous) != len(terms.safe):
        return ()
    if contract.safety.on_timeout is OnTimeout.HOLD:
        # Where a profile comes to rest is computed again by `ruling-recomputed`.
        free = set(terms.limits.profiled)
        found = decision.requested_command
        if len(found) != len(previous):
            return (previous,)
        return (tuple(found[i] if i in free else was for i, was in enumerate(previous)),)
    return (safe_from(terms.safe, previous),)


def _let_go(link: Link, terms: Terms) -> tuple[Vector, ...]:
    """
    Return the commands that may be in force since an operator took over or let go.

    When his hand fell silent stands in no decision: it was after the last one that was obeyed.
    """
    return () if terms.contract.safety.operator is None else link.since_obeyed


def commanded_by_hand(decision: GateDecision) -> Vector:
    """Return what the operator commands, as the gate had it; empty if it had nothing."""
    found = next((m for m in decision.measurements if m.name == OPERATOR), None)
    return () if found is None else found.values[:-1]


def _probed(link: Link, terms: Terms) -> tuple[Vector, ...]:
    """Return the probe; what takes no part in it is sent to where it is safe, or stays."""
    decision = link.decision
    wanted = decision.requested_command
    measured = {m.name: m.values for m in decision.measurements}
    command: list[float] = []
    for group in terms.contract.action:
        start = len(command)
        now = measured.get(f'{FEEDBACK}.{group.name}', ())
        stays = len(now) == group.size and link.goal is None
        for i, safe in enumerate(group.safe):
            place = start + i
            if group.driver_timeout_probe:
                command.append(group.driver_timeout_probe[i])
            elif not math.isnan(safe):
                command.append(safe)
            elif stays:
                command.append(now[i])
            else:
                # It follows what is measured, or what was sent before; both are in the record.
                command.append(wanted[place] if place < len(wanted) else math.nan)
    return ((), tuple(command)) if decision.verdict is Verdict.STOPPED else (tuple(command),)


@of_decision(catalogue.DECISION_EXPLAINED)
def _refusal_publishes_nothing(link: Link) -> Found:
    terms = link.terms
    decision = link.decision
    if decision.verdict is Verdict.REJECTED:
        for name in ('command', 'admitted_action'):
            if getattr(decision, name):
                yield Mismatch(name, 'nothing for REJECTED', vector(getattr(decision, name)))
    elif terms is not None and not terms.contract.command_size:
        pass  # documents alone: there is no command
    elif not (decision.command or was_silent(decision) or _nowhere_to_stay(decision, terms)):
        yield Mismatch('command', f'a command for {decision.verdict.name}', 'nothing')


def _nowhere_to_stay(decision: GateDecision, terms: Terms | None) -> bool:
    """Return whether no command is right: to stop is to stay, and where is unknown."""
    return (
        decision.verdict is Verdict.STOPPED
        and not decision.previous_command
        and (terms is None or any(map(math.isnan, terms.safe)))
    )


@of_decision(catalogue.INSTANTS_IN_ORDER)
def _decision_stamped(link: Link) -> Found:
    decision = link.decision
    needed = {'commanded': decision.published, 'received': decision.request is not None}
    for name, is_needed in needed.items():
        if (getattr(decision, name) is not None) != is_needed:
            expected = 'an instant' if is_needed else 'none'
            yield Mismatch(name, expected, format_value(getattr(decision, name)))
    passed = elapsed(decision.received, decision.commanded)
    if passed is not None and passed < 0:
        yield Mismatch('commanded', 'not before `received`', f'{number(passed)} s')


@of_decision(catalogue.REQUEST_VALID)
def _request_carried(link: Link) -> Found:
    decision, request = link.decision, link.decision.request
    if (decision.trigger in OF_POLICY) != (request is not None):
        expected, actual = ('one', 'none') if request is None else ('none', 'one')
        yield Mismatch('request', f'{expected} for {decision.trigger.name}', actual)
    asked = () if request is None else _action_of(request, decision)
    yield from unlike('requested_action', asked, decision.requested_action, 'as in the request')
    if request is None:
        return
    yield from unlike('id', replace(request.id, step=decision.id.step), decision.id)
    if not _is_of_request(request, decision):
        expected = f'a step that request {request.sequence} from {request.id.step} on is for'
        yield Mismatch('id.step', expected, str(decision.id.step))


def _is_of_request(request: ActionRequest, decision: GateDecision) -> bool:
    """Return whether a decision is for the first step of a request, or a later one of a chunk."""
    later = decision.id.step - request.id.step
    return later == 0 if decision.trigger is Trigger.REQUEST else 0 < later < request.horizon


def _action_of(request: ActionRequest, decision: GateDecision) -> Vector:
    """Return the action of a request that a decision is on: of a chunk, the one of its step."""
    if request.horizon <= 1:
        return request.action
    size = len(decision.requested_action)
    start = (decision.id.step - request.id.step) * size
    return request.action[start : start + size]


@of_decision(catalogue.REQUEST_VALID)
def _request_order(link: Link) -> Found:
    heard, request = link.heard, link.decision.request
    if request is None or heard is None or link.decision.verdict is Verdict.REJECTED:
        return
    if link.decision.trigger is Trigger.CHUNK:
        if request != heard:
            expected = f'request {heard.sequence}, the last that was heard, as it was then'
            yield Mismatch('request', expected, f'request {request.sequence}')
    elif heard.lease_id == request.lease_id and request.sequence <= heard.sequence:
        yield Mismatch('request.sequence', f'more than {heard.sequence}', str(request.sequence))


@of_decision(catalogue.ALLOWED_TO_MOVE)
def _allowed_to_move(link: Link) -> Found:
    decision, last, request = link.decision, link.published, link.decision.request
    if decision.verdict not in MOVING:
        return
    probing = decision.trigger is Trigger.PROBE
    why = f'for {decision.verdict.name} by {decision.trigger.name}'
    yield from unlike('armed', not probing, decision.armed, why)
    yield from unlike('emergency_stop', False, decision.emergency_stop, why)
    if bool(decision.id.episode_id) is probing:
        expected = 'none for a probe' if probing else 'an episode'
        yield Mismatch('id.episode_id', expected, repr(decision.id.episode_id))
    if request is not None and not (request.lease_id and request.id.episode_id):
        yield Mismatch('request.lease_id', 'a lease and an episode', 'nothing')
    if (
        decision.trigger is Trigger.TIMER
        and last is not None
        and last.verdict is Verdict.STOPPED
        and last.id.episode_id == decision.id.episode_id
    ):
        yield Mismatch('verdict', f'STOPPED, as in decision {last.sequence}', why)
    safety = None if link.terms is None else link.terms.contract.safety
    if safety is not None and safety.foreign_publisher is OnForeignPublisher.STOP:
        yield from unlike('foreign_publishers', 0, decision.foreign_publishers, why)


@of_decision(catalogue.REQUEST_VALID, contract=True)
def _action_age(link: Link) -> Found:
    contract, decision = known(link.terms).contract, link.decision
    request = decision.request
    if request is None or decision.verdict is Verdict.REJECTED:
        return
    age: float | None = None
    if contract.pacing is Pacing.REALTIME:
        age = elapsed(request.observed, decision.received)
    elif request.observed is not None and decision.received is not None:
        passed = decision.received.ros.nanoseconds - request.observed.ros.nanoseconds
        age = passed / NANOSECONDS
    limit = contract.safety.max_action_age
    if request.observed is None or (age is not None and abs(age) > limit):
        yield Mismatch(
            'request.observed', f'at most {number(limit)} s before `received`', number(age)
        )


@of_decision(catalogue.REQUEST_ANSWERED, near=True)
def _request_lost(link: Link) -> Found:
    seen, request = link.seen, link.decision.request
    if request is None or seen is None or seen.lease_id != request.lease_id:
        return
    if request.sequence > seen.sequence + 1:
        yield Mismatch('request.sequence', str(seen.sequence + 1), str(request.sequence))
