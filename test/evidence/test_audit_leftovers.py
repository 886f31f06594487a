# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is left when steps are taken out, and what stands where nothing is compared any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
import json
from pathlib import Path
import sqlite3
import struct
from typing import Any, ClassVar

import pytest

from support.core_messages import changed_decision

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome
from boundary_env_ros.evidence.audit.raw_messages.ties import REACH
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.run_folder import RunFolder
from support.bag_maker import drive, make_tape, of, record_of, Tape, write_bag, write_records
from support.record_maker import Bench, Sent

#: Record opcodes of MCAP.
_FOOTER, _CHANNEL = 2, 4
_MAGIC = 8


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=5)


@pytest.fixture(scope='module')
def idle_tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return it with what an idle gate said behind them, for longer than topics may be late."""
    bench = Bench(loaded.contract, loaded.digest, task, 5)
    drive(bench)
    end = bench.now + REACH + NANOSECONDS
    bench.run_until(lambda: bench.now > end)
    return record_of(bench, loaded)


def hidden(tape: Tape, episode_id: str, *, after: int = -1) -> Tape:
    """Return a tape without the steps of an episode behind one, of which nobody says it ran."""
    kept = []
    for sent in tape:
        what = sent.what
        mine = getattr(getattr(what, 'id', None), 'episode_id', '') == episode_id
        if mine and isinstance(what, (Transition, ActuationEvidence)) and what.id.step > after:
            continue
        kept.append(sent)
    return kept


@pytest.mark.parametrize('is_idle', [True, False])
def test_an_episode_whose_steps_were_taken_out_is_told_by_the_gate(
    tmp_path: Path, tape: Tape, idle_tape: Tape, is_idle: bool
) -> None:
    tape = idle_tape if is_idle else tape
    episode = of(tape, Transition)[-1].id.episode_id

    def told(status: EpisodeStatus) -> EpisodeStatus:
        if status.id.episode_id != episode:
            return status
        id_ = replace(status.id, episode_id='', step=0)
        return replace(status, id=id_, state=EpisodeState.IDLE, ending='', declared_by='')

    forged = [
        replace(s, what=told(s.what)) if isinstance(s.what, EpisodeStatus) else s
        for s in hidden(tape, episode)
    ]
    write_bag(tmp_path / 'bag', forged)
    report = audit_path(tmp_path / 'bag')
    # Until the gate has been idle for a while the steps may have been on their way. A recorder
    # that lost them could not know it: it counts by the next one.
    assert report.counts.get('record-closed', 0) == is_idle, f'\n{report}'
    assert report.outcome is AuditOutcome.INCOMPLETE


def test_an_end_that_was_cut_off_is_told_by_the_gate(tmp_path: Path, idle_tape: Tape) -> None:
    last = of(idle_tape, Transition)[-1].id
    write_bag(tmp_path / 'bag', hidden(idle_tape, last.episode_id, after=last.step - 8))
    found = [f for f in audit_path(tmp_path / 'bag').findings if f.rule == 'record-closed']
    assert [f.actual for f in found] == [f'none behind step {last.step - 8}']


def test_an_end_of_an_episode_that_was_cut_off_is_told_by_the_next_one(
    tmp_path: Path, tape: Tape
) -> None:
    _, second, _ = dict.fromkeys(t.id.episode_id for t in of(tape, Transition))
    last = max(t.id.step for t in of(tape, Transition) if t.id.episode_id == second)
    write_bag(tmp_path / 'bag', hidden(tape, second, after=last - 8))
    found = [f for f in audit_path(tmp_path / 'bag').findings if f.rule == 'steps-in-order']
    assert [f.actual for f in found] == [f'none behind step {last - 8}']


@pytest.mark.parametrize('before_end', [0, 190_000_000], ids='{} ns before the end'.format)
def test_a_command_beyond_the_bounds_is_named_up_to_the_end_of_the_record(
    tmp_path: Path, tape: Tape, before_end: int
) -> None:
    at = tape[-1].log_time - before_end
    command = next(sent for sent in reversed(tape) if sent.topic == '/cmd_vel')
    what = json.loads(json.dumps(command.what))
    what['twist']['linear']['x'] = 99.0
    rogue = replace(command, what=what, log_time=at, publish_time=at)
    write_bag(tmp_path / 'bag', sorted([*tape, rogue], key=lambda sent: sent.log_time))
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {'command-on-topic': 1}, f'\n{report}'


@pytest.mark.parametrize(('field', 'ahead'), [('measured_at', -8), ('measured_at.host', 0)])
def test_a_measurement_of_another_step_or_host_is_named(
    tmp_path: Path, tape: Tape, field: str, ahead: int
) -> None:
    steps = of(tape, Transition)
    place = next(i for i, t in enumerate(steps) if t.id.step == 20)
    now, other = steps[place], steps[place + ahead]
    at = other.measured_at if ahead else replace(now.measured_at, host='x')
    forged = replace(now, measured_at=at, measured_action=other.measured_action)
    write_bag(tmp_path / 'bag', [replace(s, what=forged) if s.what is now else s for s in tape])
    found = audit_path(tmp_path / 'bag').findings
    assert ('execution-measured', field) in {(f.rule, f.field) for f in found}


def test_measured_actions_that_were_taken_out_are_named(tmp_path: Path, tape: Tape) -> None:
    def without(what: object) -> object:
        if not isinstance(what, Transition):
            return what
        return replace(what, measured_at=None, measured_action=())

    write_bag(tmp_path / 'bag', [replace(s, what=without(s.what)) for s in tape])
    report = audit_path(tmp_path / 'bag')
    steps = [t for t in of(tape, Transition) if t.reset is None]
    assert report.counts['execution-measured'] == len(steps), f'\n{report}'


@pytest.mark.parametrize('which', ['beyond the end', 'of no episode', 'of one that is over'])
def test_what_was_observed_of_no_step_is_named(tmp_path: Path, tape: Tape, which: str) -> None:
    episode = of(tape, Transition)[0].id.episode_id
    place = next(i for i, s in enumerate(tape) if is_step(s, PrivilegedObservation, 20, episode))
    true, last = tape[place], of(tape, PrivilegedObservation)[-1]
    step = replace(true.what.id, step=100_000)
    if which == 'of no episode':
        step = replace(step, episode_id='00000000-0000-4000-8000-000000000000', step=0)
    elif which == 'of one that is over':
        step = replace(last.id, step=last.id.step + 1)
    more = replace(true, what=replace(true.what, id=step))
    write_bag(tmp_path / 'bag', [*tape[: place + 1], more, *tape[place + 1 :]])
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {'truth-withheld': 1}, f'\n{report}'


def is_step(sent: Sent, kind: type, step: int, episode_id: str) -> bool:
    """Return whether what was sent is of a kind and of a step."""
    what = sent.what
    return type(what) is kind and (what.id.episode_id, what.id.step) == (episode_id, step)


@pytest.mark.parametrize('step', [0, 1, 7])
def test_the_last_observation_of_a_record_may_have_no_step(
    tmp_path: Path, tape: Tape, step: int
) -> None:
    """Steps are larger than what was observed in them, and come to the recorder later."""
    episode = of(tape, Transition)[-1].id.episode_id
    end = next(s for s in tape if is_step(s, PrivilegedObservation, step, episode))
    cut = tape[: tape.index(end) + 1]
    write_bag(tmp_path / 'bag', [s for s in cut if not is_step(s, Transition, step, episode)])
    report = audit_path(tmp_path / 'bag')
    assert report.ok, f'\n{report}'
    assert report.excused == {}


@pytest.mark.parametrize('kind', [PrivilegedObservation, GateDecision])
def test_a_record_may_end_between_a_step_and_what_it_was_made_of(
    tmp_path: Path, tape: Tape, kind: type
) -> None:
    """Topics overtake each other; and the recorder is told to stop just then."""
    last = of(tape, Transition)[-30]
    place = next(i for i, s in enumerate(tape) if s.what == last)

    def is_behind(sent: Sent) -> bool:
        if kind is GateDecision:
            return sent.what == last.decisions[-1]
        return is_step(sent, kind, last.id.step, last.id.episode_id)

    assert any(map(is_behind, tape))
    write_bag(tmp_path / 'bag', [s for s in tape[: place + 1] if not is_behind(s)])
    report = audit_path(tmp_path / 'bag')
    assert not {'as-published', 'truth-withheld'} & set(report.counts), f'\n{report}'
    assert report.outcome is not AuditOutcome.CONTRADICTED, f'\n{report}'


@pytest.mark.parametrize(
    'hidden_kinds',
    [
        (GateDecision,),
        (Transition, ActuationEvidence, PrivilegedObservation),
        (GateDecision, Transition, ActuationEvidence, PrivilegedObservation),
    ],
    ids=['decisions', 'steps', 'all'],
)
def test_log_times_that_were_moved_to_the_end_support_nothing(
    tmp_path: Path, tape: Tape, hidden_kinds: tuple[type, ...]
) -> None:
    """What is missing at the end is told, whatever the order in which it is said to have come."""
    end = tape[-1].log_time
    begin, squeezed = end - 3_000_000_000, 90_000_000
    forged = [
        replace(s, log_time=end - squeezed + (s.log_time - begin) * squeezed // (end - begin))
        if s.log_time > begin
        else s
        for s in tape
        if s.log_time <= begin or not isinstance(s.what, hidden_kinds)
    ]
    write_bag(tmp_path / 'bag', forged)
    report = audit_path(tmp_path / 'bag')
    # Commands alone may have been ahead of all that speaks of them.
    hidden = AuditOutcome.CONSISTENT if len(hidden_kinds) == 4 else AuditOutcome.INCOMPLETE
    assert report.outcome is hidden, f'\n{report}'


def test_an_action_of_a_chunk_under_no_lease_is_a_finding(tmp_path: Path, tape: Tape) -> None:
    """And where decisions are missing before it, the gate that is run again has only its word."""
    asked = [d for d in of(tape, GateDecision) if d.request is not None and d.published]
    before, true = asked[19:21]
    forged = changed_decision(true, trigger=Trigger.CHUNK, lease_id='')

    def told(what: Any) -> Any:
        if isinstance(what, Transition):
            known = tuple(d for d in what.decisions if d != before)
            known = tuple(forged if d == true else d for d in known)
            return replace(what, decisions=known, decision=len(known) - 1)
        return forged if what == true else what

    write_bag(tmp_path / 'bag', [replace(s, what=told(s.what)) for s in tape if s.what != before])
    assert audit_path(tmp_path / 'bag').outcome is AuditOutcome.CONTRADICTED


@pytest.mark.parametrize('lost', [1, 2])
def test_an_environment_that_died_may_have_observed_one_step_more(
    tmp_path: Path, tape: Tape, lost: int
) -> None:
    first, second, _ = dict.fromkeys(t.id.episode_id for t in of(tape, Transition))
    end = next(i for i, s in enumerate(tape) if is_step(s, PrivilegedObservation, 20, first))
    status = [s for s in tape[:end] if isinstance(s.what, EpisodeStatus)][-1]
    ended = {'state': EpisodeState.TRUNCATED, 'ending': 'environment_lost'}
    told = replace(status.what, **ended, declared_by='recorder')
    begin = next(
        i
        for i, s in enumerate(tape)
        if isinstance(s.what, EpisodeStatus) and s.what.id.episode_id == second
    )
    steps = range(21 - lost, 21)
    kept = [s for s in tape[: end + 1] if not any(is_step(s, Transition, n, first) for n in steps)]
    died = replace(status, what=told, log_time=tape[end].log_time)
    write_bag(tmp_path / 'bag', [*kept, died, *tape[begin:]])
    counts = audit_path(tmp_path / 'bag').counts
    assert ('truth-withheld' in counts) is (lost > 1)


def test_a_recorder_that_came_in_mid_episode_may_have_observed_more_than_its_first_step(
    tmp_path: Path, tape: Tape
) -> None:
    episode = of(tape, Transition)[0].id.episode_id
    begin = next(s for s in tape if is_step(s, PrivilegedObservation, 20, episode))
    heard = [s for s in tape if s.log_time >= begin.log_time]
    heard.remove(
        next(s for s in heard if type(s.what) is Transition and s.what.id == begin.what.id)
    )
    write_bag(tmp_path / 'bag', [*tape[:2], *heard])
    report = audit_path(tmp_path / 'bag')
    assert not {'as-published', 'truth-withheld'} & set(report.counts), f'\n{report}'


class Twice(Bench):
    """A policy that gives two actions one number, now and then."""

    other = True

    def _ask(self, request: ActionRequest) -> None:
        super()._ask(request)
        if request.sequence % 5 == 0:
            again = replace(request, action=(0.1, 0.2)) if self.other else request
            self.keep(again)
            super()._ask(again)


@pytest.mark.parametrize('other', [False, True])
def test_a_request_under_the_number_of_another_is_looked_at(
    tmp_path: Path, loaded: LoadedContract, task: Task, other: bool
) -> None:
    Twice.other = other
    write_bag(tmp_path / 'bag', make_tape(Twice, loaded, task, seed=5))
    report = audit_path(tmp_path / 'bag')
    assert set(report.counts) == ({'request-answered'} if other else set()), f'\n{report}'
    assert report.ok


class Visited(Bench):
    """A policy beside which a stranger asks for something once, by another id."""

    names: ClassVar[dict[str, Any]] = {}

    def _ask(self, request: ActionRequest) -> None:
        if request.sequence == 7:
            id_ = replace(request.id, **self.names)
            other = replace(request, id=id_, lease_id='none', client='stranger', action=())
            self.keep(other)
            super()._ask(other)
        super()._ask(request)


@pytest.mark.parametrize(
    'names',
    [
        {},
        {'step': 10**6},
        {'episode_id': '', 'step': 30},
        {'episode_id': '5c7a2f6e-0000-4000-8000-000000000000', 'step': 30},
        {'agent': 'other'},
        {'digest': 'sha256:' + '0' * 64},
    ],
)
def test_a_stranger_whom_the_gate_refused_makes_no_record_unbelievable(
    tmp_path: Path, loaded: LoadedContract, task: Task, names: dict[str, Any]
) -> None:
    Visited.names = names
    tape = make_tape(Visited, loaded, task, seed=5)
    refused = [d for d in of(tape, GateDecision) if d.verdict is Verdict.REJECTED]
    assert {r.rule for d in refused for r in d.rules} == {'authority'}
    write_bag(tmp_path / 'bag', tape)
    report = audit_path(tmp_path / 'bag')
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'


@pytest.mark.parametrize('later', [1, 200_000_000])
def test_another_request_of_a_number_is_suspicious(tmp_path: Path, tape: Tape, later: int) -> None:
    true = [s for s in tape if isinstance(s.what, ActionRequest)][20]
    other = replace(
        true, what=replace(true.what, action=(0.3, 0.1)), log_time=true.log_time + later
    )
    write_bag(tmp_path / 'bag', sorted([*tape, other], key=lambda s: s.log_time))
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {'request-answered': 1}, f'\n{report}'
    same = replace(true, log_time=true.log_time + later)
    write_bag(tmp_path / 'same', sorted([*tape, same], key=lambda s: s.log_time))
    assert audit_path(tmp_path / 'same').outcome is AuditOutcome.SUPPORTED


def test_a_summary_that_names_another_topic_than_the_messages_is_named(
    tmp_path: Path, tape: Tape
) -> None:
    write_bag(tmp_path / 'bag', tape)
    (file,) = (tmp_path / 'bag').glob('*.mcap')
    file.write_bytes(with_other_summary(file.read_bytes(), b'/cmd_vel', b'/cmd_val'))
    report = audit_path(tmp_path / 'bag')
    assert report.counts['record-unchanged'] == 2, f'\n{report}'
    assert report.outcome is AuditOutcome.CONTRADICTED


def with_other_summary(data: bytes, topic: bytes, other: bytes) -> bytes:
    """Return an MCAP file whose summary alone calls a topic by another name of that length."""
    footer = len(data) - _MAGIC - 29
    start = struct.unpack_from('<Q', data, footer + 9)[0]
    end = struct.unpack_from('<Q', data, footer + 17)[0] or footer
    summary, place = bytearray(), start
    while place < end:
        opcode, size = struct.unpack_from('<BQ', data, place)
        record = data[place : place + 9 + size]
        summary += record.replace(topic, other) if opcode == _CHANNEL else record
        place += 9 + size
    # Neither offsets of a part nor a checksum: both may be left out.
    last = struct.pack('<BQQQI', _FOOTER, 20, start, 0, 0)
    return data[:start] + bytes(summary) + last + data[-_MAGIC:]


def test_a_bag_that_has_log_times_only_is_believed(tmp_path: Path, tape: Tape) -> None:
    """A converted bag repeats them, and the recorder was later than whoever acted on a message."""
    late = [(s, s.log_time + 5_000_000) for s in tape]
    write_bag(tmp_path / 'bag', [replace(s, log_time=at, publish_time=at) for s, at in late])
    report = audit_path(tmp_path / 'bag')
    assert 'values-from-sensors' not in report.counts, f'\n{report}'


def test_options_that_are_nested_without_end_are_a_finding(tmp_path: Path, tape: Tape) -> None:
    def nested(what: object) -> object:
        if not isinstance(what, Transition) or what.reset is None:
            return what
        return replace(what, reset=replace(what.reset, options='[' * 100_000))

    write_bag(tmp_path / 'bag', [replace(s, what=nested(s.what)) for s in tape])
    assert 'step-recomputed' in audit_path(tmp_path / 'bag').counts


def test_records_without_raw_messages_have_a_chain_that_was_checked(
    tmp_path: Path, tape: Tape, loaded: LoadedContract
) -> None:
    run = write_records(tmp_path / 'run', of(tape, Transition), loaded.text)
    report = audit_path(run)
    assert report.chain['confirmed'] == report.chain['messages']
    assert 'values-from-sensors' in report.not_applied
    assert 'record-unchanged' not in report.not_applied


def run_folder(
    tmp_path: Path, tape: Tape, loaded: LoadedContract, known: Iterable[object]
) -> Path:
    """Return a run folder whose index is of what was known."""
    run = RunFolder.create(tmp_path / 'run')
    run.contract.write_text(loaded.text)
    write_bag(run.bag, tape)
    with EpisodeStore.create(run.episodes) as store:
        for now, record in enumerate(known):
            if isinstance(record, EpisodeStatus) and record.id.episode_id:
                store.index.update(record, environment='warehouse_cart', now=now)
            elif isinstance(record, Transition):
                store.index.add_step(record, now=now)
    return run.path


def test_a_row_of_an_episode_without_steps_is_compared_with_what_was_announced(
    tmp_path: Path, tape: Tape, loaded: LoadedContract
) -> None:
    episode = of(tape, Transition)[-1].id.episode_id
    left = hidden(tape, episode)
    run = run_folder(tmp_path, left, loaded, [sent.what for sent in left])
    assert 'index-agrees' not in audit_path(run).counts
    with sqlite3.connect(run / 'episodes.sqlite') as index:
        ((text,),) = index.execute('select record from episodes where episode_id = ?', (episode,))
        row = json.loads(text)
        row['state'] |= {'state': 'TERMINATED', 'ending': 'success', 'declared_by': 'task:me'}
        row |= {'episode_return': 99.0, 'step_count': 12}
        change = 'update episodes set record = ? where episode_id = ?'
        index.execute(change, (json.dumps(row), episode))
    index.close()
    assert audit_path(run).counts['index-agrees'] == 2


def test_a_run_without_its_index_is_not_fully_checked(
    tmp_path: Path, tape: Tape, loaded: LoadedContract
) -> None:
    run = run_folder(tmp_path, tape, loaded, (s.what for s in tape))
    assert 'index-agrees' not in audit_path(run).not_applied
    (run / 'episodes.sqlite').unlink()
    assert 'index-agrees' in audit_path(run).not_applied
