# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whole episodes in realtime: how they begin, what ends them, and what their records say."""

from __future__ import annotations

from dataclasses import replace
import re

from core_world import shipped
from episode_world import EpisodeWorld, FAR_GOAL, forward, NEAR_GOAL, START
import pytest

from boundary_env_ros.core.contract import Vector
from boundary_env_ros.core.decision import GateState, Reason, Verdict
from boundary_env_ros.core.episode import EpisodeState
from boundary_env_ros.core.observation import FieldStatus, Observation
from boundary_env_ros.core.reset import WorldReset
from boundary_env_ros.core.task import Outcome
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.transition import Kind, Transition
from boundary_env_ros.errors import BoundaryError, Refused

CONTRACT = shipped()
PERIOD = CONTRACT.period
SAFETY = CONTRACT.safety
OBSTACLE = SAFETY.obstacle
assert OBSTACLE is not None


@pytest.fixture
def world() -> EpisodeWorld:
    """Return a world whose episode runs, with a policy that drives straight on."""
    return EpisodeWorld().start()


def steps(world: EpisodeWorld) -> list[Transition]:
    """Return the steps of the last episode."""
    last = world.transitions[-1].id.episode_id
    return [t for t in world.transitions if t.id.episode_id == last and t.kind is Kind.STEP]


def check_one_ending(world: EpisodeWorld, cause: str, *, terminated: bool, by: str) -> Transition:
    """Check that the episode has one ending, one cause and one declarer, told alike everywhere."""
    last = steps(world)[-1]
    assert (last.cause, last.declared_by) == (cause, by)
    assert (last.terminated, last.truncated) == (terminated, not terminated)
    for before in steps(world)[:-1]:
        assert not before.terminated
        assert not before.truncated
        assert before.cause == before.declared_by == ''
    told = world.environment.status(world.now)
    assert (told.cause, told.declared_by) == (cause, by)
    assert told.state is (EpisodeState.TERMINATED if terminated else EpisodeState.TRUNCATED)
    assert told.id == last.id
    return last


# Endings -----------------------------------------------------------------------------------------


def test_reaching_the_goal_is_a_success_declared_by_the_task() -> None:
    world = EpisodeWorld().start(goal=NEAR_GOAL)
    last = world.finish()
    check_one_ending(world, 'success', terminated=True, by='task:go_to_goal')
    assert last.reward > 0.9
    assert {term.name: term.value for term in last.reward_terms}['goal'] == 1.0


def test_the_time_limit_is_a_truncation_and_never_a_success() -> None:
    world = EpisodeWorld()
    world.policy = lambda observation: (0.0, 0.0)
    world.start()
    world.finish()
    last = check_one_ending(world, 'time_limit', terminated=False, by='environment')
    assert last.id.step == CONTRACT.max_steps
    assert len(steps(world)) == CONTRACT.max_steps


def test_reaching_the_goal_in_the_very_last_step_is_a_success() -> None:
    contract = shipped({('episode', 'time_limit'): 5 * PERIOD})
    world = EpisodeWorld(contract=contract)
    world.policy = lambda observation: (0.0, 0.0)
    world.start(goal=NEAR_GOAL)
    world.run_until(lambda: world.environment.status(world.now).id.step == 4)
    world.robot.pose = [*NEAR_GOAL, 0.0]
    world.finish()
    last = check_one_ending(world, 'success', terminated=True, by='task:go_to_goal')
    assert last.id.step == contract.max_steps


def test_an_obstacle_ends_the_episode_as_a_safety_stop_declared_by_the_gate() -> None:
    world = EpisodeWorld()
    world.robot.wall = START[0] + 1.5
    world.start()
    world.finish()
    last = check_one_ending(world, 'safety_stop', terminated=False, by='safety_gate')
    assert any(d.verdict is Verdict.STOPPED for d in last.decisions)
    assert world.environment.status(world.now).message == 'obstacle stop'
    world.run(1.0)
    assert world.robot.speed == (0.0, 0.0)
    assert world.robot.ahead > 0.25


