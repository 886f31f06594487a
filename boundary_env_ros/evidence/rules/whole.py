# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the record as a whole, which the auditor applies itself."""

from __future__ import annotations

from boundary_env_ros.core import causes
from boundary_env_ros.core.decision import GateDecision
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.transition import ActuationEvidence, EvaluatorRecord, Transition
from boundary_env_ros.evidence.rules.base import (
    Found,
    Mismatch,
    Rule,
    same,
    Severity,
    Terms,
    vector,
)

record_complete = Rule(
    id='record-complete',
    severity=Severity.ERROR,
    sentence=(
        'Every line and every message of the record can be read whole: no key is missing or '
        'unknown, no value of another type.'
    ),
    way_out='Record again with one version of this package, or look at who edited the file.',
)
record_not_empty = Rule(
    id='record-not-empty',
    severity=Severity.ERROR,
    sentence='A record holds at least one transition.',
    way_out='Look whether an episode was begun at all, and whether this is the right file.',
)
episode_ended = Rule(
    id='episode-ended',
    severity=Severity.ERROR,
    sentence='An episode has an ending before the next one of its agent begins.',
    way_out='Look for an ending that was taken out; an episode without one cannot be counted.',
)
record_ended = Rule(
    id='record-ended',
    severity=Severity.WARNING,
    sentence='The last episode of a record has an ending.',
    way_out='The record was cut off or still goes on; do not count its last episode.',
)
status_agrees = Rule(
    id='status-agrees',
    severity=Severity.ERROR,
    sentence='The ending that was announced while the robot ran is the one that the record holds.',
    way_out=(
        'Compare the topic of the episode status with the last step; one of the two was changed.'
    ),
)
mark_known = Rule(
    id='mark-known',
    severity=Severity.ERROR,
    sentence='A mark says who made it, and is on an episode of the record.',
    way_out=(
        'Look for records that were joined, or cut in two; nothing else in a record rests on a '
        'mark.'
    ),
)
decisions_agree = Rule(
    id='decisions-agree',
    severity=Severity.ERROR,
    sentence='The decisions in a step are those that the gate itself published, bit by bit.',
    way_out=(
        'Trust the topic of the gate: it alone knows what it sent; and look for lost messages.'
    ),
)
late_evidence = Rule(
    id='late-evidence',
    severity=Severity.ERROR,
    sentence=(
        'Evidence of execution that came late belongs to a step whose execution was unknown, and '
        'comes after its command.'
    ),
    way_out='Compare the decision sequence and the commanded instant of evidence and step.',
)
evaluator_as_contract = Rule(
    id='evaluator-as-contract',
    severity=Severity.ERROR,
    sentence=(
        "A record of the evaluator has the contract's evaluator fields, for a step under the same "
        'contract.'
    ),
    way_out='Look at the adapter of the field, and audit against the contract of the run.',
    needs_contract=True,
)
evaluator_leak = Rule(
    id='evaluator-leak',
    severity=Severity.ERROR,
    sentence=(
        'No value that only the evaluator may see shows up, bit by bit, in an observation field '
        'of another source.'
    ),
    way_out=(
        'Find out who feeds the truth into that sensor: a policy that sees it is judged by what '
        'it was told.'
    ),
)
first_transition_saved = Rule(
    id='first-transition-saved',
    severity=Severity.ERROR,
    sentence=(
        'A run folder keeps the first step of its bag in `first_transition.json`, unchanged.'
    ),
    way_out='Trust the bag; the file was changed or removed, or the recorder died at the start.',
)
record_closed = Rule(
    id='record-closed',
    severity=Severity.WARNING,
    sentence='A record was closed by its writer, and does not end in the middle.',
    way_out='The recorder was killed or still writes; what can be read was looked at.',
)
contract_readable = Rule(
    id='contract-readable',
    severity=Severity.ERROR,
    sentence='The copy of the contract that comes with a record is a valid contract.',
    way_out='Take the file that the run was made with, and install the task that it names.',
)
contract_described = Rule(
    id='contract-described',
    severity=Severity.ERROR,
    sentence='Every node of a run was configured with the contract of its steps.',
    way_out='Start all nodes with one contract file, pacing and version of the task.',
)
index_agrees = Rule(
    id='index-agrees',
    severity=Severity.ERROR,
    sentence=(
        'The index of a run folder has the episodes of its records and no others, each with its '
        'ending, its last step and the sum of its rewards.'
    ),
    way_out=(
        'Trust the records: the index was changed afterwards, or somebody else announced an '
        'ending while the robot ran.'
    ),
)

