# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each sensor of the arm measures what it claims to, as noisily and as late as declared."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.simulation.door_arm.arm import DoorArm
from boundary_env_ros.simulation.door_arm.arm_config import (
    ArmConfig,
    HandlePoseConfig,
    WrenchConfig,
)
from boundary_env_ros.simulation.door_arm.arm_sensors import _quaternion
from boundary_env_ros.simulation.door_arm.arm_state import ARM_JOINTS, GRIPPER_JOINT
from support.door_hand import grasp, lead, MS, only
from support.readings import payloads, seen

HOME = DoorArm.home
CLEAR = replace(
    ArmConfig(),
    wrist_camera=replace(ArmConfig().wrist_camera, dropout=0.0, intensity_noise=0.0),
    scene_camera=replace(ArmConfig().scene_camera, dropout=0.0, intensity_noise=0.0),
)


def yaw_of(reading):
    x, y, z, w = reading.orientation
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@pytest.mark.parametrize('name', ArmConfig().sensors)
def test_declared_rate_and_delay_are_those_of_the_readings(name):
    config = only(name)
    readings = DoorArm(config).advance(1_000 * MS)
    declared = config.sensors[name]
    period_ns, delay_ns = round(1e9 / declared.rate), round(declared.delay * 1e9)
    count = (1_000 * MS - delay_ns) // period_ns + 1
    assert [r.captured_ns for r in readings] == [k * period_ns for k in range(count)]
    assert all(r.published_ns - r.captured_ns == delay_ns for r in readings)


def test_declared_dropout_is_recovered_from_the_readings():
    base = ArmConfig(handle_pose=HandlePoseConfig(rate=100.0, dropout=0.2))
    readings = DoorArm(only('handle_pose', base=base)).advance(20_000 * MS)
    share = np.mean([reading.dropped for reading in readings])
    assert share == pytest.approx(0.2, abs=4.0 * math.sqrt(0.2 * 0.8 / len(readings)))


def test_switching_the_cameras_off_leaves_the_noise_of_the_others(fingerprint):
    with_cameras = DoorArm().advance(300 * MS)
    without = DoorArm(only(*(set(ArmConfig().sensors) - {'wrist_camera', 'scene_camera'})))
    expected = tuple(r for r in with_cameras if 'camera' not in r.sensor)
    assert fingerprint(without.advance(300 * MS), 0) == fingerprint(expected, 0)


def test_joint_states_name_and_measure_arm_and_gripper():
    arm = DoorArm(only('joint_states'))
    readings = payloads(arm.advance(3_000 * MS), 'joint_states')
    assert readings[-1].names == (*ARM_JOINTS, GRIPPER_JOINT)
    positions = np.array([reading.position for reading in readings])
    assert positions.mean(axis=0) == pytest.approx([*HOME.joints, 0.08], abs=2e-4)
    noise = arm.config.joint_states.position_noise
    assert positions.std(axis=0)[:6] == pytest.approx([noise] * 6, rel=0.2)
    assert positions.std(axis=0)[6] == pytest.approx(0.1 * noise, rel=0.2)


def test_joint_speeds_are_those_of_the_motion():
    arm = DoorArm(only('joint_states'))
    readings = payloads(lead(arm, (0.5, 0.2, 0.4)), 'joint_states')
    speeds = np.array([reading.velocity for reading in readings])
    travelled = np.array([readings[-1].position, readings[0].position])
    assert speeds.sum(axis=0) * 0.01 == pytest.approx(travelled[0] - travelled[1], abs=0.01)


def test_the_wrench_is_noisy_and_its_zero_is_wrong_by_another_bit_after_every_reset():
    base = ArmConfig(wrench=WrenchConfig(force_noise=0.2, force_bias=0.5, torque_noise=0.02))
    arm = DoorArm(only('wrench', base=base))
    zeros = []
    for seed in range(30):
        arm.reset(HOME, seed=seed, at_ns=arm.now_ns)
        readings = payloads(arm.advance(arm.now_ns + 500 * MS), 'wrench')
        forces = np.array([reading.force for reading in readings])
        assert forces.std(axis=0) == pytest.approx([0.2] * 3, rel=0.5)
        torques = np.array([reading.torque for reading in readings])
        assert torques.std(axis=0) == pytest.approx([0.02] * 3, rel=0.5)
        zeros.append(forces.mean(axis=0))
    assert np.std(zeros) == pytest.approx(0.5, rel=0.3)


def test_the_wrench_shows_a_contact():
    exact = WrenchConfig(force_noise=0.0, force_bias=0.0, torque_noise=0.0)
    arm = DoorArm(only('wrench', base=ArmConfig(wrench=exact)))
    free = payloads(lead(arm, (0.7, -0.1, 0.45), opening=0.0), 'wrench')
    settled = max(np.linalg.norm(reading.force) for reading in free[-20:])
    pressed = payloads(lead(arm, (0.84, -0.1, 0.45), opening=0.0), 'wrench')[-1]
    assert settled < 1.0
    assert pressed.force[0] < -10.0, 'the door pushes the gripper back'


def test_the_tool_is_where_the_encoders_say():
    arm = DoorArm(only('tool_pose'))
    reading = payloads(lead(arm, (0.5, 0.1, 0.3), yaw=0.4), 'tool_pose')[-1]
    assert reading.position == pytest.approx([0.5, 0.1, 0.3], abs=2e-3)
    assert yaw_of(reading) == pytest.approx(0.4, abs=5e-3)


