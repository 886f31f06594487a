# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The driver of joints alone: delay, duration, limits, timeout."""

from __future__ import annotations

from collections.abc import Sequence
import itertools
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.errors import InvalidAction, InvalidState
from boundary_env_ros.simulation.door_arm.position_driver import OnSilence, PositionDriver

MS = 1_000_000
STEP = 2 * MS
#: What the joints are said to measure: not where they were sent.
MEASURED = (0.111, -0.222)


def new_driver(
    *,
    max_speed: float = 1.0,
    duration: float = 0.1,
    delay: float = 0.02,
    timeout: float = 0.25,
    on_silence: OnSilence = OnSilence.MEASURED,
) -> PositionDriver:
    driver = PositionDriver(
        low=(-1.0, -2.0), high=(1.0, 2.0), max_speed=max_speed, duration=duration, delay=delay,
        timeout=timeout, on_silence=on_silence,
    )  # fmt: skip
    driver.restart(0, (0.0, 0.0))
    return driver


def run(driver: PositionDriver, begin_ns: int, end_ns: int) -> list[Sequence[float]]:
    return [
        driver.set_positions(at, STEP, lambda: MEASURED) for at in range(begin_ns, end_ns, STEP)
    ]


def test_nothing_moves_before_the_first_command() -> None:
    driver = new_driver()
    assert set(run(driver, 0, 1000 * MS)) == {(0.0, 0.0)}
    assert driver.applied is None
    assert driver.holding_since_ns == 0


def test_a_command_works_after_its_delay_and_is_there_after_its_duration() -> None:
    driver = new_driver()
    driver.receive((0.05, -0.02), 0)
    sets = run(driver, 0, 200 * MS)
    assert set(sets[:10]) == {(0.0, 0.0)}
    assert sets[10] == pytest.approx((0.001, -0.0004))
    assert sets[34] == pytest.approx((0.025, -0.01))
    assert sets[60] == pytest.approx((0.05, -0.02))
    assert driver.applied == (0.05, -0.02)


def test_a_set_position_moves_no_faster_than_declared() -> None:
    driver = new_driver(max_speed=0.5)
    driver.receive((0.9, -1.5), 0)
    moves = [b[0] - a[0] for a, b in itertools.pairwise(run(driver, 0, 240 * MS))]
    assert max(moves) == pytest.approx(0.5 * 0.002)


@given(targets=st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)))
def test_no_command_sets_a_joint_beyond_its_limits(targets: tuple[float, float]) -> None:
    driver = new_driver(max_speed=1e6)
    driver.receive(targets, 0)
    first, second = run(driver, 0, 240 * MS)[-1]
    assert -1.0 <= first <= 1.0
    assert -2.0 <= second <= 2.0


def test_after_the_timeout_an_arm_is_set_where_it_is_measured_and_stays() -> None:
    driver = new_driver(max_speed=0.1)
    driver.receive((0.9, 0.9), 0)
    run(driver, 0, 250 * MS)
    assert driver.holding_since_ns is None
    assert set(run(driver, 250 * MS, 2000 * MS)) == {MEASURED}
    assert driver.holding_since_ns == 250 * MS


def test_after_the_timeout_a_gripper_stays_where_it_was_set() -> None:
    driver = new_driver(on_silence=OnSilence.SET)
    driver.receive((-0.05, 0.05), 0)
    assert run(driver, 0, 2000 * MS)[-1] == pytest.approx((-0.05, 0.05))
    assert driver.holding_since_ns == 250 * MS


def test_a_fresh_command_ends_the_hold_from_where_it_holds() -> None:
    driver = new_driver()
    driver.receive((0.9, 0.9), 0)
    run(driver, 0, 1000 * MS)
    driver.receive((0.2, -0.2), 1000 * MS)
    sets = run(driver, 1000 * MS, 1240 * MS)
    assert sets[9] == MEASURED
    assert sets[-1] == pytest.approx((0.2, -0.2))
    assert driver.holding_since_ns is None


def test_command_that_was_too_old_when_it_was_handed_over_does_not_move_a_joint() -> None:
    driver = new_driver()
    run(driver, 0, 500 * MS)
    driver.receive((0.9, 0.9), 100 * MS)
    assert run(driver, 500 * MS, 900 * MS)[-1] == MEASURED


def test_what_is_measured_beyond_a_limit_is_held_at_the_limit() -> None:
    driver = new_driver()
    driver.receive((0.5, 0.5), 0)
    for at in range(0, 300 * MS, STEP):
        held = driver.set_positions(at, STEP, lambda: (1.5, -2.5))
    assert held == (1.0, -2.0)


@pytest.mark.parametrize('targets', [(), (0.1,), (0.1, 0.1, 0.1), (0.1, math.nan)])
def test_what_is_no_finite_position_of_every_joint_is_refused(targets: tuple[float, ...]) -> None:
    with pytest.raises(InvalidAction, match='finite position for each of 2 joints'):
        new_driver().receive(targets, 0)


def test_command_from_before_the_restart_is_refused() -> None:
    driver = new_driver()
    driver.restart(100 * MS, (0.0, 0.0))
    with pytest.raises(InvalidState, match='last command or reset'):
        driver.receive((0.1, 0.1), 99 * MS)
