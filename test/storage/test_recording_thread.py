# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A disk that is slow, full or gone: nobody waits for it, and every loss is counted and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
import json
import os
from pathlib import Path
import subprocess
import sys
import threading
import time

import pytest
import yaml

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import RecordError, RequestRejected
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.record_chain import CHAIN_TOPIC
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.recording_thread import RecordingThread
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import RunRecording
from support.storage_wire import BEGIN, cdr, decision, definition, instant, message_cdr, transition

TYPES = {
    '/transition': 'boundary_env_ros/msg/Transition',
    '/gate_decision': 'boundary_env_ros/msg/GateDecision',
    '/contact': 'std_msgs/msg/Bool',
}
CONTACT = message_cdr('std_msgs/msg/Bool', data=True)
SOON = 20.0


class Disk(RunRecording):
    """A recording on a disk that can be made to hang."""

    def __init__(self, folder: Path, **options: int) -> None:
        super().__init__(
            RunFolder.create(folder),
            contract=load('warehouse_cart'),
            definitions={name: definition(name) for name in TYPES.values()},
            recorder='recorder',
            **options,
        )
        self.answers = threading.Event()
        self.answers.set()
        for topic, kind in TYPES.items():
            self.add_topic(topic, kind)

    def write(
        self, topic: str, data: bytes, received: int, published: int, now: ClockReading
    ) -> None:
        assert self.answers.wait(SOON)
        super().write(topic, data, received, published, now)


def thread_of(disk: RunRecording, queue_size: int = 10**6, **options: float) -> RecordingThread:
    return RecordingThread(disk, queue_size=queue_size, **options)


def send(
    thread: RecordingThread, topic: str, data: bytes, number: int = 0, *, vital: bool = False
) -> bool:
    return thread.write(topic, data, BEGIN + number, BEGIN, instant(), vital=vital)


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, f'Expected {what} within {SOON} s.'
        time.sleep(0.001)


def metadata(run: RunFolder) -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load((run.bag / 'metadata.yaml').read_text())[
        'rosbag2_bagfile_information'
    ]
    return loaded


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path / 'run')
    yield made
    made.answers.set()
    made.close()


def test_everything_is_written_in_its_order(disk: Disk) -> None:
    thread = thread_of(disk)
    for step in range(300):
        send(thread, '/gate_decision', cdr(decision(step + 1)), 2 * step, vital=True)
        send(thread, '/transition', cdr(transition(step)), 2 * step + 1, vital=True)
    thread.close(SOON)
    source = open_records(disk.run.path)
    assert source.complete
    topics = ('/gate_decision', '/transition')
    assert [m.log_time - BEGIN for m in source.messages(topics)] == list(range(600))
    assert (thread.lost, thread.failure) == (0, None)


def test_written_is_with_the_kernel_though_nothing_follows(disk: Disk) -> None:
    thread = thread_of(disk, flush_interval=0.02)
    send(thread, '/transition', cdr(transition(0)), vital=True)
    until(
        lambda: list(open_records(disk.run.path).records(Transition)), 'the transition on the disk'
    )
    thread.close(SOON)


def test_disk_that_hangs_keeps_nobody_waiting_and_costs_sensors_first(disk: Disk) -> None:
    disk.answers.clear()
    thread = thread_of(disk, queue_size=20_000)
    taken = sum(send(thread, '/contact', CONTACT, i) for i in range(200))
    assert 0 < taken < 200
    # The records of the boundary have as much room again.
    assert send(thread, '/transition', cdr(transition(0)), 500, vital=True)
    assert thread.lost == 200 - taken
    until(lambda: thread.behind > 0.05, 'a disk that is behind')
    with pytest.raises(RecordError, match=r'did not answer within 0.01 s'):
        thread.ask(lambda: None, 0.01)
    disk.answers.set()
    until(lambda: thread.behind == 0.0, 'a disk that has caught up')
    assert send(thread, '/contact', CONTACT, 1000)
    thread.close(SOON)
    assert thread.failure is None
    assert thread.lost == disk.lost == 200 - taken
    counts = open_records(disk.run.path).topics()
    assert {name: messages for (name, _), messages in counts.items()} == {
        CHAIN_TOPIC: 1,
        '/contact': taken + 1,
        '/gate_decision': 0,
        '/transition': 1,
    }
    lost = metadata(disk.run)['custom_data']['lost']  # type: ignore[index]
    assert json.loads(lost) == {'/contact': 200 - taken}


def test_recording_without_room_for_its_own_records_is_over(disk: Disk) -> None:
    disk.answers.clear()
    thread = thread_of(disk, queue_size=20_000)
    data = cdr(transition(0))
    sent = 0
    while send(thread, '/transition', data, vital=True):
        sent += 1
    assert 'Expected a disk that takes what is recorded' in str(thread.failure)
    with pytest.raises(RecordError, match='and .* messages wait.*boundary-env bag recover'):
        thread.close(0.01)
    disk.answers.set()
    thread.close(SOON)
    assert thread.lost == disk.lost > 0
    assert disk.messages + disk.lost == sent + 1
    assert open_records(disk.run.path).complete


def test_one_message_that_is_larger_than_the_queue_is_written(disk: Disk) -> None:
    thread = thread_of(disk, queue_size=1000)
    assert send(thread, '/contact', bytes(50_000))
    thread.close(SOON)
    assert disk.messages == 1


def test_who_asks_gets_the_answer_or_the_error(disk: Disk) -> None:
    thread = thread_of(disk)
    assert thread.ask(lambda: disk.messages, SOON) == 0
    with pytest.raises(RequestRejected, match='none was begun'):
        thread.ask(lambda: disk.label('', 1, 'ada', '', instant()), SOON)
    assert thread.failure is None
    thread.close(SOON)
    with pytest.raises(RecordError, match='The recording to .* is over'):
        thread.ask(lambda: disk.messages, SOON)


