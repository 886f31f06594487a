# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A record run again comes out as it was, and what was changed in it is found and named first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml

from boundary_env_ros.core.environment.task import Outcome, StepView
from boundary_env_ros.core.records.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.evidence.replay.rerun import Rerun
from boundary_env_ros.evidence.replay.verdict_report import EpisodeVerdict, VerdictReport
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import load, LoadedContract, loads, make_task
from boundary_env_ros.storage.records import Entry
from support.bag_maker import drive
from support.core_messages import changed_decision
from support.damage import Case
from support.damage_cases import CASES
from support.hand_maker import by_hand, hand_contract, HandBench
from support.lockstep_maker import LockstepBench
from support.record_maker import Piece


def entries(pieces: Iterable[object]) -> Iterable[Entry]:
    """Yield the records among what was sent, each on a topic of its agent."""
    for piece in pieces:
        if isinstance(piece, (Transition, GateDecision)):
            topic = f'/{piece.id.agent}/{type(piece).__name__}'
            yield Entry(piece, topic, 0)


def rerun(loaded: LoadedContract, pieces: Iterable[object]) -> tuple[EpisodeVerdict, ...]:
    again = Rerun(loaded.contract, make_task(loaded.contract), digest=loaded.digest)
    for entry in entries(pieces):
        again.add(entry.record, entry.topic)
    return again.finish()


def told(episodes: Sequence[EpisodeVerdict]) -> str:
    return f'\n{VerdictReport(question="", episodes=episodes)}'


def assert_same(loaded: LoadedContract, pieces: Sequence[object]) -> None:
    """Expect the same from the gate's own topic and from what the steps carry alone."""
    sent = [p for p in pieces if isinstance(p, GateDecision)]
    carried = [p for p in pieces if isinstance(p, Transition)]
    for record, decisions in (
        (pieces, len(sent)),
        (carried, sum(len(step.decisions) for step in carried)),
    ):
        episodes = rerun(loaded, record)
        assert all(episode.same for episode in episodes), told(episodes)
        assert sum(episode.steps for episode in episodes) == len(carried)
        assert sum(episode.decisions for episode in episodes) == decisions
        assert not any(episode.not_run for episode in episodes)
        assert [e.ending for e in episodes] == [e.ending_again for e in episodes]


def test_a_realtime_record_comes_out_the_same(loaded: LoadedContract, record: list[Piece]) -> None:
    assert {p.trigger for p in record if isinstance(p, GateDecision)} > {Trigger.TIMER}
    assert_same(loaded, record)


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_a_lockstep_record_comes_out_the_same(seed: int) -> None:
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    bench = LockstepBench(loaded.contract, loaded.digest, make_task(loaded.contract), seed)
    drive(bench)
    assert_same(loaded, bench.record)


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_a_record_of_all_rules_and_a_hand_comes_out_the_same(seed: int) -> None:
    loaded = hand_contract()
    bench = HandBench(loaded.contract, loaded.digest, make_task(loaded.contract), seed)
    by_hand(bench)
    assert {p.trigger for p in bench.record if isinstance(p, GateDecision)} >= {
        Trigger.REQUEST,
        Trigger.TIMER,
        Trigger.OPERATOR,
    }
    assert_same(loaded, bench.record)


@pytest.mark.parametrize('name', ['warehouse_cart', 'door_arm', 'two_carts', 'guarded_cart'])
def test_an_embedded_run_of_a_shipped_contract_comes_out_the_same(name: str) -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    from support.world_maker import make_world_tape

    loaded = load(name, Pacing.LOCKSTEP)
    tape = make_world_tape(loaded, episodes=2, steps=15, seed=3)
    pieces = [sent.what for sent in tape if isinstance(sent.what, (Transition, GateDecision))]
    assert_same(loaded, pieces)


def _changed(name: str, change: Callable[[Any], None]) -> LoadedContract:
    data = yaml.safe_load(share_file(f'config/{name}.yaml').read_text(encoding='utf-8'))
    change(data)
    return loads(yaml.safe_dump(data, sort_keys=False), pacing=Pacing.LOCKSTEP)


def _in_turn(data: Any) -> None:
    data['agent_order'] = ['cart_b', 'cart_a']
    data['safety'] |= {'hold_timeout': 0.25, 'command_timeout': 0.4}
    data['action']['base']['driver_timeout'] = 0.3


def _in_chunks(data: Any) -> None:
    data['chunk'] = {'horizon': 3}


