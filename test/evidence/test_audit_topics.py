# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the audit says of topics that are missing, and what it does with those that are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import json
from pathlib import Path
from typing import Any

import pytest

from boundary_env_ros.core.records.decision import ForeignPublishers

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.gate_events import PublishersSeen
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Measurement
from boundary_env_ros.core.records.observation import ObservationField
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.sources.inputs import Purpose
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.errors import DigestMismatch
from boundary_env_ros.evidence.audit import auditor as auditing
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.auditor import Auditor
from boundary_env_ros.evidence.audit.findings import AuditOutcome
from boundary_env_ros.evidence.audit.raw_messages import decision_messages, ties
from boundary_env_ros.evidence.audit.rules import audit_rule
from boundary_env_ros.evidence.run_files import contract_of, Run, same_topic
from boundary_env_ros.storage.contract_file import load, LoadedContract, loads, make_task
from boundary_env_ros.storage.records import ContractDescription, Entry, Message
from support.bag_forging import Forge
from support.bag_maker import drive, each, make_tape, of, record_of, Tape, write_bag
from support.record_maker import Bench, chosen_start, MS, objects_in, seek_goal, Sent, STOP


@pytest.fixture(scope='module')
def tape(loaded: LoadedContract, task: Task) -> Tape:
    """Return what an honest recorder had of three episodes."""
    return make_tape(Bench, loaded, task, seed=5)


# What is missing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('topic', 'rules'),
    [
        ('/scan', {'values-from-sensors'}),
        ('/odom', {'values-from-sensors'}),
        ('/camera/image_raw', {'values-from-sensors'}),
        ('/ground_truth', {'values-from-sensors'}),
        ('/cmd_vel', {'command-on-topic'}),
        ('/emergency_stop', {'emergency-stop-heard'}),
        ('/boundary/action_request', {'as-published', 'request-answered'}),
        ('/boundary/privileged_observation', {'truth-withheld'}),
        ('/boundary/actuation_evidence', {'execution-measured'}),
    ],
)
def test_missing_topic_is_no_finding_but_is_told(
    tmp_path: Path, tape: Tape, topic: str, rules: set[str]
) -> None:
    write_bag(tmp_path / 'bag', [sent for sent in tape if sent.topic != topic])
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert report.outcome is AuditOutcome.CONSISTENT
    assert rules <= set(report.not_applied)
    name = topic.removeprefix('/').removeprefix('boundary/')
    assert any(
        name.replace('_', ' ') in item.why
        or name in item.why
        or item.why.startswith('no topic of type')
        for item in report.not_checked
    )
    assert 'Not checked:' in str(report)
    data = json.loads(json.dumps(report.to_json()))
    assert {item['rule'] for item in data['not_checked']} == set(report.not_applied)


def test_a_rule_needs_topics_of_kinds_that_a_record_can_lack() -> None:
    """Under a kind of another name nothing would ever be listed as not checked."""
    kinds = {kind for rule in audit_rule.RULES for kind in rule.topics}
    assert kinds == {purpose.value for purpose in Purpose} | {'privileged', 'request', 'decision'}
    assert {rule.id for rule in audit_rule.RULES if rule.topics} == {
        'as-published',
        'command-on-topic',
        'emergency-stop-heard',
        'frame-as-contract',
        'request-answered',
        'values-from-sensors',
    }


def test_bag_without_any_raw_message_is_clean_and_says_so(tmp_path: Path, tape: Tape) -> None:
    write_bag(
        tmp_path / 'bag', [s for s in tape if s.topic.startswith('/boundary') and not s.type]
    )
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert {rule.id for rule in audit_rule.RULES if rule.topics} - set(report.not_applied) <= {
        'as-published',
        'request-answered',
        'decision-recomputed',  # nobody was to be heard
    }


def test_recorder_that_came_late_is_no_forger(tmp_path: Path, tape: Tape) -> None:
    begin = min(sent.log_time for sent in tape)
    first_scan = next(sent for sent in tape if sent.topic == '/scan')
    late = first_scan.log_time + 700_000_000
    write_bag(
        tmp_path / 'bag',
        [sent for sent in tape if sent.topic != '/scan' or sent.log_time > late],
    )
    report = audit_path(tmp_path / 'bag')
    assert begin < late
    assert report.counts == {}, f'\n{report}'
    assert sum(report.excused['early'].values()) > 0
    assert 'Excused, as the message is from before the recorder heard the topic' in str(report)


