# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages come in the order of their log times, in whatever order files have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
import sqlite3
import struct
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import Writer
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as BagWriter

from boundary_env_ros.storage import size_limits
from boundary_env_ros.storage.mcap_scan import McapScan
from boundary_env_ros.storage.record_reader import open_bag
from support.storage_wire import BEGIN, typestore

KIND = 'std_msgs/msg/UInt64'
MS, S = 10**6, 10**9

#: Topic, log time and number of a message.
Sent = tuple[str, int, int]


def wire(number: int) -> bytes:
    return b'\0\1\0\0' + struct.pack('<Q', number)


def number_of(data: bytes) -> int:
    return int(struct.unpack_from('<Q', data, 4)[0])


def write_mcap(
    path: Path, messages: Iterable[Sent], *, chunk: int = 200, closed: bool = True
) -> Path:
    """Write messages as they come; 0: without chunks."""
    with path.open('wb') as file:
        writer = Writer(file, chunk_size=max(1, chunk), use_chunking=chunk > 0)
        writer.start('ros2', 'a converter')
        definition = typestore().generate_msgdef(KIND, ros_version=2)[0].encode()
        schema = writer.register_schema(KIND, 'ros2msg', definition)
        channels: dict[str, int] = {}
        for topic, time, number in messages:
            if topic not in channels:
                channels[topic] = writer.register_channel(topic, 'cdr', schema)
            writer.add_message(channels[topic], time, wire(number), time)
        writer.finish()
    if not closed:
        # A reader then knows nothing but the chunks.
        data = path.read_bytes()
        path.write_bytes(data[: data.rindex(b'\x0f\x04\0\0\0\0\0\0\0')])
    return path


def write_sqlite(folder: Path, messages: Iterable[Sent]) -> Path:
    with BagWriter(folder, version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        connections = {}
        for topic, time, number in messages:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, KIND, typestore=typestore())
            writer.write(connections[topic], time, wire(number))
    return folder


def read(path: Path) -> list[Sent]:
    return [(m.topic, m.log_time, number_of(m.data)) for m in open_bag(path).messages()]


