# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the core reads and writes, with the message classes of a ROS installation."""

from __future__ import annotations

from dataclasses import replace
import math
import os
from pathlib import Path
import re
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import ActionSpec, FieldSpec
from boundary_env_ros.core.contract.paths import getter, getters
from boundary_env_ros.core.contract.sources import (
    Array,
    Beams,
    Joints,
    Paths,
    Picture,
    Points,
    Source,
    Trajectory,
)
from boundary_env_ros.core.gate.commands import message_fields
from boundary_env_ros.core.sources.message_parts import ARRAYS, PARTS
from boundary_env_ros.core.sources.readers import adapter, reader
from boundary_env_ros.errors import RecordError
from support.core_world import rich

pytestmark = pytest.mark.ros
pytest.importorskip('boundary_env_ros.msg')
conversions = pytest.importorskip('boundary_env_ros.ros.conversions')
fill, message_class = conversions.fill, conversions.message_class

RICH = rich()
PREFIXES = [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', sys.prefix).split(os.pathsep)]


def numbers_of(message: Any, path: str) -> float:
    [value] = getters((path,))(message)
    return value


# Ready adapters ----------------------------------------------------------------------------------


def test_every_path_of_a_ready_adapter_is_a_number_of_its_message() -> None:
    for type_name, parts in PARTS.items():
        message = message_class(type_name)()
        for part in parts.values():
            assert len(part.paths) == len(part.unit) > 0, type_name
            values = getters(part.paths)(message)
            assert all(isinstance(value, float) for value in values), type_name


def test_every_path_of_a_ready_adapter_is_another_place() -> None:
    for type_name, parts in PARTS.items():
        paths = [path for part in parts.values() for path in part.paths]
        assert len(set(paths)) == len(paths), type_name
        message = message_class(type_name)()
        for index, path in enumerate(paths, start=1):
            holder, _, last = path.rpartition('.')
            target = getter(holder)(message) if holder else message
            kind = type(getattr(target, last))
            setattr(target, last, kind(index))
        # All that is true is 1.
        wanted = (1,) if 'Bool' in type_name else tuple(range(1, len(paths) + 1))
        assert getters(tuple(paths))(message) == wanted, type_name


#: What the comment of a definition says, for each unit that a ready adapter declares.
WORDS = {
    'm': 'meter|\\[m\\]|Position|translation|point in|position',
    'm/s': 'linear',
    'rad/s': 'rad/sec',
    'm/s^2': 'm/s\\^2',
    'N': 'force',
    'T': 'Tesla',
    'V': '[Vv]olt',
    'A': '\\(A\\)',
    'A h': '\\(Ah\\)|Ah',
    'degC': 'Celsius',
    'deg': 'degrees',
}


@pytest.mark.parametrize(
    ('type_name', 'unit'),
    [
        ('sensor_msgs/msg/Imu', 'rad/s'),
        ('sensor_msgs/msg/Imu', 'm/s^2'),
        ('sensor_msgs/msg/Range', 'm'),
        ('sensor_msgs/msg/BatteryState', 'V'),
        ('sensor_msgs/msg/BatteryState', 'A'),
        ('sensor_msgs/msg/BatteryState', 'A h'),
        ('sensor_msgs/msg/BatteryState', 'degC'),
        ('sensor_msgs/msg/MagneticField', 'T'),
        ('sensor_msgs/msg/Temperature', 'degC'),
        ('sensor_msgs/msg/NavSatFix', 'deg'),
    ],
)
def test_the_unit_of_a_ready_adapter_is_that_of_the_definition(type_name: str, unit: str) -> None:
    package, _, name = type_name.split('/')
    files = [p / 'share' / package / 'msg' / f'{name}.msg' for p in PREFIXES]
    text = next((file.read_text() for file in files if file.is_file()), '')
    if not text:
        pytest.skip('needs the definitions of a ROS installation')
    assert unit in [u for part in PARTS[type_name].values() for u in part.unit]
    assert re.search(WORDS[unit], text), f'nothing says {unit} in {type_name}'


@pytest.mark.parametrize('type_name', sorted(ARRAYS))
def test_the_usual_array_of_a_message_is_a_sequence_of_numbers(type_name: str) -> None:
    message = message_class(type_name)()
    read = reader(Array(path=ARRAYS[type_name], length=3))
    with pytest.raises(RecordError, match='expected 3 numbers, got'):
        read(message)
    whole = 'Float' not in type_name and 'Joy' not in type_name
    setattr(message, ARRAYS[type_name], [1, 2, 3] if whole else [1.0, 2.0, 3.0])
    assert read(message) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ('type_name', 'path'),
    [
        ('sensor_msgs/msg/Imu', 'header.frame_id'),
        ('std_msgs/msg/String', 'data'),
        ('nav_msgs/msg/Odometry', 'pose.pose'),
    ],
)
def test_what_is_no_number_in_a_real_message_is_refused(type_name: str, path: str) -> None:
    with pytest.raises(RecordError, match=f"The field '{path}' is not a number"):
        numbers_of(message_class(type_name)(), path)


