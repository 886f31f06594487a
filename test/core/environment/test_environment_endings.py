# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What ends an episode: one ending, one declarer, told alike everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
import math
import re
from typing import Any

import pytest

from boundary_env_ros.core.environment.environment_events import EndEpisode, FieldRead
from boundary_env_ros.core.environment.task import Outcome, StepView
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.records.transition import RewardTerm
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, RequestRejected
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract_file import make_task
from boundary_env_ros.tasks.go_to_goal import GoToGoal
from support.core_world import drop, shipped, shipped_data
from support.episode_checks import check_one_ending, CONTRACT, PERIOD, SAFETY, steps
from support.episode_world import EpisodeWorld, NEAR_GOAL, START


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


def without_task() -> EpisodeWorld:
    data = shipped_data()
    for path in (('task',), ('observation', 'goal'), ('episode', 'reset', 'tolerance')):
        drop(data, path)
    contract = parse(data)
    return EpisodeWorld(contract=contract, task=make_task(contract))


def test_without_a_task_the_reward_is_0_and_the_time_limit_ends_the_episode() -> None:
    world = without_task()
    world.begin(options='')
    world.run_until(lambda: world.state is EpisodeState.RUNNING)
    world.finish()
    last = check_one_ending(world, 'time_limit', terminated=False, by='environment')
    assert last.id.step == CONTRACT.max_steps
    assert {(step.reward, step.reward_terms) for step in steps(world)} == {(0.0, ())}


def test_without_a_task_a_reset_takes_no_options() -> None:
    with pytest.raises(BoundaryError, match=r"no task to take options .* got 'start', 'goal'"):
        without_task().begin()


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


