# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a crash left is made whole for every reader; nothing is made up; what is lost is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
import io
import os
from pathlib import Path
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys

from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.writer import Writer
import pytest
from rosbags.rosbag2 import Reader
import yaml

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus, Label
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.mcap_scan import McapScan, RECORD, records_of
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.recovery import recover
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import RunRecording
from support.storage_wire import BEGIN, cdr, definition, instant, step_id, transition

TYPES = {
    '/transition': 'boundary_env_ros/msg/Transition',
    '/episode_status': 'boundary_env_ros/msg/EpisodeStatus',
    '/noise': 'std_msgs/msg/ByteMultiArray',
}
RUNNING = EpisodeStatus(
    id=step_id(0), state=EpisodeState.RUNNING, pacing=Pacing.REALTIME, seed=7, stamp=instant()
)


class Recording:
    """A recording that nobody closes; :meth:`crash` gives what the kernel has of it."""

    def __init__(self, folder: Path, **options: int) -> None:
        self.folder = folder
        self.made = RunRecording(
            RunFolder.create(folder / 'alive'),
            contract=load('warehouse_cart'),
            definitions={name: definition(name) for name in TYPES.values()},
            recorder='recorder',
            custom_data={'digest': 'abc'},
            ros_distro='jazzy',
            **options,
        )
        for topic, kind in TYPES.items():
            self.made.add_topic(topic, kind)
        self._sent = 0
        self.hear('/episode_status', cdr(RUNNING))

    def hear(self, topic: str, data: bytes) -> None:
        self._sent += 1
        time = BEGIN + self._sent * 1_000_000
        self.made.write(topic, data, time, time, instant())

    def steps(self, begin: int, end: int) -> None:
        for step in range(begin, end):
            self.hear('/transition', cdr(transition(step)))
            self.hear('/noise', random.Random(step).randbytes(5000))

    def crash(self) -> RunFolder:
        """Return a copy of the files as they are now, which nobody holds open."""
        return RunFolder(shutil.copytree(self.folder / 'alive', self.folder / 'run'))


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording(tmp_path)
    yield made
    made.made.close()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob('*') if p.is_file()}


def by_rosbags(bag: Path) -> list[tuple[str, int, bytes]]:
    with Reader(bag) as reader:
        found = [(c.topic, time, bytes(data)) for c, time, data in reader.messages()]
        assert len(found) == reader.message_count
    return found


def by_mcap(file: Path) -> list[tuple[str, int, bytes]]:
    """Return the messages by the index, all checksums checked."""
    with file.open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True)
        return [(c.topic, m.log_time, m.data) for _, c, m in reader.iter_messages()]


def by_scan(file: Path) -> list[tuple[str, int, bytes]]:
    return [(c.topic, time, data) for c, time, _, data in McapScan(file).messages(lambda _: True)]


def test_others_read_a_recovered_run_up_to_where_its_recorder_died(recording: Recording) -> None:
    recording.steps(0, 30)
    recording.made.flush()
    recording.steps(30, 33)
    run = recording.crash()
    before = by_scan(run.bag / 'bag_0.mcap')
    recovery = recover(run.path)
    assert by_rosbags(run.bag) == by_mcap(run.bag / 'bag_0.mcap') == before
    information = yaml.safe_load((run.bag / 'metadata.yaml').read_text())
    told = information['rosbag2_bagfile_information']
    assert told['message_count'] == len(before) == 61
    assert told['custom_data']['digest'] == 'abc'
    assert 'bag_0.mcap ended at byte' in told['custom_data']['recovered']
    assert told['ros_distro'] == 'jazzy'
    # It stays a record that was cut off.
    source = open_records(run.path)
    assert source.tear.endswith('the rest was recovered')
    assert len(list(source.transitions())) == 30
    assert any('the ending of 1 episode' in sentence for sentence in recovery.lost)
    with EpisodeStore.open(run.episodes) as store:
        (row,) = store.episodes()
    assert row.step_count == 29
    assert {entry.name for entry in run.path.iterdir()} == {
        'bag',
        'contract.yaml',
        'episodes.sqlite',
        'first_transition.json',
    }


