# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What one transition shows is found on it alone, by who looks at its JSON and at nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import json
from pathlib import Path
import shutil
from typing import Any

import pytest
import yaml

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.serialization import to_json
from boundary_env_ros.evidence.audit.audit import audit, audit_path
from boundary_env_ros.evidence.audit.auditor import Auditor
from boundary_env_ros.evidence.audit.findings import ALONE, AuditOutcome
from boundary_env_ros.evidence.audit.rules.audit_rule import RULE, Severity
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import load
from support.pages import REPOSITORY

GOLDEN = REPOSITORY / 'test' / 'records' / '0.1.0'
#: Of a demonstration in one process and over ROS.
RECORDS = ('warehouse_cart_embedded', 'warehouse_cart_ros', 'door_arm_embedded')

Json = dict[str, Any]
Change = Callable[[Json], object]


# How a person changes a file ---------------------------------------------------------------------


def put(**values: object) -> Change:
    """Set values; ``__`` in a name stands for a path's dot."""

    def change(step: Json) -> None:
        for path, value in values.items():
            *way, last = (int(key) if key.isdigit() else key for key in path.split('__'))
            place: Any = step
            for key in way:
                place = place[key]
            place[last] = value

    return change


def ends(*, terminated: bool, truncated: bool, ending: str, by: str = '') -> Change:
    return put(terminated=terminated, truncated=truncated, ending=ending, declared_by=by)


def by_task(step: Json, **flags: bool) -> None:
    name = {'warehouse_cart': 'go_to_goal', 'door_arm': 'open_door'}[step['contract']]
    step.update(ending='success', declared_by=f'task:{name}', **flags)


def answer(step: Json) -> Json:
    found: Json = step['decisions'][step['decision']]
    return found


def of_answer(**values: object) -> Change:
    return lambda step: put(**values)(answer(step))


def of_field(**values: object) -> Change:
    return lambda step: put(**values)(step['after'][0])


def rename(step: Json) -> None:
    step['trunc'] = step.pop('truncated')


def call_it_admitted(step: Json, **rest: object) -> None:
    """Say in step and decision that the action was let through as it was."""
    step['verdict'] = 'ADMITTED'
    answer(step).update(verdict='ADMITTED', **rest)


def send_what_was_asked(step: Json) -> None:
    """Say that the robot got what the policy asked for."""
    asked = step['requested_action']
    step.update(commanded_action=asked, admitted_action=asked)
    call_it_admitted(step, rules=[], command=asked, admitted_action=asked)


def ask_for_what_was_sent(step: Json) -> None:
    """Say that the policy asked for what the robot got, wherever that stands."""
    sent = step['commanded_action']
    step.update(requested_action=sent, admitted_action=sent)
    call_it_admitted(step, rules=[], requested_command=sent)
    answer(step).update(admitted_action=sent)
    answer(step)['request']['action'] = sent


def observe_late(step: Json, *, clocks: int = 2) -> None:
    """Let the observation be frozen 50 ms after the policy had answered it."""
    request = answer(step)['request']
    late = {'ros': dict(request['requested']['ros']), 'steady': request['observed']['steady']}
    late['ros']['nanoseconds'] += 50_000_000
    if clocks > 1:
        late['steady'] = request['requested']['steady'] + 50_000_000
    request['observed'] = late


def act_early(step: Json) -> None:
    step['actuated']['nanoseconds'] = step['commanded']['ros']['nanoseconds'] - 1_000_000


def close_early(step: Json) -> None:
    step['closed'] = json.loads(json.dumps(step['opened']))
    step['closed']['steady'] -= 1_000_000


def sense_later(step: Json) -> None:
    step['after'][0]['captured']['nanoseconds'] += 10_000_000_000


def another_digest(step: Json) -> None:
    text = json.dumps(step).replace(step['id']['digest'], f'sha256:{"0" * 64}')
    step.update(json.loads(text))


def leak(step: Json) -> None:
    step['after'].append({**step['after'][0], 'name': 'true_pose', 'source': 'ground_truth'})


def reward_more(step: Json) -> None:
    step['reward_terms'][0]['value'] += 1.0
    step['reward'] += 1.0


def no_picture(step: Json) -> None:
    picture = next(field['image'] for field in step['after'] if field['image'])
    picture['sha256'] = '00' * 32


def last_step(step: Json) -> None:
    """Give the step another number, wherever that stands."""
    for place in (step, *step['decisions'], answer(step)['request']):
        place['id']['step'] += 100_000
    answer(step)['request']['observed_step'] += 100_000


def shift(values: list[float]) -> list[float]:
    return [value + 0.01 for value in values]


