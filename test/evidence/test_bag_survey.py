# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bag of any storage makes a draft, and one that cannot be read makes a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
import re
import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcap.writer import Writer
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Array, Joints, Paths
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.infer_contract.bag_survey import init_from_bag
from boundary_env_ros.storage.contract_file import loads
from boundary_env_ros.storage.contract_types import problems_of
from boundary_env_ros.storage.mcap_log import McapLog
from support.infer_contract_messages import (
    cart_and_arm,
    header,
    make,
    MODES,
    SECOND,
    START,
    TYPES,
    write_bag,
)
from support.infer_contract_surveys import filled

Content = Iterator[tuple[str, str, int, Any]]
FLOAT, ODOMETRY = 'std_msgs/msg/Float64', 'nav_msgs/msg/Odometry'
ARRAY, BOOL = 'std_msgs/msg/Float64MultiArray', 'std_msgs/msg/Bool'
JOINTS, STATE = 'sensor_msgs/msg/JointState', 'acme_msgs/msg/ArmState'
ARM = ('j1', 'j2', 'j3')


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bag(tmp_path_factory.mktemp('bags') / 'drive', cart_and_arm())


@pytest.fixture(scope='module')
def text(bag: Path) -> str:
    return init_from_bag(bag)


@pytest.fixture(scope='module')
def contract(text: str) -> Contract:
    return filled(text)


# What comes of a bag -----------------------------------------------------------------------------


def test_draft_of_a_bag_is_a_contract_about_messages_that_there_are(contract: Contract) -> None:
    check = problems_of(contract, TYPES)
    assert check.problems == ()
    assert 'acme_msgs/msg/Wheel' in check.note
    assert {field.topic for field in contract.observation} == {
        'battery',
        'depth/image',
        'ground_truth/pose',
        'joint_states',
        'odom',
        'scan',
        'wheel',
    }
    assert [group.topic for group in contract.action] == [
        'arm_position_controller/commands',
        'cmd_vel',
    ]


def test_custom_message_is_read_by_the_definition_in_the_bag(contract: Contract) -> None:
    wheel = next(field for field in contract.observation if field.name == 'wheel')
    assert wheel.source == Paths(paths=('speed', 'slip[0]', 'slip[1]', 'locked'))


def test_joints_are_named(contract: Contract) -> None:
    for quantity in ('position', 'velocity'):
        field = next(f for f in contract.observation if f.name == f'joint_states_{quantity}')
        assert field.source == Joints(names=('lift', 'turn'), quantities=(quantity,))
    assert contract.action[0].source == Array(path='data', length=2, names=('lift', 'turn'))


def test_what_was_always_nan_in_a_bag_is_no_field_and_the_draft_says_why(tmp_path: Path) -> None:
    battery, wheel = 'sensor_msgs/msg/BatteryState', 'acme_msgs/msg/Wheel'

    def content() -> Content:
        for number in range(9):
            at = START + number * SECOND // 10
            nothing = dict.fromkeys(('current', 'temperature', 'charge'), float('nan'))
            held = header(at, '')
            yield '/battery', battery, at, make(battery, header=held, voltage=15.1, **nothing)
            # One that was measured once is measured.
            speed = float('nan' if number else 0.5)
            slip = np.array([0.1, np.nan])
            yield '/wheel', wheel, at, make(wheel, header=held, speed=speed, slip=slip)
            dead = make(FLOAT, data=float('nan'))
            yield '/dead', FLOAT, at, dead
            joints = make(
                'sensor_msgs/msg/JointState',
                header=held,
                name=['lift'],
                position=np.array([0.5]),
                effort=np.array([np.nan]),
            )
            yield '/joint_states', 'sensor_msgs/msg/JointState', at, joints

    text = init_from_bag(write_bag(tmp_path / 'flight', content()))
    fields = {field.name: field.source for field in filled(text).observation}
    assert set(fields) == {
        'battery_voltage',
        'battery_percentage',
        'joint_states_position',
        'wheel',
    }
    assert fields['wheel'] == Paths(paths=('speed', 'slip[0]', 'locked'))
    left_out = ' '.join(text.partition('# Left out:')[2].replace('#', '').split())
    why = 'NaN in every message that was seen'
    assert f'/battery ({battery}): current, temperature, charge: {why}' in left_out
    assert f'/dead ({FLOAT}): {why}' in left_out
    assert f'/joint_states (sensor_msgs/msg/JointState): effort: {why}' in left_out
    assert f'/wheel ({wheel}): slip[1]: {why}' in left_out


