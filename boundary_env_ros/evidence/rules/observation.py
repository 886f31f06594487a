# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about what the policy saw."""

from __future__ import annotations

from collections.abc import Iterator
import math

import numpy as np

from boundary_env_ros.core.contract import Beyond, FieldSpec, WhenStale
from boundary_env_ros.core.observation import (
    FieldStatus,
    ObservationField,
)
from boundary_env_ros.core.sources import Picture
from boundary_env_ros.core.timebase import Instant, Stamp
from boundary_env_ros.core.transition import Kind
from boundary_env_ros.evidence.rules.base import (
    Found,
    known,
    Mismatch,
    number,
    Rule,
    rule,
    same,
    Scene,
    Severity,
    vector,
)
from boundary_env_ros.evidence.rules.ending import ended


def views(scene: Scene) -> Iterator[tuple[str, tuple[ObservationField, ...], Instant | None]]:
    """
    Yield the observations of the transition, each with the instant at which it was frozen.

    The one before is looked at only where no earlier step shows it already.
    """
    now = scene.now
    if scene.earlier is None and now.before:
        yield 'before', now.before, None
    yield 'after', now.after, now.closed
    yield 'state', now.state, now.closed


def _declared(scene: Scene) -> Iterator[tuple[str, FieldSpec, ObservationField, Instant | None]]:
    """Yield each field that the contract declares, with its specification."""
    specs = known(scene.terms).seen
    for view, fields, frozen in views(scene):
        for field in fields:
            if field.name in specs:
                yield f'{view}.{field.name}', specs[field.name], field, frozen


@rule(
    'fields-as-contract',
    'An observation has the fields of the contract, in its order, each with its number of values '
    'and its frame; and so has the rest of the state.',
    'Audit against the contract that the run was made with, and look at who dropped or added a '
    'field.',
    needs_contract=True,
)
def _fields_as_contract(scene: Scene) -> Found:
    contract = known(scene.terms).contract
    for view, fields, _ in views(scene):
        specs = contract.state if view == 'state' else contract.observation
        expected = tuple(spec.name for spec in specs)
        actual = tuple(field.name for field in fields)
        if actual != expected:
            yield Mismatch(
                field=view,
                expected=f'the fields {", ".join(expected) or "none"}',
                actual=', '.join(actual) or 'none',
            )
    for place, spec, field, _ in _declared(scene):
        if field.frame_id != spec.frame:
            yield Mismatch(
                field=f'{place}.frame_id', expected=repr(spec.frame), actual=repr(field.frame_id)
            )
        size = 0 if spec.is_image else math.prod(spec.shape)
        if field.status is not FieldStatus.MISSING and len(field.values) != size:
            yield Mismatch(
                field=f'{place}.values',
                expected=f'{size} values',
                actual=f'{len(field.values)}',
            )


@rule(
    'evaluator-withheld',
    "No field of the evaluator is in the policy's observation.",
    'Take the field out of the observation and run again: a result with it is not one.',
    needs_contract=True,
)
def _evaluator_withheld(scene: Scene) -> Found:
    contract = known(scene.terms).contract
    hidden = {spec.name for spec in contract.evaluator}
    topics = {spec.topic for spec in contract.evaluator if spec.topic}
    topics -= {spec.topic for spec in (*contract.observation, *contract.state)}
    for view in ('before', 'after', 'state'):
        for field in getattr(scene.now, view):
            source = field.source
            if field.name in hidden or any(
                source == topic or source.endswith(f'/{topic}') for topic in topics
            ):
                yield Mismatch(
                    field=f'{view}.{field.name}',
                    expected='nothing that only the evaluator may see',
                    actual=f'{field.name!r} from {source!r}',
                )