def test_disk_is_waited_for_at_the_declared_interval(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync

    def spy(descriptor: int) -> None:
        synced.append(Path(f'/proc/self/fd/{descriptor}').readlink().name)
        real(descriptor)

    monkeypatch.setattr(os, 'fsync', spy)
    thread = thread_of(disk, flush_interval=0.01, sync_interval=0.02)
    send(thread, '/transition', cdr(transition(0)), vital=True)
    every = {'bag_0.mcap', 'episodes.sqlite-wal'}
    until(lambda: every <= set(synced), 'a sync of every file')
    thread.close(SOON)


def test_disk_that_cannot_keep_what_it_took_ends_the_recording(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = thread_of(disk, flush_interval=0.01, sync_interval=0.02)

    def broken(_: int) -> None:
        raise OSError(5, 'Input/output error')

    thread.ask(disk.flush, SOON)
    monkeypatch.setattr(os, 'fsync', broken)
    until(lambda: thread.failure, 'the end of the recording')
    with suppress(RecordError):  # To close it takes the disk too.
        thread.close(SOON)
    monkeypatch.undo()
    assert 'got Input/output error. The disk has failed' in str(thread.failure)


def test_write_that_fails_ends_the_recording_and_counts_what_waited(
    disk: Disk, limit_files: Callable[[int], None]
) -> None:
    disk.answers.clear()
    thread = thread_of(disk, queue_size=10**8)
    for step in range(50):
        send(thread, '/contact', os.urandom(10_000), step)
    limit_files(300_000)
    disk.answers.set()
    until(lambda: thread.failure, 'the end of the recording')
    thread.close(SOON)
    assert 'File too large' in str(thread.failure)
    found = sum(1 for _ in open_records(disk.run.path).messages())
    assert 0 < found < 50
    assert thread.lost == 50 - found
    assert 'File too large' in metadata(disk.run)['custom_data']['over']  # type: ignore[index]


def test_what_waits_when_the_recording_ends_is_counted(disk: Disk) -> None:
    thread, fails = thread_of(disk), threading.Event()

    def fail() -> None:
        assert fails.wait(SOON)
        raise RecordError('No disk.')

    thread.do(fail)
    for step in range(10):
        send(thread, '/contact', b'waits', step)
    fails.set()
    until(lambda: thread.failure, 'the end of the recording')
    thread.close(SOON)
    assert thread.lost == 10


# A file system of its own ------------------------------------------------------------------------

_ON_A_SMALL_DISK = """
import os, sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_recording_thread import *
disk = Disk(Path({place!r}) / 'run', min_free_space={least})
thread = thread_of(disk, flush_interval=0.01)
sent = 0
while thread.failure is None:
    send(thread, '/contact', os.urandom(20_000), sent)
    sent += 1
    until(lambda: thread.behind == 0.0 or thread.failure, 'the disk')
thread.close(SOON)
print(thread.failure)
source = open_records(disk.run.path)
print(source.complete)
print(sum(1 for _ in source.messages()), sent, disk.lost)
"""


def small_disk(place: Path, program: str, size: str = '4m', options: str = '') -> str:
    """Run a program with a small file system of its own at a place, and return what it says."""
    mount = ['unshare', '--map-root-user', '--mount', 'sh', '-ec']
    script = f'mount -t tmpfs -o size={size} none {place}\n{options}\nexec "$0" "$@"'
    probe = subprocess.run([*mount, script, 'true'], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip('no file system can be mounted here')
    done = subprocess.run(
        [*mount, script, sys.executable, '-c', program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def program_of(text: str, place: Path, **values: object) -> str:
    return text.format(path=sys.path, place=str(place), **values)


def test_run_is_completed_before_the_disk_is_full(tmp_path: Path) -> None:
    program = program_of(_ON_A_SMALL_DISK, tmp_path, least=1_000_000)
    failure, complete, counts = small_disk(tmp_path, program).splitlines()
    assert 'expected at least 1.0 MB free' in failure
    assert failure.endswith('All files are complete until here. Free space and record again.')
    found, sent, lost = map(int, counts.split())
    assert complete == 'True'
    assert found + lost >= sent > 100


def test_disk_that_is_full_ends_the_recording_and_what_is_on_it_can_be_read(
    tmp_path: Path,
) -> None:
    program = program_of(_ON_A_SMALL_DISK, tmp_path, least=0)
    failure, complete, counts = small_disk(tmp_path, program).splitlines()
    assert 'cannot be written: No space left on device' in failure
    assert 'Free space and record again.' in failure
    found, sent, _ = map(int, counts.split())
    assert complete == 'False'
    assert 100 < found < sent


_REFUSED = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_recording_thread import *
for place in ('new', 'made'):
    try:
        Disk(Path({place!r}) / place)
    except RecordError as error:
        print(error)
"""


def test_place_that_is_read_only_is_refused_by_name(tmp_path: Path) -> None:
    made = f'mkdir {tmp_path}/made\nmount -o remount,ro {tmp_path}'
    new, other = small_disk(tmp_path, program_of(_REFUSED, tmp_path), options=made).splitlines()
    assert f'{tmp_path}/new cannot be made: Read-only file system' in new
    assert f'{tmp_path}/made/contract.yaml cannot be written: Read-only file system' in other


def test_disk_that_is_nearly_full_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r'MB free for .*run .min_free_space., got ') as told:
        Disk(tmp_path / 'run', min_free_space=2**60)
    assert str(told.value).endswith('Free space, or choose another place.')
