# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever was seen of a robot, its draft is a contract once a person has filled it in."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest
import yaml

from boundary_env_ros.core.contract.model import ConfirmStep
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import (
    Array,
    Beams,
    JOINTS,
    Joints,
    Paths,
    TRAJECTORY,
    Trajectory,
)
from boundary_env_ros.errors import ContractError, RecordError
from boundary_env_ros.evidence.commented_yaml import Page, written
from boundary_env_ros.evidence.infer_contract.survey import TopicSurvey
from boundary_env_ros.storage.contract_file import loads
from boundary_env_ros.storage.contract_types import problems_of
from support.infer_contract_messages import any_messages, SECOND, TYPES
from support.infer_contract_surveys import (
    ARRAY,
    drafted,
    GROUP,
    number,
    observed,
    ODOMETRY,
    odometry,
    seen,
    surveyed,
    TWIST,
)

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


@given(
    sensors=st.lists(st.tuples(st.sampled_from(SENSORS), SEEDS), max_size=3),
    commands=st.lists(st.tuples(st.sampled_from(COMMANDS), SEEDS), max_size=2),
    period=st.sampled_from([SECOND // 100, SECOND // 10, 2 * SECOND]),
)
def test_draft_of_any_messages_is_a_contract_once_its_blanks_are_filled_in(
    sensors: list[tuple[str, int]], commands: list[tuple[str, int]], period: int
) -> None:
    wanted = [(f'/sensor_{index}', *each) for index, each in enumerate(sensors)]
    wanted += [(f'/part_{index}/command', *each) for index, each in enumerate(commands)]
    topics = [
        observed(name, kind, any_messages(kind, seed), period) for name, kind, seed in wanted
    ]
    _, contract = drafted(number(), *topics)
    assert problems_of(contract, TYPES).problems == ()


@settings(max_examples=20)
@given(
    kinds=st.lists(st.sampled_from(SENSORS + COMMANDS), min_size=2, max_size=5),
    ends=st.lists(st.sampled_from(['', '/cmd']), min_size=5, max_size=5),
    seed=SEEDS,
)
def test_same_topics_make_the_same_text_in_whatever_order(
    kinds: list[str], ends: list[str], seed: int
) -> None:
    topics = [number()]
    for index, (kind, end) in enumerate(zip(kinds, ends, strict=False)):
        topics.append(observed(f'/t{index}{end}', kind, any_messages(kind, seed + index)))
    first = surveyed(*topics)
    random.Random(seed).shuffle(topics)
    assert surveyed(*topics) == first


@given(name=st.text(max_size=12), kind=st.text(max_size=12), frame=st.text(max_size=8))
def test_no_name_can_break_the_text(name: str, kind: str, frame: str) -> None:
    topic = number(f'/{name}', frame=frame)
    strange = seen(f'/x{name}', f'a_msgs/msg/{kind}', messages=9, trouble='', paths=('data',))
    joint = seen('/joint_states', JOINTS, joints=(name or 'a',))
    text, contract = drafted(number(), topic, strange, joint)
    sources = [field.source for field in contract.observation]
    assert Joints(names=(name or 'a',)) in sources
    framed = [field.frame for field in contract.observation if field.topic == name]
    assert framed in ([], [frame]), text


# What is told ------------------------------------------------------------------------------------


def test_field_without_stamps_does_not_age() -> None:
    text, contract = drafted(odometry(stamped=False))
    assert contract.observation[0].max_age is None
    assert 'so their age is unknown' in text


def test_each_part_of_a_common_message_is_a_field_with_its_unit() -> None:
    text, contract = drafted(odometry(frame='odom'))
    told = {field.name: (field.unit[0], field.frame) for field in contract.observation}
    # The header does not name the frame of the twist.
    assert told == {
        'odom_position': ('m', 'odom'),
        'odom_orientation': ('', 'odom'),
        'odom_linear': ('m/s', ''),
        'odom_angular': ('rad/s', ''),
    }
    assert '# DECIDE: one number, or 3 (x, y, z), m/s\n' in text


def test_bounds_that_a_definition_says_are_written() -> None:
    contract = drafted(odometry())[1]
    told = {field.name: (field.low[0], field.high[0]) for field in contract.observation}
    assert told['odom_orientation'] == (-1.0, 1.0)


def test_fields_of_the_fastest_stamped_topic_come_first_and_those_of_the_odometry_before() -> None:
    battery = seen('/battery', 'sensor_msgs/msg/BatteryState', rate=1.0, stamped=True)
    imu = seen('/imu', 'sensor_msgs/msg/Imu', rate=100.0, stamped=True)
    camera = seen('/info', 'sensor_msgs/msg/CameraInfo', rate=200.0, stamped=True)
    assert drafted(battery, camera, imu)[1].reaction_of == 'imu_orientation'
    assert drafted(battery, imu, odometry())[1].reaction_of == 'odom_position'


def test_bounds_are_for_a_person_to_say() -> None:
    with pytest.raises(ContractError) as caught:
        loads(surveyed(number()))
    paths = {problem.path for problem in caught.value.problems}
    assert {('observation', 'level', 'low'), ('observation', 'level', 'high')} <= paths


def test_period_is_that_of_the_commands_or_of_the_fastest_field() -> None:
    assert drafted(odometry(rate=24.0))[1].period == 0.04
    command = seen('/cmd_vel', TWIST, messages=9, rate=10.0)
    assert drafted(odometry(rate=24.0), command)[1].period == 0.1


def test_latched_topic_is_listened_to_as_one() -> None:
    assert drafted(number(latched=True))[1].observation[0].qos.transient_local


def test_clock_that_is_published_means_simulated_time() -> None:
    clock = seen('/clock', 'rosgraph_msgs/msg/Clock', messages=9)
    text, contract = drafted(number(), clock)
    assert contract.sim_time
    assert 'GUESS: /clock has a publisher' in text
    assert not drafted(number())[1].sim_time


def test_nothing_to_observe_is_an_error_that_says_why() -> None:
    with pytest.raises(RecordError) as caught:
        surveyed(seen('/notes', 'std_msgs/msg/String', messages=3))
    assert str(caught.value) == (
        'a test has no topic that an observation can be made of.\n'
        '  /notes (std_msgs/msg/String): a text is no number\n'
        'Look at the robot while its sensors run.'
    )
    with pytest.raises(RecordError, match='made of: there is no topic of a robot'):
        surveyed()


# What commands the robot -------------------------------------------------------------------------


def test_robot_of_which_no_command_was_heard_has_a_blank_action() -> None:
    text = surveyed(number())
    assert 'DECIDE: no topic that was heard commands the robot' in text
    assert 'cmd_vel' not in text
    with pytest.raises(ContractError, match='action .*: missing .expected a mapping of keys'):
        loads(text)


@pytest.mark.parametrize(
    ('command', 'source'),
    [
        (seen('/cmd_vel', TWIST), Paths(paths=('linear.x', 'angular.z'))),
        (
            seen('/arm/joint_trajectory', TRAJECTORY, joints=('lift', 'turn')),
            Trajectory(names=('lift', 'turn'), duration=0.2),
        ),
        (
            seen('/joints/command', JOINTS, joints=('lift',)),
            Joints(names=('lift',), quantities=('velocity',)),
        ),
        (seen('/legs/commands', ARRAY, lengths={'data': (1, 1)}), Array(path='data', length=1)),
        (seen('/legs_input', ARRAY, subscribers=1, publishers=0), Array(path='data', length=1)),
    ],
    ids=lambda value: getattr(value, 'name', ''),
)
def test_command_is_known_by_type_and_name_and_may_nothing_until_a_person_says_what(
    command: TopicSurvey, source: object
) -> None:
    text, contract = drafted(number(), command)
    assert [group.source for group in contract.action] == [source]
    with pytest.raises(ContractError) as caught:
        loads(text)
    blank = {problem.path[2] for problem in caught.value.problems if problem.path[0] == 'action'}
    assert {'low', 'driver_timeout', 'feedback'} <= blank


def test_odometry_is_the_feedback_of_a_twist() -> None:
    _, contract = drafted(odometry(), seen('/cmd_vel', TWIST))
    feedback = contract.action[0].feedback
    assert feedback.topic == 'odom'
    assert feedback.source == Paths(paths=('twist.twist.linear.x', 'twist.twist.angular.z'))


STATES = 'sensor_msgs/msg/JointState'
NAMES = ('lift', 'turn')


@pytest.mark.parametrize(
    'command',
    [
        seen('/arm/joint_trajectory', TRAJECTORY),
        seen('/arm/commands', ARRAY),
        seen('/arm/commands', ARRAY, lengths={'data': (2, 2)}),
    ],
    ids=['trajectory', 'array', 'array of that length'],
)
def test_the_only_joint_states_are_the_feedback_of_what_commands_joints(
    command: TopicSurvey,
) -> None:
    states = seen('/joint_states', STATES, joints=NAMES)
    (group,) = drafted(states, command)[1].action
    assert group.source.names == NAMES  # type: ignore[union-attr]
    assert group.feedback.topic == 'joint_states'
    assert isinstance(group.feedback.source, Joints)
    assert group.feedback.source.names == NAMES


def test_of_several_joint_states_a_person_says_which() -> None:
    states = [seen(f'/{name}', STATES, joints=NAMES) for name in 'ab']
    with pytest.raises(ContractError) as caught:
        loads(surveyed(*states, seen('/arm/joint_trajectory', TRAJECTORY)))
    paths = [problem.path[2:] for problem in caught.value.problems]
    assert ('feedback', 'topic') in paths


def test_blank_feedback_is_told_by_its_keys_alone() -> None:
    with pytest.raises(ContractError) as caught:
        loads(surveyed(number(), seen('/cmd_vel', TWIST)))
    paths = [problem.path[2:] for problem in caught.value.problems]
    assert [path[1] for path in paths if path[:1] == ('feedback',)] == ['topic', 'type']


def test_emergency_stop_is_found_and_is_no_observation() -> None:
    stop = seen('/base/e_stop', STOP_TYPE, messages=1, moving=[40, 2])
    text, contract = drafted(number(), stop)
    assert 'true is pressed, for it was false while the robot moved' in ' '.join(text.split())
    assert contract.safety.emergency_stop == 'base/e_stop'
    assert [field.topic for field in contract.observation] == ['level']
    assert contract.episode.on_stop == {'EMERGENCY_STOP': 'operator_stop'}


@pytest.mark.parametrize(
    ('moving', 'says'),
    [
        ([0, 40], '0 came while it was false, 40 while true: true seems to mean released'),
        ([0, 0], 'which does not tell whether true means pressed'),
        ([9, 8], 'which does not tell whether true means pressed'),
    ],
)
def test_emergency_stop_that_is_not_known_by_its_values_is_no_guess_and_no_observation(
    moving: list[int], says: str
) -> None:
    text, contract = drafted(number(), seen('/e_stop', STOP_TYPE, moving=moving))
    assert contract.safety.emergency_stop == ''
    assert [field.topic for field in contract.observation] == ['level']
    comments = ' '.join(text.replace('#', '').split())
    assert says in comments
    assert 'if there is one; /e_stop? See below' in comments


def test_of_several_emergency_stops_a_person_says_which() -> None:
    both = [seen(f'/{side}/e_stop', STOP_TYPE, moving=[40, 0]) for side in ('left', 'right')]
    text, contract = drafted(number(), *both)
    assert contract.safety.emergency_stop == ''
    assert text.count('one of several emergency stops') == 2


def test_episode_begins_only_when_a_person_says_so() -> None:
    steps = drafted(number())[1].episode.reset.steps
    assert [type(step) for step in steps] == [ConfirmStep]


# Images, scans -----------------------------------------------------------------------------------


def test_what_a_driver_says_it_applied_is_no_second_command() -> None:
    text, contract = drafted(odometry(), seen('/cmd_vel', TWIST), seen('/cmd_vel/applied', TWIST))
    assert [group.topic for group in contract.action] == ['cmd_vel']
    assert (
        '/cmd_vel/applied (geometry_msgs/msg/Twist): what the driver applied of /cmd_vel' in text
    )


@pytest.mark.parametrize(
    ('form', 'says'),
    [
        ((2, 3, 'yuv422'), "its encoding 'yuv422' is none"),
        ((0, 0, 'rgb8'), '0x0 is no size of an image'),
    ],
)
def test_image_that_no_contract_knows_is_left_out(form: tuple[int, int, str], says: str) -> None:
    image = seen('/image', 'sensor_msgs/msg/Image', messages=1, image=form)
    assert says in drafted(number(), image)[0].replace('\n# ', ' ')


def test_scan_with_fewer_beams_than_sectors_has_as_many_sectors() -> None:
    scan = seen('/scan', 'sensor_msgs/msg/LaserScan', messages=3, lengths={'ranges': (7, 9)})
    assert drafted(scan)[1].observation[0].source == Beams(count=7)


# Writing -----------------------------------------------------------------------------------------

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(value=st.one_of(FINITE, st.text(), st.booleans(), st.integers()), depth=st.integers(0, 4))
def test_what_is_written_is_read_back(value: Any, depth: int) -> None:
    for written_value in (value, [value, 1.5], [value]):
        back = yaml.safe_load(f'key: {written(written_value)}')['key']
        assert back == written_value
        assert type(back) is type(written_value)


@given(text=st.text())
def test_comment_stays_a_comment(text: str) -> None:
    page = Page()
    page.note(text)
    page.key('a', 1, 0, text)
    page.key('b', 'x' * 60, 0, text)
    assert yaml.safe_load(page.text()) == {'a': 1, 'b': 'x' * 60}


def test_costmap_of_100_by_100_is_a_field() -> None:
    data = yaml.safe_load(drafted(number())[0])
    data['action'] = {'base': GROUP}
    costmap = {
        'topic': 'costmap',
        'type': 'nav_msgs/msg/OccupancyGrid',
        'array': 'data',
        'length': 10_000,
        'unit': '',
        'low': -1,
        'high': 100,
    }
    data['observation'] = {'costmap': costmap}
    (field,) = (f for f in loads(yaml.safe_dump(data)).contract.observation if f.name == 'costmap')
    assert field.size == 10_000
