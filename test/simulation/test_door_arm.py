# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The arm as a whole: same seed same bits, time, resets, motion, door, contact."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.errors import InvalidAction, InvalidState, ResetFailed, SimulationFailed
from boundary_env_ros.simulation.door_arm.arm import DoorArm
from boundary_env_ros.simulation.door_arm.arm_config import ArmConfig
from support.door_hand import grasp, lead, MS, only
from support.readings import payloads, seen

HOME = DoorArm.home
START = replace(HOME, joints=(0.1, -1.9, 2.1, -0.1, 0.1, 0.0), hinge=0.2, friction=1.5)
#: When, ms since the reset, and where to: joints, rad, and opening, m.
COMMANDS = (
    (30, (0.0, -1.8, 2.0, -0.2, 0.0, 0.3), 0.02),
    (130, (0.2, -1.7, 1.9, -0.1, 0.2, 0.0), 0.06),
    (215, (0.3, -1.7, 2.2, 0.0, 0.0, 0.0), 0.0),
)


def run_commands(arm, zero_ns, duration_ns, cuts=()):
    """Run COMMANDS, advancing to each cut on the way."""
    readings = []
    todo = list(COMMANDS)
    for cut in sorted({*cuts, duration_ns}):
        while todo and todo[0][0] * MS <= cut:
            arrived, joints, opening = todo.pop(0)
            arm.command_arm(joints, zero_ns + arrived * MS)
            arm.command_gripper(opening, zero_ns + arrived * MS)
        readings += arm.advance(zero_ns + cut)
    return tuple(readings)


def placed(start=HOME, config=None):
    arm = DoorArm(only() if config is None else config)
    arm.reset(start, seed=0, at_ns=0)
    return arm


def test_same_seed_and_commands_give_the_same_bits_whatever_came_before(fingerprint):
    first = DoorArm()
    first.reset(START, seed=5, at_ns=0)
    second = DoorArm(start_ns=123_456_789)
    grasp(second)
    later = second.now_ns + 7
    second.reset(START, seed=5, at_ns=later)
    ran = [run_commands(first, 0, 600 * MS), run_commands(second, later, 600 * MS)]
    assert fingerprint(ran[0], 0) == fingerprint(ran[1], later)
    assert {reading.sensor for reading in ran[0]} == set(ArmConfig().sensors)


def test_another_seed_gives_other_noise_but_the_same_motion():
    last = {}
    for seed in (1, 2):
        arm = DoorArm()
        arm.reset(START, seed=seed, at_ns=0)
        last[seed] = {r.sensor: seen(r) for r in run_commands(arm, 0, 400 * MS)}
    for exact in ('hinge', 'tool_pose'):
        assert np.array_equal(last[1][exact].position, last[2][exact].position)
    for noisy in ('joint_states', 'handle_pose'):
        assert not np.array_equal(last[1][noisy].position, last[2][noisy].position)
    assert not np.array_equal(last[1]['wrench'].force, last[2]['wrench'].force)
    for camera in ('wrist_camera', 'scene_camera'):
        assert not np.array_equal(last[1][camera].pixels, last[2][camera].pixels)


@settings(max_examples=12)
@given(cuts=st.lists(st.integers(0, 400 * MS), max_size=12))
def test_no_cutting_of_time_into_calls_changes_anything(cuts, fingerprint):
    whole, cut = DoorArm(), DoorArm()
    for arm in (whole, cut):
        arm.reset(START, seed=9, at_ns=0)
    expected = run_commands(whole, 0, 400 * MS)
    assert fingerprint(run_commands(cut, 0, 400 * MS, cuts), 0) == fingerprint(expected, 0)


def test_looking_at_the_truth_changes_nothing(fingerprint):
    blind, curious = DoorArm(), DoorArm()
    ran = []
    for arm in (blind, curious):
        arm.reset(START, seed=3, at_ns=0)
    ran.append(run_commands(blind, 0, 500 * MS))
    readings = []
    for until in range(2 * MS, 502 * MS, 2 * MS):
        for arrived, joints, opening in COMMANDS:
            if until - 2 * MS <= arrived * MS < until:
                curious.command_arm(joints, arrived * MS)
                curious.command_gripper(opening, arrived * MS)
        readings += curious.advance(until)
        assert curious.true_state.at_ns == until
    ran.append(tuple(readings))
    assert fingerprint(ran[0], 0) == fingerprint(ran[1], 0)