@rule(
    'values-in-bounds',
    'Every value of an observation is a number within the bounds that the contract declares for '
    'it.',
    'Look at the adapter of the field; `beyond:` in the contract says what becomes of a value '
    'outside.',
    needs_contract=True,
)
def _values_in_bounds(scene: Scene) -> Found:
    for place, spec, field, _ in _declared(scene):
        if spec.is_image:
            continue
        for i, (value, low, high) in enumerate(
            zip(field.values, spec.low, spec.high, strict=False)
        ):
            if not low <= value <= high:
                yield Mismatch(
                    field=f'{place}.values[{i}]',
                    expected=f'between {number(low)} and {number(high)}',
                    actual=number(value),
                )


@rule(
    'values-of-type',
    'The values of a field are of its type: whole numbers where the contract declares an integer, '
    'and finite everywhere.',
    'Compare `dtype:` of the field in the contract, and look at its adapter.',
    needs_contract=True,
)
def _values_of_type(scene: Scene) -> Found:
    for place, spec, field, _ in _declared(scene):
        whole = np.dtype(spec.dtype).kind in 'iub'
        for i, value in enumerate(field.values):
            if not math.isfinite(value) or (whole and not value.is_integer()):
                yield Mismatch(
                    field=f'{place}.values[{i}]',
                    expected=f'a value of type {spec.dtype}',
                    actual=number(value),
                )


@rule(
    'clipped-as-declared',
    'A field that is marked as clipped has a value at a bound, and one whose bounds end the '
    'episode ends it.',
    'Compare `low:`, `high:` and `beyond:` of the field in the contract.',
    needs_contract=True,
)
def _clipped_as_declared(scene: Scene) -> Found:
    for place, spec, field, _ in _declared(scene):
        if not field.clipped:
            continue
        at_bound = any(
            value in (low, high)
            for value, low, high in zip(field.values, spec.low, spec.high, strict=False)
        )
        if not at_bound:
            yield Mismatch(
                field=f'{place}.clipped',
                expected='a value at a bound',
                actual=f'clipped {vector(field.values)}',
            )
        elif spec.beyond is Beyond.TRUNCATE and scene.now.kind is Kind.STEP and not ended(scene):
            yield Mismatch(
                field=f'{place}.clipped',
                expected='no clipping, or an ending',
                actual=f'clipped {vector(field.values)} in a running episode',
            )


@rule(
    'stale-ends-episode',
    'A field that is too old, never came or left its bounds ends the episode where the contract '
    'says so.',
    'Compare `when_stale:` and `beyond:` of the field in the contract.',
    needs_contract=True,
)
def _stale_ends_episode(scene: Scene) -> Found:
    if ended(scene):
        return
    for place, spec, field, frozen in _declared(scene):
        if frozen is None:
            continue
        if spec.when_stale is WhenStale.TRUNCATE and field.status is not FieldStatus.FRESH:
            yield Mismatch(
                field=f'{place}.status',
                expected='FRESH, or an ending',
                actual=f'{field.status.name} in a running episode',
            )


@rule(
    'age-not-negative',
    'No sensor is ahead of the clock that the observation was frozen by.',
    'Synchronise the clocks of the hosts (chrony, PTP), or name the clock of the sensor in the '
    'contract.',
    severity=Severity.WARNING,
)
def _age_not_negative(scene: Scene) -> Found:
    for field in scene.now.after:
        if field.age is not None and field.age < 0:
            yield Mismatch(
                field=f'after.{field.name}.age', expected='at least 0 s', actual=number(field.age)
            )


@rule(
    'confidence-range',
    'A confidence lies between 0 and 1.',
    'Compare `confidence:` of the field in the contract with what its source sends.',
)
def _confidence_range(scene: Scene) -> Found:
    for view, fields, _ in views(scene):
        for field in fields:
            if field.confidence is not None and not 0.0 <= field.confidence <= 1.0:
                yield Mismatch(
                    field=f'{view}.{field.name}.confidence',
                    expected='between 0 and 1',
                    actual=number(field.confidence),
                )


