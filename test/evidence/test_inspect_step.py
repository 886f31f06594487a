# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything about one step, in a terminal and for machines."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path

import pytest

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeLabel, Label
from boundary_env_ros.core.records.latency import STAGES
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    Kind,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.serialization import from_json
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.record_difference import same
from boundary_env_ros.evidence.report.one_step import find_step, OneStep
from boundary_env_ros.evidence.report.step_text import step_text
from boundary_env_ros.storage.contract_file import LoadedContract
from support.bag_maker import write_records
from support.damage import with_answer
from support.record_maker import Piece


@pytest.fixture(scope='module')
def run(
    tmp_path_factory: pytest.TempPathFactory, record: list[Piece], loaded: LoadedContract
) -> Path:
    """Return a record of five episodes, the first of which somebody has labelled."""
    path = tmp_path_factory.mktemp('inspect') / 'run'
    first = next(p for p in record if isinstance(p, Transition))
    label = EpisodeLabel(id=first.id, user='ada', label=Label.FAILURE, note='it scratched')
    return write_records(path, [*record, label], loaded.text)


@pytest.fixture(scope='module')
def stopped(run: Path, transitions: list[Transition]) -> OneStep:
    """Return the step in which the gate began to stop the robot in front of an obstacle."""
    step = next(
        t
        for t in transitions
        if any(r.reason is Reason.OBSTACLE_STOP for d in t.decisions for r in d.rules)
    )
    return find_step(run, step.id.episode_id[:8], str(step.id.step))


def test_step_is_found_whole_with_all_that_belongs_to_it(
    run: Path, record: list[Piece], transitions: list[Transition]
) -> None:
    late = next(p for p in record if isinstance(p, ActuationEvidence))
    step = next(
        t
        for t in transitions
        if any(d.sequence == late.decision_sequence for d in t.decisions[t.decision :][:1])
    )
    found = find_step(run, step.id.episode_id, str(step.id.step))
    assert same(found.step.transition, step)
    assert found.step.late is not None
    assert same(found.step.late, late)
    saw = next(p for p in record if isinstance(p, PrivilegedObservation) and p.id == step.id)
    assert found.step.truth is not None
    assert same(found.step.truth, saw)
    text = step_text(found)
    assert 'The evidence of the execution came after the step had been closed.' in text
    assert 'actuation    unknown' not in text


@pytest.mark.parametrize(
    ('error', 'told'),
    [
        (0.0125, 'The tick came 12.5 ms after its due time.'),
        (-0.029, 'The tick came 29 ms before its due time.'),
    ],
)
def test_tick_is_told_on_its_side_of_its_due_time(
    stopped: OneStep, error: float, told: str
) -> None:
    changed = replace(stopped.step.transition, tick_error=error)
    step = replace(stopped, step=replace(stopped.step, transition=changed))
    assert told in step_text(step)


def test_documents_that_were_seen_and_requested_are_told(stopped: OneStep) -> None:
    now = stopped.step.transition
    seen = replace(now.after[0], values=(), document='{"number": 7}')
    asked = '{"desk": {"type": "ask", "number": 7}}'
    said = {
        'payload': asked,
        'unresolved': ('front',),
        'metadata': (KeyValue(key='policy', value='3'),),
    }
    changed = with_answer(
        replace(now, after=(seen, *now.after[1:])), request=replace(now.request, **said)
    )
    text = step_text(replace(stopped, step=replace(stopped.step, transition=changed)))
    assert '\n    {"number": 7}' in text
    assert f'\n  requested: {asked}' in text
    assert '\n    - front was no image in time\n    - policy: 3\n' in text


def test_episodes_are_counted_from_one_in_the_order_of_the_record(
    run: Path, transitions: list[Transition]
) -> None:
    ids = list(dict.fromkeys(t.id.episode_id for t in transitions))
    second = find_step(run, '2', '0')
    assert (second.step.transition.id.episode_id, second.step.episode.number) == (ids[1], 2)
    assert (second.episodes, second.step.transition.kind) == (5, Kind.RESET)
    last = find_step(run, 'last', 'last')
    assert same(last.step.transition, transitions[-1])
    assert last.last_step == transitions[-1].id.step


def test_text_tells_instants_stages_ages_actions_rules_with_numbers_and_reward(
    stopped: OneStep,
) -> None:
    text, now = step_text(stopped), stopped.step.transition
    for instant in ('captured', 'observed', 'delivered', 'requested', 'received', 'commanded'):
        assert f'  {instant}' in text
    assert all(f'\n  {stage}' in text for stage in STAGES)
    assert 'budget 200 ms' in text
    for field in now.after:
        assert f'\n  {field.name}: FRESH, ' in text
    for name in ('requested', 'admitted', 'commanded', 'measured'):
        for value in getattr(now, f'{name}_action'):
            assert f'{value:.6g}' in text
    rules = [r for d in now.decisions for r in d.rules]
    assert rules
    folded = ' '.join(text.split())
    for rule in rules:
        assert rule.reason.text in folded
        if rule.value is not None and rule.limit is not None:
            assert f'({rule.value:.6g}, limit {rule.limit:.6g} {rule.unit}'.rstrip() in folded
    for term in now.reward_terms:
        assert f'    {term.name}' in text
    assert any(d.verdict is Verdict.STOPPED for d in now.decisions)
    assert 'Why one might look at it\n  the gate stopped the robot: STOPPED by ' in text


def test_reset_ending_events_and_marks_are_told(run: Path) -> None:
    reset = step_text(find_step(run, '1', '0'))
    assert 'Reset\n  seed ' in reset
    assert '  achieved start: ' in reset
    assert 'What people say of the episode\n  failure by ada, at step 0: it scratched' in reset
    end = step_text(find_step(run, '1', 'last'))
    assert '  terminated: success, declared by ' in end
    assert '  termination: success, declared by ' in end


def test_json_is_the_records_as_they_are(
    run: Path, stopped: OneStep, capsys: pytest.CaptureFixture[str]
) -> None:
    number, step = stopped.step.episode.number, stopped.step.transition.id.step
    arguments = [
        'inspect',
        str(run),
        '--episode',
        str(number),
        '--step',
        str(step),
    ]
    assert main([*arguments, '--json']) == 0
    told = json.loads(capsys.readouterr().out)
    assert same(from_json(Transition, told['transition']), stopped.step.transition)
    assert told['anomalies'][0]['kind'] == 'stopped'
    assert main(arguments) == 0
    assert capsys.readouterr().out == f'{step_text(stopped)}\n'


@pytest.mark.parametrize(
    ('episode', 'step', 'told'),
    [
        (
            '6',
            '0',
            r'no such episode \(expected 1 to 5, the first digits of an id, or "last", got',
        ),
        ('0', '0', r'no such episode \(expected 1 to 5'),
        ('abc', '0', r'no such episode \(expected 1 to 5'),
        ('1', '4000', r'no such step of episode 1 \(expected 0 to \d+, got'),
        ('1', '-3', r'Not a step \(expected a number from 0, or "last", got \'-3\'\)'),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    run: Path, episode: str, step: str, told: str
) -> None:
    with pytest.raises(RecordError, match=told):
        find_step(run, episode, step)
