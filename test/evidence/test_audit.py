# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit over everything that a run publishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import json
from pathlib import Path
import re
import uuid

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.freezing import freeze
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import GateDecision, Verdict
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import Clock
from boundary_env_ros.evidence.audit import auditor as auditing
from boundary_env_ros.evidence.audit.audit import audit
from boundary_env_ros.evidence.audit.auditor import Auditor, CHECKS, KEPT
from boundary_env_ros.evidence.audit.findings import AuditOutcome, AuditReport
from boundary_env_ros.evidence.audit.rules.audit_rule import (
    AuditRule,
    PAGES,
    RULE,
    RULES,
    Severity,
)
from boundary_env_ros.evidence.audit.rules.record_checks import announced_early, frozen_otherwise
from boundary_env_ros.storage.contract_file import load, LoadedContract, make_task
from boundary_env_ros.storage.records import ContractDescription
from support.core_world import Timepiece
from support.damage import put
from support.lockstep_maker import LockstepBench
from support.record_maker import (
    BESIDE_STEPS,
    chosen_start,
    FROM_TOPICS,
    make_record,
    objects_in,
    Piece,
    seek_goal,
    transitions_of,
)

REPOSITORY = Path(__file__).parents[2]


def audit_all(record: list[Piece], contract: Contract | None, task: Task | None) -> AuditReport:
    """Audit a record with everything in it, not only its transitions."""
    auditor = Auditor(contract, task)
    for piece in record:
        auditor.add(piece)
    return auditor.report()


def changed(record: list[Piece], old: Piece, new: Piece | None) -> list[Piece]:
    """Return a record with one piece changed, or taken out."""
    i = next(i for i, piece in enumerate(record) if piece is old)
    return [*record[:i], *([] if new is None else [new]), *record[i + 1 :]]


def first(record: list[Piece], cls: type, **wanted: object) -> object:
    return next(
        piece
        for piece in record
        if isinstance(piece, cls) and all(getattr(piece, k) == v for k, v in wanted.items())
    )


# Honest records ----------------------------------------------------------------------------------


def test_record_for_these_tests_shows_what_there_is_to_judge(
    transitions: list[Transition],
) -> None:
    endings = {t.ending for t in transitions}
    assert {'success', 'time_limit', 'safety_stop'} <= endings
    verdicts = {d.verdict for t in transitions for d in t.decisions}
    assert verdicts == set(Verdict)
    assert any(t.overrun for t in transitions)
    assert any(t.actuated for t in transitions)


def test_honest_record_is_clean(record: list[Piece], contract: Contract, task: Task) -> None:
    report = audit_all(record, contract, task)
    assert report.counts == {}, f'\n{report}'
    assert report.ok
    assert set(report.not_applied) == {*FROM_TOPICS, 'record-unchanged'}
    assert report.episodes == 5


def test_honest_transitions_alone_are_clean(
    transitions: list[Transition], contract: Contract, task: Task
) -> None:
    report = audit(transitions, contract=contract, task=task)
    assert report.counts == {}, f'\n{report}'
    assert report.transitions == len(transitions)


@pytest.mark.parametrize('seed', [2, 3, 4])
def test_honest_records_of_other_seeds_are_clean(
    loaded: LoadedContract, task: Task, seed: int
) -> None:
    record = make_record(loaded.contract, loaded.digest, task, seed=seed)
    report = audit_all(record, loaded.contract, task)
    assert report.counts == {}, f'\n{report}'


def test_honest_lockstep_record_is_clean() -> None:
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    task = make_task(loaded.contract)
    bench = LockstepBench(loaded.contract, loaded.digest, task, seed=1)
    for scenario in ('clear', 'blocked', 'far'):
        bench.episode('goal_seeking', seek_goal, 1, chosen_start(scenario))
    report = audit_all(bench.record, loaded.contract, task)
    assert report.counts == {}, f'\n{report}'
    assert {t.ending for t in transitions_of(bench.record)} == {
        '',
        'success',
        'safety_stop',
        'time_limit',
    }