# The damages -------------------------------------------------------------------------------------

#: What was done, the rule that names it, whether it takes the contract to see, and how it is done.
DAMAGES: dict[str, tuple[str, bool, Change]] = {
    # A field that is required.
    'no reward': ('record-complete', False, lambda step: step.pop('reward')),
    'no flag': ('record-complete', False, lambda step: step.pop('terminated')),
    'no latency': ('record-complete', False, lambda step: step.pop('latency')),
    'no key for wrappers': ('record-complete', False, lambda step: step.pop('wrappers')),
    'no verdict': ('record-complete', False, lambda step: answer(step).pop('verdict')),
    'a key by another name': ('record-complete', False, rename),
    'a key too many': ('record-complete', False, put(success=True)),
    'a key too many, inside': ('record-complete', False, put(latency__total=1.0)),
    'a flag as text': ('record-complete', False, put(terminated='false')),
    'a reward of nothing': ('record-complete', False, put(reward=None)),
    # Who made it.
    'no wrappers': ('versions-present', False, put(wrappers=[])),
    'no software version': ('versions-present', False, put(software_version='')),
    'no version of the gate': ('versions-present', False, of_answer(software_version='')),
    'no version of the client': ('versions-present', False, put(client_version='')),
    'another version of the client than in its request': (
        'episode-constant',
        False,
        put(client_version='9.9.9'),
    ),
    'another contract version': ('one-contract', True, put(contract_version='2.0.0')),
    'another digest': ('one-contract', True, another_digest),
    'another agent': ('one-contract', False, put(id__agent='truck')),
    'another episode': ('request-valid', False, put(id__episode_id='0' * 36)),
    'a time limit around it': (
        'no-hidden-wrapper',
        False,
        put(wrappers=['TimeLimit<x>', 'Env()']),
    ),
    'a clipping wrapper': ('no-hidden-wrapper', False, put(wrappers=['ClipAction()', 'Env()'])),
    # Termination and truncation.
    'both flags': (
        'ending-declared',
        False,
        ends(terminated=True, truncated=True, ending='success', by='task:go_to_goal'),
    ),
    'terminated without an ending': ('ending-declared', False, put(terminated=True)),
    'truncated without an ending': ('ending-declared', False, put(truncated=True)),
    'an ending without a flag': (
        'ending-declared',
        False,
        ends(terminated=False, truncated=False, ending='time_limit', by='environment'),
    ),
    'a declarer without an ending': ('ending-declared', False, put(declared_by='environment')),
    'time limit as termination': (
        'ending-declared',
        False,
        ends(terminated=True, truncated=False, ending='time_limit', by='environment'),
    ),
    'success as truncation': (
        'ending-declared',
        False,
        lambda step: by_task(step, truncated=True),
    ),
    'success that nobody declared': (
        'ending-declared',
        False,
        ends(terminated=True, truncated=False, ending='success'),
    ),
    'success by the policy': (
        'ending-declared',
        False,
        ends(terminated=True, truncated=False, ending='success', by='policy'),
    ),
    'an ending of no contract': (
        'ending-declared',
        True,
        ends(terminated=True, truncated=False, ending='boredom', by='environment'),
    ),
    'the time is over at once': (
        'step-recomputed',
        True,
        ends(terminated=False, truncated=True, ending='time_limit', by='environment'),
    ),
    'a time limit that was missed': ('step-recomputed', True, last_step),
    'a stop of the gate without one': (
        'step-recomputed',
        True,
        ends(terminated=False, truncated=True, ending='safety_stop', by='safety_gate'),
    ),
    # Clipping.
    'limited, called admitted': ('decision-recomputed', False, call_it_admitted),
    'limited, called admitted, by no rule': (
        'decision-recomputed',
        False,
        lambda step: call_it_admitted(step, rules=[]),
    ),
    'limited by no rule': ('decision-recomputed', False, of_answer(rules=[])),
    'another verdict in the step': ('step-recomputed', True, put(verdict='ADMITTED')),
    'requested what was sent': (
        'step-recomputed',
        True,
        lambda step: put(requested_action=step['commanded_action'])(step),
    ),
    'sent what was requested': (
        'step-recomputed',
        True,
        lambda step: put(commanded_action=step['requested_action'])(step),
    ),
    'sent what was requested, by the gate too': ('command-motion', True, send_what_was_asked),
    'another action in the request': (
        'decision-recomputed',
        True,
        lambda step: put(action=shift(answer(step)['request']['action']))(answer(step)['request']),
    ),
    'an observation called clipped': ('fields-as-contract', True, of_field(clipped=True)),
    # Time.
    'observed after it was answered': ('instants-in-order', False, observe_late),
    'observed after it was answered, on one clock': (
        'step-recomputed',
        True,
        lambda step: observe_late(step, clocks=1),
    ),
    'no inference time': ('step-recomputed', True, put(latency__inference__duration=0.0)),
    'a wider budget': ('step-recomputed', True, put(latency__capture__budget=99.0)),
    'executed before it was sent': ('execution-measured', False, act_early),
    'closed before it was observed': ('instants-in-order', False, close_early),
    'a younger field': ('step-recomputed', True, of_field(age=0.0)),
    'a younger field before': ('step-recomputed', True, put(before__0__age=0.0)),
    'a stamp of the future': ('step-recomputed', True, sense_later),
    # What was seen.
    'a field less': ('fields-as-contract', False, lambda step: step['after'].pop(0)),
    'a field less before': ('fields-as-contract', False, lambda step: step['before'].pop(0)),
    'nothing seen before': ('fields-as-contract', False, put(before=[])),
    'the truth among it': ('fields-as-contract', False, leak),
    'no number': (
        'fields-as-contract',
        False,
        lambda step: put(values__0='nan')(step['after'][0]),
    ),
    'a value out of bounds': (
        'fields-as-contract',
        True,
        lambda step: put(values=[999.0, *step['after'][0]['values'][1:]])(step['after'][0]),
    ),
    'another frame': ('fields-as-contract', True, of_field(frame_id='elsewhere')),
    'too sure': ('fields-as-contract', False, of_field(confidence=1.5)),
    'a picture without a hash': ('fields-as-contract', True, no_picture),
    'missing, and yet there': ('fields-as-contract', False, of_field(status='MISSING')),
    'stale, and yet new': ('step-recomputed', True, of_field(status='STALE')),
    # What the gate did.
    'no decision': ('step-recomputed', True, put(decisions=[], decision=-1)),
    'an emergency stop that stops nothing': (
        'allowed-to-move',
        False,
        of_answer(inputs__emergency_stop=True),
    ),
    'no lease': ('allowed-to-move', False, of_answer(inputs__lease_id='')),
    'another publisher': ('foreign-publisher', False, of_answer(inputs__foreign_commands=1)),
    'no measurements': ('measurements-as-contract', True, of_answer(inputs__measurements=[])),
    'another command before': (
        'decision-recomputed',
        True,
        lambda step: put(previous_command=shift(answer(step)['inputs']['previous_command']))(
            answer(step)['inputs']
        ),
    ),
    'an action that was answered, and none came': ('step-recomputed', True, put(overrun=True)),
    # What became of it.
    'nothing measured': ('execution-measured', False, put(measured_action=[])),
    'another reward': ('step-recomputed', True, put(reward=1.0)),
    'a term that the task has not': (
        'step-recomputed',
        True,
        lambda step: put(name='bonus')(step['reward_terms'][0]),
    ),
    'a step that is called a reset': ('reset-as-contract', False, put(kind='RESET')),
    'a step before the first': ('steps-in-order', False, put(id__step=-1)),
}