@rule(
    'image-referenced',
    'An image field refers to an image of the declared size and encoding by topic, stamp and '
    'hash.',
    'Look at the camera adapter; an image that is not referred to cannot be found again.',
    needs_contract=True,
)
def _image_referenced(scene: Scene) -> Found:
    for place, spec, field, _ in _declared(scene):
        if not spec.is_image:
            if field.image is not None:
                yield Mismatch(field=f'{place}.image', expected='no image', actual='one')
            continue
        image = field.image
        if image is None:
            continue
        height, width = spec.shape[:2]
        encoding = encoding_of(spec)
        if (image.height, image.width, image.encoding) != (height, width, encoding):
            yield Mismatch(
                field=f'{place}.image',
                expected=f'{width}x{height} {encoding}',
                actual=f'{image.width}x{image.height} {image.encoding}',
            )
        if len(image.sha256) != 32 or not any(image.sha256):
            yield Mismatch(
                field=f'{place}.image.sha256',
                expected='the hash of the image',
                actual=repr(image.sha256.hex()),
            )
        stamp = field.captured
        if stamp is not None and int(image.stamp) != stamp.nanoseconds:
            yield Mismatch(
                field=f'{place}.image.stamp',
                expected=f'{stamp.nanoseconds} ns as captured',
                actual=f'{int(image.stamp)} ns',
            )


def encoding_of(spec: FieldSpec) -> str:
    """Return what the reference to an image of a field names as its encoding."""
    source = spec.source
    return (source.compressed or source.encoding) if isinstance(source, Picture) else ''


@rule(
    'observation-chain',
    'The observation before a step is the one after the step before it, bit by bit.',
    'Look for a step that was taken out, or for an observation that was changed on one side only.',
)
def _observation_chain(scene: Scene) -> Found:
    earlier, now = scene.earlier, scene.now
    if earlier is None or now.id.step != earlier.id.step + 1 or same(now.before, earlier.after):
        return
    if len(now.before) != len(earlier.after):
        yield Mismatch(
            field='before',
            expected=f'{len(earlier.after)} fields as after step {earlier.id.step}',
            actual=f'{len(now.before)} fields',
        )
        return
    for old, new in zip(earlier.after, now.before, strict=True):
        if not same(old, new):
            yield Mismatch(
                field=f'before.{new.name}',
                expected=f'{old.name} {vector(old.values)} as after step {earlier.id.step}',
                actual=f'{vector(new.values)}'
                + (' with another status, stamp or age' if old.values == new.values else ''),
            )


@rule(
    'sources-constant',
    'Through an episode each field comes from one topic, and is stamped by one host.',
    'Look for a topic that was remapped or a host that was renamed during the run, or a step '
    'that was '
    'pasted in.',
)
def _sources_constant(scene: Scene) -> Found:
    earlier, now = scene.earlier, scene.now
    if earlier is None:
        return
    if now.closed.ros.host != earlier.closed.ros.host:
        yield Mismatch(
            field='closed.ros.host',
            expected=f'{earlier.closed.ros.host!r} as before',
            actual=repr(now.closed.ros.host),
        )
    old_ones, new_ones = (*earlier.after, *earlier.state), (*now.after, *now.state)
    for old, new in zip(old_ones, new_ones, strict=False):
        if old.name != new.name:
            continue
        if old.source != new.source:
            yield Mismatch(
                field=f'after.{new.name}.source',
                expected=f'{old.source!r} as before',
                actual=repr(new.source),
            )
        for name in ('captured', 'published', 'arrived'):
            one: Stamp | None = getattr(old, name)
            other: Stamp | None = getattr(new, name)
            if one is not None and other is not None and one.host != other.host:
                yield Mismatch(
                    field=f'after.{new.name}.{name}.host',
                    expected=f'{one.host!r} as before',
                    actual=repr(other.host),
                )


RULES: tuple[Rule, ...] = (
    _fields_as_contract,
    _evaluator_withheld,
    _values_in_bounds,
    _values_of_type,
    _clipped_as_declared,
    _stale_ends_episode,
    _age_not_negative,
    _confidence_range,
    _image_referenced,
    _observation_chain,
    _sources_constant,
)
