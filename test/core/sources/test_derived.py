# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derived fields: their values, their bounds by construction, and what they take over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Derived, Paths
from boundary_env_ros.core.environment.freezing import freeze
from boundary_env_ros.core.records.observation import FieldStatus, ObservationField
from boundary_env_ros.core.sources.derived import (
    compute,
    frames_needed,
    FUNCTIONS,
    parameter_of,
    Unfit,
)
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import Clock, Stamp
from boundary_env_ros.core.vectors import Vector
from support.core_world import Timepiece

TIME = Timepiece()
number = st.floats(-1e6, 1e6)


def field(
    name: str, low: Vector, high: Vector, unit: tuple[str, ...] | None = None, **changes: Any
) -> FieldSpec:
    """Return a field of a topic."""
    spec = FieldSpec(
        name=name, topic=name, type='a/msg/B', source=Paths(paths=('x',) * len(low)),
        shape=(len(low),), dtype='float32', unit=unit or ('m',) * len(low), low=low, high=high,
    )  # fmt: skip
    return replace(spec, **changes)


def derived(name: str, function: str, *inputs: FieldSpec, **parameters: int) -> FieldSpec:
    """Return a field derived of others, with the space that follows."""
    source = Derived(function=function, of=tuple(i.name for i in inputs), parameters=parameters)
    space = FUNCTIONS[function].space(inputs, parameter_of(source))
    return FieldSpec(
        name=name, derived=source, shape=space.shape, dtype='float32', unit=space.unit,
        low=space.low, high=space.high, frame=space.frame,
    )  # fmt: skip


def value(
    function: str, *frames: Mapping[str, Vector], of: str = 'a b', **parameters: int
) -> Vector:
    source = Derived(function=function, of=tuple(of.split()), parameters=parameters)
    return compute(source, frames)


# Values ------------------------------------------------------------------------------------------


@given(frames=st.lists(st.tuples(number, number), min_size=1, max_size=6), count=st.integers(2, 5))
def test_a_history_is_the_last_values_and_the_first_one_stands_for_what_was_before(
    frames: list[Vector], count: int
) -> None:
    found = value('history', *({'a': frame} for frame in frames), of='a', count=count)
    oracle = np.pad(np.array(frames), ((count, 0), (0, 0)), mode='edge')[-count:]
    assert found == tuple(oracle.ravel())


@given(st.lists(st.tuples(number, number), min_size=1, max_size=4))
def test_a_change_is_nothing_at_first_and_then_what_came_on_top(frames: list[Vector]) -> None:
    found = value('change', *({'a': frame} for frame in frames), of='a')
    steps = np.diff(np.array(frames), axis=0)
    assert found == tuple(steps[-1] if len(frames) > 1 else np.zeros(2))


@given(a=st.tuples(number, number, number), b=st.tuples(number, number, number))
def test_difference_and_distance_are_those_of_vectors(a: Vector, b: Vector) -> None:
    frame = {'a': a, 'b': b}
    assert value('difference', frame) == tuple(np.subtract(a, b))
    [apart] = value('distance', frame)
    assert apart == pytest.approx(float(np.linalg.norm(np.subtract(a, b))), rel=1e-12)


@given(
    x=number, y=number, yaw=st.floats(-math.pi, math.pi), ahead=st.floats(-1e3, 1e3),
    left=st.floats(-1e3, 1e3),
)  # fmt: skip
def test_a_relative_position_is_ahead_and_to_the_left(
    x: float, y: float, yaw: float, ahead: float, left: float
) -> None:
    """Put a point somewhere as seen from a pose, by complex numbers, and find it there again."""
    point = complex(x, y) + complex(ahead, left) * complex(math.cos(yaw), math.sin(yaw))
    found = value('relative_position', {'a': (x, y, yaw), 'b': (point.real, point.imag)})
    assert found == pytest.approx((ahead, left), abs=1e-6)


@given(angle=st.floats(-100.0, 100.0))
def test_sine_and_cosine_have_no_jump(angle: float) -> None:
    sine, cosine = value('sine_cosine', {'a': (0.0, angle)}, of='a', index=1)
    assert (sine, cosine) == (np.sin(angle), np.cos(angle))
    turned = value('sine_cosine', {'a': (0.0, angle + math.tau)}, of='a', index=1)
    assert turned == pytest.approx((sine, cosine), abs=1e-12)


# Spaces ------------------------------------------------------------------------------------------


