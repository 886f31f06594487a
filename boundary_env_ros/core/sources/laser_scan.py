# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A ``sensor_msgs/LaserScan``: what the observation and the obstacle rule read from it.

By REP-117 +inf means that nothing was in reach, -inf that something was too near to measure, and
NaN that the measurement failed. By the message's definition a range outside [range_min, range_max]
is to be discarded; but a range below range_min, 0.0 too, is what drivers of before REP-117 report
where something is too near, so nothing here takes it for free space: the obstacle rule reads it as
an obstacle at distance 0. A driver that reports 0.0 where nothing was in reach has to report +inf.
"""

from __future__ import annotations

from functools import lru_cache
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError

#: Beams of which the sectors are kept: whoever publishes a scan says how many there are.
_MOST_KEPT = 100_000

Scan = Any  # anything with the attributes of the message


def nearest_of_sectors(scan: Scan, count: int) -> tuple[Vector, float]:
    """
    Return the nearest return of each of some equal sectors, m, and the fraction of usable beams.

    Raises
    ------
    RecordError
        If the scan has fewer beams than that.

    """
    ranges, usable = _ranges(scan)
    if len(ranges) < count:
        raise RecordError(
            f'Too few beams in a scan (expected at least {count}, got {len(ranges)}). '
            'Lower `beams` in the contract.'
        )
    # An unusable beam is as near as can be: it must never look like free space.
    near = np.where(usable, np.minimum(ranges, scan.range_max), 0.0)
    values = np.minimum.reduceat(near, _edges(len(near), count))
    return tuple(values.tolist()), float(np.count_nonzero(usable)) / len(ranges)


def obstacle_distances(scan: Scan, half_angle: float) -> Vector:
    """
    Return what the obstacle rule needs of a scan.

    Parameters
    ----------
    scan
        ``sensor_msgs/LaserScan`` whose x axis is the direction of forward motion.
    half_angle
        Half the width of the sector that is evaluated, ahead and behind, rad.

    Returns
    -------
    tuple
        Nearest distance ahead and behind (m, +inf if no beam is usable), and the fraction of
        usable beams in each of the two sectors; a sector that the scan does not cover has fraction
        0. A beam below ``range_min`` counts as usable and as distance 0, and one that says
        "nothing in reach" (+inf) as ``range_max``: it tells nothing of what is farther away.

    """
    ranges, usable = _ranges(scan)
    too_near = ranges < scan.range_min
    known = usable | too_near
    ranges = np.where(too_near, 0.0, np.minimum(ranges, scan.range_max))
    result = []
    valid = []
    sectors = _sectors if len(ranges) <= _MOST_KEPT else _sectors.__wrapped__
    for sector in sectors(scan.angle_min, scan.angle_increment, len(ranges), half_angle):
        near = ranges[sector[known[sector]]]
        result.append(float(np.min(near, initial=math.inf)))
        valid.append(len(near) / len(sector) if len(sector) else 0.0)
    return (*result, *valid)


@lru_cache(maxsize=16)  # A scanner divides its turn alike each time.
def _edges(beams: int, count: int) -> npt.NDArray[np.intp]:
    """Return the first beam of each of some equal sectors."""
    return np.linspace(0, beams, count, endpoint=False).astype(np.intp)


@lru_cache(maxsize=4)
def _sectors(
    angle_min: float, increment: float, beams: int, half_angle: float
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the beams of the sectors ahead and behind."""
    angles = angle_min + increment * np.arange(beams)
    ahead = np.abs(np.arctan2(np.sin(angles), np.cos(angles)))
    return np.flatnonzero(ahead <= half_angle), np.flatnonzero(ahead >= math.pi - half_angle)


def _ranges(scan: Scan) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the ranges and which of them are usable."""
    ranges = np.asarray(scan.ranges, dtype=np.float64)
    if not 0.0 <= scan.range_min <= scan.range_max:
        raise RecordError(
            'Impossible ranges of a scan (expected 0 <= range_min <= range_max, got '
            f'{scan.range_min} and {scan.range_max}). Let the driver report what it can measure.'
        )
    usable = ((ranges >= scan.range_min) & (ranges <= scan.range_max)) | (ranges == np.inf)
    return ranges, usable