#: What cannot be seen there, by its words in doc/audit.md.
UNSEEN: dict[str, Change] = {
    'success that the task did not see': lambda step: by_task(step, terminated=True),
    'a reward whose terms were changed with it': reward_more,
    'another value of a field': lambda step: put(values=shift(step['after'][0]['values']))(
        step['after'][0]
    ),
    'of the measured action': lambda step: put(measured_action=shift(step['measured_action']))(
        step
    ),
    'another topic as their source': of_field(source='elsewhere'),
    'a request that was changed together with the decision on it': ask_for_what_was_sent,
    'another number of a request': lambda step: put(sequence=9)(answer(step)['request']),
    'or decision': of_answer(sequence=9),
    'a shorter silence': of_answer(inputs__since_request=0.0, inputs__since_environment=0.0),
    'another seed': put(seed=99),
    'another software version': put(software_version='9.9.9'),
}


@dataclass(frozen=True)
class First:
    """A first transition: its JSON, and the contract that it was made under."""

    text: str
    contract: Contract

    def damaged(self, change: Change, place: Path) -> Path:
        """Return a file in which something is changed."""
        step = json.loads(self.text)
        change(step)
        assert step != json.loads(self.text)
        place.write_text(json.dumps(step))
        return place


@pytest.fixture(scope='module')
def firsts(transitions: list[Transition], contract: Contract) -> tuple[First, ...]:
    """Return those of a cart and an arm in lockstep, also over ROS, and of a cart in realtime."""
    found = []
    for name in RECORDS:
        run = Run(GOLDEN / name / 'first_transition.json')
        known = run.terms().contract
        assert known is not None
        found.append(First(run.path.read_text(), known))
    limited = next(
        step
        for step in transitions
        if step.verdict is Verdict.LIMITED and step.actuated is not None
    )
    return (*found, First(json.dumps(to_json(limited)), contract))


