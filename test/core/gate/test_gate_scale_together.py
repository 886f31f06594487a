# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A twist that is slowed keeps its curvature, where that is possible; where not, it is said."""

from __future__ import annotations

import math
import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.evaluate import rule
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.records.decision import Measurement, Reason, Verdict
from boundary_env_ros.core.vectors import Vector
from support.core_world import shipped
from support.gate_sequence import explained, inputs, left_of, of_rule, Sequence


def cart(**base: Any) -> Contract:
    """Return the shipped contract, whose twist keeps its curvature."""
    keys = {'scale_together': ['linear.x', 'angular.z'], **base}
    return shipped({('action', 'base', key): value for key, value in keys.items()})


CART = Limits(cart())
ALONE = Limits(shipped())
QUICK = Limits(CART.contract, rate=(1e3, 1e3))
SLOW = CART.safety.of(Obstacle)[0].slow_speed


def ahead(distance: float) -> tuple[Measurement, ...]:
    values = (distance, 8.0, 1.0, 1.0)
    return (Measurement(name='obstacle.scan', topic='/scan', values=values, age=0.02),)


FREE = ahead(8.0)


def ask(
    limits: Limits,
    wanted: Vector,
    previous: Vector = (0.0, 0.0),
    *,
    seconds: float = 0.1,
    scan: tuple[Measurement, ...] = FREE,
) -> RuleOutput:
    known = inputs(previous=previous, time_step=seconds, measurements=scan)
    output = rule(limits, known, wanted)
    explained(output)
    return output


def keeps_its_curvature(command: Vector, wanted: Vector) -> bool:
    """Return whether two twists have one curvature, to 1e-12 of it, and no other direction."""
    (v, w), (wanted_v, wanted_w) = command, wanted
    return (
        math.isclose(v * wanted_w, w * wanted_v, rel_tol=1e-12, abs_tol=0.0)
        and v * wanted_v >= 0.0
        and w * wanted_w >= 0.0
    )


def sized(most: float) -> st.SearchStrategy[float]:
    """Return numbers of a size whose products are not rounded away."""
    return st.one_of(st.floats(1e-3, most), st.floats(-most, -1e-3))


# Nanoseconds are the shortest that a clock tells.
_seconds = st.one_of(st.just(0.0), st.floats(1e-9, 0.1))
_twist = st.tuples(sized(5.0), sized(9.0))
_inside = st.tuples(st.floats(CART.low[0], CART.high[0]), st.floats(CART.low[1], CART.high[1]))


# Bounds, obstacles -------------------------------------------------------------------------------


@given(_twist)
def test_what_is_beyond_its_bounds_is_scaled_as_a_whole(wanted: Vector) -> None:
    output = ask(QUICK, wanted)
    assert keeps_its_curvature(output.command, wanted)
    parts = [value / asked for value, asked in zip(output.command, wanted, strict=True)]
    assert parts[0] == pytest.approx(parts[1])
    at_a_bound = any(
        value in (low, high)
        for value, low, high in zip(output.command, CART.low, CART.high, strict=True)
    )
    assert at_a_bound or output.command == wanted


@given(_twist, st.floats(0.51, 2.0))
def test_what_is_slowed_before_an_obstacle_is_scaled_as_a_whole(
    wanted: Vector, distance: float
) -> None:
    output = ask(QUICK, wanted, scan=ahead(distance))
    assume(output.verdict is not Verdict.STOPPED)
    assert keeps_its_curvature(output.command, wanted)
    assert output.command[0] <= max(SLOW, CART.high[0] * (distance >= 0.6))


def test_each_dimension_that_is_scaled_says_by_how_much() -> None:
    output = ask(QUICK, (0.8, 1.2), scan=ahead(0.7))
    assert output.command == (SLOW, pytest.approx(1.2 * SLOW / 0.8))
    [result] = of_rule(output, 'scale_together')
    assert (result.reason, result.dimension) == (Reason.SCALED_TOGETHER, 1)
    assert result.value == pytest.approx(SLOW / 0.8)
    assert (result.limit, result.unit) == (1.0, 'of what was asked for')
    assert [r.rule for r in output.results] == ['obstacle_slow.scan', 'scale_together']


def test_the_dimension_with_least_left_decides() -> None:
    output = ask(QUICK, (8.0, 3.0))
    assert output.command == (0.8, pytest.approx(0.3))
    output = ask(QUICK, (1.6, 15.0))
    assert output.command == (pytest.approx(0.16), 1.5)
    assert [(r.rule, r.dimension) for r in output.results] == [
        ('bounds', 0),
        ('bounds', 1),
        ('scale_together', 0),
    ]


def test_without_the_word_each_dimension_is_limited_for_itself() -> None:
    output = ask(Limits(ALONE.contract, rate=(1e3, 1e3)), (8.0, 1.0))
    assert output.command == (0.8, 1.0)
    assert not of_rule(output, 'scale_together')


def test_what_no_rule_lowered_is_not_touched() -> None:
    output = ask(QUICK, (0.5, 0.7))
    assert output.verdict is Verdict.ADMITTED
    assert output.command == (0.5, 0.7)


def test_a_turn_on_the_spot_and_a_straight_line_have_no_curvature_to_lose() -> None:
    assert ask(QUICK, (0.0, 9.0)).command == (0.0, 1.5)
    assert ask(QUICK, (-9.0, 0.0)).command == (-0.3, 0.0)


