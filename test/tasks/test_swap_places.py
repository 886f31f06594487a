# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The task of several carts: one sample for all, each judged for itself, a touch ends it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from boundary_env_ros.core.environment.task import Outcome, StepView, Task
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.tasks.swap_places import SwapPlaces

SHIPPED = Path(__file__).parents[2] / 'config' / 'two_carts.yaml'
PARAMETERS: dict[str, Any] = yaml.safe_load(SHIPPED.read_text(encoding='utf-8'))['task'][
    'parameters'
]
TASK: Task = SwapPlaces(**PARAMETERS)
AGENTS = ('cart_a', 'cart_b')
RESET = {
    'cart_a.start': (0.0, 0.0, 0.0), 'cart_a.goal': (2.0, 0.0),
    'cart_b.start': (2.0, 0.0, 3.1), 'cart_b.goal': (0.0, 0.0),
}  # fmt: skip


def sample(seed: int = 0, **options: object) -> dict[str, tuple[float, ...]]:
    values = TASK.sample_reset(np.random.default_rng(seed), options)
    return {item.name: item.values for item in values}


def judged(agent: str, x: float, contact: tuple[float, ...] = (0.0,)) -> Outcome:
    """Judge a step of 0.1 m along x that ends at x."""
    return TASK.judge(
        StepView(
            agent=agent, before={'pose': (x - 0.1, 0.0, 0.0), 'contact': (0.0,)},
            after={'pose': (x, 0.0, 0.0), 'contact': contact}, commanded=(1.0, 0.0),
            reset=RESET, step=1, period=0.1,
        )
    )  # fmt: skip


def terms(outcome: Outcome) -> dict[str, float]:
    return {term.name: term.value for term in outcome.terms}


@pytest.mark.parametrize('scenario', list(PARAMETERS['scenarios']))
def test_every_agent_is_drawn_from_its_boxes_of_one_scenario(scenario: str) -> None:
    for found in (sample(seed, scenario=scenario) for seed in range(10)):
        assert set(found) == set(RESET)
        for agent in AGENTS:
            boxes = PARAMETERS['scenarios'][scenario][agent]
            *start, yaw = found[f'{agent}.start']
            for point, box in ((start, boxes['start']), (found[f'{agent}.goal'], boxes['goal'])):
                assert box[0] <= point[0] <= box[2]
                assert box[1] <= point[1] <= box[3]
            assert boxes['yaw'][0] <= yaw <= boxes['yaw'][1]


def test_a_seed_alone_decides_the_sample_of_the_whole_world() -> None:
    assert sample(3) == sample(3)
    assert len({sample(seed)['cart_b.start'] for seed in range(20)}) == 20


def test_a_given_start_of_one_agent_leaves_the_other_as_it_was() -> None:
    free = sample(5, scenario='aisle')
    given = sample(5, scenario='aisle', cart_a={'start': [1, 2, 0.5]})
    assert given == {**free, 'cart_a.start': (1.0, 2.0, 0.5)}


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'cart_c': {}}, r'Unknown reset options \(expected scenario, cart_a, cart_b, got cart_c'),
        ({'start': [0, 0, 0]}, 'got start'),
        ({'scenario': 'maze'}, "Unknown scenario .*, got 'maze'"),
        ({'cart_a': [1, 2]}, 'cart_a: expected start, goal or both'),
        ({'cart_b': {'scenario': 'aisle'}}, 'cart_b: expected start, goal or both'),
        ({'cart_b': {'goal': [1]}}, 'goal: expected 2 numbers'),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(BoundaryError, match=message):
        sample(0, **options)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'scenarios': {}}, 'expected at least one'),
        ({'scenarios': {'a': {}}}, r'scenarios\.a: expected the agents \(at least one\)'),
        ({'collision_cost': -1.0}, 'expected a collision_cost of 0 or more'),
        ({'collision_cost': math.nan}, 'expected a collision_cost'),
        ({'radius': 0.0}, 'expected a radius'),
    ],
)
def test_wrong_parameters_are_refused_by_their_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BoundaryError, match=message):
        SwapPlaces(**{**PARAMETERS, **changes})


def test_a_scenario_that_lacks_an_agent_is_refused() -> None:
    scenarios = PARAMETERS['scenarios']
    lacking = {**scenarios, 'aisle': {'cart_a': scenarios['aisle']['cart_a']}}
    with pytest.raises(BoundaryError, match='got cart_a'):
        SwapPlaces(**{**PARAMETERS, 'scenarios': lacking | {'apart': scenarios['apart']}})


@pytest.mark.parametrize('agent', AGENTS)
def test_an_agent_is_shown_its_own_goal(agent: str) -> None:
    assert TASK.observe(RESET, agent) == {'goal': RESET[f'{agent}.goal']}


def test_an_agent_that_no_scenario_knows_is_refused() -> None:
    with pytest.raises(BoundaryError, match="got 'cart_c'"):
        TASK.observe(RESET, 'cart_c')
    with pytest.raises(BoundaryError, match="got 'cart_c'"):
        judged('cart_c', 1.0)


def test_the_same_move_is_progress_for_one_and_a_loss_for_the_other() -> None:
    there, back = (terms(judged(agent, 1.0))['progress'] for agent in AGENTS)
    assert there == pytest.approx(0.1)
    assert back == pytest.approx(-0.1)


def test_an_agent_ends_at_its_own_goal_only() -> None:
    assert judged('cart_a', 2.0).ending == 'success'
    assert judged('cart_b', 2.0).ending == ''


@pytest.mark.parametrize('x', [1.0, 2.0])
def test_a_touch_ends_the_episode_even_at_the_goal_and_costs(x: float) -> None:
    outcome = judged('cart_a', x, contact=(1.0,))
    assert outcome.ending == 'collision'
    assert terms(outcome)['collision'] == -PARAMETERS['collision_cost']
    assert terms(judged('cart_a', x))['collision'] == 0.0


def test_a_contract_without_the_bumper_is_told_so() -> None:
    with pytest.raises(BoundaryError, match='field `contact` of one value in the state'):
        judged('cart_a', 1.0, contact=())
