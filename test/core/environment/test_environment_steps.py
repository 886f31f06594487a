# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the records of steps say, in realtime."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.environment.environment_events import (
    DeadlinesDue,
    Decided,
    EndEpisode,
    GateReported,
    StepDue,
)
from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.observation import Observation
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from support.episode_checks import check_one_ending, CONTRACT, PERIOD, SAFETY, steps
from support.episode_world import EpisodeWorld, forward, NEAR_GOAL


def test_every_tick_closes_one_step_and_the_steps_are_numbered(world: EpisodeWorld) -> None:
    world.run(1.0)
    assert [t.id.step for t in world.transitions] == list(range(11))
    assert [o.id.step for o in world.observations] == list(range(11))
    assert [e.id.step for e in world.evaluator] == list(range(11))


def test_what_follows_one_step_precedes_the_next(world: EpisodeWorld) -> None:
    world.run(1.0)
    for one, other in zip(world.transitions, world.transitions[1:], strict=False):
        assert one.after == other.before
    for transition, observation in zip(world.transitions, world.observations, strict=True):
        assert transition.after == observation.fields
        assert transition.closed == observation.observed


def test_no_field_of_the_evaluator_is_ever_in_what_the_policy_sees(world: EpisodeWorld) -> None:
    world.run(1.0)
    hidden = {spec.name for spec in world.contract.privileged}
    assert hidden
    for observation in world.observations:
        assert not hidden & {f.name for f in observation.fields}
    for transition in world.transitions:
        assert not hidden & {f.name for f in (*transition.before, *transition.after)}
    for record in world.evaluator:
        assert {f.name for f in record.fields} == hidden


def test_the_task_judges_by_what_the_policy_sees(world: EpisodeWorld) -> None:
    seen: list[set[str]] = []
    task = world.environment.state.setup.task
    judge = task.judge

    class Spy:
        def judge(self, step: object) -> object:
            seen.append(set(step.before) | set(step.after))  # type: ignore[attr-defined]
            return judge(step)

    world.judge_by(Spy())
    world.run(0.5)
    assert seen
    for names in seen:
        assert names == {'pose', 'velocity', 'scan', 'goal'}


def test_the_instants_of_a_step_are_those_of_the_observation_that_was_answered(
    world: EpisodeWorld,
) -> None:
    world.run(1.0)
    for transition, answered in zip(world.transitions[1:], world.observations, strict=False):
        assert transition.observed == answered.observed
        assert transition.captured == answered['pose'].captured
        assert transition.requested is not None
        think = (transition.requested.steady - answered.observed.steady) / NANOSECONDS
        assert think == pytest.approx(world.think, abs=world.slice)
        assert not transition.overrun


def test_the_stages_of_a_step_recover_what_was_planted(world: EpisodeWorld) -> None:
    world.lag['pose'] = 0.08
    world.run(1.0)
    latency = world.transitions[-1].latency
    assert latency.capture.duration == pytest.approx(0.08)
    assert latency.capture.budget == CONTRACT.latency_budget['capture']
    assert latency.inference.duration == pytest.approx(world.think)
    assert latency.gate.duration == pytest.approx(0.0)


