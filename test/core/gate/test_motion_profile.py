# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is emitted keeps rate, acceleration and jerk, whatever is asked for and whatever is proposed.

The judge knows nothing of how the sequence was made. By the mean value theorem the n-th divided
difference of samples of a path is its n-th derivative somewhere between them, over n!; so a bound
on the derivative is one on n! times the divided difference, at steps of any length. What rounding
does to the samples is the only tolerance: three units in the last place of the greatest bound
each, and 1e-9 of the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, pairwise
import math
import random
import sys

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import numpy.typing as npt
import pytest

from boundary_env_ros.core.gate import motion_profile
from boundary_env_ros.core.gate.motion_profile import (
    advance,
    MotionLimits,
    MotionState,
    MotionStep,
    settle,
)
from boundary_env_ros.errors import BoundaryError, MissingDependency

INF = math.inf
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class One:
    """The limits of one dimension."""

    low: float = -1.0
    high: float = 1.0
    rate: float = 1.0
    acceleration: float = 2.0
    jerk: float = 10.0


JERK = One()
ACCELERATION = One(jerk=INF)
ONLY_JERK = One(acceleration=INF)
RATE = One(acceleration=INF, jerk=INF)


def limits(*dimensions: One) -> MotionLimits:
    def of(name: str) -> tuple[float, ...]:
        return tuple(getattr(dimension, name) for dimension in dimensions)

    return MotionLimits(
        low=of('low'),
        high=of('high'),
        rate=of('rate'),
        acceleration=of('acceleration'),
        jerk=of('jerk'),
    )


def at_rest(position: tuple[float, ...]) -> MotionState:
    """Return the state of a sequence that begins here: without motion."""
    return tuple(map(MotionStep, position))


def emit(one: One, start: float, steps: Iterable[tuple[float, float]]) -> list[MotionState]:
    """Return the states of a sequence from rest; a step is a goal and a time."""
    kept = limits(one)
    states = [at_rest((start,))]
    for goal, time_step in steps:
        states.append(advance(kept, states[-1], (goal,), time_step))
    return states


def excess(one: One, steps: Sequence[float], values: Sequence[float]) -> list[float]:
    """
    Return by how much of what is allowed each limit is exceeded at worst; above 1.0 is too much.

    Steps of no length are left out, as nothing is emitted after them but what was before.
    """
    h = np.array(steps)
    x = np.array(values)
    x = np.concatenate([x[:1], x[1:][h > 0.0]])
    h = h[h > 0.0]
    rounding = np.full_like(x, 3.0 * math.ulp(max(abs(one.low), abs(one.high))))
    result = []
    span: Floats = np.zeros(len(x) - 1)
    factor = 1.0
    for order, limit in enumerate((one.rate, one.acceleration, one.jerk), 1):
        factor *= order
        # Each divided difference spans one step more than those that it is made of.
        span = h if order == 1 else span[1:] + h[: len(span) - 1]
        x = np.diff(x) / span
        rounding = (rounding[1:] + rounding[:-1]) / span
        if limit < INF and len(x):
            over = factor * np.abs(x) - limit
            result.append(float(np.max(over / (factor * rounding + 1e-9 * limit))))
    return result


def assert_kept(one: One, steps: Sequence[float], states: Sequence[MotionState]) -> None:
    values = [state[0].position for state in states]
    assert one.low <= min(values)
    assert max(values) <= one.high
    assert max(excess(one, steps, values), default=0.0) <= 1.0


def test_the_judge_sees_a_limit_that_is_exceeded_by_a_thousandth() -> None:
    steps = [0.01, 0.02, 0.005, 0.015, 0.01, 0.03]
    times = np.concatenate([[0.0], np.cumsum(steps)])
    for order, name in enumerate(('rate', 'acceleration', 'jerk'), 1):
        path = times**order / math.factorial(order)  # its derivative of that order is 1
        free = One(rate=9.0, acceleration=9.0, jerk=9.0)
        assert max(excess(replace(free, **{name: 1.0}), steps, path)) < 1e-3
        assert max(excess(replace(free, **{name: 0.999}), steps, path)) > 100.0


