# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the record as a whole, which the auditor applies itself."""

from __future__ import annotations

from collections.abc import Sequence

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.environment.freezing import freeze, reading_of
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.timebase import ClockReading, elapsed
from boundary_env_ros.errors import WRONG_INPUT
from boundary_env_ros.evidence.audit.rules.audit_rule import AuditTerms, Found, unlike
from boundary_env_ros.evidence.audit.rules.observation_checks import wrong_field
from boundary_env_ros.evidence.record_difference import (
    first_difference,
    Mismatch,
    number,
)
from boundary_env_ros.frozen import replace

#: Steps in which a value must be the same, each time another one, to be no coincidence.
COINCIDENCES = 3

#: Names of the privileged field and of the observation's, with the places in them.
Pair = tuple[str, int, str, int]


def leaking(
    record: PrivilegedObservation, step: Transition, seen: dict[Pair, tuple[float, int]]
) -> Found:
    """
    Yield the privileged values that the policy saw from elsewhere, in step after step.

    Parameters
    ----------
    record, step
        The record of privileged fields of a step, and the step.
    seen
        Last common value of each pair of places, and how many there were; kept up to date.

    """
    values = {
        (field.name, i): value
        for field in record.fields
        for i, value in enumerate(field.values)
        # A number that many things could be: 0, 1, a count, a bound.
        if not float(value * 8.0).is_integer()
    }
    sources = {field.name: field.source for field in record.fields}
    for field in step.after:
        if field.clipped:
            continue
        places = {value: i for i, value in enumerate(field.values)}
        for (name, i), value in values.items():
            place = places.get(value)
            if place is None or sources[name] == field.source:
                continue
            pair = (name, i, field.name, place)
            last, count = seen.get(pair, (None, 0))
            if last == value:
                continue
            seen[pair] = (value, count + 1)
            if count + 1 == COINCIDENCES:
                yield Mismatch(
                    f'after.{field.name}.values[{place}]',
                    'nothing privileged',
                    f'{name}[{i}] of {sources[name]}, bit by bit, in {count + 1} steps',
                )


def wrong_privileged(record: PrivilegedObservation, terms: AuditTerms) -> Found:
    """Yield where a record of privileged fields is not of the contract."""
    expected = tuple(spec.name for spec in terms.contract.privileged)
    actual = tuple(found.name for found in record.fields)
    if actual != expected:
        yield Mismatch(
            'privileged.fields', ', '.join(expected) or 'none', ', '.join(actual) or 'none'
        )
    for spec, field in zip(terms.contract.privileged, record.fields, strict=False):
        if spec.name == field.name:
            yield from wrong_field(f'privileged.{field.name}', spec, field, goes_on=False)


def other_contract(place: str, id_: StepId, terms: AuditTerms) -> Found:
    """Yield where what is no step is of another contract, or of none of its agents."""
    yield from unlike(f'{place}.digest', terms.digest, id_.digest)
    if id_.agent not in terms.contract.agents:
        expected = f'one of {", ".join(terms.contract.agents)}'
        yield Mismatch(f'{place}.agent', expected, repr(id_.agent))


def frozen_otherwise(
    fields: Sequence[ObservationField], specs: Sequence[FieldSpec], closed: ClockReading
) -> Found:
    """Yield where privileged fields are not what freezing them once more makes of them."""
    if tuple(field.name for field in fields) != tuple(spec.name for spec in specs):
        return  # which is named by the rule about fields
    latest = {
        field.name: reading_of(field)
        for field in fields
        if field.values or field.image or field.document
    }
    try:
        again = freeze(
            specs, latest, {field.name: field.source for field in fields}, observed=closed
        )
    except WRONG_INPUT:
        return  # another number of values than the contract has, which is named elsewhere
    for ours, theirs in zip(again, fields, strict=True):
        first = first_difference(theirs, ours)
        if first is not None:
            yield replace(first, field=f'privileged.{theirs.name}.{first.field}')