@pytest.mark.parametrize(
    ('name', 'change', 'rows'),
    [('two_carts', _in_turn, 1), ('warehouse_cart', _in_chunks, 3)],
    ids=['agent_order', 'chunks'],
)
def test_turns_and_chunks_come_out_the_same(
    name: str, change: Callable[[Any], None], rows: int
) -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    from boundary_env_ros.facade.embedded_world import EmbeddedWorld

    loaded = _changed(name, change)
    pieces: list[object] = []
    world = EmbeddedWorld(loaded, sink=pieces.append)
    drawn = np.random.default_rng(4)
    world.reset(seed=4, options={}, wrappers=('Policy()',))
    for step in range(12):
        due = [a for a in world.running if loaded.contract.has_turn(a, step + 1)]
        world.step({agent: tuple(drawn.uniform(-0.5, 0.9, 2 * rows).tolist()) for agent in due})
    world.close()
    triggers = {p.trigger for p in pieces if isinstance(p, GateDecision)}
    assert len(triggers) == 2  # besides requests, the timer or the chunk
    assert_same(loaded, pieces)


@pytest.mark.parametrize('change', ['left out', 'another', 'later'])
def test_what_is_said_to_be_under_way_is_what_was_sent(change: str) -> None:
    pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
    from support.world_maker import make_world_tape

    loaded = load('guarded_cart', Pacing.LOCKSTEP)
    tape = make_world_tape(loaded, episodes=1, steps=15, seed=3)
    steps = [sent.what for sent in tape if isinstance(sent.what, Transition)]
    victim = next(
        t for t in steps if t.decisions and len(_answering(t).inputs.recent_commands) > 3
    )
    oldest, next_oldest, *rest = _answering(victim).inputs.recent_commands
    forged = {
        'left out': (oldest, *rest),
        'another': (oldest, replace(next_oldest, command=(0.0, 0.0)), *rest),
        'later': (oldest, replace(next_oldest, age=next_oldest.age - 0.1), *rest),
    }[change]
    (episode,) = rerun(
        loaded,
        [
            _answer(t, inputs=replace(_answering(t).inputs, recent_commands=forged))
            if t is victim
            else t
            for t in steps
        ],
    )
    assert episode.first is not None, told([episode])
    assert (episode.first.step, episode.decisions_unlike) == (victim.id.step, 1), told([episode])
    assert episode.first.first.field.startswith('inputs.recent_commands')


# What was changed is found ----------------------------------------------------------------------


def _victim(transitions: Sequence[Transition]) -> Transition:
    """Return a step in the second episode, with a decision that a rule touched."""
    second = list(dict.fromkeys(t.id.episode_id for t in transitions))[1]
    return next(
        t
        for t in transitions
        if t.id.episode_id == second and t.id.step > 5 and t.verdict is Verdict.LIMITED
    )


def _answering(step: Transition) -> GateDecision:
    return step.decisions[step.decision]


def _answer(step: Transition, **changes: Any) -> Transition:
    """Return a step with a change to the decision that answered it."""
    decisions = list(step.decisions)
    decisions[step.decision] = replace(decisions[step.decision], **changes)
    return replace(step, decisions=tuple(decisions))


def _reward(step: Transition) -> Transition:
    return replace(step, reward=step.reward + 0.5)


def _term(step: Transition) -> Transition:
    first, *rest = step.reward_terms
    return replace(step, reward_terms=(replace(first, value=first.value + 1e-6), *rest))


def _command(step: Transition) -> Transition:
    speed, turn = step.decisions[step.decision].command
    command = (speed + 0.001, turn)
    return replace(_answer(step, command=command), commanded_action=command)


def _verdict(step: Transition) -> Transition:
    return replace(_answer(step, verdict=Verdict.ADMITTED), verdict=Verdict.ADMITTED)


def _reason(step: Transition) -> Transition:
    first, *rest = step.decisions[step.decision].rules
    return _answer(step, rules=(replace(first, reason=Reason.WORKSPACE), *rest))


def _previous(step: Transition) -> Transition:
    speed, turn = step.decisions[step.decision].inputs.previous_command
    i = step.decision
    decision = changed_decision(step.decisions[i], previous_command=(speed + 0.01, turn))
    return _answer(step, inputs=decision.inputs)


def _ending(step: Transition) -> Transition:
    return replace(step, truncated=True, ending='safety_stop', declared_by='safety_gate')