def test_messages_that_the_recorder_says_it_lost_are_excused_and_no_more(
    tmp_path: Path, tape: Tape, contract: Contract, task: Task
) -> None:
    forge = Forge(list(tape), contract, task)
    used = [
        forge.heard('/odom', m.captured)
        for decision in forge.decisions[20:23]
        for m in decision.inputs.measurements
        if m.name == 'feedback.base'
    ]
    kept = [sent for sent in tape if all(sent is not gone for gone in used)]

    def with_lost(number: int) -> Tape:
        return [
            replace(sent, what={**sent.what, 'lost': number})
            if sent.topic == '/boundary/recorder_status'
            else sent
            for sent in kept
        ]

    write_bag(tmp_path / 'honest', with_lost(20))
    report = audit_path(tmp_path / 'honest')
    assert report.counts == {}, f'\n{report}'
    assert sum(report.excused['lost'].values()) >= 3
    write_bag(tmp_path / 'liar', with_lost(0))
    assert 'values-from-sensors' in audit_path(tmp_path / 'liar').counts


@pytest.mark.parametrize('kept', ['first', 'last', 'none behind the third'])
def test_steps_that_the_recorder_says_it_lost_are_missing_and_contradict_nothing(
    tmp_path: Path, tape: Tape, kept: str
) -> None:
    """As over a link that lets small messages through and no large ones."""
    steps = [sent for sent in tape if isinstance(sent.what, Transition)]
    gone = {'first': steps[1:], 'last': steps[:-1], 'none behind the third': steps[3:]}[kept]
    # Its numbers tell what was lost before the last one, and nothing of what is behind it.
    lost = len(gone) if kept == 'last' else 0
    left = {id(sent) for sent in gone}
    write_bag(
        tmp_path / 'bag',
        [
            replace(sent, what={**sent.what, 'lost': lost})
            if sent.topic == '/boundary/recorder_status'
            else sent
            for sent in tape
            if id(sent) not in left
        ],
    )
    report = audit_path(tmp_path / 'bag')
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'


def test_messages_that_the_recorder_refused_as_forged_are_told(tmp_path: Path, tape: Tape) -> None:
    said = [
        replace(sent, what={**sent.what, 'refused': 3})
        if sent.topic == '/boundary/recorder_status'
        else sent
        for sent in tape
    ]
    write_bag(tmp_path / 'bag', said)
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {'authentic': 1}, f'\n{report}'


