# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two carts in one hall: each sees, meets and may touch the other, and is otherwise alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.simulation.cart_config import (
    CameraConfig,
    CartConfig,
    ContactConfig,
    ScanConfig,
)
from boundary_env_ros.simulation.cart_state import ResetTarget
from boundary_env_ros.simulation.hall_model import hall_model, MOST_CARTS
from boundary_env_ros.simulation.warehouse import Warehouse
from support.readings import seen

MS = 1_000_000
GOAL = {'goal_x': 3.0, 'goal_y': 0.5}
WEST = ResetTarget(x=-1.0, y=-1.4, yaw=0.0, **GOAL)
EAST = ResetTarget(x=1.0, y=-1.4, yaw=math.pi, **GOAL)
NORTH = ResetTarget(x=-1.0, y=1.4, yaw=0.0, **GOAL)


def hall(*targets, config=None, seed=0):
    made = Warehouse(config, carts=len(targets))
    made.reset(targets, seed=seed, at_ns=0)
    return made


def drive(warehouse, seconds, *speeds):
    """Command every cart every 20 ms; None leaves a cart alone."""
    readings = []
    for _ in range(round(seconds / 0.02)):
        for cart, linear in enumerate(speeds):
            if linear is not None:
                warehouse.command(cart, linear, 0.0, arrived_ns=warehouse.now_ns)
        readings += warehouse.advance(warehouse.now_ns + 20 * MS)
    return readings


def payloads(readings, cart, sensor):
    return [seen(r) for r in readings if (r.robot, r.sensor) == (cart, sensor) and not r.dropped]


def touched(readings, cart):
    return [payload.touching for payload in payloads(readings, cart, 'contact')]


def test_carts_that_meet_touch_both_and_stop_each_other(only):
    carts = hall(WEST, EAST, config=only('contact'))
    free = drive(carts, 1.2, 0.4, 0.4)
    met = drive(carts, 1.0, 0.4, 0.4)
    for cart in (0, 1):
        assert not any(touched(free, cart))
        assert touched(met, cart)[-1]
    geometry = carts.geometry
    apart = carts.true_state(1).x - carts.true_state(0).x
    assert apart == pytest.approx(2.0 * geometry.front, abs=0.02)


def test_a_cart_that_touches_a_wall_is_the_only_one_that_says_so(only):
    toward_wall = ResetTarget(x=-4.5, y=-3.0, yaw=math.pi, **GOAL)
    carts = hall(NORTH, toward_wall, config=only('contact'))
    readings = drive(carts, 2.0, 0.2, 0.2)
    assert any(touched(readings, 1))
    assert not any(touched(readings, 0))


def test_a_pushed_cart_moves(only):
    carts = hall(WEST, ResetTarget(x=-0.2, y=-1.4, yaw=math.pi / 2.0, **GOAL), config=only())
    drive(carts, 2.5, 0.5, None)
    assert carts.true_state(1).x > -0.1
    assert carts.true_state(0).x < carts.true_state(1).x


def test_a_touch_is_reported_for_as_long_as_it_is_to_be_held(only):
    hold = 0.35
    config = only('contact', base=CartConfig(contact=ContactConfig(hold=hold)))
    carts = hall(ResetTarget(x=-0.8, y=-1.4, yaw=0.0, **GOAL), EAST, config=config)
    met = drive(carts, 3.0, 0.4, None)
    gone = [
        (r.captured_ns, seen(r).touching)
        for r in met + drive(carts, 2.0, -0.3, None)
        if r.robot == 0
    ]
    begin = next(at for at, touching in gone if touching)
    end = next(at for at, touching in gone if at > begin and not touching)
    assert end - begin >= hold * 1e9
    assert not gone[-1][1]


def test_each_laser_sees_the_mast_of_the_other_and_not_its_own_cart(only):
    config = only('scan', base=CartConfig(scan=ScanConfig(range_noise=0.0, dropout=0.0)))
    together = hall(WEST, EAST, config=config)
    alone = hall(WEST, config=config)
    mount = together.geometry.scan_mount[0]
    for cart in (0, 1):
        scan = payloads(together.advance(together.now_ns + 100 * MS), cart, 'scan')[0]
        ahead = scan.ranges[round(math.pi / scan.angle_increment)]
        assert ahead == pytest.approx(2.0 - 2.0 * mount - 0.04, abs=0.01)
        assert scan.ranges.min() > 0.8
    free = payloads(alone.advance(100 * MS), 0, 'scan')[0]
    assert free.ranges[round(math.pi / free.angle_increment)] > 4.0


