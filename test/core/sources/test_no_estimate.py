# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a message says to be no estimate is read as what was not measured, by everybody."""

from __future__ import annotations

from dataclasses import replace
import math
from types import SimpleNamespace
from typing import Any

import pytest

from boundary_env_ros.core.contract.model import Contract, OnStale
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer
from boundary_env_ros.core.gate.gate_events import Measured
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.sources.inputs import field_inputs, gate_inputs, sensor_topics
from boundary_env_ros.core.sources.message_parts import PARTS
from boundary_env_ros.core.sources.no_estimate import estimate
from boundary_env_ros.core.sources.readers import measured
from boundary_env_ros.core.sources.reading import Reading
from support.bag_maker import empty, filled
from support.core_world import AGENT, DIGEST, shipped, Timepiece
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise

Fields = dict[str, Any]

NONE_OF_9, NONE_OF_36 = [-1.0] + [0.0] * 8, [-1.0] + [0.0] * 35
UPRIGHT = {'x': 0.0, 'y': 0.0, 'z': 0.0, 'w': 1.0}
SONAR = {'min_range': 0.1, 'max_range': 4.0}

#: By type: a path, what a message says, and where it says that this is no estimate.
MARKED: list[tuple[str, str, Fields, str]] = [
    (
        'sensor_msgs/msg/Imu',
        'yaw(orientation)',
        {'orientation': UPRIGHT, 'orientation_covariance': NONE_OF_9},
        'orientation_covariance[0] is -1',
    ),
    (
        'sensor_msgs/msg/Imu',
        'angular_velocity.z',
        {'angular_velocity_covariance': NONE_OF_9},
        'angular_velocity_covariance[0] is -1',
    ),
    ('sensor_msgs/msg/Imu', 'orientation.z', {}, 'orientation is a quaternion of zeros'),
    ('nav_msgs/msg/Odometry', 'yaw(pose.pose.orientation)', {}, 'pose.pose.orientation is a quat'),
    ('geometry_msgs/msg/QuaternionStamped', 'quaternion.w', {}, 'quaternion is a quaternion of'),
    ('geometry_msgs/msg/Quaternion', 'w', {}, 'it is a quaternion of zeros'),
    ('geometry_msgs/msg/TransformStamped', 'transform.rotation.x', {}, 'transform.rotation is'),
    (
        'geometry_msgs/msg/PoseArray',
        'poses[0].orientation.y',
        {'poses': [{'position': {'x': 1.0}}]},
        'poses[0].orientation is',
    ),
    *(
        ('sensor_msgs/msg/NavSatFix', 'latitude', {'status': {'status': status}}, 'status.status')
        for status in (-1, -2)
    ),
    ('sensor_msgs/msg/BatteryState', 'percentage', {'percentage': 0.5}, 'there is no battery'),
    ('sensor_msgs/msg/Range', 'range', {**SONAR, 'range': 4.5}, 'range is not from min_range'),
    (
        'sensor_msgs/msg/Range',
        'range',
        {'min_range': 4.0, 'max_range': 0.1, 'range': 1.0},
        'range is not from min_range',
    ),
]

#: By type: a path and a message that gives it, whatever it says of something else.
GIVEN: list[tuple[str, str, Fields]] = [
    ('sensor_msgs/msg/Imu', 'angular_velocity.z', {'orientation_covariance': NONE_OF_9}),
    ('sensor_msgs/msg/Imu', 'orientation_covariance[0]', {'orientation_covariance': NONE_OF_9}),
    ('sensor_msgs/msg/Imu', 'yaw(orientation)', {'orientation': UPRIGHT}),
    ('nav_msgs/msg/Odometry', 'pose.pose.position.x', {}),
    ('nav_msgs/msg/Odometry', 'twist.twist.linear.x', {'twist': {'covariance': NONE_OF_36}}),
    (
        'sensor_msgs/msg/MagneticField',
        'magnetic_field.x',
        {'magnetic_field_covariance': NONE_OF_9},
    ),
    (
        'sensor_msgs/msg/NavSatFix',
        'latitude',
        {'status': {'status': 0}, 'position_covariance': NONE_OF_9},
    ),
    ('sensor_msgs/msg/BatteryState', 'percentage', {'voltage': 24.0, 'present': False}),
    ('sensor_msgs/msg/Range', 'range', {**SONAR, 'range': 0.01}),
    ('sensor_msgs/msg/Range', 'range', {'range': 1.0}),
    ('sensor_msgs/msg/Range', 'range', {**SONAR, 'range': math.inf}),
]


def read(kind: str, path: str, fields: Fields) -> tuple[tuple[float, ...], str]:
    """Return what is read beside another value of a message, which is there, and why it is not."""
    source = Paths(paths=('other', path))
    message = filled(empty(kind), fields)
    reading = measured(source, kind)(Beside(message))
    assert reading.values[0] == 7.0
    return reading.values[1:], reading.problem


