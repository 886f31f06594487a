# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A draft is made from a robot that runs, over real DDS."""

from __future__ import annotations

from collections.abc import Iterator
import math
import os
from pathlib import Path
import threading

import pytest

pytestmark = pytest.mark.ros
rclpy = pytest.importorskip('rclpy')

from geometry_msgs.msg import TwistStamped  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import (  # noqa: E402
    DurabilityPolicy,
    qos_profile_sensor_data,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.serialization import serialize_message  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from sensor_msgs.msg import JointState, LaserScan, Range  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray, String  # noqa: E402

from boundary_env_ros.cli.main import main  # noqa: E402
from boundary_env_ros.core.contract.sources import Beams, Joints  # noqa: E402
from boundary_env_ros.errors import ContractError, LinkError, RecordError  # noqa: E402
from boundary_env_ros.evidence.infer_contract.survey import TopicSurvey  # noqa: E402
from boundary_env_ros.ros.graph_survey import (  # noqa: E402
    init_from_graph,
    listener,
)
from boundary_env_ros.ros.processes import isolated_environment  # noqa: E402
from boundary_env_ros.storage.contract_file import loads  # noqa: E402
from boundary_env_ros.storage.contract_types import problems_of  # noqa: E402
from boundary_env_ros.storage.message_types import message_types  # noqa: E402
from support.infer_contract_surveys import filled  # noqa: E402
from support.ros_world import reserved_domain  # noqa: E402

RATE = 50.0
LOOK = 3.0
ATTEMPTS = 5
"""Looks at a robot until everything of it was found: a busy machine may take its time."""
LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class Robot:
    """A robot in a thread: sensors that publish, and drivers that listen."""

    def __init__(self, domain: int) -> None:
        self._context = Context()
        rclpy.init(
            context=self._context,
            domain_id=domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self.node = rclpy.create_node('robot', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._open = True
        self._thread = threading.Thread(target=self._spin, name='robot')

    def start(self) -> None:
        self._thread.start()

    def _spin(self) -> None:
        while self._open:
            self._executor.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        self._open = False
        self._thread.join()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)


def cart(robot: Robot) -> None:
    """Add what a cart has: odometry, a scan, arm joints, an emergency stop; and its drivers."""
    node = robot.node
    odom = node.create_publisher(Odometry, 'odom', 10)
    scan = node.create_publisher(LaserScan, 'scan', qos_profile_sensor_data)
    joints = node.create_publisher(JointState, 'joint_states', 10)
    latched = node.create_publisher(Range, 'calibrated_range', LATCHED)
    stop = node.create_publisher(Bool, 'emergency_stop', LATCHED)
    notes = node.create_publisher(String, 'notes', 10)
    node.create_subscription(TwistStamped, 'cmd_vel', lambda _: None, 10)
    node.create_subscription(
        Float64MultiArray, 'arm_position_controller/commands', lambda _: None, 10
    )
    latched.publish(Range(range=1.5))
    stop.publish(Bool(data=False))
    step = 0

    def tick() -> None:
        nonlocal step
        step += 1
        now = node.get_clock().now().to_msg()
        turn = math.sin(step / 20.0)
        message = Odometry()
        message.header.stamp, message.header.frame_id = now, 'odom'
        message.pose.pose.position.x = 2.0 * turn
        message.pose.pose.orientation.z, message.pose.pose.orientation.w = turn / 2.0, 0.9
        message.twist.twist.linear.x = turn
        odom.publish(message)
        beams = LaserScan(range_max=12.0, ranges=[3.0] * 180)
        beams.header.stamp, beams.header.frame_id = now, 'laser'
        scan.publish(beams)
        state = JointState(name=['lift', 'turn'], position=[turn, 0.5], velocity=[0.0, turn])
        state.header.stamp = now
        joints.publish(state)
        notes.publish(String(data='still alive'))

    node.create_timer(1.0 / RATE, tick)


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Reserve a domain, and find on it only what is on this machine."""
    with reserved_domain() as reserved:
        for name in set(os.environ):
            if name.startswith(('ROS_', 'RMW_', 'FASTDDS_', 'FASTRTPS_', 'CYCLONEDDS_')):
                monkeypatch.delenv(name)
        for name, value in isolated_environment(reserved).items():
            monkeypatch.setenv(name, value)
        yield reserved


@pytest.fixture
def robot(domain: int) -> Iterator[Robot]:
    made = Robot(domain)
    cart(made)
    made.start()
    yield made
    made.close()


def test_draft_of_a_running_robot_names_what_runs_and_lets_it_do_nothing(
    robot: Robot, domain: int
) -> None:
    whole = {'calibrated_range', 'joint_states', 'odom', 'scan'}
    for _ in range(ATTEMPTS):
        told: list[tuple[float, int, int]] = []
        text = init_from_graph(
            seconds=LOOK, domain_id=domain, progress=lambda *now, told=told: told.append(now)
        )
        contract = filled(text)
        found = {field.topic for field in contract.observation}
        if found == whole and contract.safety.emergency_stop:
            break
    assert problems_of(contract).problems == ()
    fields = {field.name: field for field in contract.observation}
    assert {field.topic for field in fields.values()} == whole
    assert fields['odom_position'].frame == 'odom'
    assert fields['odom_position'].max_age is not None
    assert fields['scan'].source == Beams(count=36)
    assert fields['joint_states_position'].source == Joints(
        names=('lift', 'turn'), quantities=('position',)
    )
    assert fields['calibrated_range'].qos.transient_local
    assert not fields['scan'].qos.transient_local
    groups = {group.topic for group in contract.action}
    assert groups == {'cmd_vel', 'arm_position_controller/commands'}
    assert contract.safety.emergency_stop == 'emergency_stop'
    with pytest.raises(ContractError, match='action.cmd_vel.low'):
        loads(text)

    assert told[-1][0] == LOOK
    assert [now[0] for now in told] == sorted(now[0] for now in told)


def test_command_line_drafts_from_the_live_robot(
    robot: Robot, domain: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'mine.yaml'
    arguments = [str(out), '--seconds', str(LOOK), '--domain-id', str(domain)]
    assert 0 in (main(['contract', 'init', *arguments]) for _ in range(ATTEMPTS))
    assert f'boundary-env contract check {out}' in capsys.readouterr().out
    assert '# The boundary of a robot, drafted from the live ROS graph' in out.read_text()
    assert main(['contract', 'init', *arguments]) == 2
    assert 'exists already, not overwritten' in capsys.readouterr().err


def test_empty_graph_is_an_error_with_a_way_out(domain: int) -> None:
    with pytest.raises(LinkError, match=f'ROS domain {domain} within 0.5 s. Start the robot'):
        init_from_graph(seconds=0.5, domain_id=domain)


def test_robot_that_only_listens_makes_no_draft(domain: int) -> None:
    made = Robot(domain)
    made.node.create_subscription(TwistStamped, 'cmd_vel', lambda _: None, 10)
    made.start()
    try:
        with pytest.raises(RecordError, match='the live ROS graph .*has no topic that'):
            init_from_graph(seconds=LOOK, domain_id=domain)
    finally:
        made.close()


def test_a_message_that_cannot_be_read_is_counted_and_ends_the_reading() -> None:
    topic = TopicSurvey('/stop', 'std_msgs/msg/Bool', message_types())
    hear = listener(topic, Bool)
    for _ in range(7):
        hear(serialize_message(Bool(data=True)), {'received_timestamp': 7})
    assert topic.messages == 7
    assert not topic.trouble
    hear(b'', {'received_timestamp': 8})
    assert topic.messages == 8
    assert 'a message could not be decoded' in topic.trouble


def test_domain_that_cannot_be_is_an_error(domain: int) -> None:
    with pytest.raises(LinkError, match=r'expected 0 to 232, got 100000\)\. Check'):
        init_from_graph(seconds=0.5, domain_id=100000)
