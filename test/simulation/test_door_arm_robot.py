# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The arm as a robot that the contract ``door_arm`` is run with."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Joints, Trajectory
from boundary_env_ros.core.environment.reset import out_of_tolerance, ResetWorld, tolerances
from boundary_env_ros.core.records.parts import NamedValues, Pacing
from boundary_env_ros.core.sources.images import decode
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.policies.baselines import joint_angles, OpenDoorPolicy
from boundary_env_ros.simulation.door_arm.arm import DoorArm
from boundary_env_ros.simulation.door_arm.arm_config import ArmConfig
from boundary_env_ros.simulation.door_arm.arm_state import ARM_JOINTS
from boundary_env_ros.simulation.door_arm.robot import (
    ARM_TOPIC,
    DoorArmRobot,
    GRIPPER_TOPIC,
)
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.messages import PlainMessage
from boundary_env_ros.storage.contract_file import load, make_task
from support.door_hand import EXAMPLE, MS

CONTRACT: Contract = load('door_arm').contract
ARM, GRIPPER = CONTRACT.action
HOME = DoorArm.home
HINGE_TOPIC = 'door/hinge'


def new_robot(
    contract: Contract = CONTRACT, options: dict[str, float] | None = None
) -> DoorArmRobot:
    return DoorArmRobot(contract, start=0, options=options or {})


def target(**changes: tuple[float, ...]) -> tuple[NamedValues, ...]:
    values = {'start': HOME.joints, 'door': (0.1, 1.5), 'handle': (0.55, 0.2), **changes}
    return tuple(NamedValues(name=name, values=v) for name, v in values.items())


def newest(robot: DoorArmRobot, until: int) -> dict[str, PlainMessage]:
    """Return the last message of each topic up to then."""
    return {
        emission.topic: PlainMessage(emission.fields)
        for emission in robot.advance(until)
        if emission.fields is not None
    }


# Contract ----------------------------------------------------------------------------------------


def test_every_topic_of_the_contract_is_one_that_the_robot_sends() -> None:
    sent = new_robot().topics
    for field in CONTRACT.fields:
        if field.topic:
            assert sent[field.topic] == field.type
    for group in CONTRACT.action:
        assert sent[group.feedback.topic] == group.feedback.type


def test_the_true_angle_is_on_no_topic_that_the_policy_sees() -> None:
    seen = {field.topic for field in (*CONTRACT.observation, *CONTRACT.state)}
    hidden = {field.topic for field in CONTRACT.privileged}
    assert HINGE_TOPIC in hidden
    assert not seen & hidden
    rules = {group.feedback.topic for group in CONTRACT.action}
    assert not rules & hidden
    for topic, message in newest(new_robot(), 200 * MS).items():
        names = getattr(message, 'name', []) if topic != HINGE_TOPIC else []
        assert 'door_hinge' not in names, topic


def test_the_two_cameras_go_together_within_one_image_period() -> None:
    cameras = [field for field in CONTRACT.observation if field.is_image]
    assert [camera.name for camera in cameras] == ['wrist', 'scene']
    for camera in cameras:
        # Exposed together: one is behind the other only when an image was lost.
        assert camera.skew is not None
        assert camera.skew < 1.0 / DoorArm().config.sensors[f'{camera.name}_camera'].rate


def test_joints_limits_and_rates_of_the_contract_are_those_of_the_arm() -> None:
    geometry = DoorArm().geometry
    assert isinstance(ARM.source, Trajectory)
    assert ARM.source.names == ARM_JOINTS
    assert ARM.low == pytest.approx(geometry.joint_low)
    assert ARM.high == pytest.approx(geometry.joint_high)
    assert GRIPPER.low == (0.0,)
    assert GRIPPER.high == pytest.approx((geometry.most_open,))
    assert max(ARM.rate) <= DoorArm().config.max_joint_speed
    assert max(GRIPPER.rate) <= DoorArm().config.max_gripper_speed
    joints = CONTRACT.observation[0].source
    assert isinstance(joints, Joints)
    assert joints.names == ARM_JOINTS


def test_silence_and_stops_leave_arm_and_gripper_where_they_are() -> None:
    for group in CONTRACT.action:
        assert all(math.isnan(value) for value in group.safe)
        assert group.driver_timeout is not None


