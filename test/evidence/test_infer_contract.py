# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever was seen of a robot, its draft is a contract that covers it and marks every guess."""

from __future__ import annotations

from dataclasses import replace
import math
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.sources import Beams, Joints, Paths
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.draft import draft
from boundary_env_ros.evidence.infer_contract.survey import (
    Span,
    Survey,
    TopicSurvey,
)
from boundary_env_ros.storage.contract_types import problems_of
from support.infer_contract_messages import any_messages, SECOND, TYPES
from support.infer_contract_surveys import drafted, number, observed, ODOMETRY, odometry

LOOKUP = '`transform: {of: FRAME, in: FRAME}`'
SENSORS = (
    ODOMETRY,
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/PoseWithCovarianceStamped',
    'geometry_msgs/msg/TransformStamped',
    'geometry_msgs/msg/Quaternion',
    'geometry_msgs/msg/WrenchStamped',
    'geometry_msgs/msg/PolygonStamped',
    'sensor_msgs/msg/BatteryState',
    'sensor_msgs/msg/CompressedImage',
    'sensor_msgs/msg/Image',
    'sensor_msgs/msg/Imu',
    'sensor_msgs/msg/JointState',
    'sensor_msgs/msg/Joy',
    'sensor_msgs/msg/LaserScan',
    'sensor_msgs/msg/MagneticField',
    'sensor_msgs/msg/NavSatFix',
    'sensor_msgs/msg/PointCloud2',
    'sensor_msgs/msg/Range',
    'sensor_msgs/msg/RelativeHumidity',
    'std_msgs/msg/Bool',
    'std_msgs/msg/Float64MultiArray',
    'std_msgs/msg/Int8',
    'std_msgs/msg/String',
    'std_msgs/msg/Empty',
    'diagnostic_msgs/msg/DiagnosticArray',
)
COMMANDS = (
    'geometry_msgs/msg/Twist',
    'geometry_msgs/msg/TwistStamped',
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/WrenchStamped',
    'sensor_msgs/msg/JointState',
    'std_msgs/msg/Float64MultiArray',
    'std_msgs/msg/Bool',
    'std_msgs/msg/Float64',
    'std_msgs/msg/Int8',
    'std_msgs/msg/Int16MultiArray',
    'std_msgs/msg/String',
    'trajectory_msgs/msg/JointTrajectory',
)


# For any robot -----------------------------------------------------------------------------------


SEEDS = st.integers(0, 2**32)


def is_scan(message: Any) -> bool:
    """Return whether the limits of a scan are distances."""
    return 0.0 <= message.range_min <= message.range_max < math.inf