def test_a_tick_without_an_action_is_an_overrun_and_says_who_held(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.policy = lambda observation: None
    count = len(world.transitions)
    world.run(5 * PERIOD)
    late = world.transitions[count + 1 :]
    assert [t.overrun for t in late] == [True] * len(late)
    assert {t.held_by for t in late} <= {'gate', 'driver'}
    assert 'gate' in {t.held_by for t in late}
    for transition in late:
        assert transition.verdict is None
        assert transition.decision == -1
        assert transition.requested_action == ()


def test_a_tick_that_nobody_held_says_that_the_driver_did() -> None:
    world = EpisodeWorld()
    world.policy = lambda observation: None
    world.start()
    world.run(PERIOD + world.slice)
    first = steps(world)[0]
    assert first.overrun
    assert first.held_by == 'driver'


def test_a_late_action_closes_the_next_step_by_the_observation_it_answered() -> None:
    world = EpisodeWorld()
    world.think = 0.15
    world.start()
    world.run(1.0)
    by_step = {o.id.step: o for o in world.observations}
    answered = [t for t in steps(world) if t.decision >= 0]
    assert steps(world)[0].overrun
    assert answered
    for transition in answered:
        decision = transition.decisions[transition.decision]
        # The action was meant for the step before: it answers the observation before that.
        assert decision.id.step == transition.id.step - 1
        old = by_step[decision.id.step - 1]
        assert transition.observed == old.observed
        assert transition.captured == old['pose'].captured
        assert transition.latency.inference.duration == pytest.approx(0.15, abs=0.03)


def test_a_rejected_action_closes_its_step_too(world: EpisodeWorld) -> None:
    world.run(0.5)
    world.policy = lambda observation: (float('nan'), 0.0)
    count = len(world.transitions)
    world.run(3 * PERIOD)
    rejected = world.transitions[count + 1]
    assert rejected.verdict is Verdict.REJECTED
    assert not rejected.overrun
    assert rejected.commanded_action == rejected.admitted_action == ()
    assert [r.reason for r in rejected.decisions[rejected.decision].rules] == [Reason.NOT_FINITE]


def test_of_a_rejected_and_an_accepted_action_the_accepted_one_closes_the_step(
    world: EpisodeWorld,
) -> None:
    world.run(0.5)
    inner = forward()

    def twice(observation: Observation) -> Vector | None:
        world.request(observation, (float('nan'), 0.0))
        return inner(observation)

    world.policy = twice
    world.run(2 * PERIOD)
    last = world.transitions[-1]
    assert last.verdict is not Verdict.REJECTED
    assert last.requested_action == (0.4, 0.0)
    assert last.decision == 1
    assert [d.verdict for d in last.decisions].count(Verdict.REJECTED) == 1


@pytest.mark.parametrize('changes', [{'lease': 'stolen'}, {'sequence': 1}, {'agent': 'other'}])
def test_a_request_that_the_gate_did_not_hear_is_no_sign_of_life_of_the_policy(
    world: EpisodeWorld, changes: dict[str, object]
) -> None:
    world.run(0.5)
    world.policy = lambda observation: None
    start = world.time.steady
    while not world.state.over:
        world.request(world.observations[-1], (0.4, 0.0), **changes)
        world.pass_slice()
        assert (world.time.steady - start) / NANOSECONDS < SAFETY.policy_timeout + 2 * PERIOD
    last = check_one_ending(world, 'policy_lost', terminated=False, by='environment')
    assert last.overrun
    assert last.decision == -1


def test_four_actions_are_kept_apart(world: EpisodeWorld) -> None:
    world.policy = forward(5.0)
    world.run(0.4)
    last = world.transitions[-1]
    assert last.requested_action == (5.0, 0.0)
    assert last.verdict is Verdict.LIMITED
    assert last.admitted_action == last.commanded_action != last.requested_action
    assert last.measured_action == world.robot.speed
    assert last.measured_at is not None


def test_lost_decisions_are_counted_and_told(world: EpisodeWorld) -> None:
    world.run(0.5)
    world.loses = 2
    world.run(4 * PERIOD)
    told = [
        item.value for t in world.transitions for item in t.diagnostics
        if item.key == 'gate_decisions_lost'
    ]  # fmt: skip
    assert sum(map(int, told)) == 2


def test_a_restarted_gate_counts_from_one_without_a_gap(world: EpisodeWorld) -> None:
    world.run(0.5)
    decision = world.transitions[-1].decisions[-1]
    for sequence in (1, 2):
        world.environment.apply(
            Decided(decision=replace(decision, sequence=sequence), now=world.now)
        )
    world.apply(StepDue(now=world.now, late=0.0))
    assert [d.sequence for d in world.transitions[-1].decisions] == [1, 2]
    assert world.transitions[-1].diagnostics == ()


def test_a_decision_on_another_episode_is_not_a_part_of_this_one(world: EpisodeWorld) -> None:
    world.run(0.5)
    decision = world.transitions[-1].decisions[-1]
    foreign = replace(decision, id=replace(decision.id, episode_id='other'))
    world.environment.apply(
        Decided(decision=replace(foreign, sequence=foreign.sequence + 1), now=world.now)
    )
    world.policy = lambda observation: None
    world.run(2 * PERIOD)
    assert all(d.id.episode_id == 'episode-1' for t in world.transitions for d in t.decisions)


def test_what_was_refused_before_an_episode_ran_is_none_of_it(world: EpisodeWorld) -> None:
    world.run(0.5)
    inner, began = forward(), world.transitions[0].closed

    def with_a_stranger(observation: Observation) -> Vector | None:
        for moment in (replace(began, steady=began.steady - 1), world.now):
            decision = world.transitions[-1].decisions[-1]
            foreign = replace(
                decision,
                id=replace(decision.id, episode_id='other'),
                verdict=Verdict.REJECTED,
                received=moment,
            )
            world.environment.apply(Decided(decision=foreign, now=world.now))
        return inner(observation)

    world.policy = with_a_stranger
    world.run(3 * PERIOD)
    steps = [t for t in world.transitions if any(d.id.episode_id == 'other' for d in t.decisions)]
    assert steps
    for step in steps:
        (strange,) = [d for d in step.decisions if d.id.episode_id == 'other']
        assert strange.received is not None
        assert strange.received.steady > began.steady


def test_a_gate_under_another_contract_or_of_another_agent_is_not_heard() -> None:
    world = EpisodeWorld()
    world.arms = False
    world.begin()
    known = world.gate.state.status(world.now)
    armed = replace(known, state=GateState.ARMED, episode_id='episode-1')
    world.alive.discard('gate')
    for foreign in (
        replace(armed, digest='sha256:' + '0' * 64),
        replace(armed, agent='other'),
    ):
        world.apply(GateReported(status=foreign, now=world.now))
        world.run(1.0)
        assert world.state is EpisodeState.RESETTING
    world.apply(GateReported(status=armed, now=world.now))
    world.run(0.1)
    assert world.state is EpisodeState.RUNNING


def test_a_late_tick_is_recorded_as_late(world: EpisodeWorld) -> None:
    world.apply(StepDue(now=world.now, late=0.013))
    assert world.transitions[-1].tick_error == 0.013


def test_an_idle_environment_closes_nothing() -> None:
    world = EpisodeWorld()
    assert world.environment.apply(StepDue(now=world.now, late=0.0)) == ()
    assert world.environment.apply(DeadlinesDue(now=world.now)) == ()
    assert (
        world.environment.apply(
            EndEpisode(ending='abandoned', declared_by='somebody', message='', now=world.now)
        )
        == ()
    )


def test_an_ended_environment_closes_nothing_more() -> None:
    world = EpisodeWorld().start(goal=NEAR_GOAL)
    world.finish()
    assert world.environment.apply(StepDue(now=world.now, late=0.0)) == ()
    assert world.environment.apply(DeadlinesDue(now=world.now)) == ()


def test_a_late_actuation_follows_as_evidence_for_its_own_step() -> None:
    world = EpisodeWorld(delay=0.16)
    world.lag['velocity'] = 0.0
    world.start().run(2.0)
    assert world.evidence
    by_sequence = {d.sequence: d for t in world.transitions for d in t.decisions}
    for found in world.evidence:
        decision = by_sequence[found.decision_sequence]
        assert found.commanded == decision.commanded
        assert found.id == decision.id
        took = (found.actuated.nanoseconds - found.commanded.ros.nanoseconds) / NANOSECONDS
        assert 0.16 - 1e-9 <= took <= 0.16 + found.quantum + world.slice + 1e-9
    told = {t.id.step for t in world.transitions if t.actuated is not None}
    assert told.isdisjoint(e.id.step for e in world.evidence)


def test_a_prompt_actuation_is_in_the_record_of_its_step() -> None:
    world = EpisodeWorld(delay=0.03).start()
    world.run(0.5)
    first = steps(world)[0]
    assert first.actuated is not None
    assert first.actuated_source == '/odom'
    assert first.latency.actuation.duration == pytest.approx(0.03, abs=world.slice + 0.01)
