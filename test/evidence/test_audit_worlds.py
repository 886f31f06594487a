# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit of every shipped contract, with real robots: also joints, trajectories, two agents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.sources import no_estimate
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.audit.findings import AuditReport
from boundary_env_ros.storage.contract_file import load, LoadedContract
from support.bag_maker import each, Tape, write_bag
from support.world_maker import make_world_tape, now_and_then_blind

# Nobody stops the embedded world.
NOT_THERE = {'emergency-stop-heard'}

_TAPES: dict[str, Tape] = {}


def tape_of(name: str) -> Tape:
    if name not in _TAPES:
        loaded: LoadedContract = load(name, Pacing.LOCKSTEP)
        _TAPES[name] = make_world_tape(loaded, episodes=2, steps=15, seed=3)
    return _TAPES[name]


def audited(folder: Path, tape: Tape) -> AuditReport:
    write_bag(folder / 'bag', tape)
    return audit_path(folder / 'bag')


@pytest.mark.parametrize(
    ('name', 'agents'), [('warehouse_cart', 1), ('two_carts', 2), ('door_arm', 1)]
)
def test_honest_world_is_clean(tmp_path: Path, name: str, agents: int) -> None:
    report = audited(tmp_path, tape_of(name))
    assert set(report.counts) <= {'record-ended'}, f'\n{report}'
    assert report.episodes == 2 * agents
    assert set(report.not_applied) == NOT_THERE
    assert report.excused == {}
    checked = report.from_topics
    assert checked['commands'] >= report.decisions
    assert checked['fields'] > 4 * report.transitions


def test_honest_world_in_which_messages_have_no_estimate_is_clean(tmp_path: Path) -> None:
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    tape = make_world_tape(loaded, episodes=2, steps=15, seed=3, change=now_and_then_blind())
    report = audited(tmp_path, tape)
    assert set(report.counts) <= {'record-ended'}, f'\n{report}'
    assert report.from_topics['fields'] > 4 * report.transitions
    poses = {f.captured for s in steps_of(tape) for f in s.after if f.name == 'pose'}
    every = {f.captured for s in steps_of(tape) for f in s.after if f.name == 'velocity'}
    assert 2 < len(poses) < len(every)


def test_estimate_that_is_none_is_named_where_a_record_goes_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    with monkeypatch.context() as patched:
        patched.setattr(no_estimate, 'MARKS', ())
        tape = make_world_tape(loaded, episodes=1, steps=9, seed=3, change=now_and_then_blind())
    report = audited(tmp_path, tape)
    assert 'values-from-sensors' in report.counts, f'\n{report}'
    assert 'frame-as-contract' not in report.counts, f'\n{report}'


def steps_of(tape: Tape) -> list[Transition]:
    return [sent.what for sent in tape if isinstance(sent.what, Transition)]


@pytest.mark.parametrize(
    ('name', 'field', 'agent'),
    [
        ('two_carts', 'velocity', 'cart_a'),
        ('two_carts', 'velocity', 'cart_b'),
        ('door_arm', 'joints', 'arm'),
        ('door_arm', 'handle', 'arm'),
    ],
)
def test_field_of_one_agent_is_held_against_its_own_topic(
    tmp_path: Path, name: str, field: str, agent: str
) -> None:
    tape = tape_of(name)
    step = next(
        sent.what
        for sent in tape
        if isinstance(sent.what, Transition)
        and sent.what.id.agent == agent
        and sent.what.id.step == 7
    )
    old = next(f for f in (*step.after, *step.state) if f.name == field)
    new = replace(old, values=tuple(value + 1e-6 for value in old.values))
    forged = each(tape, lambda value: new if value == old else value)
    report = audited(tmp_path, forged)
    found = [finding for finding in report.findings if finding.rule == 'values-from-sensors']
    assert found, f'\n{report}'
    assert {finding.agent for finding in found} == {agent}


def test_commands_that_went_to_the_other_agent_are_named(tmp_path: Path) -> None:
    names = {'/cart_a/cmd_vel': '/cart_b/cmd_vel', '/cart_b/cmd_vel': '/cart_a/cmd_vel'}
    forged = [
        replace(sent, topic=names.get(sent.topic, sent.topic)) for sent in tape_of('two_carts')
    ]
    report = audited(tmp_path, forged)
    assert 'command-on-topic' in report.counts, f'\n{report}'


def test_decisions_of_each_agent_are_a_chain_of_their_own(tmp_path: Path) -> None:
    tape = tape_of('two_carts')
    gone = [s.what for s in tape if isinstance(s.what, GateDecision)][9]

    def change(value: object) -> object:
        return None if isinstance(value, GateDecision) and value == gone else value

    report = audited(tmp_path, each(tape, change))
    found = [f for f in report.findings if f.rule in ('decision-sequence', 'command-on-topic')]
    assert {f.agent for f in found if f.agent} == {gone.id.agent}, f'\n{report}'


def test_gripper_command_without_a_stamp_is_paired_by_value_and_time(tmp_path: Path) -> None:
    topic = '/gripper_controller/commands'
    commands = [sent for sent in tape_of('door_arm') if sent.topic == topic]
    odd = commands[5]
    other = replace(odd, what={**odd.what, 'data': [value + 0.01 for value in odd.what['data']]})
    forged = [other if sent is odd else sent for sent in tape_of('door_arm')]
    report = audited(tmp_path, forged)
    assert 'command-on-topic' in report.counts or 'command-on-topic' in report.counts


def test_observation_of_one_agent_in_the_record_of_the_other_is_named(tmp_path: Path) -> None:
    tape = tape_of('two_carts')
    one, other = (
        next(s.after for s in steps_of(tape) if (s.id.agent, s.id.step) == (agent, 4))
        for agent in ('cart_a', 'cart_b')
    )
    swapped = dict(zip(one, other, strict=True))

    def change(value: object) -> object:
        return swapped.get(value, value) if type(value) is type(one[0]) else value

    report = audited(tmp_path, each(tape, change))
    assert {'values-from-sensors'} <= set(report.counts), f'\n{report}'
