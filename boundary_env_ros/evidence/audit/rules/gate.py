# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what the gate let through, what it changed, and whether it says so."""

from __future__ import annotations

from itertools import pairwise

from boundary_env_ros.core.contract.model import slices_of
from boundary_env_ros.core.contract.safety import OnForeignPublisher
from boundary_env_ros.core.records.decision import Trigger, Verdict
from boundary_env_ros.core.timebase import elapsed
from boundary_env_ros.evidence.audit.rules.base import (
    DecisionLink,
    Found,
    known,
    Mismatch,
    of_decision,
    unlike,
)
from boundary_env_ros.evidence.record_difference import close, format_value, number, vector
from boundary_env_ros.frozen import replace

#: Verdicts under which the robot goes on as it was asked to.
MOVING = (Verdict.ADMITTED, Verdict.LIMITED, Verdict.HELD)


def same_numbers(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Return whether two vectors are the same but for rounding."""
    return len(one) == len(other) and all(map(close, one, other))


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
def _request_carried(link: DecisionLink) -> Found:
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
    heard = link.heard
    if decision.trigger is Trigger.CHUNK and heard is not None:
        yield from unlike('request', heard, request, 'as it was admitted')


@of_decision('decision-recomputed')
def _changes_said(link: DecisionLink) -> Found:
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
    seen, request = link.seen, link.decision.request
    if request is None or seen is None or seen.lease_id != request.lease_id:
        return
    if request.sequence > seen.sequence + 1:
        yield Mismatch('request.sequence', str(seen.sequence + 1), str(request.sequence))
