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
from infer_contract_messages import any_messages, SECOND, TYPES
from infer_contract_surveys import ARRAY, drafted, number, observed, ODOMETRY, odometry
import pytest

from boundary_env_ros.core.contract.sources import Beams, Joints, Paths
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.infer_contract.draft import draft
from boundary_env_ros.evidence.infer_contract.survey import (
    Lengths,
    Span,
    Survey,
    TopicSurvey,
)
from boundary_env_ros.storage.contract_types import problems_of

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
                assert not math.isfinite(value) or low <= value <= high, text
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
    topic = number(f'/{name}', frames=(frame,) if frame else ())
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


def test_every_guess_is_marked_with_its_reason() -> None:
    text, contract = drafted(odometry())
    field = contract.observation[0]
    # 2.5 periods at 50 Hz are 0.05 s, and 0.01 s is how late they came.
    assert field.max_age == pytest.approx(0.06)
    assert (field.low[0], field.high[0]) == (-3.0, 3.0)
    assert '# GUESS: s, 2.5 periods at 50 Hz, and 0.01 s that it came late on average' in text
    assert '# GUESS: what was seen, wider by 0.25 of its length at each end' in text
    keys = [line for line in text.splitlines() if line.strip().startswith(('low:', 'max_age:'))]
    lines = text.splitlines()
    for key in keys:
        at = lines.index(key)
        assert 'GUESS' in key or 'GUESS' in lines[at - 1] or 'DECIDE' in lines[at - 1], key


def test_longest_gap_that_was_seen_is_no_reason_to_be_stale_but_a_failure_is() -> None:
    assert drafted(odometry(longest_gap=0.08))[1].observation[0].max_age == pytest.approx(0.09)
    assert drafted(odometry(longest_gap=4.0))[1].observation[0].max_age == pytest.approx(0.11)
    assert '5 periods at 50 Hz (the longest gap was 4 s)' in drafted(odometry(longest_gap=4.0))[0]


def test_field_without_stamps_does_not_age() -> None:
    text, contract = drafted(odometry(stamped=0, age=None))
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
    assert 'GUESS: somebody publishes a clock' in text
    assert not drafted(number())[1].sim_time


def test_what_is_left_out_is_listed_with_its_reason() -> None:
    text, _ = drafted(
        number(),
        TopicSurvey(name='/tf', type='tf2_msgs/msg/TFMessage', messages=3),
        TopicSurvey(name='/silent', type='std_msgs/msg/Float64'),
        TopicSurvey(name='/broken', type='a_msgs/msg/B', messages=2, trouble='it is broken'),
        number('/data', type=ARRAY, lengths={'data': Lengths(least=3, most=7)}),
        number('/boundary/observation', type='boundary_env_ros/msg/Observation'),
        number('/rosout', type='rcl_interfaces/msg/Log'),
    )
    assert text.partition('# Left out:\n')[2].splitlines() == [
        '# /broken (a_msgs/msg/B): it is broken',
        '# /data (std_msgs/msg/Float64MultiArray): its length varied, 3 to 7',
        '# /silent (std_msgs/msg/Float64): nothing came on it while looking',
        f'# /tf (tf2_msgs/msg/TFMessage): a field {LOOKUP} looks transforms up',
    ]
    assert '/rosout' not in text
    assert 'boundary/observation' not in text


def test_robot_with_more_topics_than_a_contract_can_hold_still_has_a_draft() -> None:
    names = tuple(f'joint_{index}' for index in range(64))
    spans = {joint: Span(low=-1.0, high=1.0) for joint in names}
    joints = TopicSurvey(
        name='/joint_states',
        type='sensor_msgs/msg/JointState',
        messages=3,
        joints=names,
        joint_spans={'position': spans, 'velocity': spans, 'effort': spans},
    )
    many = [replace(joints, name=f'/robot_{index}/joint_states') for index in range(400)]
    text, contract = drafted(number(), *many)
    assert 3 < len(contract.observation) < 20
    assert text.count('there are more topics') > 300


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
