# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The contract language with real nodes and messages: an arm that no package brings along."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
import gc
import io
import math
import os
from pathlib import Path
import time
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('PIL', reason='needs boundary_env_ros[images]')

from geometry_msgs.msg import PoseStamped
import PIL.Image
from sensor_msgs.msg import CompressedImage, JointState, PointCloud2, PointField
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from boundary_env_ros.core.contract.paths import yaw
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.processes import isolated_environment, NodeSpec, running
from support.ros_world import ports_of, Probe, reserved_domain

pytestmark = pytest.mark.ros

HOME = (0.1, -0.2)
ELSEWHERE = (0.9, 0.7)
TOOL = (0.4, 0.25)
FINGERS = 0.02
POSE = (-2.0, 0.5, 0.3)
PROMPT = 'Put the box on the mark.'
PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3) * 3
POINTS = [(0.1 * i, -0.1 * i, 1.0 + i) for i in range(3)]
_SOON = 20.0


def field(topic: str, kind: str, **keys: Any) -> dict[str, Any]:
    return {'topic': topic, 'type': kind, 'max_age': 3.0, **keys}


def feedback(topic: str, kind: str, **keys: Any) -> dict[str, Any]:
    return {'topic': topic, 'type': kind, 'threshold': 0.001, **keys}


JOINTS = {'joints': ['lift', 'elbow']}
TOOL_PATHS = {'fields': ['pose.position.z', 'yaw(pose.orientation)']}
STAYS = {'safe': 'hold_position', 'driver_timeout': 1.0}

#: Patient with a busy machine: nothing here is about time.
CONTRACT: dict[str, Any] = {
    'contract': 'lab_arm', 'version': '1.0.0', 'period': 0.1, 'agents': ['arm'],
    'observation': {
        'joints': field(
            'joint_states', 'sensor_msgs/msg/JointState', **JOINTS,
            quantity=['position', 'velocity'], unit=['rad', 'rad', 'rad/s', 'rad/s'],
            low=[-3.0, -3.0, -9.0, -9.0], high=[3.0, 3.0, 9.0, 9.0],
        ),
        'cloud': field(
            'depth/points', 'sensor_msgs/msg/PointCloud2', points=4, pad=9.0, unit='m', low=-9.0,
            high=9.0, qos={'reliability': 'reliable', 'durability': 'transient_local', 'depth': 1},
        ),
        'camera': field(
            'camera/compressed', 'sensor_msgs/msg/CompressedImage', compressed='png',
            encoding='rgb8', shape=[4, 6, 3],
        ),
        'goal': {'task': 'goal', 'unit': ['m', 'm'], 'low': -9.0, 'high': 9.0},
        'turn': {'derive': {'function': 'sine_cosine', 'of': 'pose', 'index': 2}},
    },
    'state': {
        'pose': field(
            'base_pose', 'geometry_msgs/msg/PoseStamped', unit=['m', 'm', 'rad'],
            fields=['pose.position.x', 'pose.position.y', 'yaw(pose.orientation)'],
            low=[-9.0, -9.0, -3.2], high=[9.0, 9.0, 3.2], on_stale='stop',
        ),
    },
    'action': {
        'arm': {
            'topic': 'arm/joint_trajectory', 'type': 'trajectory_msgs/msg/JointTrajectory',
            **JOINTS, 'duration': 0.25, 'unit': 'rad', 'low': -2.0, 'high': 2.0,
            'max_velocity': 2.0, **STAYS,
            'feedback': feedback('joint_states', 'sensor_msgs/msg/JointState', **JOINTS),
        },
        'tool': {
            'topic': 'tool/target', 'type': 'geometry_msgs/msg/PoseStamped', **TOOL_PATHS,
            'frame': 'base_link', 'unit': ['m', 'rad'], 'low': [0.0, -1.5], 'high': [1.0, 1.5],
            'max_velocity': 5.0, **STAYS,
            'feedback': feedback('tool/pose', 'geometry_msgs/msg/PoseStamped', **TOOL_PATHS),
        },
        'fingers': {
            'topic': 'fingers/commands', 'type': 'std_msgs/msg/Float64MultiArray', 'length': 1,
            'interface': 'position', 'kind': 'delta', 'max_delta': 0.01, 'unit': 'm', 'low': 0.0,
            'high': 0.08, 'max_velocity': 0.5, **STAYS,
            'feedback': feedback('joint_states', 'sensor_msgs/msg/JointState', joints=['finger']),
        },
    },
    'safety': {
        'hold_timeout': 0.3, 'command_timeout': 3.0, 'policy_timeout': 9.0,
        'environment_timeout': 3.0, 'gate_timeout': 3.0, 'robot_timeout': 3.0,
        'sensor_timeout': 3.0, 'max_action_age': 3.0,
    },
    'recorder': {'required': False},
    'task': {
        'name': 'go_to_goal',
        'parameters': {
            'radius': 0.01,
            'scenarios': {'lab': {'start': [0, 0, 1, 1], 'yaw': [0, 0], 'goal': [5, 5, 6, 6]}},
        },
    },
    'episode': {
        'time_limit': 30.0,
        'reset': {
            'deadline': 30.0, 'settle': 0.1,
            'procedure': [
                {
                    'call': 'brakes/release', 'type': 'std_srvs/srv/SetBool',
                    'request': {'data': True}, 'deadline': 10.0,
                },
                {'publish': 'home', 'type': 'std_msgs/msg/Bool', 'message': {'data': True}},
                {
                    'wait': 'joints', 'target': [*HOME, 0.0, 0.0],
                    'tolerance': [0.01, 0.01, 0.1, 0.1], 'deadline': 10.0,
                },
                {'confirm': PROMPT, 'deadline': 15.0},
            ],
        },
    },
}  # fmt: skip


