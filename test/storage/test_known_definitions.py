# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a bag does not say of its messages is looked up, and what nobody knows is named."""

from __future__ import annotations

from pathlib import Path
import sqlite3

import pytest
from rosbags.rosbag2 import StoragePlugin, Writer

from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.channel import Channel
from boundary_env_ros.storage.decoding import definition_text
from boundary_env_ros.storage.definitions import known_definition, known_hash, parse_definition
from boundary_env_ros.storage.record_reader import open_records
from support.storage_wire import BEGIN, cdr, message_cdr, transition, typestore

TWIST, TRANSITION = 'geometry_msgs/msg/TwistStamped', 'boundary_env_ros/msg/Transition'


def channel(kind: str, language: str = '', text: str = '') -> Channel:
    return Channel(
        topic='/t',
        type=kind,
        encoding='cdr',
        definition_encoding=language,
        definition=text.encode(),
    )


@pytest.fixture(params=['installed', 'without ROS'])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != 'installed':
        monkeypatch.setenv('AMENT_PREFIX_PATH', '')
        monkeypatch.setattr('sys.prefix', '/nowhere')


@pytest.mark.usefixtures('place')
@pytest.mark.parametrize('kind', [TWIST, TRANSITION])
def test_definition_that_is_missing_is_the_known_one(kind: str) -> None:
    found = definition_text(channel(kind))
    text, _ = typestore().generate_msgdef(kind, ros_version=2)
    assert parse_definition(kind, found) == parse_definition(kind, text)


def test_definition_as_text_is_left_as_it_is() -> None:
    text = 'float64 odd\n'
    assert definition_text(channel('acme_msgs/msg/Odd', 'ros2msg', text)) == text


INSIDE = 'std_msgs/Header header\ngeometry_msgs/Twist twist\n'


@pytest.mark.parametrize(
    'text', [INSIDE, f'{TWIST}\n', 'geometry_msgs/TwistStamped', ''], ids=repr
)
def test_definition_that_lacks_something_is_completed_by_the_known_one(text: str) -> None:
    found = definition_text(channel(TWIST, 'ros2msg', text))
    assert parse_definition(TWIST, found) == parse_definition(TWIST, known_definition(TWIST)[0])


@pytest.mark.parametrize('text', [f'{INSIDE}float64 more\n', 'std_msgs/Header header\n'])
def test_definition_that_says_something_else_is_not_taken_for_the_known_one(text: str) -> None:
    assert definition_text(channel(TWIST, 'ros2msg', text)) == text


@pytest.mark.parametrize(
    ('one', 'said'),
    [
        (channel('acme_msgs/msg/Odd'), 'definition of acme_msgs/msg/Odd is in'),
        (channel(TWIST, 'ros2idl', 'module x {'), r'TwistStamped on /t, got IDL.*convert'),
    ],
)
def test_type_that_cannot_be_known_is_named(one: Channel, said: str) -> None:
    with pytest.raises(RecordError, match=said):
        definition_text(one)


def test_hash_is_of_the_definition_and_not_of_the_name() -> None:
    text, expected = known_definition(TWIST)
    assert expected == typestore().hash_rihs01(TWIST)
    assert known_hash(TWIST, text) == expected
    assert known_hash(TWIST, 'float64 odd\n') == known_hash('acme_msgs/msg/Odd', text) == ''


def test_bag_from_before_definitions_is_read(tmp_path: Path) -> None:
    with Writer(tmp_path / 'old', version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        twist = writer.add_connection('/cmd_vel', TWIST, typestore=typestore())
        ours = writer.add_connection('/t', TRANSITION, typestore=typestore())
        writer.write(twist, BEGIN, message_cdr(TWIST))
        writer.write(ours, BEGIN + 1, cdr(transition(1)))
    with sqlite3.connect(tmp_path / 'old/old.db3') as database:
        tables = [row[0] for row in database.execute('SELECT name FROM sqlite_master')]
        if 'message_definitions' in tables:
            database.execute('DELETE FROM message_definitions')
    database.close()
    source = open_records(tmp_path / 'old')
    assert list(source.transitions()) == [transition(1)]
    (command,) = source.messages(['/cmd_vel'])
    assert command.decode().twist.linear.x == 0.0
