# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of what the policy saw."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import product
import math
from math import isfinite
from operator import le

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec, OutOfBounds
from boundary_env_ros.core.contract.sources import Joints, Paths, Picture
from boundary_env_ros.core.records.observation import FieldStatus, ImageReference, ObservationField
from boundary_env_ros.core.records.transition import Kind
from boundary_env_ros.core.sources.json_documents import checker, read
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.audit.rules.audit_rule import (
    AuditTerms,
    Found,
    known,
    of_step,
    outside,
    StepContext,
    unlike,
)
from boundary_env_ros.evidence.record_difference import Mismatch, number, vector


@of_step('fields-as-contract', contract=True)
def _fields_as_contract(context: StepContext) -> Found:
    contract, now = known(context.terms).contract, context.now
    goes_on = now.kind is Kind.STEP and not (now.terminated or now.truncated)
    views = [('after', now.after, contract.observation), ('state', now.state, contract.state)]
    if context.earlier is None and now.kind is Kind.STEP:
        # Else the step before shows it already.
        views.insert(0, ('before', now.before, contract.observation))
    for view, fields, specs in views:
        expected, actual = ([item.name for item in items] for items in (specs, fields))
        if actual != expected:
            names = f'the fields {", ".join(expected) or "none"}'
            yield Mismatch(view, names, ', '.join(actual) or 'none')
        by_name = {spec.name: spec for spec in specs}
        for field in fields:
            if field.name in by_name:
                spec = by_name[field.name]
                yield from wrong_field(f'{view}.{field.name}', spec, field, goes_on=goes_on)


@lru_cache(maxsize=1)
def _names_of_values(terms: AuditTerms) -> Mapping[str, tuple[str, ...]]:
    """Return, by field, what each value is called in its message, where that has names."""
    found = {}
    for spec in (*terms.contract.observation, *terms.contract.state):
        match spec.source:
            case Paths(paths=places):
                found[spec.name] = places
            case Joints(names=names, quantities=quantities):
                found[spec.name] = tuple(map(' '.join, product(quantities, names)))
    return found


@of_step('fields-as-contract', contract=True)
def _of_one_message(context: StepContext) -> Found:
    now, names = context.now, _names_of_values(known(context.terms))
    for view, fields in (('before', now.before), ('after', (*now.after, *now.state))):
        there: dict[tuple[object, ...], dict[str, tuple[str, float]]] = {}
        for field in fields:
            if field.clipped or field.captured is None:
                continue
            # Two messages may have one stamp.
            of = field.source, field.captured, field.published, field.arrived
            values = there.setdefault(of, {})
            for place, value in zip(names.get(field.name, ()), field.values, strict=False):
                name, other = values.setdefault(place, (field.name, value))
                where = f'{view}.{field.name}.values'
                yield from unlike(where, other, value, f'as {name} has it of the same message')


@of_step('fields-as-contract')
def _fields_stay(context: StepContext) -> Found:
    # Also where no contract says which they are.
    now = context.now
    for field in (*now.after, *now.state) if context.terms is None else ():
        yield from _wrong_in_itself(f'after.{field.name}', field)
    before, after = ([field.name for field in fields] for fields in (now.before, now.after))
    if not after or (now.kind is Kind.STEP and before != after):
        names = f'the fields of `after`: {", ".join(after) or "at least one"}'
        yield Mismatch('before', names, ', '.join(before) or 'none')


def _wrong_in_itself(place: str, field: ObservationField) -> Found:
    """Yield what no contract could allow."""
    if field.confidence is not None:
        yield from outside(f'{place}.confidence', field.confidence, 0.0, 1.0)
    if any(map(math.isnan, field.values)):
        yield Mismatch(f'{place}.values', 'numbers', vector(field.values))
    if field.status is FieldStatus.MISSING and (field.values or field.image or field.document):
        yield Mismatch(f'{place}.status', 'that of a value that is there', 'MISSING')


def wrong_field(place: str, spec: FieldSpec, field: ObservationField, *, goes_on: bool) -> Found:
    """Yield where a field, in a step that goes on or not, is not as the contract declares it."""
    if field.frame_id != spec.frame:
        yield from unlike(f'{place}.frame_id', spec.frame, field.frame_id)
    yield from _wrong_in_itself(place, field)
    if field.image is not None:
        yield from _wrong_image(place, spec, field.image, field.captured)
    yield from _wrong_document(place, spec, field)
    yield from _wrong_values(place, spec, field, goes_on=goes_on)