@st.composite
def inside(draw: Any, spec: FieldSpec) -> Vector:
    """Draw values inside of the bounds, often at one of them."""
    return tuple(
        draw(st.one_of(st.sampled_from([low, high]), st.floats(low, high)))
        for low, high in zip(spec.low, spec.high, strict=True)
    )


bound = st.one_of(
    st.floats(-1e3, 1e3), st.floats(-1e30, 1e30), st.sampled_from([0.1, -3.3, 1e-40])
).map(lambda value: value + 0.0)  # from 0 to -0 there is no number


@st.composite
def drawn(draw: Any, name: str, unit: tuple[str, ...]) -> FieldSpec:
    pairs = [sorted((draw(bound), draw(bound))) for _ in unit]
    return field(name, tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), unit)


UNITS = {'relative_position': (('m', 'm', 'rad'), ('m', 'm')), 'sine_cosine': (('m', 'm', 'rad'),)}
PARAMETERS = {'history': {'count': 3}, 'sine_cosine': {'index': 2}}


@pytest.mark.parametrize('function', sorted(FUNCTIONS))
@given(data=st.data())
def test_whatever_is_inside_its_bounds_gives_what_is_inside_those_that_follow(
    function: str, data: st.DataObject
) -> None:
    """Not only after the values were brought inside: by construction, and as singles too."""
    rule = FUNCTIONS[function]
    units = UNITS.get(function, (('m', 'm'),) * rule.inputs)
    inputs = [data.draw(drawn(name, unit)) for name, unit in zip('ab', units, strict=False)]
    spec = derived('d', function, *inputs, **PARAMETERS.get(function, {}))
    assert spec.derived is not None
    frames = [
        {i.name: data.draw(inside(i)) for i in inputs}
        for _ in range(data.draw(st.integers(1, frames_needed(spec.derived))))
    ]
    found = compute(spec.derived, frames)
    assert len(found) == spec.size == len(spec.low) == len(spec.high) == len(spec.unit)
    for low, one, high in zip(spec.low, found, spec.high, strict=True):
        assert low <= one <= high
        assert np.float32(low) <= np.float32(one) <= np.float32(high)


def test_the_bounds_of_a_difference_are_met() -> None:
    one, other = field('a', (0.0,), (5.0,)), field('b', (-1.0,), (2.0,))
    spec = derived('d', 'difference', one, other)
    assert (spec.low, spec.high) == ((-2.0,), (6.0,))
    assert derived('d', 'change', one).high == (5.0,)


def test_rounding_takes_the_farthest_point_not_out_of_its_bounds() -> None:
    """Straight ahead, sine and cosine multiplied out may come to a little more than the length."""
    rng = np.random.default_rng(1)
    for x, y in rng.uniform(-5.0, 5.0, size=(300, 2)).tolist():
        heading = math.atan2(y, x)
        pose = field('a', (0.0, 0.0, -3.2), (0.0, 0.0, 3.2), ('m', 'm', 'rad'))
        spec = derived('d', 'relative_position', pose, field('b', (x, y), (x, y)))
        ahead, left = value('relative_position', {'a': (0.0, 0.0, heading), 'b': (x, y)})
        assert spec.low[0] <= ahead <= spec.high[0]
        assert spec.low[1] <= left <= spec.high[1]


@pytest.mark.parametrize(
    ('function', 'inputs', 'told'),
    [
        (
            'difference',
            (field('a', (0.0,), (1.0,)), field('b', (0.0,) * 2, (1.0,) * 2)),
            'one shape',
        ),
        ('difference', (field('a', (0.0,), (1.0,)), field('b', (0.0,), (1.0,), ('N',))), 'unit'),
        (
            'difference',
            (field('a', (0.0,), (1.0,), frame='map'), field('b', (0.0,), (1.0,), frame='odom')),
            "one frame, not 'map' and 'odom'",
        ),
        (
            'distance',
            (field('a', (0.0,) * 2, (1.0,) * 2, ('m', 'rad')),) * 2,
            "values of one unit, not ['m', 'rad']",
        ),
        ('relative_position', (field('a', (0.0,), (1.0,)),) * 2, 'a pose (x, y, yaw) and a point'),
        (
            'relative_position',
            (field('a', (0.0,) * 3, (1.0,) * 3), field('b', (0.0,) * 2, (1.0,) * 2)),
            'yaw in rad',
        ),
        ('sine_cosine', (field('a', (0.0,), (1.0,)),), 'the index of an angle (rad)'),
    ],
)
def test_inputs_that_do_not_fit_are_refused_in_words(
    function: str, inputs: tuple[FieldSpec, ...], told: str
) -> None:
    with pytest.raises(Unfit) as caught:
        derived('d', function, *inputs, index=0)
    assert told in str(caught.value)


