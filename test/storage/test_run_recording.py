# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One run in all its files, each telling the same, and whole whatever becomes of the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
import random
import resource
import sqlite3

import pytest

from boundary_env_ros.core.records.episode import EpisodeLabel, EpisodeState, EpisodeStatus, Label
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.errors import RecordError, RequestRejected
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_store import EpisodeRow, EpisodeStore
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_recording import RunRecording
from boundary_env_ros.storage.transition_json import read_transition
from support.storage_wire import (
    BEGIN,
    cdr,
    decision,
    definition,
    EPISODE,
    instant,
    message_cdr,
    step_id,
    transition,
    typestore,
)

TYPES = {
    '/transition': 'boundary_env_ros/msg/Transition',
    '/episode_status': 'boundary_env_ros/msg/EpisodeStatus',
    '/episode_label': 'boundary_env_ros/msg/EpisodeLabel',
    '/gate_decision': 'boundary_env_ros/msg/GateDecision',
    '/contact': 'std_msgs/msg/Bool',
    '/clock': 'rosgraph_msgs/msg/Clock',
}


def at(seconds: float, clock: int = BEGIN) -> ClockReading:
    return replace(instant(clock), steady=round((100.0 + seconds) * NANOSECONDS))


def status(state: EpisodeState, step: int = 0, **changes: str) -> EpisodeStatus:
    made = EpisodeStatus(id=step_id(step), state=state, pacing=Pacing.REALTIME, seed=7)
    return replace(made, stamp=instant(), **changes)


RUNNING = status(EpisodeState.RUNNING)
SUCCESS = {'ending': 'success', 'declared_by': 'task:go_to_goal'}


@dataclass
class Recording:
    """A recording that is told what came, one message a millisecond."""

    made: RunRecording
    sent: int = 0

    def hear(self, topic: str, message: object, seconds: float = 0.0) -> None:
        self.sent += 1
        data = message if isinstance(message, bytes) else cdr(message)
        received = BEGIN + self.sent * 1_000_000
        self.made.write(topic, data, received, received - 1000, at(seconds))

    def look_until(self, begin: float, end: float) -> list[EpisodeStatus]:
        found = [self.made.watch(at(begin + i * 0.1)) for i in range(round((end - begin) * 10))]
        return [ending for ending in found if ending is not None]

    @property
    def run(self) -> RunFolder:
        return self.made.run

    def row(self) -> EpisodeRow:
        with suppress(RecordError):  # It was closed, and has written everything.
            self.made.flush()
        with EpisodeStore.open(self.run.episodes) as store:
            (row,) = store.episodes()
        return row


def record(folder: Path, pacing: Pacing | None = None) -> Recording:
    made = RunRecording(
        RunFolder.create(folder),
        contract=load('warehouse_cart', pacing),
        definitions={name: definition(name) for name in TYPES.values()},
        recorder='recorder',
        system_time=lambda: BEGIN,
    )
    for topic, kind in TYPES.items():
        made.add_topic(topic, kind)
    return Recording(made)


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = record(tmp_path / 'run')
    yield made
    made.made.close()


def test_every_file_tells_of_the_same_run(recording: Recording) -> None:
    recording.hear('/episode_status', RUNNING)
    for step in range(4):
        recording.hear('/gate_decision', decision(step + 1))
        recording.hear('/transition', transition(step))
    end = replace(transition(4), terminated=True, **SUCCESS)
    recording.hear('/transition', end)
    recording.hear('/episode_status', status(EpisodeState.TERMINATED, 4, **SUCCESS))
    recording.made.close()

    expected = [*(transition(step) for step in range(4)), end]
    source = open_records(recording.run.path)
    assert source.complete
    assert list(source.transitions()) == expected
    # The first step, after the reset.
    assert read_transition(recording.run.first_transition) == expected[1]
    row = recording.row()
    assert (row.ending_kind, row.ending, row.declared_by) == ('TERMINATED', *SUCCESS.values())
    assert (row.step_count, row.episode_return, row.success) == (4, 2.5, True)
    assert load(recording.run.contract) == load('warehouse_cart')
    link = 1
    assert recording.made.messages == recording.sent == sum(source.topics().values()) - link
    assert (recording.made.transitions, recording.made.lost) == (5, 0)


def test_bytes_and_times_go_to_the_bag_untouched(recording: Recording) -> None:
    data = b'\x00\x01\x00\x00' + b'not even a message'
    recording.made.write('/contact', data, BEGIN + 7, BEGIN + 3, at(0.0))
    recording.made.write('/contact', data, 0, 0, at(0.0))
    recording.made.close()
    first, second = open_records(recording.run.path).messages(['/contact'])
    assert (first.data, first.log_time, first.publish_time) == (data, BEGIN + 7, BEGIN + 3)
    assert (second.log_time, second.publish_time) == (BEGIN, BEGIN)


