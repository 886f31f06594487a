# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``simulated_robot`` runs whichever robot is installed, or says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from rcl_interfaces.srv import DescribeParameters, GetParameters
import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.records.lockstep import SimStepRequest
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.errors import LinkError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.call_with_retry import ask, SIGN_OF_LIFE
from boundary_env_ros.ros.conversions import set_time, to_msg
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.processes import NodeSpec, running
from boundary_env_ros.storage.contract_file import load
from support.ros_world import reserved_domain

pytestmark = pytest.mark.ros

_SOON = 20.0


@contextmanager
def robot(folder: Path, **parameters: str | float) -> Iterator[int]:
    """Run the node alone, active, and give its domain."""
    spec = NodeSpec(name='simulated_robot', parameters=parameters)
    with reserved_domain() as domain, running([spec], domain_id=domain, logs=folder):
        yield domain


class Peer:
    """A node beside the robot."""

    def __init__(self, domain: int) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('peer', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def until(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + _SOON
        while not condition():
            assert time.monotonic() < deadline
            self.executor.spin_once(timeout_sec=0.05)

    def ask(self, kind: Any, name: str, request: Any) -> Any:
        """Ask for what may be asked for twice."""
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready)
        until = time.monotonic() + _SOON
        answer = ask(
            client,
            request,
            until=until,
            patience=SIGN_OF_LIFE,
            spin=lambda: self.executor.spin_once(timeout_sec=0.05),
        )
        assert answer is not None
        self.node.destroy_client(client)
        return answer

    def speaker(self, kind: Any, topic: str, qos: Any) -> Any:
        publisher = self.node.create_publisher(kind, topic, qos)
        self.until(publisher.get_subscription_count)
        domain = self.context.get_domain_id()
        return Authenticity(domain, Role.ENVIRONMENT).publisher(publisher)


@pytest.mark.parametrize(
    ('parameters', 'says'),
    [
        ({'robot': 'tractor'}, "expected an installed simulated robot .*got 'tractor'"),
        ({'camera_rate': 1000.0}, 'camera: expected a rate of at most 500 Hz'),
        ({'camera_rate': 'fast'}, "camera_rate: expected a number, got 'fast'"),
    ],
)
def test_a_robot_that_cannot_be_is_refused_when_it_is_configured(
    tmp_path: Path, parameters: dict[str, str | float], says: str
) -> None:
    with (
        pytest.raises(LinkError, match=says),
        robot(tmp_path, contract='warehouse_cart', **parameters),
    ):
        pass


def test_the_options_of_the_robot_are_its_parameters_and_a_whole_number_will_do(
    tmp_path: Path,
) -> None:
    with robot(tmp_path, contract='warehouse_cart', camera_rate=5) as domain, Peer(domain) as peer:
        asked = ['actuator_delay', 'camera_rate']
        got = peer.ask(
            GetParameters,
            'simulated_robot/get_parameters',
            GetParameters.Request(names=asked),
        )
        delay, rate = (rclpy.parameter.parameter_value_to_python(v) for v in got.values)
        assert (delay, rate) == (0.03, 5)
        described = peer.ask(
            DescribeParameters,
            'simulated_robot/describe_parameters',
            DescribeParameters.Request(names=asked),
        )
        assert all(d.read_only and d.description.endswith('.') for d in described.descriptors)


def test_in_lockstep_the_world_waits_for_the_command_on_every_topic(tmp_path: Path) -> None:
    contract = load('door_arm', Pacing.LOCKSTEP).contract
    arm_group, gripper_group = contract.action
    with (
        robot(tmp_path, contract='door_arm', pacing='lockstep') as domain,
        Peer(domain) as peer,
    ):
        answers: list[Any] = []
        peer.node.create_subscription(
            msg.SimStepResponse, names.SIM_STEP_RESPONSE, answers.append, names.RECORD
        )
        advance = peer.speaker(msg.SimStepRequest, names.SIM_STEP_REQUEST, names.RECORD)
        arm = peer.speaker(JointTrajectory, arm_group.topic, names.COMMAND)
        gripper = peer.speaker(Float64MultiArray, gripper_group.topic, names.COMMAND)

        def send(publisher: Any, message: Any) -> None:
            """Publish, and see the node to be done with it: it answers what came later."""
            publisher.publish(message)
            assert publisher.wait_for_all_acked()
            for _ in range(3):
                peer.ask(GetParameters, 'simulated_robot/get_parameters', GetParameters.Request())

        def wish(step: int, command_stamp: int, duration: int) -> SimStepRequest:
            return SimStepRequest(
                id=StepId(digest='', agent='arm', episode_id='', step=step),
                duration=duration,
                command_stamp=RosTime(command_stamp),
            )

        def go_on(step: int, command_stamp: int) -> None:
            send(advance, to_msg(wish(step, command_stamp, 100_000_000)))

        def command(stamp: int) -> JointTrajectory:
            made = JointTrajectory(joint_names=list(arm_group.source.names))  # type: ignore[union-attr]
            set_time(made.header.stamp, stamp)
            made.points = [JointTrajectoryPoint(positions=[0.0, -1.8, 2.0, -0.2, 0.0, 0.0])]
            return made

        for step, stamp in enumerate((100_000_000, 200_000_000), 1):
            go_on(step, stamp)
            send(arm, command(stamp))
            assert len(answers) == step - 1, 'the gripper has no command of this step yet'
            send(gripper, Float64MultiArray(data=[0.04]))
            peer.until(lambda step=step: len(answers) == step)
        assert all(answer.success for answer in answers)
        for never in (2**63 - 1, -1):
            advance.publish(to_msg(wish(3, 0, never)))
        go_on(3, 0)
        peer.until(lambda: len(answers) == 3)
