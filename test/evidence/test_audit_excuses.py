# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records that bring an excuse with them: it is told, and bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from mcap.reader import make_reader

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.auditor import Auditor
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.evidence.audit.raw_messages.ties import REACH
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.mcap_log import McapLog
from boundary_env_ros.storage.records import Entry, Message
from boundary_env_ros.storage.recovery import recover
from support.bag_forgeries_of_records import stop_taken_from_its_topic, strange_command
from support.bag_forging import Forge, with_command
from support.bag_maker import make_tape, Tape, write_bag, write_to
from support.record_maker import Bench, MS, Sent

RECORDER = '/boundary/recorder_status'

Auditing = Callable[[Tape], AuditReport]


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=5)


@pytest.fixture
def forge(tape: Tape, contract: Contract, task: Task) -> Forge:
    """Return it to be forged."""
    return Forge(list(tape), contract, task)


def recorder_says(forge: Forge, **said: object) -> None:
    forge.raw(RECORDER, lambda sent: replace(sent, what={**sent.what, **said}))


def with_host(forge: Forge, host: str) -> None:
    def renamed(sent: Sent) -> Sent:
        taken = sent.what['stamp']
        taken = {**taken, 'ros': {**taken['ros'], 'host': host}}
        return replace(sent, what={**sent.what, 'stamp': taken})

    forge.raw(RECORDER, renamed)


# The recorder says that it lost messages ---------------------------------------------------------


@pytest.mark.parametrize('topic', ['/scan', '/odom', '/camera/image_raw', '/cmd_vel'])
def test_losses_that_the_record_claims_do_not_support_what_was_deleted(
    forge: Forge, audited: Auditing, topic: str
) -> None:
    recorder_says(forge, lost=10**9)
    begin = min(sent.log_time for sent in forge.tape)
    forge.raw(topic, lambda sent: sent if sent.log_time < begin + NANOSECONDS else None)
    report = audited(forge.tape)
    assert report.outcome is not AuditOutcome.SUPPORTED, f'\n{report}'
    if report.outcome is AuditOutcome.CONSISTENT:
        assert report.beyond
        assert 'More was excused than may be' in str(report)


@pytest.mark.parametrize('said', [{'lost': 5}, {'uncounted': ['/odom']}])
def test_a_few_losses_leave_the_record_supported_and_are_told(
    forge: Forge, audited: Auditing, said: dict[str, object]
) -> None:
    recorder_says(forge, **said)
    gone = [forge.heard('/odom', forge.steps[place].measured_at) for place in (20, 40)]
    forge.raw('/odom', lambda sent: None if any(sent is one for one in gone) else sent)
    report = audited(forge.tape)
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'
    assert sum(report.excused['lost'].values()) >= 2
    assert 'Excused, as the recorder says that it lost messages' in str(report)


def test_topic_that_only_speaks_in_the_end_supports_nothing_before(
    forge: Forge, audited: Auditing
) -> None:
    last = max(sent.log_time for sent in forge.tape)
    forge.raw('/scan', lambda sent: sent if sent.log_time > last - 2 * NANOSECONDS else None)
    assert audited(forge.tape).outcome is not AuditOutcome.SUPPORTED


# Whose clock -------------------------------------------------------------------------------------


def test_emergency_stop_that_was_ignored_is_named_whatever_the_recorder_calls_its_host(
    forge: Forge, audited: Auditing
) -> None:
    stop_taken_from_its_topic(forge)
    with_host(forge, 'elsewhere')
    report = audited(forge.tape)
    assert 'emergency-stop-heard' in report.counts, f'\n{report}'


@pytest.mark.parametrize('ahead', [3600, -3600])
def test_the_clock_of_the_recorder_is_no_evidence(
    forge: Forge, audited: Auditing, ahead: int
) -> None:
    shift = ahead * NANOSECONDS
    forge.tape = [replace(sent, log_time=sent.log_time + shift) for sent in forge.tape]
    with_host(forge, 'elsewhere')
    report = audited(forge.tape)
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'


# What is not there -------------------------------------------------------------------------------


def test_without_the_topic_of_the_gate_a_strange_command_is_not_called_supported(
    forge: Forge, audited: Auditing
) -> None:
    strange_command(forge)
    report = audited([s for s in forge.tape if not isinstance(s.what, GateDecision)])
    assert report.outcome is not AuditOutcome.SUPPORTED, f'\n{report}'
    assert {'as-published', 'command-on-topic'} <= set(report.not_applied)


def test_strange_command_beyond_the_bounds_is_named_without_the_topic_of_the_gate(
    forge: Forge, audited: Auditing
) -> None:
    strange_command(forge)
    last = forge.tape[-1]
    forge.tape[-1] = with_command(last, (5.0, 0.0))
    report = audited([s for s in forge.tape if not isinstance(s.what, GateDecision)])
    assert 'command-on-topic' in report.counts, f'\n{report}'