class Robot:
    """An arm that does at once what it is told, and its sensors; the probe is its body."""

    def __init__(self, probe: Probe) -> None:
        self._node = node = probe.node
        self.joints = list(ELSEWHERE)
        self.tool = list(TOOL)
        self.fingers = FINGERS
        self.refuses = ''
        self.released = 0
        self.heard: dict[str, list[Any]] = {'arm': [], 'tool': [], 'fingers': []}
        self._speaks = {
            kind: node.create_publisher(kind, topic, names.RECORD)
            for kind, topic in (
                (JointState, 'joint_states'),
                (CompressedImage, 'camera/compressed'),
            )
        }
        # As a sensor driver may: reliable, and the last one is kept.
        self._cloud = node.create_publisher(PointCloud2, 'depth/points', names.LATCHED)
        self._poses = {
            topic: node.create_publisher(PoseStamped, topic, names.RECORD)
            for topic in ('base_pose', 'tool/pose')
        }
        for kind, topic, callback in (
            (JointTrajectory, 'arm/joint_trajectory', self._on_arm),
            (PoseStamped, 'tool/target', self._on_tool),
            (Float64MultiArray, 'fingers/commands', self._on_fingers),
            (Bool, 'home', self._on_home),
        ):
            node.create_subscription(kind, topic, callback, names.RECORD)
        node.create_service(SetBool, 'brakes/release', self._on_release)
        node.create_timer(0.05, self._speak)

    def is_heard(self) -> bool:
        """Return whether the gate knows what the arm does: else it lets nothing through."""
        for made in (self._speaks[JointState], self._poses['tool/pose']):
            listeners = self._node.get_subscriptions_info_by_topic(made.topic_name)
            if 'safety_gate' not in {info.node_name for info in listeners}:
                return False
            if made.get_subscription_count() < len(listeners):
                return False
        return True

    def _on_release(self, request: Any, response: Any) -> Any:
        assert request.data
        self.released += 1
        response.success, response.message = not self.refuses, self.refuses
        return response

    def _on_home(self, message: Any) -> None:
        if message.data:
            self.joints = list(HOME)

    def _on_arm(self, message: Any) -> None:
        self.heard['arm'].append(message)
        self.joints = list(message.points[0].positions)

    def _on_tool(self, message: Any) -> None:
        self.heard['tool'].append(message)
        self.tool = [message.pose.position.z, yaw(message.pose.orientation)]

    def _on_fingers(self, message: Any) -> None:
        self.heard['fingers'].append(message)
        [self.fingers] = message.data

    def _speak(self) -> None:
        now = self._node.get_clock().now().to_msg()
        # In another order than that of the contract.
        joints = JointState(
            name=['finger', 'elbow', 'lift'],
            position=[self.fingers, self.joints[1], self.joints[0]],
            velocity=[0.0, 0.0, 0.0],
        )
        file = io.BytesIO()
        PIL.Image.fromarray(PIXELS).save(file, 'png')
        camera = CompressedImage(format='rgb8; png compressed', data=file.getvalue())
        for message in (joints, camera):
            message.header.stamp = now
            self._speaks[type(message)].publish(message)
        there = {
            'base_pose': (POSE[:2], POSE[2]),
            'tool/pose': ((0.0, 0.0, self.tool[0]), self.tool[1]),
        }
        for topic, (place, turn) in there.items():
            pose = PoseStamped()
            pose.header.stamp = now
            for axis, value in zip('xyz', place, strict=False):
                setattr(pose.pose.position, axis, float(value))
            pose.pose.orientation.z, pose.pose.orientation.w = (
                math.sin(turn / 2), math.cos(turn / 2),
            )  # fmt: skip
            self._poses[topic].publish(pose)
        values = np.array([*POINTS, (math.nan, 0.0, 0.0)], dtype='<f4')
        channels = [
            PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
            for index, name in enumerate('xyz')
        ]
        cloud = PointCloud2(
            height=1, width=4, point_step=12, row_step=48, data=values.tobytes(), fields=channels
        )
        cloud.header.stamp = now
        self._cloud.publish(cloud)


