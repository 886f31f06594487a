# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is at a path of a message is known from its definition, and what is not is said clearly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
import os
from pathlib import Path
import re
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.paths import getter
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.definitions import Field
from boundary_env_ros.storage.message_paths import (
    number_at,
    numbers_at,
    resolve,
)
from boundary_env_ros.storage.message_types import (
    message_types,
    MessageTypes,
    rosbags_definitions,
    TypeMismatch,
)

PREFIXES = [
    Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', sys.prefix).split(os.pathsep) if p
]
ROS = any((prefix / 'share/std_msgs/msg/Header.msg').is_file() for prefix in PREFIXES)
needs_ros = pytest.mark.skipif(not ROS, reason='needs the definitions of a ROS installation')

BUILTIN_INTERFACES = {
    'builtin_interfaces/msg/Time': 'int32 sec\nuint32 nanosec\n',
    'std_msgs/msg/Header': 'builtin_interfaces/Time stamp\nstring frame_id\n',
}
MINE = {
    **BUILTIN_INTERFACES,
    'mine/msg/Point': 'float64 x\nfloat64 y\n',
    'mine/msg/Turn': 'float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n',
    'mine/msg/Whole': """\
int8 MODE_A=1
std_msgs/Header header
mine/Point at
Point[3] corners
Point[] path
Point[<=2] few
Turn turn
Turn[2] turns
float64 speed
bool is_on
byte raw
char letter
wstring note
string<=5[] names
float32[] ranges
float64[9] covariance
uint8[<=4] levels
other/Gone lost
""",
    'mine/srv/Move': 'Point to\nuint8 speed\n---\nbool done\nfloat64 cost\n',
    'mine/srv/Stop': '---\n',
}


