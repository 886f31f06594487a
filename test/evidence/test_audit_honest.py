# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Honest records that lack something, wherever that is: it is told, and nobody is accused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
import sys
from typing import Any

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import PrivilegedObservation, Transition
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.evidence.audit.raw_messages import decision_messages, ties
from boundary_env_ros.evidence.audit.raw_messages.raw_auditor import RawAuditor
from boundary_env_ros.evidence.audit.rules.audit_rule import link
from boundary_env_ros.storage.contract_file import load, LoadedContract, make_task
from boundary_env_ros.storage.mcap_log import McapLog
from support import bag_maker
from support.bag_maker import each, make_tape, Sent, Tape, write_to
from support.lockstep_maker import LockstepBench
from support.record_maker import Bench, MS

Auditing = Callable[[Tape], AuditReport]

DECISION, STEP = '/boundary/gate_decision', '/boundary/transition'
RECORDER = '/boundary/recorder_status'


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=4)


def delayed(tape: Tape, topic: str, milliseconds: int) -> Tape:
    """Return a tape on which a topic came later than the others."""
    late = milliseconds * MS
    return [replace(s, log_time=s.log_time + late) if s.topic == topic else s for s in tape]


def part(tape: Tape, begin: float, end: float) -> Tape:
    """Return what was recorded between two instants, s, and the contract."""
    first = min(sent.log_time for sent in tape)
    least, most = (first + round(at * NANOSECONDS) for at in (begin, end))
    return [s for s in tape if s.topic == '/boundary/contract' or least <= s.log_time <= most]


# What our own recorder lost ----------------------------------------------------------------------


