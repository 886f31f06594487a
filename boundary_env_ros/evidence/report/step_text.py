# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step for a terminal: all that the record says of it, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import textwrap

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.explain import sentences, unusable
from boundary_env_ros.core.records.decision import GateDecision, Measurement
from boundary_env_ros.core.records.environment_event import EventKind
from boundary_env_ros.core.records.imported import imported_from, is_unknown
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import ResetRecord, Transition
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.audit.rules.audit_rule import IN_ORDER
from boundary_env_ros.evidence.report.anomalies import KINDS
from boundary_env_ros.evidence.report.labels import Labels
from boundary_env_ros.evidence.report.one_step import OneStep
from boundary_env_ros.terminal import many, table

_WIDTH = 100

#: What there is of an action.
ACTIONS = ('requested', 'admitted', 'commanded', 'measured')

#: The instants of a step, in their order.
INSTANTS = ('captured', *IN_ORDER, 'actuated', 'closed')
#: Values that are written one a line; of more there are many on one.
_LINES = 16

_UNKNOWN = 'unknown'

Row = tuple[str, ...]


def step_text(one: OneStep) -> str:
    """Return all that is known of a step, as text."""
    return '\n'.join(_lines(one))


def _lines(one: OneStep) -> Iterator[str]:
    now, episode = one.step.transition, one.step.episode
    seed = _UNKNOWN if is_unknown(now, 'seed') else now.seed
    labels = Labels(one.contract)
    yield (
        f'Episode {episode.number} of {one.episodes}, step {now.id.step} of {one.last_step} '
        f'({now.kind.name.lower()})'
    )
    yield from table(
        [
            ('episode id', now.id.episode_id),
            ('agent', now.id.agent),
            (
                'client',
                f'{episode.client or "(no request)"} {now.client_version}'.rstrip(),
            ),
            ('contract', f'{now.contract} {now.contract_version}, {now.id.digest}'),
            ('software', f'{now.software_version}, {now.pacing.name.lower()}, seed {seed}'),
            ('wrappers', ', '.join(now.wrappers) or 'UNKNOWN'),
        ],
        indent=2,
    )
    if one.anomalies:
        yield from _title('Why one might look at it')
        for anomaly in one.anomalies:
            yield from _wrapped(f'{KINDS[anomaly.kind].sentence}: {anomaly.why}')
    if now.reset is not None:
        yield from _reset(now, now.reset)
    yield from _instants(one)
    yield from _stages(one)
    yield from _title('Observation, before and after')
    yield from _observation(now.before, now.after, labels)
    if now.state:
        yield from _title('State, which no policy is sent')
        yield from _observation((), now.state, labels)
    if one.step.truth is not None and one.step.truth.fields:
        yield from _title('Privileged, which no policy is sent')
        yield from _observation((), one.step.truth.fields, labels)
    yield from _action(now, labels)
    yield from _decisions(now, one.contract)
    yield from _outcome(one)
    yield from _events(one)


# When --------------------------------------------------------------------------------------------


def _instants(one: OneStep) -> Iterator[str]:
    now, late = one.step.transition, one.step.late
    actuated = late.actuated if late is not None else now.actuated
    base, after = (now.observed, 'observed') if now.observed else (now.closed, 'closed')
    rows: list[Row] = [('', 'clock, s', 'ms after', 'clock and host')]
    for name in INSTANTS:
        moment = actuated if name == 'actuated' else getattr(now, name)
        stamp = moment.ros if isinstance(moment, ClockReading) else moment
        if stamp is None:
            rows.append((name, _UNKNOWN, '', ''))
            continue
        same = stamp.clock is base.ros.clock and stamp.host == base.ros.host
        ago = f'{(stamp.nanoseconds - base.ros.nanoseconds) / 1e6:+.3f}' if same else ''
        where = f'{stamp.clock.name} {stamp.host}'.rstrip()
        seconds, rest = divmod(stamp.nanoseconds, NANOSECONDS)
        rows.append((name, f'{seconds}.{rest:09d}', ago, where))
    yield from _title(f'Instants, and how long after "{after}"')
    yield from table(rows, right=(1, 2), indent=2)
    source, quantum = (
        (late.source, late.quantum) if late else (now.actuated_source, now.actuated_quantum)
    )
    if late is not None:
        yield '  The evidence of the execution came after the step had been closed.'
    if actuated is not None and quantum is not None:
        yield f'  Execution was seen on {source}, at most {1000 * quantum:.3g} ms late.'
    if now.tick_error is not None:
        when = 'before' if now.tick_error < 0 else 'after'
        yield f'  The tick came {1000 * abs(now.tick_error):.3g} ms {when} its due time.'