def test_time_never_runs_backwards():
    arm = placed()
    arm.advance(10 * MS)
    with pytest.raises(InvalidState, match='expected to advance to 10000000 ns'):
        arm.advance(10 * MS - 1)
    with pytest.raises(ResetFailed, match='expected a reset at 10000000 ns'):
        arm.reset(START, seed=0, at_ns=9 * MS)
    arm.command_arm(HOME.joints, 12 * MS)
    with pytest.raises(InvalidState, match='arrived at 12000000 ns'):
        arm.command_arm(HOME.joints, 11 * MS)


# Resets ------------------------------------------------------------------------------------------


def test_reset_reaches_the_state_that_was_asked_for_and_it_stays():
    arm = DoorArm(only())
    start = replace(START, radius=0.5, height=0.12)
    achieved = arm.reset(start, seed=4, at_ns=5 * MS)
    arm.advance(1_000 * MS)
    for state in (achieved, arm.true_state):
        assert state.angles == pytest.approx(start.joints, abs=1e-3)
        assert state.hinge == pytest.approx(0.2, abs=1e-3)
        assert state.opening == pytest.approx(0.08, abs=1e-4)
        assert state.handle.position[2] == pytest.approx(0.12)
    assert arm.arm.applied is None


def test_the_handle_stands_where_the_door_and_its_place_on_it_say():
    for hinge in (0.0, 0.5, 1.0):
        state = placed(replace(HOME, hinge=hinge, radius=0.5, height=0.2)).true_state
        away = state.handle.position[:2] - (0.86, -0.45)
        assert np.linalg.norm(away) == pytest.approx(math.hypot(0.5, 0.075))
        facing = math.atan2(state.handle.rotation[1, 0], state.handle.rotation[0, 0])
        assert facing == pytest.approx(hinge, abs=1e-6)


@pytest.mark.parametrize(
    ('changes', 'named'),
    [
        ({'joints': (3.0, -2.0, 2.2, -0.2, 0.0, 0.0)}, r'shoulder_pan_joint of -2\.9 to 2\.9 rad'),
        ({'joints': (0.0, -2.0, -0.1, -0.2, 0.0, 0.0)}, 'elbow_joint of 0 to 2.7 rad'),
        ({'joints': (0.0, math.nan, 2.2, -0.2, 0.0, 0.0)}, 'shoulder_lift_joint .* nan'),
        ({'joints': (0.0, -2.0)}, 'start of 6 joint angles, got 2'),
        ({'joints': (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)}, 'touches nothing, got .*panel'),
        ({'joints': (0.0, 0.7, 0.2, 0.0, 0.0, 0.0)}, 'touches nothing, got .*floor'),
        ({'hinge': -0.1}, 'door angle of 0 to 1.6 rad'),
        ({'hinge': 2.0}, 'door angle'),
        ({'friction': -1.0}, 'door friction of 0'),
        ({'friction': math.inf}, 'door friction'),
        ({'radius': 0.7}, 'handle radius of 0.1 to 0.59 m'),
        ({'height': 2.0}, 'handle height'),
    ],
)
def test_impossible_start_is_refused_and_changes_nothing(changes, named):
    arm = placed(START)
    arm.advance(3 * MS)
    before = arm.true_state
    with pytest.raises(ResetFailed, match=named):
        arm.reset(replace(HOME, **changes), seed=0, at_ns=3 * MS)
    after = arm.true_state
    assert np.array_equal(after.angles, before.angles)
    assert np.array_equal(after.handle.position, before.handle.position)
    assert after.hinge == before.hinge


def test_negative_seed_is_refused():
    with pytest.raises(ResetFailed, match='seed of 0 or more, got -1'):
        DoorArm(only()).reset(START, seed=-1, at_ns=0)


# Motion ------------------------------------------------------------------------------------------


def test_the_arm_goes_where_it_is_sent():
    arm = placed()
    lead(arm, (0.5, 0.1, 0.3), yaw=0.3)
    state = arm.true_state
    assert state.tool.position == pytest.approx([0.5, 0.1, 0.3], abs=2e-3)
    heading = math.atan2(state.tool.rotation[1, 0], state.tool.rotation[0, 0])
    assert heading == pytest.approx(0.3, abs=5e-3)