# Reading -----------------------------------------------------------------------------------------


def field(source: Source, count: int) -> FieldSpec:
    return FieldSpec(
        name='field', topic='topic', source=source, shape=(count,), dtype='float64',
        unit=('',) * count, low=(-1e9,) * count, high=(1e9,) * count,
    )  # fmt: skip


def test_joints_are_found_by_name_whatever_their_order() -> None:
    source = Joints(names=('elbow', 'lift'), quantities=('velocity', 'position'))
    kind = message_class('sensor_msgs/msg/JointState')
    for order in (['lift', 'wrist', 'elbow'], ['elbow', 'lift', 'wrist']):
        place = {'lift': 1.0, 'elbow': 2.0, 'wrist': 3.0}
        message = kind(
            name=order,
            position=[place[name] for name in order],
            velocity=[-place[name] for name in order],
        )
        reading = adapter(field(source, 4), '/joint_states')(message)
        assert reading.values == (-2.0, -1.0, 2.0, 1.0)


@pytest.mark.parametrize(
    ('changes', 'told'),
    [
        ({'name': ['lift', 'wrist']}, "The joint 'elbow' is missing (got lift, wrist"),
        ({'name': []}, "The joint 'elbow' is missing (got none"),
        ({'velocity': []}, 'The velocity of joints is missing (expected 2 values, got 0'),
        ({'velocity': [1.0]}, 'The velocity of joints is missing (expected 2 values, got 1'),
    ],
)
def test_a_joint_or_quantity_that_is_missing_is_refused_by_name(
    changes: dict[str, Any], told: str
) -> None:
    fields = {'name': ['lift', 'elbow'], 'position': [1.0, 2.0], 'velocity': [0.0, 0.0], **changes}
    message = message_class('sensor_msgs/msg/JointState')(**fields)
    read = reader(Joints(names=('elbow', 'lift'), quantities=('position', 'velocity')))
    with pytest.raises(RecordError) as caught:
        read(message)
    assert told in str(caught.value)


def test_a_scan_a_cloud_and_an_image_are_read_from_their_messages() -> None:
    scan = message_class('sensor_msgs/msg/LaserScan')(ranges=[1.0, 2.0, 3.0, 4.0], range_max=9.0)
    assert adapter(field(Beams(count=2), 2), '/s')(scan).values == (1.0, 3.0)
    x = message_class('sensor_msgs/msg/PointField')(name='x', offset=0, datatype=6, count=1)
    cloud = message_class('sensor_msgs/msg/PointCloud2')(
        height=1, width=2, point_step=4, row_step=8, data=bytes(range(8)), fields=[x]
    )
    points = Points(count=2, channels=('x',), pad=(0.0,))
    assert adapter(field(points, 2), '/c')(cloud).values == (
        float(int.from_bytes(bytes(range(4)), 'little')),
        float(int.from_bytes(bytes(range(4, 8)), 'little')),
    )
    image = message_class('sensor_msgs/msg/Image')(
        height=1, width=2, encoding='mono8', step=2, data=bytes([1, 2])
    )
    spec = replace(
        field(Picture(encoding='mono8'), 2), shape=(1, 2, 1), dtype='uint8', low=(), high=()
    )
    assert adapter(spec, '/i')(image).image is not None


# Writing -----------------------------------------------------------------------------------------

GROUP = RICH.action[0]


def written(type_name: str, source: Source, values: tuple[float, ...]) -> Any:
    """Return a real message that carries a command."""
    group: ActionSpec = replace(GROUP, type=type_name, source=source)
    return fill(message_class(type_name)(), message_fields(group, values))


