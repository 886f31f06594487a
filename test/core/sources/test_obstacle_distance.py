# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a rule about obstacles makes of a scan, a range and a cloud: the same four numbers."""

from __future__ import annotations

import array
import math
import struct
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.safety import Corridor, Sector, Side
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.sources.obstacle_distance import distance_reader
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from support.core_messages import ring, scan
from support.core_world import Message, shipped, stamped

[RULE] = shipped().safety.of(Obstacle)
#: Its numbers are float32, as the coordinates of a cloud are.
CORRIDOR = Corridor(half_width=0.5, bottom=-0.25, top=1.0)
INF, NAN = math.inf, math.nan


def read(zone: Sector | Side | Corridor, message: Any) -> Vector:
    return distance_reader(zone)(message)


# Scans -------------------------------------------------------------------------------------------


def test_of_a_scan_the_sectors_ahead_and_behind_are_read() -> None:
    assert read(Sector(half_angle=0.6), scan(ring(ahead=1.0, behind=2.0))) == (1.0, 2.0, 1.0, 1.0)


@given(reach=st.floats(0.2, 30.0), shares=st.lists(st.floats(0.0, 1.5), min_size=8, max_size=60))
def test_a_scan_never_tells_of_free_space_beyond_its_reach(
    reach: float, shares: list[float]
) -> None:
    ranges = [INF if share > 1.0 else share * reach for share in shares]
    ahead, behind, *valid = read(Sector(half_angle=0.6), scan(ranges, high=reach))
    for distance, fraction in zip((ahead, behind), valid, strict=True):
        assert distance <= reach or fraction == 0.0


# Ranges ------------------------------------------------------------------------------------------


def range_of(value: float, least: float = 0.25, most: float = 4.0) -> Message:
    return stamped(
        1.0, radiation_type=0, field_of_view=0.5, min_range=least, max_range=most, range=value
    )


@pytest.mark.parametrize(
    ('value', 'distance', 'valid'),
    [
        (1.5, 1.5, 1.0),
        (0.25, 0.25, 1.0),
        (4.0, 4.0, 1.0),
        (INF, 4.0, 1.0),  # nothing as far as it sees
        (-INF, 0.0, 1.0),  # too near to measure
        (NAN, INF, 0.0),  # failed
        (0.2, 0.0, 1.0),  # below min_range: nearer than it can measure
        (0.0, 0.0, 1.0),
        (-1.0, 0.0, 1.0),
        (4.5, INF, 0.0),
    ],
)
def test_a_range_is_read_by_rep_117_on_the_side_that_it_looks_at(
    value: float, distance: float, valid: float
) -> None:
    assert read(Side.AHEAD, range_of(value)) == (distance, INF, valid, 1.0)
    assert read(Side.BEHIND, range_of(value)) == (INF, distance, 1.0, valid)


@pytest.mark.parametrize(
    ('value', 'distance', 'valid'),
    [(INF, 0.3, 1.0), (-INF, 0.0, 1.0), (0.3, INF, 0.0), (0.1, 0.0, 1.0), (NAN, INF, 0.0)],
)
def test_a_sensor_of_a_fixed_distance_only_tells_whether_something_is_within_it(
    value: float, distance: float, valid: float
) -> None:
    assert read(Side.AHEAD, range_of(value, 0.3, 0.3)) == (distance, INF, valid, 1.0)


@pytest.mark.parametrize(('least', 'most'), [(2.0, 1.0), (NAN, 4.0), (0.2, NAN), (-1.0, 4.0)])
@pytest.mark.parametrize('value', [0.5, INF, -INF])
def test_a_range_whose_limits_make_no_sense_is_not_usable(
    value: float, least: float, most: float
) -> None:
    assert read(Side.AHEAD, range_of(value, least, most)) == (INF, INF, 0.0, 1.0)


@given(value=st.floats(), least=st.floats(), most=st.floats())
@example(value=INF, least=0.0, most=INF)
def test_any_range_is_a_distance_in_reach_or_not_usable(
    value: float, least: float, most: float
) -> None:
    distance, other, valid, _ = read(Side.AHEAD, range_of(value, least, most))
    assert other == INF
    if valid:
        assert valid == 1.0
        assert 0.0 <= distance <= most
        assert distance <= max(value, 0.0)
    else:
        assert (distance, valid) == (INF, 0.0)


