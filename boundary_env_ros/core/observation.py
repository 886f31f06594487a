# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Observations: samples come in, and one frozen, aged, bounded view goes out.

The ages are those of the *capture*, not of the arrival: a topic that is punctual with old data is
stale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from boundary_env_ros.core.contract import Beyond, FieldSpec, Vector, WhenStale
from boundary_env_ros.core.decision import StepId
from boundary_env_ros.core.timebase import between, Clock, Instant, RosTime, Stamp
from boundary_env_ros.errors import ClockMismatch


class FieldStatus(IntEnum):
    """How far a field of an observation can be trusted."""

    FRESH = 1
    STALE = 2
    MISSING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageReference:
    """
    Which image an observation means: topic, stamp and content.

    Attributes
    ----------
    stamp
        ``header.stamp`` of the image, nanoseconds.
    sha256
        Hash of its ``data``.
    data
        The processed image, if the contract embeds it.

    """

    topic: str
    stamp: RosTime
    height: int
    width: int
    encoding: str
    sha256: bytes
    data: bytes = b''


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationField:
    """One field of an observation; ``ObservationField.msg`` has the meaning of each attribute."""

    name: str
    status: FieldStatus
    values: Vector = ()
    clipped: bool = False
    captured: Stamp | None = None
    published: Stamp | None = None
    arrived: Stamp | None = None
    age: float | None = None
    confidence: float | None = None
    source: str = ''
    frame_id: str = ''
    image: ImageReference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the policy sees, frozen at one instant."""

    id: StepId
    observed: Instant
    fields: tuple[ObservationField, ...]

    def __getitem__(self, name: str) -> ObservationField:
        """Return the field of that name."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """
    One value of one field as it came from its source.

    Attributes
    ----------
    values
        In contract order and unit; empty for an image.
    captured, published, arrived
        When the sensor measured it, the middleware sent it and the middleware here had it.
    confidence
        In [0, 1]; None if the field has none.
    image
        Which image it was, for image fields.

    """

    values: Vector
    captured: Stamp | None
    published: Stamp | None = None
    arrived: Stamp | None = None
    confidence: float | None = None
    image: ImageReference | None = None


def freeze(
    specs: Sequence[FieldSpec],
    latest: Mapping[str, Sample],
    sources: Mapping[str, str],
    *,
    id: StepId,  # noqa: A002 - the name of the field in the message
    observed: Instant,
) -> Observation:
    """
    Freeze the latest samples into an observation.

    Parameters
    ----------
    specs
        The fields, in contract order.
    latest
        Latest sample of each field that has one.
    sources
        Resolved topic, or ``task:<name>``, of each field.
    id, observed
        Step and instant of the observation.

    Returns
    -------
    Observation
        With one field for each of ``specs``; a field that never came is ``MISSING`` and empty,
        never filled up.

    """
    return Observation(
        id=id,
        observed=observed,
        fields=tuple(
            _field(spec, latest.get(spec.name), sources[spec.name], observed) for spec in specs
        ),
    )


def _field(
    spec: FieldSpec, sample: Sample | None, source: str, observed: Instant
) -> ObservationField:
    if sample is None:
        return ObservationField(
            name=spec.name, status=FieldStatus.MISSING, source=source, frame_id=spec.frame
        )
    age = age_of(sample.captured, observed)
    fresh = spec.max_age is None or (age is not None and age <= spec.max_age)
    values, clipped = sample.values, False
    if spec.beyond is Beyond.CLIP and not spec.is_image:
        values, clipped = bring_inside(values, spec)
    return ObservationField(
        name=spec.name,
        status=FieldStatus.FRESH if fresh else FieldStatus.STALE,
        values=values,
        clipped=clipped,
        captured=sample.captured,
        published=sample.published,
        arrived=sample.arrived,
        age=age,
        confidence=sample.confidence,
        source=source,
        frame_id=spec.frame,
        image=sample.image,
    )


def age_of(captured: Stamp | None, observed: Instant) -> float | None:
    """
    Return the age in seconds of something captured, at an instant; None if it cannot be known.

    A negative age is returned as it is: the clock of the source is ahead, and hiding that hides
    the fault.
    """
    if captured is None or captured.clock is Clock.STEADY:
        return None
    try:
        duration = between(captured, observed.ros)
    except ClockMismatch:
        return None
    return None if duration is None else duration.seconds


def bring_inside(values: Vector, spec: FieldSpec) -> tuple[Vector, bool]:
    """Return the values within the bounds of the field, and whether that changed any of them."""
    array = np.asarray(values, dtype=np.float64)
    inside = np.clip(array, spec.low, spec.high)
    if np.array_equal(inside, array):
        return values, False
    return tuple(inside.tolist()), True


def outside(spec: FieldSpec, field: ObservationField) -> bool:
    """Return whether a field holds a value that its space does not contain."""
    if spec.is_image or not field.values:
        return False
    array = np.asarray(field.values)
    return not bool(np.all((array >= spec.low) & (array <= spec.high)))


def missing(observation: Observation) -> tuple[str, ...]:
    """Return the names of the fields that never came."""
    return tuple(f.name for f in observation.fields if f.status is FieldStatus.MISSING)


def lost(specs: Sequence[FieldSpec], observation: Observation) -> tuple[str, ...]:
    """Return the fields whose staleness or range ends the episode, as the contract says."""
    ending = []
    for spec, field in zip(specs, observation.fields, strict=True):
        stale = field.status is not FieldStatus.FRESH and spec.when_stale is WhenStale.TRUNCATE
        beyond = spec.beyond is Beyond.TRUNCATE and outside(spec, field)
        if stale or beyond:
            ending.append(spec.name)
    return tuple(ending)
