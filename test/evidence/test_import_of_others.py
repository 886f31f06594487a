# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags as others leave them are imported for what is in them, and what cannot be is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcap.writer import Writer
import pytest

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.importing.cuts import AtCommands
from boundary_env_ros.evidence.importing.importer import import_bag, Imported, ImportOptions
from boundary_env_ros.storage.contract_file import loads
from boundary_env_ros.storage.record_reader import open_records
from support.storage_wire import _empty as empty
from support.storage_wire import _typed_arrays as typed_arrays
from support.storage_wire import definition as definition_of
from support.storage_wire import typestore

S, MS = 10**9, 10**6
WALL = 1_760_000_000 * S

ODOM, TWIST, STAMPED = (
    'nav_msgs/msg/Odometry',
    'geometry_msgs/msg/Twist',
    'geometry_msgs/msg/TwistStamped',
)
JOINTS, CLOCK = 'sensor_msgs/msg/JointState', 'rosgraph_msgs/msg/Clock'

ROVER = """
contract: rover
period: 0.1
clock: {clock}
observation:
  place:
    topic: odom
    type: nav_msgs/msg/Odometry
    fields: [pose.pose.position.x]
    unit: m
    low: -10.0
    high: 10.0
    max_age: 0.3
action:
  base:
    topic: cmd_vel
    type: geometry_msgs/msg/Twist
    fields: [linear.x]
    unit: m/s
    low: -1.0
    high: 1.0
    max_acceleration: 1.0
    driver_timeout: 0.25
    feedback: {{topic: odom, type: nav_msgs/msg/Odometry, fields: [twist.twist.linear.x]}}
episode:
  time_limit: 30.0
  reset: {{procedure: [{{confirm: ready}}]}}
"""