def test_the_installed_robot_and_task_of_the_contract_are_these() -> None:
    assert isinstance(make_robot(CONTRACT, 0), DoorArmRobot)
    assert type(make_task(CONTRACT)).__name__ == 'OpenDoor'


def test_messages_have_what_the_contract_reads_within_its_bounds() -> None:
    messages = newest(new_robot(), 300 * MS)
    for field in CONTRACT.fields:
        if field.is_image:
            pixels = decode(field, messages[field.topic])
            assert pixels.shape == field.shape
            assert len(np.unique(pixels)) > 20
        elif field.source is not None:
            values = reader(field.source)(messages[field.topic])
            assert len(values) == field.size
            assert all(
                low <= value <= high
                for low, value, high in zip(field.low, values, field.high, strict=True)
            ), field.name


def test_a_message_has_stamp_and_frame() -> None:
    for field in CONTRACT.fields:
        if field.topic and field.frame:
            message = newest(new_robot(), 300 * MS)[field.topic]
            assert message.header.frame_id == field.frame
            assert message.header.stamp.nanosec > 0


# Commands ----------------------------------------------------------------------------------------


def test_the_driver_has_timeouts_and_duration_of_the_contract() -> None:
    assert isinstance(ARM.source, Trajectory)
    slower = replace(
        CONTRACT,
        action=(
            replace(ARM, driver_timeout=0.4, source=replace(ARM.source, duration=0.2)),
            replace(GRIPPER, driver_timeout=0.6),
        ),
    )
    config = new_robot(slower)._arm.config
    assert (config.arm_timeout, config.gripper_timeout) == (0.4, 0.6)
    assert config.point_duration == 0.2


def test_a_command_goes_to_the_driver_of_its_topic() -> None:
    robot = new_robot()
    robot.command(ARM_TOPIC, (0.05, *HOME.joints[1:]), 0)
    robot.command(GRIPPER_TOPIC, (0.06,), 0)
    position = newest(robot, 250 * MS)['joint_states'].position
    # The timeout has come before the joint was quite there.
    assert position[:6] == pytest.approx([0.05, *HOME.joints[1:]], abs=0.02)
    assert position[0] > 0.03
    assert position[6] == pytest.approx(0.06, abs=0.002)


@pytest.mark.parametrize(
    ('topic', 'values'),
    [
        ('cmd_vel', (0.0,) * 6),
        (ARM_TOPIC, (0.0,) * 5),
        (GRIPPER_TOPIC, ()),
        (GRIPPER_TOPIC, (0, 0)),
    ],
)
def test_what_is_no_command_is_refused(topic: str, values: tuple[float, ...]) -> None:
    with pytest.raises(BoundaryError, match='expected'):
        new_robot().command(topic, values, 0)


def test_dropped_messages_are_told_and_have_no_fields() -> None:
    emissions = new_robot().advance(5_000 * MS)
    dropped = {emission.topic for emission in emissions if emission.fields is None}
    assert 'handle_pose' in dropped
    assert HINGE_TOPIC not in dropped


# Reset -------------------------------------------------------------------------------------------


def test_every_sampled_reset_is_reached_within_the_declared_tolerance() -> None:
    task, robot = make_task(CONTRACT), new_robot()
    for seed in range(40):
        sampled = task.sample_reset(np.random.default_rng(seed), {})
        answer = robot.reset(ResetWorld(seed=seed, target=sampled), seed * MS)
        assert answer.error == ''
        assert answer.completed == seed * MS
        tolerance = tolerances(CONTRACT.episode.reset)
        assert out_of_tolerance(sampled, answer.achieved, tolerance) == ()


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'start': (0.0,) * 5}, 'expected start'),
        ({'door': ()}, 'expected start'),
        ({'handle': (0.55, 0.2, 0.0)}, 'expected start'),
        ({'start': (4.0, *HOME.joints[1:])}, 'shoulder_pan_joint'),
        ({'handle': (0.1, 9.0)}, 'Wrong handle height'),
    ],
)
def test_a_reset_that_cannot_be_is_an_answer(
    changes: dict[str, tuple[float, ...]], message: str
) -> None:
    answer = new_robot().reset(ResetWorld(seed=0, target=target(**changes)), 0)
    assert message in answer.error
    assert answer.achieved == ()


