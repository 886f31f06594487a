# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The index of episodes: true at every moment, beside its writer and after the writer's death."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
import os
from pathlib import Path
import signal
import sqlite3
import subprocess
import sys
from threading import Thread

import pytest

from boundary_env_ros.core.records.decision import Trigger, Verdict
from boundary_env_ros.core.records.episode import (
    agreed,
    EpisodeLabel,
    EpisodeState,
    EpisodeStatus,
    Label,
    latest,
)
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.episode_store import EpisodeRow, EpisodeStore
from support.core_messages import changed_decision
from support.storage_wire import decision, DIGEST, EPISODE, instant, step_id, transition


def status(state: EpisodeState, step: int = 0, **changes: object) -> EpisodeStatus:
    begun = EpisodeStatus(
        id=step_id(step), state=state, pacing=Pacing.REALTIME, seed=2**64 - 1, stamp=instant()
    )
    return replace(begun, **changes)  # type: ignore[arg-type]


SUCCESS = {'ending': 'success', 'declared_by': 'environment'}


@pytest.fixture
def store(tmp_path: Path):
    with EpisodeStore.create(tmp_path / 'episodes.sqlite') as made:
        yield made


def only(store: EpisodeStore) -> EpisodeRow:
    (row,) = store.episodes()
    return row


def test_row_follows_the_episode(store: EpisodeStore) -> None:
    running = status(EpisodeState.RUNNING)
    store.index.update(running, environment='warehouse_cart', now=10)
    for step in range(3):
        assert store.index.add_step(transition(step), now=11 + step)
    assert only(store) == EpisodeRow(
        environment='warehouse_cart',
        state=running,
        step_count=2,
        rewarded=2,
        episode_return=1.5,
        interventions=0,
        version='1.0.0',
        software_version=transition(0).software_version,
        created_at=10,
        updated_at=13,
    )
    row = only(store)
    assert (row.episode_id, row.agent, row.digest, row.seed) == (
        EPISODE,
        'cart',
        DIGEST,
        2**64 - 1,
    )
    assert (row.done, row.ending_kind, row.ending, row.declared_by) == (False, '', '', '')
    assert row.success is None
    ended = status(EpisodeState.TERMINATED, 2, **SUCCESS)
    store.index.update(ended, environment='warehouse_cart', now=20)
    row = only(store)
    assert (row.done, row.ending_kind, row.ending, row.declared_by) == (
        True,
        'TERMINATED',
        'success',
        'environment',
    )
    assert row.success is True
    assert (row.state, row.created_at, row.updated_at) == (ended, 10, 20)


def test_truncation_is_no_success(store: EpisodeStore) -> None:
    ended = status(EpisodeState.TRUNCATED, ending='time_limit', declared_by='environment')
    store.index.update(ended, environment='warehouse_cart', now=1)
    assert only(store).success is False
    assert only(store).ending_kind == 'TRUNCATED'


def test_first_ending_stands(store: EpisodeStore) -> None:
    ended = status(EpisodeState.TERMINATED, **SUCCESS)
    store.index.update(ended, environment='warehouse_cart', now=1)
    store.index.update(ended, environment='warehouse_cart', now=2)
    for other in (
        status(EpisodeState.RUNNING),
        status(EpisodeState.TRUNCATED, ending='environment_lost', declared_by='recorder'),
        status(EpisodeState.TERMINATED, ending='success', declared_by='recorder'),
    ):
        with pytest.raises(RecordError, match=r'expected TERMINATED \(success, declared by env'):
            store.index.update(other, environment='warehouse_cart', now=3)
    assert only(store).updated_at == 1


def test_transition_before_any_status_begins_the_row(store: EpisodeStore) -> None:
    assert store.index.add_step(transition(0), now=5)
    row = only(store)
    assert row.environment == 'warehouse_cart'
    assert row.state.state is EpisodeState.RUNNING
    assert row.seed == 7


def test_transition_that_ends_the_episode_ends_the_row(store: EpisodeStore) -> None:
    store.index.update(status(EpisodeState.RUNNING), environment='warehouse_cart', now=1)
    last = replace(transition(4), terminated=True, ending='success', declared_by='environment')
    store.index.add_step(last, now=2)
    row = only(store)
    assert (row.done, row.success, row.step_count, row.episode_return) == (True, True, 4, 0.5)
    store.index.update(
        status(EpisodeState.TERMINATED, 4, **SUCCESS), environment='warehouse_cart', now=3
    )
    lost = status(EpisodeState.TRUNCATED, 4, ending='environment_lost', declared_by='recorder')
    with pytest.raises(RecordError, match='The first ending stands'):
        store.index.update(lost, environment='warehouse_cart', now=4)