def time_of(nanoseconds: int) -> Any:
    kind = typestore().types['builtin_interfaces/msg/Time']
    return kind(sec=nanoseconds // S, nanosec=nanoseconds % S)


def message(kind: str, stamp: int | None = None, **paths: Any) -> tuple[str, bytes]:
    """Return type and bytes of a message with some values, by paths with `__` for dots."""
    made = empty(kind)
    if stamp is not None:
        made.header.stamp = time_of(stamp)
    for path, value in paths.items():
        *place, name = path.split('__')
        where = made
        for part in place:
            where = getattr(where, part)
        setattr(where, name, value)
    typed_arrays(made)
    return kind, bytes(typestore().serialize_cdr(made, kind))


#: Log time, topic, type and bytes.
Recorded = tuple[int, str, str, bytes]


def drive(begin: int, x: float = 0.0, log: int | None = None) -> Iterable[Recorded]:
    """Yield four seconds of odometry at 20 Hz, with commands at 10 Hz in the middle."""
    shift = 0 if log is None else log - begin
    for i in range(80):
        at = begin + i * 50 * MS
        yield at + shift, '/odom', *message(ODOM, at, pose__pose__position__x=x + 0.01 * i)
        if 10 <= i < 70 and i % 2:
            yield at + shift + MS, '/cmd_vel', *message(TWIST, linear__x=0.2)


def clocks(begin: int, log: int | None = None) -> Iterable[Recorded]:
    shift = 0 if log is None else log - begin
    for i in range(400):
        at = begin + i * 10 * MS
        yield at + shift, '/clock', *message(CLOCK, clock=time_of(at))


def write(
    path: Path,
    messages: Iterable[Recorded],
    *,
    encoding: str = 'cdr',
    definition: Callable[[str], str] = lambda kind: definition_of(kind)[0],
) -> Path:
    with path.open('wb') as file:
        writer = Writer(file, chunk_size=4000)
        writer.start('ros2', 'somebody')
        channels: dict[tuple[str, str], int] = {}
        for log, topic, kind, data in messages:
            if (topic, kind) not in channels:
                schema = writer.register_schema(kind, 'ros2msg', definition(kind).encode())
                channels[topic, kind] = writer.register_channel(topic, encoding, schema)
            writer.add_message(channels[topic, kind], log, data, log)
        writer.finish()
    return path


def imported(
    path: Path, contract: str = '', gap: int | None = None
) -> tuple[Imported, list[list[Transition]]]:
    """Return what became of a bag, and the steps of each episode."""
    out = path.with_name(f'{path.stem}_run')
    loaded = loads(contract or ROVER.format(clock='ros'), source='rover')
    options = ImportOptions(cut=lambda begin: AtCommands(gap), host='rover')
    became = import_bag(path, out, loaded, options)
    episodes: dict[str, list[Transition]] = {}
    for step in open_records(out).transitions():
        episodes.setdefault(step.id.episode_id, []).append(step)
    return became, list(episodes.values())


def test_a_bag_that_was_written_topic_after_topic_makes_the_same_steps(tmp_path: Path) -> None:
    sent = list(drive(WALL))
    became, (steps,) = imported(write(tmp_path / 'by_time.mcap', sorted(sent)))
    after, (others,) = imported(write(tmp_path / 'x.mcap', sorted(sent, key=lambda r: r[1])))
    assert became == after
    assert became.used == became.commands == 30
    assert became.notes == ()
    for one, other in zip(steps, others, strict=True):
        same = replace(other, id=one.id, diagnostics=one.diagnostics)
        assert (same.after, same.commanded_action) == (one.after, one.commanded_action)


@pytest.mark.parametrize('gap', [None, S])
@pytest.mark.parametrize('simulated', [True, False], ids=['simulated log', 'log of system time'])
def test_a_clock_that_goes_back_to_zero_at_each_reset_ends_an_episode(
    tmp_path: Path, simulated: bool, gap: int | None
) -> None:
    sent: list[Recorded] = []
    for episode in range(3):
        log = None if simulated else WALL + episode * 7 * S
        sent += sorted([*clocks(10 * MS, log), *drive(10 * MS, float(episode), log)])
    became, episodes = imported(write(tmp_path / 'x.mcap', sent), ROVER.format(clock='sim'), gap)
    assert became.used == became.commands == 90
    assert became.notes == ()
    assert [steps[0].after[0].values[0] // 1 for steps in episodes] == [0.0, 1.0, 2.0]
    assert {steps[0].closed.ros.nanoseconds < S for steps in episodes} == {True}
    assert all(field.status.name == 'FRESH' for steps in episodes for field in steps[5].after)


def test_a_clock_that_was_set_is_told(tmp_path: Path) -> None:
    sent = [*drive(WALL), *drive(WALL + 2 * S)]
    became, episodes = imported(write(tmp_path / 'x.mcap', sent))
    assert len(episodes) == 2
    (note,) = became.notes
    assert note.startswith(
        'the clock jumped once, first from 1760000003.950 s to 1760000002.000 s'
    )


@pytest.mark.parametrize('first', [TWIST, STAMPED])
def test_of_two_types_on_a_topic_the_contract_reads_its_own(tmp_path: Path, first: str) -> None:
    others = [(at + 5 * MS, t, *message(STAMPED)) for at, t, k, _ in drive(WALL) if k == TWIST]
    sent = sorted([*drive(WALL), *others], key=lambda r: (r[1] == '/cmd_vel', r[2] != first))
    became, _ = imported(write(tmp_path / 'x.mcap', sent))
    assert became.used == 30
    assert became.notes == (
        f'/cmd_vel: 30 messages of {STAMPED} are left out; the contract reads {TWIST} there',
    )


def test_joints_of_another_publisher_are_no_messages_that_could_not_be_read(
    tmp_path: Path,
) -> None:
    both = '{topic: joints, type: sensor_msgs/msg/JointState, joints: [%s], publishers: 2'
    more = 'unit: m, low: -1.0, high: 1.0, max_age: 0.3}'
    contract = ROVER.format(clock='ros').replace(
        'action:', f'  arm: {both % "a"}, {more}\n  hand: {both % "b"}, {more}\naction:'
    )
    sent = list(drive(WALL))
    for i in range(80):
        for name in 'ab':
            at = WALL + i * 50 * MS + ord(name)
            sent.append((at, '/joints', *message(JOINTS, at, name=[name], position=[0.5])))
    became, (steps,) = imported(write(tmp_path / 'x.mcap', sorted(sent)), contract)
    assert became.notes == ()
    assert {field.status.name for step in steps for field in step.after} == {'FRESH'}


def test_a_field_of_which_nothing_could_be_read_says_how_many_came_and_why(
    tmp_path: Path,
) -> None:
    cut = [(at, topic, k, d[:-8] if k == ODOM else d) for at, topic, k, d in drive(WALL)]
    with pytest.raises(RecordError) as error:
        imported(write(tmp_path / 'x.mcap', cut))
    assert 'place: 80 came and none could be read, the first: ' in str(error.value)
    assert 'with its definition, got IndexError' in str(error.value)
    assert 'another version of this package' not in str(error.value)
    assert '--gap' not in str(error.value)


def test_a_message_that_fields_and_feedback_could_not_read_is_one(tmp_path: Path) -> None:
    arm = '{topic: joints, type: sensor_msgs/msg/JointState, joints: [a]'
    more = 'low: -1.0, high: 1.0, max_age: 0.3}'
    contract = ROVER.format(clock='ros').replace(
        'action:',
        f'  base: {arm}, unit: rad, {more}\n'
        f'  speed: {arm}, quantity: [velocity], unit: rad/s, {more}\naction:',
    )
    odom = 'topic: odom, type: nav_msgs/msg/Odometry, fields: [twist.twist.linear.x]}'
    assert odom in contract
    contract = contract.replace(odom, f'{arm[1:]}, quantity: [velocity]}}')
    sent = list(drive(WALL))
    for i in range(80):
        at = WALL + i * 50 * MS + 1
        names = ['b'] if i == 40 else ['a']
        kept = {'name': names, 'position': [0.5], 'velocity': [0.5]}
        sent.append((at, '/joints', *message(JOINTS, at, **kept)))
    became, _ = imported(write(tmp_path / 'x.mcap', sorted(sent)), contract)
    (note,) = became.notes
    assert '1 messages could not be read' in note
    assert {'base', 'speed', 'feedback of base'} == set(note[9 : note.index(')')].split(', '))


def test_text_in_a_type_that_is_not_read_is_named(tmp_path: Path) -> None:
    contract = ROVER.format(clock='ros').replace(
        'action:',
        '  named: {topic: n, type: odd_msgs/msg/Named, fields: [value], unit: "", low: 0.0, '
        'high: 9.0}\naction:',
    )
    data = b'\0\1\0\0' + bytes(8)
    sent = [*drive(WALL), (WALL + S, '/n', 'odd_msgs/msg/Named', data)]

    def definition(kind: str) -> str:
        return 'float32 value\nwstring name\n' if 'odd' in kind else definition_of(kind)[0]

    with pytest.raises(RecordError, match=r'named: 1 came and none could be read.*got wstring'):
        imported(write(tmp_path / 'x.mcap', sorted(sent), definition=definition), contract)


@pytest.mark.parametrize(
    ('encoding', 'said'),
    [('ros1', 'got those of ROS 1.*rosbags-convert'), ('protobuf', 'in CDR on /.*got protobuf')],
)
def test_messages_of_another_middleware_are_named(
    tmp_path: Path, encoding: str, said: str
) -> None:
    with pytest.raises(RecordError, match=said):
        imported(write(tmp_path / 'x.mcap', drive(WALL), encoding=encoding))


def test_a_topic_that_was_not_recorded_for_a_while_ages_and_that_is_all(tmp_path: Path) -> None:
    sent = [r for r in drive(WALL) if r[1] != '/odom' or not 1.5 < (r[0] - WALL) / S < 2.5]
    became, (steps,) = imported(write(tmp_path / 'x.mcap', sent))
    assert became.notes == ()
    status = [step.after[0].status.name for step in steps]
    assert set(status) == {'FRESH', 'STALE'}
    assert status[-1] == 'FRESH'