def test_strange_command_before_the_gate_is_excused_only_within_the_bounds(
    forge: Forge, audited: Auditing
) -> None:
    first = next(sent for sent in forge.tape if sent.topic == '/cmd_vel')
    at = first.log_time - NANOSECONDS
    stamp = {'sec': at // NANOSECONDS, 'nanosec': at % NANOSECONDS}
    what = {**first.what, 'header': {**first.what['header'], 'stamp': stamp}}
    early = replace(first, log_time=at, publish_time=at, what=what)
    within = audited([*forge.tape, with_command(early, (0.1, 0.0))])
    assert within.counts == {}, f'\n{within}'
    assert within.excused['early']['command base'] == 1
    beyond = audited([*forge.tape, with_command(early, (5.0, 0.0))])
    assert set(beyond.counts) == {'command-on-topic'}, f'\n{beyond}'


# What was damaged --------------------------------------------------------------------------------


def write_chunks(folder: Path, tape: Tape) -> Path:
    """Write a bag with a chunk for each half second, as a recorder does; return its file."""
    with McapLog(folder) as log:
        flushed = 0
        for sent in write_to(log, tape):
            if sent.log_time - flushed > 500 * MS:
                log.flush()
                flushed = sent.log_time
    return folder / f'{folder.name}_0.mcap'


@pytest.mark.parametrize('part', range(1, 8))
def test_bag_that_lost_a_chunk_and_was_recovered_is_incomplete(
    tape: Tape, tmp_path: Path, part: int
) -> None:
    file = write_chunks(tmp_path / 'bag', tape)
    data = bytearray(file.read_bytes())
    with file.open('rb') as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    chunk = summary.chunk_indexes[part * len(summary.chunk_indexes) // 8]
    data[chunk.chunk_start_offset + chunk.chunk_length // 2] ^= 0xFF
    file.write_bytes(data)
    recover(file.parent)
    report = audit_path(file.parent)
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'
    assert 'were damaged' in str(report)


def test_hole_that_a_record_claims_and_that_has_messages_in_it_excuses_nothing(
    forge: Forge, tmp_path: Path
) -> None:
    silent = forge.steps[30].closed.ros.nanoseconds
    forge.raw('/odom', lambda sent: None if sent.log_time > silent else sent)
    begin = min(sent.log_time for sent in forge.tape)
    write_bag(tmp_path / 'bag', forge.tape)
    run = Run(tmp_path / 'bag')
    terms = run.terms()
    auditor = Auditor(
        terms.contract, terms.task, run.topics, holes=[(begin, begin + 60 * NANOSECONDS)]
    )
    for piece in run.source.pieces(auditor.topics):
        if isinstance(piece, Message):
            auditor.message(piece)
        elif isinstance(piece, Entry):
            auditor.add(piece.record, piece.log_time)
    assert {'field velocity', 'feedback base'} <= set(auditor.report().beyond)


def test_last_requests_of_a_client_that_ended_are_excused_and_told(
    forge: Forge, audited: Auditing
) -> None:
    requests = [sent for sent in forge.tape if sent.topic == '/boundary/action_request']
    gone = [sent for sent in requests if sent.what.lease_id == requests[-1].what.lease_id][-3:]
    forge.tape = [sent for sent in forge.tape if not any(sent is one for one in gone)]
    report = audited(forge.tape)
    assert report.counts == {}, f'\n{report}'
    assert report.excused['torn']['requests'] >= 3


def test_what_a_recorder_could_not_say_that_it_lost_before_it_ended_accuses_nobody(
    forge: Forge, audited: Auditing
) -> None:
    gone = [sent for sent in forge.tape if sent.topic == '/boundary/action_request'][-2]
    forge.tape = [
        sent
        for sent in forge.tape
        if sent is not gone and not (sent.topic == RECORDER and sent.log_time > gone.log_time)
    ]
    report = audited(forge.tape)
    assert report.counts == {}, f'\n{report}'
    assert report.excused['lost']['requests'] == 1


@pytest.mark.parametrize('topic', ['/boundary/gate_decision', '/cmd_vel', '/boundary/transition'])
def test_the_rest_of_a_topic_that_a_recorder_lost_accuses_nobody(
    forge: Forge, audited: Auditing, topic: str
) -> None:
    gone = forge.tape[len(forge.tape) // 10].log_time
    assert forge.tape[-1].log_time > gone + REACH
    forge.tape = [sent for sent in forge.tape if sent.topic != topic or sent.log_time < gone]
    report = audited(forge.tape)
    unclear = (AuditOutcome.INCOMPLETE, AuditOutcome.CONSISTENT)
    assert report.outcome in unclear, f'\n{report}'


def test_what_drives_the_robot_long_after_the_last_decision_is_no_loss(
    forge: Forge, audited: Auditing
) -> None:
    last = next(sent for sent in reversed(forge.tape) if sent.topic == '/cmd_vel')
    later = [
        replace(last, log_time=at, publish_time=at)
        for at in range(last.log_time + REACH + 1, last.log_time + REACH + 900 * MS, 100 * MS)
    ]
    forge.tape = [*forge.tape, *later]
    assert audited(forge.tape).counts == {'command-on-topic': len(later)}