@pytest.mark.parametrize('sign', [-1.0, 1.0])
@pytest.mark.parametrize('joint', [0, 3, 4, 5])
def test_no_command_takes_a_joint_beyond_its_limits(joint, sign):
    # Stretched upwards, where there is nothing to run into.
    arm = placed(replace(HOME, joints=(0.0, -1.6, 0.0, 0.0, 0.0, 0.0)))
    low, high = arm.geometry.joint_low[joint], arm.geometry.joint_high[joint]
    wanted = [0.0, -1.6, 0.0, 0.0, 0.0, 0.0]
    wanted[joint] = 20.0 * sign
    for _ in range(40):
        arm.command_arm(tuple(wanted), arm.now_ns)
        arm.advance(arm.now_ns + 100 * MS)
        assert low - 0.01 <= arm.true_state.angles[joint] <= high + 0.01
    assert arm.true_state.angles[joint] == pytest.approx(high if sign > 0 else low, abs=0.01)
    assert arm.arm.applied[joint] == (high if sign > 0 else low)


def test_no_joint_is_faster_than_declared():
    arm = placed()
    fastest = []
    for _ in range(150):
        arm.command_arm((1.5, -2.0, 2.2, -0.2, -1.0, 0.0), arm.now_ns)
        arm.advance(arm.now_ns + 10 * MS)
        fastest.append(np.abs(arm.true_state.speeds).max())
    assert arm.true_state.angles[0] == pytest.approx(1.5, abs=0.01)
    assert max(fastest) == pytest.approx(arm.config.max_joint_speed, rel=0.1)


def test_an_arm_that_is_not_spoken_to_stays_where_it_is():
    arm = placed()
    far = (1.5, -2.0, 2.2, -0.2, -1.0, 0.0)
    for _ in range(5):
        arm.command_arm(far, arm.now_ns)
        arm.advance(arm.now_ns + 50 * MS)
    last = 200 * MS
    arm.advance(last + 250 * MS)
    at_timeout = arm.true_state.angles
    arm.advance(arm.now_ns + 2 * MS)
    assert arm.arm.holding_since_ns == last + 250 * MS
    arm.advance(arm.now_ns + 2_000 * MS)
    held = arm.true_state
    # It still stops, and does not go on to where it was sent, nor back to zero.
    assert held.angles == pytest.approx(at_timeout, abs=0.1)
    assert abs(held.angles[0] - far[0]) > 0.5
    assert np.abs(held.speeds).max() < 1e-3
    arm.advance(arm.now_ns + 2_000 * MS)
    assert arm.true_state.angles == pytest.approx(held.angles, abs=1e-4)


def test_an_arm_that_was_never_spoken_to_stays_where_it_was_reset():
    arm = placed(START)
    arm.advance(5_000 * MS)
    assert arm.true_state.angles == pytest.approx(START.joints, abs=1e-4)


def test_a_gripper_that_is_not_spoken_to_does_not_let_go():
    arm = placed()
    grasp(arm)
    held = arm.true_state.opening
    assert 0.02 < held < 0.03, 'it has the bar, 24 mm wide'
    arm.advance(arm.now_ns + 3_000 * MS)
    assert arm.true_state.opening == pytest.approx(held, abs=1e-3)


@pytest.mark.parametrize(
    'targets', [(0.0,) * 5, (0.0,) * 7, (math.nan,) * 6, (0.0, 0.0, 0.0, 0.0, 0.0, math.inf)]
)
def test_what_cannot_be_a_command_is_refused_and_the_last_one_goes_on(targets):
    arm = placed()
    arm.command_arm(START.joints, 0)
    with pytest.raises(InvalidAction, match='finite position for each of 6 joints'):
        arm.command_arm(targets, 0)
    with pytest.raises(InvalidAction, match='finite position for each of 1 joints'):
        arm.command_gripper(math.nan, 0)
    arm.advance(100 * MS)
    assert arm.arm.applied == START.joints
    assert arm.gripper.applied is None


# Door, wrench, contact ---------------------------------------------------------------------------