def _wrong_values(place: str, spec: FieldSpec, field: ObservationField, *, goes_on: bool) -> Found:
    """Yield where the values of a field have not the number, type and bounds of the contract."""
    size = 0 if spec.is_image else math.prod(spec.shape)
    if field.status is not FieldStatus.MISSING and len(field.values) != size:
        yield Mismatch(f'{place}.values', f'{size} values', f'{len(field.values)}')
    # The values of an image are in its message.
    lows, highs = ((), ()) if spec.is_image else (spec.low, spec.high)
    is_real = spec.dtype.startswith('float')
    if is_real and not field.clipped and _are_inside(field.values, lows, highs):
        return
    whole = np.dtype(spec.dtype).kind in 'iub'
    at_bound = False
    for i, (value, low, high) in enumerate(zip(field.values, lows, highs, strict=False)):
        at_bound = at_bound or value in (low, high)
        if not low <= value <= high:
            expected = f'between {number(low)} and {number(high)}'
            yield Mismatch(f'{place}.values[{i}]', expected, number(value))
        if not math.isfinite(value) or (whole and not value.is_integer()):
            yield Mismatch(f'{place}.values[{i}]', f'type {spec.dtype}', number(value))
    if field.clipped and (
        not at_bound or (spec.out_of_bounds is OutOfBounds.TRUNCATE and goes_on)
    ):
        expected = 'no clipping, or an ending' if at_bound else 'a value at a bound'
        yield Mismatch(f'{place}.clipped', expected, f'clipped {vector(field.values)}')


def _are_inside(values: Vector, lows: Vector, highs: Vector) -> bool:
    return (
        all(map(le, lows, values)) and all(map(le, values, highs)) and all(map(isfinite, values))
    )


def _wrong_image(
    place: str, spec: FieldSpec, image: ImageReference, captured: Stamp | None
) -> Found:
    """Yield where a reference to an image is not to one of the contract."""
    if not spec.is_image:
        yield Mismatch(f'{place}.image', 'no image', 'one')
        return
    height, width = spec.shape[:2]
    expected = f'{width}x{height} {encoding_of(spec)}'
    yield from unlike(f'{place}.image', expected, f'{image.width}x{image.height} {image.encoding}')
    if len(image.sha256) != 32 or not any(image.sha256):
        yield Mismatch(f'{place}.image.sha256', 'the hash of the image', image.sha256.hex())
    if captured is not None:
        place = f'{place}.image.stamp'
        yield from unlike(place, captured.nanoseconds, int(image.stamp), 'as captured')


def _wrong_document(place: str, spec: FieldSpec, field: ObservationField) -> Found:
    """Yield where a document is not as its schema asks."""
    if not spec.is_document:
        yield from unlike(f'{place}.document', '', field.document)
    elif field.document:
        try:
            fault = checker(spec.schema)(read(field.document))
        except RecordError as error:
            fault = str(error)
        if fault:
            yield Mismatch(f'{place}.document', 'a document as its schema asks', fault)


def encoding_of(spec: FieldSpec) -> str:
    """Return what the reference to an image of a field names as its encoding."""
    source = spec.source
    return (source.compressed or source.encoding) if isinstance(source, Picture) else ''


@lru_cache(maxsize=1)
def _withheld(terms: AuditTerms) -> tuple[Collection[str], Collection[str], tuple[str, ...]]:
    """Return what no step may name: fields, topics, and how the names of these end elsewhere."""
    contract = terms.contract
    topics = {spec.topic for spec in contract.privileged if spec.topic}
    topics -= {spec.topic for spec in (*contract.observation, *contract.state)}
    names = {spec.name for spec in contract.privileged}
    return names, topics, tuple(f'/{topic}' for topic in topics)


@of_step('truth-withheld', contract=True)
def _truth_withheld(context: StepContext) -> Found:
    hidden, topics, ends = _withheld(known(context.terms))
    for view in ('before', 'after', 'state'):
        for field in getattr(context.now, view):
            source = field.source
            if field.name in hidden or source in topics or source.endswith(ends):
                expected = 'nothing privileged'
                yield Mismatch(f'{view}.{field.name}', expected, f'{field.name!r} from {source!r}')


@of_step('clocks-agree')
def _age_not_negative(context: StepContext) -> Found:
    for field in context.now.after:
        if field.age is not None and field.age < 0:
            yield Mismatch(f'after.{field.name}.age', 'at least 0 s', number(field.age))
