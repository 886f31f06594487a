# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From a message to numbers: field paths, and adapters for a laser scan and an image.

A message is anything with the right attributes; no ROS is needed to read one. A path is names and
indices, ``pose.pose.position.x`` or ``pose.covariance[0]``, or one of the functions of
:data:`FUNCTIONS` of a path, ``yaw(pose.pose.orientation)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import hashlib
import math
from operator import attrgetter
import re
from typing import Any

import numpy as np

from boundary_env_ros.core.contract import Confidence, FieldSpec, Obstacle, Vector
from boundary_env_ros.core.observation import ImageReference
from boundary_env_ros.core.timebase import NANOSECONDS, RosTime
from boundary_env_ros.errors import RecordError

Message = Any  # anything with the attributes of the message
Getter = Callable[[Message], Any]

_PART = re.compile(r'[A-Za-z_]\w*(\[\d{1,9}\])*', re.ASCII)
_CALL = re.compile(r'(\w+)\((.*)\)')


def yaw(quaternion: Message) -> float:
    """
    Return the rotation about z of a quaternion, rad, in [-pi, pi].

    The Z-Y-X (yaw, pitch, roll) convention of REP-103, for ``geometry_msgs/Quaternion``.
    """
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


FUNCTIONS: dict[str, Callable[[Message], float]] = {'yaw': yaw}


def is_path(text: str) -> bool:
    """Return whether a text is a field path."""
    call = _CALL.fullmatch(text)
    if call:
        return call[1] in FUNCTIONS and not _CALL.fullmatch(call[2]) and is_path(call[2])
    return bool(text) and all(_PART.fullmatch(part) for part in text.split('.'))


def getter(path: str) -> Getter:
    """
    Return the function that reads a path from a message.

    Raises
    ------
    RecordError
        When called with a message that has no such field.

    """
    call = _CALL.fullmatch(path)
    if call:
        function, inner = FUNCTIONS[call[1]], getter(call[2])

        def apply(message: Message) -> float:
            try:
                return function(inner(message))
            except (AttributeError, TypeError) as error:
                raise _no_field(path, message, error) from error

        return apply
    steps: list[Getter] = []
    for part in path.split('.'):
        name, *indices = part.replace(']', '').split('[')
        steps.append(attrgetter(name))
        steps.extend(_item(int(index)) for index in indices)

    def get(message: Message) -> Any:
        value = message
        try:
            for step in steps:
                value = step(value)
        except (AttributeError, IndexError, TypeError) as error:
            raise _no_field(path, message, error) from error
        return value

    return get


def _no_field(path: str, message: Message, error: Exception) -> RecordError:
    return RecordError(
        f'Expect the field {path!r} in {type(message).__name__}, actually: {error}. '
        "Compare the contract's path with `ros2 interface show`."
    )


def _item(index: int) -> Getter:
    return lambda value: value[index]


def getters(paths: tuple[str, ...]) -> Callable[[Message], Vector]:
    """
    Return the function that reads several paths from a message as floats.

    Raises
    ------
    RecordError
        When called with a message that has no such field, or no number in it.

    """
    each = [getter(path) for path in paths]

    def read(message: Message) -> Vector:
        values = [get(message) for get in each]
        try:
            return tuple(map(float, values))
        except (TypeError, ValueError):
            raise _no_number(paths, values) from None

    return read


def _no_number(paths: tuple[str, ...], values: list[Any]) -> RecordError:
    for path, value in zip(paths, values, strict=True):
        if not isinstance(value, (int, float, np.number)):
            found = type(value).__name__
            return RecordError(
                f'Expect a number in the field {path!r}, actually: {found}. '
                "Compare the contract's path with `ros2 interface show`."
            )
    return RecordError(f'Expect numbers in the fields {list(paths)}, actually: {values}.')