def without_one(tape: Tape, topic: str, says: int) -> Tape:
    """Return a tape without one message of a topic, whose recorder says then how many it lost."""
    mine = [s for s in tape if s.topic == topic]
    gone = mine[len(mine) // 3]
    return [
        replace(s, what={**s.what, 'lost': says})
        if s.topic == RECORDER and s.log_time > gone.log_time
        else s
        for s in tape
        if s is not gone
    ]


@pytest.mark.parametrize('topic', [DECISION, STEP])
def test_what_our_recorder_lost_is_missing_if_it_says_so_and_taken_out_if_not(
    tape: Tape, audited: Auditing, topic: str
) -> None:
    report = audited(without_one(tape, topic, says=1))
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
    assert report.lacking
    report = audited(without_one(tape, topic, says=0))
    assert report.outcome is AuditOutcome.CONTRADICTED, f'\n{report}'


@pytest.mark.parametrize('topic', [DECISION, STEP])
def test_a_recorder_that_ended_before_it_could_say_what_it_lost_is_not_accused(
    tape: Tape, audited: Auditing, topic: str
) -> None:
    mine = [s for s in tape if s.topic == topic]
    gone, end = mine[-6], mine[-1].log_time
    report = audited([s for s in tape if s is not gone and s.log_time <= end])
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'


# Where a record begins and ends ------------------------------------------------------------------


@pytest.mark.parametrize('topic', [DECISION, STEP])
@pytest.mark.parametrize('end', [1.51, 4.71, 8.23, 10.05])
def test_a_topic_may_be_a_second_behind_where_a_record_ends(
    tape: Tape, audited: Auditing, topic: str, end: float
) -> None:
    report = audited(part(delayed(tape, topic, 1000), 0.0, end))
    assert report.ok, f'\n{report}'


def test_a_gate_names_the_episode_that_was_over_when_a_recorder_began(
    tape: Tape, audited: Auditing
) -> None:
    first, *_ = {s.what.id.episode_id: s for s in tape if s.topic == STEP}.values()
    later = [s.log_time for s in tape if s.topic == DECISION and s.log_time > first.log_time]
    begin = (later[0] - MS - min(s.log_time for s in tape)) / NANOSECONDS
    report = audited(part(tape, begin, 60.0))
    assert report.ok, f'\n{report}'


class Numbered(Bench):
    """A bench whose contact sensor, which has no stamps, says another number each time."""

    def _hear(self, topic: str, fields: dict[str, object], delay: float) -> None:
        if topic == '/contact':
            fields = {'data': self.random.random()}
        super()._hear(topic, fields, delay)


def numbered(tmp_path: Path, loaded: LoadedContract) -> Tape:
    """Return the tape of one."""
    text = loaded.text.replace(
        'type: std_msgs/msg/Bool\n    fields: [data]',
        'type: std_msgs/msg/Float64\n    fields: [data]',
    )
    assert text != loaded.text
    (tmp_path / 'numbered.yaml').write_text(text, encoding='utf-8')
    other = load(str(tmp_path / 'numbered.yaml'))
    return make_tape(Numbered, other, make_task(other.contract), seed=4)


class Hanging(Bench):
    """A bench whose scanner hangs now and then: it sends one scan again, stamp and all."""

    _scanned: dict[str, object] | None = None

    def _hear(self, topic: str, fields: dict[str, object], delay: float) -> None:
        if topic == '/scan':
            if self._scanned is None or self.now % (1000 * MS) > 200 * MS:
                self._scanned = fields
            fields = self._scanned
        super()._hear(topic, fields, delay)


def test_a_scan_that_was_sent_again_is_of_the_instant_at_which_it_was_sent_last(
    loaded: LoadedContract, task: Task, audited: Auditing
) -> None:
    tape = make_tape(Hanging, loaded, task, seed=4)
    report = audited(tape)
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'

    def sent_otherwise(value: Any) -> Any:
        if not isinstance(value, ObservationField) or value.name != 'scan':
            return value
        sent = value.published
        if sent is None:
            return value
        return replace(value, published=replace(sent, nanoseconds=sent.nanoseconds + 1))

    assert 'values-from-sensors' in audited(each(tape, sent_otherwise)).counts


def test_what_has_no_stamp_may_be_behind_in_a_bag_with_log_times_only(
    tmp_path: Path, loaded: LoadedContract, audited: Auditing
) -> None:
    tape = [replace(s, publish_time=0) for s in numbered(tmp_path, loaded)]
    end = [s for s in tape if type(s.what) is PrivilegedObservation][20].log_time
    late = delayed(tape, '/contact', 49)
    report = audited([s for s in late if s.log_time <= end])
    assert report.ok, f'\n{report}'
    assert any('field contact' in kinds for kinds in report.excused.values())


# What is no stamp, and no clock ------------------------------------------------------------------


def test_what_another_calls_a_header_is_none(
    tape: Tape, audited: Auditing, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, wire = bag_maker.definition, bag_maker.wire

    def with_header(kind: str) -> tuple[str, str]:
        text, digest = known(kind)
        return text.replace('bool data', 'string header\nbool data'), digest

    def with_text(sent: Sent) -> bytes:
        data = wire(sent)
        return data[:4] + b'\1\0\0\0\0' + data[4:] if sent.type == 'std_msgs/msg/Bool' else data

    monkeypatch.setattr(bag_maker, 'definition', with_header)
    monkeypatch.setattr(bag_maker, 'wire', with_text)
    report = audited(tape)
    assert report.counts == {}, f'\n{report}'


# How much is remembered --------------------------------------------------------------------------


def test_what_waits_in_vain_is_given_up_before_the_end_of_the_record(
    tape: Tape, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However many gaps another recorder leaves, no more waits than may still come."""
    for module in (decision_messages, ties):
        monkeypatch.setattr(module, 'REACH', 2 * NANOSECONDS)  # The record has 13 s.
    waiting: list[int] = []
    finish = RawAuditor.finish

    def counted(auditor: RawAuditor) -> None:
        (pairs,) = auditor._commands.pairs.values()
        waiting.extend(map(len, (auditor.ties._waiting, pairs.sent, pairs.decided)))
        finish(auditor)

    monkeypatch.setattr(RawAuditor, 'finish', counted)
    with McapLog(tmp_path / 'bag', compress=False) as log:
        for _ in write_to(log, with_gaps(tape)):
            pass
    report = audit_path(tmp_path / 'bag')
    assert sum(report.excused['gap'].values()) > 100
    # Each is of the last two seconds.
    values, *commands_and_decisions = waiting
    assert values < 40, waiting
    assert max(commands_and_decisions) < 10, waiting


def with_gaps(tape: Tape) -> Tape:
    """Return a tape without every so many decisions, commands and measured states."""
    every, counts, kept = {DECISION: 5, '/cmd_vel': 7, '/odom': 3}, Counter[str](), []
    for sent in tape:
        counts[sent.topic] += 1
        if counts[sent.topic] % every.get(sent.topic, sys.maxsize):
            kept.append(sent)
    return kept


def test_a_record_without_a_step_is_under_the_pacing_of_its_nodes(audited: Auditing) -> None:
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    tape = make_tape(LockstepBench, loaded, make_task(loaded.contract), seed=4)
    kinds = (Transition, EpisodeStatus)
    report = audited([sent for sent in tape if not isinstance(sent.what, kinds)])
    assert 'one-contract' not in report.counts, f'\n{report}'


@pytest.mark.parametrize(('missing', 'is_known'), [(0, True), (3, False)])
def test_the_command_before_is_not_known_behind_a_gap(
    tape: Tape, missing: int, is_known: bool
) -> None:
    sent = next(s.what for s in tape if isinstance(s.what, GateDecision) and s.what.published)
    later = replace(sent, sequence=sent.sequence + 1 + missing)
    first = link(None, sent, 'first', None, direct=True)
    assert link(first, later, 'later', None, direct=True).published == (sent if is_known else None)