def wrong_evidence(evidence: ActuationEvidence, decision: GateDecision, step: Transition) -> Found:
    """Yield where late evidence contradicts the decision and the step that it is for."""
    yield from unlike('evidence.id', decision.id, evidence.id, 'as in its decision')
    if step.actuated is not None and step.answer is decision:
        yield Mismatch(
            'actuated',
            'unknown when the step was closed',
            'known in the step, and late evidence besides',
        )
    stamp, start = evidence.actuated, evidence.commanded.ros
    same_clock = (stamp.clock, stamp.host) == (start.clock, start.host)
    if evidence.commanded != decision.commanded or (
        same_clock and stamp.nanoseconds < start.nanoseconds
    ):
        yield Mismatch(
            'actuated',
            'an instant after `commanded` of the decision',
            f'{(stamp.nanoseconds - start.nanoseconds) / 1e9:.6g} s after it',
        )


def shows(decision: GateDecision, contract: Contract) -> bool:
    """Return whether a robot that obeys a decision shows that in its feedback."""
    least = (value for group in contract.action for value in group.feedback.threshold)
    return decision.published and any(
        abs(command - previous) >= 2.0 * value
        for previous, command, value in zip(
            decision.inputs.previous_command, decision.command, least, strict=False
        )
    )


def wrong_ending(status: EpisodeStatus, last: Transition) -> Found:
    """Yield where the ending that was announced is not the one of the last step."""
    if last.id.episode_id != status.id.episode_id or not status.state.over:
        return
    if not (last.terminated or last.truncated):
        return
    recorded = (last.terminated, last.ending, last.declared_by, last.id.step)
    terminated = status.state is EpisodeState.TERMINATED
    announced = (terminated, status.ending, status.declared_by, status.id.step)
    if status.ending == last.ending == endings.ENVIRONMENT_LOST and last.truncated:
        # An environment that hung and woke up says so itself, after the recorder has.
        announced = (*announced[:2], *recorded[2:])
    if announced != recorded:
        yield Mismatch(
            'ending',
            f'{status.state.name.lower()} by {status.declared_by!r} for '
            f'{status.ending!r} at step {status.id.step}, as it was announced',
            f'{"terminated" if last.terminated else "truncated"} by '
            f'{last.declared_by!r} for {last.ending!r} at step {last.id.step}',
        )


def changed_status(status: EpisodeStatus, before: EpisodeStatus | None, last: Transition) -> Found:
    """Yield what a state of an episode says otherwise than the one before it, or its last step."""
    for other in (before, last):
        if other is None or other.id.episode_id != status.id.episode_id:
            continue
        for name in ('seed', 'pacing'):
            yield from unlike(f'status.{name}', getattr(other, name), getattr(status, name))
    if status.stamp is not None:
        clock = last.closed.ros.clock
        yield from unlike('status.stamp.clock', clock, status.stamp.ros.clock)
    for name in () if status.state.over else ('ending', 'declared_by'):
        yield from unlike(f'status.{name}', '', getattr(status, name))
    if before is None or before.id.episode_id != status.id.episode_id:
        return
    if before.client and status.client:
        yield from unlike('status.client', before.client, status.client)
    # An environment that hung and woke up goes on, after the recorder has ended it.
    if before.ending == endings.ENVIRONMENT_LOST:
        return
    if status.state < before.state and not status.state.over:
        yield Mismatch('status.state', f'{before.state.name}, as before', status.state.name)
    if status.id.step < before.id.step:
        expected = f'at least {before.id.step}, as before'
        yield Mismatch('status.id.step', expected, str(status.id.step))


def announced_early(status: EpisodeStatus, now: Transition) -> Found:
    """Yield if a step was announced before it was closed."""
    same_step = (status.id.episode_id, status.id.step) == (now.id.episode_id, now.id.step)
    before = elapsed(status.stamp, now.closed)
    begun = status.state is not EpisodeState.RESETTING
    if same_step and begun and before is not None and before > 0:
        yield Mismatch(
            'status.id.step',
            f'{now.id.step} only once that step was closed',
            f'{number(before)} s before',
        )