@st.composite
def bags(draw: st.DrawFn) -> list[list[Sent]]:
    """
    Draw what one to three files have: topic after topic, or as late as recorders are.

    No two messages have one time, and of two of a topic none is later than it may be.
    """
    times = draw(st.lists(st.integers(0, 60_000), min_size=1, max_size=80, unique=True))
    topics = draw(st.lists(st.sampled_from('abc'), min_size=len(times), max_size=len(times)))
    late = st.integers(0, 900) if draw(st.booleans()) else st.just(0)
    sent = [
        (topic, BEGIN + time * MS, number, time + draw(late))
        for number, (topic, time) in enumerate(zip(topics, times, strict=True))
    ]
    by_topic = draw(st.booleans())
    written = sorted(sent, key=lambda item: (item[0] if by_topic else '', item[3]))
    files: list[list[Sent]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for item in written:
        files[draw(st.integers(0, len(files) - 1))].append(item[:3])
    return [file for file in files if file]


@given(files=bags(), chunk=st.sampled_from([0, 60, 400, 10**6]), closed=st.booleans())
def test_order_is_that_of_other_readers(
    files: list[list[Sent]], chunk: int, *, closed: bool
) -> None:
    with TemporaryDirectory() as folder:
        bag, theirs = Path(folder) / 'bag', list[Sent]()
        bag.mkdir()
        for number, messages in enumerate(files):
            path = write_mcap(bag / f'b_{number}.mcap', messages, chunk=chunk)
            with path.open('rb') as file:
                found = make_reader(file).iter_messages(log_time_order=True)
                one = [(c.topic, m.log_time, number_of(m.data)) for _, c, m in found]
            if len(files) == 1:
                assert read(path) == one
            theirs += one
            write_mcap(path, messages, chunk=chunk, closed=closed)
        assert read(bag) == sorted(theirs, key=lambda item: item[1])
        rows = write_sqlite(Path(folder) / 'rows', files[0])
        with AnyReader([rows], default_typestore=typestore()) as reader:
            known = [(c.topic, t, number_of(data)) for c, t, data in reader.messages()]
        assert read(rows) == known


def chunks_of(seconds: Sequence[int], *, late: int) -> list[list[Sent]]:
    """Return the messages of two topics at 20 Hz, some of them late, cut after so many seconds."""
    chunks, begin = [], 0
    for length in seconds:
        ticks = range(begin * 20, (begin := begin + length) * 20)
        written = sorted(ticks, key=lambda tick: tick * 50 + (late if tick % 7 == 0 else 0))
        chunks.append([(t, BEGIN + i * 50 * MS + (t == 'b'), i) for i in written for t in 'ab'])
    return chunks


@given(
    order=st.builds(
        chunks_of,
        st.lists(st.integers(2, 4), min_size=2, max_size=8),
        late=st.sampled_from([0, 400]),
    ).flatmap(st.permutations),
    chunk=st.sampled_from([60, 400, 10**6]),
    closed=st.booleans(),
)
def test_chunks_that_stand_in_any_order_are_no_clock_that_was_set(
    order: list[list[Sent]], chunk: int, *, closed: bool
) -> None:
    with TemporaryDirectory() as folder:
        written = [message for part in order for message in part]
        path = write_mcap(Path(folder) / 'x.mcap', written, chunk=chunk)
        with path.open('rb') as file:
            found = make_reader(file).iter_messages(log_time_order=True)
            theirs = [(c.topic, m.log_time, number_of(m.data)) for _, c, m in found]
        write_mcap(path, written, chunk=chunk, closed=closed)
        assert read(path) == theirs
        rows = write_sqlite(Path(folder) / 'rows', written)
        assert read(rows) == theirs


@pytest.mark.parametrize('chunk', [0, 100, 10**6])
def test_a_clock_that_was_set_while_it_was_recorded_recorded_the_same_times_twice(
    tmp_path: Path, chunk: int
) -> None:
    before, after = (
        [('a', BEGIN + i * 50 * MS + begin, i) for i in range(80)] for begin in (0, 2 * S + MS)
    )
    assert read(write_mcap(tmp_path / 'x.mcap', [*before, *after], chunk=chunk)) == before + after
    assert read(write_sqlite(tmp_path / 'rows', [*before, *after])) == before + after


RESETS: Sequence[Sent] = [
    (topic, run * S + tick * 100 * MS, run * 100 + tick)
    for run in (0, 0, 0)
    for tick in range(40)
    for topic in 'ab'
]


@pytest.mark.parametrize('chunk', [0, 100, 10**6])
@pytest.mark.parametrize('closed', [True, False])
def test_a_clock_that_is_set_back_sorts_nothing_among_what_was_before(
    tmp_path: Path, chunk: int, closed: bool
) -> None:
    path = write_mcap(tmp_path / 'x.mcap', RESETS, chunk=chunk, closed=closed)
    assert read(path) == list(RESETS)


def test_a_clock_that_is_set_back_is_seen_in_a_database(tmp_path: Path) -> None:
    assert read(write_sqlite(tmp_path / 'rows', RESETS)) == list(RESETS)


@pytest.mark.parametrize(('begin', 'sorts'), [(0, False), (BEGIN, True)])
def test_files_that_overlap_are_merged_unless_a_simulator_was_reset_between_them(
    tmp_path: Path, begin: int, sorts: bool
) -> None:
    files = [[('a', begin + (2 * i + n) * 100 * MS, i) for i in range(40)] for n in (1, 0)]
    for number, messages in enumerate(files):
        write_mcap(tmp_path / f'b_{number}.mcap', messages)
    written = [message for messages in files for message in messages]
    assert read(tmp_path) == (sorted(written, key=lambda item: item[1]) if sorts else written)


def test_chunks_that_do_not_fit_into_memory_together_come_late_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [(topic, BEGIN + i * 100 * MS, i) for topic in 'abc' for i in range(50)]
    path = write_mcap(tmp_path / 'x.mcap', messages, chunk=2000)
    monkeypatch.setattr(size_limits, 'OPEN', 4000)
    found = read(path)
    assert sorted(found) == sorted(messages)
    assert found != sorted(messages, key=lambda item: item[1])


def test_a_file_whose_times_are_chaos_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_limits, 'ERAS', 5)
    messages = [('a', BEGIN + (i * 7919 % 101) * S, i) for i in range(101)]
    expected = sorted(messages, key=lambda item: item[1])
    assert read(write_mcap(tmp_path / 'x.mcap', messages, chunk=10**6)) == expected
    assert read(write_sqlite(tmp_path / 'rows', messages)) == expected


def test_damage_in_one_chunk_is_told_behind_what_stands_before_it(tmp_path: Path) -> None:
    messages = [(topic, BEGIN + i * 100 * MS, i) for topic in 'ab' for i in range(50)]
    path = write_mcap(tmp_path / 'x.mcap', messages, closed=False)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])
    bag = open_bag(path)
    found = [(m.topic, m.log_time, number_of(m.data)) for m in bag.messages()]
    assert found == sorted(found, key=lambda item: item[1])
    assert {topic for topic, _, _ in found} == {'a', 'b'}
    assert 'x.mcap is torn at byte' in bag.tear