@pytest.mark.parametrize('hinge', [0.0, 0.3, 1.2])
def test_the_handle_is_seen_where_it_is_as_noisily_as_declared(hinge):
    arm = DoorArm(only('handle_pose'))
    arm.reset(replace(HOME, hinge=hinge, friction=5.0), seed=1, at_ns=0)
    readings = payloads(arm.advance(30_000 * MS), 'handle_pose')
    true = arm.true_state
    places = np.array([reading.position for reading in readings])
    turns = np.array([yaw_of(reading) for reading in readings])
    assert places.mean(axis=0) == pytest.approx(true.handle.position, abs=1e-3)
    assert places.std(axis=0) == pytest.approx([0.002] * 3, rel=0.2)
    assert turns.mean() == pytest.approx(true.hinge, abs=3e-3)
    assert turns.std() == pytest.approx(0.01, rel=0.2)


def test_the_hinge_is_the_truth_without_delay():
    arm = DoorArm(only('hinge'))
    grasp(arm)
    x, y, z = arm.true_state.handle.position
    last = lead(arm, (x - 0.1, y, z), opening=0.0)[-1]
    assert last.captured_ns == last.published_ns == arm.now_ns
    assert seen(last).position == (arm.true_state.hinge,)
    assert seen(last).velocity == (arm.true_state.hinge_speed,)
    assert seen(last).names == ('door_hinge',)


# Cameras -----------------------------------------------------------------------------------------


def yellow(pixels):
    red, green, blue = (pixels[..., channel].astype(int) for channel in range(3))
    return (red > 120) & (green > 80) & (blue < 80) & (red < 2 * green)


def pictures(start):
    """Return what both cameras see, without noise."""
    arm = DoorArm(only('wrist_camera', 'scene_camera', base=CLEAR))
    arm.reset(start, seed=0, at_ns=0)
    readings = arm.advance(60 * MS)
    return {r.sensor: seen(r).pixels for r in readings}


@pytest.mark.parametrize('camera', ['wrist_camera', 'scene_camera'])
def test_both_cameras_show_the_yellow_handle_on_the_blue_door(camera):
    pixels = pictures(HOME)[camera]
    assert pixels.shape == (48, 64, 3)
    assert pixels.dtype == np.uint8
    assert yellow(pixels).sum() >= 5
    blue = pixels[..., 2].astype(int) - pixels[..., 0] > 30
    assert blue.sum() > 400


def test_the_wrist_camera_moves_with_the_wrist_and_the_scene_camera_does_not():
    """The handle, left of the middle, leaves the wrist's picture to the right as it pans left."""
    ahead = pictures(HOME)
    left = pictures(replace(HOME, joints=(0.15, *HOME.joints[1:])))
    column = {
        name: np.nonzero(yellow(shot['wrist_camera']).any(axis=0))[0].mean()
        for name, shot in (('ahead', ahead), ('left', left))
    }
    assert column['ahead'] < 32, 'the image is not mirrored'
    assert column['left'] > column['ahead'] + 5
    columns = [np.nonzero(yellow(s['scene_camera']).any(axis=0))[0] for s in (ahead, left)]
    assert np.array_equal(*columns)


def test_an_open_door_looks_different():
    out_of_the_way = replace(HOME, joints=(0.0, -2.3, 2.4, -0.1, 0.0, 0.0))
    closed, wide = pictures(out_of_the_way), pictures(replace(out_of_the_way, hinge=0.6))
    for camera in ('wrist_camera', 'scene_camera'):
        different = np.abs(closed[camera].astype(int) - wide[camera]).max(axis=-1) > 20
        assert different.mean() > 0.05


def test_the_cameras_expose_together_and_each_comes_after_its_own_delay():
    base = replace(CLEAR, scene_camera=replace(CLEAR.scene_camera, delay=0.045))
    readings = DoorArm(only('wrist_camera', 'scene_camera', base=base)).advance(500 * MS)
    captured = {
        name: [r.captured_ns for r in readings if r.sensor == name]
        for name in ('wrist_camera', 'scene_camera')
    }
    assert captured['wrist_camera'] == captured['scene_camera']
    late = {r.sensor: r.published_ns - r.captured_ns for r in readings}
    assert late == {'wrist_camera': 30 * MS, 'scene_camera': 45 * MS}


# Configuration, helpers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'max_gripper_speed': math.inf}, 'max_gripper_speed: expected a finite number'),
        ({'actuator_delay': -0.1}, 'actuator_delay: expected a finite number, 0 or more'),
        ({'arm_timeout': 0.02}, 'expected arm_timeout above actuator_delay'),
        ({'gripper_timeout': 0.01}, 'expected gripper_timeout above actuator_delay'),
    ],
)
def test_an_arm_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ArmConfig(**changes)


@given(parts=st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda p: math.hypot(*p) > 0.1))
def test_a_rotation_gives_its_quaternion(parts):
    x, y, z, w = np.array(parts) / math.hypot(*parts)
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    found = _quaternion(rotation)
    assert abs(np.dot(found, (w, x, y, z))) == pytest.approx(1.0)
    assert found[0] >= 0.0