def test_simulated_run_has_the_time_of_its_clock(tmp_path: Path) -> None:
    recording = record(tmp_path / 'run', Pacing.LOCKSTEP)
    time = typestore().types['builtin_interfaces/msg/Time']
    contact = message_cdr('std_msgs/msg/Bool', data=True)
    recording.made.write('/contact', contact, BEGIN, BEGIN, at(0.0, clock=5))
    for sec, nanosec in ((0, 100_000_000), (1, 500)):
        clock = message_cdr('rosgraph_msgs/msg/Clock', clock=time(sec=sec, nanosec=nanosec))
        recording.hear('/clock', clock)
        recording.hear('/contact', contact)
    recording.made.close()
    messages = list(open_records(recording.run.path).messages(['/contact', '/clock']))
    times = [message.log_time for message in messages]
    assert times == [5, 100_000_000, 100_000_000, 1_000_000_500, 1_000_000_500]
    assert times == [message.publish_time for message in messages]


def test_gaps_are_counted(recording: Recording) -> None:
    for step in (0, 1, 4):
        recording.hear('/transition', transition(step))
    for sequence in (1, 2, 4):
        recording.hear('/gate_decision', replace(decision(0), sequence=sequence))
    recording.made.add_lost('/contact', 10)
    assert recording.made.lost == 2 + 1 + 10


def test_ending_of_a_dead_environment_is_in_the_index(recording: Recording) -> None:
    recording.hear('/episode_status', RUNNING)
    recording.hear('/transition', transition(0))
    assert recording.made.episode_runs
    (ending,) = recording.look_until(0.0, 3.0)
    assert not recording.made.episode_runs
    row = recording.row()
    assert (row.ending_kind, row.ending, row.declared_by) == (
        'TRUNCATED',
        'environment_lost',
        'recorder',
    )
    assert row.state == ending
    # As it comes back from the topic, to the bag.
    recording.hear('/episode_status', ending)
    assert list(recording.made.notices()) == []


def test_environment_that_lives_after_all_changes_nothing_but_is_told_of(
    recording: Recording,
) -> None:
    recording.hear('/episode_status', RUNNING)
    assert recording.look_until(0.0, 3.0)
    for seconds in (3.1, 3.2):
        recording.hear('/episode_status', status(EpisodeState.RUNNING, 9), seconds)
    end = status(EpisodeState.TERMINATED, 9, **SUCCESS)
    recording.hear('/episode_status', end, 3.3)
    recording.hear('/transition', replace(transition(9), terminated=True, **SUCCESS), 3.3)
    assert recording.look_until(3.3, 9.0) == []
    (notice,) = recording.made.notices()
    assert notice == (
        f'Episode {EPISODE} has ended already (expected TRUNCATED (environment_lost, declared by '
        'recorder), got RUNNING (no ending, declared by no node)). '
        'The first ending stands in the index; the records have all of them.'
    )
    assert recording.row().ending == 'environment_lost'
    recording.made.close()
    records = list(open_records(recording.run.path).records(EpisodeStatus))
    assert records[-1] == end


def test_environment_that_woke_up_and_says_the_same_adds_its_last_step(
    recording: Recording,
) -> None:
    recording.hear('/episode_status', replace(RUNNING, client='pilot'))
    recording.hear('/transition', transition(0))
    assert recording.look_until(0.0, 3.0)
    ending = {'ending': 'environment_lost', 'declared_by': 'environment'}
    recording.hear('/transition', replace(transition(1), truncated=True, **ending), 3.1)
    assert list(recording.made.notices()) == []
    row = recording.row()
    assert (row.step_count, row.declared_by) == (1, 'recorder')
    assert row.state.client == 'pilot'
    assert row.episode_return == transition(0).reward + transition(1).reward


def test_status_that_a_transition_overtook_is_no_contradiction(recording: Recording) -> None:
    recording.hear('/episode_status', RUNNING)
    recording.hear('/transition', replace(transition(1), terminated=True, **SUCCESS))
    recording.hear('/episode_status', RUNNING)
    recording.hear('/episode_status', status(EpisodeState.TERMINATED, 1, **SUCCESS))
    assert list(recording.made.notices()) == []
    assert recording.row().done


def test_second_ending_is_told_of_and_the_first_stands(recording: Recording) -> None:
    recording.hear('/episode_status', status(EpisodeState.TERMINATED, 1, **SUCCESS))
    other = {'ending': 'time_limit', 'declared_by': 'environment'}
    recording.hear('/episode_status', status(EpisodeState.TRUNCATED, 1, **other))
    (notice,) = recording.made.notices()
    assert 'got TRUNCATED (time_limit, declared by environment)' in notice
    assert recording.row().ending == 'success'


