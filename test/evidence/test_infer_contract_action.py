# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a draft lets a robot do is what it was seen to do, slower, or nothing."""

from __future__ import annotations

from dataclasses import replace
import math

import pytest

from boundary_env_ros.core.contract.model import ConfirmStep
from boundary_env_ros.core.contract.sources import Array, Joints, Paths, Trajectory
from boundary_env_ros.errors import ContractError
from boundary_env_ros.evidence.infer_contract.survey import (
    Lengths,
    Span,
    TopicSurvey,
)
from boundary_env_ros.storage.contract_file import loads
from support.infer_contract_surveys import ARRAY, drafted, number, odometry, surveyed


def test_robot_of_which_no_command_was_heard_has_a_blank_action() -> None:
    text = surveyed(number())
    assert 'DECIDE: no topic that was heard commands the robot' in text
    assert 'cmd_vel' not in text
    with pytest.raises(ContractError, match='action .*: missing .expected a mapping of keys'):
        loads(text)


def test_limits_are_what_was_commanded_and_not_a_bit_more() -> None:
    spans = {
        'linear.x': Span(low=0.1, high=0.777),
        'linear.y': Span(low=0.0, high=0.0),
        'angular.z': Span(low=-1.23, high=-0.2),
    }
    command = TopicSurvey(
        name='/cmd_vel', type='geometry_msgs/msg/Twist', messages=9, rate=10.0, spans=spans
    )
    group = drafted(odometry(), command)[1].action[0]
    assert group.source == Paths(paths=('linear.x', 'angular.z'))
    # Zero, the safe command, is always allowed.
    assert (group.low, group.high) == ((0.0, -1.2), (0.77, 0.0))
    assert group.safe == (0.0, 0.0)
    # Five seconds from rest to the limit.
    assert group.rate == pytest.approx((0.16, 0.24))
    assert group.feedback.topic == 'odom'
    assert group.feedback.source == Paths(paths=('twist.twist.linear.x', 'twist.twist.angular.z'))


def test_of_several_twists_the_one_with_a_reader_is_the_command() -> None:
    twists = [
        TopicSurvey(name=name, type='geometry_msgs/msg/Twist', messages=1, subscribers=readers)
        for name, readers in (('/cmd_vel', 0), ('/mux/cmd_vel_out', 1), ('/joy/cmd_vel_in', 1))
    ]
    text, contract = drafted(number(), *twists)
    assert [group.topic for group in contract.action] == ['joy/cmd_vel_in']
    assert '/cmd_vel (geometry_msgs/msg/Twist): it seems to be another input' in text


def test_trajectory_command_takes_its_joints_and_limits_from_what_was_measured() -> None:
    joints = TopicSurvey(
        name='/joint_states',
        type='sensor_msgs/msg/JointState',
        messages=9,
        stamped=9,
        rate=20.0,
        joints=('lift', 'turn'),
        joint_spans={'position': {'lift': Span(low=0.0, high=0.4), 'turn': Span(low=-1, high=1)}},
    )
    command = TopicSurvey(
        name='/arm/joint_trajectory', type='trajectory_msgs/msg/JointTrajectory', subscribers=1
    )
    text, contract = drafted(joints, command)
    group = contract.action[0]
    assert group.source == Trajectory(names=('lift', 'turn'), duration=0.2)
    assert (group.low, group.high) == ((0.0, -1.0), (0.4, 1.0))
    assert all(map(math.isnan, group.safe))
    assert group.feedback.source == Joints(names=('lift', 'turn'), quantities=('position',))
    assert 'GUESS: where the joints were while looking, and no further' in text


