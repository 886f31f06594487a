# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The task of opening a door: seeded samples, honest options, a reward that adds up, two ends."""

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
from boundary_env_ros.tasks.open_door import OpenDoor

SHIPPED = Path(__file__).parents[2] / 'config' / 'door_arm.yaml'
CONTRACT: dict[str, Any] = yaml.safe_load(SHIPPED.read_text(encoding='utf-8'))
PARAMETERS: dict[str, Any] = CONTRACT['task']['parameters']
TASK: Task = OpenDoor(**PARAMETERS)
ANGLE: float = PARAMETERS['angle']
MOST_FORCE: float = PARAMETERS['most_force']


def sample(seed: int = 0, **options: object) -> dict[str, tuple[float, ...]]:
    values = TASK.sample_reset(np.random.default_rng(seed), options)
    return {item.name: item.values for item in values}


def seen(
    *, tool: tuple[float, float, float] = (0.5, 0.0, 0.2), yaw: float = 0.0, force: float = 0.0
) -> dict[str, tuple[float, ...]]:
    """Return what a step begins or ends with; the handle is at (0.8, 0, 0.2)."""
    wrench = (0.0, -force, 0.0, 50.0, 0.0, 0.0)
    return {'tool': tool, 'handle': (0.8, 0.0, 0.2), 'handle_yaw': (yaw,), 'wrench': wrench}


def judged(
    before: dict[str, tuple[float, ...]], after: dict[str, tuple[float, ...]]
) -> dict[str, Any]:
    outcome = TASK.judge(
        StepView(
            agent='arm', before=before, after=after, commanded=(0.0,) * 7, reset=sample(),
            step=1, period=0.1,
        )
    )  # fmt: skip
    return {**{term.name: term.value for term in outcome.terms}, 'ending': outcome.ending}


@given(seed=st.integers(0, 2**63))
def test_a_seed_alone_decides_the_sample(seed: int) -> None:
    assert sample(seed) == sample(seed)


def test_different_seeds_give_different_samples() -> None:
    assert len({sample(seed)['start'] for seed in range(50)}) == 50


@pytest.mark.parametrize('scenario', list(PARAMETERS['scenarios']))
def test_a_sample_lies_in_the_ranges_of_its_scenario(scenario: str) -> None:
    ranges = {'start': PARAMETERS['start'], **PARAMETERS['scenarios'][scenario]}
    for seed in range(20):
        found = sample(seed, scenario=scenario)
        assert found.keys() == ranges.keys()
        for name, values in found.items():
            low, high = ranges[name][: len(values)], ranges[name][len(values) :]
            for least, value, most in zip(low, values, high, strict=True):
                assert least <= value <= most, (seed, name)


def test_every_scenario_is_drawn() -> None:
    def scenario_of(found: dict[str, tuple[float, ...]]) -> set[str]:
        return {
            name
            for name, ranges in PARAMETERS['scenarios'].items()
            if ranges['door'][0] <= found['door'][0] <= ranges['door'][2]
            and ranges['door'][1] <= found['door'][1] <= ranges['door'][3]
        }

    drawn = set().union(*(scenario_of(sample(seed)) for seed in range(50)))
    assert drawn == set(PARAMETERS['scenarios'])


def test_what_is_given_is_taken_and_nothing_else_changes() -> None:
    free = sample(5, scenario='heavy')
    given_door = sample(5, scenario='heavy', door=[0.2, 1])
    assert given_door == {**free, 'door': (0.2, 1.0)}
    assert sample(5, handle=[0.5, 0.3])['handle'] == (0.5, 0.3)
    assert sample(5, start=[0, -2, 2, 0, 0, 0])['start'] == (0.0, -2.0, 2.0, 0.0, 0.0, 0.0)


