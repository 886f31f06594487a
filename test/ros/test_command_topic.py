# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands are made as rclpy makes them, and known when they come back, as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

import rclpy
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory

from boundary_env_ros.core.contract.sources import Array, Joints, Paths, Source, Trajectory
from boundary_env_ros.core.gate.commands import message_fields
from boundary_env_ros.ros import names
from boundary_env_ros.ros.command_topic import CommandTopic
from boundary_env_ros.ros.conversions import fill, message_class, message_writer
from boundary_env_ros.ros.nodes.safety_gate import SafetyGate
from boundary_env_ros.storage.contract_file import load
from support.ros_world import reserved_domain

pytestmark = pytest.mark.ros

ARM = ('shoulder', 'elbow')
TRAJECTORY = Trajectory(names=ARM, duration=1.25)
#: A header whose text ends where a float64 may begin, so that nothing is between them.
STAMPED = {'header': {'stamp': {'sec': 7, 'nanosec': 9}, 'frame_id': 'map'}}


@pytest.mark.parametrize(
    ('type_name', 'source', 'beside', 'padded'),
    [
        ('geometry_msgs/msg/Twist', Paths(paths=('linear.x', 'angular.z')), {}, False),
        ('geometry_msgs/msg/TwistStamped', Paths(paths=('twist.linear.x',)), STAMPED, False),
        ('geometry_msgs/msg/WrenchStamped', Paths(paths=('wrench.force.z',)), STAMPED, False),
        # At no rotation by the definition of the message.
        ('geometry_msgs/msg/PoseStamped', Paths(paths=('pose.position.x',)), STAMPED, False),
        ('geometry_msgs/msg/Pose', Paths(paths=('position.x', 'yaw(orientation)')), {}, False),
        ('std_msgs/msg/Float32', Paths(paths=('data',)), {}, False),
        ('std_msgs/msg/Float32MultiArray', Array(path='data', length=2), {}, False),
        ('std_msgs/msg/Float64MultiArray', Array(path='data', length=2), {}, True),
        ('sensor_msgs/msg/JointState', Joints(names=ARM, quantities=('velocity',)), STAMPED, True),
        ('trajectory_msgs/msg/JointTrajectory', TRAJECTORY, STAMPED, True),
    ],
)
def test_a_command_is_made_as_rclpy_makes_it(
    type_name: str, source: Source, beside: dict[str, Any], padded: bool
) -> None:
    group = replace(load('warehouse_cart').contract.action[0], source=source)
    kind = message_class(type_name)
    size = len(getattr(source, 'paths', ARM))
    fields = {**beside, **message_fields(group, (0.1, -2.5)[:size])}
    write, slowed = message_writer(kind, fields)
    assert slowed == ''
    data, theirs = write(fields), bytes(serialize_message(fill(kind(), fields)))
    assert deserialize_message(data, kind) == deserialize_message(theirs, kind)
    # What is between two values of rclpy's messages, or behind them, is whatever was there before.
    assert data == theirs or padded


def test_what_can_only_be_made_by_rclpy_is_made_by_it_and_told() -> None:
    kind = message_class('boundary_env_ros/srv/Arm').Request
    write, slowed = message_writer(kind, {'agent': 'cart'})
    assert deserialize_message(write({'agent': 'two'}), kind) == kind(agent='two')
    assert 'boundary_env_ros/srv/Arm' in slowed


@pytest.fixture(scope='module')
def gate() -> Iterator[SafetyGate]:
    """Return one gate for all: a lifecycle node holds its domain until it is collected."""
    with reserved_domain() as domain:
        rclpy.init(domain_id=domain)
        node = SafetyGate()
        try:
            yield node
        finally:
            node.destroy_node()
            rclpy.shutdown()


@pytest.fixture
def topic(gate: SafetyGate) -> CommandTopic:
    return CommandTopic(
        gate,
        JointTrajectory,
        'arm',
        names.COMMAND,
        moved_to(0.0),
        'map',
        foreign=lambda *_: pytest.fail('Expect nothing to be heard.'),
    )


def moved_to(position: float) -> dict[str, Any]:
    group = load('warehouse_cart').contract.action[0]
    return message_fields(replace(group, source=TRAJECTORY), (position, 0.0))


def sent(position: float, stamp: int) -> bytes:
    """Return a command as it goes out."""
    fields = {
        'header': {'stamp': {'sec': 0, 'nanosec': stamp}, 'frame_id': 'map'},
        **moved_to(position),
    }
    write, _ = message_writer(JointTrajectory, fields)
    return write(fields)


def test_a_command_that_comes_back_is_own_once_on_each_subscription(topic: CommandTopic) -> None:
    topic.publish(moved_to(0.1), 5)
    for subscription in (0, 1):
        assert topic.is_own(sent(0.1, 5), subscription)
        assert not topic.is_own(sent(0.1, 5), subscription)


def test_a_command_is_own_whatever_a_middleware_pads_it_with(topic: CommandTopic) -> None:
    topic.publish(moved_to(0.1), 5)
    topic.publish(moved_to(0.2), 6)
    data = sent(0.2, 6)
    # Three bytes behind it, as its options say.
    assert topic.is_own(data[:3] + b'\3' + data[4:] + b'\0\0\0', 0)


@pytest.mark.parametrize(
    'other',
    [
        sent(0.1, 6),
        sent(0.3, 5),
        sent(0.1, 5)[:60],
        # The same bytes with the high ones first are other numbers.
        b'\0\0' + sent(0.1, 5)[2:],
        b'',
        b'none',
    ],
)
def test_what_says_anything_else_is_not_own(topic: CommandTopic, other: bytes) -> None:
    topic.publish(moved_to(0.1), 5)
    assert not topic.is_own(other, 0)
    assert topic.is_own(sent(0.1, 5), 0)


def test_what_another_says_is_told_once_and_whether_it_is_what_was_said_here_last(
    gate: SafetyGate,
) -> None:
    told: list[bool] = []
    topic = CommandTopic(
        gate, JointTrajectory, 'arm', names.COMMAND, moved_to(0.0), 'map',
        foreign=lambda _, differs: told.append(differs),
    )  # fmt: skip
    topic.publish(moved_to(0.1), 5)
    for stamp, other in ((9, 0.1), (9, 0.3)):
        topic._on_message(0, sent(other, stamp))
    assert told == [False, True]
    # The same bytes with the high ones first are other numbers.
    topic._on_message(1, b'\0\0' + sent(0.1, 9)[2:])
    assert told == [False, True, True]


def test_who_answers_each_stop_is_not_answered_for_ever(
    gate: SafetyGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[bool] = []

    def answer(_: str, asked: bool) -> None:
        answers.append(asked)
        topic.repeat()

    topic = CommandTopic(
        gate, JointTrajectory, 'arm', names.COMMAND, moved_to(0.0), 'map', foreign=answer
    )
    topic.publish(moved_to(0.1), 5)
    monkeypatch.setattr(time, 'monotonic_ns', lambda: 10**9)
    # As another gate does, which is held elsewhere: it says so whenever this one has spoken.
    for _ in range(11):
        topic._on_message(0, sent(0.3, 9))
    assert answers == [True] * 10 + [False]