# Whatever is asked for ---------------------------------------------------------------------------


@st.composite
def any_limits(draw: Callable[..., float]) -> One:
    """Limits of some orders of magnitude, in units of any size; some lie far from 0."""

    def magnitude(least: float, most: float) -> float:
        return 10.0 ** draw(st.floats(least, most))

    unit = magnitude(-6.0, 6.0)
    middle = unit * draw(st.sampled_from([0.0, 0.0, 1.0, -1.0, 30.0]))
    low = middle - unit * draw(st.floats(0.0, 1.0))
    high = middle + unit * draw(st.floats(0.01, 1.0))
    return One(
        low=low,
        high=high,
        rate=unit * magnitude(-2.0, 3.0),
        acceleration=draw(st.one_of(st.just(INF), st.builds(unit.__mul__, magnitudes(-2.0, 6.0)))),
        jerk=draw(st.one_of(st.just(INF), st.builds(unit.__mul__, magnitudes(-2.0, 8.0)))),
    )


def magnitudes(least: float, most: float) -> st.SearchStrategy[float]:
    return st.floats(least, most).map(lambda exponent: 10.0**exponent)


#: A goal as part of the way from low to high, or to stay at the one before; a step as part of a
#: period.
goals = st.one_of(st.none(), st.sampled_from([0.0, 1.0, 0.5]), st.floats(0.0, 1.0))
parts = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-3, 1.0))
periods = magnitudes(-3.0, 0.5)


def spelled_out(
    one: One, period: float, course: Sequence[tuple[float | None, float]]
) -> tuple[list[tuple[float, float]], list[float]]:
    goal = one.low
    steps = []
    for part_of_range, part in course:
        if part_of_range is not None:
            goal = min(one.low + part_of_range * (one.high - one.low), one.high)
        steps.append((goal, part * period))
    return steps, [time_step for _, time_step in steps]


@given(any_limits(), st.floats(0.0, 1.0), periods, st.lists(st.tuples(goals, parts), min_size=4))
def test_every_limit_is_kept_whatever_goals_follow(
    one: One, start: float, period: float, course: list[tuple[float | None, float]]
) -> None:
    steps, times = spelled_out(one, period, course)
    first = min(one.low + start * (one.high - one.low), one.high)
    assert_kept(one, times, emit(one, first, steps))