def _aged(step: Transition) -> Transition:
    first, *rest = step.after
    return replace(step, after=(replace(first, age=(first.age or 0.0) + 0.01), *rest))


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        (_reward, 'reward'),
        (_term, 'reward_terms.progress.value'),
        (_command, 'command'),
        (_verdict, 'verdict'),
        (_reason, 'rules[0].reason'),
        (_previous, 'inputs.previous_command'),
        (_ending, 'truncated'),
        (_aged, 'after.pose.age'),
    ],
)
def test_a_change_of_one_thing_is_the_first_difference(
    loaded: LoadedContract,
    transitions: list[Transition],
    change: Callable[[Transition], Transition],
    field: str,
) -> None:
    victim = _victim(transitions)
    forged = [change(t) if t is victim else t for t in transitions]
    episodes = rerun(loaded, forged)
    assert [e.same for e in episodes] == [True, False, True, True, True], told(episodes)
    first = episodes[1].first
    assert first is not None
    assert (first.step, first.first.field) == (victim.id.step, field), told(episodes)
    assert first.first.actual != first.first.expected


def test_a_difference_is_told_with_place_and_both_values(
    loaded: LoadedContract, transitions: list[Transition]
) -> None:
    victim = _victim(transitions)
    forged = [_reward(t) if t is victim else t for t in transitions]
    text = told(rerun(loaded, forged))
    assert (
        f'first difference: step {victim.id.step}, reward: recorded {victim.reward + 0.5:.9g}, '
        f'recomputed {victim.reward:.9g}'
    ) in text
    assert 'Different: of 5 episodes' in text


def test_an_ending_that_was_taken_away_is_found(
    loaded: LoadedContract, transitions: list[Transition]
) -> None:
    last = next(t for t in transitions if t.ending == 'success')
    kept = replace(last, terminated=False, ending='', declared_by='')
    episodes = rerun(loaded, [kept if t is last else t for t in transitions])
    assert episodes[0].first is not None
    assert (episodes[0].first.first.field, episodes[0].first.first.expected) == (
        'terminated',
        'true',
    )
    assert (episodes[0].ending, episodes[0].ending_again) == ('', 'success')


def test_a_start_that_the_seed_does_not_give_is_found(
    loaded: LoadedContract, transitions: list[Transition]
) -> None:
    drawn = next(t for t in transitions if t.reset is not None and t.reset.options == '{}')
    moved = replace(drawn, seed=drawn.seed + 1)
    episodes = rerun(loaded, [moved if t is drawn else t for t in transitions])
    first = episodes[-1].first
    assert first is not None
    assert first.step == 0
    assert first.first.field.startswith('reset.sampled')


@pytest.mark.parametrize('answered', [False, True])
def test_a_reset_that_failed_comes_out_the_same(
    loaded: LoadedContract, transitions: list[Transition], answered: bool
) -> None:
    first = transitions[0]
    assert first.reset is not None
    silent = replace(first.reset, achieved=(), confirmed_by='', within_tolerance=False)
    ended = {'truncated': True, 'ending': 'reset_failed', 'declared_by': 'environment'}
    # One that was answered within its tolerance may still fail: what else it waits for never came.
    failed = replace(first, reset=first.reset if answered else silent, **ended)  # type: ignore[arg-type]
    (episode,) = rerun(loaded, [failed])
    assert episode.same, told([episode])
    assert (episode.ending, episode.ending_again) == ('reset_failed', 'reset_failed')


def test_a_command_changed_on_the_gates_topic_alone_is_found(
    loaded: LoadedContract, record: list[Piece]
) -> None:
    victim = next(p for p in record if isinstance(p, GateDecision) and p.verdict.name == 'HELD')
    forged = replace(victim, command=(0.0, *victim.command[1:]))
    episodes = rerun(loaded, [forged if p is victim else p for p in record])
    found = [e.first for e in episodes if e.first is not None]
    assert [(d.sequence, d.first.field) for d in found] == [(victim.sequence, 'command')]


def test_a_step_that_is_missing_is_not_proven(
    loaded: LoadedContract, transitions: list[Transition]
) -> None:
    victim = _victim(transitions)
    episodes = rerun(loaded, [t for t in transitions if t is not victim])
    assert [e.same for e in episodes] == [True, False, True, True, True]
    assert episodes[1].unproven == 2  # itself, or the one after it, and its decision
    assert episodes[1].first is None
    assert 'Not proven' in told(episodes)
    assert 'the step before it is missing' in told(episodes)