def test_the_emergency_stop_ends_the_episode_as_the_operators(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.press()
    world.finish(within=2 * PERIOD)
    check_one_ending(world, 'operator_stop', terminated=False, by='safety_gate')


def test_an_end_from_outside_carries_its_own_cause_and_declarer(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.carry(world.environment.end('operator_stop', 'operator', 'enough', world.now))
    last = check_one_ending(world, 'operator_stop', terminated=False, by='operator')
    assert world.environment.status(world.now).message == 'enough'
    assert last.tick_error is None


def test_an_end_for_a_cause_that_the_contract_does_not_know_is_refused(
    world: EpisodeWorld,
) -> None:
    with pytest.raises(Refused, match="Expect a cause of the contract: .*, actually: 'boredom'"):
        world.environment.end('boredom', 'operator', '', world.now)
    assert world.state is EpisodeState.RUNNING


def test_an_episode_ends_once(world: EpisodeWorld) -> None:
    world.carry(world.environment.end('operator_stop', 'operator', '', world.now))
    count = len(world.transitions)
    assert world.environment.end('abandoned', 'somebody', '', world.now) == ()
    world.run(2.0)
    assert len(world.transitions) == count
    check_one_ending(world, 'operator_stop', terminated=False, by='operator')


@pytest.mark.parametrize(
    ('part', 'cause', 'bound'),
    [
        ('pose', 'sensor_lost', CONTRACT.observation[0].max_age),
        ('velocity', 'sensor_lost', CONTRACT.observation[1].max_age),
        ('robot', 'robot_lost', SAFETY.robot_timeout),
        ('policy', 'policy_lost', SAFETY.policy_timeout),
        ('gate', 'gate_lost', SAFETY.gate_timeout),
        ('recorder', 'recorder_lost', SAFETY.recorder_timeout),
    ],
)
def test_the_loss_of_a_part_ends_the_episode_within_its_bound(
    world: EpisodeWorld, part: str, cause: str, bound: float
) -> None:
    world.run(1.0)
    start = world.time.steady
    world.alive.discard(part)
    world.finish(within=bound + 2 * PERIOD)
    last = check_one_ending(world, cause, terminated=False, by='environment')
    took = (world.time.steady - start) / NANOSECONDS
    assert bound - 0.1 <= took <= bound + PERIOD + 2 * world.slice + 1e-9
    assert any(f'cause:{cause}' == item.key for item in last.diagnostics)
    world.alive.add('gate')
    world.run(1.5)
    assert world.robot.speed == (0.0, 0.0)


def test_a_field_that_is_only_marked_does_not_end_the_episode(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.alive.discard('front')
    world.run(1.0)
    assert world.state is EpisodeState.RUNNING
    assert world.observations[-1]['front'].status is FieldStatus.STALE


def test_a_dead_environment_stops_the_robot_though_the_policy_goes_on(world: EpisodeWorld) -> None:
    world.run(1.5)
    assert world.robot.speed == (0.4, 0.0)
    world.alive.discard('environment')
    for _ in range(50):
        world.pass_slice()
        world.request(world.observations[-1], (0.4, 0.0))
    assert world.robot.speed == (0.0, 0.0)


def test_an_environment_that_stood_still_blames_nobody_else(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.time.wait(2.0)  # nothing of what came meanwhile has been heard yet
    world.finish(within=2 * PERIOD)
    check_one_ending(world, 'environment_lost', terminated=False, by='environment')


def test_without_a_recorder_nothing_is_lost_where_none_is_required() -> None:
    world = EpisodeWorld(contract=shipped({('recorder', 'required'): False}))
    world.alive.discard('recorder')
    world.start().run(SAFETY.recorder_timeout + 1.0)
    assert world.state is EpisodeState.RUNNING


def test_of_several_causes_at_once_the_declared_precedence_picks_one() -> None:
    world = EpisodeWorld().start(goal=NEAR_GOAL)
    world.run(0.5)
    world.alive -= {'gate', 'policy'}
    world.robot.pose = [*NEAR_GOAL, 0.0]  # and the goal is reached in the step that sees the loss
    world.time.wait(SAFETY.gate_timeout + 0.01)
    world.finish(within=2 * PERIOD)
    last = check_one_ending(world, 'gate_lost', terminated=False, by='environment')
    assert any(term.value == 1.0 for term in last.reward_terms)


@pytest.mark.parametrize(
    ('together', 'first'),
    [
        (('time_limit', 'success'), 'success'),
        (('success', 'safety_stop'), 'safety_stop'),
        (('safety_stop', 'operator_stop'), 'operator_stop'),
        (('robot_lost', 'gate_lost'), 'robot_lost'),
    ],
)
def test_the_precedence_is_the_order_of_the_contract(
    together: tuple[str, str], first: str
) -> None:
    order = list(CONTRACT.episode.causes)
    assert min(together, key=order.index) == first


def test_a_cause_of_the_tasks_own_goes_by_its_declaration() -> None:
    contract = shipped({('episode', 'causes'): {'dropped_load': 'terminated'}})
    world = EpisodeWorld(contract=contract).start()
    world.environment._task = Judge('dropped_load')
    world.finish(within=2 * PERIOD)
    check_one_ending(world, 'dropped_load', terminated=True, by='task:go_to_goal')


def test_a_task_that_names_a_cause_the_contract_does_not_know_is_an_error() -> None:
    world = EpisodeWorld().start()
    world.environment._task = Judge('undeclared')
    with pytest.raises(BoundaryError, match="a cause of the contract.*actually: 'undeclared'"):
        world.run(2 * PERIOD)


class Judge:
    """A task that ends every episode at its first step."""

    def __init__(self, cause: str) -> None:
        self.cause = cause

    def judge(self, step: object) -> object:
        return Outcome(cause=self.cause)


# Beginning ---------------------------------------------------------------------------------------


def test_the_reset_is_recorded_like_a_step() -> None:
    world = EpisodeWorld().start()
    [reset] = world.transitions
    assert (reset.kind, reset.id.step, reset.reward) == (Kind.RESET, 0, 0.0)
    assert not reset.terminated
    assert not reset.truncated
    assert reset.before == ()
    assert reset.after == world.observations[0].fields
    record = reset.reset
    assert record is not None
    assert (record.seed, record.seed_given, record.within_tolerance) == (7, True, True)
    sampled = {item.name: item.values for item in record.sampled}
    assert sampled == {'start': START, 'goal': FAR_GOAL}
    assert [item.values for item in record.achieved] == [START]
    assert record.confirmed_by == 'point robot'
    assert record.duration is not None
    assert record.duration >= CONTRACT.episode.reset.settle


def test_a_seed_that_nobody_gave_is_drawn_and_recorded_as_drawn() -> None:
    world = EpisodeWorld().start(seed=None)
    record = world.transitions[0].reset
    assert record is not None
    assert (record.seed, record.seed_given) == (99, False)
    assert world.transitions[0].seed == 99


def test_the_same_seed_samples_the_same_start() -> None:
    records = []
    for _ in range(2):
        world = EpisodeWorld()
        world.begin(options='{}')
        records.append(world.environment._reset.sampled)
    assert records[0] == records[1]


@pytest.mark.parametrize(
    ('begin', 'message'),
    [
        ({'digest': 'sha256:' + '0' * 64}, 'Expect the digest'),
        ({'digest': ''}, 'actually: none'),
        ({'options': '{'}, 'Expect reset options as a JSON object'),
        ({'options': '[]'}, 'Expect reset options as a JSON object'),
        ({'options': '[' * 100_000}, 'Expect reset options as a JSON object'),
        ({'options': '{"start": [1]}'}, 'start: expect 3 numbers'),
        ({'options': '{"goal": [1e999, 0]}'}, 'goal: expect 2 numbers'),
        ({'options': '{"goal": [1' + '0' * 400 + ', 0]}'}, 'goal: expect 2 numbers'),
        ({'options': '{"wind": 3}'}, 'Expect the reset options scenario, start, goal'),
        ({'options': '{"scenario": "maze"}'}, 'Expect a scenario out of'),
        ({'seed': -1}, 'Expect a seed of 0 or more, actually: -1'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_a_begin_that_is_refused_changes_nothing(begin: dict[str, object], message: str) -> None:
    world = EpisodeWorld().start()
    with pytest.raises(Refused, match=message):
        world.begin(**begin)  # type: ignore[arg-type]
    world.episodes -= 1
    world.sequence = 1000
    assert world.state is EpisodeState.RUNNING
    world.run(1.0)
    assert world.state is EpisodeState.RUNNING


def test_an_episode_of_another_client_is_not_taken_away(world: EpisodeWorld) -> None:
    with pytest.raises(Refused, match="actually: 'policy' runs episode-1"):
        world.begin(client='other')


def test_a_client_that_begins_another_abandons_the_first(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.begin()
    abandoned = world.transitions[-1]
    assert (abandoned.cause, abandoned.truncated) == ('abandoned', True)
    assert abandoned.id.episode_id == 'episode-1'
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    assert world.transitions[-1].id.episode_id == 'episode-2'


def test_after_an_ending_the_next_episode_runs_on_its_own_lease() -> None:
    world = EpisodeWorld()
    for number in (1, 2, 3):
        world.start(goal=NEAR_GOAL)
        world.finish()
        check_one_ending(world, 'success', terminated=True, by='task:go_to_goal')
        assert world.transitions[-1].id.episode_id == f'episode-{number}'
        assert steps(world)[0].id.step == 1


def test_the_first_observation_holds_nothing_of_the_world_before_the_reset() -> None:
    world = EpisodeWorld().start()
    world.run(3.0)
    moved = world.robot.pose[0]
    world.begin()
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    [x, y, _] = world.observations[-1]['pose'].values
    assert (x, y) == pytest.approx(START[:2], abs=0.05)
    assert moved > START[0] + 0.5


def test_a_sample_captured_before_the_reset_was_done_does_not_start_the_episode() -> None:
    world = EpisodeWorld()
    world.lag['pose'] = 1.0
    world.begin()
    world.run(0.9)
    assert world.state is EpisodeState.RESETTING
    world.lag['pose'] = 0.08
    world.run(world.slice)
    assert world.state is EpisodeState.RUNNING


def test_the_settling_time_is_waited_for() -> None:
    world = EpisodeWorld().begin()
    world.run(CONTRACT.episode.reset.settle - 2 * world.slice)
    assert world.state is EpisodeState.RESETTING
    world.run(4 * world.slice)
    assert world.state is EpisodeState.RUNNING


@pytest.mark.parametrize(
    ('part', 'lacking'),
    [
        ('robot', 'the answer of the service reset_world'),
        ('pose', r'pose \(/pose_detections\)'),
        ('front', r'front \(/camera/image_raw\)'),
        ('velocity', r'velocity \(/odom\), feedback \(/odom\)'),
        ('gate', 'the arming of the safety gate for this episode'),
        ('recorder', 'the recorder'),
    ],
)
def test_the_deadline_of_a_reset_names_what_is_missing(part: str, lacking: str) -> None:
    world = EpisodeWorld()
    world.alive.discard(part)
    if part == 'gate':
        world.arms = False
    world.begin()
    deadline = CONTRACT.episode.reset.deadline
    world.run(deadline - 0.1)
    assert world.state is EpisodeState.RESETTING
    world.run(0.2)
    told = world.environment.status(world.now)
    assert (told.state, told.cause) == (EpisodeState.TRUNCATED, 'reset_failed')
    assert told.message.startswith(f'Expect a reset within {deadline:g} s')
    assert re.search(f'still missing: {lacking}$', told.message)


def test_a_failed_reset_is_recorded_with_its_cause() -> None:
    world = EpisodeWorld()
    world.reset_error = 'the brakes are stuck'
    world.begin()
    [record] = world.transitions
    assert (record.kind, record.truncated, record.terminated) == (Kind.RESET, True, False)
    assert (record.cause, record.declared_by) == ('reset_failed', 'environment')
    assert record.reset is not None
    assert not record.reset.within_tolerance
    assert world.environment.status(world.now).message == 'the brakes are stuck'


def test_a_reset_out_of_tolerance_fails_and_says_by_how_much() -> None:
    world = EpisodeWorld()
    world.reset_answer = lambda start: (start[0] + 0.2, *start[1:])
    world.begin()
    told = world.environment.status(world.now)
    assert told.cause == 'reset_failed'
    assert "Expect 'start' within [0.05, 0.05, 0.05] of [-4.0, -3.0, 0.0]" in told.message


def test_after_a_failed_reset_another_may_succeed() -> None:
    world = EpisodeWorld()
    world.reset_error = 'stuck'
    world.begin()
    world.reset_error = ''
    world.start()
    assert world.state is EpisodeState.RUNNING


def test_an_answer_that_nobody_waits_for_is_passed_over(world: EpisodeWorld) -> None:
    assert world.environment.world_reset(WorldReset(error='late'), world.now) == ()
    assert world.state is EpisodeState.RUNNING


# Stepping ----------------------------------------------------------------------------------------


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
    hidden = {spec.name for spec in world.contract.evaluator}
    assert hidden
    for observation in world.observations:
        assert not hidden & {f.name for f in observation.fields}
    for transition in world.transitions:
        assert not hidden & {f.name for f in (*transition.before, *transition.after)}
    for record in world.evaluator:
        assert {f.name for f in record.fields} == hidden


def test_the_task_judges_by_what_the_policy_sees(world: EpisodeWorld) -> None:
    seen: list[set[str]] = []
    task = world.environment._task
    judge = task.judge

    class Spy:
        def judge(self, step: object) -> object:
            seen.append(set(step.before) | set(step.after))  # type: ignore[attr-defined]
            return judge(step)

    world.environment._task = Spy()
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
        world.environment.decision(replace(decision, sequence=sequence), world.now)
    world.carry(world.environment.tick(world.now, 0.0))
    assert [d.sequence for d in world.transitions[-1].decisions] == [1, 2]
    assert world.transitions[-1].diagnostics == ()


def test_a_decision_on_another_episode_is_not_a_part_of_this_one(world: EpisodeWorld) -> None:
    world.run(0.5)
    decision = world.transitions[-1].decisions[-1]
    foreign = replace(decision, id=replace(decision.id, episode_id='other'))
    world.environment.decision(replace(foreign, sequence=foreign.sequence + 1), world.now)
    world.policy = lambda observation: None
    world.run(2 * PERIOD)
    assert all(d.id.episode_id == 'episode-1' for t in world.transitions for d in t.decisions)


def test_a_gate_under_another_contract_or_of_another_agent_is_not_heard() -> None:
    world = EpisodeWorld()
    world.arms = False
    world.begin()
    known = world.gate.status(world.now)
    armed = replace(known, state=GateState.ARMED, episode_id='episode-1')
    world.alive.discard('gate')
    for foreign in (
        replace(armed, digest='sha256:' + '0' * 64),
        replace(armed, agent='other'),
    ):
        world.carry(world.environment.gate_status(foreign, world.now))
        world.run(1.0)
        assert world.state is EpisodeState.RESETTING
    world.carry(world.environment.gate_status(armed, world.now))
    world.run(0.1)
    assert world.state is EpisodeState.RUNNING


def test_a_late_tick_is_recorded_as_late(world: EpisodeWorld) -> None:
    world.carry(world.environment.tick(world.now, 0.013))
    assert world.transitions[-1].tick_error == 0.013


def test_an_idle_environment_closes_nothing() -> None:
    world = EpisodeWorld()
    assert world.environment.tick(world.now, 0.0) == ()
    assert world.environment.watch(world.now) == ()
    assert world.environment.end('abandoned', 'somebody', '', world.now) == ()
    assert world.environment.observation is None
    assert world.environment.missing() == ()


def test_an_ended_environment_closes_nothing_more() -> None:
    world = EpisodeWorld().start(goal=NEAR_GOAL)
    world.finish()
    assert world.environment.tick(world.now, 0.0) == ()
    assert world.environment.watch(world.now) == ()


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
