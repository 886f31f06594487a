# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whole episodes in lockstep: the world waits for the gate, the environment for the world."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from boundary_env_ros.core.environment.environment_events import (
    DeadlinesDue,
    EndEpisode,
    StepDue,
    WorldAdvanced,
)
from boundary_env_ros.core.gate.gate_events import Tick
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.lockstep import Advanced, SimStepResponse
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import Clock, to_nanoseconds
from support.core_world import shipped
from support.episode_world import EpisodeWorld, NEAR_GOAL, START

CONTRACT = shipped(pacing=Pacing.LOCKSTEP)
PERIOD = CONTRACT.period
DEADLINE = CONTRACT.lockstep_deadline


@pytest.fixture
def world() -> EpisodeWorld:
    """Return a world in lockstep whose episode runs."""
    return EpisodeWorld(pacing=Pacing.LOCKSTEP).start()


def drive(world: EpisodeWorld, *action: float, most: int = 1000) -> Transition:
    """Step with one action until the episode ends."""
    for _ in range(most):
        transition = world.step(*action)
        assert transition is not None
        if world.state.over:
            return transition
    raise AssertionError(f'it did not end within {most} steps')


def wait(world: EpisodeWorld, seconds: float) -> None:
    """Let steady time pass while the world stands still, all others alive."""
    for _ in range(round(seconds / 0.1)):
        world.time.wait(0.1)
        world.signs_of_life()
        world.decided(world.gate.apply(Tick(now=world.now)))
        world.apply(DeadlinesDue(now=world.now))


def test_the_reset_lets_the_world_settle_before_the_first_observation() -> None:
    world = EpisodeWorld(pacing=Pacing.LOCKSTEP).start()
    [asked] = world.advances
    settle = max(CONTRACT.episode.reset.settle, PERIOD)
    assert (asked.id.step, asked.duration) == (0, to_nanoseconds(settle))
    assert asked.command_stamp == 0
    assert world.transitions[0].kind is Kind.RESET


def test_one_action_is_one_step_of_exactly_one_period(world: EpisodeWorld) -> None:
    for k in range(1, 6):
        transition = world.step(0.3, 0.0)
        assert transition is not None
        assert transition.id.step == k
        asked = world.advances[-1]
        assert (asked.id.step, asked.duration) == (k, to_nanoseconds(PERIOD))
        assert transition.commanded is not None
        assert asked.command_stamp == transition.commanded.ros.nanoseconds
    times = [o.observed.ros.nanoseconds for o in world.observations]
    assert [b - a for a, b in pairwise(times)] == [100_000_000] * 5
    assert {o.observed.ros.clock for o in world.observations} == {Clock.ROS}


def test_nothing_is_an_overrun_and_no_tick_is_late(world: EpisodeWorld) -> None:
    world.think = 2.0
    transition = world.step(0.3, 0.0)
    assert transition is not None
    assert not transition.overrun
    assert transition.held_by == ''
    assert transition.tick_error is None
    assert world.environment.apply(StepDue(now=world.now, late=0.0)) == ()


def test_without_an_action_the_world_does_not_move(world: EpisodeWorld) -> None:
    before = world.time.ros, list(world.robot.pose), len(world.advances)
    wait(world, DEADLINE - 1.0)
    assert (world.time.ros, world.robot.pose, len(world.advances)) == before
    assert world.state is EpisodeState.RUNNING


def test_a_rejected_action_still_advances_the_world(world: EpisodeWorld) -> None:
    transition = world.step(float('nan'), 0.0)
    assert transition is not None
    assert transition.verdict is Verdict.REJECTED
    assert transition.commanded_action == ()
    assert world.advances[-1].command_stamp == 0
    assert transition.id.step == 1


def test_a_stopped_action_still_advances_the_world(world: EpisodeWorld) -> None:
    world.robot.wall = START[0] + 0.3
    world.step(0.0, 0.1)
    transition = world.step(0.3, 0.0)
    assert transition is not None
    assert transition.verdict is Verdict.STOPPED
    assert (transition.ending, transition.truncated) == ('safety_stop', True)


@pytest.mark.parametrize('changes', [{'lease': 'stolen'}, {'digest': ''}, {'sequence': 1}])
def test_a_request_that_was_not_heard_does_not_advance_the_world(
    world: EpisodeWorld, changes: dict[str, object]
) -> None:
    world.step(0.1, 0.0)
    assert world.step(0.8, 0.0, **changes) is None
    assert len(world.advances) == 2
    assert world.step(0.1, 0.0) is not None


def test_the_goal_ends_the_episode_like_in_realtime() -> None:
    world = EpisodeWorld(pacing=Pacing.LOCKSTEP).start(goal=NEAR_GOAL)
    last = drive(world, 0.4, 0.0)
    assert (last.ending, last.terminated) == ('success', True)


def test_the_time_limit_is_a_truncation(world: EpisodeWorld) -> None:
    last = drive(world, 0.0, 0.0)
    assert (last.ending, last.truncated, last.id.step) == ('time_limit', True, CONTRACT.max_steps)