def test_file_torn_anywhere_gives_back_all_that_is_readable(
    recording: Recording, tmp_path: Path
) -> None:
    for begin in range(0, 12, 4):
        recording.steps(begin, begin + 4)
        recording.made.flush()
    whole = (tmp_path / 'alive/bag/bag_0.mcap').read_bytes()
    everything = by_scan(tmp_path / 'alive/bag/bag_0.mcap')
    cuts = {0, 3, 8, 20, *random.Random(1).sample(range(len(whole)), 25), len(whole)}
    for cut in sorted(cuts):
        for tail in (b'', bytes(700), b'\x7f' * 90):
            if cut < 8 and tail.strip(b'\0'):
                continue  # It says that it is something else.
            file = tmp_path / 'torn.mcap'
            file.write_bytes(whole[:cut] + tail)
            readable = by_scan(file) if cut >= 8 else []
            recover(file)
            found = by_mcap(file)
            assert found == everything[: len(found)], cut
            assert len(found) >= len(readable), cut
            assert McapScan(file).complete
            assert 'torn.mcap ended at byte' in McapScan(file).tear


def test_file_of_another_recorder_keeps_what_stands_outside_of_chunks(tmp_path: Path) -> None:
    file = tmp_path / 'other.mcap'
    with file.open('wb') as stream:
        writer = Writer(stream, use_chunking=False)
        writer.start('ros2', 'another')
        schema = writer.register_schema('std_msgs/msg/String', 'ros2msg', b'string data')
        topic = writer.register_channel('/chatter', 'cdr', schema)
        writer.add_attachment(1, 2, 'map.pgm', 'image/x-portable-graymap', b'P5')
        writer.add_metadata('where', {'hall': '7'})
        for number in range(5):
            writer.add_message(topic, 10 + number, b'some', 10 + number, sequence=number + 1)
        writer.flush()
    (repaired,) = recover(file).done
    assert repaired == 'other.mcap is whole, with 5 messages'
    with file.open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert [m.sequence for *_, m in reader.iter_messages()] == [1, 2, 3, 4, 5]
        assert [kept.data for kept in reader.iter_attachments()] == [b'P5']
        kept = {kept.name: kept.metadata for kept in reader.iter_metadata()}
    assert kept['where'] == {'hall': '7'}
    assert kept['boundary_env_ros.recovered']['tear'].startswith('other.mcap ended at byte')


def test_second_recovery_finds_nothing_to_do(recording: Recording) -> None:
    recording.steps(0, 5)
    recording.made.flush()
    run = recording.crash()
    assert recover(run.path).done
    before = contents(run.path)
    assert recover(run.path).done == ()
    assert contents(run.path) == before


def test_whole_run_is_not_touched(recording: Recording) -> None:
    recording.steps(0, 5)
    recording.made.close()
    run = recording.crash()
    before = contents(run.path)
    assert recover(run.path).done == ()
    assert contents(run.path) == before


def damaged(data: bytes, chunk: int, what: str) -> bytes:
    """Return a file with one byte of a chunk changed: of its content, or of its length."""
    with io.BytesIO(data) as stream:
        index = make_reader(stream).get_summary().chunk_indexes[chunk]
    changed = bytearray(data)
    at = index.chunk_length // 2 if what == 'content' else 1
    changed[index.chunk_start_offset + at] ^= 0xFF
    return bytes(changed)


@pytest.mark.parametrize('what', ['content', 'length'])
@pytest.mark.parametrize('chunk', [0, 2, -1])
def test_closed_file_loses_only_the_chunk_that_was_damaged(
    recording: Recording, capsys: pytest.CaptureFixture[str], chunk: int, what: str
) -> None:
    for begin in range(0, 50, 10):
        recording.steps(begin, begin + 10)
        recording.made.flush()
    recording.made.close()
    run = recording.crash()
    file = run.bag / 'bag_0.mcap'
    whole, everything = file.read_bytes(), by_scan(file)
    data = damaged(whole, chunk, what)
    file.write_bytes(data)
    with pytest.raises(
        RecordError, match='damaged after it was written .* `boundary-env bag recover'
    ):
        by_scan(file)
    assert main(['bag', 'recover', str(run.path)]) == 0
    assert 'Lost: what ' in capsys.readouterr().out
    found = by_mcap(file)
    missing = [message for message in everything if message not in found]
    assert found == [message for message in everything if message in found]
    # A wrong length may lose nothing: the chunk says once more how long its content is.
    assert missing or what == 'length'
    assert len(missing) <= len(everything) / 4
    assert by_scan(file) == by_rosbags(run.bag) == found
    assert file.with_name('bag_0.mcap.torn').read_bytes() == data
    source = open_records(run.path)
    assert 'bag_0.mcap from byte' in source.tear
    assert recover(run.path).done == ()


