# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a message to the values that the contract asks of it."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

from boundary_env_ros.core.contract.model import Confidence, FieldSpec
from boundary_env_ros.core.contract.paths import getter, getters, Message, split_call
from boundary_env_ros.core.contract.sources import (
    Array,
    Beams,
    Joints,
    Lookup,
    Paths,
    Picture,
    Points,
    Source,
    Trajectory,
)
from boundary_env_ros.core.sources import images, json_documents
from boundary_env_ros.core.sources.laser_scan import nearest_of_sectors
from boundary_env_ros.core.sources.no_estimate import estimate_check
from boundary_env_ros.core.sources.point_cloud import evenly_spaced
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import OfAnother, RecordError


def adapter(spec: FieldSpec, topic: str) -> Callable[[Message], Reading]:
    """
    Return the function that reads a field of the contract from its message.

    Parameters
    ----------
    spec
        The field, of a topic or of tf.
    topic
        Its resolved topic, which image references name.

    """
    source = spec.source
    if spec.is_document:
        return _document_adapter(spec)
    assert source is not None  # a field of the task and a derived one are read from no message
    if isinstance(source, Picture):
        return _image_adapter(spec, topic)
    if isinstance(source, Beams):
        beams = source.count
        return _with_fraction(lambda message: nearest_of_sectors(message, beams))
    if isinstance(source, Points):
        points = source
        return _with_fraction(lambda message: evenly_spaced(message, points))
    return measured(source, spec.type, spec.confidence)


def _document_adapter(spec: FieldSpec) -> Callable[[Message], Reading]:
    fault_of = json_documents.checker(spec.schema)

    def adapt(message: Message) -> Reading:
        found = json_documents.read(message.data)
        fault = fault_of(found)
        if fault:
            raise RecordError(f'{spec.name}: expected a document as its schema asks; {fault}.')
        return Reading(document=json_documents.text_of(found))

    return adapt


def _image_adapter(spec: FieldSpec, topic: str) -> Callable[[Message], Reading]:
    return lambda message: Reading(
        image=images.reference(message, spec, topic, stamp_of(message) or 0)
    )


def _with_fraction(
    read: Callable[[Message], tuple[Vector, float]],
) -> Callable[[Message], Reading]:
    """Return the adapter of a source whose confidence is the fraction that was measured."""

    def adapt(message: Message) -> Reading:
        values, fraction = read(message)
        return Reading(values=values, confidence=fraction)

    return adapt


def measured(
    source: Source, kind: str, confident: Confidence | None = None
) -> Callable[[Message], Reading]:
    """
    Return the function that reads what was measured, NaN where a message has no estimate.

    Parameters
    ----------
    source
        Where the values are.
    kind
        ROS type of the messages.
    confident
        Where the confidence of the values comes from.

    """
    read, confidence = reader(source), _confidence(confident)
    paths = source.paths if isinstance(source, Paths) else ()
    check = estimate_check(kind, (source.path,) if isinstance(source, Array) else paths)

    def read_measured(message: Message) -> Reading:
        values, why = read(message), ''
        if check is not None:
            values, why = check(message, values)
        return Reading(values=values, confidence=confidence(message), problem=why)

    return read_measured


def reader(source: Source) -> Callable[[Message], Vector]:
    """
    Return the function that reads the values of a source from a message.

    Raises
    ------
    RecordError
        When called with a message that has not what the source asks for.

    """
    match source:
        case Paths(paths=paths):
            return getters(paths)
        case Lookup(paths=paths):
            # Of the transform of a TransformStamped.
            return getters(tuple(_within('transform', path) for path in paths))
        case Joints():
            return lambda message: _joints(message, source)
        case Trajectory(names=names):
            return lambda message: _trajectory(message, names)
        case Array(path=path, length=length):
            get = getter(path)
            return lambda message: _array(get(message), path, length)
        case Beams() | Points() | Picture():
            raise TypeError(f'Only the adapter of a field reads it (got {source}).')


def _within(field: str, path: str) -> str:
    """Return the path of something inside a field; a function stays outside."""
    function, inner = split_call(path)
    return f'{function}({field}.{inner})' if function else f'{field}.{path}'


def stamp_of(message: Message) -> int | None:
    """Return ``header.stamp`` in nanoseconds; None if there is none or it was never set."""
    try:
        stamp = message.header.stamp
        return stamp.sec * NANOSECONDS + stamp.nanosec or None
    except AttributeError:
        return None  # what another calls a header is none


def frame_of(message: Message) -> str:
    """Return ``header.frame_id``; empty if there is none, or it says nothing."""
    return str(getattr(getattr(message, 'header', None), 'frame_id', ''))


def _joints(message: Message, source: Joints) -> Vector:
    if source.publishers > 1 and not set(source.names) & set(message.name):
        raise OfAnother(
            f'Joints of another publisher (expected some of {", ".join(source.names)}, got '
            f'{", ".join(message.name) or "none"}).'
        )
    places = _places(message.name, source.names)
    values: list[float] = []
    for quantity in source.quantities:
        column = getattr(message, quantity)
        if len(column) != len(message.name):
            raise RecordError(
                f'The {quantity} of joints is missing (expected {len(message.name)} values, got '
                f'{len(column)}). Does the driver report it?'
            )
        values += [float(column[place]) for place in places]
    return tuple(values)


def _trajectory(message: Message, names: tuple[str, ...]) -> Vector:
    places = _places(message.joint_names, names)
    if len(message.points) != 1 or len(message.points[0].positions) != len(message.joint_names):
        raise RecordError(
            'Wrong trajectory (expected one point with a position for each joint, got '
            f'{len(message.points)} points).'
        )
    positions = message.points[0].positions
    return tuple(float(positions[place]) for place in places)


def _places(there: Any, names: tuple[str, ...]) -> list[int]:
    index = {name: place for place, name in enumerate(there)}
    try:
        return [index[name] for name in names]
    except KeyError as error:
        raise RecordError(
            f'The joint {error.args[0]!r} is missing (got {", ".join(index) or "none"}). '
            'Change `joints` in the contract.'
        ) from None


def _array(found: Any, path: str, length: int) -> Vector:
    try:
        values = tuple(map(float, found))
    except (TypeError, ValueError):
        raise RecordError(
            f'The field {path!r} is not made of numbers (got {type(found).__name__}).'
        ) from None
    if len(values) != length:
        raise RecordError(
            f'Wrong length of the field {path!r} (expected {length} numbers, got {len(values)}). '
            'Change the shape in the contract.'
        )
    return values


def _confidence(spec: Confidence | None) -> Callable[[Message], float | None]:
    if spec is None:
        return lambda message: None
    if spec.field:
        read = getters((spec.field,))
        return lambda message: _probability(read(message)[0])
    variance = getters((spec.variance,))
    tolerance = spec.tolerance
    return lambda message: probability_within(tolerance, variance(message)[0])


def _probability(value: float) -> float | None:
    """Return a probability; None for a number that is none, which says nothing."""
    return value if 0.0 <= value <= 1.0 else None


def probability_within(tolerance: float, variance: float) -> float | None:
    """
    Return the probability that a normal error of that variance is at most the tolerance.

    ``erf(tolerance / sqrt(2 variance))``; None for a variance that is negative or not finite,
    which ROS messages use for unknown.
    """
    if not math.isfinite(variance) or variance < 0.0:
        return None
    if variance == 0.0:
        return 1.0
    return math.erf(tolerance / math.sqrt(2.0 * variance))