class Lab:
    """The nodes under the contract, the arm, and a facade."""

    def __init__(self, file: Path, probe: Probe, domain: int) -> None:
        self.file, self.probe, self.domain = file, probe, domain
        self.robot = Robot(probe)
        for topic, kind, qos in (
            (names.TRANSITION, msg.Transition, names.RECORD),
            (names.GATE_DECISION, msg.GateDecision, names.RECORD),
            (names.EPISODE_STATUS, msg.EpisodeStatus, names.LATCHED_MANY),
        ):
            probe.subscribe(topic, kind, qos)
        probe.until(self.robot.is_heard, 30.0, 'a gate that hears the arm')
        self.env = BoundaryEnv(file, world='ros', domain_id=domain, startup_timeout=_SOON)
        self.pool = ThreadPoolExecutor(1)

    def close(self) -> None:
        self.env.close()
        self.pool.shutdown()

    def begin(self) -> Future[Any]:
        """Begin a reset, elsewhere than here."""
        self.robot.joints = list(ELSEWHERE)
        return self.pool.submit(self.env.reset, seed=3)

    def asked(self) -> None:
        """Wait until a person is asked to confirm."""
        self.probe.until(
            lambda: self.status() is not None and self.status().message == PROMPT,
            _SOON,
            'a prompt',
        )

    def status(self) -> Any:
        return self.probe.last(names.EPISODE_STATUS)

    def confirm(self, **fields: Any) -> Any:
        request = srv.ConfirmReset.Request(**{'confirmed': True, 'user': 'Ada', **fields})
        return self.probe.call(srv.ConfirmReset, 'environment/confirm_reset', request).result

    def ready(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset, with a person who confirms."""
        reset = self.begin()
        self.asked()
        assert not self.confirm().code
        observation, info = reset.result(_SOON)
        return observation, info

    def transitions(self, since: int = 0) -> list[Transition]:
        return [from_msg(Transition, m) for m in self.probe.messages(names.TRANSITION, since)]

    def decisions(self, since: int = 0) -> list[GateDecision]:
        return [from_msg(GateDecision, m) for m in self.probe.messages(names.GATE_DECISION, since)]


@pytest.fixture(scope='module')
def lab(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp('lab')
    file = folder / 'lab_arm.yaml'
    file.write_text(yaml.safe_dump(CONTRACT, sort_keys=False), encoding='utf-8')
    before = dict(os.environ)
    with reserved_domain() as domain:
        with ExitStack() as stack:
            stack.callback(lambda: (os.environ.clear(), os.environ.update(before)))
            os.environ.update(isolated_environment(domain))
            specs = [
                NodeSpec(name=name, parameters={'contract': str(file)})
                for name in ('safety_gate', 'environment')
            ]
            stack.enter_context(
                running(specs, domain_id=domain, logs=folder / 'logs', timeout=60.0)
            )
            probe = Probe(domain)
            stack.callback(probe.close)
            made = Lab(file, probe, domain)
            stack.callback(made.close)
            yield made
        gc.collect()
        deadline = time.monotonic() + _SOON
        while ports_of([os.getpid()], domain):
            assert time.monotonic() < deadline, 'a port is held after the end'
            time.sleep(0.02)


@pytest.fixture
def arm(lab: Lab) -> Lab:
    """Return the lab as it is between two tests."""
    lab.robot.refuses = ''
    return lab


# Resets ------------------------------------------------------------------------------------------


def test_a_reset_goes_through_service_message_wait_and_confirmation(arm: Lab) -> None:
    released = arm.robot.released
    start = time.monotonic_ns()
    reset = arm.begin()
    arm.asked()
    assert arm.robot.released == released + 1
    assert tuple(arm.robot.joints) == HOME
    assert EpisodeState(arm.status().state) is EpisodeState.RESETTING
    assert not reset.done(), 'it did not wait for the person'

    nameless = arm.confirm(user='')
    assert nameless.code
    assert 'The name of the person or program that confirms is missing' in nameless.message
    assert not arm.confirm().code
    observation, _ = reset.result(_SOON)
    # The probe is another listener than the link, and may hear later.
    arm.probe.until(lambda: arm.transitions(start), _SOON, 'the transition of the reset')
    [transition] = [t for t in arm.transitions(start) if t.reset is not None]
    assert transition.reset is not None
    assert transition.reset.confirmed_by == 'brakes/release, field joints, Ada'
    assert transition.reset.within_tolerance

    assert observation['joints'] == pytest.approx([*HOME, 0.0, 0.0])
    again = arm.confirm()
    assert again.code
    assert 'No reset asks for a confirmation' in again.message


def test_a_person_who_says_no_fails_the_reset_in_their_own_words(arm: Lab) -> None:
    reset = arm.begin()
    arm.asked()
    assert not arm.confirm(confirmed=False, message='the box is broken').code
    with pytest.raises(ResetFailed, match='Ada did not confirm: the box is broken'):
        reset.result(_SOON)


def test_a_service_that_refuses_fails_the_reset_in_its_own_words(arm: Lab) -> None:
    arm.robot.refuses = 'the brakes are stuck'
    with pytest.raises(ResetFailed, match='brakes/release: the brakes are stuck'):
        arm.begin().result(_SOON)


# Observations ------------------------------------------------------------------------------------


def test_what_the_sensors_say_is_what_the_policy_sees(arm: Lab) -> None:
    start = time.monotonic_ns()
    observation, _ = arm.ready()
    assert arm.env.observation_space.contains(observation)
    assert observation['cloud'] == pytest.approx(np.array([*POINTS, (9.0, 9.0, 9.0)]))
    assert np.array_equal(observation['camera'], PIXELS)
    assert observation['turn'] == pytest.approx([math.sin(POSE[2]), math.cos(POSE[2])])
    assert 'pose' not in observation

    def own() -> list[Transition]:
        # An episode that was left before its reset was over is ended by this one, and says so.
        return [t for t in arm.transitions(start) if t.id.episode_id == arm.env.episode_id]

    arm.probe.until(own, _SOON, 'the transition of the reset')
    transition = own()[0]
    [state] = transition.state
    assert state.name == 'pose'
    assert state.values == pytest.approx(POSE)
    fields = {field.name: field for field in transition.after}
    assert fields['cloud'].confidence == 0.75
    assert fields['camera'].image is not None
    assert fields['camera'].image.encoding == 'png'
    assert fields['turn'].source == 'derived:sine_cosine'


# Commands ----------------------------------------------------------------------------------------


def test_commands_are_on_the_wire_as_their_messages_want_them(arm: Lab) -> None:
    arm.ready()
    heard = {name: len(messages) for name, messages in arm.robot.heard.items()}
    asked = np.array([0.15, -0.25, 0.3, 0.2, 0.005], dtype=np.float32)
    *_, info = arm.env.step(asked)
    assert info['verdict'] == 'ADMITTED', info
    arm.probe.until(
        lambda: all(len(arm.robot.heard[name]) > count for name, count in heard.items()),
        _SOON, 'a command on each topic',
    )  # fmt: skip
    trajectory, target, fingers = (arm.robot.heard[name][count] for name, count in heard.items())
    assert list(trajectory.joint_names) == ['lift', 'elbow']
    [point] = trajectory.points
    assert list(point.positions) == asked[:2].tolist()
    assert (point.time_from_start.sec, point.time_from_start.nanosec) == (0, 250_000_000)
    assert target.header.frame_id == 'base_link'
    assert target.header.stamp == trajectory.header.stamp
    assert target.pose.position.z == float(asked[2])
    assert yaw(target.pose.orientation) == pytest.approx(float(asked[3]))
    assert list(fingers.data) == [FINGERS + float(asked[4])]


def test_a_difference_adds_up_and_stays_within_its_most(arm: Lab) -> None:
    arm.ready()
    before = arm.robot.fingers
    still = [*HOME, *arm.robot.tool]
    start = time.monotonic_ns()
    for _ in range(3):
        *_, info = arm.env.step(np.array([*still, 0.5], dtype=np.float32))
    assert info['verdict'] == 'LIMITED'

    def answers() -> list[GateDecision]:
        return [d for d in arm.decisions(start) if d.request is not None]

    arm.probe.until(lambda: len(answers()) >= 3, _SOON, 'a decision on each request')
    decisions = answers()
    for index, decision in enumerate(decisions, start=1):
        assert decision.verdict is Verdict.LIMITED
        assert decision.requested_action[4] == 0.5
        assert decision.admitted_action[4] == pytest.approx(0.01)
        assert decision.command[4] == pytest.approx(before + 0.01 * index)
        [result] = decision.rules
        assert (result.dimension, result.limit, result.unit) == (4, 0.01, 'm')


def test_an_arm_that_nobody_asks_is_told_to_stay(arm: Lab) -> None:
    arm.ready()
    still = np.array([0.2, -0.2, *arm.robot.tool, 0.0], dtype=np.float32)
    arm.env.step(still)
    start = time.monotonic_ns()
    asked = still[:2].tolist()
    arm.probe.until(
        lambda: list(arm.robot.heard['arm'][-1].points[0].positions) == asked,
        _SOON, 'the command of the step',
    )  # fmt: skip

    def held() -> bool:
        return len([d for d in arm.decisions(start) if d.verdict is Verdict.HELD]) >= 3

    arm.probe.until(held, _SOON, 'commands that are held')
    assert list(arm.robot.heard['arm'][-1].points[0].positions) == asked


def test_every_command_of_an_episode_is_within_bounds_and_rates(arm: Lab) -> None:
    arm.ready()
    wild = np.random.default_rng(5)
    start = time.monotonic_ns()
    for _ in range(25):
        *_, terminated, truncated, _ = arm.env.step(wild.uniform(-3.0, 3.0, 5).astype(np.float32))
        assert not terminated
        assert not truncated
    contract = arm.env.contract

    def published() -> list[GateDecision]:
        return [d for d in arm.decisions(start) if d.command]

    arm.probe.until(lambda: len(published()) >= 25, _SOON, 'a command for each step')
    decisions = published()
    low, high, rate = (np.array(contract.flat(name)) for name in ('low', 'high', 'rate'))
    for decision in decisions:
        command, before = np.array(decision.command), np.array(decision.inputs.previous_command)
        assert np.all((command >= low) & (command <= high))
        assert decision.inputs.time_step is not None
        assert np.all(np.abs(command - before) <= rate * decision.inputs.time_step + 1e-9)
