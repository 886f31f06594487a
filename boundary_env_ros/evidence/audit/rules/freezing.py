# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations frozen once more, from what the record says of their samples."""

from __future__ import annotations

from collections.abc import Iterator

from boundary_env_ros.core.environment.observation import (
    age_of,
    bring_inside,
    FieldStatus,
    freeze,
    ObservationField,
    Sample,
)
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import supply
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.memory import PAST
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    of_step,
    Scene,
    unlike,
    vector,
    views,
)
from boundary_env_ros.evidence.audit.rules.imported import if_supplied


@of_step(catalogue.FIELDS_RECOMPUTED)
def _age_recomputed(scene: Scene) -> Found:
    for view, fields, frozen in views(scene):
        for field in fields:
            missing = field.status is FieldStatus.MISSING
            if missing != (not field.values and field.image is None):
                expected = 'MISSING exactly if there is no value'
                actual = f'{field.status.name} with {vector(field.values)}'
                yield Mismatch(f'{view}.{field.name}.status', expected, actual)
            if frozen is None or missing:
                continue
            age = age_of(field.captured, frozen)
            if age is None or field.age is None or not close(age, field.age):
                place, why = f'{view}.{field.name}.age', 's, frozen minus captured'
                yield from unlike(place, age, field.age, why)


@of_step(catalogue.FIELDS_RECOMPUTED, contract=True)
def _frozen_again(scene: Scene) -> Found:
    specs = known(scene.terms).seen
    # A field of several observations can be derived where the record has these.
    whole = len(scene.past) >= min(scene.now.id.step, PAST)
    for place, expected, field in _again(scene):
        if expected.status is not FieldStatus.MISSING:
            why = f'at an age of {number(expected.age)} s'
            yield from unlike(f'{place}.status', expected.status, field.status, why)
        if specs[field.name].derived is not None and whole:
            for name in ('values', 'clipped', 'captured', 'confidence', 'source'):
                ours, theirs = getattr(expected, name), getattr(field, name)
                yield from unlike(f'{place}.{name}', ours, theirs)


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


@of_step(catalogue.TASK_RECOMPUTED, contract=True, task=True, imports=if_supplied)
def _task_field_recomputed(scene: Scene) -> Found:
    now, task, start = scene.now, scene.task, scene.start.reset
    if task is None or start is None:
        return
    specs = known(scene.terms).seen
    try:
        supplied = supply(task, known(scene.terms).contract, by_name(start.sampled), now.id.agent)
    except BoundaryError as error:
        yield Mismatch('reset.sampled', 'all that the task needs', repr(error))
        return
    for view, fields, _ in views(scene):
        for field in fields:
            spec = specs.get(field.name)
            if spec is None or not spec.task or field.status is FieldStatus.MISSING:
                continue
            expected, _ = bring_inside(tuple(supplied.get(spec.task, ())), spec)
            yield from unlike(f'{view}.{field.name}.values', expected, field.values, 'by the task')