@given(
    sensors=st.lists(st.tuples(st.sampled_from(SENSORS), SEEDS), max_size=3),
    commands=st.lists(st.tuples(st.sampled_from(COMMANDS), SEEDS), max_size=2),
    period=st.sampled_from([SECOND // 100, SECOND // 10, 2 * SECOND]),
)
def test_draft_of_any_messages_is_a_contract_whose_ranges_cover_them(
    sensors: list[tuple[str, int]], commands: list[tuple[str, int]], period: int
) -> None:
    wanted = [(f'/sensor_{index}', *each) for index, each in enumerate(sensors)]
    wanted += [(f'/part_{index}/command', *each) for index, each in enumerate(commands)]
    content = {name: (kind, any_messages(kind, seed)) for name, kind, seed in wanted}
    topics = [observed(name, kind, seen, period) for name, (kind, seen) in content.items()]
    text, contract = drafted(number(), *topics)
    assert problems_of(contract, TYPES).problems == ()
    for field in contract.observation:
        if field.is_image or not field.low:
            continue
        read = reader(field.source)  # type: ignore[arg-type]
        for message in content.get(f'/{field.topic}', ('', []))[1]:
            if isinstance(field.source, Beams) and not is_scan(message):
                continue
            try:
                values = read(message)
            except RecordError:
                continue  # a message that lacks a joint, or has too few beams
            for low, value, high in zip(field.low, values, field.high, strict=True):
                assert not abs(value) < 1e37 or low <= value <= high, text
    for group in contract.action:
        assert all(low <= high for low, high in zip(group.low, group.high, strict=True))


@settings(max_examples=20)
@given(
    kinds=st.lists(st.sampled_from(SENSORS + COMMANDS), min_size=2, max_size=5),
    ends=st.lists(st.sampled_from(['', '/cmd', '/ground_truth']), min_size=5, max_size=5),
    seed=SEEDS,
)
def test_same_survey_makes_the_same_text_in_whatever_order(
    kinds: list[str], ends: list[str], seed: int
) -> None:
    topics = [number()]
    for index, (kind, end) in enumerate(zip(kinds, ends, strict=False)):
        topics.append(observed(f'/t{index}{end}', kind, any_messages(kind, seed + index)))
    survey = Survey(source='a test', seconds=3.0, topics=tuple(topics))
    first = draft(survey)
    random.Random(seed).shuffle(topics)
    assert draft(replace(survey, topics=tuple(topics))) == first


@given(name=st.text(max_size=12), kind=st.text(max_size=12), frame=st.text(max_size=8))
def test_no_name_can_break_the_text(name: str, kind: str, frame: str) -> None:
    topic = number(f'/{name}', frame=frame)
    strange = number(f'/x{name}', type=f'a_msgs/msg/{kind}')
    joint = TopicSurvey(
        name='/joint_states',
        type='sensor_msgs/msg/JointState',
        messages=3,
        joints=(name or 'a',),
        joint_spans={'position': {name or 'a': Span(low=0.0, high=1.0)}},
    )
    text, contract = drafted(number(), topic, strange, joint)
    sources = [field.source for field in contract.observation]
    assert Joints(names=(name or 'a',), quantities=('position',)) in sources
    framed = [field.frame for field in contract.observation if field.topic == name]
    assert framed in ([], [frame]), text


# What is guessed ---------------------------------------------------------------------------------


def test_field_without_stamps_does_not_age() -> None:
    text, contract = drafted(odometry(stamped=0))
    assert contract.observation[0].max_age is None
    assert 'so their age is unknown' in text


def test_robot_in_the_plane_has_a_yaw_and_one_in_space_has_three_angles() -> None:
    angles = {
        f'{name}(pose.pose.orientation)': Span(low=-0.01, high=0.01) for name in ('roll', 'pitch')
    }
    angles['yaw(pose.pose.orientation)'] = Span(low=-1.0, high=1.0)
    flat = odometry()
    level = replace(flat, spans={**flat.spans, **angles})
    paths = drafted(level)[1].observation[0].source
    assert paths == Paths(paths=('pose.pose.position.x', 'yaw(pose.pose.orientation)'))
    tilted = {**level.spans, 'roll(pose.pose.orientation)': Span(low=-0.5, high=0.5)}
    field = drafted(replace(flat, spans=tilted))[1].observation[0]
    assert isinstance(field.source, Paths)
    assert len(field.source.paths) == 4
    assert field.high[1:] == (3.1416, 1.5708, 3.1416)


def test_robot_that_stood_still_keeps_all_that_could_move() -> None:
    still = {path: Span(low=0.0, high=0.0) for path in odometry().spans}
    field = drafted(odometry(spans=still))[1].observation[1]
    assert field.source == Paths(paths=('twist.twist.linear.x', 'twist.twist.angular.z'))
    assert (field.low, field.high) == ((-1.0, -1.0), (1.0, 1.0))


def test_latched_topic_is_listened_to_as_one() -> None:
    text, contract = drafted(number(durability='transient_local', reliability='reliable'))
    assert contract.observation[0].qos.transient_local
    assert 'reliable' in text


def test_ground_truth_is_for_the_evaluator_and_no_feedback() -> None:
    truth = odometry(name='/ground_truth')
    command = TopicSurvey(name='/cmd_vel', type='geometry_msgs/msg/Twist', subscribers=1)
    contract = drafted(number(), truth, command)[1]
    assert {field.topic for field in contract.privileged} == {'ground_truth'}
    assert contract.action[0].feedback.topic == 'feedback'


def test_clock_that_is_published_means_simulated_time() -> None:
    clock = TopicSurvey(name='/clock', type='rosgraph_msgs/msg/Clock', messages=9)
    text, contract = drafted(number(), clock)
    assert contract.sim_time
    assert 'GUESS: /clock has a publisher' in text
    assert not drafted(number())[1].sim_time


def test_nothing_to_observe_is_an_error_that_says_why() -> None:
    with pytest.raises(RecordError) as caught:
        drafted(TopicSurvey(name='/notes', type='std_msgs/msg/String', messages=3))
    assert str(caught.value) == (
        'a test has no topic that an observation can be made of.\n'
        '  /notes (std_msgs/msg/String): a text is no number\n'
        'Look at the robot while its sensors run.'
    )
    with pytest.raises(RecordError, match='made of: there is no topic of a robot'):
        drafted()