@pytest.mark.parametrize('one', [JERK, ACCELERATION, ONLY_JERK, RATE])
@pytest.mark.parametrize('dwell', [1, 3, 10, 40])
def test_every_limit_is_kept_from_bound_to_bound(one: One, dwell: int) -> None:
    steps = [((one.high, one.low)[index // dwell % 2], 0.05) for index in range(400)]
    assert_kept(one, [0.05] * 400, emit(one, 0.0, steps))


def test_every_limit_is_kept_over_a_hundred_thousand_steps() -> None:
    chance = random.Random(4)
    one = One(low=-2.9, high=2.9, rate=2.2, acceleration=7.5, jerk=60.0)
    goal, steps = 0.0, []
    for _ in range(100_000):
        if chance.random() < 0.2:
            goal = chance.choice([one.low, one.high, chance.uniform(one.low, one.high), goal])
        steps.append((goal, chance.choice([0.02, chance.uniform(0.002, 0.02)])))
    states = emit(one, 0.0, steps)
    assert_kept(one, [time_step for _, time_step in steps], states)
    # It went everywhere, and made use of what it may.
    assert min(state[0].position for state in states) == one.low
    assert max(state[0].position for state in states) == one.high
    assert max(state[0].velocity for state in states) > 0.99 * one.rate
    assert max(state[0].acceleration for state in states) > 0.99 * one.acceleration


@given(
    any_limits(),
    st.floats(0.0, 1.0),
    periods,
    st.lists(parts, min_size=4),
    st.integers(0, 2**32 - 1),
)
def test_every_limit_is_kept_whatever_is_proposed(
    one: One, start: float, period: float, course: list[float], seed: int
) -> None:
    chance = random.Random(seed)

    def hostile(dimension: motion_profile._Dimension, *_: float) -> list[motion_profile.Phase]:
        most = dimension.jerk if dimension.order == 3 else dimension.acceleration
        return [
            (
                period * chance.choice([0.01, chance.random(), 2.0]),
                most * chance.choice([-1.0, 0.0, 1.0, 1.5, chance.uniform(-1.0, 1.0)]),
            )
            for _ in range(chance.randint(0, 4))
        ]

    times = [part * period for part in course] * 5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(motion_profile, '_propose', hostile)
        states = emit(one, one.low + start * (one.high - one.low), [(one.high, t) for t in times])
    assert_kept(one, times, states)


@pytest.mark.parametrize(
    ('one', 'v', 'a'),
    [
        (ACCELERATION, 0.7, 0.0),
        (JERK, 0.7, 0.0),
        (JERK, 0.7, 1.5),
        (JERK, 0.5, -1.9),
        (JERK, 0.1, -1.9),  # turns before it comes to rest
        (ONLY_JERK, 0.9, -4.0),
        (ONLY_JERK, 0.5, -4.0),
        (ONLY_JERK, 0.1, -4.0),
        (JERK, -0.1, 1.9),
        (JERK, -0.7, 0.3),
    ],
)
def test_what_can_just_be_braked_before_a_bound_needs_no_clamping(
    one: One, v: float, a: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = limits(one)
    near, far = 0.0, math.copysign(1.0, v)
    while near != (middle := 0.5 * (near + far)) != far:
        if motion_profile._viable(kept.dimensions[0], middle, v, a):
            near = middle
        else:
            far = middle
    monkeypatch.setattr(motion_profile, '_propose', lambda *_: [])
    states = [(MotionStep(near, v, a),)]
    times = [0.001] * 2000
    for time_step in times:
        states.append(advance(kept, states[-1], (-1.0,), time_step))
    assert_kept(one, times, states)
    [(end, _, _)] = states[-1]
    assert max(abs(state[0].position) for state in states) == pytest.approx(1.0, abs=1e-6)
    assert states[-1] == at_rest((end,))


def test_a_proposal_that_ends_outside_on_its_way_back_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(motion_profile, '_propose', lambda *_: [(0.2, 2.0), (0.25, -2.0)])
    assert emit(ACCELERATION, 0.9, [(1.0, 0.45)])[-1][0].velocity < 0.0  # it would end there
    assert emit(ACCELERATION, 0.99, [(1.0, 0.45)])[-1] == at_rest((0.99,))


@pytest.mark.parametrize('one', [JERK, ACCELERATION, ONLY_JERK, replace(JERK, acceleration=0.8)])
def test_proposals_to_go_ever_faster_into_the_bound_keep_rate_and_bound(
    one: One, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = replace(one, low=-3.0, high=3.0)
    most = one.jerk if one.jerk < INF else one.acceleration
    monkeypatch.setattr(motion_profile, '_propose', lambda *_: [(9.0, 0.2 * most)])
    states = emit(one, -2.9, [(one.high, 0.002)] * 4000)
    assert_kept(one, [0.002] * 4000, states)
    assert max(state[0].velocity for state in states) > 0.9 * one.rate
    assert max(state[0].position for state in states) > 0.9 * one.high


# Where it leads ----------------------------------------------------------------------------------


def fastest(one: One, distance: float) -> float:
    """Return the seconds of the fastest way from rest to rest, from the textbook."""
    if one.jerk == INF:
        full = one.rate**2 / one.acceleration
        if distance >= full:
            return distance / one.rate + one.rate / one.acceleration
        return 2.0 * math.sqrt(distance / one.acceleration)
    if one.rate * one.jerk <= one.acceleration**2:
        gaining = 2.0 * math.sqrt(one.rate / one.jerk)
    else:
        gaining = one.acceleration / one.jerk + one.rate / one.acceleration
    if distance >= one.rate * gaining:
        return distance / one.rate + gaining
    if distance <= 2.0 * one.acceleration**3 / one.jerk**2:
        return 4.0 * (distance / (2.0 * one.jerk)) ** (1.0 / 3.0)
    rise = one.acceleration / one.jerk
    return rise + math.sqrt(rise**2 + 4.0 * distance / one.acceleration)


@given(
    any_limits(),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.one_of(st.just(0.01), st.floats(0.02, 3.0)),
)
def test_a_constant_goal_is_reached_from_rest_in_the_shortest_time(
    one: One, start: float, end: float, step: float
) -> None:
    if one.jerk == INF or one.acceleration < INF:
        # Ten microseconds to the full rate are not counted.
        one = replace(one, acceleration=min(one.acceleration, 1e4 * one.rate))
    first = min(one.low + start * (one.high - one.low), one.high)
    goal = min(one.low + end * (one.high - one.low), one.high)
    shortest = fastest(one, abs(goal - first))
    time_step = min(max(step * shortest, 1e-3), 2.0)
    count = math.ceil(shortest * (1.0 + 1e-5) / time_step) + 1
    states = emit(one, first, [(goal, time_step)] * (count + 3))
    assert all(state == at_rest((goal,)) for state in states[count:])
    values = [state[0].position for state in states]
    least, most = sorted((first, goal))
    close = 1e-9 * (most - least) + 2.0 * math.ulp(max(abs(one.low), abs(one.high)))
    assert values == pytest.approx(sorted(values, reverse=goal < first), abs=close), 'it turned'
    assert least - close <= min(values)
    assert max(values) <= most + close
    # Nor can anything be faster.
    assert all(
        state[0].position != goal
        for index, state in enumerate(states)
        if index * time_step < shortest * (1.0 - 1e-5) - 1e-3 * time_step
        and abs(goal - state[0].position) > 1e-9 * (one.high - one.low)
    )


@pytest.mark.parametrize('seed', range(20))
def test_between_two_goals_it_speeds_up_once_and_slows_down_once(seed: int) -> None:
    chance = random.Random(seed)
    one = One(
        low=-20.0,
        high=20.0,
        rate=10.0 ** chance.uniform(-0.5, 0.5),
        acceleration=chance.choice([INF, 10.0 ** chance.uniform(-0.5, 1.5)]),
        jerk=10.0 ** chance.uniform(0.0, 2.0),
    )
    time_step = chance.uniform(0.01, 0.1)
    way = [state[0].velocity for state in emit(one, -19.0, [(19.0, time_step)] * 4000)]
    top = way.index(max(way))
    slack = 1e-5 * one.rate
    assert way[:top] == pytest.approx(sorted(way[:top]), abs=slack)
    assert way[top:] == pytest.approx(sorted(way[top:], reverse=True), abs=slack)


@given(any_limits(), st.floats(0.0, 1.0), periods, st.lists(st.tuples(goals, parts)), goals)
def test_a_constant_goal_is_reached_from_any_motion(
    one: One,
    start: float,
    period: float,
    course: list[tuple[float | None, float]],
    end: float | None,
) -> None:
    steps, _ = spelled_out(one, period, [*course, (end, 0.0)])
    goal = steps[-1][0]
    state = emit(one, min(one.low + start * (one.high - one.low), one.high), steps)[-1]
    # To brake from the full rate, to come all the way, and to brake in between.
    rest = 0.0 if one.acceleration == INF else one.rate / one.acceleration
    rest += 0.0 if one.jerk == INF else 4.0 * math.sqrt(one.rate / one.jerk)
    rest += 0.0 if INF in (one.jerk, one.acceleration) else one.acceleration / one.jerk
    longest = 4.0 * rest + (one.high - one.low) / one.rate
    time_step = max(longest / 50.0, 1e-4)
    kept = limits(one)
    for _ in range(60):
        state = advance(kept, state, (goal,), time_step)
    assert state == at_rest((goal,))


@pytest.mark.parametrize('time_step', [0.001, 0.05, 0.1])
@pytest.mark.parametrize(
    ('one', 'reach'),
    [
        (RATE, lambda one, t: one.rate * t),
        (ACCELERATION, lambda one, t: one.acceleration * t**2 / 4.0),
        (ONLY_JERK, lambda one, t: one.jerk * t**3 / 32.0),
        (JERK, lambda one, t: one.jerk * t**3 / 32.0),
    ],
)
def test_a_goal_within_reach_is_reached_exactly(
    one: One, reach: Callable[[One, float], float], time_step: float
) -> None:
    near = 0.1 + 0.99999 * reach(one, time_step)
    far = 0.1 + 1.5 * reach(one, time_step)
    assert emit(one, 0.1, [(near, time_step)])[-1] == at_rest((near,))
    assert 0.1 < emit(one, 0.1, [(far, time_step)])[-1][0].position < far


@given(
    st.floats(-1.0, 1.0),
    st.lists(st.tuples(st.floats(-1.0, 1.0), st.floats(0.0, 0.5))),
    magnitudes(-3.0, 3.0),
)
def test_without_other_limits_it_is_the_plain_limit_on_the_rate(
    start: float, steps: list[tuple[float, float]], rate: float
) -> None:
    states = emit(replace(RATE, rate=rate), start, steps)
    for before, after, (goal, time_step) in zip(states, states[1:], steps, strict=False):
        x, most = before[0].position, rate * time_step
        plain = min(max(x + min(max(goal - x, -most), most), -1.0), 1.0)
        assert after[0].position == (goal if abs(goal - x) <= most else plain)
        assert after[0].position == pytest.approx(plain, abs=1e-15)


def test_the_bounds_can_be_reached_and_stood_on() -> None:
    for one in (JERK, ACCELERATION, ONLY_JERK):
        states = emit(one, 0.0, [(one.high, 0.02)] * 200 + [(one.high, 1e-6), (one.high, 0.5)])
        assert states[-3:] == [at_rest((one.high,))] * 3


def test_dimensions_do_not_know_each_other() -> None:
    all_of_them = (JERK, ACCELERATION, RATE, ONLY_JERK, replace(JERK, rate=0.0))
    together = limits(*all_of_them)
    chance = random.Random(1)
    state = at_rest((0.0,) * 5)
    alone = [at_rest((0.0,)) for _ in all_of_them]
    for _ in range(200):
        goal = tuple(chance.uniform(-1.0, 1.0) for _ in all_of_them)
        state = advance(together, state, goal, 0.1)
        alone = [
            advance(limits(one), before, (value,), 0.1)
            for one, before, value in zip(all_of_them, alone, goal, strict=True)
        ]
        assert state == tuple(one for (one,) in alone)


# Braking -----------------------------------------------------------------------------------------


@given(any_limits(), st.floats(0.0, 1.0), periods, st.lists(st.tuples(goals, parts)))
def test_settling_is_a_goal_that_is_inside_and_stays_what_it_is(
    one: One, start: float, period: float, course: list[tuple[float | None, float]]
) -> None:
    steps, _ = spelled_out(one, period, course)
    state = emit(one, min(one.low + start * (one.high - one.low), one.high), steps)[-1]
    kept = limits(one)
    rest = settle(kept, state)
    assert one.low <= rest[0] <= one.high
    for _ in range(20):
        state = advance(kept, state, settle(kept, state), period)
        assert settle(kept, state) == pytest.approx(rest, abs=1e-5 * (one.high - one.low))


def test_what_is_at_rest_settles_where_it_is() -> None:
    for one in (JERK, ACCELERATION, ONLY_JERK, RATE, replace(JERK, jerk=0.0)):
        assert settle(limits(one), at_rest((0.3,))) == (0.3,)


def test_to_settle_is_to_brake_without_a_detour() -> None:
    kept = limits(JERK)
    state = at_rest((-1.0,))
    for _ in range(10):
        state = advance(kept, state, (1.0,), 0.1)
    [(x, v, _)], [rest] = state, settle(kept, state)
    assert v == pytest.approx(JERK.rate, rel=1e-5)
    # From a steady rate: half of it for as long as it takes, rate / acceleration and a ramp.
    assert rest - x == pytest.approx(0.5 * v * (1.0 / 2.0 + 2.0 / 10.0), rel=1e-4)


# States that are not ours ------------------------------------------------------------------------


@pytest.mark.parametrize('v', [1.0, -1.0, 5.0, 1e9])
@pytest.mark.parametrize('a', [0.0, 2.0, -40.0])
@pytest.mark.parametrize('one', [JERK, ACCELERATION, ONLY_JERK])
def test_a_state_that_cannot_be_braked_in_time_stays_inside_and_comes_to_rest(
    one: One, v: float, a: float
) -> None:
    kept = limits(one)
    state = (MotionStep(0.99, v, a),)
    for _ in range(500):
        state = advance(kept, state, (0.5,), 0.1 if v < 10.0 else 1e7)
        assert -1.0 <= state[0].position <= 1.0
    assert state == at_rest((0.5,))


@pytest.mark.parametrize('one', [JERK, ACCELERATION, ONLY_JERK, RATE, replace(RATE, rate=0.0)])
def test_a_goal_beyond_the_bounds_is_taken_to_be_on_them(one: One) -> None:
    assert emit(one, 0.9, [(9.0, 0.1)] * 30) == emit(one, 0.9, [(1.0, 0.1)] * 30)


numbers = st.floats(allow_nan=False, allow_infinity=False)
limiting = st.floats(min_value=0.0, allow_nan=False)


@given(
    st.tuples(numbers, numbers),
    st.floats(min_value=0.0, allow_nan=False, allow_infinity=False),
    limiting,
    limiting,
    st.tuples(numbers, numbers, numbers),
    st.lists(st.tuples(numbers, st.floats(0.0, 1e6)), min_size=1, max_size=8),
)
def test_no_finite_number_makes_it_fail_or_go_out_of_the_bounds(
    bounds: tuple[float, float],
    rate: float,
    acceleration: float,
    jerk: float,
    start: tuple[float, float, float],
    steps: list[tuple[float, float]],
) -> None:
    low, high = sorted(bounds)
    kept = limits(One(low=low, high=high, rate=rate, acceleration=acceleration, jerk=jerk))
    x, v, a = start
    for state in (
        at_rest((min(max(x, low), high),)),
        (MotionStep(x, v, a),),
    ):
        for goal, time_step in steps:
            before = state[0].position
            state = advance(kept, state, (goal,), time_step)
            after = state[0].position
            assert min(low, before) <= after <= max(high, before)
            assert all(map(math.isfinite, chain(*state)))
            assert min(low, after) <= settle(kept, state)[0] <= max(high, after)


@pytest.mark.parametrize('one', [JERK, ACCELERATION, ONLY_JERK, RATE, replace(RATE, rate=0.0)])
def test_a_start_beyond_the_bounds_is_where_it_is(one: One) -> None:
    for goal in (1.5, 9.0):
        assert advance(limits(one), at_rest((1.5,)), (goal,), 0.1) == at_rest((1.5,))


@given(any_limits(), st.floats(1.0, 3.0), periods, st.lists(st.tuples(goals, parts), min_size=4))
def test_from_beyond_the_bounds_it_only_comes_back_within_the_limits(
    one: One, start: float, period: float, course: list[tuple[float | None, float]]
) -> None:
    steps, times = spelled_out(one, period, course)
    beyond = one.low + start * (one.high - one.low)
    states = emit(one, beyond, steps)
    assert_kept(replace(one, high=max(beyond, one.high)), times, states)
    for before, after in pairwise(states):
        assert after[0].position <= max(one.high, before[0].position)


@pytest.mark.parametrize('distance', [5e-324, 1e-300, 1e-20, 1e-12])
@pytest.mark.parametrize('one', [JERK, ACCELERATION, ONLY_JERK])
def test_a_goal_next_to_the_start_is_reached(one: One, distance: float) -> None:
    assert emit(one, 0.0, [(distance, 0.1)])[-1] == at_rest((distance,))


@pytest.mark.parametrize('name', ['rate', 'acceleration', 'jerk'])
@pytest.mark.parametrize('one', [JERK, ACCELERATION])
def test_a_limit_of_zero_is_a_limit(one: One, name: str) -> None:
    still = replace(one, **{name: 0.0})
    assert emit(still, 0.2, [(1.0, 0.1)] * 5) == [at_rest((0.2,))] * 6


@pytest.mark.parametrize('one', [JERK, ACCELERATION, ONLY_JERK])
def test_a_goal_very_far_away_is_made_for(one: One) -> None:
    far = replace(one, low=-1e15, high=1e15)
    [*_, last] = emit(far, 0.0, [(1e15, 0.1)] * 100)
    assert last[0].velocity == pytest.approx(1.0, rel=1e-5)
    assert last[0].position == pytest.approx(9.5, rel=0.05)


def test_no_step_is_so_long_that_a_goal_beyond_the_rate_is_reached() -> None:
    one = One(low=-1e4, high=1e4, rate=1.0, acceleration=1e9, jerk=INF)
    assert 0.0 < emit(one, 0.0, [(4000.0, 1000.0)])[-1][0].position <= 1000.0


@pytest.mark.parametrize('acceleration', [1e9, 1e100, 1.7e308])
@pytest.mark.parametrize('jerk', [1e12, 1e200, 1.7e308, INF])
def test_limits_that_were_written_for_none_do_not_slow_it_down(
    acceleration: float, jerk: float
) -> None:
    one = replace(JERK, acceleration=acceleration, jerk=jerk)
    [*_, last] = emit(one, 0.0, [(1.0, 0.1)] * 5)
    assert last[0].position == pytest.approx(0.5, rel=1e-4)


# Pure --------------------------------------------------------------------------------------------


def test_no_time_changes_nothing() -> None:
    state = (MotionStep(0.1, 0.5, -1.0),)
    assert advance(limits(JERK), state, (1.0,), 0.0) is state


def journey(seed: int) -> list[MotionState]:
    chance = random.Random(seed)
    one = replace(JERK, jerk=chance.choice([3.0, 30.0, INF]))
    return emit(one, 0.0, [(chance.uniform(-1.0, 1.0), 0.1 * chance.random()) for _ in range(300)])


def test_the_same_question_has_the_same_answer_to_the_last_bit_in_every_thread() -> None:
    alone = [journey(seed) for seed in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # as many changes of threads in mid-question as can be had
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(journey, range(8))) == alone
    finally:
        sys.setswitchinterval(interval)


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        ({'low': 2.0}, 'Expected finite bounds, low <= high, got 2 and 1.'),
        ({'high': INF}, 'Expected finite bounds, low <= high, got -1 and inf.'),
        ({'low': math.nan}, 'Expected finite bounds, low <= high, got nan and 1.'),
        ({'rate': INF}, 'Expected a finite rate, an acceleration and a jerk of 0 or more'),
        ({'rate': -1.0}, 'got -1, 2 and 10. Write inf for no limit.'),
        ({'acceleration': math.nan}, 'got 1, nan and 10. Write inf for no limit.'),
        ({'jerk': -0.1}, 'got 1, 2 and -0.1. Write inf for no limit.'),
    ],
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(BoundaryError) as caught:
        limits(replace(JERK, **wrong))
    assert said in str(caught.value)


def test_without_ruckig_the_error_comes_with_the_limits_and_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, 'ruckig', None)
    with pytest.raises(MissingDependency, match='pip install ruckig'):
        limits(JERK)
    # A limit on the rate needs none.
    assert emit(RATE, 0.0, [(1.0, 0.25)])[-1] == at_rest((0.25,))