def test_position_command_of_which_nothing_was_seen_has_blank_limits() -> None:
    # Limits of zero would send the joints to zero.
    commands = [
        TopicSurvey(name='/position_controller/commands', type=ARRAY, subscribers=1),
        TopicSurvey(
            name='/arm/joint_trajectory',
            type='trajectory_msgs/msg/JointTrajectory',
            messages=1,
            joints=('lift',),
        ),
    ]
    text = surveyed(number(), *commands)
    assert ' '.join(text.split()).count('DECIDE: nothing was seen of where the robot may go') == 2
    with pytest.raises(ContractError) as caught:
        loads(text)
    paths = {problem.path[1:] for problem in caught.value.problems if problem.path[0] == 'action'}
    assert {
        (group, 'low') for group in ('position_controller_commands', 'arm_joint_trajectory')
    } <= paths


def test_array_command_of_unknown_meaning_is_drafted_with_a_blank_interface() -> None:
    command = TopicSurvey(
        name='/legs/commands',
        type=ARRAY,
        messages=5,
        lengths={'data': Lengths(least=2, most=2)},
        spans={'data[0]': Span(low=0.5, high=1.0), 'data[1]': Span(low=-0.5, high=1.0)},
    )
    text = surveyed(number(), command)
    assert 'length: 2' in text
    assert '# DECIDE: position, velocity or effort; nothing in the message says it\n' in text
    assert '    interface:\n' in text
    with pytest.raises(ContractError) as caught:
        loads(text)
    paths = {problem.path for problem in caught.value.problems}
    assert ('action', 'legs_commands', 'interface') in paths
    group = drafted(number(), command)[1].action[0]
    assert (group.low, group.high) == ((0.5, -0.5), (1.0, 1.0))


def test_array_command_of_as_many_numbers_as_there_are_joints_has_their_names() -> None:
    joints = TopicSurvey(
        name='/joint_states',
        type='sensor_msgs/msg/JointState',
        messages=9,
        stamped=9,
        rate=50.0,
        joints=('FL_hip', 'FR_hip'),
        joint_spans={'position': dict.fromkeys(('FL_hip', 'FR_hip'), Span(low=0.0, high=0.4))},
    )
    command = TopicSurvey(name='/legs_input', type=ARRAY, subscribers=1, publishers=0)
    group = drafted(joints, command)[1].action[0]
    assert group.source == Array(path='data', length=2, names=('FL_hip', 'FR_hip'))
    assert group.dimensions == ('legs_input/FL_hip', 'legs_input/FR_hip')
    assert group.feedback.source == Joints(names=('FL_hip', 'FR_hip'), quantities=('position',))


def test_joints_that_are_commanded_by_velocity_are_stopped() -> None:
    command = TopicSurvey(
        name='/joint_commands',
        type='sensor_msgs/msg/JointState',
        messages=5,
        joints=('lift',),
        joint_spans={'velocity': {'lift': Span(low=0.5, high=1.0)}},
    )
    group = drafted(number(), replace(command, name='/joints/command'))[1].action[0]
    assert group.source == Joints(names=('lift',), quantities=('velocity',))
    assert (group.low, group.high, group.safe) == ((0.0,), (1.0,), (0.0,))


def test_velocity_controller_stops_and_a_position_controller_stays() -> None:
    for word, safe in (('velocity', 0.0), ('position', math.nan)):
        command = TopicSurvey(
            name=f'/{word}_controller/commands',
            type='std_msgs/msg/Float64MultiArray',
            messages=5,
            lengths={'data': Lengths(least=1, most=1)},
            spans={'data[0]': Span(low=0.5, high=1.0)},
        )
        group = drafted(number(), command)[1].action[0]
        assert group.source == Array(path='data', length=1)
        assert group.safe == pytest.approx((safe,), nan_ok=True)


def test_emergency_stop_is_found_and_is_no_observation() -> None:
    stop = TopicSurvey(name='/base/e_stop', type='std_msgs/msg/Bool', messages=1)
    contract = drafted(number(), stop)[1]
    assert contract.safety.emergency_stop == 'base/e_stop'
    assert [field.topic for field in contract.observation] == ['level']
    assert contract.episode.on_stop == {'EMERGENCY_STOP': 'operator_stop'}


def test_episode_begins_only_when_a_person_says_so() -> None:
    steps = drafted(number())[1].episode.reset.steps
    assert [type(step) for step in steps] == [ConfirmStep]