# Point clouds ------------------------------------------------------------------------------------


def cloud(
    points: Any, *, names: str = 'xyz', datatype: str = 'f', gap: int = 0, big: bool = False,
    tail: int = 0, height: int = 1,
) -> Message:  # fmt: skip
    """Return a cloud of points, with bytes of padding after each point and after each row."""
    codes = {'b': 1, 'B': 2, 'h': 3, 'H': 4, 'i': 5, 'I': 6, 'f': 7, 'd': 8}
    size = struct.calcsize(datatype)
    points = np.asarray(points, dtype=f'{">" if big else "<"}{datatype}').reshape(-1, len(names))
    data = b''.join(point.tobytes() + b'\xee' * gap for point in points)
    step, width = size * len(names) + gap, len(points) // height
    row = width * step
    data = b''.join(data[i * row : (i + 1) * row] + b'\xdd' * tail for i in range(height))
    fields = [
        Message(name=name, offset=size * index, datatype=codes[datatype], count=1)
        for index, name in enumerate(names)
    ]
    return stamped(
        1.0, height=height, width=width, fields=fields, is_bigendian=big, point_step=step,
        row_step=row + tail, data=data, is_dense=False,
    )  # fmt: skip


def test_the_nearest_points_of_the_corridor_ahead_and_behind_count() -> None:
    points = [
        (3.0, 0.0, 0.0), (2.0, 0.5, 1.0), (-1.5, -0.5, -0.25), (-4.0, 0.0, 0.5),
        (1.0, 0.625, 0.0), (1.0, -0.625, 0.0), (1.0, 0.0, 1.125), (-1.0, 0.0, -0.375),
    ]  # fmt: skip
    assert read(CORRIDOR, cloud(points)) == (2.0, 1.5, 1.0, 1.0)


def test_a_corridor_without_points_is_free() -> None:
    assert read(CORRIDOR, cloud([(1.0, 5.0, 0.0)])) == (INF, INF, 1.0, 1.0)


def test_what_is_beside_the_sensor_is_in_the_way_of_both_directions() -> None:
    assert read(CORRIDOR, cloud([(0.0, 0.25, 0.0), (2.0, 0.0, 0.0)])) == (0.0, 0.0, 1.0, 1.0)


@pytest.mark.parametrize('broken', [NAN, INF, -INF])
@pytest.mark.parametrize('channel', [0, 1, 2])
def test_a_point_that_was_not_measured_is_no_distance_and_counts_against_the_cloud(
    broken: float, channel: int
) -> None:
    point = [0.5, 0.0, 0.0]
    point[channel] = broken
    assert read(CORRIDOR, cloud([point, (2.0, 0.0, 0.0)])) == (2.0, INF, 0.5, 0.5)


def test_an_empty_cloud_is_no_free_space() -> None:
    for empty in (cloud([]), cloud([(NAN, NAN, NAN)] * 5)):
        assert read(CORRIDOR, empty) == (INF, INF, 0.0, 0.0)


coordinate = st.one_of(
    st.floats(-3.0, 3.0, width=32),
    st.sampled_from([0.5, -0.5, 1.0, -0.25, 0.0, -0.0, NAN, INF, -INF]),
)


@given(
    points=st.lists(st.tuples(coordinate, coordinate, coordinate), max_size=12),
    datatype=st.sampled_from('fd'), gap=st.integers(0, 5), tail=st.integers(0, 3),
    big=st.booleans(), order=st.permutations('xyz'),
)  # fmt: skip
def test_a_cloud_of_any_layout_is_read_point_by_point(
    points: list[tuple[float, float, float]], datatype: str, gap: int, tail: int, big: bool,
    order: list[str],
) -> None:  # fmt: skip
    laid = [[point['xyz'.index(name)] for name in order] for point in points]
    height = 2 if points and len(points) % 2 == 0 else 1
    message = cloud(
        laid, names=''.join(order), datatype=datatype, gap=gap, tail=tail, big=big, height=height
    )
    measured = [point for point in points if all(map(math.isfinite, point))]
    inside = [x for x, y, z in measured if abs(y) <= 0.5 and -0.25 <= z <= 1.0]
    fraction = len(measured) / len(points) if points else 0.0
    assert read(CORRIDOR, message) == (
        min((x for x in inside if x >= 0.0), default=INF),
        min((-x for x in inside if x <= 0.0), default=INF),
        fraction,
        fraction,
    )


