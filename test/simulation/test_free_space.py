# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Free space agrees with plain geometry and with the physics that a start is put into."""

from __future__ import annotations

import math

from hypothesis import assume, given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.errors import ResetFailed
from support.warehouse_cart import ResetTarget, WarehouseCart


@pytest.fixture(scope='module')
def warehouse():
    return WarehouseCart()


@pytest.mark.parametrize(
    ('place', 'clearance'),
    [
        ((4.9, 0.5), 0.1),  # of the wall
        ((0.0, 0.85), 0.5),  # of the middle rack; the cart would pass below its board
        ((1.9, 0.75), 0.5),  # of its corner
        ((2.9, 1.8), -0.18),  # within a pillar
        ((0.5, 0.1), 0.0),
    ],
)
def test_the_clearance_is_that_of_the_nearest_face_or_corner(warehouse, place, clearance):
    assert warehouse.clearance(*place) == pytest.approx(clearance)


@given(x=st.floats(-5.0, 5.0), y=st.floats(-4.0, 4.0), yaw=st.floats(-math.pi, math.pi))
def test_every_start_that_is_free_for_the_footprint_is_accepted(warehouse, x, y, yaw):
    assume(warehouse.clearance(x, y) > warehouse.geometry.footprint_radius)
    target = ResetTarget(x=x, y=y, yaw=yaw, goal_x=0.0, goal_y=2.0)
    reached = warehouse.reset(target, seed=0, at_ns=warehouse.now_ns)
    assert math.hypot(reached.x - x, reached.y - y) < 1e-3


@given(x=st.floats(-5.0, 5.0), y=st.floats(-4.0, 4.0), yaw=st.floats(-math.pi, math.pi))
def test_every_start_inside_an_obstacle_is_refused(warehouse, x, y, yaw):
    assume(warehouse.clearance(x, y) <= 0.0)
    with pytest.raises(ResetFailed):
        warehouse.reset(
            ResetTarget(x=x, y=y, yaw=yaw, goal_x=0.0, goal_y=2.0),
            seed=0,
            at_ns=warehouse.now_ns,
        )