def test_reward_of_a_step_counts_once(store: EpisodeStore) -> None:
    for step in (0, 1, 1, 0, 2):
        store.index.add_step(transition(step), now=1)
    assert not store.index.add_step(transition(2), now=9)
    assert only(store).episode_return == 1.5


def test_reward_that_is_no_number_makes_the_return_unknown(store: EpisodeStore) -> None:
    store.index.add_step(replace(transition(0), reward=float('nan')), now=1)
    store.index.add_step(transition(1), now=2)
    assert only(store).episode_return is None
    assert only(store).step_count == 1


def test_status_without_an_episode_is_passed_over(store: EpisodeStore) -> None:
    store.index.update(
        status(EpisodeState.IDLE, id=replace(step_id(0), episode_id='')), environment='x', now=1
    )
    assert store.episodes() == ()


def test_agents_share_an_episode_in_rows_of_their_own(store: EpisodeStore) -> None:
    for agent in ('left', 'right'):
        store.index.update(
            status(EpisodeState.RUNNING, id=replace(step_id(0), agent=agent)),
            environment='pair',
            now=1,
        )
    assert [row.agent for row in store.episodes()] == ['left', 'right']


def test_number_of_64_bits_is_kept(store: EpisodeStore) -> None:
    store.index.update(status(EpisodeState.RUNNING, step=2**64 - 1), environment='x', now=1)
    assert only(store).step_count == 2**64 - 1


def test_reader_sees_each_step_while_the_writer_goes_on(
    store: EpisodeStore, tmp_path: Path
) -> None:
    with EpisodeStore.open(tmp_path / 'episodes.sqlite') as reader:
        for step in range(5):
            store.index.add_step(transition(step), now=step)
            store.flush()
            assert only(reader).step_count == step


def test_writer_does_not_wait_for_a_reader_that_reads_on_and_on(store: EpisodeStore) -> None:
    store.index.add_step(transition(0), now=1)
    store.flush()
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute('BEGIN')
    count = "SELECT json_extract(record, '$.step_count') FROM episodes"
    assert reader.execute(count).fetchall() == [(0,)]
    store.index.add_step(transition(1), now=2)
    assert only(store).step_count == 1
    assert reader.execute(count).fetchall() == [(0,)]
    reader.close()


def test_concurrent_readers_never_fail_and_never_see_a_step_back(tmp_path: Path) -> None:
    path = tmp_path / 'episodes.sqlite'
    seen: list[list[int]] = [[], []]
    errors: list[Exception] = []
    with EpisodeStore.create(path) as writer:
        writer.index.add_step(transition(0), now=0)
        writer.flush()

        def read(counts: list[int]) -> None:
            try:
                with EpisodeStore.open(path) as reader:
                    while not counts or counts[-1] < 300:
                        counts.append(only(reader).step_count)
            except Exception as error:  # noqa: BLE001 - shown by the assertion below
                errors.append(error)

        threads = [Thread(target=read, args=(counts,)) for counts in seen]
        for thread in threads:
            thread.start()
        for step in range(1, 301):
            writer.index.add_step(transition(step), now=step)
            writer.flush()
        for thread in threads:
            thread.join(30)
    assert errors == []
    for counts in seen:
        assert counts == sorted(counts)
        assert counts[-1] == 300


def test_finished_index_is_one_plain_file(tmp_path: Path) -> None:
    with EpisodeStore.create(tmp_path / 'episodes.sqlite') as store:
        store.index.add_step(transition(0), now=1)
    assert [entry.name for entry in tmp_path.iterdir()] == ['episodes.sqlite']
    with EpisodeStore.open(tmp_path / 'episodes.sqlite') as reader:
        assert only(reader).step_count == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ['episodes.sqlite']


def test_every_takeover_by_a_person_is_counted_once(store: EpisodeStore) -> None:
    taken = changed_decision(decision(1), trigger=Trigger.OPERATOR)
    held = changed_decision(decision(2), trigger=Trigger.TIMER)
    obeyed = changed_decision(decision(3), trigger=Trigger.REQUEST, verdict=Verdict.ADMITTED)
    for step, decisions in enumerate(
        [(obeyed,), (obeyed, taken, taken), (held, taken), (obeyed,), (taken, obeyed, taken)]
    ):
        store.index.add_step(replace(transition(step), decisions=decisions), now=1)
        store.index.add_step(replace(transition(step), decisions=decisions), now=1)
    assert only(store).interventions == 3


# Labels ------------------------------------------------------------------------------------------


def label(user: str, verdict: Label, note: str = '', at: int = 0) -> EpisodeLabel:
    return EpisodeLabel(
        id=step_id(3), label=verdict, user=user, note=note, stamp=instant(1_000_000_000 + at)
    )


