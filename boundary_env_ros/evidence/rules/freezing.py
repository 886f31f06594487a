# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations frozen once more, from what the record says of their samples."""

from __future__ import annotations

from collections.abc import Iterator

from boundary_env_ros.core.observation import (
    age_of,
    bring_inside,
    FieldStatus,
    freeze,
    ObservationField,
    Sample,
)
from boundary_env_ros.core.reset import by_name
from boundary_env_ros.core.task import supply
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    Rule,
    rule,
    same,
    Scene,
    vector,
)
from boundary_env_ros.evidence.rules.observation import views


@rule(
    'age-recomputed',
    'The age of a field is the time from its capture to the instant at which the observation was '
    'frozen.',
    'Trust the stamps, not the age, and find out who wrote another one.',
)
def _age_recomputed(scene: Scene) -> Found:
    for view, fields, frozen in views(scene):
        if frozen is None:
            continue
        for field in fields:
            if field.status is FieldStatus.MISSING:
                continue
            expected = age_of(field.captured, frozen)
            if expected is None or field.age is None:
                agree = expected is field.age
            else:
                agree = close(expected, field.age)
            if not agree:
                yield Mismatch(
                    field=f'{view}.{field.name}.age',
                    expected=f'{number(expected)} s, frozen minus captured',
                    actual=number(field.age),
                )


@rule(
    'status-recomputed',
    'A field is FRESH up to the greatest age and skew that the contract allows, STALE beyond '
    'them, and MISSING with no value if it never came; a derived one is as good as its inputs.',
    'Compare `max_age:` and `skew:` of the field in the contract with the stamps in the record.',
)
def _status_recomputed(scene: Scene) -> Found:
    for view, fields, _ in views(scene):
        for field in fields:
            empty = not field.values and field.image is None
            if (field.status is FieldStatus.MISSING) != empty:
                yield Mismatch(
                    field=f'{view}.{field.name}.status',
                    expected='MISSING exactly if there is no value',
                    actual=f'{field.status.name} with {vector(field.values)}',
                )
    for place, expected, field in _again(scene):
        if field.status is not expected.status and expected.status is not FieldStatus.MISSING:
            yield Mismatch(
                field=f'{place}.status',
                expected=f'{expected.status.name} at an age of {number(expected.age)} s',
                actual=field.status.name,
            )


@rule(
    'derived-recomputed',
    'A derived field is what its function makes of the fields that it is derived from, now and in '
    'the observations before.',
    'Look for a field that was changed on one side only; `derive:` in the contract names the '
    'function.',
    needs_contract=True,
)
def _derived_recomputed(scene: Scene) -> Found:
    specs = known(scene.terms).seen
    for place, expected, field in _again(scene):
        if specs[field.name].derived is None:
            continue
        for name in ('values', 'clipped', 'captured', 'confidence', 'source'):
            ours, theirs = getattr(expected, name), getattr(field, name)
            if not same(ours, theirs):
                yield Mismatch(
                    field=f'{place}.{name}',
                    expected=vector(ours) if name == 'values' else repr(ours),
                    actual=vector(theirs) if name == 'values' else repr(theirs),
                )


def _again(scene: Scene) -> Iterator[tuple[str, ObservationField, ObservationField]]:
    """Yield each field of the observation frozen once more from what the record says, and it."""
    if scene.terms is None:
        return
    now, specs = scene.now, scene.terms.seen
    fields = {field.name: field for field in (*now.after, *now.state)}
    if tuple(fields) != tuple(specs):
        return  # What is missing is named by the rule about fields.
    latest = {
        name: sample_of(field)
        for name, field in fields.items()
        if specs[name].derived is None and field.status is not FieldStatus.MISSING
    }
    sources = {name: field.source for name, field in fields.items()}
    try:
        frozen = freeze(
            tuple(specs.values()), latest, sources, observed=now.closed, past=scene.past
        )
    except WRONG_INPUT:
        return  # Another number of values than the contract has, which is named elsewhere.
    seen = {field.name for field in now.after}
    for expected in frozen:
        view = 'after' if expected.name in seen else 'state'
        yield f'{view}.{expected.name}', expected, fields[expected.name]


def sample_of(field: ObservationField) -> Sample:
    """Return the sample that a field claims to be of."""
    return Sample(
        values=field.values,
        captured=field.captured,
        published=field.published,
        arrived=field.arrived,
        confidence=field.confidence,
        image=field.image,
    )


@rule(
    'task-field-recomputed',
    'A field that the task supplies is what the task makes of the sampled reset.',
    'Install the version of the task that the contract names; if it is that one, the goal was '
    'moved.',
    needs_contract=True,
    needs_task=True,
)
def _task_field_recomputed(scene: Scene) -> Found:
    now, task, start = scene.now, scene.task, scene.start.reset
    if task is None or start is None:
        return
    specs = known(scene.terms).seen
    try:
        supplied = supply(task, known(scene.terms).contract, by_name(start.sampled), now.id.agent)
    except BoundaryError as error:
        yield Mismatch(
            field='reset.sampled', expected='all that the task needs', actual=repr(error)
        )
        return
    for view, fields, _ in views(scene):
        for field in fields:
            spec = specs.get(field.name)
            if spec is None or not spec.task or field.status is FieldStatus.MISSING:
                continue
            expected, _ = bring_inside(tuple(supplied.get(spec.task, ())), spec)
            if not same(expected, field.values):
                yield Mismatch(
                    field=f'{view}.{field.name}.values',
                    expected=f'{vector(expected)} by the task',
                    actual=vector(field.values),
                )


RULES: tuple[Rule, ...] = (
    _age_recomputed,
    _status_recomputed,
    _derived_recomputed,
    _task_field_recomputed,
)