def _stages(one: OneStep) -> Iterator[str]:
    budget = one.contract.latency_budget if one.contract else {}
    yield from _title('Stages')
    rows: list[Row] = []
    for name in STAGES:
        stage = one.step.stage(name, budget)
        if stage.duration is None:
            rows.append((name, _UNKNOWN, '', ''))
            continue
        budget_text = '' if stage.budget is None else f'budget {1000 * stage.budget:g} ms'
        notes = ['OVER'] if stage.over_budget else []
        if stage.uncertainty is None:
            notes.append('between two clocks whose offset is not known')
        elif stage.uncertainty:
            notes.append(f'within {1000 * stage.uncertainty:.3g} ms')
        rows.append((name, f'{1000 * stage.duration:.3f} ms', budget_text, ', '.join(notes)))
    yield from table(rows, right=(1,), indent=2)


# What was seen -----------------------------------------------------------------------------------


def _observation(
    before: Sequence[ObservationField], after: Sequence[ObservationField], labels: Labels
) -> Iterator[str]:
    old = {found.name: found for found in before}
    for found in after:
        earlier = old.pop(found.name, None)
        where = ', '.join(part for part in (found.source, found.frame_id) if part)
        yield f'  {found.name}: {_condition(found)} ({where})'
        yield from _values(earlier, found, labels)


def _condition(found: ObservationField) -> str:
    parts = [found.status.name]
    if found.age is not None:
        parts.append(f'{1000 * found.age:.3g} ms old')
    if found.confidence is not None:
        parts.append(f'confidence {found.confidence:.3g}')
    if found.clipped:
        parts.append('brought inside its bounds')
    return ', '.join(parts)


def _values(
    earlier: ObservationField | None, found: ObservationField, labels: Labels
) -> Iterator[str]:
    if found.image is not None:
        image = found.image
        yield (
            f'    image {image.width}x{image.height} {image.encoding} of {image.topic}, stamp '
            f'{image.stamp / NANOSECONDS:.9f}, sha256 {image.sha256.hex()[:16]}...'
        )
    elif found.document:
        yield from _wrapped(found.document, indent=4)
    else:
        old = earlier.values if earlier is not None else ()
        named = labels.of_values(found.name, len(found.values))
        if len(found.values) > _LINES:
            for name, values in (('before', old), ('after', found.values)):
                text = ' '.join(f'{value:.4g}' for value in values)
                yield from _wrapped(f'{name} ({named[0].unit or "1"}): {text}', indent=4)
            return
        rows = [
            (
                label.name,
                f'{_number(old[i])} ->' if i < len(old) else '',
                _number(value),
                label.unit,
            )
            for i, (label, value) in enumerate(zip(named, found.values, strict=True))
        ]
        yield from table(rows, right=(1, 2), indent=4)


# What was asked, allowed, sent and done ----------------------------------------------------------


def _action(now: Transition, labels: Labels) -> Iterator[str]:
    yield from _title('Action')
    values: dict[str, Vector] = {name: getattr(now, f'{name}_action') for name in ACTIONS}
    if now.request is not None and now.request.payload:
        yield from _wrapped(f'requested: {now.request.payload}')
    elif not any(values.values()):
        yield '  none'
    # An action that is no command has dimensions of its own.
    parts = [ACTIONS] if labels.direct else [ACTIONS[:2], ACTIONS[2:]]
    for part in parts:
        name_of = labels.of_action if part == ACTIONS[:2] else labels.of_command
        rows: list[Row] = [('', *part, '')]
        for i in range(max(len(values[name]) for name in part)):
            cells = (_number(values[n][i]) if i < len(values[n]) else '-' for n in part)
            rows.append((name_of(i).chart, *cells, name_of(i).unit))
        if len(rows) > 1:
            yield from table(rows, right=range(1, len(part) + 1), indent=2)
    if now.measured_at is not None:
        yield f'  measured at {now.measured_at.nanoseconds / NANOSECONDS:.9f} s'


def _decisions(now: Transition, contract: Contract | None) -> Iterator[str]:
    yield from _title(f'Gate: {many(len(now.decisions), "decision")} since the step before')
    if now.overrun:
        yield f'  OVERRUN: no action came in time, held by the {now.held_by}.'
    for index, decision in enumerate(now.decisions):
        yield from _decision(decision, contract, answers=index == now.decision)