def test_the_same_actions_give_the_same_record() -> None:
    records = []
    for _ in range(2):
        world = EpisodeWorld(pacing=Pacing.LOCKSTEP).start(goal=NEAR_GOAL)
        for k in range(10):
            world.step(0.1 * k, -0.1 * k)
        records.append(world.transitions)
    assert records[0] == records[1]


def test_the_step_waits_for_exactly_the_topics_that_were_announced(world: EpisodeWorld) -> None:
    world.holds = {'pose', 'front'}
    assert world.step(0.3, 0.0) is None
    first, second = world.held
    first()
    assert world.observations[-1].id.step == 0
    second()
    assert world.observations[-1].id.step == 1
    assert all(f.status is FieldStatus.FRESH for f in world.observations[-1].fields)


def test_a_topic_that_the_world_dropped_is_not_waited_for(world: EpisodeWorld) -> None:
    world.drops = {'pose'}
    transition = world.step(0.3, 0.0)
    assert transition is not None
    pose = world.observations[-1]['pose']
    assert pose.age == pytest.approx(PERIOD)
    world.step(0.3, 0.0)
    assert world.observations[-1]['pose'].age == pytest.approx(2 * PERIOD)


def test_dropped_long_enough_the_sensor_is_lost_by_the_worlds_own_time(
    world: EpisodeWorld,
) -> None:
    world.drops = {'pose'}
    last = drive(world, 0.0, 0.1, most=20)
    assert last.ending == 'sensor_lost'
    limit = CONTRACT.observation[0].max_age
    assert limit is not None
    assert last.id.step == int(limit / PERIOD) + 1


def test_a_topic_that_the_policy_does_not_see_is_waited_for_as_the_evaluator_does(
    world: EpisodeWorld,
) -> None:
    world.holds = {'true_pose'}
    assert world.step(0.3, 0.0) is None
    world.held[0]()
    assert world.evaluator[-1].id.step == 1
    assert world.evaluator[-1].fields[0].age == 0.0


def test_an_answer_to_another_advance_is_passed_over(world: EpisodeWorld) -> None:
    world.alive.discard('robot')
    world.step(0.3, 0.0)
    asked = world.advances[-1]
    report = SimStepResponse(
        id=replace(asked.id, step=9), success=True, message='', topics=(), published=(),
        last_stamp=(), dropped=(),
    )  # fmt: skip
    assert (
        world.environment.apply(
            WorldAdvanced(report=Advanced(report=report, now=0), now=world.now)
        )
        == ()
    )
    assert world.observations[-1].id.step == 0


@pytest.mark.parametrize(
    ('info', 'kept'), [('{"free": 3}', '{"free": 3}'), ('[3]', ''), ('{"free', ''), ('', '')]
)
def test_what_the_world_says_of_itself_is_in_the_record_if_it_is_an_object(
    world: EpisodeWorld, info: str, kept: str
) -> None:
    world.alive.discard('robot')
    world.step(0.3, 0.0)
    asked = world.advances[-1]
    report = SimStepResponse(
        id=asked.id, success=True, message='', topics=(), published=(), last_stamp=(), dropped=(),
        info=info,
    )  # fmt: skip
    ahead = world.now.ros.nanoseconds + asked.duration
    world.apply(WorldAdvanced(report=Advanced(report=report, now=ahead), now=world.now))
    assert (world.transitions[-1].id.step, world.transitions[-1].info) == (1, kept)


def test_a_simulation_that_fails_ends_the_episode(world: EpisodeWorld) -> None:
    world.advance_error = 'the solver diverged'
    last = world.step(0.3, 0.0)
    assert last is not None
    assert (last.ending, last.declared_by, last.truncated) == (
        'simulation_failed', 'environment', True,
    )  # fmt: skip
    assert world.environment.status(world.now).message == 'the solver diverged'


def test_a_simulation_that_fails_during_the_reset_fails_the_reset() -> None:
    world = EpisodeWorld(pacing=Pacing.LOCKSTEP)
    world.advance_error = 'the solver diverged'
    world.begin()
    told = world.environment.status(world.now)
    assert (told.ending, told.message) == ('reset_failed', 'the solver diverged')


@pytest.mark.parametrize(
    ('part', 'ending', 'bound'),
    [
        ('gate', 'gate_lost', DEADLINE),
        ('recorder', 'recorder_lost', CONTRACT.safety.recorder_timeout),
        ('policy', 'policy_lost', DEADLINE),
    ],
)
def test_a_loss_ends_the_episode_in_steady_time_and_never_advances_the_world(
    world: EpisodeWorld, part: str, ending: str, bound: float
) -> None:
    world.step(0.3, 0.0)
    world.alive.discard(part)
    before = world.time.ros, len(world.advances)
    wait(world, bound - 0.2)
    assert world.state is EpisodeState.RUNNING
    wait(world, 0.5)
    last = world.transitions[-1]
    assert (last.ending, last.declared_by, last.truncated) == (ending, 'environment', True)
    assert (world.time.ros, len(world.advances)) == before