RECORDS = sorted((Path(__file__).parents[1] / 'records').glob('*/*/bag'))


@pytest.mark.parametrize('bag', RECORDS, ids=lambda bag: bag.parent.name)
def test_what_our_recorder_wrote_comes_in_the_order_in_which_it_had_it(bag: Path) -> None:
    files = sorted(bag.glob('*.mcap'))
    stored = [(c.topic, d) for f in files for c, _, _, d in McapScan(f).messages(lambda _: True)]
    assert [(m.topic, m.data) for m in open_bag(bag).messages()] == stored


# What a recorder that was killed leaves ----------------------------------------------------------


INSERT = 'INSERT INTO messages(topic_id, timestamp, data) VALUES(?,?,?)'


def killed(folder: Path, *, checkpoint: bool, more: int = 0) -> Path:
    """
    Return a database whose recorder died, with all or half of it in the log beside it.

    What is checkpointed may be more; each message in the log is a transaction.
    """
    rows = write_sqlite(folder / 'rows', [('a', BEGIN + i, i) for i in range(10)])
    (written,) = rows.glob('*.db3')
    left = folder / 'left'
    left.mkdir()
    with closing(sqlite3.connect(written)) as database:
        database.execute('PRAGMA journal_mode=WAL')
        database.execute('PRAGMA wal_autocheckpoint=0')
        if checkpoint:
            database.execute('DELETE FROM messages WHERE id > 5')
            database.executemany(INSERT, [(1, BEGIN, wire(0))] * more)
            database.commit()
            database.execute('PRAGMA wal_checkpoint(TRUNCATE)')
        for i in range(10, 20):
            row = (1, BEGIN + i, wire(i))
            database.execute(INSERT, row)
            database.commit()
        for file in (written, written.with_name(f'{written.name}-wal')):
            (left / file.name).write_bytes(file.read_bytes())
    return left


@pytest.mark.parametrize('checkpoint', [True, False])
def test_what_stands_in_the_log_of_a_database_is_read_and_nothing_is_written_beside_it(
    tmp_path: Path, checkpoint: bool
) -> None:
    left = killed(tmp_path, checkpoint=checkpoint)
    before = {file: file.read_bytes() for file in left.iterdir()}
    numbers = [*range(5 if checkpoint else 10), *range(10, 20)]
    assert [number for _, _, number in read(left)] == numbers
    assert {file: file.read_bytes() for file in left.iterdir()} == before


def log_of(left: Path) -> Path:
    (log,) = left.glob('*-wal')
    return log


PAGE = 24 + 4096


@pytest.mark.parametrize(
    ('damage', 'said', 'left_of_it'),
    [
        (lambda data: bytes(4096), 'nothing of {} can be read', 0),
        (lambda data: data[:18] + b'salt' + data[22:], 'nothing of {} can be read (20 frames)', 0),
        (lambda data: data[:-10], 'of 20 frames of {} only the first 18 can be read', 9),
        (lambda data: data[: 32 + 8 * PAGE], '', 4),
        (lambda data: b'', '', 0),
        (
            lambda data: data[: 32 + 10 * PAGE + 99] + b'?' + data[32 + 10 * PAGE + 100 :],
            'of 20 frames of {} only the first 10 can be read',
            5,
        ),
        # What stood in a longer log before this one was begun anew.
        (lambda data: data + (b'\0\0\0\1' + bytes(4) + b'before_!').ljust(PAGE, b'?') * 3, '', 10),
    ],
    ids=['zeros', 'salt', 'torn', 'whole transactions', 'empty', 'damaged', 'leftovers'],
)
def test_what_cannot_be_read_of_the_log_of_a_database_is_told(
    tmp_path: Path, damage: Callable[[bytes], bytes], said: str, left_of_it: int
) -> None:
    left = killed(tmp_path, checkpoint=True)
    log = log_of(left)
    log.write_bytes(damage(log.read_bytes()))
    tear = open_bag(left).tear
    assert (said.format(log.name) in tear) if said else not tear
    assert [number for _, _, number in read(left)] == [*range(5), *range(10, 10 + left_of_it)]


def test_a_log_of_another_database_is_left_aside_and_told(tmp_path: Path) -> None:
    (one := tmp_path / 'one').mkdir()
    (two := tmp_path / 'two').mkdir()
    left, other = killed(one, checkpoint=True), killed(two, checkpoint=True, more=2000)
    log = log_of(left)
    log.write_bytes(log_of(other).read_bytes())
    assert f'{log.name} cannot be brought into' in open_bag(left).tear
    assert [number for _, _, number in read(left)] == [*range(5)]
