# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A ``sensor_msgs/PointCloud2``: thinned out for the observation, and what of it is in the way.

A point with a coordinate that is not finite was not measured.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.safety import Corridor
from boundary_env_ros.core.contract.sources import Points
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError

Cloud = Any  # anything with the attributes of the message

#: NumPy type of each ``sensor_msgs/PointField`` datatype.
_DATATYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


def evenly_spaced(cloud: Cloud, source: Points) -> tuple[Vector, float]:
    """
    Return ``count`` points, flattened row-major, and the fraction of them that were measured.

    Points with a value that is not finite were not measured and are left out. Of the others, every
    n-th is taken, so that the choice depends on nothing but the message; what is lacking is padded
    at the end.

    Raises
    ------
    RecordError
        If the cloud lacks a channel, or is shorter than it says.

    """
    channels = points_of(cloud, source.channels)
    points = np.stack([channels[name].astype(np.float64) for name in source.channels], axis=1)
    measured = points[np.all(np.isfinite(points), axis=1)]
    result = np.tile(np.asarray(source.pad, dtype=np.float64), (source.count, 1))
    number = min(len(measured), source.count)
    if number:
        chosen = np.arange(number) * len(measured) // number
        result[:number] = measured[chosen]
    return tuple(result.ravel().tolist()), number / source.count


def corridor_distances(cloud: Cloud, corridor: Corridor) -> Vector:
    """
    Return what an obstacle rule needs of a cloud.

    Parameters
    ----------
    cloud
        ``sensor_msgs/PointCloud2`` whose frame has x in the direction of forward motion, z up.
    corridor
        What of it is in the way, ahead and behind.

    Returns
    -------
    tuple
        Nearest x ahead and behind of the points in the corridor (m, +inf if there is none), and
        the fraction of all points that were measured, twice: a point that was not measured does
        not tell where it would have been. Of an empty cloud that is 0.

    Raises
    ------
    RecordError
        If the cloud lacks a coordinate, or is shorter than it says.

    """
    points = points_of(cloud, ('x', 'y', 'z'))
    if not len(points):
        return (math.inf, math.inf, 0.0, 0.0)
    # Side by side in memory: five passes over what is strewn among colours take longer.
    x, y, z = (np.ascontiguousarray(points[name]) for name in ('x', 'y', 'z'))
    measured = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    inside = measured & (y >= -corridor.half_width) & (y <= corridor.half_width)
    inside &= (z >= corridor.bottom) & (z <= corridor.top)
    found = x[inside].astype(np.float64)
    ahead = float(np.min(found, where=found >= 0, initial=math.inf))
    behind = -float(np.max(found, where=found <= 0, initial=-math.inf))
    valid = float(np.count_nonzero(measured)) / len(points)
    return (ahead, abs(behind), valid, valid)


def points_of(cloud: Cloud, channels: tuple[str, ...]) -> npt.NDArray[np.void]:
    """
    Return all points, shape (width * height,), as a structure of the named channels.

    It is a view of the data of the message, row by row, unless rows are padded.

    Raises
    ------
    RecordError
        If the cloud lacks a channel, or is shorter than it says.

    """
    fields = {field.name: field for field in cloud.fields}
    lacking = [name for name in channels if name not in fields]
    if lacking:
        raise RecordError(
            f'The point cloud lacks channels (expected {", ".join(channels)}, got '
            f'{", ".join(fields) or "none"}). Change `channels` in the contract.'
        )
    order = '>' if cloud.is_bigendian else '<'
    datatypes = [_DATATYPES.get(fields[name].datatype, '') for name in channels]
    offsets = [fields[name].offset for name in channels]
    ends = [o + np.dtype(d).itemsize for o, d in zip(offsets, datatypes, strict=True) if d]
    if not all(datatypes) or not 0 < max(ends) <= cloud.point_step:
        raise RecordError(
            'The point cloud is not as sensor_msgs/PointField defines it (got '
            f'datatypes {[fields[name].datatype for name in channels]} at {offsets}, '
            f'point_step {cloud.point_step}).'
        )
    layout = np.dtype(
        {
            'names': list(channels),
            'formats': [order + datatype for datatype in datatypes],
            'offsets': offsets,
            'itemsize': cloud.point_step,
        }
    )
    data = np.frombuffer(cloud.data, np.uint8)
    row = cloud.width * cloud.point_step
    if cloud.row_step < row or len(data) < cloud.row_step * cloud.height:
        raise RecordError(
            f'Wrong size of a point cloud (expected {cloud.height} rows of {row} bytes, got '
            f'{len(data)} bytes in rows of {cloud.row_step}).'
        )
    rows = data[: cloud.row_step * cloud.height].reshape(cloud.height, cloud.row_step)
    return np.ascontiguousarray(rows[:, :row]).view(layout).ravel()
