# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a record can be judged under another contract: it must have what that one asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from boundary_env_ros.core.contract import ActionSpec, Contract, FieldSpec
from boundary_env_ros.core.gate_rules.limits import ALIVE, Limits
from boundary_env_ros.evidence.verdict.unlike import told

_OF_FIELD = ('topic', 'type', 'source', 'task', 'shape', 'dtype', 'unit', 'frame')
_OF_GROUP = ('kind', 'topic', 'type', 'source', 'unit', 'frame', 'options')
_OF_FEEDBACK = ('topic', 'type', 'source')
_OF_OBSTACLE = ('topic', 'type', 'zone', 'min_valid')
_OF_PLACE = ('topic', 'type', 'source', 'unit', 'frame')
_OF_OPERATOR = ('topic', 'type', 'source', 'scale', 'enable')


def in_the_way(recorded: Contract, other: Contract) -> tuple[str, ...]:
    """
    Return what makes it impossible to judge a record under another contract; empty if nothing.

    Bounds, limits, rules, timeouts, costs, causes and parameters may differ: they are what is
    asked about. What was never measured cannot be judged by.

    Parameters
    ----------
    recorded
        The contract that the record was made under.
    other
        The other one.

    """
    return (
        *_values('', recorded, other, ('pacing', 'period', 'agents', 'turns', 'sim_time')),
        *_groups(recorded.action, other.action),
        *_fields(recorded, other),
        *_inputs(recorded, other),
    )


def _groups(recorded: Sequence[ActionSpec], other: Sequence[ActionSpec]) -> Iterator[str]:
    ours, theirs = ([group.name for group in groups] for groups in (recorded, other))
    if ours != theirs:
        yield f'action: the record has the groups {", ".join(ours)}, actually: {", ".join(theirs)}'
        return
    for was, group in zip(recorded, other, strict=True):
        yield from _values(f'action.{group.name}.', was, group, _OF_GROUP)
        yield from _values(
            f'action.{group.name}.feedback.', was.feedback, group.feedback, _OF_FEEDBACK
        )


def _fields(recorded: Contract, other: Contract) -> Iterator[str]:
    known = {spec.name: spec for spec in (*recorded.observation, *recorded.state)}
    hidden = {spec.name for spec in recorded.evaluator}
    for section, specs in (('observation', other.observation), ('state', other.state)):
        for spec in specs:
            if spec.derived is None:
                yield from _field(f'{section}.{spec.name}', known.get(spec.name), spec, hidden)


def _field(path: str, was: FieldSpec | None, spec: FieldSpec, hidden: set[str]) -> Iterator[str]:
    if was is None:
        why = 'only the evaluator saw it' if spec.name in hidden else 'it was not recorded'
        yield f'{path}: a field of the record, actually: {why}'
    elif was.derived is not None:
        yield f'{path}: a field that is derived, as in the record, actually: it is measured'
    else:
        yield from _values(f'{path}.', was, spec, _OF_FIELD)


def _inputs(recorded: Contract, other: Contract) -> Iterator[str]:
    """Yield what the gate would have had to measure and did not."""
    for kind, names, ours, theirs in (
        (
            'safety.obstacles',
            _OF_OBSTACLE,
            {o.input: o for o in recorded.safety.obstacles},
            {o.input: o for o in other.safety.obstacles},
        ),
        (
            'safety.workspace',
            _OF_PLACE,
            {p.input: p for p in recorded.safety.workspaces},
            {p.input: p for p in other.safety.workspaces},
        ),
        (
            'safety.operator',
            _OF_OPERATOR,
            _one(recorded.safety.operator),
            _one(other.safety.operator),
        ),
    ):
        yield from _measured(kind, names, ours, theirs)
    heard = Limits.of(recorded).needs
    for name in Limits.of(other).needs:
        if name.startswith(ALIVE) and name not in heard:
            field = name.removeprefix(f'{ALIVE}.')
            yield (
                f'{field}.when_stale: `hold` as in the record, since the gate did not listen to '
                'that topic, actually: `hold` here only'
            )


def _one(value: object) -> Mapping[str, object]:
    return {} if value is None else {'operator': value}


def _measured(
    kind: str, names: Sequence[str], recorded: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[str]:
    for name, rule in other.items():
        was = recorded.get(name)
        if was is None:
            yield f'{kind}: what the recorded gate measured, actually: {name} as well'
        else:
            yield from _values(f'{kind}.{name}.', was, rule, names)


def _values(path: str, recorded: object, other: object, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        ours, theirs = getattr(recorded, name), getattr(other, name)
        if ours != theirs:
            yield f'{path}{name}: {told(ours)} as in the record, actually: {told(theirs)}'