def test_a_summary_that_is_damaged_in_one_record_still_says_the_rest(recording: Recording) -> None:
    recording.steps(0, 30)
    recording.made.flush()
    recording.steps(30, 33)
    run = recording.crash()
    recover(run.path)
    file = run.bag / 'bag_0.mcap'
    whole, data = McapScan(file), bytearray(file.read_bytes())
    assert whole.tear
    assert whole.chunks
    (start,) = struct.unpack_from('<Q', data, len(data) - 28)  # of the footer
    with file.open('rb') as stream:
        places = {
            opcode: offset for offset, opcode, _ in records_of(stream, start, len(data) - 37)
        }
    # The length of the last thing that the statistics say.
    struct.pack_into('<I', data, places[Opcode.STATISTICS] + RECORD.size + 42, 2**32 - 1)
    file.write_bytes(data)
    found = McapScan(file)
    assert (found.tear, found.holes, found.chunks) == (whole.tear, whole.holes, whole.chunks)
    assert found.contents() == whole.contents()


@pytest.mark.parametrize('named', [True, False], ids=['file', 'folder'])
def test_of_a_database_nothing_is_to_be_recovered(tmp_path: Path, named: bool) -> None:
    file = tmp_path / 'bag_0.db3'
    file.write_bytes(b'SQLite format 3\0')
    with pytest.raises(RecordError, match='is a bag in SQLite, which is read as it is'):
        recover(file if named else tmp_path)


def test_run_that_is_being_recorded_is_refused(recording: Recording) -> None:
    recording.steps(0, 5)
    recording.made.flush()
    before = contents(recording.folder / 'alive')
    with pytest.raises(RecordError, match='is being written.*End its recorder first'):
        recover(recording.folder / 'alive')
    assert contents(recording.folder / 'alive') == before


def test_disk_that_is_full_leaves_what_was_there(
    recording: Recording, limit_files: Callable[[int], None]
) -> None:
    recording.steps(0, 30)
    recording.made.flush()
    run = recording.crash()
    before = contents(run.path)
    limit_files(50_000)
    with pytest.raises(RecordError, match='as much space as bag_0.mcap has; free it'):
        recover(run.path)
    assert contents(run.path) == before


def test_bag_without_its_metadata_gets_it_from_its_files(tmp_path: Path) -> None:
    recording = Recording(tmp_path, split_size=100_000)
    recording.steps(0, 60)
    recording.made.flush()
    run = recording.crash()
    files = sorted(file.name for file in run.bag.glob('*.mcap'))
    assert len(files) > 2
    before = [message for file in files for message in by_scan(run.bag / file)]
    (run.bag / 'metadata.yaml').unlink()
    recover(run.path)
    assert sorted(by_rosbags(run.bag)) == sorted(before)
    with Reader(run.bag) as bag:
        by_topic = {c.topic: c for c in bag.connections}
        assert by_topic['/transition'].msgcount == 60
        assert by_topic['/transition'].digest == definition(TYPES['/transition'])[1]
    recording.made.close()


def test_index_that_is_damaged_is_made_anew_from_the_records(recording: Recording) -> None:
    label = EpisodeLabel(id=step_id(3), label=Label.SUCCESS, user='ada', note='', stamp=instant())
    recording.steps(0, 10)
    end = {'ending': 'success', 'declared_by': 'task:go_to_goal'}
    recording.hear('/transition', cdr(replace(transition(10), terminated=True, **end)))
    recording.made.flush()
    run = recording.crash()
    with EpisodeStore.open(run.episodes, to_label=True) as store:
        store.label(label, now=BEGIN)
        (expected,) = store.episodes()
    run.episodes.write_bytes(run.episodes.read_bytes()[:5000])
    recovery = recover(run.path)
    with EpisodeStore.open(run.episodes) as store:
        (row,) = store.episodes()
    assert (row.ending, row.step_count, row.episode_return, row.environment) == (
        'success',
        10,
        expected.episode_return,
        'warehouse_cart',
    )
    assert row.labels == ()
    assert any('labels on episodes that only episodes.sqlite had' in s for s in recovery.lost)
    assert (run.path / 'episodes.sqlite.torn').stat().st_size == 5000


