# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records that end in the middle: what may have come later is missing, what came is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.evidence.audit import auditor
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.evidence.audit.raw_messages import decision_messages, ties
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.storage import mcap_log
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.record_chain import RecordChain
from support.bag_maker import make_tape, raw, Sent, Tape, write_bag, write_to
from support.record_maker import Bench, MS

Auditing = Callable[[Tape], AuditReport]


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes, in its order."""
    return in_order(make_tape(Bench, loaded, task, seed=5))


@pytest.fixture
def torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Auditing:
    """Return a function that writes a bag which nobody closes, and audits it."""
    monkeypatch.setattr(mcap_log, 'INTERVAL', 0.0)

    def torn(tape: Tape) -> AuditReport:
        with McapLog(
            tmp_path / f'bag{len(list(tmp_path.iterdir()))}', compress=False, chain=RecordChain()
        ) as log:
            for _ in write_to(log, tape):
                pass
            log.flush()
            return audit_path(log.path)

    return torn


def test_a_torn_bag_is_read_through_once_to_know_what_is_to_be_read(
    tape: Tape, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with McapLog(tmp_path / 'bag', compress=False) as log:
        for _ in write_to(log, tape):
            pass
        log.flush()
        run, told, counted = Run(log.path, lambda *now: told.append(now)), [], []
        topics = run.source.topics
        monkeypatch.setattr(run.source, 'topics', lambda: counted.append(1) or topics())
        assert run.topics
        assert list(run.pieces())
        assert told[-1][0] == told[-1][1]
    assert len(counted) == 1


def in_order(tape: Tape) -> Tape:
    return sorted(tape, key=lambda sent: sent.log_time)


def in_bursts(tape: Tape, topic: str, every: int) -> Tape:
    """Return a tape that has a topic only every so many nanoseconds, as after a loss."""
    begin = min(sent.log_time for sent in tape)

    def held(sent: Sent) -> Sent:
        late = every - (sent.log_time - begin) % every
        return replace(sent, log_time=sent.log_time + late)

    return in_order(raw(tape, topic, held))


@pytest.mark.parametrize(
    'topic',
    [
        '/boundary/action_request',
        '/boundary/actuation_evidence',
        '/boundary/gate_decision',
        '/boundary/privileged_observation',
        '/boundary/transition',
        '/camera/image_raw',
        '/cmd_vel',
        '/contact',
        '/odom',
        '/scan',
    ],
)
def test_what_comes_after_the_end_is_missing_and_contradicts_nothing(
    tape: Tape, torn: Auditing, topic: str
) -> None:
    late = in_bursts(tape, topic, 3000 * MS)
    for tenths in (1, 4, 9):
        report = torn(late[: len(late) * tenths // 10])
        assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'


def test_record_that_was_torn_before_its_first_step_is_incomplete(
    tape: Tape, torn: Auditing
) -> None:
    report = torn(tape[:6])
    assert (report.outcome, report.transitions) == (AuditOutcome.INCOMPLETE, 0), f'\n{report}'


OWN_AND_SENSED = [
    ('/boundary/gate_decision', 'as-published'),
    ('/cmd_vel', 'command-on-topic'),
    ('/odom', 'values-from-sensors'),
]


@pytest.mark.parametrize(('topic', 'rule'), OWN_AND_SENSED)
def test_what_was_taken_out_before_the_last_of_its_topic_is_named(
    tape: Tape, torn: Auditing, topic: str, rule: str
) -> None:
    if topic == '/boundary/gate_decision':
        rule = 'decision-sequence'
    cut = tape[: len(tape) // 2]
    # What is missing behind that the recorder may have lost, and had no time to say so.
    *_, told, _ = (s.log_time for s in cut if s.topic == '/boundary/recorder_status')
    of_topic = (s for s in cut if s.topic == topic and s.log_time < told)
    *_, first, second, third, _, _, _ = of_topic
    report = torn([sent for sent in cut if sent not in (first, second, third)])
    assert rule in report.counts, f'\n{report}'


@pytest.mark.parametrize(('topic', 'rule'), OWN_AND_SENSED)
def test_topic_that_ends_long_before_the_record_is_told(
    tape: Tape, torn: Auditing, topic: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (auditor, decision_messages, ties):
        monkeypatch.setattr(module, 'REACH', 4_000 * MS)  # The record has 13 s.
    end = tape[-1].log_time
    report = torn([s for s in tape if s.topic != topic or s.log_time < end - 8_000 * MS])
    assert rule in report.counts or report.beyond, f'\n{report}'


@pytest.mark.parametrize(('topic', 'rule'), OWN_AND_SENSED)
def test_what_a_closed_record_does_not_have_in_the_end_is_told(
    tape: Tape, tmp_path: Path, topic: str, rule: str
) -> None:
    end = tape[-1].log_time
    cut = [s for s in tape if s.topic != topic or s.log_time < end - 2_000 * MS]
    write_bag(tmp_path / 'bag', cut)
    report = audit_path(tmp_path / 'bag')
    assert rule in report.counts or report.beyond, f'\n{report}'