def test_what_a_message_says_itself_to_be_no_estimate_is_called_that(tmp_path: Path) -> None:
    imu = 'sensor_msgs/msg/Imu'

    def content() -> Content:
        for number in range(9):
            at = START + number * SECOND // 10
            unknown = np.array([-1.0, *[0.0] * 8])
            yield '/imu', imu, at, make(imu, header=header(at, ''), orientation_covariance=unknown)

    text = init_from_bag(write_bag(tmp_path / 'imu', content()))
    left_out = ' '.join(text.partition('# Left out:')[2].replace('#', '').split())
    assert 'no estimate in every message that was seen' in left_out
    assert 'NaN' not in left_out


def test_a_recording_that_has_every_message_twice_has_the_rate_of_one(tmp_path: Path) -> None:
    battery = 'sensor_msgs/msg/BatteryState'

    def content() -> Content:
        for number in range(40):
            at = START + number * SECOND // 20
            message = make(battery, header=header(at, ''), voltage=15.1, percentage=0.5)
            for late in (0, SECOND // 3000):
                yield '/battery', battery, at + late, message

    text = init_from_bag(write_bag(tmp_path / 'twice', content()))
    assert 'seen 40 times, 20 Hz' in text


def test_messages_of_ros_1_are_named_in_a_draft(tmp_path: Path) -> None:
    with (tmp_path / 'x.mcap').open('wb') as file:
        writer = Writer(file)
        writer.start('ros1', 'a converter')
        schema = writer.register_schema('std_msgs/Float64', 'ros1msg', b'float64 data')
        channel = writer.register_channel('/speed', 'ros1', schema)
        for number in range(9):
            writer.add_message(channel, START + number, bytes(8), START + number)
        writer.finish()
    with pytest.raises(RecordError, match=r'got those of ROS 1.*rosbags-convert'):
        init_from_bag(tmp_path / 'x.mcap')


def test_rates_are_measured(text: str) -> None:
    assert 'seen 40 times, 20 Hz' in text
    assert 'GUESS: s, 5 periods at 20 Hz' in text


@pytest.mark.parametrize('mode', [mode for mode in MODES if mode != 'mcap'])
def test_every_storage_makes_the_same_draft(tmp_path: Path, text: str, mode: str) -> None:
    assert init_from_bag(write_bag(tmp_path / 'drive', cart_and_arm(), mode)) == text


@pytest.mark.parametrize(('mode', 'file'), [('mcap', 'drive.mcap'), ('sqlite3', 'drive.db3')])
def test_single_file_without_its_folder_is_read(
    tmp_path: Path, text: str, mode: str, file: str
) -> None:
    folder = write_bag(tmp_path / 'drive', cart_and_arm(), mode)
    assert init_from_bag(folder / file) == text.replace("bag 'drive'", f"bag '{file}'")
    (folder / 'metadata.yaml').unlink()
    assert init_from_bag(folder) == text


def test_run_folder_is_read_and_the_topics_of_the_boundary_left_out(tmp_path: Path) -> None:
    with McapLog(tmp_path / 'run' / 'bag') as log:
        log.add_topic('/level', FLOAT, 'float64 data\n', '')
        log.add_topic('/boundary/odd', 'boundary_env_ros/msg/Observation', 'float64 data\n', '')
        for number in range(5):
            data = b'\0\1\0\0' + np.float64(number).tobytes()
            for topic in ('/level', '/boundary/odd'):
                log.write(topic, data, START + number, 0)
    made = filled(init_from_bag(tmp_path / 'run'))
    assert [field.topic for field in made.observation] == ['level']


def test_bag_without_definitions_is_read_by_the_common_ones(tmp_path: Path) -> None:
    file = tmp_path / 'bare.mcap'
    with file.open('wb') as stream:
        writer = Writer(stream)
        writer.start('ros2', 'test')
        schema = writer.register_schema(FLOAT, '', b'')
        channel = writer.register_channel('/level', 'cdr', schema)
        writer.add_message(channel, 5, b'\0\1\0\0' + np.float64(2.5).tobytes(), 5)
        writer.finish()
    assert [field.topic for field in filled(init_from_bag(file)).observation] == ['level']


def test_progress_is_told_with_the_whole_where_it_is_known(bag: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    init_from_bag(bag, progress=lambda *now: told.append(now))
    assert told[-1] == (370, 410)  # the other 40 are of /rosout
    torn = tmp_path / 'torn.mcap'
    torn.write_bytes((bag / 'drive.mcap').read_bytes()[:-4000])
    init_from_bag(torn, progress=lambda *now: told.append(now))
    assert told[-1][1] is None


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_bag(tmp_path: Path) -> None:
    def content(count: int) -> Content:
        for number in range(count):
            at = START + number * SECOND // 100
            message = make(ODOMETRY, header=header(at, 'odom'))
            message.pose.pose.position.x = float(number)
            yield '/odom', ODOMETRY, at, message

    peaks = []
    for count in (500, 5000):
        bag = write_bag(tmp_path / str(count), content(count), 'sqlite3')
        init_from_bag(bag)  # caches of the library, filled once
        tracemalloc.start()
        init_from_bag(bag)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 100_000


# What a draft must not be led astray by ---------------------------------------------------------


def two_drivers() -> Content:
    """Yield joints of an arm and of its gripper, on one topic, with what a driver leaves out."""
    for number in range(60):
        at = START + number * SECOND // 50
        # The order changes from message to message, and one message lacks a joint.
        names = [*ARM[number % 3 :], *ARM[: number % 3]][number == 7 :]
        arm = make(
            JOINTS,
            header=header(at, ''),
            name=names,
            position=np.zeros(len(names)),
            effort=np.array([np.nan if name == 'j2' else 0.5 for name in names]),
        )
        yield '/joint_states', JOINTS, at, arm
        gripper = make(JOINTS, header=header(at, ''), name=['finger'], position=np.array([0.1]))
        yield '/joint_states', JOINTS, at + 3_000_000, gripper
        command = make(ARRAY, data=np.arange(3.0))
        yield '/arm_controller/commands', ARRAY, at, command


def test_joints_of_two_drivers_on_one_topic_are_two_fields(tmp_path: Path) -> None:
    text = init_from_bag(write_bag(tmp_path / 'arm', two_drivers()))
    made = filled(text)
    assert {field.name: field.source for field in made.observation} == {
        'joint_states_position': Joints(names=ARM, quantities=('position',), publishers=2),
        'joint_states_effort': Joints(names=('j1', 'j3'), quantities=('effort',), publishers=2),
        'joint_states_position_2': Joints(
            names=('finger',), quantities=('position',), publishers=2
        ),
    }
    assert {field.max_age for field in made.observation} == {0.1}
    (group,) = made.action
    assert group.feedback.source == Joints(names=ARM, publishers=2)
    comments = ' '.join(text.replace('#', '').split())
    assert 'GUESS: as in 59 of 120 messages' in comments
    assert 'effort (j2): NaN in every message that was seen' in comments
    assert 'velocity, effort: missing in every message that was seen' in comments


def test_no_joint_of_many_is_left_out(tmp_path: Path) -> None:
    names = [f'j{number}' for number in range(100)]
    hand = make(JOINTS, header=header(START, ''), name=names, position=np.zeros(100))
    text = init_from_bag(write_bag(tmp_path / 'hand', iter([('/joints', JOINTS, START, hand)])))
    (field,) = filled(text).observation
    assert field.size == 100


def test_rate_is_that_of_the_time_between_pauses_and_steps_of_the_clock(tmp_path: Path) -> None:
    def content(*begins: int) -> Content:
        for begin in begins:
            for number in range(40):
                at = START + begin * SECOND + number * SECOND // 20
                yield '/odom', ODOMETRY, at, make(ODOMETRY, header=header(at, 'odom'))

    straight = init_from_bag(write_bag(tmp_path / 'a', content(0)))
    assert 'Its time jumps' not in straight
    for name, begins, jumps in (
        ('b', (0, 300, 600), '2 times ahead, by up to 298 s'),
        ('c', (-1_600_000_000, 0), '1 time ahead, by up to 1.6e+09 s'),
        ('d', (0, -60), '1 time back, by up to 62 s'),
    ):
        text = init_from_bag(write_bag(tmp_path / name, content(*begins)))
        if name != 'd':  # a reader may sort
            assert f'Its time jumps {jumps}' in ' '.join(text.replace('#', '').split())
        (made, other) = (filled(each) for each in (text, straight))
        assert made.period == other.period == 0.05
        assert {field.max_age for field in made.observation} == {0.25}


@pytest.mark.parametrize('released', [False, True])
def test_emergency_stop_is_guessed_by_what_it_says_while_the_robot_moves(
    tmp_path: Path, *, released: bool
) -> None:
    def content() -> Content:
        # It was said once, before the recording went on.
        yield '/e_stop', BOOL, START, make(BOOL, data=released)
        for number in range(40):
            at = START + number * SECOND // 20
            odom = make(ODOMETRY, header=header(at, 'odom'))
            odom.twist.twist.linear.x = 0.3 * (number > 9)
            yield '/odom', ODOMETRY, at, odom

    text = init_from_bag(write_bag(tmp_path / 'drive', content()))
    assert filled(text).safety.emergency_stop == ('' if released else 'e_stop')
    assert ('true seems to mean released' in ' '.join(text.replace('#', '').split())) is released


def test_numbers_in_sequences_of_a_custom_message_are_fields_and_the_rest_is_named(
    tmp_path: Path,
) -> None:
    def content() -> Content:
        for number in range(9):
            at = START + number * SECOND // 10
            point = make(
                'trajectory_msgs/msg/JointTrajectoryPoint',
                positions=np.arange(2.0),
                velocities=np.array([np.nan, 0.5]),
                effort=np.zeros(number % 3),
            )
            yield '/arm/state', STATE, at, make(STATE, header=header(at, ''), feedback=point)

    text = init_from_bag(write_bag(tmp_path / 'arm', content()))
    assert {field.name: field.source for field in filled(text).observation} == {
        'arm_state': Paths(paths=('legs[0].angle', 'legs[1].angle')),
        'arm_state_feedback_positions': Array(path='feedback.positions', length=2),
    }
    comments = ' '.join(text.partition('# Left out:')[2].replace('#', '').split())
    for says in (
        'feedback.velocities (0): NaN in every',
        'feedback.accelerations: missing in every',
        'feedback.effort: its length is not constant',
        'toes: messages in a sequence',
    ):
        assert f'/arm/state ({STATE}): {says}' in comments


# What cannot be read -----------------------------------------------------------------------------


def failure(path: Path) -> str:
    with pytest.raises(RecordError) as caught:
        init_from_bag(path)
    return str(caught.value).replace(str(path.parent), '...')


def test_what_is_no_bag_is_refused_with_a_way_out(tmp_path: Path) -> None:
    way = 'Name a run folder, a rosbag2 folder, or a file: .mcap, .db3, or .json of a transition.'
    (tmp_path / 'empty').mkdir()
    assert failure(tmp_path / 'empty') == (
        f'.../empty holds no bag (expected its files, got nothing). {way}'
    )
    assert failure(tmp_path / 'missing') == f'.../missing does not exist. {way}'
    (tmp_path / 'notes.txt').write_text('hello')
    assert failure(tmp_path / 'notes.txt') == (
        f".../notes.txt is neither a bag nor a transition: it begins with b'hello'. {way}"
    )
    (tmp_path / 'step.json').write_text('{}')
    assert failure(tmp_path / 'step.json') == (
        '.../step.json holds a transition only, no messages. Name the run folder or its bag.'
    )
    (tmp_path / 'old.bag').write_bytes(b'#ROSBAG V2.0\n')
    assert failure(tmp_path / 'old.bag') == (
        '.../old.bag is a bag of ROS 1, not of ROS 2. Convert it with '
        '`rosbags-convert`, which comes with rosbags.'
    )
    (tmp_path / 'empty.mcap').write_bytes(b'')
    assert failure(tmp_path / 'empty.mcap') == (
        '.../empty.mcap is not an MCAP file: it is empty. Name another file; of this '
        'one nothing can be read.'
    )


@pytest.mark.parametrize('mode', ['mcap', 'sqlite3'])
def test_bag_without_messages_is_refused_with_a_way_out(tmp_path: Path, mode: str) -> None:
    folder = write_bag(tmp_path / 'still', iter(()), mode)
    assert failure(folder) == (
        'The bag .../still has no messages of a robot: there are none. '
        'Record while the robot runs.'
    )


@pytest.mark.parametrize(
    ('metadata', 'says'),
    [
        ('', 'is not the metadata of a bag'),
        ('rosbag2_bagfile_information: 7\n', 'is not the metadata of a bag'),
        ('{{{', 'metadata.yaml cannot be read'),
        (
            (
                'rosbag2_bagfile_information:\n  storage_identifier: mcap\n'
                '  relative_file_paths: [gone.mcap]\n'
            ),
            'gone.mcap, which the metadata',
        ),
    ],
)
def test_broken_metadata_is_named(tmp_path: Path, metadata: str, says: str) -> None:
    folder = write_bag(tmp_path / 'drive', islice(cart_and_arm(), 9))
    (folder / 'metadata.yaml').write_text(metadata)
    assert re.search(says, failure(folder))


def test_torn_bag_is_used_up_to_where_it_is_torn_and_says_so(tmp_path: Path) -> None:
    torn = tmp_path / 'torn.mcap'
    with torn.open('wb') as stream:
        writer = Writer(stream, chunk_size=200)
        writer.start('ros2', 'test')
        schema = writer.register_schema(FLOAT, 'ros2msg', b'float64 data\n')
        channel = writer.register_channel('/level', 'cdr', schema)
        for number in range(100):
            writer.add_message(channel, number, b'\0\1\0\0' + np.float64(number).tobytes(), number)
        writer.finish()
    whole = torn.read_bytes()
    torn.write_bytes(whole[: len(whole) // 3])
    text = init_from_bag(torn)
    assert '# The bag is not whole: torn.mcap is torn at byte' in text
    assert 5 < int(text.split('# seen ')[1].split()[0]) < 90
    torn.write_bytes(whole[:100])
    assert 'there are none (torn.mcap is torn at byte' in failure(torn)


def test_topic_with_an_unknown_or_broken_type_is_left_out_and_the_others_are_not(
    tmp_path: Path,
) -> None:
    file = tmp_path / 'odd.mcap'
    kinds = {
        '/level': (FLOAT, 'ros2msg', b'float64 data\n'),
        '/unknown': ('acme_msgs/msg/Gone', '', b''),
        '/broken': ('acme_msgs/msg/Broken', 'ros2msg', b'float64 \xff\n=== 7\n'),
        '/inner': ('acme_msgs/msg/Inner', 'ros2msg', b'acme_msgs/Lost it\n'),
        '/idl': ('acme_msgs/msg/Idl', 'ros2idl', b'module { struct'),
        '/other': ('acme_msgs/msg/Proto', 'protobuf', b'\0\1'),
        '/short': ('std_msgs/msg/Float32', 'ros2msg', b'float32 data\n'),
    }
    with file.open('wb') as stream:
        writer = Writer(stream)
        writer.start('ros2', 'test')
        for topic, (kind, language, definition) in kinds.items():
            schema = writer.register_schema(kind, language, definition)
            channel = writer.register_channel(topic, 'cdr', schema)
            data = b'\0\1\0\0' + (b'' if topic == '/short' else bytes(8))
            for number in range(3):
                writer.add_message(channel, number, data, number)
        writer.finish()
    text = init_from_bag(file)
    assert [field.topic for field in filled(text).observation] == ['level']
    left_out = text.partition('# Left out:\n')[2]
    for topic in set(kinds) - {'/level'}:
        assert f'# {topic} (' in left_out


def outcome(path: Path) -> str:
    """Return what comes of a bag: an error, or what the parser says of the draft."""
    try:
        loads(init_from_bag(path))
    except BoundaryError as error:
        return str(error)
    return 'a contract'


@given(
    cuts=st.lists(st.tuples(st.floats(0.0, 1.0), st.binary(min_size=1, max_size=9)), max_size=4),
    keep=st.floats(0.0, 1.0),
    mode=st.sampled_from(['mcap', 'sqlite3']),
)
def test_no_damage_makes_it_stumble(
    tmp_path_factory: pytest.TempPathFactory,
    cuts: list[tuple[float, bytes]],
    keep: float,
    mode: str,
) -> None:
    folder = tmp_path_factory.mktemp('damaged')
    bag = write_bag(folder / 'drive', islice(cart_and_arm(), 60), mode)
    file = next(path for path in bag.iterdir() if path.suffix in ('.mcap', '.db3'))
    data = bytearray(file.read_bytes())
    for place, rubbish in cuts:
        at = int(place * len(data))
        data[at : at + len(rubbish)] = rubbish
    if keep < 0.5:
        data = data[: int(2 * keep * len(data))]
    file.write_bytes(data)
    for path in (bag, file):
        assert outcome(path)