def test_without_contract_the_report_says_which_rules_were_not_applied(
    transitions: list[Transition],
) -> None:
    report = audit(transitions)
    assert report.ok
    assert 'command-in-bounds' in report.not_applied
    assert 'decision-sequence' not in report.not_applied
    assert 'the contract is not known' in str(report)


def test_without_task_rewards_are_not_judged_again(
    transitions: list[Transition], contract: Contract
) -> None:
    report = audit(transitions, contract=contract)
    # The transitions alone have neither privileged observations nor late evidence beside them.
    lacking = {'step-recomputed', 'record-unchanged', *BESIDE_STEPS}
    assert set(report.not_applied) == lacking | FROM_TOPICS
    assert 'the task of the contract is not known' in str(report)


@pytest.mark.parametrize('state', EpisodeState)
def test_only_a_reset_is_announced_before_it_is_closed(
    transitions: list[Transition], state: EpisodeState
) -> None:
    step = transitions[0]
    closed, early = step.closed, 1_000_000
    stamp = replace(
        closed,
        ros=replace(closed.ros, nanoseconds=closed.ros.nanoseconds - early),
        steady=closed.steady - early,
    )
    status = EpisodeStatus(id=step.id, state=state, pacing=Pacing.REALTIME, stamp=stamp)
    assert bool(list(announced_early(status, step))) is (state is not EpisodeState.RESETTING)


def test_privileged_documents_are_frozen_once_more_as_they_were() -> None:
    pytest.importorskip('jsonschema', reason='needs boundary_env_ros[documents]')
    (spec,) = load(REPOSITORY / 'examples/invoice_desk.yaml').contract.observation
    now = Timepiece().now
    invoice = '{"number": 1, "supplier": "Ann", "amount": 2.5}'
    sample = Reading(values=(), captured=now.ros, document=invoice)
    fields = freeze((spec,), {spec.name: sample}, {spec.name: ''}, observed=now)
    assert not list(frozen_otherwise(fields, (spec,), now))
    stale = (replace(fields[0], status=FieldStatus.STALE),)
    (mismatch,) = frozen_otherwise(stale, (spec,), now)
    assert mismatch.field == f'privileged.{spec.name}.status'


# What others say about the same steps ------------------------------------------------------------


