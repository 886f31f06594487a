# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The policy runner over the embedded world: chunks, overlap, endings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
import json
from pathlib import Path
import threading
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.decision import ActionRequest, Source
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError, PolicyFailed
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.policies import GoToGoalPolicy
from boundary_env_ros.facade.runner import EpisodeResult, Plan, Runner
from boundary_env_ros.storage.contract_file import LoadedContract
from support.bag_maker import write_records
from support.shipped import changed

CLEAR = {'scenario': 'clear'}
CHUNKS = changed('warehouse_cart', chunk={'horizon': 6})
SINGLE = changed('warehouse_cart')

go_to_goal = GoToGoalPolicy(speed=0.6)


def chunk(observation: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Predict eight steps: the same action for all, so that a mean is none but that."""
    return np.tile(go_to_goal(observation), (8, 1))


Transitions = list[Transition]
Run = Callable[..., tuple[EpisodeResult, Transitions]]


@pytest.fixture
def run() -> Iterator[Run]:
    """Return what runs one episode and returns its result and its record."""
    closed: list[Callable[[], None]] = []

    def make(
        plan: Plan,
        policy: Callable[..., Any] = chunk,
        *,
        loaded: LoadedContract = CHUNKS,
        seed: int = 1,
        **more: Any,
    ) -> tuple[EpisodeResult, Transitions]:
        records: list[object] = []
        world = EmbeddedWorld(loaded, sink=records.append)
        closed.append(world.close)
        runner = Runner(loaded.contract, world, policy, plan, **more)
        closed.append(runner.close)
        result = runner.episode(seed, CLEAR)
        return result, [r for r in records if isinstance(r, Transition)]

    yield make
    for close in reversed(closed):
        close()


def requests_of(transitions: Transitions) -> list[ActionRequest]:
    """Return the request that each step answers, in their order."""
    found = [t.decisions[t.decision].request for t in transitions if t.decision >= 0]
    return [request for request in found if request is not None]


# Ways to run -------------------------------------------------------------------------------------


def test_an_episode_is_run_to_its_end_and_told(run: Run) -> None:
    told: list[int] = []
    result, steps = run(Plan(), go_to_goal, loaded=SINGLE, on_step=lambda r: told.append(r.steps))
    assert (result.ending, result.success, result.terminated, result.left) == (
        'success', True, True, '',
    )  # fmt: skip
    assert result.steps == steps[-1].id.step == result.requests == len(result.inferences)
    assert result.total == pytest.approx(sum(step.reward for step in steps))
    assert result.episode_id == steps[-1].id.episode_id
    assert told == list(range(result.steps + 1))
    assert result.transitions == steps


def test_as_many_actions_of_a_chunk_are_executed_as_the_plan_says(run: Run) -> None:
    result, steps = run(Plan(execute=3))
    assert [r.observed_step for r in requests_of(steps)][:9] == [0, 0, 0, 3, 3, 3, 6, 6, 6]
    assert {r.horizon for r in requests_of(steps)} == {3}
    assert result.success
    whole, steps = run(Plan())
    assert {r.horizon for r in requests_of(steps)} == {6}, 'all that the contract allows'
    assert len(whole.inferences) < len(result.inferences)


@pytest.mark.parametrize(('lead', 'execute'), [(1, 3), (2, 3), (2, 2), (3, 5)])
def test_asynchronous_inference_says_what_it_answered_and_what_it_skipped(
    run: Run, lead: int, execute: int
) -> None:
    result, steps = run(Plan(asynchronous=True, lead=lead, execute=execute))
    requests = list(dict.fromkeys(requests_of(steps)))
    assert [r.id.step for r in requests] == list(range(1, result.steps + 1, execute))
    assert requests[0].skipped == 0
    assert {r.skipped for r in requests[1:]} == {lead}
    for request in requests[1:]:
        assert request.observed_step == request.id.step - lead - 1
        assert request.observed == steps[request.observed_step].closed
    assert result.success
    assert (result.chunks_late, result.chunks_dropped) == (0, 0)
    assert result.skipped == lead * (len(requests) - 1)


def test_the_next_chunk_is_inferred_while_this_one_is_executed(run: Run) -> None:
    # Every inference but the first is asked for at step 1, 4, 7, ..., and answers only once the
    # step after that was closed: who waited for it first would wait for ever.
    inferring, moved = threading.Event(), threading.Event()
    answered: list[bool] = []

    def policy(observation: Mapping[str, Any]) -> object:
        inferring.set()
        answered.append(not answered or moved.wait(20.0))
        moved.clear()
        return chunk(observation)

    def told(result: EpisodeResult) -> None:
        if result.steps % 3 == 2 and not result.ending:
            assert inferring.wait(20.0)
            moved.set()
        inferring.clear()

    result, _ = run(Plan(asynchronous=True, lead=2, execute=3), policy, on_step=told)
    assert result.success
    assert len(answered) > 5
    assert all(answered)


def test_a_policy_that_continues_its_chunk_is_told_what_is_left_of_it(run: Run) -> None:
    class Continuing:
        """Says of each answer which it is, and numbers its actions."""

        told: ClassVar[list[tuple[int, list[float]]]] = []

        def condition(self, delay: int, prefix: Any) -> None:
            self.told.append((delay, [round(turn, 3) for _, turn in prefix]))

        def __call__(self, observation: Mapping[str, Any]) -> object:
            self.metadata = {'answer': str(len(self.told))}
            return [[0.1, len(self.told) / 10 + row / 100] for row in range(8)]

    policy = Continuing()
    _, steps = run(Plan(asynchronous=True, lead=2, execute=3), policy)
    # Of the first chunk the first action is over, of the others two more; two are still to come.
    assert policy.told[0] == (0, [])
    assert policy.told[1] == (2, [0.11, 0.12, 0.13, 0.14, 0.15, 0.16, 0.17])
    assert policy.told[2] == (2, [0.23, 0.24, 0.25, 0.26, 0.27])
    asked = [requests_of(steps)[first].metadata for first in (0, 3, 6)]
    assert [[item.value for item in said if item.key == 'answer'] for said in asked] == [
        ['1'], ['2'], ['3'],
    ]  # fmt: skip


def test_a_prediction_that_is_over_before_it_is_needed_is_dropped_and_said_so(run: Run) -> None:
    # Three actions, of which all are over when the chunk before them is.
    result, steps = run(Plan(asynchronous=True, lead=3, execute=3), lambda seen: chunk(seen)[:3])
    assert result.chunks_dropped > 3
    said = [d.value for r in requests_of(steps) for d in r.metadata if d.key == 'chunks_dropped']
    assert set(said) == {'1'}
    assert {r.skipped for r in requests_of(steps)} == {0}


@pytest.mark.parametrize(
    'plan',
    [Plan(execute=2), Plan(asynchronous=True, lead=2, execute=3)],
    ids=['chunks', 'async'],
)
def test_the_same_seed_gives_the_same_steps_and_a_clean_record(plan: Plan, tmp_path: Path) -> None:
    runs = []
    for name in ('one', 'other'):
        world = EmbeddedWorld(CHUNKS, record=tmp_path / name)
        runner = Runner(CHUNKS.contract, world, chunk, plan)
        results = [runner.episode(seed, CLEAR) for seed in (4, 5)]
        runner.close()
        world.close()
        runs.append([(r.steps, r.total, r.ending) for r in results])
    assert runs[0] == runs[1]
    report = audit_path(tmp_path / 'one')
    assert report.ok, str(report)


def test_a_record_in_which_the_policy_saw_something_else_is_found(
    run: Run, tmp_path: Path
) -> None:
    _, steps = run(Plan(asynchronous=True, lead=2, execute=3))

    def forged(step: Transition) -> Transition:
        if step.decision < 0:
            return step
        decisions = list(step.decisions)
        decision = decisions[step.decision]
        assert decision.request is not None
        # It claims to have seen the observation just before, as one that does not overlap would.
        fresh = replace(decision.request, observed_step=decision.request.id.step - 1, skipped=0)
        decisions[step.decision] = replace(decision, request=fresh)
        return replace(step, decisions=tuple(decisions))

    write_records(tmp_path / 'run', map(forged, steps), CHUNKS.text)
    report = audit_path(tmp_path / 'run')
    assert 'request-valid' in {finding.rule for finding in report.findings}


# What does not go well ---------------------------------------------------------------------------


def test_a_policy_that_raises_is_named_with_its_step(run: Run) -> None:
    def policy(observation: Mapping[str, Any]) -> object:
        return json.loads('no weights')

    line = policy.__code__.co_firstlineno + 1
    told = rf'for the observation of step 0: JSONDecodeError: .*\({__file__}, line {line}\)$'
    with pytest.raises(PolicyFailed, match=told):
        run(Plan(), policy)


def test_what_is_no_action_ends_the_run_before_anything_is_sent(run: Run) -> None:
    with pytest.raises(PolicyFailed, match=r'Invalid action \(expected shape \(2,\)'):
        run(Plan(), lambda observation: np.zeros(3))


def test_warming_up_finds_a_wrong_policy_before_the_robot_is_touched() -> None:
    world = EmbeddedWorld(SINGLE)
    runner = Runner(SINGLE.contract, world, lambda _: [0.0], Plan(warm_up=2))
    with pytest.raises(PolicyFailed, match='warming up: Invalid action .expected shape'):
        runner.warm_up()
    runner.close()
    world.close()


def test_a_policy_is_told_that_an_episode_begins_before_it_is_asked(run: Run) -> None:
    class Told:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def instruct(self, instruction: str) -> None:
            self.calls.append(f'do {instruction}')

        def reset(self, seed: int) -> None:
            self.calls.append(f'reset {seed}')

        def close(self) -> None:
            self.calls.append('close')

        def __call__(self, observation: Mapping[str, Any]) -> object:
            self.calls.append('called')
            return go_to_goal(observation)

    policy, world = Told(), EmbeddedWorld(SINGLE)
    runner = Runner(SINGLE.contract, world, policy, Plan(warm_up=2))
    runner.warm_up()
    result = runner.episode(7, {**CLEAR, 'instruction': 'go to the goal'})
    runner.close()
    world.close()
    warm_up = ['do ', 'reset 0', 'called'] * 2
    assert policy.calls[:9] == [*warm_up, 'do go to the goal', 'reset 7', 'called']
    reset = result.transitions[0].reset
    assert reset is not None
    assert reset.instruction == 'go to the goal'
    assert policy.calls[-1] == 'close'


def test_an_instruction_of_the_contract_is_drawn_by_the_seed_for_record_and_policy() -> None:
    class Told:
        def instruct(self, instruction: str) -> None:
            self.instruction = instruction

        def __call__(self, observation: Mapping[str, Any]) -> object:
            return go_to_goal(observation)

    def episodes(options: Mapping[str, object], **changes: Any) -> list[tuple[str, object]]:
        loaded = changed('warehouse_cart', episode__time_limit=0.1, **changes)
        world, policy, found = EmbeddedWorld(loaded), Told(), []
        runner = Runner(loaded.contract, world, policy, Plan(warm_up=0))
        for seed in range(2):
            reset = runner.episode(seed, options).transitions[0].reset
            assert reset is not None
            assert reset.instruction == policy.instruction
            found.append((reset.instruction, reset.sampled))
        runner.close()
        world.close()
        return found

    listed = ['fetch it', 'turn back']
    drawn, again = (episodes({}, episode__instructions=listed) for _ in range(2))
    assert drawn == again
    assert {instruction for instruction, _ in drawn} == set(listed)
    # The list is no part of the chance that a task draws from.
    assert [sampled for _, sampled in drawn] == [sampled for _, sampled in episodes({})]
    told = episodes({'instruction': 'stay'}, episode__instructions=listed)
    assert {instruction for instruction, _ in told} == {'stay'}


def test_a_replay_is_not_warmed_up_and_keeps_its_place() -> None:
    class Replaying:
        source = Source.REPLAY

        def __call__(self, observation: Mapping[str, Any]) -> object:
            raise AssertionError('a replay has nothing to warm up')

    world = EmbeddedWorld(SINGLE)
    runner = Runner(SINGLE.contract, world, Replaying(), Plan(warm_up=2))
    runner.warm_up()
    runner.close()
    world.close()


def test_a_policy_that_hangs_is_given_up_by_name(run: Run) -> None:
    never = threading.Event()

    def policy(observation: Mapping[str, Any]) -> object:
        never.wait(30.0)
        return go_to_goal(observation)

    with pytest.raises(PolicyFailed, match=r'within 0\.2 s\. Does it hang\?'):
        run(Plan(patience=0.2), policy)
    never.set()


def test_an_interrupted_episode_is_left_after_its_step_and_ended_in_order() -> None:
    stop, records = threading.Event(), []
    world = EmbeddedWorld(SINGLE, sink=records.append)

    def told(result: EpisodeResult) -> None:
        if result.steps == 5:
            stop.set()

    runner = Runner(SINGLE.contract, world, go_to_goal, Plan(), on_step=told, stop=stop)
    result = runner.episode(1, CLEAR)
    assert (result.left, result.steps) == ('interrupted', 5)
    runner.close()
    world.close()
    last = [r for r in records if isinstance(r, Transition)][-1]
    assert (last.ending, last.truncated) == ('abandoned', True)


def test_the_record_says_who_chose(run: Run) -> None:
    class Replaying:
        source = Source.REPLAY

        def __call__(self, observation: Mapping[str, Any]) -> object:
            return go_to_goal(observation)

    _, steps = run(Plan(), Replaying(), loaded=SINGLE)
    assert {r.source for r in requests_of(steps)} == {Source.REPLAY}


# Plans that are refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('plan', 'loaded', 'says'),
    [
        (Plan(execute=7), CHUNKS, r'expected 1 to 6, got 7'),
        (Plan(execute=0), CHUNKS, r'expected 1 to 6, got 0'),
        (Plan(execute=2), SINGLE, r'expected 1 to 1, got 2'),
        (Plan(asynchronous=True), SINGLE, 'Asynchronous inference needs chunks'),
        (
            Plan(asynchronous=True, lead=4),
            CHUNKS,
            r'expected at most 3 steps, got 4\)\. The gate rejects .* older than 0\.4 s',
        ),
    ],
)
def test_a_plan_that_the_contract_does_not_allow_is_refused(
    plan: Plan, loaded: LoadedContract, says: str
) -> None:
    with pytest.raises(BoundaryError, match=says):
        plan.check(loaded.contract)
