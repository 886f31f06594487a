# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields of the state: known to environment and task, recorded, and never told to the policy."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.environment_events import EndEpisode
from boundary_env_ros.core.environment.task import Outcome, StepView
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.observation import FieldStatus
from boundary_env_ros.core.records.parts import NamedValues, Pacing
from boundary_env_ros.core.records.transition import RewardTerm
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.tasks.go_to_goal import GoToGoal
from support.core_world import shipped_data, TASKS
from support.episode_checks import check_one_ending, steps
from support.episode_world import EpisodeWorld


def contract(**changes: Any) -> Contract:
    """Return the shipped contract, whose velocity only environment and task know."""
    data: dict[str, Any] = shipped_data()
    velocity = data['observation'].pop('velocity')
    data['state'] = {'velocity': {**velocity, **changes}}
    data['observation']['speeding_up'] = {'derive': {'function': 'change', 'of': 'velocity'}}
    data['observation']['speeds'] = {
        'derive': {'function': 'history', 'of': 'velocity', 'count': 3}
    }
    return parse(data, tasks=TASKS)


class Spy:
    """A task that keeps what it is shown."""

    def __init__(self, inner: GoToGoal) -> None:
        self.inner = inner
        self.views: list[StepView] = []

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        return self.inner.sample_reset(rng, options)

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        return self.inner.observe(reset, agent)

    def judge(self, step: StepView) -> Outcome:
        self.views.append(step)
        return Outcome(terms=(RewardTerm(name='speed', value=step.after['velocity'][0]),))


def world(pacing: Pacing = Pacing.REALTIME, **changes: Any) -> EpisodeWorld:
    made = contract(**changes)
    spy = Spy(GoToGoal(**made.task.parameters))  # type: ignore[arg-type]
    return EpisodeWorld(contract=made, pacing=pacing, task=spy)


def spy_of(world: EpisodeWorld) -> Spy:
    spy = world.environment.state.setup.task
    assert isinstance(spy, Spy)
    return spy


def test_the_policy_is_not_told() -> None:
    running = world().start().run(1.0)
    for observation in running.observations:
        assert 'velocity' not in [field.name for field in observation.fields]
    for record in running.evaluator:
        assert 'velocity' not in [field.name for field in record.fields]


def test_it_is_in_every_transition_as_it_was_when_the_step_closed() -> None:
    running = world().start().run(1.0)
    reset, *after = running.transitions
    assert len(after) >= 8
    assert [field.name for field in reset.state] == ['velocity']
    speeds = []
    for transition in after:
        [field] = transition.state
        assert field.status is FieldStatus.FRESH
        assert field.age is not None
        assert field.source == '/odom'
        assert 'velocity' not in [f.name for f in (*transition.before, *transition.after)]
        speeds.append(field.values[0])
    assert speeds == sorted(speeds)
    assert speeds[-1] == pytest.approx(0.4)


def test_the_task_sees_it_before_and_after() -> None:
    running = world().start().run(1.0)
    views = spy_of(running).views
    assert len(views) == len(steps(running))
    for view, transition in zip(views, steps(running), strict=True):
        [field] = transition.state
        assert view.after['velocity'] == field.values
        assert transition.reward == field.values[0]
    for before, after in pairwise(views):
        assert after.before['velocity'] == before.after['velocity']


def test_what_is_derived_of_it_may_be_told() -> None:
    running = world().start().run(1.0)
    seen: list[Vector] = [running.transitions[0].state[0].values]
    first = running.observations[0]
    assert first['speeding_up'].values == (0.0, 0.0)
    assert first['speeds'].values == seen[0] * 3
    for observation, transition in zip(running.observations[1:], steps(running), strict=False):
        seen.append(transition.state[0].values)
        padded = [seen[0]] * 3 + seen
        assert observation['speeds'].values == tuple(v for s in padded[-3:] for v in s)
        change = tuple(a - b for a, b in zip(seen[-1], seen[-2], strict=True))
        assert observation['speeding_up'].values == change
        assert observation['speeding_up'].captured == transition.state[0].captured


def test_a_history_begins_anew_with_every_episode() -> None:
    running = world().start().run(1.0)
    running.environment.apply(
        EndEpisode(ending='operator_stop', declared_by='test', message='', now=running.now)
    )
    running.alive.discard('policy')
    running.run(0.5)
    running.start()
    [first] = [o for o in running.observations[-1:] if o.id.step == 0]
    assert first['speeds'].values == (0.0,) * 6
    assert first['speeding_up'].values == (0.0, 0.0)


def test_the_reset_waits_for_it() -> None:
    waiting = world()
    waiting.alive.discard('velocity')
    waiting.begin().run(3.0)
    assert waiting.state is EpisodeState.RESETTING
    waiting.alive.add('velocity')
    waiting.run(0.5)
    assert waiting.state is EpisodeState.RUNNING


def test_a_reset_that_lacks_it_says_so_by_name() -> None:
    waiting = world()
    waiting.alive.discard('velocity')
    waiting.begin().run(8.2)
    assert 'velocity (/odom' in waiting.environment.status(waiting.now).message


def test_it_ends_the_episode_where_it_is_to() -> None:
    running = world(on_stale='truncate').start().run(1.0)
    running.alive.discard('velocity')
    running.finish()
    last = check_one_ending(running, 'sensor_lost', terminated=False, by='environment')
    assert last.state[0].status is FieldStatus.STALE


def test_it_is_marked_where_it_only_is_to_be_marked() -> None:
    running = world(on_stale='mark').start().run(0.5)
    running.alive.discard('velocity')
    running.run(0.5)
    assert running.state is EpisodeState.RUNNING
    last = steps(running)[-1]
    assert last.state[0].status is FieldStatus.STALE
    # And so is what is derived of it.
    assert running.observations[-1]['speeds'].status is FieldStatus.STALE


def test_it_ends_the_episode_beyond_its_bounds_where_it_is_to() -> None:
    running = world(out_of_bounds='truncate', low=[-0.1, -6.0], high=[0.25, 6.0]).start()
    running.finish()
    last = check_one_ending(running, 'sensor_lost', terminated=False, by='environment')
    assert last.state[0].clipped
    assert last.state[0].values[0] == 0.25


def test_in_lockstep_every_step_waits_for_it() -> None:
    stepping = world(Pacing.LOCKSTEP).start()
    for _ in range(3):
        transition = stepping.step(0.3, 0.0)
        assert transition is not None
        assert transition.state[0].age == pytest.approx(0.0)
    stepping.holds = {'velocity'}
    assert stepping.step(0.3, 0.0) is None
    before = len(stepping.transitions)
    for late in stepping.held:
        late()
    assert len(stepping.transitions) == before + 1