def test_a_rule_that_turned_a_dimension_round_is_left_to_itself() -> None:
    # A tightened bound may leave no room for what is asked for, on its side of 0.
    backwards_only = Limits(CART.contract, rate=(1e3, 1e3), high=(-0.1, 1.5))
    command, results = left_of(
        backwards_only, inputs(previous=(-0.1, 0.0), measurements=FREE), (0.5, 1.0)
    )
    assert command == (-0.1, 1.0)
    assert [r.rule for r in results] == ['bounds']


# Rate --------------------------------------------------------------------------------------------


def parts_within_reach(wanted: Vector, previous: Vector, seconds: float) -> list[float]:
    """Return, of many parts from 0 to 1, those that every rate allows."""
    return [
        part / 1000
        for part in range(1001)
        if all(
            abs(part / 1000 * value - was) <= rate * seconds
            for value, was, rate in zip(wanted, previous, CART.rate, strict=True)
        )
    ]


@given(_inside, _inside, _seconds)
def test_the_greatest_part_within_reach_of_every_rate_is_taken(
    wanted: Vector, previous: Vector, seconds: float
) -> None:
    assume(all(abs(value) >= 1e-3 for value in wanted))
    output = ask(CART, wanted, previous, seconds=seconds)
    for value, was, rate in zip(output.command, previous, CART.rate, strict=True):
        assert abs(value - was) <= rate * seconds + 1e-15
    within = parts_within_reach(wanted, previous, seconds)
    if within:
        assert keeps_its_curvature(output.command, wanted)
        assert output.command[0] / wanted[0] >= within[-1] - 1e-12
        assert output.command[0] / wanted[0] <= within[-1] + 1.1e-3


@given(_twist, _inside, _seconds)
def test_where_no_part_is_within_reach_each_dimension_is_limited_for_itself(
    wanted: Vector, previous: Vector, seconds: float
) -> None:
    output = ask(CART, wanted, previous, seconds=seconds)
    if of_rule(output, 'scale_together') or keeps_its_curvature(output.command, wanted):
        return
    inside = ask(QUICK, wanted, previous, seconds=1.0).command
    alone = ask(ALONE, inside, previous, seconds=seconds)
    assert output.command == alone.command


@given(st.lists(st.tuples(_twist, _seconds), max_size=20))
def test_from_rest_a_twist_that_is_asked_for_again_and_again_is_reached_on_its_arc(
    steps: list[tuple[Vector, float]],
) -> None:
    for wanted, seconds in steps:
        command: Vector = (0.0, 0.0)
        for _ in range(5):
            command = ask(CART, wanted, command, seconds=seconds).command
            assert keeps_its_curvature(command, wanted) or command == (0.0, 0.0)


def test_the_dimension_that_is_too_fast_is_told_as_that_and_the_other_as_scaled() -> None:
    output = ask(CART, (0.4, 0.3))
    assert output.command == (pytest.approx(0.1), pytest.approx(0.075))
    first, second = output.results
    assert (first.rule, first.reason, first.dimension) == ('rate', Reason.RATE_LIMIT, 0)
    assert (first.value, first.limit) == (pytest.approx(4.0), CART.rate[0])
    assert (second.rule, second.reason, second.dimension) == (
        'scale_together',
        Reason.SCALED_TOGETHER,
        1,
    )
    assert second.value == pytest.approx(0.25)


def test_to_stand_still_is_reached_by_each_dimension_for_itself() -> None:
    output = ask(CART, (0.0, 0.0), (0.4, 0.3))
    assert output.command == (pytest.approx(0.3), 0.0)
    assert not of_rule(output, 'scale_together')


def test_no_time_moves_nothing() -> None:
    output = ask(CART, (0.4, 0.3), (0.2, 0.1), seconds=0.0)
    assert output.command == (0.2, 0.1)


def test_what_was_scaled_is_not_limited_once_more_for_its_rounding() -> None:
    numbers = random.Random(20)
    for _ in range(3000):
        wanted, previous = (
            tuple(
                numbers.uniform(low, high) for low, high in zip(CART.low, CART.high, strict=True)
            )
            for _ in range(2)
        )
        output = ask(CART, wanted, previous, seconds=numbers.uniform(0.01, 0.1))
        if of_rule(output, 'scale_together'):
            assert len(output.results) == 2


PROFILE: dict[tuple[str | int, ...], object] = {
    ('action', 'base', 'max_jerk'): [0.5, 20.0],
    ('safety', 'obstacles'): None,
    ('safety', 'republish_period'): 0.05,
}


def test_with_a_profile_the_goal_keeps_its_curvature_and_so_does_the_end() -> None:
    limits = Limits(
        shipped({**PROFILE, ('action', 'base', 'scale_together'): ['linear.x', 'angular.z']})
    )
    sequence = Sequence(limits, (0.0, 0.0))
    for _ in range(60):
        output = sequence.ask((1.6, 1.0), 0.1)
    assert output.command == (0.8, 0.5)


def test_on_the_way_there_each_dimension_follows_the_profile_that_is_its_own() -> None:
    limits = Limits(
        shipped({**PROFILE, ('action', 'base', 'scale_together'): ['linear.x', 'angular.z']})
    )
    one, other = Sequence(limits, (0.0, 0.0)), Sequence(Limits(shipped(PROFILE)), (0.0, 0.0))
    for _ in range(10):
        assert one.ask((0.6, 1.2), 0.1) == other.ask((0.6, 1.2), 0.1)