def test_a_sample_says_its_units() -> None:
    units = {v.name: v.unit for v in TASK.sample_reset(np.random.default_rng(0), {})}
    assert units == {'start': ('rad',) * 6, 'door': ('rad', 'N m'), 'handle': ('m', 'm')}


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            {'hinge': 1},
            r'Unknown reset options \(expected scenario, start, door, handle, got hinge',
        ),
        ({'scenario': 'maze'}, "Unknown scenario .*, got 'maze'"),
        ({'scenario': ['light']}, 'Unknown scenario'),
        ({'start': [1, 2]}, 'start: expected 6 numbers'),
        ({'start': 'here'}, 'start: expected 6 numbers'),
        ({'door': [1, 2, 3]}, 'door: expected 2 numbers'),
        ({'door': [0.1, 'x']}, 'door: expected 2 numbers'),
        ({'handle': [0.5, math.nan]}, 'handle: expected 2 numbers'),
        ({'handle': [0.5, math.inf]}, 'handle: expected 2 numbers'),
        ({'handle': [0.5, 10**400]}, 'handle: expected 2 numbers'),
        ({'handle': None}, 'handle: expected 2 numbers'),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(BoundaryError, match=message):
        sample(0, **options)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'angle': 0.0}, 'expected angle'),
        ({'most_force': math.nan}, 'expected most_force'),
        ({'scenarios': {}}, 'expected at least one'),
        ({'start': [0.0] * 6}, 'start: expected 12 numbers'),
        ({'scenarios': {'a': {'door': [0, 0], 'handle': [0] * 4}}}, r'scenarios\.a\.door'),
        ({'scenarios': {'a': {'door': [0] * 4}}}, r'scenarios\.a\.handle'),
        (
            {'scenarios': {'a': {'door': [0, 2, 0, 1], 'handle': [0] * 4}}},
            r'scenarios\.a\.door: expected the highest of value 1 not below the lowest \(2\)',
        ),
    ],
)
def test_wrong_parameters_are_refused_by_their_name(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BoundaryError, match=message):
        OpenDoor(**{**PARAMETERS, **changes})


def test_the_reward_is_way_and_opening_less_effort() -> None:
    terms = judged(seen(), seen(tool=(0.6, 0.0, 0.2), yaw=0.05, force=20.0))
    assert terms['approach'] == pytest.approx(0.1)
    assert terms['opening'] == pytest.approx(2.0 * 0.05)
    assert terms['effort'] == pytest.approx(-0.002 * 20.0 * 0.1)
    assert terms['opened'] == 0.0
    assert terms['ending'] == ''


def test_closing_costs_what_opening_gives() -> None:
    there, back = judged(seen(yaw=0.1), seen(yaw=0.3)), judged(seen(yaw=0.3), seen(yaw=0.1))
    assert there['opening'] == -back['opening'] > 0.0


@pytest.mark.parametrize(
    ('yaw', 'ending'), [(ANGLE + 1e-9, 'success'), (ANGLE, 'success'), (ANGLE - 1e-9, '')]
)
def test_the_door_is_open_when_the_handle_is_seen_turned_far_enough(
    yaw: float, ending: str
) -> None:
    terms = judged(seen(yaw=0.7), seen(yaw=yaw))
    assert terms['ending'] == ending
    assert terms['opened'] == (1.0 if ending else 0.0)


@pytest.mark.parametrize(
    ('force', 'ending'), [(MOST_FORCE, ''), (MOST_FORCE + 1e-6, 'excessive_force')]
)
def test_more_force_than_the_wrist_may_feel_ends_it(force: float, ending: str) -> None:
    assert judged(seen(), seen(force=force))['ending'] == ending


def test_a_door_that_was_torn_open_was_not_opened() -> None:
    terms = judged(seen(yaw=0.7), seen(yaw=ANGLE + 0.1, force=2.0 * MOST_FORCE))
    assert terms['ending'] == 'excessive_force'
    assert terms['opened'] == 0.0


def test_the_shipped_contract_declares_what_the_task_declares() -> None:
    assert CONTRACT['episode']['endings'] == {'excessive_force': 'terminated'}


def test_the_task_asks_for_nothing_that_only_the_evaluator_sees() -> None:
    judged(seen(), seen())
    assert set(seen()) <= set(CONTRACT['observation'])
    assert not set(seen()) & set(CONTRACT['privileged'])


def test_it_supplies_no_field() -> None:
    assert TASK.observe(sample(3), 'arm') == {}