# In an observation -------------------------------------------------------------------------------

A = field('a', (-5.0, -5.0), (5.0, 5.0), max_age=0.5, frame='map')
B = field('b', (-5.0, -5.0), (5.0, 5.0), max_age=0.5, frame='map')
APART = derived('apart', 'difference', A, B)
PAST = derived('past', 'history', APART, count=3)
SPECS = (PAST, APART, A, B)  # in any order: what it is derived of may come later


def observed(
    past: tuple[Mapping[str, Vector], ...] = (), **found: Reading
) -> dict[str, ObservationField]:
    fields = freeze(SPECS, found, {'a': '/a', 'b': '/b'}, observed=TIME.now, past=past)
    assert [f.name for f in fields] == [spec.name for spec in SPECS]
    return {f.name: f for f in fields}


def said(*values: float, ago: float = 0.1, confidence: float | None = None) -> Reading:
    return Reading(values=values, captured=TIME.stamp(ago=ago), confidence=confidence)


def test_a_field_may_be_derived_of_a_derived_one() -> None:
    first = observed(a=said(1.0, 2.0), b=said(0.0, 5.0))
    assert first['apart'].values == (1.0, -3.0)
    assert first['past'].values == (1.0, -3.0) * 3
    frames = tuple({name: f.values for name, f in first.items()} for _ in range(2))
    second = observed(frames, a=said(2.0, 2.0), b=said(0.0, 5.0))
    assert second['past'].values == (1.0, -3.0, 1.0, -3.0, 2.0, -3.0)
    assert second['past'].source == 'derived:history'


def test_it_is_derived_of_what_was_brought_inside() -> None:
    found = observed(a=said(99.0, 0.0), b=said(0.0, 0.0))
    assert found['a'].clipped
    assert found['apart'].values == (5.0, 0.0)
    assert not found['apart'].clipped


def test_it_is_as_old_as_its_oldest_and_as_sure_as_its_least_sure_input() -> None:
    found = observed(a=said(0, 0, ago=0.1, confidence=0.9), b=said(0, 0, ago=0.3, confidence=0.4))
    for name in ('apart', 'past'):
        assert found[name].captured == TIME.stamp(ago=0.3)
        assert found[name].age == pytest.approx(0.3)
        assert found[name].confidence == 0.4
        assert found[name].frame_id == 'map'


@pytest.mark.parametrize(
    ('ages', 'status'),
    [
        ((0.1, 0.2), FieldStatus.FRESH),
        ((0.1, 0.6), FieldStatus.STALE),
        ((0.6, 0.1), FieldStatus.STALE),
        ((0.1, None), FieldStatus.MISSING),
        ((0.6, None), FieldStatus.MISSING),
    ],
)
def test_it_is_as_good_as_the_worst_of_its_inputs(
    ages: tuple[float, float | None], status: FieldStatus
) -> None:
    samples = {
        n: said(1, 1, ago=ago) for n, ago in zip('ab', ages, strict=True) if ago is not None
    }
    found = observed(**samples)
    assert found['apart'].status is found['past'].status is status
    if status is FieldStatus.MISSING:
        assert found['apart'].values == found['past'].values == ()
        assert found['apart'].captured is None


def test_it_has_no_stamp_if_one_of_its_inputs_has_none_or_one_of_another_clock() -> None:
    for captured in (None, Stamp(clock=Clock.ROS, nanoseconds=1, host='elsewhere')):
        other = Reading(values=(0.0, 0.0), captured=captured)
        found = observed(a=said(0, 0), b=other)['apart']
        assert found.captured is None
        assert found.age is None


@given(frames=st.lists(st.integers(0, 3), max_size=8))
def test_a_history_passes_over_observations_that_did_not_have_its_input(frames: list[int]) -> None:
    past = tuple({'a': (float(k), 0.0)} if k else {} for k in frames)
    history = derived('h', 'history', A, count=3)
    [found, _] = freeze(
        (history, A), {'a': said(9.0, 0.0)}, {'a': '/a'}, observed=TIME.now, past=past
    )
    assume(found.values)
    known = [float(k) for k in frames if k]
    expected = ([known[0] if known else 5.0] * 3 + [*known, 5.0])[-3:]
    assert found.values[::2] == tuple(expected)