class StarvedBench(Bench):
    """A bench whose gate and environment receive nothing for a while, though their timers run."""

    SPANS: tuple[tuple[int, int], ...] = ((2_000 * MS, 2_160 * MS),)

    def _received(self, receive: Callable[[], None]) -> None:
        until = next((end for begin, end in self.SPANS if begin <= self.now < end), self.now)
        if until > self.now:
            self.after((until - self.now) / MS, receive)
        else:
            receive()

    def _read(self, topic: str, message: object, published: Stamp, arrived: Stamp) -> None:
        def read() -> None:
            super(StarvedBench, self)._read(topic, message, published, self.wall(-MS // 10))

        self._received(read)

    def _ask(self, request: ActionRequest) -> None:
        self._received(lambda: super(StarvedBench, self)._ask(request))

    def _answer(self, decision: GateDecision) -> None:
        self._received(lambda: super(StarvedBench, self)._answer(decision))


class OftenStarvedBench(StarvedBench):
    """One on a machine with far too much to do."""

    SPANS = tuple((n * 400 * MS, n * 400 * MS + 160 * MS) for n in range(2, 100))


class LongStarvedBench(StarvedBench):
    """One that receives nothing for longer than the timeout of the sensors: the gate stops."""

    SPANS = ((2_000 * MS, 2_600 * MS),)


@pytest.mark.parametrize('bench', [StarvedBench, OftenStarvedBench, LongStarvedBench])
def test_nodes_that_were_starved_have_a_record_as_good_as_any(
    tmp_path: Path, loaded: LoadedContract, task: Task, bench: type[Bench]
) -> None:
    write_bag(tmp_path / 'bag', make_tape(bench, loaded, task, seed=5))
    report = audit_path(tmp_path / 'bag')
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'


@pytest.mark.parametrize(
    ('others', 'topic', 'count'),
    [
        ({'foreign_publishers': (ForeignPublishers(topic='scan', count=2),)}, 'scan', '2'),
        ({'foreign_commands': 1}, 'a command topic', '1'),
    ],
)
def test_foreign_publisher_is_named_with_its_topic_and_the_record_is_not_supported(
    loaded: LoadedContract,
    task: Task,
    others: dict[str, Any],
    topic: str,
    count: str,
    tmp_path: Path,
) -> None:
    bench = Bench(loaded.contract, loaded.digest, task, 5)
    bench.after(2_500.0, lambda: bench.gate.apply(PublishersSeen(now=bench.instant(), **others)))
    bench.episode('goal_seeking', seek_goal, 101, chosen_start('far'))
    write_bag(tmp_path / 'bag', record_of(bench, loaded))
    report = audit_path(tmp_path / 'bag')
    assert set(report.counts) == {'foreign-publisher'}, f'\n{report}'
    told = {(found.expected, found.actual) for found in report.findings}
    assert told == {(f'no foreign publisher on {topic}', count)}
    checked = replace(report, not_checked=(), excused={})
    assert checked.outcome is AuditOutcome.CONSISTENT
    assert 'Something is suspicious' in str(checked)
    assert replace(checked, counts={}).outcome is AuditOutcome.SUPPORTED


class BeatingBench(Bench):
    """A bench with a button that says ten times a second that it is not pressed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._types[STOP] = 'std_msgs/msg/Bool'
        self._repeat(100 * MS, lambda: self._hear(STOP, {'data': False}, 3))


def test_a_button_that_repeats_itself_is_tied_to_what_the_gate_had_heard_by_then(
    tmp_path: Path, loaded: LoadedContract, task: Task
) -> None:
    begin = '  emergency_stop: emergency_stop\n'
    assert begin in loaded.text
    beating = loads(loaded.text.replace(begin, f'{begin}  emergency_stop_heartbeat: 0.5\n'))
    tape = make_tape(BeatingBench, beating, task, 1)
    write_bag(tmp_path / 'bag', tape)
    report = audit_path(tmp_path / 'bag')
    assert report.outcome is AuditOutcome.SUPPORTED, f'\n{report}'
    heard = [
        m
        for d in of(tape, GateDecision)
        for m in d.inputs.measurements
        if m.name == 'emergency_stop'
    ]
    assert len(heard) > 20

    def early(value: Any) -> Any:
        if isinstance(value, Measurement) and value.name == 'emergency_stop':
            return replace(value, received_steady=value.received_steady - 90 * MS)
        return value

    write_bag(tmp_path / 'forged', each(tape, early))
    assert not audit_path(tmp_path / 'forged').ok


def test_topic_in_a_namespace_is_found_by_its_end() -> None:
    assert same_topic('/hall/cart/odom', 'odom')
    assert same_topic('odom', '/odom')
    assert not same_topic('/odometry/odom_old', 'odom')
    assert not same_topic('/rodom', 'odom')


def test_bag_of_a_namespace_is_held_against_its_own_topics(tmp_path: Path, tape: Tape) -> None:
    def renamed(value: object) -> object:
        for name in ('topic', 'source'):
            topic = getattr(value, name, '')
            if isinstance(topic, str) and topic.startswith('/'):
                value = replace(value, **{name: f'/hall{topic}'})  # type: ignore[type-var]
        return value

    moved = [replace(sent, topic=f'/hall{sent.topic}') for sent in each(tape, renamed)]
    moved = each(
        moved,
        lambda v: (
            replace(v, actuated_source=f'/hall{v.actuated_source}')
            if getattr(v, 'actuated_source', '')
            else v
        ),
    )
    write_bag(tmp_path / 'bag', moved)
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'
    assert report.not_checked == ()


def test_garbage_on_a_sensor_topic_supports_nothing(
    tmp_path: Path, tape: Tape, contract: Contract, task: Task
) -> None:
    forge = Forge(list(tape), contract, task)
    (m,) = (m for m in forge.decisions[25].inputs.measurements if m.name == 'obstacle.scan')
    sent = forge.heard('/scan', m.captured)
    short = {**sent.what, 'ranges': []}
    forge.raw('/scan', lambda s: replace(s, what=short) if s is sent else s)
    write_bag(tmp_path / 'bag', forge.tape)
    assert 'values-from-sensors' in audit_path(tmp_path / 'bag').counts


@pytest.mark.parametrize('topic', ['/pose_detections', '/ground_truth'])
def test_message_in_another_frame_than_that_of_its_field_is_named(
    tmp_path: Path, tape: Tape, contract: Contract, task: Task, topic: str
) -> None:
    forge = Forge(list(tape), contract, task)

    def elsewhere(sent: Sent) -> Sent:
        header = {**sent.what['header'], 'frame_id': 'elsewhere'}
        return replace(sent, what={**sent.what, 'header': header})

    forge.raw(topic, elsewhere)
    write_bag(tmp_path / 'bag', forge.tape)
    report = audit_path(tmp_path / 'bag')
    assert set(report.counts) == {'frame-as-contract'}, f'\n{report}'
    assert report.outcome is AuditOutcome.CONSISTENT


# Derived fields ----------------------------------------------------------------------------------

DERIVED = """\
  turned:
    derive: {function: sine_cosine, of: pose, index: 2}
    max_age: 0.5
  speeds:
    derive: {function: history, of: velocity, count: 3}
"""


@pytest.fixture(scope='module')
def derived(loaded: LoadedContract) -> tuple[LoadedContract, Tape]:
    """Return a contract with derived fields, and an honest record under it."""
    lines = loaded.text.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith('privileged:'))
    text = ''.join([*lines[:at], DERIVED.replace('    max_age: 0.5\n', ''), *lines[at:]])
    contract = loads(text)
    return contract, make_tape(Bench, contract, make_task(contract.contract), seed=6)


def test_derived_fields_are_computed_again(
    tmp_path: Path, derived: tuple[LoadedContract, Tape]
) -> None:
    write_bag(tmp_path / 'bag', derived[1])
    report = audit_path(tmp_path / 'bag')
    assert report.counts == {}, f'\n{report}'


@pytest.mark.parametrize('name', ['turned', 'speeds'])
def test_derived_field_that_was_changed_alone_is_named(
    tmp_path: Path, derived: tuple[LoadedContract, Tape], name: str
) -> None:
    loaded, tape = derived
    forge = Forge(list(tape), loaded.contract, make_task(loaded.contract))

    def change(field: ObservationField) -> ObservationField:
        return replace(field, values=(*field.values[:-1], field.values[-1] * 0.5))

    forge.refield(forge.step(lambda s: s.id.step == 9), name, change)
    write_bag(tmp_path / 'bag', forge.tape)
    report = audit_path(tmp_path / 'bag')
    assert 'step-recomputed' in report.counts, f'\n{report}'


def test_derived_field_that_was_changed_with_its_input_is_named_by_the_sensor(
    tmp_path: Path, derived: tuple[LoadedContract, Tape]
) -> None:
    loaded, tape = derived
    forge = Forge(list(tape), loaded.contract, make_task(loaded.contract))
    old = forge.step(lambda s: s.id.step == 9)
    forge.refield(old, 'velocity', lambda f: replace(f, values=(0.7, 0.1)))
    for step in (9, 10, 11):
        now = forge.step(lambda s, n=step: s.id.episode_id == old.id.episode_id and s.id.step == n)
        place = 4 - 2 * (step - 9)
        forge.refield(
            now,
            'speeds',
            lambda f, p=place: replace(f, values=(*f.values[:p], 0.7, 0.1, *f.values[p + 2 :])),
        )
    forge.rewarded()
    write_bag(tmp_path / 'bag', forge.tape)
    report = audit_path(tmp_path / 'bag')
    assert 'step-recomputed' not in report.counts, f'\n{report}'
    assert 'values-from-sensors' in report.counts


# Of a node ---------------------------------------------------------------------------------------


def test_contract_of_a_node_is_loaded_under_its_pacing(loaded: LoadedContract) -> None:
    lockstep = load('warehouse_cart', Pacing.LOCKSTEP)
    described = ContractDescription(
        node='/environment',
        role='environment',
        contract='warehouse_cart',
        contract_version='1.0.0',
        digest=lockstep.digest,
        software_version='0.1.0',
        task_distribution='',
        task_version='',
        text=loaded.text,
    )
    assert contract_of(described).contract.pacing is Pacing.LOCKSTEP
    with pytest.raises(DigestMismatch, match='Install the version of the task'):
        contract_of(replace(described, digest='sha256:' + '0' * 64))


# Memory ------------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_memory_stays_flat_as_the_bag_grows(
    tmp_path: Path, loaded: LoadedContract, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With smaller windows a short bag fills them.
    monkeypatch.setattr(auditing, 'WINDOW', 64)
    monkeypatch.setattr(auditing, 'RECENT', 8)
    monkeypatch.setattr(decision_messages, '_MOST', 160)
    monkeypatch.setattr(ties, 'KEEP', 13_000_000_000)
    held = []
    for rounds in (2, 6):
        bench = Bench(loaded.contract, loaded.digest, task, 1)
        for _ in range(rounds):
            drive(bench)
        write_bag(tmp_path / f'bag{rounds}', record_of(bench, loaded))
        run = Run(tmp_path / f'bag{rounds}')
        auditor = Auditor(loaded.contract, task, run.topics)
        for piece in run.source.pieces(auditor.topics):
            if isinstance(piece, Message):
                auditor.message(piece)
            elif isinstance(piece, Entry):
                auditor.add(piece.record, piece.log_time)
        held.append(objects_in(auditor))
    assert held[1] < 1.1 * held[0], held