def test_consistently_forged_request_is_found_in_the_decisions_of_the_gate(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    honest = next(
        t for t in transitions_of(record) if t.verdict is Verdict.LIMITED and len(t.decisions) == 1
    )
    (decision,) = honest.decisions
    assert decision.request is not None
    asked = decision.admitted_action
    forged = replace(
        decision,
        verdict=Verdict.ADMITTED,
        rules=(),
        requested_command=asked,
        request=replace(decision.request, action=asked),
    )
    step_ = replace(honest, decisions=(forged,), verdict=Verdict.ADMITTED, requested_action=asked)
    damaged = changed(record, honest, step_)
    # In the steps alone it cannot be seen any more: nobody was clipped, since nobody asked for it.
    assert audit(transitions_of(damaged), contract=contract, task=task).ok
    report = audit_all(damaged, contract, task)
    assert set(report.counts) == {'as-published'}, f'\n{report}'


def test_decision_that_the_gate_never_published_is_named(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    carried = [t for t in transitions_of(record) if t.decisions][20].decisions[0]
    published = first(record, GateDecision, sequence=carried.sequence)
    report = audit_all(changed(record, published, None), contract, task)
    assert {'as-published', 'decision-sequence'} <= set(report.counts), f'\n{report}'


def test_other_ending_than_was_announced_is_named(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    announced = first(record, EpisodeStatus, state=EpisodeState.TRUNCATED)
    assert isinstance(announced, EpisodeStatus)
    other = replace(announced, ending='operator_stop', declared_by='operator')
    report = audit_all(changed(record, announced, other), contract, task)
    assert set(report.counts) == {'ending-declared'}, f'\n{report}'


def test_ending_that_was_announced_at_another_step_is_named(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    last = [t for t in transitions_of(record) if t.ending][-1]
    states = [p for p in record if isinstance(p, EpisodeStatus)]
    announced = next(s for s in states if s.id == last.id and s.state.over)
    other = replace(announced, id=announced.at(last.id.step + 1))
    report = audit_all(changed(record, announced, other), contract, task)
    assert set(report.counts) == {'ending-declared'}, f'\n{report}'


def test_ending_that_another_process_declared_for_a_dead_environment_counts(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    last = [t for t in transitions_of(record) if t.ending][-1]
    status = next(
        p
        for p in reversed(record)
        if isinstance(p, EpisodeStatus) and p.id.episode_id == last.id.episode_id
    )
    cut = changed(
        changed(record, last, None),
        status,
        replace(
            status, state=EpisodeState.TRUNCATED, ending='environment_lost', declared_by='recorder'
        ),
    )
    assert audit_all(cut, contract, task).counts == {}
    silent = [p for p in cut if not (isinstance(p, EpisodeStatus) and p.state.over)]
    assert set(audit_all(silent, contract, task).counts) == {'record-ended'}


def test_ending_of_a_dead_environment_counts_when_the_next_episode_was_announced(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    last = next(t for t in transitions_of(record) if t.ending)
    of_it = [
        p for p in record if isinstance(p, EpisodeStatus) and p.id.episode_id == last.id.episode_id
    ]
    lost = replace(
        of_it[-1], state=EpisodeState.TRUNCATED, ending='environment_lost', declared_by='recorder'
    )
    cut = changed(changed(record, last, None), of_it[-1], lost)
    assert 'episode-ended' not in audit_all(cut, contract, task).counts
    silent = [p for p in cut if p is not lost]
    assert 'episode-ended' in audit_all(silent, contract, task).counts


def test_an_environment_that_woke_up_may_declare_what_the_recorder_has_declared(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    last = [t for t in transitions_of(record) if t.ending][-1]
    status = next(
        p
        for p in reversed(record)
        if isinstance(p, EpisodeStatus) and p.id.episode_id == last.id.episode_id
    )
    said = changed(
        record,
        last,
        replace(
            last,
            terminated=False,
            truncated=True,
            ending='environment_lost',
            declared_by='environment',
        ),
    )
    announced = replace(
        status, state=EpisodeState.TRUNCATED, ending='environment_lost', declared_by='recorder'
    )
    agreed = audit_all(changed(said, status, announced), contract, task)
    assert 'ending-declared' not in agreed.counts
    other = replace(announced, ending='policy_lost')
    assert 'ending-declared' in audit_all(changed(said, status, other), contract, task).counts


@pytest.mark.parametrize(
    'change',
    [
        {'decision_sequence': 99_999},
        {'actuated': 'before'},
    ],
    ids=['of no decision', 'before its command'],
)
def test_evidence_that_fits_no_command_is_named(
    record: list[Piece], contract: Contract, task: Task, change: dict[str, object]
) -> None:
    evidence = first(record, ActuationEvidence)
    assert isinstance(evidence, ActuationEvidence)
    if 'actuated' in change:
        earlier = evidence.commanded.ros.nanoseconds - 1_000_000
        change = {'actuated': replace(evidence.actuated, nanoseconds=earlier)}
    report = audit_all(changed(record, evidence, replace(evidence, **change)), contract, task)
    assert set(report.counts) == {'execution-measured'}, f'\n{report}'


def test_record_of_the_evaluator_with_other_fields_is_named(
    record: list[Piece], contract: Contract, task: Task
) -> None:
    evaluator = first(record, PrivilegedObservation)
    assert isinstance(evaluator, PrivilegedObservation)
    other = replace(evaluator, fields=evaluator.fields[:1])
    report = audit_all(changed(record, evaluator, other), contract, task)
    assert set(report.counts) == {'fields-as-contract'}


@pytest.mark.parametrize('digest', ['', 'sha256:' + '0' * 64])
def test_node_with_another_contract_is_named(
    record: list[Piece], contract: Contract, task: Task, digest: str
) -> None:
    auditor = Auditor(contract, task)
    auditor.add(
        ContractDescription(
            node='/safety_gate',
            role='safety_gate',
            contract=contract.name,
            contract_version=contract.version,
            digest=digest,
            software_version='0.1.0',
            task_distribution='',
            task_version='',
            text='',
        )
    )
    for piece in record:
        auditor.add(piece)
    assert set(auditor.report().counts) == {'one-contract'}


def test_unreadable_record_is_named_with_its_place() -> None:
    auditor = Auditor()
    auditor.unreadable('transitions.jsonl, line 7', "the key 'ending' is missing")
    report = auditor.report()
    assert set(report.counts) == {'record-complete'}
    assert (
        "transitions.jsonl, line 7: expected a whole record, got the key 'ending' is missing"
        in (str(report))
    )


def test_record_of_a_world_that_did_not_start_is_incomplete_and_says_why(
    contract: Contract, record: list[Piece]
) -> None:
    assert audit([], contract=contract).outcome is AuditOutcome.INCOMPLETE
    status = next(piece for piece in record if isinstance(piece, EpisodeStatus))
    auditor = Auditor(contract)
    auditor.add(replace(status, message='the motor is not there'))
    report = auditor.report()
    assert report.outcome is AuditOutcome.INCOMPLETE
    assert set(report.counts) == {'record-closed'}
    assert 'expected at least one transition, got none: the motor is not there' in str(report)


def test_record_without_its_contract_is_incomplete(transitions: list[Transition]) -> None:
    report = audit(transitions)
    assert report.ok
    assert report.outcome is AuditOutcome.INCOMPLETE, f'\n{report}'


def test_record_without_its_last_ending_is_a_warning_only(
    transitions: list[Transition], contract: Contract, task: Task
) -> None:
    report = audit(transitions[:-1], contract=contract, task=task)
    assert report.ok
    assert set(report.counts) == {'record-ended'}
    assert report.count(Severity.SUSPICIOUS) == 1


# The report --------------------------------------------------------------------------------------


def test_report_names_rule_place_and_way_out(
    transitions: list[Transition], contract: Contract, task: Task
) -> None:
    i = next(i for i, t in enumerate(transitions) if t.ending == 'time_limit')
    damaged = [*transitions]
    damaged[i] = replace(damaged[i], terminated=True)
    report = audit(damaged, contract=contract, task=task)
    text = str(report)
    finding = next(f for f in report.findings if f.rule == 'step-recomputed')
    assert str(finding) == (
        f'fatal step-recomputed: episode {damaged[i].id.episode_id}, step {damaged[i].id.step}, '
        'terminated: expected false, got true'
    )
    assert finding.text in text
    assert 'Fix: Look at the first field that differs' in text
    assert text.startswith('Audit: ')


def test_report_as_json_says_the_same(
    transitions: list[Transition], contract: Contract, task: Task
) -> None:
    damaged = [replace(t, seed=t.seed + t.id.step) for t in transitions]
    report = audit(damaged, contract=contract, task=task)
    data = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert data['outcome'] == 'contradicted'
    assert data['counts'] == report.counts
    assert data['fatal'] == sum(report.counts.values())
    assert len(data['findings']) == KEPT
    assert data['findings'][0] == {
        'rule': 'episode-constant',
        'severity': 'fatal',
        'page': 'doc/audit.md#episode-constant',
        'agent': 'cart',
        'episode': damaged[1].id.episode_id,
        'step': 1,
        'field': 'seed',
        'expected': f'{damaged[0].seed} as before',
        'actual': str(damaged[1].seed),
    }
    assert re.search(
        rf'fatal episode-constant \({report.counts["episode-constant"]} times\)', str(report)
    )


def test_memory_stays_flat_while_the_record_grows(
    transitions: list[Transition],
    contract: Contract,
    task: Task,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What is remembered is full after a few episodes already.
    monkeypatch.setattr(auditing, 'WINDOW', 32)

    def repeated(times: int) -> Iterator[Transition]:
        for round_ in range(times):
            names: dict[str, str] = {}
            for t in transitions[:60]:
                # Damaged too, so that findings are counted without end.
                name = names.setdefault(
                    t.id.episode_id,
                    str(uuid.uuid5(uuid.NAMESPACE_OID, f'{round_}{t.id.episode_id}')),
                )
                yield replace(t, id=replace(t.id, episode_id=name), declared_by='somebody')

    def remembered(times: int) -> int:
        """Return how many objects the auditor holds at the end of a record."""
        auditor = Auditor(contract, task)
        for step in repeated(times):
            auditor.add(step)
        return objects_in(auditor)

    short, long = remembered(6), remembered(24)
    assert long < short * 1.05, (short, long)


# The registry ------------------------------------------------------------------------------------


def test_every_rule_has_a_name_of_its_own_and_there_are_few() -> None:
    assert len(RULE) == len(RULES) < 50


def test_every_function_that_checks_a_step_or_a_decision_is_applied() -> None:
    folder = REPOSITORY / 'boundary_env_ros' / 'evidence' / 'audit' / 'rules'
    made = sum(
        len(re.findall(r'^@of_(?:step|decision)\(', path.read_text(encoding='utf-8'), re.M))
        for path in folder.glob('*.py')
    )
    assert len(CHECKS) == made > 30
    assert {check.rule for check in CHECKS} <= set(RULE)


def test_documentation_has_the_page_of_every_rule_as_it_is() -> None:
    text = (REPOSITORY / 'doc' / 'audit.md').read_text(encoding='utf-8')
    assert text.endswith(f'\n{PAGES}')


def test_every_rule_has_a_name_a_severity_and_its_page() -> None:
    text = (REPOSITORY / 'doc' / 'audit.md').read_text(encoding='utf-8')

    def whole(rule: AuditRule) -> bool:
        return (
            re.fullmatch(r'[a-z]+(-[a-z]+)*', rule.id) is not None
            and isinstance(rule.severity, Severity)
            and rule.page.startswith('doc/audit.md#')
            and f'### `{rule.page.partition("#")[2]}`\n' in text
            and bool(rule.sentence and rule.way_out)
        )

    assert [rule.id for rule in RULES if not whole(rule)] == []


@pytest.mark.parametrize(
    ('rule', 'changes'),
    [
        ('one-contract', {'id.digest': 'sha256:' + '0' * 64}),
        ('one-contract', {'id.agent': 'another'}),
        ('episode-constant', {'pacing': Pacing.LOCKSTEP}),
        ('episode-constant', {'seed': 77}),
        ('episode-constant', {'client': 'somebody'}),
        ('episode-constant', {'state': EpisodeState.TERMINATED}),
        ('episode-constant', {'ending': 'success'}),
        ('episode-constant', {'id.step': 99}),
        ('episode-constant', {'id.step': 0}),
        ('episode-constant', {'state': EpisodeState.IDLE}),
        ('episode-constant', {'declared_by': 'task'}),
        ('episode-constant', {'stamp.ros.clock': Clock.ROS}),
        ('one-contract', {'id.episode_id': 'no-uuid'}),
        ('instants-in-order', {'id.step': 4}),
    ],
)
def test_state_of_an_episode_that_says_otherwise_than_its_steps_is_named(
    record: list[Piece], contract: Contract, task: Task, rule: str, changes: dict[str, object]
) -> None:
    states = [piece for piece in record if isinstance(piece, EpisodeStatus)]
    victim = next(s for s in states if s.state is EpisodeState.RUNNING and s.id.step > 2)
    forged = victim
    for path, value in changes.items():
        forged = put(forged, path, value)
    report = audit_all(changed(record, victim, forged), contract, task)
    assert set(report.counts) == {rule}, f'\n{report}'
