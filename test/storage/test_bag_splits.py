# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bag of several files is one bag, and each of its files is one too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import random

from mcap.reader import make_reader
import pytest
from rosbags.rosbag2 import Reader
import yaml

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.mcap_log import McapLog, sync
from boundary_env_ros.storage.mcap_scan import McapScan
from boundary_env_ros.storage.record_reader import open_records
from support.storage_wire import BEGIN, cdr, definition, message_cdr, transition

TRANSITION = 'boundary_env_ros/msg/Transition'
NOISE = 'std_msgs/msg/ByteMultiArray'
BOOL = 'std_msgs/msg/Bool'
SECOND = 1_000_000_000


def log_of(folder: Path, **options: float) -> McapLog:
    log = McapLog(folder, chunk_size=20_000, **options)  # type: ignore[arg-type]
    for topic, kind in (('/transition', TRANSITION), ('/noise', NOISE), ('/latched', BOOL)):
        log.add_topic(topic, kind, *definition(kind))
    return log


def fill(log: McapLog, steps: int, begin: int = 0) -> None:
    for step in range(begin, begin + steps):
        time = BEGIN + step * SECOND // 10
        log.write('/noise', random.Random(step).randbytes(3000), time, time)
        log.write('/transition', cdr(transition(step)), time, time)


def information(folder: Path) -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load((folder / 'metadata.yaml').read_text())[
        'rosbag2_bagfile_information'
    ]
    return loaded


def test_files_split_by_size_are_one_bag_for_every_reader(tmp_path: Path) -> None:
    with log_of(tmp_path / 'bag', split_size=100_000) as log:
        fill(log, 200)
        assert log.messages == 400
    told = information(tmp_path / 'bag')
    files = [f'bag_{i}.mcap' for i in range(log.files)]
    assert log.files >= 5
    assert told['relative_file_paths'] == files
    assert sorted(file.name for file in (tmp_path / 'bag').glob('*.mcap')) == sorted(files)
    assert all((tmp_path / 'bag' / f).stat().st_size < 140_000 for f in files)
    assert log.size == sum((tmp_path / 'bag' / f).stat().st_size for f in files)
    with Reader(tmp_path / 'bag') as bag:
        assert bag.message_count == told['message_count'] == 400
        assert bag.start_time == BEGIN
        assert bag.duration == 199 * SECOND // 10 + 1
        by_topic = {c.topic: c.msgcount for c in bag.connections}
        assert by_topic == {'/transition': 200, '/noise': 200, '/latched': 0}
        times = [time for _, time, _ in bag.messages()]
        assert times == sorted(times)
        assert len(times) == 400
    source = open_records(tmp_path / 'bag')
    assert source.complete
    assert sum(source.topics().values()) == 400
    assert [t.id.step for t in source.transitions()] == list(range(200))


def test_each_file_tells_of_itself(tmp_path: Path) -> None:
    with log_of(tmp_path / 'bag', split_size=100_000) as log:
        fill(log, 100)
    told = information(tmp_path / 'bag')
    steps: list[int] = []
    for file in told['files']:  # type: ignore[attr-defined]
        path = tmp_path / 'bag' / file['path']
        with path.open('rb') as stream:
            reader = make_reader(stream, validate_crcs=True)
            summary = reader.get_summary()
            assert summary is not None
            assert summary.statistics is not None
            assert summary.statistics.message_count == file['message_count']
            start = file['starting_time']['nanoseconds_since_epoch']
            assert summary.statistics.message_start_time == start
            end = start + file['duration']['nanoseconds']
            assert summary.statistics.message_end_time == end
            assert {c.topic for c in summary.channels.values()} == {
                '/transition',
                '/noise',
                '/latched',
            }
            (kept,) = reader.iter_metadata()
        inner = yaml.safe_load(kept.metadata['serialized_metadata'])
        assert inner['relative_file_paths'] == [file['path']]
        assert inner['message_count'] == file['message_count']
        steps += [t.id.step for t in open_records(path).records(Transition)]
    assert steps == list(range(100))