def test_of_many_reasons_why_steps_are_not_run_the_first_are_told(
    loaded: LoadedContract, transitions: list[Transition], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task(loaded.contract)

    def judge(step: StepView) -> Outcome:
        raise BoundaryError(f'Expect no step, actually: {step.step}')

    monkeypatch.setattr(task, 'judge', judge)
    again = Rerun(loaded.contract, task, digest=loaded.digest)
    first = [t for t in transitions if t.id.episode_id == transitions[0].id.episode_id]
    for entry in entries(first):
        again.add(entry.record, entry.topic)
    (episode,) = again.finish()
    assert episode.unproven == sum(episode.not_run.values()) == len(first) - 1 > 30
    assert len(episode.not_run) <= 21


def test_another_digest_than_that_of_the_contract_is_a_difference(
    loaded: LoadedContract, transitions: list[Transition]
) -> None:
    again = Rerun(loaded.contract, make_task(loaded.contract), digest='sha256:other')
    for entry in entries(transitions[:3]):
        again.add(entry.record, entry.topic)
    (episode,) = again.finish()
    assert episode.first is not None
    assert episode.first.first.field == 'id.digest'


#: Rules of the audit whose damages change what is decided, judged or ended.
DECIDING = (
    'decision-recomputed',
    'step-recomputed',
    'ending-declared',
    'step-recomputed',
    'reset-as-contract',
    'step-recomputed',
    'decision-recomputed',
    'command-in-bounds',
    'command-motion',
    'decision-recomputed',
    'step-recomputed',
    'steps-in-order',
    'decision-sequence',
    'one-contract',
)


#: Rules whose damages make a step one that cannot be judged at all.
MISSHAPEN = (
    'one-contract',
    'fields-as-contract',
    'execution-measured',
    'measurements-as-contract',
    'reset-as-contract',
    'step-recomputed',
)


def damaged(case: Case, transitions: list[Transition]) -> list[Transition]:
    """Return the episodes that a damage changes, with that."""
    found = case.damage(transitions)

    def of(steps: list[Transition], episode: str) -> list[Transition]:
        return [step for step in steps if step.id.episode_id == episode]

    changed = {
        episode
        for episode in {step.id.episode_id for step in (*transitions, *found)}
        if of(transitions, episode) != of(found, episode)
    }
    return [step for step in found if step.id.episode_id in changed]


#: Damages to what was measured, stamped or confirmed, which is taken from the record and decides
#: nothing.
BESIDE = {
    'a measurement from elsewhere',
    'a tick that was in time',
    'an episode comes back',
    'another pacing',
    'evidence from nowhere',
    'executed before commanded',
    'half a measured action',
    'measured after the end',
    'nobody confirmed',
}


@pytest.mark.parametrize(
    'case',
    [case for case in CASES if case.rule in (*DECIDING, *MISSHAPEN)],
    ids=lambda case: case.name,
)
def test_a_damage_to_what_is_decided_and_to_nothing_else_is_no_longer_the_same(
    case: Case, loaded: LoadedContract, transitions: list[Transition]
) -> None:
    episodes = rerun(loaded, damaged(case, transitions))
    assert all(episode.same for episode in episodes) == (case.name in BESIDE), told(episodes)


def test_decisions_that_the_recorder_had_late_are_run_as_well(
    loaded: LoadedContract, record: list[Piece]
) -> None:
    braking = [
        p
        for p in record
        if isinstance(p, GateDecision)
        and p.verdict is Verdict.STOPPED
        and any(r.reason is Reason.EPISODE_OVER for r in p.rules)
    ]
    late = [*(p for p in record if p not in braking), *braking]
    episodes = rerun(loaded, late)
    assert all(episode.same for episode in episodes), told(episodes)
    victim = braking[2]
    forged = [replace(p, command=(0.123, 0.0)) if p is victim else p for p in late]
    assert not all(episode.same for episode in rerun(loaded, forged))


def test_memory_stays_flat(loaded: LoadedContract, record: list[Piece]) -> None:
    again = Rerun(loaded.contract, make_task(loaded.contract), digest=loaded.digest)
    most = 0
    for entry in entries(record):
        again.add(entry.record, entry.topic)
        most = max(most, *(len(agent.waiting) for agent in again._agents.values()))
    assert most < 30  # of some three hundred: those of a step, or between two episodes
