# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plane geometry: nothing that may be reached is left out, and no distance is too large."""

from __future__ import annotations

import math

from hypothesis import assume, given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.gate.geometry import (
    added,
    area,
    distances,
    hull,
    is_inside,
    is_simple,
    nearest,
    Point,
    sector,
    Shape,
)

SQUARE = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))
NOTCHED = ((0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (2.0, 1.0), (0.0, 3.0))

numbers = st.floats(-5.0, 5.0).map(lambda value: round(value, 3))
points = st.tuples(numbers, numbers)
parts = st.floats(0.0, 1.0)


def signed(shape: Shape, point: Point) -> float:
    """Return how far inside all sides of a convex shape a point is."""
    return min(
        ((b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])) / math.dist(a, b)
        for a, b in zip(shape, (*shape[1:], shape[0]), strict=True)
    )


def between(a: Point, b: Point, part: float) -> Point:
    return a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])


def inner(shape: Shape, weights: list[float]) -> Point:
    """Return a point of a convex shape: a mean of its corners."""
    used = [weights[i % len(weights)] + 1e-3 for i in range(len(shape))]
    return (
        sum(w * x for w, (x, _) in zip(used, shape, strict=True)) / sum(used),
        sum(w * y for w, (_, y) in zip(used, shape, strict=True)) / sum(used),
    )


# Polygons ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('point', 'inside'),
    [((1.0, 0.5), True), ((2.0, 1.5), False), ((3.5, 2.0), True), ((-1.0, 1.0), False)],
)
def test_a_point_in_the_notch_of_a_polygon_is_outside(point: Point, inside: bool) -> None:
    assert is_inside(NOTCHED, point) is inside
    assert is_inside(NOTCHED[::-1], point) is inside


def test_the_area_tells_which_way_the_corners_go() -> None:
    assert area(SQUARE) == 4.0
    assert area(SQUARE[::-1]) == -4.0


@pytest.mark.parametrize(
    ('polygon', 'simple'),
    [
        (SQUARE, True),
        (NOTCHED, True),
        (((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0)), True),
        (((0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0)), False),
        (((0.0, 0.0), (2.0, 0.0), (1.0, 0.0)), False),
        (((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (1.0, 0.0), (0.0, 2.0)), False),
        ((*SQUARE, (0.0, 0.0)), False),
        (((0.0, 0.0), (1.0, 1.0), (2.0, 2.0)), False),
    ],
)
def test_edges_that_cross_touch_or_go_back_make_no_area(
    polygon: tuple[Point, ...], simple: bool
) -> None:
    assert is_simple(polygon) is simple


@pytest.mark.parametrize('corners', [NOTCHED, NOTCHED[::-1]])
def test_the_nearest_place_of_an_edge_comes_with_the_way_inside(
    corners: tuple[Point, ...],
) -> None:
    apart, foot, inward = nearest(corners, (1.0, -0.5))
    assert (min(apart), foot, inward) == (0.5, (1.0, 0.0), (0.0, 1.0))
    apart, foot, _ = nearest(corners, (2.0, 0.75))
    assert (min(apart), foot) == (0.25, (2.0, 1.0))


@given(points)
def test_a_point_is_as_far_from_each_edge_as_a_shape_of_one_corner(point: Point) -> None:
    assert nearest(NOTCHED, point)[0] == pytest.approx(distances((point,), NOTCHED))


# What may be reached -----------------------------------------------------------------------------


@given(st.lists(points, min_size=3, max_size=9))
def test_a_hull_holds_every_point_and_turns_left_at_every_corner(some: list[Point]) -> None:
    shape = hull(some)
    assume(len(shape) > 2)
    assert area(shape) > 0.0
    assert all(signed(shape, point) >= -1e-9 for point in some)
    assert set(shape) <= set(some)


@given(st.floats(0.0, 3.0), st.floats(-7.0, 7.0), st.floats(0.0, 8.0), parts, parts)
def test_a_sector_holds_what_it_is_about_and_little_more(
    radius: float, low: float, width: float, far: float, turned: float
) -> None:
    shape = sector(radius, low, low + width)
    angle = low + turned * width
    point = (far * radius * math.cos(angle), far * radius * math.sin(angle))
    ((*_, near),) = [distances(shape, (point, (9.0, 9.0)))]
    assert near <= 1e-9
    assert max(math.hypot(*corner) for corner in shape) <= 1.01 * radius
    if len(shape) > 2 and width <= 0.9 * math.pi:
        behind = (low + 0.5 * width) + math.pi
        outside = (0.1 * math.cos(behind), 0.1 * math.sin(behind))
        assert signed(shape, outside) < 0.0


@given(
    st.lists(points, min_size=1, max_size=5),
    st.lists(points, min_size=1, max_size=5),
    st.lists(parts, min_size=1, max_size=5),
)
def test_what_is_added_holds_every_sum(
    one: list[Point], other: list[Point], weights: list[float]
) -> None:
    a, b = hull(one), hull(other)
    first, second = inner(a, weights), inner(b, weights[::-1])
    both = (first[0] + second[0], first[1] + second[1])
    assert min(distances(added(a, b), (both, (50.0, 50.0), (50.0, 51.0)))) <= 1e-9


# Distances ---------------------------------------------------------------------------------------


@given(
    st.lists(points, min_size=1, max_size=6),
    st.lists(points, min_size=3, max_size=3, unique=True),
    st.lists(parts, min_size=1, max_size=6),
    parts,
)
def test_no_two_points_are_nearer_than_the_distance(
    some: list[Point], corners: list[Point], weights: list[float], part: float
) -> None:
    shape, triangle = hull(some), tuple(corners)
    found = distances(shape, triangle)
    for index, apart in enumerate(found):
        there = between(triangle[index], triangle[(index + 1) % 3], part)
        assert apart <= math.dist(inner(shape, weights), there) + 1e-9


@given(st.lists(points, min_size=1, max_size=6), st.lists(points, min_size=3, max_size=3))
def test_two_points_are_as_near_as_the_distance(some: list[Point], corners: list[Point]) -> None:
    assume(len(set(corners)) == 3)
    shape, triangle = hull(some), tuple(corners)
    steps = [i / 40 for i in range(41)]
    rim = [
        between(a, b, s) for a, b in zip(shape, (*shape[1:], shape[0]), strict=True) for s in steps
    ]
    for index, apart in enumerate(distances(shape, triangle)):
        edge = [between(triangle[index], triangle[(index + 1) % 3], s) for s in steps]
        near = min(math.dist(a, b) for a in rim for b in edge)
        if len(shape) > 2 and any(signed(shape, point) >= 0.0 for point in edge):
            near = 0.0
        # A fortieth of the longest side at most lies between two of the points.
        assert near - 0.75 <= apart <= near + 1e-9


def test_an_edge_that_is_crossed_touched_or_held_is_at_no_distance() -> None:
    across = ((-1.0, 1.0), (3.0, 1.0), (1.0, 9.0))
    within = ((0.5, 0.5), (1.5, 0.5), (1.0, 1.0))
    touching = ((2.0, 0.0), (3.0, 0.0), (3.0, 1.0))
    assert distances(SQUARE, across)[0] == 0.0
    assert distances(SQUARE, within) == (0.0, 0.0, 0.0)
    assert distances(SQUARE, touching) == (0.0, 1.0, 0.0)
    assert distances(((0.0, -1.0), (0.0, 5.0)), across)[0] == 0.0
    assert distances(((5.0, 1.0),), across)[0] == 2.0
