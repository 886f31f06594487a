# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules about obstacles need of the message of a sensor: one form for all of them."""

from __future__ import annotations

from collections.abc import Callable
import math

from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.safety import Corridor, Sector, Side
from boundary_env_ros.core.sources.laser_scan import obstacle_distances
from boundary_env_ros.core.sources.point_cloud import corridor_distances
from boundary_env_ros.core.vectors import Vector

#: Number of values that a reader returns: a distance and a fraction, ahead and behind.
DISTANCES = 4


def distance_reader(zone: Sector | Side | Corridor) -> Callable[[Message], Vector]:
    """
    Return the reader of a sensor's message for what of it is in the way.

    It returns the nearest distance ahead and behind (m), and the fraction of what it evaluated
    that was usable, ahead and behind. The distance is +inf where nothing usable was found.
    """
    if isinstance(zone, Sector):
        return lambda message: obstacle_distances(message, zone.half_angle)
    if isinstance(zone, Side):
        return lambda message: range_distances(message, zone)
    return lambda message: corridor_distances(message, zone)


def range_distances(message: Message, side: Side) -> Vector:
    """
    Return what an obstacle rule needs of a ``sensor_msgs/msg/Range``.

    By REP-117 and the definition of the message, +inf means that nothing was in reach, -inf that
    something was too near to measure (or, for a sensor of a fixed distance, whose ``min_range``
    and ``max_range`` are the same, that something was within it), NaN that the measurement failed.
    A range below ``min_range``, 0.0 too, is read as too near; one above ``max_range`` is
    discarded, as is one at the distance of a sensor of a fixed distance.

    Parameters
    ----------
    message
        The message.
    side
        The side that the sensor looks at.

    Returns
    -------
    tuple
        Distance ahead and behind (m), and 1 or 0 for whether it is usable, ahead and behind. What
        is too near counts as 0, and nothing in reach as ``max_range``: it tells nothing of what is
        farther away. The other side is +inf and usable: this rule knows nothing of it, and leaves
        it to others.

    """
    distance, valid = measured_range(message.range, message.min_range, message.max_range)
    if side is Side.AHEAD:
        return (distance, math.inf, valid, 1.0)
    return (math.inf, distance, 1.0, valid)


def measured_range(value: float, least: float, most: float) -> tuple[float, float]:
    """
    Return a distance, m, and 1 or 0 for whether it is usable; see :func:`range_distances`.

    Parameters
    ----------
    value, least, most
        A range as it came, and what its sensor can measure, m.

    """
    if not 0.0 <= least <= most:
        return math.inf, 0.0  # says nothing, whatever the value
    if value < least:
        return 0.0, 1.0
    if value == math.inf:
        return most, 1.0
    if least < most and least <= value <= most:
        return value, 1.0
    return math.inf, 0.0