def test_each_camera_sees_the_other_cart_in_its_colour(only):
    config = only('camera', base=CartConfig(camera=CameraConfig(intensity_noise=0.0, dropout=0.0)))
    readings = hall(WEST, EAST, config=config).advance(100 * MS)
    first, second = (payloads(readings, cart, 'camera')[0].pixels.astype(int) for cart in (0, 1))
    other, red = first[22, 32], second[22, 32]
    assert other[2] > other[1] + 30, 'the second cart is violet'
    assert red[0] > max(red[1], red[2]) + 40, 'the first one is red'


def test_a_goal_of_each_cart_is_marked_in_a_colour_of_its_own(only):
    config = only('camera', base=CartConfig(camera=CameraConfig(intensity_noise=0.0, dropout=0.0)))
    start = {'x': -2.0, 'y': -2.6, 'yaw': 0.0}
    carts = hall(
        ResetTarget(**start, goal_x=-1.0, goal_y=-2.6),
        ResetTarget(x=1.0, y=2.0, yaw=0.0, goal_x=-1.0, goal_y=-2.0),
        config=config,
    )
    image = payloads(carts.advance(100 * MS), 0, 'camera')[0].pixels.astype(int)
    green = image[..., 1] - image[..., [0, 2]].max(axis=-1)
    yellow = image[..., [0, 1]].min(axis=-1) - image[..., 2]
    assert (green > 40).sum() > 10
    assert (yellow > 40).sum() > 10


def test_carts_draw_noise_of_their_own(only):
    readings = hall(WEST, EAST, config=only('joint_states')).advance(1_000 * MS)
    first, second = (payloads(readings, cart, 'joint_states') for cart in (0, 1))
    assert len(first) == len(second) > 40
    assert all(
        not np.array_equal(one.velocity, other.velocity)
        for one, other in zip(first, second, strict=True)
    )


def test_the_first_cart_draws_the_noise_that_it_would_draw_alone(only):
    readings = hall(WEST, EAST, config=only('joint_states'), seed=4).advance(500 * MS)
    alone = hall(WEST, config=only('joint_states'), seed=4).advance(500 * MS)
    for one, other in zip(
        payloads(readings, 0, 'joint_states'), payloads(alone, 0, 'joint_states'), strict=True
    ):
        assert one.velocity == pytest.approx(other.velocity, abs=1e-6)


def test_same_seed_and_commands_give_the_same_bits_whatever_came_before(fingerprint):
    ran = []
    for before in (None, 0.5):
        carts = Warehouse(carts=2)
        drive(carts, 0.5, before, before)
        zero = carts.now_ns
        carts.reset((WEST, EAST), seed=9, at_ns=zero)
        readings = drive(carts, 2.6, 0.5, 0.3)
        ran.append([fingerprint(tuple(r for r in readings if r.robot == n), zero) for n in (0, 1)])
    assert ran[0] == ran[1]
    assert ran[0][0] != ran[0][1]


def test_readings_of_one_instant_come_cart_by_cart(only):
    readings = hall(WEST, EAST, config=only('ground_truth')).advance(200 * MS)
    assert [reading.robot for reading in readings] == [0, 1] * (len(readings) // 2)
    stamps = [reading.published_ns for reading in readings]
    assert stamps == sorted(stamps)


def test_a_command_moves_only_the_cart_that_it_is_for(only):
    carts = hall(WEST, EAST, config=only())
    drive(carts, 1.0, None, 0.3)
    assert carts.true_state(0).x == pytest.approx(WEST.x, abs=1e-3)
    assert carts.true_state(1).x < EAST.x - 0.1
    assert carts.drivers[0].applied is None


def test_a_start_in_the_other_cart_is_refused_and_changes_nothing():
    carts = hall(WEST, EAST)
    before = [carts.true_state(cart) for cart in (0, 1)]
    beside = ResetTarget(x=WEST.x + 0.3, y=WEST.y, yaw=1.0, **GOAL)
    with pytest.raises(ResetFailed, match='in collision with .*cart_1/chassis'):
        carts.reset((WEST, beside), seed=0, at_ns=0)
    assert [carts.true_state(cart) for cart in (0, 1)] == before


def test_a_reset_needs_a_target_for_each_cart():
    with pytest.raises(ResetFailed, match='a target for each of 2 carts, got 1'):
        hall(WEST, EAST).reset((WEST,), seed=0, at_ns=0)


@pytest.mark.parametrize('carts', [0, MOST_CARTS + 1])
def test_a_hall_has_only_as_many_carts_as_can_be_told_apart(carts):
    with pytest.raises(ValueError, match=f'expected 1 to {MOST_CARTS} carts'):
        hall_model(carts)


def test_as_many_carts_as_there_may_be_stand_at_home_without_touching(only):
    config = only('contact')
    carts = Warehouse(config, carts=MOST_CARTS)
    readings = carts.advance(200 * MS)
    assert {reading.robot for reading in readings} == set(range(MOST_CARTS))
    assert not any(seen(reading).touching for reading in readings)