def test_marks_stand_beside_the_verdict_of_the_environment(store: EpisodeStore) -> None:
    store.index.update(
        status(EpisodeState.TERMINATED, 3, **SUCCESS), environment='warehouse_cart', now=1
    )
    said = (
        label('ada', Label.FAILURE, 'scratched the door'),
        label('bob', Label.UNCLEAR),
    )
    for one in said:
        assert store.label(one, now=7)
    row = only(store)
    assert (row.success, row.ending, row.updated_at) == (True, 'success', 1)
    assert row.labels == said
    assert agreed(row.labels) is Label.FAILURE


def test_the_latest_word_of_each_person_counts(store: EpisodeStore) -> None:
    store.index.add_step(transition(0), now=1)
    words = [
        label('ada', Label.FAILURE, at=1),
        label('bob', Label.SUCCESS, at=2),
        label('ada', Label.SUCCESS, at=3),
    ]
    for number, word in enumerate(words):
        store.label(word, now=number)
    assert only(store).labels == tuple(words)
    assert [(m.user, m.label) for m in latest(only(store).labels)] == [
        ('ada', Label.SUCCESS),
        ('bob', Label.SUCCESS),
    ]
    assert agreed(only(store).labels) is Label.SUCCESS


def test_people_of_two_minds_agree_on_nothing() -> None:
    labels = (label('ada', Label.FAILURE), label('bob', Label.SUCCESS))
    assert agreed(labels) is Label.UNCLEAR
    assert agreed(()) is None


def test_the_same_mark_again_is_passed_over(store: EpisodeStore) -> None:
    store.index.add_step(transition(0), now=1)
    assert store.label(label('ada', Label.SUCCESS), now=2)
    assert not store.label(label('ada', Label.SUCCESS), now=3)
    assert len(only(store).labels) == 1


def test_mark_on_an_episode_that_nobody_knows_is_refused(store: EpisodeStore) -> None:
    with pytest.raises(RecordError, match='is not in the index'):
        store.label(label('ada', Label.SUCCESS), now=1)


def test_two_who_write_one_index_at_a_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / 'episodes.sqlite'
    errors: list[Exception] = []
    with EpisodeStore.create(path) as recorder:
        recorder.index.add_step(transition(0), now=0)
        recorder.flush()

        def evaluate() -> None:
            try:
                with EpisodeStore.open(path, to_label=True) as evaluator:
                    for number in range(50):
                        evaluator.label(label('ada', Label.SUCCESS, at=number), now=number)
            except RecordError as error:
                errors.append(error)

        thread = Thread(target=evaluate)
        thread.start()
        for step in range(1, 101):
            recorder.index.add_step(transition(step), now=step)
            recorder.flush()
        thread.join(30)
    assert errors == []
    with EpisodeStore.open(path) as reader:
        assert (only(reader).step_count, len(only(reader).labels)) == (100, 50)


def test_index_opened_for_reading_cannot_be_changed(store: EpisodeStore, tmp_path: Path) -> None:
    with (
        EpisodeStore.open(tmp_path / 'episodes.sqlite') as reader,
        pytest.raises(RecordError, match='readonly'),
    ):
        reader.index.add_step(transition(0), now=1)
        reader.flush()


def test_existing_file_is_not_overwritten(store: EpisodeStore) -> None:
    with pytest.raises(RecordError, match='exists already, not overwritten'):
        EpisodeStore.create(store.path)


def test_closed_index_says_so(store: EpisodeStore) -> None:
    store.close()
    store.close()
    with pytest.raises(RecordError, match='The index .* is closed'):
        store.episodes()


def test_missing_index_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match='nothing.sqlite does not exist'):
        EpisodeStore.open(tmp_path / 'nothing.sqlite')
    assert list(tmp_path.iterdir()) == []


def test_database_of_something_else_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / 'theirs.sqlite')
    connection.execute('CREATE TABLE episodes (x)')
    connection.close()
    with pytest.raises(RecordError, match=r'theirs\.sqlite is not an index of episodes'):
        EpisodeStore.open(tmp_path / 'theirs.sqlite')


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'text').write_text('not a database at all, but rather long ' * 50)
    with pytest.raises(RecordError, match='file is not a database'):
        EpisodeStore.open(tmp_path / 'text')


def test_index_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / 'episodes.sqlite'
    EpisodeStore.create(path).close()
    connection = sqlite3.connect(path)
    connection.execute('PRAGMA user_version = 9')
    connection.close()
    with pytest.raises(RecordError, match='expected 3, got 9'):
        EpisodeStore.open(path)