def test_a_gate_that_is_late_is_not_lost_before_the_deadline(world: EpisodeWorld) -> None:
    world.step(0.3, 0.0)
    world.alive.discard('gate')
    wait(world, DEADLINE - 0.2)
    world.alive.add('gate')
    world.step(0.3, 0.0)
    assert world.state is EpisodeState.RUNNING
    assert world.transitions[-1].ending == ''


def test_a_gate_that_is_deactivated_ends_the_episode_at_once(world: EpisodeWorld) -> None:
    world.step(0.3, 0.0)
    before = world.time.ros, len(world.advances)
    world.deactivate_gate()
    wait(world, 0.1)
    last = world.transitions[-1]
    assert (last.ending, last.declared_by, last.truncated) == ('gate_lost', 'environment', True)
    assert (world.time.ros, len(world.advances)) == before


def test_a_world_that_does_not_advance_is_a_lost_robot(world: EpisodeWorld) -> None:
    world.alive.discard('robot')
    assert world.step(0.3, 0.0) is None
    wait(world, DEADLINE + 0.3)
    last = world.transitions[-1]
    assert (last.ending, last.truncated) == ('robot_lost', True)
    assert world.environment.status(world.now).message == 'the world did not advance in time'


def test_a_sensor_that_was_announced_and_never_comes_is_a_lost_robot(world: EpisodeWorld) -> None:
    world.holds = {'front'}
    assert world.step(0.3, 0.0) is None
    wait(world, DEADLINE + 0.3)
    assert world.transitions[-1].ending == 'robot_lost'


def test_only_one_advance_is_asked_for_at_a_time(world: EpisodeWorld) -> None:
    world.holds = {'front'}
    world.step(0.3, 0.0)
    world.step(0.2, 0.0)
    assert len(world.advances) == 2
    world.held[0]()
    decisions = world.transitions[-1].decisions
    assert [d.verdict is Verdict.REJECTED for d in decisions] == [False, True]
    assert world.transitions[-1].decision == 0


def test_the_emergency_stop_ends_the_episode_with_the_next_step(world: EpisodeWorld) -> None:
    world.step(0.3, 0.0)
    world.press()
    last = world.step(0.3, 0.0)
    assert last is not None
    assert (last.ending, last.declared_by) == ('operator_stop', 'safety_gate')
    assert last.verdict is Verdict.STOPPED
    assert Reason.EMERGENCY_STOP in {r.reason for d in last.decisions for r in d.rules}


def test_the_deadline_of_a_reset_names_the_world_that_did_not_settle() -> None:
    world = EpisodeWorld(pacing=Pacing.LOCKSTEP)
    world.holds = {'front'}
    world.begin()
    wait(world, CONTRACT.episode.reset.deadline + 0.3)
    message = world.environment.status(world.now).message
    assert '/camera/image_raw' in message


def test_time_goes_by_the_worlds_account_though_its_clock_is_late(world: EpisodeWorld) -> None:
    """The answer to an advance may overtake the ``/clock`` that belongs to it."""
    world.alive.discard('robot')
    world.step(0.3, 0.0)
    asked, late = world.advances[-1], world.now
    report = SimStepResponse(
        id=asked.id, success=True, message='', topics=(), published=(), last_stamp=(), dropped=()
    )
    ahead = late.ros.nanoseconds + asked.duration
    world.apply(WorldAdvanced(report=Advanced(report=report, now=ahead), now=late))
    assert world.observations[-1].observed.ros.nanoseconds == ahead
    assert world.observations[-1].observed.steady == late.steady


@pytest.mark.parametrize('ends', ['gate_lost', 'abandoned'])
def test_an_ending_amid_an_advance_is_not_before_what_the_sensors_saw_of_it(
    world: EpisodeWorld, ends: str
) -> None:
    """The sensors of an advance may overtake the ``/clock`` that belongs to it."""
    world.alive.discard('robot')
    world.step(0.3, 0.0)
    ahead = world.time.stamp(ago=-0.02)
    world.speak('pose', ahead)
    if ends == 'abandoned':
        world.apply(EndEpisode(ending=ends, declared_by='policy', message='', now=world.now))
    else:
        world.deactivate_gate()
        wait(world, 0.1)
    last = world.transitions[-1]
    assert last.ending == ends
    assert all(field.age is None or field.age >= 0.0 for field in last.after)
    assert last.closed.ros == ahead


def test_a_sensor_whose_clock_is_ahead_is_told_as_such_at_an_ending(world: EpisodeWorld) -> None:
    world.speak('pose', world.time.stamp(ago=-0.02))
    world.apply(EndEpisode(ending='abandoned', declared_by='policy', message='', now=world.now))
    assert min(field.age for field in world.transitions[-1].after if field.age is not None) < 0.0