class Beside:
    """A message with one value more."""

    other = 7.0

    def __init__(self, message: Any) -> None:
        self._message = message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._message, name)


@pytest.mark.parametrize(('kind', 'path', 'fields', 'why'), MARKED)
def test_what_is_said_to_be_no_estimate_is_nan_and_says_why(
    kind: str, path: str, fields: Fields, why: str
) -> None:
    values, problem = read(kind, path, fields)
    assert math.isnan(values[0])
    assert why in problem
    assert math.isnan(estimate(kind, path)(filled(empty(kind), fields)))


@pytest.mark.parametrize(('kind', 'path', 'fields'), GIVEN)
def test_an_estimate_is_read_as_it_is(kind: str, path: str, fields: Fields) -> None:
    values, problem = read(kind, path, fields)
    assert (math.isnan(values[0]), problem) == (False, '')


@pytest.mark.parametrize('kind', PARTS)
def test_a_part_is_judged_by_its_adapter_as_by_a_path_that_is_written_by_hand(kind: str) -> None:
    message = empty(kind)
    for part in PARTS[kind].values():
        reading = measured(Paths(paths=part.paths), kind)(message)
        alone = tuple(measured(Paths(paths=(p,)), kind)(message).values[0] for p in part.paths)
        assert [*map(math.isnan, reading.values)] == [*map(math.isnan, alone)]
        assert any(map(math.isnan, alone)) is bool(reading.problem)


def test_an_orientation_that_is_no_quaternion_is_no_zero_quaternion() -> None:
    message = SimpleNamespace(orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0))
    assert measured(Paths(paths=('orientation.z',)), 'a/msg/B')(message).values == (0.0,)


# Those who read it -------------------------------------------------------------------------------


def with_heading() -> Contract:
    """Return the contract of the cart with a heading from its inertial unit, which may stop it."""
    contract = shipped()
    pose = contract.observation[0]
    heading = replace(
        pose,
        name='heading',
        topic='imu',
        type='sensor_msgs/msg/Imu',
        source=Paths(paths=('yaw(orientation)',)),
        frame='',
        confidence=None,
        shape=(1,),
        unit=('rad',),
        low=(-4.0,),
        high=(4.0,),
        on_stale=OnStale.STOP,
    )
    return replace(contract, observation=(*contract.observation, heading))


def imu(time: Timepiece, covariance: list[float]) -> Any:
    stamp = time.stamp(ago=0.01).nanoseconds
    header = {'stamp': {'sec': stamp // 10**9, 'nanosec': stamp % 10**9}}
    fields = {'header': header, 'orientation': UPRIGHT, 'orientation_covariance': covariance}
    return filled(empty('sensor_msgs/msg/Imu'), fields)


def test_an_environment_passes_it_over_and_says_why() -> None:
    contract, time = with_heading(), Timepiece()
    topics = {topic: f'/{topic}' for topic in sensor_topics(contract)}
    topics |= {spec.topic: f'/{spec.topic}' for spec in contract.fields if spec.topic}
    buffer = ObservationBuffer.of(contract, topics)
    [item] = [item for item in field_inputs(contract, topics) if item.name == 'heading']

    def sample(covariance: list[float]) -> Reading:
        captured = time.stamp(ago=0.01)
        return item.reading(imu(time, covariance), captured=captured)

    buffer = buffer.after({'heading': sample([0.0] * 9)})
    time.wait(1.0)
    buffer = buffer.after({'heading': sample(NONE_OF_9)})
    view = buffer.view(StepId(digest=DIGEST, agent=AGENT, episode_id=''), time.now)
    [field] = [field for field in view.fields if field.name == 'heading']
    assert (field.status, field.values) == (FieldStatus.STALE, (0.0,))
    why = 'heard, but orientation_covariance[0] is -1, by which the driver says'
    assert why in buffer.missing('heading')


def test_a_gate_whose_rule_reads_it_stops_the_robot() -> None:
    bench = Bench(with_heading()).start()
    [item] = [item for item in gate_inputs(bench.contract) if item.name == 'alive.heading']

    def hear(covariance: list[float]) -> str:
        reading, now = item.read(imu(bench.time, covariance)), bench.time.now
        stamp = bench.time.stamp(ago=0.01)
        bench._see(
            bench.gate.apply(
                Measured(name=item.name, values=reading.values, captured=stamp, now=now)
            )
        )
        return reading.problem

    cruise(bench)
    assert hear([0.0] * 9) == ''
    assert bench.ask(0.4, 0.0).verdict is Verdict.ADMITTED
    assert 'orientation_covariance[0] is -1' in hear(NONE_OF_9)
    decision = bench.ask(0.4, 0.0)
    assert (decision.verdict, reasons(decision)) == (Verdict.STOPPED, {Reason.SENSOR_INVALID})
