# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Chunks of actions through the Gymnasium facade: one call, as many steps as it has actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.decision import GateDecision, Trigger
from boundary_env_ros.errors import InvalidAction
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.resources import share_file

HORIZON = 4


@pytest.fixture
def chunky(tmp_path: Path) -> Iterator[Callable[..., BoundaryEnv]]:
    """Return what makes environments whose contract has that horizon."""
    data = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text(encoding='utf-8'))
    made: list[BoundaryEnv] = []

    def make(horizon: int = HORIZON, **arguments: object) -> BoundaryEnv:
        data['chunk'] = {'horizon': horizon}
        path = tmp_path / f'chunk_{horizon}.yaml'
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
        made.append(BoundaryEnv(path, world='embedded', pacing='lockstep', **arguments))
        return made[-1]

    yield make
    for env in made:
        env.close()


def test_the_space_of_a_chunk_has_a_row_for_each_step(chunky: Callable[..., BoundaryEnv]) -> None:
    env = chunky()
    assert env.action_space.shape == (HORIZON, 2)
    assert env.action_space.contains(env.action_space.sample())


def test_a_chunk_does_what_its_actions_do_one_by_one(chunky: Callable[..., BoundaryEnv]) -> None:
    actions = np.random.default_rng(3).uniform(-1.0, 1.0, (2 * HORIZON, 2)).astype(np.float32)
    whole, single = chunky(), chunky(1)
    whole.reset(seed=1, options={'scenario': 'clear'})
    single.reset(seed=1, options={'scenario': 'clear'})
    for start in (0, HORIZON):
        rewards = []
        for action in actions[start : start + HORIZON]:
            one_by_one, reward, *_, info = single.step(action)
            rewards.append(float(reward))
        together, total, *_, both = whole.step(actions[start : start + HORIZON])
        assert total == pytest.approx(sum(rewards), abs=1e-12)
        assert both['step'] == info['step'] == start + HORIZON
        assert both['commanded_action'] == info['commanded_action']
        assert both['missed'] == []
        for name, value in one_by_one.items():
            np.testing.assert_array_equal(together[name], value)


def test_every_action_of_a_chunk_has_a_decision_that_names_its_step(
    chunky: Callable[..., BoundaryEnv],
) -> None:
    records: list[object] = []
    env = chunky(sink=records.append)
    env.reset(seed=1, options={'scenario': 'clear'})
    env.step(np.full((HORIZON, 2), 0.1, dtype=np.float32))
    decisions = [r for r in records if isinstance(r, GateDecision)]
    assert [d.id.step for d in decisions] == [1, 2, 3, 4]
    assert [d.trigger for d in decisions] == [Trigger.REQUEST, *[Trigger.CHUNK] * 3]
    assert len({d.request for d in decisions}) == 1


def test_a_shorter_chunk_is_as_long_as_it_is(chunky: Callable[..., BoundaryEnv]) -> None:
    env = chunky()
    env.reset(seed=1, options={'scenario': 'clear'})
    assert env.step(np.zeros((2, 2)))[-1]['step'] == 2


def test_a_chunk_ends_with_its_episode(chunky: Callable[..., BoundaryEnv]) -> None:
    env = chunky(7)  # the time limit of 60 steps is no multiple of it
    env.reset(seed=1, options={'scenario': 'clear'})
    while True:
        *_, terminated, truncated, info = env.step(np.zeros((7, 2)))
        if terminated or truncated:
            break
    assert (info['step'], info['ending']) == (60, 'time_limit')


def test_a_stop_ends_a_chunk(chunky: Callable[..., BoundaryEnv]) -> None:
    env = chunky()
    env.reset(seed=1, options={'scenario': 'blocked'})
    verdicts = []
    for _ in range(15):
        *_, terminated, truncated, info = env.step(np.tile([0.8, 0.0], (HORIZON, 1)))
        verdicts.append(info['verdict'])
        if terminated or truncated:
            break
    assert info['ending'] == 'safety_stop'
    assert verdicts[-1] == 'STOPPED'


@pytest.mark.parametrize('shape', [(2,), (5, 2), (4, 3), (0, 2), (1, 4, 2), ()])
def test_a_chunk_of_another_shape_is_refused_and_not_sent(
    chunky: Callable[..., BoundaryEnv], shape: tuple[int, ...]
) -> None:
    env = chunky()
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match='expected an action of shape'):
        env.step(np.zeros(shape))
    assert env.step(np.zeros((1, 2)))[-1]['step'] == 1
