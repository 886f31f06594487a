# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a reset reached what was sampled."""

from __future__ import annotations

import math

from hypothesis import assume, given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.environment.reset import (
    by_name,
    out_of_tolerance,
    outside,
    tolerances,
)
from boundary_env_ros.core.records.parts import NamedValues
from support.core_world import shipped

TARGET = (
    NamedValues(name='start', values=(1.0, 2.0, 0.5)),
    NamedValues(name='goal', values=(9.0,)),
)
LIMIT = (NamedValues(name='start', values=(0.1, 0.1, 0.2)),)


def reached(*values: float, name: str = 'start') -> tuple[NamedValues, ...]:
    return (NamedValues(name=name, values=values),)


@given(st.tuples(st.floats(-0.099, 0.099), st.floats(-0.099, 0.099), st.floats(-0.199, 0.199)))
def test_a_state_within_its_tolerance_is_good(off: tuple[float, ...]) -> None:
    state = reached(*(a + b for a, b in zip(TARGET[0].values, off, strict=True)))
    assert out_of_tolerance(TARGET, state, LIMIT) == ()


@pytest.mark.parametrize(
    'values', [(1.2, 2.0, 0.5), (1.0, 1.8, 0.5), (1.0, 2.0, 0.8), (float('nan'), 2.0, 0.5)]
)
def test_one_value_outside_is_told_in_a_sentence(values: tuple[float, ...]) -> None:
    [sentence] = out_of_tolerance(TARGET, reached(*values), LIMIT)
    assert sentence.startswith(
        "'start' is out of tolerance (expected within [0.1, 0.1, 0.2] of [1.0, 2.0, 0.5], got"
    )
    assert str(list(values)) in sentence


@pytest.mark.parametrize('state', [(), reached(1.0, 2.0), reached(1.0, 2.0, 0.5, name='begin')])
def test_a_state_that_the_robot_does_not_tell_is_not_good(state: tuple[NamedValues, ...]) -> None:
    [sentence] = out_of_tolerance(TARGET, state, LIMIT)
    assert sentence == "The robot does not say what it achieved of 'start'"


def test_what_has_no_tolerance_is_not_judged() -> None:
    assert out_of_tolerance(TARGET, reached(1.0, 2.0, 0.5), ()) == ()


def test_a_tolerance_of_zero_is_a_tolerance() -> None:
    limit = (NamedValues(name='start', values=(0.0, 0.0, 0.0)),)
    assert out_of_tolerance(TARGET, reached(1.0, 2.0, 0.5), limit) == ()
    assert out_of_tolerance(TARGET, reached(1.0, 2.0, 0.5000001), limit) != ()


def test_the_tolerances_are_those_of_the_contract() -> None:
    [found] = tolerances(shipped().episode.reset)
    assert (found.name, found.values) == ('start', (0.05, 0.05, 0.05))
    assert by_name((found,)) == {'start': (0.05, 0.05, 0.05)}


# Angles ------------------------------------------------------------------------------------------

HEADING = (NamedValues(name='start', values=(1.0, 2.0, 3.14)),)
BEHIND = (NamedValues(name='start', values=(1.0, 2.0, -3.14)),)


def test_an_angle_of_3_14_is_near_minus_3_14() -> None:
    assert out_of_tolerance(HEADING, BEHIND, LIMIT, {'start': (2,)}) == ()


def test_what_is_not_declared_an_angle_is_as_far_off_as_its_numbers() -> None:
    assert out_of_tolerance(HEADING, BEHIND, LIMIT) != ()
    assert out_of_tolerance(HEADING, BEHIND, LIMIT, {'start': (0, 1), 'goal': (2,)}) != ()


@given(st.floats(-10.0, 10.0), st.floats(-10.0, 10.0))
def test_an_angle_is_within_if_and_only_if_its_direction_is(wanted: float, got: float) -> None:
    off = abs(math.atan2(math.sin(got - wanted), math.cos(got - wanted)))
    assume(abs(off - 0.2) > 1e-9)
    assert bool(outside((got,), (wanted,), (0.2,), (0,))) is (off > 0.2)


@pytest.mark.parametrize('value', [math.inf, -math.inf, math.nan])
def test_an_angle_that_is_no_number_is_not_near(value: float) -> None:
    assert outside((value,), (0.0,), (9.0,), (0,))