def _decision(
    decision: GateDecision, contract: Contract | None, *, answers: bool
) -> Iterator[str]:
    request = decision.request
    text = f' on request {request.sequence} of {request.client}' if request else ''
    yield (
        f'  {decision.sequence}: {decision.verdict.name}, by {decision.trigger.name}{text}'
        f'{"; it answers this step" if answers else ""}'
    )
    for text in sentences(decision, contract):
        yield from _wrapped(f'- {text}', indent=4)
    if request is not None:
        for name in request.unresolved:
            yield from _wrapped(f'- {name} was no image in time', indent=4)
        for item in request.metadata:
            yield from _wrapped(f'- {item.key}: {item.value}', indent=4)
    rows: list[Row] = [('published', ', '.join(map(_number, decision.command)) or 'nothing')]
    rows += [(one.name, _measured(one, contract)) for one in decision.inputs.measurements]
    yield from table(rows, indent=4)


def _measured(measurement: Measurement, contract: Contract | None) -> str:
    values = measurement.values
    if measurement.age is None and not values:
        return f'nothing received on {measurement.topic}'
    wrong = unusable(measurement, contract)
    shown = ', '.join(f'{value:.4g}' for value in values)
    if wrong:
        shown = f'NOT USABLE: {wrong}'
    elif len(values) > _LINES:
        shown = f'{len(values)} values from {min(values):.4g} to {max(values):.4g}'
    age = '' if measurement.age is None else f', had {1000 * measurement.age:.3g} ms ago'
    return f'{shown} ({measurement.topic}{age})'


# What came of it ---------------------------------------------------------------------------------


def _outcome(one: OneStep) -> Iterator[str]:
    now = one.step.transition
    yield from _title('Outcome')
    rows: list[Row] = [('reward', _number(now.reward))]
    rows += [(f'  {term.name}', _number(term.value)) for term in now.reward_terms]
    yield from table(rows, right=(1,), indent=2)
    if now.terminated or now.truncated:
        how = 'terminated' if now.terminated else 'truncated'
        yield f'  {how}: {now.ending}, declared by {now.declared_by or "no node"}'
    else:
        yield '  the episode goes on'
    for status in one.step.statuses:
        message = f': {status.message}' if status.message else ''
        ending = f', {status.ending}, declared by {status.declared_by}' if status.ending else ''
        yield from _wrapped(f'the episode is {status.state.name}{ending}{message}')
    for item in now.diagnostics:
        yield from _wrapped(f'{item.key}: {item.value}')


def _reset(now: Transition, reset: ResetRecord) -> Iterator[str]:
    yield from _title('Reset')
    duration = '' if reset.duration is None else f', {reset.duration:.3g} s'
    if imported_from(now):
        yield '  seed, options and tolerance are not known: the bag has no reset'
    else:
        given = 'given' if reset.seed_given else 'drawn'
        # A procedure that was broken off has no confirmation.
        done = f'confirmed by {reset.confirmed_by}' if reset.confirmed_by else 'not completed'
        off = '' if reset.within_tolerance else ', NOT within tolerance'
        yield f'  seed {now.seed} ({given}), {done}{off}{duration}'
        if reset.options:
            yield from _wrapped(f'options: {reset.options}')
    for name in ('sampled', 'achieved', 'tolerance'):
        one: NamedValues
        for one in getattr(reset, name):
            units = ', '.join(dict.fromkeys(filter(None, one.unit)))
            values = ', '.join(map(_number, one.values))
            yield from _wrapped(f'{name} {one.name}: {values} {units}'.rstrip())


def _events(one: OneStep) -> Iterator[str]:
    events = [e for e in one.step.events if e.kind not in (EventKind.REWARD, EventKind.SAFETY)]
    yield from _title('Events')
    for event in events:
        yield from _wrapped(f'{event.kind.name.lower()}: {event.reason}')
    if not events:
        yield '  none' if one.contract else '  not known without the contract'
    yield from _title('What people say of the episode')
    for label in one.labels:
        note = f': {label.note}' if label.note else ''
        yield from _wrapped(
            f'{label.label.name.lower()} by {label.user}, at step {label.id.step}{note}'
        )
    if not one.labels:
        yield '  nothing'


# Lines -------------------------------------------------------------------------------------------


def _title(text: str) -> Iterator[str]:
    yield ''
    yield text


def _wrapped(text: str, indent: int = 2) -> Iterator[str]:
    first, rest = ' ' * indent, ' ' * (indent + 2)
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _number(value: float) -> str:
    return f'{value:.6g}'