def test_row_that_was_tampered_with_is_a_record_error(tmp_path: Path) -> None:
    path = tmp_path / 'episodes.sqlite'
    with EpisodeStore.create(path) as store:
        store.index.add_step(transition(0), now=1)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE episodes SET record = 'nonsense'")
    connection.close()
    with (
        EpisodeStore.open(path) as reader,
        pytest.raises(RecordError, match='expected it as JSON'),
    ):
        reader.episodes()


def test_row_with_a_key_twice_is_a_record_error(tmp_path: Path) -> None:
    path = tmp_path / 'episodes.sqlite'
    with EpisodeStore.create(path) as store:
        store.index.add_step(transition(0), now=1)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            """UPDATE episodes SET record = '{"episode_return": 123.0, ' || substr(record, 2)"""
        )
    with (
        EpisodeStore.open(path) as reader,
        pytest.raises(RecordError, match="the key 'episode_return' is there twice"),
    ):
        reader.episodes()


_WRITE_FOR_EVER = """
import itertools, sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
sys.path[:0] = {path!r}
from support.storage_wire import transition
from boundary_env_ros.storage.episode_store import EpisodeStore
store = EpisodeStore.create(Path({file!r}))
for step in itertools.count():
    store.index.add_step(transition(step), now=step)
    store.flush()
    print(step, flush=True)
"""


def test_kill_minus_nine_takes_no_step_that_was_flushed(tmp_path: Path) -> None:
    path = tmp_path / 'episodes.sqlite'
    program = _WRITE_FOR_EVER.format(path=sys.path, file=str(path))
    with subprocess.Popen(
        [sys.executable, '-c', program], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        for _ in range(30):
            promised = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
        rest = [line for line in child.stdout.read().splitlines(keepends=True) if line[-1] == '\n']
        promised = int(rest[-1]) if rest else promised
    with EpisodeStore.open(path) as reader:
        row = only(reader)
    assert promised <= row.step_count <= promised + 1
    assert row.episode_return == 0.5 * (row.step_count + 1)


_READ_FOR_EVER = """
import sys
from pathlib import Path
from boundary_env_ros.storage.episode_store import EpisodeStore
with EpisodeStore.open(Path({file!r})) as reader:
    while True:
        (row,) = reader.episodes()
        print(row.step_count, flush=True)
"""


def test_readers_in_other_processes_read_on_while_the_writer_writes_and_dies(
    tmp_path: Path,
) -> None:
    path = tmp_path / 'episodes.sqlite'
    writing = _WRITE_FOR_EVER.format(path=sys.path, file=str(path))
    reading = _READ_FOR_EVER.format(file=str(path))

    def child(program: str) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, '-c', program], stdout=subprocess.PIPE, text=True)

    with child(writing) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        readers = [child(reading) for _ in range(2)]
        try:
            seen: list[list[int]] = [[], []]
            for reader, counts in zip(readers, seen, strict=True):
                assert reader.stdout is not None
                while not counts or counts[-1] < counts[0] + 20:
                    writer.stdout.readline()  # so that its pipe does not hold the writer up
                    counts.append(int(reader.stdout.readline()))
                assert counts == sorted(counts)
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
            with EpisodeStore.open(path) as own:
                last = only(own).step_count
            for reader in readers:
                assert reader.stdout is not None
                while int(reader.stdout.readline()) != last:
                    pass
                assert reader.poll() is None
        finally:
            for reader in readers:
                reader.kill()
                reader.communicate()


@pytest.mark.parametrize(
    ('table', 'column', 'value'),
    [
        ('episodes', 'episode_id', b'x'),
        ('episodes', 'record', '[' * 100_000),
        ('episodes', 'record', b'{}'),
        ('episodes', '$.step_count', 1e300),
        ('episodes', '$.episode_return', 'much'),
        ('episodes', '$.state.seed', 'x'),
        ('episodes', '$.state.id.agent', 'another'),
        ('episodes', '$.created_at', 'today'),
        ('labels', 'record', '[' * 100_000),
        ('labels', 'record', 'x'),
    ],
)
def test_column_that_holds_something_else_is_named(
    tmp_path: Path, table: str, column: str, value: object
) -> None:
    path = tmp_path / 'episodes.sqlite'
    with EpisodeStore.create(path) as store:
        store.index.add_step(transition(1), now=1)
        label = EpisodeLabel(
            id=step_id(1), label=Label.UNCLEAR, user='ada', note='', stamp=instant()
        )
        store.label(label, now=2)
    with closing(sqlite3.connect(path)) as database, database:
        if column.startswith('$'):
            database.execute(
                f'UPDATE {table} SET record = json_set(record, ?, ?)', (column, value)
            )
        else:
            database.execute(f'UPDATE {table} SET "{column}" = ?', (value,))
    with (
        EpisodeStore.open(path) as store,
        pytest.raises(RecordError, match=r'episodes\.sqlite, '),
    ):
        store.episodes()
