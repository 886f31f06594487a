# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The motor driver alone: delay, limits, timeout."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.errors import InvalidState
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.motor_driver import MotorDriver

MS = 1_000_000
STEP = 2 * MS


def new_driver(**declared: float) -> MotorDriver:
    return MotorDriver(CartConfig(**declared), wheel_radius=0.1, wheel_separation=0.34)


def run(driver: MotorDriver, begin_ns: int, end_ns: int) -> list[tuple[float, float]]:
    return [driver.wheel_speeds(at, STEP) for at in range(begin_ns, end_ns, STEP)]


def test_command_turns_into_wheel_speeds_of_a_differential_drive():
    driver = new_driver(max_wheel_accel=1000.0)
    driver.receive(0.5, 1.0, 0)
    # 0.5 m/s less and more 1 rad/s * 0.17 m, on a radius of 0.1 m.
    assert run(driver, 0, 240 * MS)[-1] == pytest.approx((3.3, 6.7))


def test_set_speed_changes_no_faster_than_declared():
    driver = new_driver(max_wheel_accel=10.0)
    driver.receive(0.8, 0.0, 0)
    speeds = [left for left, _ in run(driver, 0, 240 * MS)]
    steps = [after - before for before, after in itertools.pairwise(speeds)]
    assert max(steps) == pytest.approx(10.0 * 0.002)


@given(
    linear=st.floats(-1e300, 1e300),
    angular=st.floats(-1e300, 1e300),
)
def test_no_command_turns_a_wheel_faster_than_declared(linear, angular):
    driver = new_driver(max_wheel_speed=12.0, max_wheel_accel=1e6)
    driver.receive(linear, angular, 0)
    left, right = run(driver, 0, 60 * MS)[-1]
    assert max(abs(left), abs(right)) <= 12.0 + 1e-9


def test_old_command_never_comes_back_between_timeout_and_the_next_effect():
    driver = new_driver(actuator_delay=0.05, driver_timeout=0.25)
    driver.receive(0.8, 0.0, 0)
    run(driver, 0, 400 * MS)
    assert driver.braking_since_ns == 250 * MS
    driver.receive(0.3, 0.0, 400 * MS)
    speeds = [left for left, _ in run(driver, 400 * MS, 450 * MS)]
    assert speeds == sorted(speeds, reverse=True)
    assert driver.braking_since_ns == 250 * MS
    run(driver, 450 * MS, 600 * MS)
    assert driver.braking_since_ns is None


def test_command_that_comes_before_the_timeout_keeps_the_cart_going():
    driver = new_driver(driver_timeout=0.25)
    driver.receive(0.5, 0.0, 0)
    run(driver, 0, 248 * MS)
    driver.receive(0.5, 0.0, 248 * MS)
    assert run(driver, 248 * MS, 496 * MS)[-1][0] == pytest.approx(5.0)
    assert driver.braking_since_ns is None


def test_command_not_yet_arrived_does_not_keep_the_cart_going():
    driver = new_driver(driver_timeout=0.25)
    driver.receive(0.5, 0.0, 0)
    driver.receive(0.5, 0.0, 300 * MS)
    run(driver, 0, 300 * MS)
    assert driver.braking_since_ns == 250 * MS


def test_command_that_was_too_old_when_it_was_handed_over_does_not_move_the_cart():
    driver = new_driver(driver_timeout=0.25)
    run(driver, 0, 500 * MS)
    driver.receive(0.5, 0.0, 100 * MS)
    assert run(driver, 500 * MS, 600 * MS)[-1] == (0.0, 0.0)


def test_command_from_before_the_restart_is_refused():
    driver = new_driver()
    driver.restart(100 * MS)
    with pytest.raises(InvalidState, match='last command or reset'):
        driver.receive(0.5, 0.0, 99 * MS)
