# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of sensors are read from their bytes, and written, as rclpy does it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import get_typestore, Stores

from boundary_env_ros.errors import RecordError
from boundary_env_ros.ros.conversions import decoded, fill, message_class
from boundary_env_ros.storage.cdr_writer import RecordEncoder
from boundary_env_ros.storage.definitions import known_definition

pytestmark = pytest.mark.ros

JAZZY = get_typestore(Stores.ROS2_JAZZY)


TYPES = [
    'nav_msgs/msg/Odometry',
    'nav_msgs/msg/OccupancyGrid',
    'sensor_msgs/msg/BatteryState',
    'sensor_msgs/msg/Image',
    'sensor_msgs/msg/Imu',
    'sensor_msgs/msg/JointState',
    'sensor_msgs/msg/LaserScan',
    'sensor_msgs/msg/NavSatFix',
    'sensor_msgs/msg/PointCloud2',
    'std_msgs/msg/Float32MultiArray',
    'trajectory_msgs/msg/JointTrajectory',
]


def filled(type_name: str, draw: np.random.Generator):
    """Return a message of any type with something in every field."""
    values = {}
    for name, (node, inner) in JAZZY.get_msgdef(type_name).fields:
        if node == 1:  # a primitive
            values[name] = one(inner[0], draw)
        elif node == 2:
            values[name] = filled(inner, draw)
        else:
            (kind, element), size = inner
            number = size if node == 3 else int(draw.integers(4))
            if kind == 2:
                values[name] = [filled(element, draw) for _ in range(number)]
            elif element[0] == 'string':
                values[name] = [one('string', draw) for _ in range(number)]
            else:
                made = [one(element[0], draw) for _ in range(number)]
                values[name] = np.array(made, dtype=element[0])
    return JAZZY.types[type_name](**values)


def one(primitive: str, draw: np.random.Generator):
    if primitive == 'string':
        return 'frä' * int(draw.integers(3))
    if primitive == 'bool':
        return bool(draw.integers(2))
    return np.dtype(primitive).type(draw.integers(100)).item()


def same(ours: object, theirs: object) -> bool:
    if hasattr(theirs, 'get_fields_and_field_types'):
        names = theirs.get_fields_and_field_types()
        return all(same(getattr(ours, name), getattr(theirs, name)) for name in names)
    if isinstance(theirs, (list, np.ndarray, array)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


@pytest.mark.parametrize('name', TYPES)
def test_any_message_is_read_as_rclpy_reads_it(name: str) -> None:
    kind, draw = message_class(name), np.random.default_rng(1)
    for _ in range(20):
        data = bytes(JAZZY.serialize_cdr(filled(name, draw), name))
        ours = decoded(kind, data)
        assert not isinstance(ours, kind)
        assert same(ours, deserialize_message(data, kind))
        assert ours == decoded(kind, data)
    # Padding at its end is no part of a message.
    for length in range(len(data) - 4):
        with suppress(RecordError):
            assert decoded(kind, data[:length]) == ours


def test_message_that_only_rclpy_reads_is_read_by_it() -> None:
    kind = message_class('boundary_env_ros/srv/Arm').Request
    message = kind(agent='cart')
    assert decoded(kind, serialize_message(message)) == message
    with pytest.raises(RecordError):
        decoded(kind, b'none')


def as_fields(message: object) -> object:
    """Return a message as nested fields."""
    if hasattr(message, '__msgtype__'):
        names = [name for name, _ in JAZZY.get_msgdef(message.__msgtype__).fields]
        return {name: as_fields(getattr(message, name)) for name in names}
    if isinstance(message, np.ndarray):
        return message.tobytes() if message.dtype == np.uint8 else message.tolist()
    return [as_fields(item) for item in message] if isinstance(message, list) else message


@pytest.mark.parametrize('name', TYPES)
def test_any_message_is_written_as_rclpy_reads_it(name: str) -> None:
    kind, draw = message_class(name), np.random.default_rng(2)
    write = RecordEncoder(Mapping, name, known_definition(name)[0])
    for _ in range(20):
        message = filled(name, draw)
        data = bytes(JAZZY.serialize_cdr(message, name))
        fields = as_fields(message)
        assert fill(kind(), fields) == deserialize_message(data, kind)
        assert write(fields) == data
    assert fill(kind(), {}) == kind()
    assert deserialize_message(write({}), kind) == kind()


def test_fields_that_a_message_has_not_are_refused() -> None:
    with pytest.raises(AttributeError):
        fill(message_class('nav_msgs/msg/Odometry')(), {'pose': {'place': 1.0}})


def test_a_cloud_of_many_points_is_read_and_one_of_many_fields_is_refused_unread() -> None:
    cloud, field = (
        message_class(f'sensor_msgs/msg/{kind}') for kind in ('PointCloud2', 'PointField')
    )
    points = serialize_message(cloud(fields=[field(name='x')] * 4, data=bytes(4_000_000)))
    assert len(decoded(cloud, points).data) == 4_000_000
    fields = serialize_message(cloud(fields=[field(name='x')] * 200_000))
    with pytest.raises(RecordError, match='at most 16384 elements, got 200000'):
        decoded(cloud, fields)