@pytest.mark.parametrize('datatype', 'bBhHiI')
def test_a_cloud_of_whole_numbers_is_read_too(datatype: str) -> None:
    points = [(3, 0, 0), (2, 0, 1), (1, 1, 0), (1, 0, 2)]
    signed = datatype.islower()
    points += [(-128, 0, 0), (1, -128, 0)] if signed else []
    expected = (2.0, 128.0 if signed else INF, 1.0, 1.0)
    assert read(CORRIDOR, cloud(points, datatype=datatype)) == expected


def test_the_data_may_be_whatever_a_message_holds_it_in() -> None:
    message = cloud([(2.0, 0.0, 0.0)])
    data = message.data
    for held in (
        array.array('B', data),
        np.frombuffer(data, np.uint8),
        memoryview(data),
    ):
        message.data = held
        assert read(CORRIDOR, message) == (2.0, INF, 1.0, 1.0)


def test_a_cloud_without_a_coordinate_is_refused_by_its_name() -> None:
    with pytest.raises(RecordError, match='point cloud lacks channels .expected x, y, z'):
        read(CORRIDOR, cloud([(1.0, 2.0)], names='xy'))


@given(
    height=st.integers(0, 4), width=st.integers(0, 4), step=st.integers(0, 20),
    row=st.integers(0, 60), data=st.binary(max_size=160), offset=st.integers(0, 12),
    datatype=st.integers(0, 10), big=st.booleans(),
)  # fmt: skip
def test_any_cloud_gives_distances_and_fractions_or_is_refused_in_words(
    height: int, width: int, step: int, row: int, data: bytes, offset: int, datatype: int,
    big: bool,
) -> None:  # fmt: skip
    fields = [
        Message(name=name, offset=offset + place, datatype=datatype, count=1)
        for place, name in enumerate('xyz')
    ]
    message = stamped(
        1.0, height=height, width=width, point_step=step, row_step=row, data=data, fields=fields,
        is_bigendian=big,
    )  # fmt: skip
    try:
        ahead, behind, *valid = read(CORRIDOR, message)
    except RecordError:
        return
    assert ahead >= 0.0  # not NaN, which is not
    assert behind >= 0.0
    assert all(0.0 <= fraction <= 1.0 for fraction in valid)


# Real messages -----------------------------------------------------------------------------------


def test_messages_of_ros_are_read_alike() -> None:
    sensor = pytest.importorskip('sensor_msgs.msg')
    field = sensor.PointField
    points = np.array([(2.0, 0.0, 0.0), (1.0, 3.0, 0.0), (-1.5, 0.25, 0.5)], np.float32)
    message = sensor.PointCloud2(
        height=1, width=3, point_step=12, row_step=36, is_dense=True, data=points.tobytes(),
        fields=[
            field(name=name, offset=4 * i, datatype=field.FLOAT32, count=1)
            for i, name in enumerate('xyz')
        ],
    )  # fmt: skip
    assert read(CORRIDOR, message) == (2.0, 1.5, 1.0, 1.0)
    sonar = sensor.Range(min_range=0.25, max_range=4.0, range=1.5)
    assert read(Side.AHEAD, sonar) == (1.5, INF, 1.0, 1.0)
    sonar.range = INF
    assert read(Side.BEHIND, sonar) == (INF, 4.0, 1.0, 1.0)
    ahead = sensor.LaserScan(
        angle_min=-0.5, angle_max=0.5, angle_increment=0.25, range_min=0.1, range_max=10.0,
        ranges=[3.0, 2.0, INF, 5.0, -INF],
    )  # fmt: skip
    assert read(Sector(half_angle=0.3), ahead) == (2.0, INF, 1.0, 0.0)
