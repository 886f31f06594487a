# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rewards and endings that a world tells of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boundary_env_ros.core.environment.task import StepView
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.tasks.named_rewards import NamedRewards

BOX = {'low': [-1.0, 2.0], 'high': [1.0, 2.0], 'unit': ['rad', 'm']}


def view(before: tuple[float, ...], after: tuple[float, ...]) -> StepView:
    return StepView(
        agent='a',
        before={'outcome': before},
        after={'outcome': after},
        commanded=(),
        reset={},
        step=1,
        period=0.1,
    )


@pytest.mark.parametrize(('code', 'ending'), [(0.0, ''), (1.0, 'failure'), (2.0, 'success')])
def test_terms_are_what_was_added_and_the_end_is_that_of_the_world(
    code: float, ending: str
) -> None:
    task = NamedRewards(rewards=['way', 'cost'])
    outcome = task.judge(view((1.0, -2.0, 0.0), (1.5, -2.25, code)))
    assert [(t.name, t.value) for t in outcome.terms] == [('way', 0.5), ('cost', -0.25)]
    assert outcome.ending == ending


def test_field_of_another_size_is_refused() -> None:
    task = NamedRewards(rewards=['way', 'cost'])
    with pytest.raises(BoundaryError, match='a field .outcome. of 3 values .*way, cost, done'):
        task.judge(view((0.0, 0.0, 0.0), (1.0, 0.0)))


def test_start_is_drawn_from_its_boxes_or_given() -> None:
    task = NamedRewards(rewards=[], start={'start': BOX})
    (drawn,) = task.sample_reset(np.random.default_rng(3), {})
    assert drawn.unit == ('rad', 'm')
    assert -1.0 <= drawn.values[0] <= 1.0
    assert drawn.values[1] == 2.0
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    (given,) = task.sample_reset(rng, {'start': [0.5, 2.0]})
    task.sample_reset(twin, {})
    assert given.values == (0.5, 2.0)
    assert rng.random() == twin.random(), 'the generator goes on alike'


@pytest.mark.parametrize(
    ('parameters', 'message'),
    [
        ({'rewards': ['way', 'way']}, 'expected names, each once'),
        ({'rewards': [], 'start': {'start': {**BOX, 'high': [1.0, 1.0]}}}, 'expected low <= high'),
        ({'rewards': [], 'start': {'start': {**BOX, 'unit': ['m']}}}, 'each with a unit'),
        ({'rewards': [], 'start': {'start': {'low': [0.0]}}}, 'expected low, high and unit'),
    ],
)
def test_parameters_that_mean_nothing_are_refused(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(BoundaryError, match=message):
        NamedRewards(**parameters)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'goal': [1.0]}, r'Unknown reset options \(expected start, got goal'),
        ({'start': [0.0]}, 'expected 2 numbers'),
        ({'start': 'left'}, 'expected 2 numbers'),
        ({'start': [3.0, 2.0]}, 'expected -1 to 1, got 3'),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    task = NamedRewards(rewards=[], start={'start': BOX})
    with pytest.raises(BoundaryError, match=message):
        task.sample_reset(np.random.default_rng(0), options)
