# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A ``sensor_msgs/PointCloud2``, thinned out to a fixed number of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.sources import Points, Vector
from boundary_env_ros.errors import RecordError

Cloud = Any  # anything with the attributes of the message

#: NumPy type of each ``sensor_msgs/PointField`` datatype.
_DATATYPES = {1: 'i1', 2: 'u1', 3: 'i2', 4: 'u2', 5: 'i4', 6: 'u4', 7: 'f4', 8: 'f8'}


def evenly_taken(cloud: Cloud, source: Points) -> tuple[Vector, float]:
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
    points = _points(cloud, source.channels)
    measured = points[np.all(np.isfinite(points), axis=1)]
    result = np.tile(np.asarray(source.pad, dtype=np.float64), (source.count, 1))
    number = min(len(measured), source.count)
    if number:
        taken = np.arange(number) * len(measured) // number
        result[:number] = measured[taken]
    return tuple(result.ravel().tolist()), number / source.count


def _points(cloud: Cloud, channels: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Return the channels of all points, shape (width * height, channels)."""
    fields = {field.name: field for field in cloud.fields}
    lacking = [name for name in channels if name not in fields]
    if lacking:
        raise RecordError(
            f'Expect the channels {", ".join(channels)} in the point cloud, actually: '
            f'{", ".join(fields) or "none"}. Mend `channels` in the contract.'
        )
    order = '>' if cloud.is_bigendian else '<'
    datatypes = [_DATATYPES.get(fields[name].datatype, '') for name in channels]
    offsets = [fields[name].offset for name in channels]
    ends = [o + np.dtype(d).itemsize for o, d in zip(offsets, datatypes, strict=True) if d]
    if not all(datatypes) or not 0 < max(ends) <= cloud.point_step:
        raise RecordError(
            'Expect a point cloud as sensor_msgs/PointField defines it, actually: '
            f'datatypes {[fields[name].datatype for name in channels]} at {offsets}, '
            f'point_step {cloud.point_step}.'
        )
    layout = np.dtype(
        {
            'names': list(channels),
            'formats': [order + datatype for datatype in datatypes],
            'offsets': offsets,
            'itemsize': cloud.point_step,
        }
    )
    data = np.frombuffer(bytes(cloud.data), np.uint8)
    row = cloud.width * cloud.point_step
    if cloud.row_step < row or len(data) < cloud.row_step * cloud.height:
        raise RecordError(
            f'Expect a point cloud of {cloud.height} rows of {row} bytes, actually: '
            f'{len(data)} bytes in rows of {cloud.row_step}.'
        )
    rows = data[: cloud.row_step * cloud.height].reshape(cloud.height, cloud.row_step)
    points = np.ascontiguousarray(rows[:, :row]).view(layout).ravel()
    return np.stack([points[name].astype(np.float64) for name in channels], axis=1)