def test_what_is_kept_begins_every_further_file(tmp_path: Path) -> None:
    with log_of(tmp_path / 'bag', split_size=100_000) as log:
        old, one, other = (message_cdr(BOOL, data=flag) for flag in (False, True, True))
        for key, data in (('a', old), ('b', other), ('a', one)):
            log.write('/latched', data, BEGIN, BEGIN - 5)
            log.keep('/latched', key, data, BEGIN - 5)
        fill(log, 60)
        assert log.messages == 3 + 120
    assert log.files == 3
    for number, expected in enumerate((3, 2, 2)):
        file = tmp_path / f'bag/bag_{number}.mcap'
        found = [
            (time, published, data)
            for channel, time, published, data in McapScan(file).messages(lambda _: True)
            if channel.topic == '/latched'
        ]
        assert len(found) == expected
        if number:
            begin = McapScan(file).contents().start
            assert found == [(begin, BEGIN - 5, one), (begin, BEGIN - 5, other)]
    assert sum(open_records(tmp_path / 'bag').topics().values()) == 3 + 120 + 4


def test_topic_that_comes_later_is_in_its_file_and_in_those_after_it(tmp_path: Path) -> None:
    with log_of(tmp_path / 'bag', split_size=100_000) as log:
        fill(log, 40)
        assert log.files == 2
        log.add_topic('/late', BOOL, *definition(BOOL))
        fill(log, 40, 40)
        assert log.files == 3
        log.write('/late', message_cdr(BOOL), BEGIN + 9 * SECOND, BEGIN)
    counts = [
        {channel.topic: n for channel, n in McapScan(file).contents().counts.items()}
        for file in sorted((tmp_path / 'bag').glob('*.mcap'))
    ]
    assert [count.get('/late') for count in counts] == [None, 0, 1]


def test_crash_leaves_complete_files_and_a_torn_one(tmp_path: Path) -> None:
    log = log_of(tmp_path / 'bag', split_size=100_000)
    fill(log, 100)
    log.flush()
    told = information(tmp_path / 'bag')
    assert told['relative_file_paths'] == [f'bag_{i}.mcap' for i in range(log.files)]
    source = open_records(tmp_path / 'bag')
    assert source.tear == f'bag_{log.files - 1}.mcap was not closed by its writer'
    assert [t.id.step for t in source.transitions()] == list(range(100))
    log.close()


def test_tenth_file_comes_after_the_ninth_without_metadata(tmp_path: Path) -> None:
    with log_of(tmp_path / 'bag', split_size=20_000) as log:
        fill(log, 60)
    assert log.files == 12
    (tmp_path / 'bag/metadata.yaml').unlink()
    steps = [t.id.step for t in open_records(tmp_path / 'bag').transitions()]
    assert steps == list(range(60))


def test_full_disk_leaves_the_files_before_and_the_present_one(
    tmp_path: Path, limit_files: Callable[[int], None]
) -> None:
    log = log_of(tmp_path / 'bag', split_size=100_000)
    fill(log, 100)
    done = log.files - 1
    limit_files(30_000)
    with pytest.raises(RecordError, match='record again') as error:
        fill(log, 100, 100)
    assert f'{log.saved_messages} messages' in str(error.value)
    saved = log.saved_messages
    log.close()
    source = open_records(tmp_path / 'bag')
    assert sum(1 for _ in source.messages()) == saved
    assert all(McapScan(tmp_path / f'bag/bag_{i}.mcap').complete for i in range(done))


def test_what_was_flushed_can_be_waited_for_while_the_writing_goes_on(tmp_path: Path) -> None:
    log = log_of(tmp_path / 'bag', split_size=50_000)
    fill(log, 200)
    descriptors = log.unsynced()
    fill(log, 200, 200)
    sync(descriptors)
    sync(log.unsynced())
    log.close()
    with pytest.raises(RecordError, match='is closed, with'):
        log.unsynced()
    assert sum(open_records(tmp_path / 'bag').topics().values()) == 800