@pytest.mark.parametrize('name', DAMAGES)
def test_a_damage_is_found_on_one_transition(
    name: str, firsts: tuple[First, ...], tmp_path: Path
) -> None:
    rule, by_contract, change = DAMAGES[name]
    for first in firsts:
        path = first.damaged(change, tmp_path / 'first_transition.json')
        for contract in (first.contract,) if by_contract else (first.contract, None):
            report = audit_path(path, contract)
            assert rule in report.counts, f'\n{report}'
            assert report.ok is False or RULE[rule].severity is Severity.SUSPICIOUS
            assert report.outcome is not AuditOutcome.PASSED


def test_in_lockstep_a_step_has_the_number_of_the_decision_on_it(
    firsts: tuple[First, ...], tmp_path: Path
) -> None:
    *lockstep, _ = firsts
    for first in lockstep:
        path = first.damaged(put(id__step=5), tmp_path / 'first_transition.json')
        assert audit_path(path).counts['request-valid'] == 1


def test_two_fields_of_one_message_agree_on_what_both_read(tmp_path: Path) -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text(encoding='utf-8'))
    data['observation']['turning'] = {
        **data['observation']['velocity'],
        'fields': ['twist.twist.angular.z'],
        'unit': 'rad/s',
        'low': -6.0,
        'high': 6.0,
    }
    path = tmp_path / 'contract.yaml'
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    records: list[object] = []
    with BoundaryEnv(path, world='embedded', pacing='lockstep', sink=records.append) as env:
        env.reset(seed=4)
        for _ in range(5):
            env.step(env.action_space.sample())
    steps = [step for step in records if isinstance(step, Transition)]
    assert audit(steps, contract=env.contract).counts == {}
    first = First(json.dumps(to_json(steps[2])), env.contract)
    for name in ('turning', 'velocity'):
        place = next(i for i, field in enumerate(steps[2].after) if field.name == name)
        change = put(**{f'after__{place}__values': [0.123] if name == 'turning' else [0.0, 0.123]})
        report = audit_path(first.damaged(change, tmp_path / 'first.json'), env.contract)
        assert 'of the same message' in str(report)
        assert 'fields-as-contract' in report.counts


@pytest.mark.parametrize('name', UNSEEN)
def test_what_one_transition_cannot_show_is_on_the_page(
    name: str, firsts: tuple[First, ...], tmp_path: Path
) -> None:
    for first in firsts:
        path = first.damaged(UNSEEN[name], tmp_path / 'first_transition.json')
        report = audit_path(path, first.contract)
        assert report.outcome is AuditOutcome.PASSED, f'\n{report}'
    assert name in (REPOSITORY / 'doc' / 'audit.md').read_text(encoding='utf-8')


def test_every_step_of_an_honest_run_passes_alone(
    transitions: list[Transition], contract: Contract, task: Task
) -> None:
    assert {
        verdict for step in transitions for d in step.decisions for verdict in [d.verdict]
    } == {*Verdict}
    for step in transitions:
        for known, outcome in ((contract, AuditOutcome.PASSED), (None, AuditOutcome.INCOMPLETE)):
            auditor = Auditor(known, task if known else None, alone=True)
            auditor.add(step)
            report = auditor.report()
            if report.counts.keys() != {'foreign-publisher'}:  # which the record has one of
                expected = outcome if step.decisions else AuditOutcome.INCOMPLETE
                assert (report.outcome, report.counts) == (expected, {}), f'\n{report}'


def test_who_audits_one_transition_is_told_that_it_passed_and_what_was_not_judged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(['audit', str(GOLDEN / RECORDS[0] / 'first_transition.json')]) == 0
    passed, contract, not_judged = capsys.readouterr().out.splitlines()
    assert passed.startswith('Audit: PASSED. Nothing in this transition is wrong or missing')
    assert contract.startswith('Contract: warehouse_cart 1.0.0')
    assert not_judged.startswith('Not judged')
    assert not_judged.endswith(f'{ALONE}.')


def test_the_digest_of_a_step_is_held_against_the_contract_beside_it(tmp_path: Path) -> None:
    run = shutil.copytree(GOLDEN / RECORDS[0], tmp_path / 'run')
    path = run / 'first_transition.json'
    First(path.read_text(), load('warehouse_cart').contract).damaged(another_digest, path)
    report = audit_path(path)
    assert 'one-contract' in report.counts, f'\n{report}'