def test_a_door_that_nobody_touches_stays():
    for hinge in (0.0, 0.25):
        arm = placed(replace(HOME, hinge=hinge, friction=1.0))
        lead(arm, (0.55, 0.1, 0.3))
        assert arm.true_state.hinge == pytest.approx(hinge, abs=2e-3)


def test_a_door_is_opened_by_pulling_at_its_handle_and_the_wrist_feels_it():
    arm = placed()
    grasp(arm)
    assert arm.true_state.hinge == pytest.approx(0.0, abs=2e-3)
    x, y, z = arm.true_state.handle.position
    lead(arm, (x - 0.15, y - 0.03, z), opening=0.0, yaw=0.1)
    state = arm.true_state
    assert state.hinge > 0.2
    assert state.tool.position == pytest.approx(state.handle.position, abs=0.01)
    assert state.force[0] > 1.0, 'the door pulls the gripper forward'
    assert state.touch_steps == 0


def test_a_handle_that_is_not_grasped_is_not_pulled():
    arm = placed()
    x, y, z = arm.true_state.handle.position
    lead(arm, (x - 0.1, y, z))
    lead(arm, (x, y, z))
    lead(arm, (x - 0.2, y, z))
    assert arm.true_state.hinge == pytest.approx(0.0, abs=2e-3)


def test_an_open_door_is_pushed_shut_by_the_fingers_and_pushes_back():
    arm = placed(replace(HOME, hinge=0.5), only('wrench'))
    lead(arm, (0.5, -0.2, 0.45), opening=0.0)
    pushed = payloads(lead(arm, (0.7, -0.2, 0.45), opening=0.0), 'wrench')
    assert arm.true_state.hinge < 0.4
    assert min(reading.force[0] for reading in pushed) < -3.0


def test_a_closed_door_does_not_give_way():
    arm = placed()
    lead(arm, (0.7, -0.1, 0.45), opening=0.0)
    lead(arm, (0.84, -0.1, 0.45), opening=0.0)
    state = arm.true_state
    assert state.hinge == pytest.approx(0.0, abs=5e-3)
    assert state.force[0] < -10.0
    assert state.tool.position[0] < 0.83, 'the panel is in the way'


def test_friction_decides_whether_a_door_falls_shut():
    left = {}
    for friction in (0.05, 3.0):
        arm = placed(replace(HOME, hinge=0.6, friction=friction))
        arm.advance(10_000 * MS)
        left[friction] = arm.true_state.hinge
    assert left[0.05] < 0.05
    assert left[3.0] == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize('roll', [0.0, 1.5])
def test_a_free_wrist_feels_nothing_whatever_way_it_is_turned(roll):
    state = placed(replace(HOME, joints=(0.3, -1.8, 2.0, 0.4, 0.5, roll))).true_state
    assert state.force == pytest.approx([0.0] * 3, abs=0.01)
    assert state.torque == pytest.approx([0.0] * 3, abs=0.01)


def test_contact_is_told_when_more_than_fingers_touch():
    arm = placed(config=only('contact'))
    grasp(arm)
    assert not any(reading.touching for reading in payloads(arm.advance(arm.now_ns), 'contact'))
    assert arm.true_state.touch_steps == 0
    arm = placed(config=only('contact'))
    lead(arm, (0.4, 0.6, 0.3))
    touched = payloads(lead(arm, (0.83, 0.6, 0.3), seconds=2.0), 'contact')
    assert touched[-1].touching, 'fingers on the wall'


def test_a_door_never_goes_beyond_its_stops():
    arm = placed(replace(HOME, hinge=1.6, friction=0.0))
    for _ in range(20):
        arm.advance(arm.now_ns + 200 * MS)
        assert -0.01 <= arm.true_state.hinge <= 1.61


def test_diverged_physics_is_a_named_failure_until_the_next_reset(tmp_path, monkeypatch):
    # MuJoCo leaves a log of its warnings in the working directory.
    monkeypatch.chdir(tmp_path)
    arm = placed(config=only('hinge'))
    arm._physics._data.qvel[0] = math.nan
    with pytest.raises(SimulationFailed, match='mjWARN_BADQ'):
        arm.advance(40 * MS)
    with pytest.raises(SimulationFailed, match='Reset the robot'):
        arm.advance(60 * MS)
    arm.reset(START, seed=0, at_ns=60 * MS)
    assert arm.advance(100 * MS)