number = st.floats(allow_nan=False, allow_infinity=False)
SOURCES: list[tuple[str, Source]] = [
    ('geometry_msgs/msg/Twist', Paths(paths=('linear.x', 'angular.z', 'linear.y'))),
    ('geometry_msgs/msg/TwistStamped', Paths(paths=('twist.linear.x', 'twist.angular.z'))),
    ('sensor_msgs/msg/JointState', Joints(names=('a', 'b'), quantities=('velocity', 'effort'))),
    ('trajectory_msgs/msg/JointTrajectory', Trajectory(names=('a', 'b', 'c'), duration=0.25)),
    ('std_msgs/msg/Float64MultiArray', Array(path='data', length=3)),
    ('std_msgs/msg/Float64', Paths(paths=('data',))),
    (
        'geometry_msgs/msg/PoseStamped',
        Paths(paths=('pose.position.x', 'pose.position.y', 'pose.position.z')),
    ),
    ('geometry_msgs/msg/WrenchStamped', Paths(paths=('wrench.force.z', 'wrench.torque.x'))),
    ('ackermann/custom', Paths(paths=('accel.linear.x', 'accel.angular.y'))),
]


@pytest.mark.parametrize(('type_name', 'source'), SOURCES, ids=[name for name, _ in SOURCES])
@given(data=st.data())
def test_a_command_is_read_back_from_its_message_as_it_was(
    type_name: str, source: Source, data: st.DataObject
) -> None:
    if type_name == 'ackermann/custom':  # any other message, by its paths
        type_name = 'geometry_msgs/msg/AccelStamped'
    size = {Paths: lambda s: len(s.paths), Array: lambda s: s.length}.get(
        type(source), lambda s: len(s.names) * len(getattr(s, 'quantities', 'p'))
    )(source)
    values = data.draw(st.tuples(*[number] * size))
    assert reader(source)(written(type_name, source, values)) == values


turn = st.floats(-3.1, 3.1)


@given(roll=turn, pitch=st.floats(-1.5, 1.5), yaw=turn, x=number)
def test_angles_of_a_pose_are_read_back_from_its_quaternion(
    roll: float, pitch: float, yaw: float, x: float
) -> None:
    paths = (
        'roll(pose.orientation)', 'pose.position.x', 'pitch(pose.orientation)',
        'yaw(pose.orientation)',
    )  # fmt: skip
    source = Paths(paths=paths)
    message = written('geometry_msgs/msg/PoseStamped', source, (roll, x, pitch, yaw))
    q = message.pose.orientation
    assert math.hypot(q.x, q.y, q.z, q.w) == pytest.approx(1.0)
    found = reader(source)(message)
    assert found[1] == x
    assert (found[0], found[2], found[3]) == pytest.approx((roll, pitch, yaw), abs=1e-7)


def test_what_a_command_does_not_name_keeps_its_default() -> None:
    message = written('geometry_msgs/msg/PoseStamped', Paths(paths=('pose.position.z',)), (0.5,))
    q = message.pose.orientation
    assert (q.x, q.y, q.z, q.w) == (0.0, 0.0, 0.0, 1.0)
    assert message.pose.position.z == 0.5


def test_a_trajectory_on_the_wire_has_one_point_in_due_time() -> None:
    source = Trajectory(names=('a', 'b'), duration=0.25)
    message = written('trajectory_msgs/msg/JointTrajectory', source, (1.0, 2.0))
    [point] = message.points
    assert list(message.joint_names) == ['a', 'b']
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (0, 250_000_000)
    assert list(point.velocities) == []


@pytest.mark.parametrize(
    ('type_name', 'value'),
    [
        ('std_msgs/msg/Bool', True),
        ('std_msgs/msg/Int32', 1),
        ('std_msgs/msg/UInt8', 1),
        ('std_msgs/msg/Float32', 1.0),
    ],
)
def test_a_command_that_is_a_switch_or_a_whole_number_is_one_on_the_wire(
    type_name: str, value: object
) -> None:
    """A gripper that opens and closes is often no more than that."""
    source = Paths(paths=('data',))
    message = written(type_name, source, (1.0,))
    assert message.data == value
    assert reader(source)(message) == (1.0,)
