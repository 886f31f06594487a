# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations frozen once more, from what the record says of their samples."""

from __future__ import annotations

from collections.abc import Sequence

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.environment.observation import (
    age_of,
    bring_inside,
    FieldStatus,
    freeze,
    newest_of_skewed,
    ObservationField,
    Sample,
    status_of,
)
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import supply
from boundary_env_ros.core.sources.derived import Frames
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.memory import PAST
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    of_step,
    Scene,
    unlike,
    vector,
    views,
)
from boundary_env_ros.evidence.audit.rules.imported import if_supplied

#: What freezing makes of a derived field besides its status.
_DERIVED = ('values', 'clipped', 'captured', 'confidence', 'source')


@of_step(catalogue.FIELDS_RECOMPUTED)
def _age_recomputed(scene: Scene) -> Found:
    for view, fields, frozen in views(scene):
        yield from _wrong_ages(view, fields, frozen)


def _wrong_ages(
    view: str, fields: Sequence[ObservationField], frozen: ClockReading | None
) -> Found:
    for field in fields:
        missing = field.status is FieldStatus.MISSING
        if missing != (not field.values and field.image is None and not field.document):
            expected = 'MISSING exactly if there is no value'
            actual = f'{field.status.name} with {vector(field.values)}'
            yield Mismatch(f'{view}.{field.name}.status', expected, actual)
        if frozen is None or missing:
            continue
        age = age_of(field.captured, frozen)
        if age != field.age and (age is None or field.age is None or not close(age, field.age)):
            place, why = f'{view}.{field.name}.age', 's, frozen minus captured'
            yield from unlike(place, age, field.age, why)


@of_step(catalogue.FIELDS_RECOMPUTED, contract=True)
def _frozen_again(scene: Scene) -> Found:
    now, specs = scene.now, known(scene.terms).seen
    # A field of several observations can be derived where the record has these.
    whole = len(scene.past) >= min(now.id.step, PAST)
    past = scene.past if whole else None
    fields = (*now.after, *now.state)
    yield from _wrong_frozen('after', fields, tuple(specs.values()), now.closed, past)


def wrong_privileged(
    fields: Sequence[ObservationField], specs: Sequence[FieldSpec], closed: ClockReading
) -> Found:
    """Yield where privileged fields are not what freezing them once more makes of them."""
    yield from _wrong_ages('privileged', fields, closed)
    yield from _wrong_frozen('privileged', fields, specs, closed, ())


def _wrong_frozen(
    view: str,
    fields: Sequence[ObservationField],
    specs: Sequence[FieldSpec],
    closed: ClockReading,
    past: Frames | None,
) -> Found:
    """
    Yield where fields are not what freezing them once more makes of what the record says.

    Parameters
    ----------
    view
        What they are called in findings.
    fields, specs
        The fields, and what the contract says of them.
    closed
        When they were frozen.
    past
        Values of the observations before; None if not all that a derived field needs are known.

    """
    by_name = {field.name: field for field in fields}
    if tuple(by_name) != tuple(spec.name for spec in specs):
        return  # What is missing is named by the rule about fields.
    there = {name: f for name, f in by_name.items() if f.status is not FieldStatus.MISSING}
    newest = newest_of_skewed(specs, there)
    for spec in specs:
        field = there.get(spec.name)
        if spec.derived is None and field is not None:
            expected = status_of(spec, field.captured, age_of(field.captured, closed), newest)
            if field.status is not expected:
                yield from unlike(f'{view}.{field.name}.status', expected, field.status)
    derived = [spec for spec in specs if spec.derived is not None]
    if not derived:
        return
    latest = {spec.name: sample_of(there[spec.name]) for spec in specs if spec.name in there}
    sources = {field.name: field.source for field in fields}
    try:
        made = freeze(specs, latest, sources, observed=closed, past=past or ())
    except WRONG_INPUT:
        return  # Another number of values than the contract has, which is named elsewhere.
    again = {field.name: field for field in made}
    names = ('status', *(_DERIVED if past is not None else ()))
    for spec in derived:
        expected_field, field = again[spec.name], by_name[spec.name]
        for name in names:
            ours, theirs = getattr(expected_field, name), getattr(field, name)
            if expected_field.status is not FieldStatus.MISSING or name != 'status':
                yield from unlike(f'{view}.{field.name}.{name}', ours, theirs)


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