def put(message: Message, path: str, value: float) -> None:
    """Write one number to a plain path (names only) of a message."""
    *parents, last = path.split('.')
    target = attrgetter('.'.join(parents))(message) if parents else message
    setattr(target, last, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """
    What an adapter makes of one message.

    Attributes
    ----------
    values
        In contract order; empty for an image.
    stamp
        ``header.stamp`` in nanoseconds; None if the message has no header, or its stamp is zero,
        which ROS uses for a time never set.
    confidence
        In [0, 1]; None if the field has none.
    image
        For an image.

    """

    values: Vector
    stamp: int | None
    confidence: float | None = None
    image: ImageReference | None = None


def adapter(spec: FieldSpec, topic: str) -> Callable[[Message], Reading]:
    """
    Return the function that reads a field of the contract from its message.

    Parameters
    ----------
    spec
        The field.
    topic
        Its resolved topic, which image references name.

    """
    if spec.is_image:
        return lambda message: Reading(
            values=(), stamp=stamp_of(message), image=image_reference(message, spec, topic)
        )
    if spec.beams:
        return lambda message: _read_scan(message, spec)
    read, confidence = getters(spec.fields), _confidence(spec.confidence)
    return lambda message: Reading(
        values=read(message), stamp=stamp_of(message), confidence=confidence(message)
    )


def stamp_of(message: Message) -> int | None:
    """Return ``header.stamp`` in nanoseconds; None if there is none or it was never set."""
    header = getattr(message, 'header', None)
    if header is None:
        return None
    stamp: int = header.stamp.sec * NANOSECONDS + header.stamp.nanosec
    return stamp or None


def _confidence(spec: Confidence | None) -> Callable[[Message], float | None]:
    if spec is None:
        return lambda message: None
    if spec.field:
        read = getter(spec.field)
        return lambda message: float(read(message))
    variance = getter(spec.variance)
    tolerance = spec.tolerance
    return lambda message: probability_within(tolerance, float(variance(message)))


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


# Laser scan --------------------------------------------------------------------------------------


def _ranges(scan: Message) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Any]:
    """
    Return the ranges and which of them are usable.

    By sensor_msgs/LaserScan, a range outside [range_min, range_max] is to be discarded, and by
    REP-117 +inf means that nothing was in reach, -inf that something was too near to measure, and
    NaN that the measurement failed.
    """
    ranges = np.asarray(scan.ranges, dtype=np.float64)
    usable = ((ranges >= scan.range_min) & (ranges <= scan.range_max)) | (ranges == np.inf)
    return ranges, usable


def _read_scan(scan: Message, spec: FieldSpec) -> Reading:
    """
    Return the nearest return of each of ``beams`` equal sectors.

    The confidence is the fraction of usable beams.
    """
    ranges, usable = _ranges(scan)
    if len(ranges) < spec.beams:
        raise RecordError(
            f'Expect a scan of at least {spec.beams} beams for the field {spec.name!r}, '
            f'actually: {len(ranges)}. Lower `beams` in the contract.'
        )
    # An unusable beam is as near as can be: it must never look like free space.
    near = np.where(usable, np.minimum(ranges, scan.range_max), 0.0)
    edges = np.linspace(0, len(near), spec.beams, endpoint=False).astype(np.intp)
    values = np.minimum.reduceat(near, edges)
    return Reading(
        values=tuple(values.tolist()),
        stamp=stamp_of(scan),
        confidence=float(np.count_nonzero(usable)) / len(ranges),
    )


def obstacle_distances(scan: Message, rule: Obstacle) -> Vector:
    """
    Return what the obstacle rule needs of a scan.

    Parameters
    ----------
    scan
        ``sensor_msgs/LaserScan`` whose x axis is the direction of forward motion.
    rule
        The rule, for its sector.

    Returns
    -------
    tuple
        Nearest distance ahead and behind (m, +inf if nothing is in reach), and the fraction of
        usable beams in each of the two sectors; a sector that the scan does not cover has fraction
        0. A beam that says "too near to measure" (-inf) counts as distance 0.

    """
    ranges, usable = _ranges(scan)
    angles = scan.angle_min + scan.angle_increment * np.arange(len(ranges))
    ahead = np.abs(np.arctan2(np.sin(angles), np.cos(angles)))
    too_near = np.isneginf(ranges)
    result = []
    valid = []
    for sector in (ahead <= rule.half_angle, ahead >= math.pi - rule.half_angle):
        count = int(np.count_nonzero(sector))
        good = sector & (usable | too_near)
        number = int(np.count_nonzero(good))
        distance = float(np.min(ranges[good])) if number else math.inf
        result.append(max(distance, 0.0))
        valid.append(number / count if count else 0.0)
    return (*result, *valid)


# Image -------------------------------------------------------------------------------------------


def image_reference(image: Message, spec: FieldSpec, topic: str) -> ImageReference:
    """
    Return the reference to an image.

    Raises
    ------
    RecordError
        If its size or encoding is not what the contract declares.

    """
    height, width = spec.shape[:2]
    found = (image.height, image.width, image.encoding)
    if found != (height, width, spec.encoding):
        raise RecordError(
            f'Expect images of {width}x{height} {spec.encoding} on {topic}, actually: '
            f'{image.width}x{image.height} {image.encoding}. Mend shape or encoding of the '
            f'field {spec.name!r} in the contract, or the configuration of the camera.'
        )
    return ImageReference(
        topic=topic,
        stamp=RosTime(stamp_of(image) or 0),
        height=height,
        width=width,
        encoding=spec.encoding,
        sha256=hashlib.sha256(image.data).digest(),
    )