def install(prefix: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        package, kind, stem = name.split('/')
        file = prefix / 'share' / package / kind / f'{stem}.{kind}'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture(scope='module')
def mine(tmp_path_factory: pytest.TempPathFactory) -> MessageTypes:
    prefix = tmp_path_factory.mktemp('prefix')
    install(prefix, MINE)
    return MessageTypes([prefix])


@pytest.fixture(scope='module')
def of_rosbags() -> MessageTypes:
    pytest.importorskip('rosbags')
    return MessageTypes([], rosbags_definitions())


def tried(look: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a look-up finds, or why it finds nothing."""
    try:
        return look(*arguments)
    except TypeMismatch as mismatch:
        return mismatch


# What is there -----------------------------------------------------------------------------------

NUMBER = Field(name='', type='float64')

THERE = {
    'speed': NUMBER,
    'at.x': NUMBER,
    'corners[2].y': NUMBER,
    'path[1000].y': NUMBER,
    'covariance[8]': NUMBER,
    'yaw(turn)': NUMBER,
    'roll(turns[1])': NUMBER,
    'ranges[7]': Field(name='', type='float32'),
    'is_on': Field(name='', type='bool'),
    'raw': Field(name='', type='byte'),
    'letter': Field(name='', type='char'),
    'note': Field(name='', type='wstring'),
    'header.stamp.nanosec': Field(name='', type='uint32'),
    'names': Field(name='', type='string', array=True),
    'ranges': Field(name='', type='float32', array=True),
    'covariance': Field(name='', type='float64', array=True, size=9),
    'levels': Field(name='', type='uint8', array=True, most=4),
    'corners': Field(name='', type='mine/Point', array=True, size=3),
    'few': Field(name='', type='mine/Point', array=True, most=2),
    'at': Field(name='', type='mine/Point'),
}


@pytest.mark.parametrize(('path', 'found'), THERE.items())
def test_what_is_at_a_path_is_found(mine: MessageTypes, path: str, found: Field) -> None:
    assert replace(resolve('mine/msg/Whole', path, mine), name='') == found


def test_request_of_a_service_is_looked_at_and_not_its_answer(mine: MessageTypes) -> None:
    assert resolve('mine/srv/Move', 'to.x', mine).is_number
    assert str(tried(resolve, 'mine/srv/Move', 'cost', mine)) == (
        "No field 'cost' in mine/srv/Move. It has: to, speed."
    )
    assert mine.fields('mine/srv/Stop') == ()


def test_sequence_of_numbers_can_have_the_declared_length(mine: MessageTypes) -> None:
    for path, length in (('ranges', 36), ('covariance', 9), ('levels', 4)):
        assert isinstance(numbers_at('mine/msg/Whole', path, length, mine), Field)


@pytest.mark.parametrize(
    ('path', 'length', 'expected', 'actual'),
    [
        ('covariance', 7, 'a sequence of 7 numbers', 'float64[9].'),
        ('levels', 5, 'a sequence of 5 numbers', 'uint8[<=4].'),
        ('names', 2, 'a sequence of 2 numbers', 'string[].'),
        (
            'speed',
            3,
            'a sequence of 3 numbers',
            'float64. List it under `fields`: [speed].',
        ),
        (
            'path',
            3,
            'a sequence of 3 numbers',
            'mine/msg/Point[]. Name one of them, for example path[0].',
        ),
    ],
)
def test_sequence_of_numbers_that_cannot_have_the_length_is_refused(
    mine: MessageTypes, path: str, length: int, expected: str, actual: str
) -> None:
    found = tried(numbers_at, 'mine/msg/Whole', path, length, mine)
    assert str(found) == f"Expected {expected} at '{path}' in mine/msg/Whole, got {actual}"


# What is not there -------------------------------------------------------------------------------

BAD_PATHS = {
    'sped': "No field 'sped' in mine/msg/Whole. Did you mean 'speed'?",
    'at.z': "No field 'z' in mine/msg/Point (at 'at' of mine/msg/Whole). It has: x, y.",
    'MODE_A': (
        "No field 'MODE_A' in mine/msg/Whole. It has: header, at, corners, path, few, "
        'turn, turns, speed, is_on, raw, letter, note and 5 more.'
    ),
    'at': (
        "Expected a number at 'at' in mine/msg/Whole, got mine/msg/Point. Go "
        'on into it: at.x, at.y.'
    ),
    'note': "Expected a number at 'note' in mine/msg/Whole, got wstring.",
    'header.frame_id': "Expected a number at 'header.frame_id' in mine/msg/Whole, got string.",
    'covariance': (
        "Expected a number at 'covariance' in mine/msg/Whole, got float64[9]. "
        'Name one of them, for example covariance[0].'
    ),
    'ranges': (
        "Expected a number at 'ranges' in mine/msg/Whole, got float32[]. "
        'Name one of them, for example ranges[0].'
    ),
    'names': "Expected a number at 'names' in mine/msg/Whole, got string[].",
    'names[0]': "Expected a number at 'names[0]' in mine/msg/Whole, got string.",
    'covariance[9]': "Expected an index below 9 for 'covariance' in mine/msg/Whole, got 9.",
    'few[2].x': "Expected an index below 2 for 'few' in mine/msg/Whole, got 2.",
    'speed[0]': (
        "Expected an array at 'speed' in mine/msg/Whole, to take element 0 of it, got "
        'float64. Write speed without an index.'
    ),
    'note[0]': (
        "Expected an array at 'note' in mine/msg/Whole, to take element 0 of it, got wstring."
    ),
    'covariance[0][1]': (
        "Expected an array at 'covariance[0]' in mine/msg/Whole, to take element 1 of "
        'it, got float64. Write covariance[0] without an index.'
    ),
    'path.x': (
        "Expected an index after 'path' in mine/msg/Whole, got mine/msg/Point[]"
        '. Write path[0].x, for example.'
    ),
    'speed.x': (
        "Expected a message at 'speed' in mine/msg/Whole, to find 'x' in it, got "
        "float64. Let the path end with 'speed'."
    ),
    'note.x': "Expected a message at 'note' in mine/msg/Whole, to find 'x' in it, got wstring.",
    'ranges.x': (
        "Expected a message at 'ranges' in mine/msg/Whole, to find 'x' in it, got float32[]."
    ),
    'yaw(at)': (
        'Expected a quaternion (a message with x, y, z and w) in yaw(at), got mine/msg/Point.'
    ),
    'yaw(turns)': (
        'Expected a quaternion (a message with x, y, z and w) in yaw(turns), got mine/msg/Turn[2].'
    ),
    'pitch(speed)': (
        'Expected a quaternion (a message with x, y, z and w) in pitch(speed), got float64.'
    ),
    'yaw(tern)': "No field 'tern' in mine/msg/Whole. Did you mean 'turn'?",
    'a b': (
        'Expected a field path, for example pose.covariance[0] or yaw(pose.orientation), '
        "got 'a b'."
    ),
    'lost.x': (
        'The message type other/msg/Gone is not installed. '
        'Install the ROS package other, or source the workspace that has it.'
    ),
}


@pytest.mark.parametrize(('path', 'sentence'), BAD_PATHS.items())
def test_path_to_no_number_is_refused(mine: MessageTypes, path: str, sentence: str) -> None:
    found = tried(number_at, 'mine/msg/Whole', path, mine)
    assert isinstance(found, TypeMismatch)
    assert found.sure
    assert str(found) == sentence


def not_installed(name: str, hint: str, noun: str = 'message') -> str:
    return f'The {noun} type {name} is not installed. {hint}'


BAD_TYPES = {
    'nav_msgs/msg/Odomtry': not_installed(
        'nav_msgs/msg/Odomtry', "Did you mean 'nav_msgs/msg/Odometry'?"
    ),
    'nav_msg/msg/Odometry': not_installed(
        'nav_msg/msg/Odometry', "Did you mean 'nav_msgs/msg/Odometry'?"
    ),
    'geometry_msgs/msg/Imu': not_installed(
        'geometry_msgs/msg/Imu', "Did you mean 'sensor_msgs/msg/Imu'?"
    ),
    'std_srvs/srv/Triger': not_installed(
        'std_srvs/srv/Triger', "Did you mean 'std_srvs/srv/Trigger'?", 'service'
    ),
    'rosgraph_msgs/msg/Banana': not_installed(
        'rosgraph_msgs/msg/Banana', 'rosgraph_msgs has: Clock.'
    ),
    'acme_msgs/msg/Wheel': not_installed(
        'acme_msgs/msg/Wheel',
        'Install the ROS package acme_msgs, or source the workspace that has it.',
    ),
    'nav_msgs/Odometry': 'Expected a type as package/msg/Name (or package/srv/Name of a service), '
    "got 'nav_msgs/Odometry'. Did you mean 'nav_msgs/msg/Odometry'?",
    '../../msg/x': 'Expected a type as package/msg/Name (or package/srv/Name of a service), '
    "got '../../msg/x'.",
    '': "Expected a type as package/msg/Name (or package/srv/Name of a service), got ''.",
}


@needs_ros
@pytest.mark.parametrize(('name', 'sentence'), BAD_TYPES.items())
def test_type_that_is_not_installed_is_refused(name: str, sentence: str) -> None:
    assert str(tried(MessageTypes(PREFIXES).fields, name)) == sentence


def test_definition_that_cannot_be_read_is_named_with_its_file(tmp_path: Path) -> None:
    install(tmp_path, {'mine/msg/Torn': 'float64 x\n---\n', 'mine/msg/Binary': ''})
    binary = tmp_path / 'share/mine/msg/Binary.msg'
    binary.write_bytes(b'\xff\xfe\x00')
    types = MessageTypes([tmp_path])
    torn = str(tried(types.fields, 'mine/msg/Torn'))
    assert re.fullmatch(
        r'Expected a readable definition of mine/msg/Torn in .*Torn\.msg, got .* a field '
        r"or a constant .*line 2.*'---'\)\. Reinstall the ROS package mine\.",
        torn,
    )
    assert 'Binary.msg, got ' in str(tried(types.fields, 'mine/msg/Binary'))


# Where the knowledge comes from ------------------------------------------------------------------


def test_definitions_are_read_once_and_when_they_are_needed(tmp_path: Path) -> None:
    install(tmp_path, MINE)
    types = MessageTypes([tmp_path])
    assert resolve('mine/msg/Point', 'x', types).type == 'float64'
    (tmp_path / 'share/mine/msg/Point.msg').unlink()
    assert resolve('mine/msg/Point', 'x', types).type == 'float64'


def test_first_prefix_wins(tmp_path: Path) -> None:
    install(tmp_path / 'under', MINE)
    install(tmp_path / 'over', {'mine/msg/Point': 'int8 x\n'})
    types = MessageTypes([tmp_path / 'over', tmp_path / 'under'])
    found = resolve('mine/msg/Whole', 'at.x', types)
    assert found.type == 'int8'


def test_without_ros_the_common_messages_are_known_from_rosbags(of_rosbags: MessageTypes) -> None:
    assert not of_rosbags.has_ros
    assert number_at('nav_msgs/msg/Odometry', 'yaw(pose.pose.orientation)', of_rosbags).is_number
    assert str(tried(of_rosbags.fields, 'nav_msgs/msg/Odomtry')).endswith(
        "Did you mean 'nav_msgs/msg/Odometry'?"
    )


def test_without_ros_nothing_is_claimed_about_packages_nobody_knows(
    of_rosbags: MessageTypes,
) -> None:
    found = tried(number_at, 'acme_msgs/msg/Wheel', 'speed', of_rosbags)
    assert isinstance(found, TypeMismatch)
    assert not found.sure
    assert str(found) == (
        'No definition of acme_msgs/msg/Wheel is installed here. '
        'Source the ROS workspace that has the package acme_msgs.'
    )


def test_without_ros_a_sourced_workspace_of_messages_is_known_besides(tmp_path: Path) -> None:
    pytest.importorskip('rosbags')
    install(tmp_path, {'acme_msgs/msg/Wheel': 'std_msgs/Header header\nfloat64 speed\n'})
    types = MessageTypes([tmp_path], rosbags_definitions())
    assert number_at('acme_msgs/msg/Wheel', 'speed', types).is_number
    assert isinstance(number_at('acme_msgs/msg/Wheel', 'header.stamp.sec', types), Field)


def test_where_ros_is_installed_a_type_that_only_rosbags_has_is_not(tmp_path: Path) -> None:
    pytest.importorskip('rosbags')
    install(tmp_path, BUILTIN_INTERFACES)
    types = MessageTypes([tmp_path], rosbags_definitions())
    assert 'is not installed' in str(tried(types.fields, 'nav_msgs/msg/Odometry'))
    assert types.installed_types() == tuple(BUILTIN_INTERFACES)


@needs_ros
def test_rosbags_and_the_installed_definitions_agree(of_rosbags: MessageTypes) -> None:
    installed = MessageTypes(PREFIXES)
    both = set(installed.installed_types()) & set(of_rosbags.installed_types())
    assert len(both) > 80
    for name in both:
        assert installed.fields(name) == of_rosbags.fields(name)


@needs_ros
def test_knowledge_of_this_process_is_made_once() -> None:
    assert message_types() is message_types()
    assert 'nav_msgs/msg/Odometry' in message_types().installed_types()


# Against the message classes themselves ----------------------------------------------------------

ORACLE_TYPES = (
    'nav_msgs/msg/Odometry',
    'nav_msgs/msg/Path',
    'sensor_msgs/msg/JointState',
    'sensor_msgs/msg/Imu',
    'sensor_msgs/msg/LaserScan',
    'sensor_msgs/msg/BatteryState',
    'sensor_msgs/msg/PointCloud2',
    'sensor_msgs/msg/CameraInfo',
    'sensor_msgs/msg/MultiDOFJointState',
    'geometry_msgs/msg/PolygonStamped',
    'std_msgs/msg/Float64MultiArray',
    'std_msgs/msg/Char',
)
_FILLED = 4
"""Elements in a sequence of the oracle; paths ask for no more."""

_ITEMS: dict[str, Any] = {'float': 0.0, 'double': 0.0, 'boolean': False, 'octet': b'\0'}


def filled(type_name: str) -> Any:
    """Return a message whose sequences have elements, all the way down."""
    package, kind, name = type_name.split('/')
    message = getattr(import_module(f'{package}.{kind}'), name)()
    for slot, kind_of in zip(
        message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True
    ):
        inner = getattr(kind_of, 'value_type', None)
        described = kind_of if inner is None else inner
        if hasattr(described, 'namespaces'):
            full = '/'.join((*described.namespaces, described.name))
            value = filled(full) if inner is None else [filled(full) for _ in range(_FILLED)]
            setattr(message, slot, value)
        elif inner is not None and not hasattr(kind_of, 'size'):
            is_text = 'String' in type(described).__name__
            item = '' if is_text else _ITEMS.get(described.typename, 0)
            setattr(message, slot, [item] * _FILLED)
    return message


def reads_a_number(message: Any, path: str) -> bool:
    """Return whether a number comes of reading the path from the message itself."""
    try:
        value = getter(path)(message)
    except RecordError:
        return False
    return isinstance(value, (int, float, np.number))


@st.composite
def paths(draw: st.DrawFn, message: Any) -> str:
    """Return a path that is one of the message, or nearly."""
    honest = draw(st.booleans())
    parts: list[str] = []
    here = message
    for _ in range(8):
        fields = list(getattr(here, 'get_fields_and_field_types', dict)())
        wrong = ['dota', 'x', *(name[:-1] or 'q' for name in fields)]
        name = draw(st.sampled_from(fields if honest else [*fields, *wrong]))
        here = getattr(here, name, None)
        count = 1 if honest and _is_array(here) else 0 if honest else draw(st.integers(0, 2))
        indices = draw(st.lists(st.integers(0, _FILLED - 1), min_size=count, max_size=count))
        for index in indices:
            here = here[index] if _is_array(here) and index < len(here) else None
        parts.append(name + ''.join(f'[{index}]' for index in indices))
        has_more = hasattr(here, 'get_fields_and_field_types')
        if (not has_more and (honest or draw(st.booleans()))) or not draw(st.integers(0, 5)):
            break
    path = '.'.join(parts)
    function = draw(st.sampled_from(['', '', '', 'yaw', 'roll']))
    return f'{function}({path})' if function else path


def _is_array(value: Any) -> bool:
    return hasattr(value, '__len__') and not isinstance(value, (str, bytes))


@needs_ros
@pytest.mark.ros
@pytest.mark.parametrize('type_name', ORACLE_TYPES)
def test_a_number_is_promised_exactly_where_the_message_class_has_one(type_name: str) -> None:
    pytest.importorskip(type_name.split('/')[0])
    message, types = filled(type_name), MessageTypes(PREFIXES)
    promised: list[bool] = []

    @given(paths(message))
    def check(path: str) -> None:
        found = tried(number_at, type_name, path, types)
        promised.append(isinstance(found, Field))
        assert promised[-1] == reads_a_number(message, path), str(found)

    check()
    assert {True, False} <= set(promised)


@needs_ros
@pytest.mark.ros
@pytest.mark.parametrize('type_name', ORACLE_TYPES)
def test_every_field_of_the_message_class_is_found_with_its_kind(type_name: str) -> None:
    pytest.importorskip(type_name.split('/')[0])
    message, types = filled(type_name), MessageTypes(PREFIXES)
    for name, text in message.get_fields_and_field_types().items():
        found = resolve(type_name, name, types)
        assert isinstance(found, Field)
        assert found.array == ('[' in text or 'sequence<' in text)
        assert found.is_text == ('string' in text)
        assert found.is_message == ('/' in text)
        size = re.fullmatch(r'.*\[(\d+)\]', text)
        assert found.size == (int(size[1]) if size else None)


@given(type_name=st.text(max_size=30), path=st.text(max_size=30))
def test_no_text_makes_it_stumble(type_name: str, path: str) -> None:
    found = tried(number_at, type_name, path, MessageTypes(PREFIXES))
    assert isinstance(found, (Field, TypeMismatch))


@given(path=st.text(alphabet='ab.[]()019yawturn', max_size=12))
def test_no_path_makes_it_stumble(mine: MessageTypes, path: str) -> None:
    assert isinstance(tried(number_at, 'mine/msg/Whole', path, mine), (Field, TypeMismatch))