# Options -----------------------------------------------------------------------------------------


def test_cameras_can_be_switched_off() -> None:
    topics = {
        emission.topic for emission in new_robot(options={'camera_rate': 0.0}).advance(500 * MS)
    }
    assert topics == {t for t, kind in new_robot().topics.items() if 'Image' not in kind}


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'speed': 1.0}, "expected options of the robot .*, got 'speed'"),
        ({'actuator_delay': 0.3}, 'above actuator_delay'),
        ({'camera_rate': -1.0}, 'rate: expected a finite number'),
        ({'camera_rate': 501.0}, 'wrist_camera: expected a rate of at most 500 Hz'),
    ],
)
def test_wrong_options_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(BoundaryError, match=message):
        make_robot(CONTRACT, 0, options)


def test_a_contract_of_another_robot_is_refused() -> None:
    with pytest.raises(BoundaryError, match=f'6 command values on {ARM_TOPIC}, got 2 on cmd'):
        new_robot(load('warehouse_cart').contract)


# The whole ---------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def env() -> BoundaryEnv:
    return BoundaryEnv('door_arm', world='embedded', pacing='lockstep')


@pytest.mark.parametrize('scenario', ['light', 'heavy', 'ajar'])
def test_the_scripted_policy_opens_the_door(env: BoundaryEnv, scenario: str) -> None:
    endings = []
    for seed in range(3):
        policy = OpenDoorPolicy()
        observation, _ = env.reset(seed=seed, options={'scenario': scenario})
        ended = False
        while not ended:
            observation, _, terminated, truncated, info = env.step(policy(observation))
            assert env.observation_space.contains(observation)
            ended = terminated or truncated
        endings.append(info['ending'])
    assert endings.count('success') >= 2, endings


def test_the_example_runs_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    EXAMPLE['main']()
    assert capsys.readouterr().out.splitlines()[-1] == 'success'


def statuses(config: ArmConfig, steps: int) -> list[dict[str, str]]:
    """Return the status of each field, step by step, with an arm that stays where it is."""
    loaded = load('door_arm', Pacing.LOCKSTEP)
    robot = DoorArmRobot(loaded.contract, start=100 * MS, config=config)
    env = BoundaryEnv('door_arm', world='embedded', pacing='lockstep', robot=robot, full_info=True)
    observation, info = env.reset(seed=3)
    found = []
    for _ in range(steps):
        stay = [*observation['joints'][:6], observation['gripper'][0]]
        observation, _, _, _, info = env.step(np.array(stay, np.float32))
        found.append({**info['status'], 'verdict': info['verdict']})
    return found


def test_a_camera_that_lost_an_image_is_behind_the_other_and_stale() -> None:
    shaky = replace(ArmConfig().scene_camera, dropout=0.3)
    found = statuses(ArmConfig(scene_camera=shaky), 40)
    scenes = [status['scene'] for status in found]
    assert 4 <= scenes.count('STALE') <= 25
    # The wrist's loses one in a hundred; an image that lacks the other is no reason to stop.
    assert [status['wrist'] for status in found].count('STALE') <= 3
    assert {status['verdict'] for status in found} <= {'ADMITTED', 'LIMITED'}


def test_an_arm_that_does_not_feel_is_held() -> None:
    numb = replace(ArmConfig().wrench, rate=2.5)
    found = statuses(ArmConfig(wrench=numb), 12)
    stale = [status for status in found if status['wrench'] == 'STALE']
    assert stale
    assert 'STOPPED' in {status['verdict'] for status in found}


def test_pressing_against_the_door_ends_in_excessive_force(env: BoundaryEnv) -> None:
    observation, _ = env.reset(seed=1)
    terminated = truncated = False
    x = 0.5
    while not (terminated or truncated):
        x = min(x + 0.02, 1.0)
        action = [*joint_angles(np.array([x, -0.1, 0.45]), 0.0), 0.0]
        observation, _, terminated, truncated, info = env.step(np.array(action, np.float32))
    assert info['ending'] == 'excessive_force'
    assert terminated
    assert not truncated
    assert np.linalg.norm(observation['wrench'][:3]) > 80.0
