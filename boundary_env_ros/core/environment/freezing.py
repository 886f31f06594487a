# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Observations: readings come in, and one frozen, aged, bounded view goes out.

The ages are those of the *capture*, not of the arrival: a topic that is punctual with old data is
stale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import le

from boundary_env_ros.core.contract.model import FieldSpec, OnStale, OutOfBounds
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.sources.derived import compute, Frames
from boundary_env_ros.core.sources.reading import is_fresh, Reading
from boundary_env_ros.core.timebase import (
    age_in_words,
    age_of,
    ClockReading,
    NANOSECONDS,
    Stamp,
)
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import replace


def reading_of(field: ObservationField) -> Reading:
    """Return a field of a record as it was before it was frozen, to be frozen once more."""
    return Reading(
        values=field.values,
        captured=field.captured,
        published=field.published,
        arrived=field.arrived,
        confidence=field.confidence,
        image=field.image,
        document=field.document,
    )


def freeze(
    specs: Sequence[FieldSpec],
    latest: Mapping[str, Reading],
    sources: Mapping[str, str],
    *,
    observed: ClockReading,
    past: Frames = (),
) -> tuple[ObservationField, ...]:
    """
    Freeze the latest readings into the fields of an observation.

    Parameters
    ----------
    specs
        The fields, in contract order; those that others are derived from among them.
    latest
        Latest reading of each field that has one.
    sources
        Resolved topic, or ``task:<name>``, of each field that has a reading.
    observed
        ClockReading of the observation.
    past
        Values of the observations before, the newest last, for derived fields.

    Returns
    -------
    tuple
        One field for each of ``specs``; a field that never came is ``MISSING`` and empty, never
        filled up. A value outside its bounds is brought inside and marked ``clipped``.

    """
    newest = newest_of_skewed(specs, latest)
    frozen: dict[str, ObservationField] = {
        spec.name: _field(spec, latest.get(spec.name), sources[spec.name], observed, newest)
        for spec in specs
        if spec.derived is None
    }
    by_name = {spec.name: spec for spec in specs}
    frame = {name: field.values for name, field in frozen.items() if field.values}
    for spec in specs:
        if spec.derived is not None:
            _freeze_derived(spec, by_name, frozen, past, frame, observed)
    return tuple(frozen[spec.name] for spec in specs)


def newest_of_skewed(specs: Sequence[FieldSpec], latest: Mapping[str, Reading]) -> int | None:
    """Return when the newest of the fields that belong together was captured."""
    captured = [
        reading.captured.nanoseconds
        for spec in specs
        if spec.skew is not None
        and (reading := latest.get(spec.name)) is not None
        and reading.captured is not None
    ]
    return max(captured, default=None)


def _field(
    spec: FieldSpec,
    reading: Reading | None,
    source: str,
    observed: ClockReading,
    newest: int | None,
) -> ObservationField:
    if reading is None:
        return ObservationField(
            name=spec.name, status=FieldStatus.MISSING, source=source, frame_id=spec.frame
        )
    age = age_of(reading.captured, observed)
    values, clipped = reading.values, False
    if not spec.is_image:
        values, clipped = bring_inside(values, spec)
    return ObservationField(
        name=spec.name,
        status=status_of(spec, reading.captured, age, newest),
        values=values,
        clipped=clipped,
        captured=reading.captured,
        published=reading.published,
        arrived=reading.arrived,
        age=age,
        confidence=reading.confidence,
        source=source,
        frame_id=spec.frame,
        image=reading.image,
        document=reading.document,
    )


def status_of(
    spec: FieldSpec, captured: Stamp | None, age: float | None, newest: int | None
) -> FieldStatus:
    """
    Return whether a reading is fresh.

    Parameters
    ----------
    spec
        Its field.
    captured, age
        When it was measured, and how long ago that is, seconds.
    newest
        When the newest of the fields that belong together was captured, nanoseconds.

    """
    fresh = spec.max_age is None or is_fresh(age, spec.max_age)
    if spec.skew is not None and newest is not None:
        lag = None if captured is None else newest - captured.nanoseconds
        fresh = fresh and lag is not None and lag / NANOSECONDS <= spec.skew
    return FieldStatus.FRESH if fresh else FieldStatus.STALE


def _freeze_derived(
    spec: FieldSpec,
    specs: Mapping[str, FieldSpec],
    frozen: dict[str, ObservationField],
    past: Frames,
    frame: dict[str, Vector],
    observed: ClockReading,
) -> None:
    """Add a derived field, after those that it is derived from, and as good as the worst."""
    derived = spec.derived
    if spec.name in frozen or derived is None:
        return
    for of in derived.of:
        _freeze_derived(specs[of], specs, frozen, past, frame, observed)
    inputs = [frozen[of] for of in derived.of]
    worst = max(field.status for field in inputs)
    reading = None
    if worst is not FieldStatus.MISSING:
        complete = [f for f in (*past, frame) if all(of in f for of in derived.of)]
        known = [field.confidence for field in inputs if field.confidence is not None]
        reading = Reading(
            values=compute(derived, complete),
            captured=oldest([field.captured for field in inputs]),
            confidence=min(known, default=None),
        )
    field = _field(spec, reading, f'derived:{derived.function}', observed, None)
    frozen[spec.name] = replace(field, status=worst)
    frame[spec.name] = field.values


def oldest(stamps: Sequence[Stamp | None]) -> Stamp | None:
    """Return the oldest of some stamps; None if one is unknown or they are of different clocks."""
    known = [stamp for stamp in stamps if stamp is not None]
    if len(known) < len(stamps) or len({(s.clock, s.host) for s in known}) != 1:
        return None
    return min(known, key=lambda stamp: stamp.nanoseconds)


def bring_inside(values: Vector, spec: FieldSpec) -> tuple[Vector, bool]:
    """Return the values within the bounds of the field, and whether that changed any of them."""
    if all(map(le, spec.low, values)) and all(map(le, values, spec.high)):
        return values, False
    return tuple(map(min, map(max, values, spec.low), spec.high)), True


def is_lost(spec: FieldSpec, field: ObservationField) -> bool:
    """Return whether the staleness or range of a field ends the episode, as the contract says."""
    stale = field.status is not FieldStatus.FRESH and spec.on_stale is OnStale.TRUNCATE
    return stale or (spec.out_of_bounds is OutOfBounds.TRUNCATE and field.clipped)


def why_lost(spec: FieldSpec, field: ObservationField, unmeasured: str = '') -> str:
    """
    Return one sentence on a field that :func:`is_lost` says is lost.

    Parameters
    ----------
    spec, field
        The field.
    unmeasured
        What came since, if it measured nothing; see :func:`core.sources.reading.not_measured`.

    """
    if field.status is FieldStatus.FRESH:
        why = 'left its bounds'
    elif field.age is None:
        why = 'has not come'
    else:
        why = age_in_words(field.captured, field.age)
        if spec.max_age is not None and why.startswith('is '):
            why += f', {spec.max_age:g} s is allowed'
    if unmeasured and field.status is not FieldStatus.FRESH:
        why += f'; it is heard, but {unmeasured}'
    return f'{field.name} ({field.source}) {why}' if field.source else f'{field.name} {why}'
