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
from boundary_env_ros.evidence.rules import catalogue
from boundary_env_ros.evidence.rules.base import (
    Found,
    known,
    Mismatch,
    number,
    of_step,
    same,
    Scene,
    vector,
)
from boundary_env_ros.evidence.rules.ending import ended
from boundary_env_ros.evidence.rules.imported import if_complete


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


@of_step(catalogue.FIELDS_AS_CONTRACT, contract=True)
def _fields_as_contract(scene: Scene) -> Found:
    contract = known(scene.terms).contract
    for view, fields, _ in views(scene):
        specs = contract.state if view == 'state' else contract.observation
        expected = tuple(spec.name for spec in specs)
        actual = tuple(field.name for field in fields)
        if actual != expected:
            yield Mismatch(
                view, f'the fields {", ".join(expected) or "none"}', ', '.join(actual) or 'none'
            )
    for place, spec, field, _ in _declared(scene):
        if field.frame_id != spec.frame:
            yield Mismatch(f'{place}.frame_id', repr(spec.frame), repr(field.frame_id))
        size = 0 if spec.is_image else math.prod(spec.shape)
        if field.status is not FieldStatus.MISSING and len(field.values) != size:
            yield Mismatch(f'{place}.values', f'{size} values', f'{len(field.values)}')


@of_step(catalogue.TRUTH_WITHHELD, contract=True)
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
                    f'{view}.{field.name}',
                    'nothing that only the evaluator may see',
                    f'{field.name!r} from {source!r}',
                )


@of_step(catalogue.FIELDS_AS_CONTRACT, contract=True)
def _values_in_bounds(scene: Scene) -> Found:
    for place, spec, field, _ in _declared(scene):
        if spec.is_image:
            continue
        for i, (value, low, high) in enumerate(
            zip(field.values, spec.low, spec.high, strict=False)
        ):
            if not low <= value <= high:
                yield Mismatch(
                    f'{place}.values[{i}]',
                    f'between {number(low)} and {number(high)}',
                    number(value),
                )


@of_step(catalogue.FIELDS_AS_CONTRACT, contract=True)
def _values_of_type(scene: Scene) -> Found:
    for place, spec, field, _ in _declared(scene):
        whole = np.dtype(spec.dtype).kind in 'iub'
        for i, value in enumerate(field.values):
            if not math.isfinite(value) or (whole and not value.is_integer()):
                yield Mismatch(
                    f'{place}.values[{i}]', f'a value of type {spec.dtype}', number(value)
                )


@of_step(catalogue.FIELDS_AS_CONTRACT, contract=True)
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
                f'{place}.clipped', 'a value at a bound', f'clipped {vector(field.values)}'
            )
        elif spec.beyond is Beyond.TRUNCATE and scene.now.kind is Kind.STEP and not ended(scene):
            yield Mismatch(
                f'{place}.clipped',
                'no clipping, or an ending',
                f'clipped {vector(field.values)} in a running episode',
            )


@of_step(catalogue.ENDING_JUSTIFIED, contract=True, imports=if_complete)
def _stale_ends_episode(scene: Scene) -> Found:
    if ended(scene):
        return
    for place, spec, field, frozen in _declared(scene):
        if frozen is None:
            continue
        if spec.when_stale is WhenStale.TRUNCATE and field.status is not FieldStatus.FRESH:
            yield Mismatch(
                f'{place}.status',
                'FRESH, or an ending',
                f'{field.status.name} in a running episode',
            )


@of_step(catalogue.CLOCKS_AGREE)
def _age_not_negative(scene: Scene) -> Found:
    for field in scene.now.after:
        if field.age is not None and field.age < 0:
            yield Mismatch(f'after.{field.name}.age', 'at least 0 s', number(field.age))


@of_step(catalogue.FIELDS_AS_CONTRACT)
def _confidence_range(scene: Scene) -> Found:
    for view, fields, _ in views(scene):
        for field in fields:
            if field.confidence is not None and not 0.0 <= field.confidence <= 1.0:
                yield Mismatch(
                    f'{view}.{field.name}.confidence', 'between 0 and 1', number(field.confidence)
                )


@of_step(catalogue.FIELDS_AS_CONTRACT, contract=True)
def _image_referenced(scene: Scene) -> Found:
    for place, spec, field, _ in _declared(scene):
        if not spec.is_image:
            if field.image is not None:
                yield Mismatch(f'{place}.image', 'no image', 'one')
            continue
        image = field.image
        if image is None:
            continue
        height, width = spec.shape[:2]
        encoding = encoding_of(spec)
        if (image.height, image.width, image.encoding) != (height, width, encoding):
            yield Mismatch(
                f'{place}.image',
                f'{width}x{height} {encoding}',
                f'{image.width}x{image.height} {image.encoding}',
            )
        if len(image.sha256) != 32 or not any(image.sha256):
            yield Mismatch(
                f'{place}.image.sha256', 'the hash of the image', repr(image.sha256.hex())
            )
        stamp = field.captured
        if stamp is not None and int(image.stamp) != stamp.nanoseconds:
            yield Mismatch(
                f'{place}.image.stamp',
                f'{stamp.nanoseconds} ns as captured',
                f'{int(image.stamp)} ns',
            )


def encoding_of(spec: FieldSpec) -> str:
    """Return what the reference to an image of a field names as its encoding."""
    source = spec.source
    return (source.compressed or source.encoding) if isinstance(source, Picture) else ''


@of_step(catalogue.STEP_CONSISTENT)
def _observation_chain(scene: Scene) -> Found:
    earlier, now = scene.earlier, scene.now
    if earlier is None or now.id.step != earlier.id.step + 1 or same(now.before, earlier.after):
        return
    if len(now.before) != len(earlier.after):
        yield Mismatch(
            'before',
            f'{len(earlier.after)} fields as after step {earlier.id.step}',
            f'{len(now.before)} fields',
        )
        return
    for old, new in zip(earlier.after, now.before, strict=True):
        if not same(old, new):
            yield Mismatch(
                f'before.{new.name}',
                f'{old.name} {vector(old.values)} as after step {earlier.id.step}',
                f'{vector(new.values)}'
                + (' with another status, stamp or age' if old.values == new.values else ''),
            )


@of_step(catalogue.EPISODE_CONSTANT)
def _sources_constant(scene: Scene) -> Found:
    earlier, now = scene.earlier, scene.now
    if earlier is None:
        return
    if now.closed.ros.host != earlier.closed.ros.host:
        yield Mismatch(
            'closed.ros.host', f'{earlier.closed.ros.host!r} as before', repr(now.closed.ros.host)
        )
    old_ones, new_ones = (*earlier.after, *earlier.state), (*now.after, *now.state)
    for old, new in zip(old_ones, new_ones, strict=False):
        if old.name != new.name:
            continue
        if old.source != new.source:
            yield Mismatch(
                f'after.{new.name}.source', f'{old.source!r} as before', repr(new.source)
            )
        for name in ('captured', 'published', 'arrived'):
            one: Stamp | None = getattr(old, name)
            other: Stamp | None = getattr(new, name)
            if one is not None and other is not None and one.host != other.host:
                yield Mismatch(
                    f'after.{new.name}.{name}.host', f'{one.host!r} as before', repr(other.host)
                )
