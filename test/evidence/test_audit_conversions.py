# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records that other tools have stored anew, sliced or recorded are judged for what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from rosbags.convert.converter import convert

from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.record_chain import CHAIN_TOPIC
from boundary_env_ros.storage.run_folder import RunFolder
from support.bag_maker import make_tape
from support.chained_bags import Raw, raw, record, write
from support.record_maker import Bench

#: What is looked at by name: it has a message every 20 ms, with a stamp.
ODOM = '/odom'

#: Byte of the forward speed in odometry, from its end: first of six numbers, and a covariance.
FORWARD_SPEED = -8 * (6 + 36) + 6

GOLDEN = sorted((Path(__file__).parents[1] / 'records').glob('*/*/bag'))


@pytest.fixture(scope='module')
def bag(loaded: LoadedContract, task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what an honest recorder had of three episodes, with a link for each second."""
    tape = sorted(make_tape(Bench, loaded, task, seed=5), key=lambda sent: sent.log_time)
    due = tape[0].log_time + NANOSECONDS
    return record(tmp_path_factory.mktemp('honest') / 'bag', tape, due=due)


@pytest.fixture(scope='module')
def messages(bag: Path) -> list[Raw]:
    """Return its messages."""
    return raw(bag)


@pytest.fixture
def audited(loaded: LoadedContract, tmp_path: Path) -> Callable[[Iterable[Raw]], AuditReport]:
    """Return a function that audits messages as a run: a slice alone lacks its contract."""

    def audited(messages: Iterable[Raw]) -> AuditReport:
        run = RunFolder(tmp_path / f'run{len(list(tmp_path.iterdir()))}')
        run.path.mkdir()
        run.contract.write_text(loaded.text, encoding='utf-8')
        write(run.bag, messages)
        return audit_path(run.path)

    return audited


def without_chain(messages: Iterable[Raw]) -> list[Raw]:
    """Return what another recorder has of it."""
    return [m for m in messages if m[0].topic != CHAIN_TOPIC]


def without(messages: list[Raw], topic: str, *numbers: int) -> list[Raw]:
    """Take messages of a topic out."""
    gone = [m for m in messages if m[0].topic == topic]
    return [m for m in messages if m not in [gone[number] for number in numbers]]


def changed(messages: list[Raw], numbers: range) -> list[Raw]:
    """Return the messages with another forward speed in some of the odometry."""
    odometry = [m for m in messages if m[0].topic == ODOM]
    victims = [odometry[number] for number in numbers]

    def told(message: Raw) -> Raw:
        data = bytearray(message[3])
        data[FORWARD_SPEED] ^= 0x40
        return (*message[:3], bytes(data))

    return [told(m) if m in victims else m for m in messages]


# Stored anew -------------------------------------------------------------------------------------


def with_rosbags(
    bag: Path, folder: Path, storage: str, compression: str | None = None, mode: str = 'file'
) -> Path:
    """Convert as `rosbags-convert` does."""
    convert([bag], folder, storage, 9, compression, mode, None, None, (), (), (), ())
    return folder


def there_and_back(bag: Path, folder: Path) -> Path:
    sqlite = with_rosbags(bag, folder.with_name(f'{folder.name}_sqlite'), 'sqlite3')
    return with_rosbags(sqlite, folder, 'mcap')


def as_rosbag2_from_sqlite(bag: Path, folder: Path) -> Path:
    """Write what `ros2 bag convert` makes of a SQLite bag: in time order, publish time 0."""
    messages = sorted(raw(bag), key=lambda m: m[1])
    return write(folder, [(c, at, 0, data) for c, at, _, data in messages], split_size=200_000)


CONVERSIONS: dict[str, Callable[[Path, Path], Path]] = {
    'sqlite3': lambda bag, folder: with_rosbags(bag, folder, 'sqlite3'),
    'sqlite3 and back': there_and_back,
    'sqlite3 in zstd': lambda bag, folder: with_rosbags(bag, folder, 'sqlite3', 'zstd'),
    'mcap by message': lambda bag, folder: with_rosbags(bag, folder, 'mcap', 'zstd', 'message'),
    'mcap in zstd': lambda bag, folder: with_rosbags(bag, folder, 'mcap', 'zstd'),
    'publish times lost, split': as_rosbag2_from_sqlite,
}
converted = pytest.mark.parametrize('conversion', CONVERSIONS.values(), ids=CONVERSIONS)


@converted
def test_a_record_that_is_stored_anew_keeps_its_outcome_and_what_was_done_to_it_before(
    bag: Path,
    messages: list[Raw],
    conversion: Callable[[Path, Path], Path],
    tmp_path: Path,
) -> None:
    report = audit_path(conversion(bag, tmp_path / 'honest'))
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'
    assert report.chain['confirmed'] == len(without_chain(messages))
    write(tmp_path / 'bag', changed(without(messages, ODOM, 300), range(100, 110)))
    report = audit_path(conversion(tmp_path / 'bag', tmp_path / 'damaged'))
    assert report.outcome is AuditOutcome.CONTRADICTED
    assert {'record-unchanged', 'values-from-sensors'} <= set(report.counts), f'\n{report}'


@pytest.mark.parametrize('golden', GOLDEN, ids=lambda path: path.parent.name)
def test_a_record_of_an_earlier_version_that_is_stored_anew_is_not_contradicted(
    golden: Path, tmp_path: Path
) -> None:
    for name in ('publish times lost, split', 'sqlite3 and back'):
        found = tmp_path / name
        found.mkdir()
        report = audit_path(CONVERSIONS[name](golden, found / 'bag'))
        assert report.counts == {}, f'\n{report}'


# Sliced ------------------------------------------------------------------------------------------


def part(messages: list[Raw], begin: float, end: float) -> list[Raw]:
    """Return the messages between two shares of the time, as `ros2 bag convert` cuts them."""
    first, last = messages[0][1], messages[-1][1]
    least, most = (first + share * (last - first) for share in (begin, end))
    return [m for m in messages if least <= m[1] <= most]


Audited = Callable[[Iterable[Raw]], AuditReport]


@pytest.mark.parametrize('begin', [0.02, 0.17, 0.6])
def test_a_slice_is_told_as_a_slice_and_judged(
    messages: list[Raw], begin: float, audited: Audited
) -> None:
    cut = part(messages, begin, 0.93)
    report = audited(cut)
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
    assert 'a slice of a run' in str(report)
    assert report.transitions > 20
    # And with what was taken out of its middle, or changed there, it is no honest one.
    report = audited(without(cut, ODOM, -100))
    assert report.counts['record-unchanged'] == 1, f'\n{report}'
    report = audited(changed(without_chain(cut), range(-100, -90)))
    assert 'values-from-sensors' in report.counts, f'\n{report}'


@pytest.mark.parametrize('begin', [0.3, 0.6])
def test_a_slice_without_a_chain_is_not_contradicted(
    messages: list[Raw], begin: float, audited: Audited
) -> None:
    report = audited(without_chain(part(messages, begin, 0.9)))
    assert report.outcome in (AuditOutcome.INCOMPLETE, AuditOutcome.CONSISTENT), f'\n{report}'


def test_what_is_missing_before_the_first_link_is_no_slice_where_an_older_topic_is_whole(
    messages: list[Raw], audited: Audited
) -> None:
    first_link = next(i for i, m in enumerate(messages) if m[0].topic == CHAIN_TOPIC)
    number = sum(m[0].topic == ODOM for m in messages[:first_link]) - 2
    report = audited(without(messages, ODOM, number))
    assert report.outcome is AuditOutcome.CONTRADICTED
    assert 'record-unchanged' in report.counts, f'\n{report}'


def test_first_steps_that_were_taken_out_are_no_slice(
    messages: list[Raw], audited: Audited
) -> None:
    (topic,) = {m[0].topic for m in messages if m[0].type.endswith(f'/{Transition.__name__}')}
    report = audited(without(without_chain(messages), topic, *range(8)))
    assert report.outcome is AuditOutcome.CONTRADICTED
    assert 'steps-in-order' in report.counts, f'\n{report}'


# Recorded by others ------------------------------------------------------------------------------


def test_what_another_recorder_dropped_is_a_gap_and_a_false_value_is_one_everywhere_else(
    messages: list[Raw], audited: Audited
) -> None:
    others = without_chain(messages)
    dropped = [*range(100, 103), *range(200, 210), 300]
    report = audited(without(others, ODOM, *dropped))
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
    assert report.counts == {}
    assert 'another recorder, which keeps no chain, has no such message' in str(report)
    assert 'values-from-sensors' in audited(changed(others, range(100, 110))).counts
    # Its own recorder would have said that it lost them.
    assert 'values-from-sensors' in audited(without(messages, ODOM, *dropped)).counts


@pytest.mark.parametrize('numbers', [(40,), (57, 58, 59)])
@pytest.mark.parametrize(
    'kind', ['Transition', 'GateDecision', 'PrivilegedObservation', 'ActionRequest']
)
def test_a_message_of_the_boundary_that_another_recorder_dropped_is_a_gap(
    messages: list[Raw],
    loaded: LoadedContract,
    audited: Audited,
    tmp_path: Path,
    kind: str,
    numbers: tuple[int, ...],
) -> None:
    (topic,) = {m[0].topic for m in messages if m[0].type.endswith(f'/{kind}')}
    left = without(without_chain(messages), topic, *numbers)
    if kind in ('Transition', 'GateDecision'):  # Our recorder says what it lost.
        assert audited(left).outcome is AuditOutcome.CONTRADICTED
    run = RunFolder(tmp_path / 'of_another')
    run.path.mkdir()
    run.contract.write_text(loaded.text, encoding='utf-8')
    with_rosbags(write(tmp_path / 'left', left), run.bag, 'mcap')
    report = audit_path(run.path)
    assert report.ok, f'\n{report}'
    if 'early' not in report.excused:  # as the first requests under a lease are anyway
        assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
        assert 'another recorder' in str(report)


@pytest.mark.parametrize('kind', ['Transition', 'PrivilegedObservation'])
def test_without_raw_messages_too_what_another_recorder_dropped_is_a_gap(
    kind: str, tmp_path: Path
) -> None:
    (golden,) = (bag for bag in GOLDEN if bag.parent.name == 'warehouse_cart_embedded')
    whole = raw(golden)
    (topic,) = {m[0].topic for m in whole if m[0].type.endswith(f'/{kind}')}
    left = write(tmp_path / 'left', without(without_chain(whole), topic, 4))
    with_rosbags(left, tmp_path / 'bag', 'mcap')
    report = audit_path(tmp_path / 'bag')
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
    assert report.counts.keys() <= {'record-closed'}, f'\n{report}'