#: Steps in which a value must be the same, each time another one, to be no coincidence.
COINCIDENCES = 3

#: Names of the evaluator's field and of the observation's, with the places in them.
Pair = tuple[str, int, str, int]


def leaking(
    record: EvaluatorRecord, step: Transition, seen: dict[Pair, tuple[float, int]]
) -> Found:
    """
    Yield the values of the evaluator that the policy saw from elsewhere, in step after step.

    Parameters
    ----------
    record, step
        The evaluator's record of a step, and the step.
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
                    field=f'after.{field.name}.values[{place}]',
                    expected='nothing that only the evaluator may see',
                    actual=f'{name}[{i}] of {sources[name]}, bit by bit, in {count + 1} steps',
                )


def wrong_evaluator(record: EvaluatorRecord, terms: Terms) -> Found:
    """Yield where a record of the evaluator is not of the contract."""
    expected = tuple(spec.name for spec in terms.contract.evaluator)
    actual = tuple(found.name for found in record.fields)
    if actual != expected:
        yield Mismatch(
            field='evaluator.fields',
            expected=', '.join(expected) or 'none',
            actual=', '.join(actual) or 'none',
        )
    if record.id.digest != terms.digest:
        yield Mismatch(field='evaluator.id.digest', expected=terms.digest, actual=record.id.digest)


def wrong_evidence(evidence: ActuationEvidence, decision: GateDecision, step: Transition) -> Found:
    """Yield where late evidence contradicts the decision and the step that it is for."""
    if step.actuated is not None and step.answer is decision:
        yield Mismatch(
            field='actuated',
            expected='unknown when the step was closed',
            actual='known in the step, and late evidence besides',
        )
    stamp, start = evidence.actuated, evidence.commanded.ros
    same_clock = (stamp.clock, stamp.host) == (start.clock, start.host)
    if evidence.commanded != decision.commanded or (
        same_clock and stamp.nanoseconds < start.nanoseconds
    ):
        yield Mismatch(
            field='actuated',
            expected='an instant after `commanded` of the decision',
            actual=f'{(stamp.nanoseconds - start.nanoseconds) / 1e9:.6g} s after it',
        )


def wrong_ending(status: EpisodeStatus, last: Transition) -> Found:
    """Yield where the ending that was announced is not the one of the last step."""
    if last.id.episode_id != status.id.episode_id or not status.state.over:
        return
    if not (last.terminated or last.truncated):
        return
    announced = (status.state is EpisodeState.TERMINATED, status.cause, status.declared_by)
    if status.cause == last.cause == causes.ENVIRONMENT_LOST and last.truncated:
        # An environment that hung and woke up says so itself, after the recorder has.
        announced = (*announced[:2], last.declared_by)
    if announced != (last.terminated, last.cause, last.declared_by):
        yield Mismatch(
            field='cause',
            expected=f'{status.state.name.lower()} by {status.declared_by!r} for '
            f'{status.cause!r}, as it was announced',
            actual=f'{"terminated" if last.terminated else "truncated"} by '
            f'{last.declared_by!r} for {last.cause!r}',
        )


def wrong_decision(carried: GateDecision, sent: GateDecision) -> Found:
    """Yield where a decision that a step carries is not the one that the gate published."""
    if not same(carried, sent):
        yield Mismatch(
            field=f'decision {carried.sequence}',
            expected=f'{sent.verdict.name} {vector(sent.command)}, as published',
            actual=f'{carried.verdict.name} {vector(carried.command)}'
            + (' with other inputs' if carried.command == sent.command else ''),
        )