def test_an_end_from_outside_carries_its_own_name_and_declarer(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.apply(
        EndEpisode(ending='operator_stop', declared_by='operator', message='enough', now=world.now)
    )
    last = check_one_ending(world, 'operator_stop', terminated=False, by='operator')
    assert world.environment.status(world.now).message == 'enough'
    assert last.tick_error is None


def test_an_ending_that_the_contract_does_not_know_is_refused(
    world: EpisodeWorld,
) -> None:
    with pytest.raises(RequestRejected, match="No such ending .expected .*, got 'boredom'"):
        world.environment.apply(
            EndEpisode(ending='boredom', declared_by='operator', message='', now=world.now)
        )
    assert world.state is EpisodeState.RUNNING


def test_an_episode_ends_once(world: EpisodeWorld) -> None:
    world.apply(
        EndEpisode(ending='operator_stop', declared_by='operator', message='', now=world.now)
    )
    count = len(world.transitions)
    assert (
        world.environment.apply(
            EndEpisode(ending='abandoned', declared_by='somebody', message='', now=world.now)
        )
        == ()
    )
    world.run(2.0)
    assert len(world.transitions) == count
    check_one_ending(world, 'operator_stop', terminated=False, by='operator')


@pytest.mark.parametrize(
    ('part', 'ending', 'bound'),
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
    world: EpisodeWorld, part: str, ending: str, bound: float
) -> None:
    world.run(1.0)
    start = world.time.steady
    world.alive.discard(part)
    world.finish(within=bound + 2 * PERIOD)
    last = check_one_ending(world, ending, terminated=False, by='environment')
    took = (world.time.steady - start) / NANOSECONDS
    assert bound - 0.1 <= took <= bound + PERIOD + 2 * world.slice + 1e-9
    (said,) = (item.value for item in last.diagnostics if item.key == f'ending:{ending}')
    assert said == world.environment.status(world.now).message != ''
    world.alive.add('gate')
    world.run(1.5)
    assert world.robot.speed == (0.0, 0.0)


def test_a_gate_that_is_deactivated_ends_the_episode_at_once(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.deactivate_gate()
    world.finish(within=2 * PERIOD)
    last = check_one_ending(world, 'gate_lost', terminated=False, by='environment')
    assert world.environment.status(world.now).message == 'the safety gate was deactivated'
    assert last.decisions[-1].verdict is Verdict.STOPPED
    assert last.decisions[-1].command == (0.0, 0.0)


@pytest.mark.parametrize('part', ['pose', 'velocity'])
def test_a_lost_sensor_is_named_with_its_topic_and_its_age(world: EpisodeWorld, part: str) -> None:
    world.run(1.0)
    world.alive.discard(part)
    world.finish()
    (spec,) = (spec for spec in CONTRACT.observation if spec.name == part)
    allowed = spec.max_age
    assert allowed is not None
    told = world.environment.status(world.now).message
    found = re.fullmatch(
        rf'{part} \(/{spec.topic}\) is (\S+) s old, {allowed:g} s is allowed', told
    )
    assert found is not None
    assert float(found[1]) > allowed


def test_a_sensor_that_is_lost_since_its_value_is_nan_says_so(world: EpisodeWorld) -> None:
    world.run(1.0)
    world.alive.discard('pose')
    nothing = Reading(values=(math.nan,) * 3, captured=world.time.stamp())
    world.apply(FieldRead(name='pose', reading=nothing))
    assert world.environment.state.buffer.latest['pose'] is not nothing
    world.finish()
    told = world.environment.status(world.now).message
    assert told.endswith(' s is allowed; it is heard, but x is nan, and 2 others')


@pytest.mark.parametrize(
    ('nanoseconds', 'said'),
    [(None, 'is stamped 2.97 s in the future, 0.5 s is allowed'), (0, 'has no stamp')],
)
def test_a_wrong_stamp_is_not_called_an_age(
    world: EpisodeWorld, nanoseconds: int | None, said: str
) -> None:
    world.run(1.0)
    world.alive.discard('pose')
    captured = world.time.stamp(ago=-3.0)
    if nanoseconds is not None:
        captured = replace(captured, nanoseconds=nanoseconds)
    reading = Reading(values=(0.0, 0.0, 0.0), captured=captured)
    world.environment.apply(FieldRead(name='pose', reading=reading))
    world.finish(within=2 * PERIOD)
    told = world.environment.status(world.now).message
    assert re.sub(r'2\.[89]\d*', '2.97', told) == f'pose (/pose_detections) {said}'


def test_a_driver_that_died_is_a_lost_robot_though_a_sensor_is_too_old_first() -> None:
    contract = shipped({('safety', 'robot_timeout'): 5.0})
    world = EpisodeWorld(contract=contract).start().run(1.0)
    world.alive.discard('robot')
    world.finish(within=contract.observation[0].max_age + 2 * PERIOD)
    check_one_ending(world, 'robot_lost', terminated=False, by='environment')
    told = world.environment.status(world.now).message
    assert re.search(
        r'velocity \(/odom\) is .*no sensor was heard meanwhile: if the driver runs, max_age is',
        told,
    )


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


def test_of_several_endings_at_once_the_declared_precedence_picks_one() -> None:
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
    order = list(CONTRACT.episode.endings)
    assert min(together, key=order.index) == first


def test_an_ending_of_the_tasks_own_goes_by_its_declaration() -> None:
    contract = shipped({('episode', 'endings'): {'dropped_load': 'terminated'}})
    world = EpisodeWorld(contract=contract).start()
    world.judge_by(Judge(lambda step: Outcome(ending='dropped_load')))
    world.finish(within=2 * PERIOD)
    check_one_ending(world, 'dropped_load', terminated=True, by='task:go_to_goal')


def raising(error: Exception) -> Callable[[StepView], Outcome]:
    def judge(step: StepView) -> Outcome:
        raise error

    return judge


@pytest.mark.parametrize(
    ('judge', 'message'),
    [
        (raising(KeyError('pose')), "KeyError: 'pose' \\(test_environment_endings.py, line"),
        (raising(RuntimeError('no model')), 'RuntimeError: no model'),
        (raising(BoundaryError('no bumper')), 'no bumper'),
        (lambda step: Outcome(ending='undeclared'), r"an ending of the contract .*'undeclared'"),
        (lambda step: None, 'expected an Outcome, got None'),
        (
            lambda step: Outcome(terms=(RewardTerm(name='progress', value=math.nan),)),
            "a finite reward 'progress', got nan",
        ),
    ],
)
def test_a_task_that_fails_ends_the_episode_and_is_named(
    judge: Callable[[StepView], Any], message: str
) -> None:
    world = EpisodeWorld().start()
    world.judge_by(Judge(judge))
    world.finish(within=2 * PERIOD)
    last = check_one_ending(world, 'task_failed', terminated=False, by='task:go_to_goal')
    assert (last.reward, last.reward_terms) == (0.0, ())
    told = world.environment.status(world.now).message
    assert re.match(f"the task 'go_to_goal', in judge: .*{message}", told)
    assert KeyValue(key='ending:task_failed', value=told) in last.diagnostics
    world.run(1.5)
    assert world.robot.speed == (0.0, 0.0)


def test_a_task_that_fails_to_supply_its_fields_fails_the_reset() -> None:
    class Forgetful(GoToGoal):
        def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
            return {'goal': reset['target']}

    world = EpisodeWorld(task=Forgetful(**CONTRACT.task.parameters))
    world.begin()
    world.run_until(lambda: world.state.over)
    told = world.environment.status(world.now)
    assert told.ending == 'reset_failed'
    assert told.message.startswith("the task 'go_to_goal', in observe: KeyError: 'target'")


class Judge:
    """A task that judges as it is told."""

    def __init__(self, judge: Callable[[StepView], Any]) -> None:
        self.judge = judge
