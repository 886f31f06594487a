# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Free space agrees with plain geometry and with the physics that a start is put into."""

from __future__ import annotations

import math

from hypothesis import assume, given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.simulation.free_space import Footprint, FreeSpace, HallBounds
from boundary_env_ros.simulation.warehouse_cart import ResetTarget, WarehouseCart

BOX = Footprint(name='box', x=1.0, y=0.5, yaw=0.4, half_length=0.8, half_width=0.3)
DISC = Footprint(name='disc', x=-1.5, y=-1.0, radius=0.2)
SPACE = FreeSpace(
    bounds=HallBounds(x_min=-3.0, x_max=3.0, y_min=-2.0, y_max=2.0), obstacles=(BOX, DISC)
)
POINTS = st.tuples(st.floats(-4.0, 4.0), st.floats(-3.0, 3.0))


@pytest.fixture(scope='module')
def warehouse():
    return WarehouseCart()


def test_hall_has_its_declared_size_and_its_obstacles(warehouse):
    space = warehouse.free_space
    assert space.bounds == HallBounds(x_min=-5.0, x_max=5.0, y_min=-4.0, y_max=4.0)
    names = {item.name for item in space.obstacles}
    assert {'rack_middle', 'rack_north', 'rack_east', 'pillar_north_east'} <= names
    assert 'rack_middle_board' not in names, 'the cart passes below it'


def test_distance_to_a_box_is_measured_to_its_faces_and_corners():
    box = Footprint(name='box', x=0.0, y=0.0, half_length=1.0, half_width=0.5)
    assert box.distance((3.0, 0.0), (3.0, 0.0)) == pytest.approx(2.0)
    assert box.distance((4.0, 4.5), (4.0, 4.5)) == pytest.approx(5.0)
    assert box.distance((-2.0, 1.0), (2.0, 1.0)) == pytest.approx(0.5)
    assert box.distance((-2.0, 0.0), (2.0, 0.1)) == 0.0
    assert box.distance((0.2, 0.1), (0.2, 0.1)) == 0.0


@given(a=POINTS, b=POINTS, clearance=st.floats(0.0, 0.6))
def test_line_is_free_exactly_when_all_its_points_are(a, b, clearance):
    shares = np.linspace(0.0, 1.0, 200)
    points = [(a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1])) for s in shares]
    distances = [
        min(BOX.distance(p, p), DISC.distance(p, p), 3.0 - abs(p[0]), 2.0 - abs(p[1]))
        for p in points
    ]
    spacing = math.dist(a, b) / 199.0
    assume(abs(min(distances) - clearance) > spacing + 1e-6)
    assert SPACE.line_is_free(a, b, clearance) == (min(distances) > clearance)


@pytest.mark.parametrize('point', [(math.nan, 0.0), (0.0, math.inf), (9.0, 0.0)])
def test_points_outside_the_hall_are_not_free(point):
    assert not SPACE.is_free(*point, clearance=0.0)


def test_point_on_the_face_of_an_obstacle_is_not_free_even_without_clearance():
    assert not SPACE.is_free(-1.3, -1.0, clearance=0.0)


def test_negative_clearance_is_refused():
    with pytest.raises(ValueError, match=r'clearance of 0 m or more, got -0\.1'):
        SPACE.is_free(0.0, 0.0, clearance=-0.1)


@given(x=st.floats(-5.0, 5.0), y=st.floats(-4.0, 4.0), yaw=st.floats(-math.pi, math.pi))
def test_every_start_that_is_free_for_the_footprint_is_accepted(warehouse, x, y, yaw):
    assume(warehouse.free_space.is_free(x, y, warehouse.geometry.footprint_radius))
    target = ResetTarget(x=x, y=y, yaw=yaw, goal_x=0.0, goal_y=2.0)
    assert warehouse.reset(target, seed=0, at_ns=warehouse.now_ns).position_error < 1e-3


@given(x=st.floats(-5.0, 5.0), y=st.floats(-4.0, 4.0), yaw=st.floats(-math.pi, math.pi))
def test_every_start_inside_an_obstacle_is_refused(warehouse, x, y, yaw):
    assume(not warehouse.free_space.is_free(x, y, 0.0))
    with pytest.raises(ResetFailed):
        warehouse.reset(
            ResetTarget(x=x, y=y, yaw=yaw, goal_x=0.0, goal_y=2.0),
            seed=0,
            at_ns=warehouse.now_ns,
        )


def test_middle_rack_blocks_the_straight_line_of_many_starts_and_goals(warehouse):
    space, clearance = warehouse.free_space, warehouse.geometry.footprint_radius
    random = np.random.default_rng(0)
    blocked = []
    while len(blocked) < 200:
        start, goal = random.uniform((-5.0, -4.0), (5.0, 4.0), (2, 2))
        apart = 2.0 <= math.dist(start, goal) <= 5.0
        if apart and all(space.is_free(*point, clearance) for point in (start, goal)):
            blocked.append(not space.line_is_free(tuple(start), tuple(goal), clearance))
    assert 0.2 < np.mean(blocked) < 0.8