def test_message_that_cannot_be_read_is_told_of_and_kept(recording: Recording) -> None:
    torn = cdr(transition(0))[:200]
    recording.hear('/transition', torn)
    recording.hear('/transition', transition(1))
    (notice,) = recording.made.notices()
    assert 'expected a message with the fields of Transition' in notice
    assert (recording.made.lost, recording.made.transitions) == (1, 1)
    recording.made.close()
    assert next(open_records(recording.run.path).messages()).data == torn


def test_numbers_of_64_bits_end_nothing(recording: Recording) -> None:
    recording.hear('/episode_status', RUNNING)
    too_far = status(EpisodeState.RUNNING, step=2**63, message='from elsewhere')
    recording.hear('/episode_status', too_far)
    recording.hear('/gate_decision', replace(decision(1), sequence=2**64 - 1))
    recording.hear('/gate_decision', replace(decision(1), sequence=0))
    assert (recording.made.notices(), recording.made.lost) == ([], 0)
    recording.hear('/episode_status', status(EpisodeState.TERMINATED, step=3, **SUCCESS))
    assert (recording.row().ending, recording.row().step_count) == ('success', 2**63)


def test_mark_is_in_index_and_bag_once_and_changes_no_verdict(recording: Recording) -> None:
    recording.hear('/episode_status', RUNNING)
    (label,) = recording.made.label('', Label.FAILURE, ' ada ', 'it leaned', at(1.0))
    assert (label.user, label.label, label.id.episode_id) == ('ada', Label.FAILURE, EPISODE)
    recording.hear('/episode_label', label)
    recording.hear('/transition', transition(1))
    recording.hear('/episode_status', status(EpisodeState.TERMINATED, 1, **SUCCESS))
    (again,) = recording.made.label(EPISODE, Label.SUCCESS, 'ada', '', at(2.0))
    recording.hear('/episode_label', again)
    assert (again.id.step, recording.row().success) == (1, True)
    assert recording.row().labels == (label, again)
    recording.made.close()
    assert list(open_records(recording.run.path).records(EpisodeLabel)) == [label, again]


def test_index_that_is_locked_is_written_later_and_the_bag_goes_on(recording: Recording) -> None:
    recording.hear('/transition', cdr(transition(0)), 0.0)
    with closing(sqlite3.connect(recording.run.episodes, isolation_level=None)) as other:
        other.execute('BEGIN IMMEDIATE')
        recording.made.flush()
        (notice,) = recording.made.notices()
        assert 'database is locked' in notice
    assert recording.row().step_count == 0


@pytest.mark.parametrize(
    ('episode', 'verdict', 'user', 'message'),
    [
        ('', 1, 'ada', 'got none was begun'),
        ('another', 1, 'ada', 'got another'),
        (EPISODE, 0, 'ada', 'out of 1 .SUCCESS., 2 .FAILURE., 3 .UNCLEAR., got 0'),
        (EPISODE, 1, '  ', '`user` is empty'),
    ],
)
def test_mark_that_says_nothing_is_refused(
    recording: Recording, episode: str, verdict: int, user: str, message: str
) -> None:
    with pytest.raises(RequestRejected, match=message):
        recording.made.label(episode, verdict, user, '', at(0.0))


def test_mark_of_somebody_else_on_an_unknown_episode_is_told_and_kept_in_the_bag(
    recording: Recording,
) -> None:
    label = EpisodeLabel(id=step_id(1), label=Label.SUCCESS, user='ada', stamp=instant())
    recording.hear('/episode_label', label)
    (notice,) = recording.made.notices()
    assert 'is not in the index' in notice


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_leaves_every_file_readable(recording: Recording) -> None:
    recording.hear('/episode_status', RUNNING)
    recording.hear('/transition', transition(0))
    recording.made.flush()
    noise = random.Random(0)
    with full_disk(recording.made.size + 4096):
        with pytest.raises(RecordError, match='record again'):
            while True:
                recording.hear('/contact', noise.randbytes(1024))
        with pytest.raises(RecordError):
            recording.made.flush()
        recording.made.close()
    assert [t.id for t in open_records(recording.run.path).transitions()] == [step_id(0)]
    in_the_bag = sum(1 for _ in open_records(recording.run.path).messages())
    assert recording.made.messages == in_the_bag
    assert recording.made.lost > 0
    assert recording.row().step_count == 0


def test_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    record(tmp_path / 'run').made.close()
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        record(tmp_path / 'run')