@pytest.mark.parametrize('closed', [True, False])
def test_index_that_is_not_there_is_made(recording: Recording, closed: bool) -> None:
    recording.steps(0, 3)
    recording.made.close() if closed else recording.made.flush()
    run = recording.crash()
    for file in run.path.glob('episodes.sqlite*'):
        file.unlink()
    assert not any('labels' in sentence for sentence in recover(run.path).lost)
    with EpisodeStore.open(run.episodes) as store:
        assert store.episodes()[0].step_count == 2


def test_index_of_another_version_is_not_touched(recording: Recording) -> None:
    recording.steps(0, 3)
    recording.made.close()
    run = recording.crash()
    with closing(sqlite3.connect(run.episodes)) as database:
        database.execute('PRAGMA user_version = 99')
    before = contents(run.path)
    with pytest.raises(RecordError, match='another version .expected 3, got 99'):
        recover(run.path)
    assert contents(run.path) == before


def test_bytes_that_cannot_be_read_are_kept_beside_the_new_file(recording: Recording) -> None:
    recording.steps(0, 5)
    recording.made.flush()
    run = recording.crash()
    file = run.bag / 'bag_0.mcap'
    torn = file.read_bytes() + b'\x7f' * 300
    file.write_bytes(torn)
    recovery = recover(run.path)
    assert 'the last 300 bytes of bag_0.mcap; the old file is kept as bag_0.mcap.torn' in (
        recovery.lost
    )
    assert (run.bag / 'bag_0.mcap.torn').read_bytes() == torn
    assert len(by_rosbags(run.bag)) == len(by_mcap(file)) == 11
    # So is what a second crash damages, beside the first.
    again = file.read_bytes()[:-200] + b'\x7f' * 300
    file.write_bytes(again)
    assert any(
        'the old file is kept as bag_0.mcap.torn.2' in lost for lost in recover(run.path).lost
    )
    assert (run.bag / 'bag_0.mcap.torn').read_bytes() == torn
    assert (run.bag / 'bag_0.mcap.torn.2').read_bytes() == again


def test_marks_in_the_index_survive(recording: Recording) -> None:
    recording.steps(0, 3)
    recording.made.flush()
    run = recording.crash()
    label = EpisodeLabel(id=step_id(2), label=Label.FAILURE, user='ada', note='', stamp=instant())
    with EpisodeStore.open(run.episodes, to_label=True) as store:
        store.label(label, now=BEGIN)
    recover(run.path)
    with EpisodeStore.open(run.episodes) as store:
        assert store.episodes()[0].labels == (label,)


_RECORD_FOR_EVER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from support.storage_wire import cdr, transition
from test_recovery import Recording
recording = Recording(Path({folder!r}), split_size=300_000)
step = 0
while True:
    recording.steps(step, step + 10)
    step += 10
    recording.made.flush()
    print(step, flush=True)
"""


def test_killed_recorder_loses_nothing_that_it_had_flushed(tmp_path: Path) -> None:
    path = sys.path
    program = _RECORD_FOR_EVER.format(path=path, folder=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, '-c', program], stdout=subprocess.PIPE, text=True, bufsize=1
    ) as child:
        assert child.stdout is not None
        promised = [int(child.stdout.readline()) for _ in range(12)][-1]
        os.kill(child.pid, signal.SIGKILL)
    run = RunFolder(tmp_path / 'alive')
    recover(run.path)
    steps = [t.id.step for t in open_records(run.path).transitions()]
    assert steps == list(range(len(steps)))
    assert len(steps) >= promised
    assert len(by_rosbags(run.bag)) == sum(open_records(run.path).topics().values())
    with EpisodeStore.open(run.episodes) as store:
        assert store.episodes()[0].step_count >= promised - 1


def test_command_says_what_it_did_and_what_is_lost(
    recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    recording.steps(0, 3)
    recording.made.flush()
    run = recording.crash()
    assert main(['bag', 'recover', str(run.path)]) == 0
    out = capsys.readouterr().out
    assert 'bag_0.mcap is whole, with 7 messages.\n' in out
    assert 'Lost: what came after the last message: bag_0.mcap ended at byte ' in out
    assert main(['bag', 'recover', str(run.path)]) == 0
    assert 'is whole; nothing was changed.' in capsys.readouterr().out
    assert main(['bag', 'recover', str(run.path / 'nowhere')]) == 2
    assert 'does not exist' in capsys.readouterr().err
