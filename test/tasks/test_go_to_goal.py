# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The task of driving to a goal: seeded samples, honest options, and a reward that adds up."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
import yaml

from boundary_env_ros.core.environment.task import StepView, Task
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.tasks.go_to_goal import GoToGoal

SHIPPED = Path(__file__).parents[2] / 'config' / 'warehouse_cart.yaml'
PARAMETERS: dict[str, Any] = yaml.safe_load(SHIPPED.read_text(encoding='utf-8'))['task'][
    'parameters'
]
TASK: Task = GoToGoal(**PARAMETERS)
RADIUS: float = PARAMETERS['radius']


def sample(seed: int = 0, **options: object) -> dict[str, tuple[float, ...]]:
    values = TASK.sample_reset(np.random.default_rng(seed), options)
    return {item.name: item.values for item in values}


def judged(
    before: tuple[float, float], after: tuple[float, float], *, turn: float = 0.0
) -> dict[str, Any]:
    """Return the terms of the reward for a move towards a goal at the origin."""
    outcome = TASK.judge(
        StepView(
            agent='cart', before={'pose': (*before, 0.0)}, after={'pose': (*after, 0.0)},
            commanded=(0.4, turn), reset={'goal': (0.0, 0.0)}, step=1, period=0.1,
        )
    )  # fmt: skip
    return {**{term.name: term.value for term in outcome.terms}, 'ending': outcome.ending}


@given(seed=st.integers(0, 2**63))
def test_a_seed_alone_decides_the_sample(seed: int) -> None:
    assert sample(seed) == sample(seed)


def test_different_seeds_give_different_samples() -> None:
    assert len({sample(seed)['start'] for seed in range(50)}) == 50


@pytest.mark.parametrize('scenario', list(PARAMETERS['scenarios']))
def test_a_sample_lies_in_the_boxes_of_its_scenario(scenario: str) -> None:
    boxes = PARAMETERS['scenarios'][scenario]
    for seed in range(20):
        found = sample(seed, scenario=scenario)
        x, y, heading = found['start']
        assert boxes['start'][0] <= x <= boxes['start'][2], seed
        assert boxes['start'][1] <= y <= boxes['start'][3], seed
        assert boxes['yaw'][0] <= heading <= boxes['yaw'][1], seed
        gx, gy = found['goal']
        assert boxes['goal'][0] <= gx <= boxes['goal'][2], seed
        assert boxes['goal'][1] <= gy <= boxes['goal'][3], seed


def test_every_scenario_is_drawn() -> None:
    def scenario_of(start: tuple[float, ...]) -> set[str]:
        x, y, _ = start
        return {
            name
            for name, box in PARAMETERS['scenarios'].items()
            if box['start'][0] <= x <= box['start'][2] and box['start'][1] <= y <= box['start'][3]
        }

    drawn = set().union(*(scenario_of(sample(seed)['start']) for seed in range(50)))
    assert drawn == set(PARAMETERS['scenarios'])


def test_start_and_goal_may_be_given_and_nothing_else_changes() -> None:
    free, given_goal = sample(5, scenario='clear'), sample(5, scenario='clear', goal=[1, 2])
    assert given_goal == {'start': free['start'], 'goal': (1.0, 2.0)}
    assert sample(5, start=[1, 2, 3])['start'] == (1.0, 2.0, 3.0)


def test_a_sample_says_its_units() -> None:
    units = {v.name: v.unit for v in TASK.sample_reset(np.random.default_rng(0), {})}
    assert units == {'start': ('m', 'm', 'rad'), 'goal': ('m', 'm')}


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'speed': 1}, r'Unknown reset options \(expected scenario, start, goal, got speed'),
        ({'scenario': 'maze'}, "Unknown scenario .*, got 'maze'"),
        ({'scenario': ['clear']}, 'Unknown scenario'),
        ({'start': [1, 2]}, 'start: expected 3 numbers'),
        ({'start': 'here'}, 'start: expected 3 numbers'),
        ({'goal': [1, 2, 3]}, 'goal: expected 2 numbers'),
        ({'goal': [1, 'x']}, 'goal: expected 2 numbers'),
        ({'goal': [1, math.nan]}, 'goal: expected 2 numbers'),
        ({'goal': [1, math.inf]}, 'goal: expected 2 numbers'),
        ({'goal': [1, 10**400]}, 'goal: expected 2 numbers'),
        ({'goal': None}, 'goal: expected 2 numbers'),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(BoundaryError, match=message):
        sample(0, **options)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'radius': 0.0}, 'expected a radius'),
        ({'radius': math.nan}, 'expected a radius'),
        ({'scenarios': {}}, 'expected at least one'),
        ({'scenarios': {'a': {'start': [0, 0], 'yaw': [0, 0], 'goal': [0] * 4}}}, r'a\.start'),
        ({'scenarios': {'a': {'start': [0] * 4, 'goal': [0] * 4}}}, r'scenarios\.a\.yaw'),
    ],
)
def test_wrong_parameters_are_refused_by_their_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BoundaryError, match=message):
        GoToGoal(**{**PARAMETERS, **changes})


def test_the_reward_is_progress_less_the_cost_of_time_and_of_turning() -> None:
    terms = judged((3.0, 4.0), (2.4, 3.2), turn=-1.5)
    assert terms['progress'] == pytest.approx(1.0)
    assert terms['time'] == pytest.approx(-0.01)
    assert terms['turning'] == pytest.approx(-0.02 * 1.5 * 0.1)
    assert terms['goal'] == 0.0
    assert terms['ending'] == ''


def test_going_away_costs_what_coming_near_gives() -> None:
    there, back = judged((2.0, 0.0), (1.5, 0.0)), judged((1.5, 0.0), (2.0, 0.0))
    assert there['progress'] == -back['progress'] > 0.0


@pytest.mark.parametrize(
    ('distance', 'ending'), [(RADIUS - 1e-9, 'success'), (RADIUS, 'success'), (RADIUS + 1e-9, '')]
)
def test_the_goal_is_reached_within_its_radius(distance: float, ending: str) -> None:
    terms = judged((5.0, 0.0), (distance, 0.0))
    assert terms['ending'] == ending
    assert terms['goal'] == (1.0 if ending else 0.0)


def test_a_step_without_an_action_has_no_cost_of_turning() -> None:
    outcome = TASK.judge(
        StepView(
            agent='cart', before={'pose': (1.0, 0.0, 0.0)}, after={'pose': (1.0, 0.0, 0.0)},
            commanded=(), reset={'goal': (0.0, 0.0)}, step=1, period=0.1,
        )
    )  # fmt: skip
    assert {term.name: term.value for term in outcome.terms}['turning'] == 0.0


def test_the_goal_is_what_the_task_supplies() -> None:
    found = sample(3)
    assert TASK.observe(found, 'cart') == {'goal': found['goal']}
