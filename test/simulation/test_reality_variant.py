# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The cart as it might be built: what is planted in it does what its name says."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

import numpy as np

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import LinkError
from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.simulation.cart_config import (
    CartConfig,
    PoseDetectionsConfig,
    REALITY,
    ScanConfig,
)
from boundary_env_ros.simulation.cart_robot import CartRobot, RealityCartRobot
from boundary_env_ros.simulation.cart_state import ResetTarget
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.storage.contract_file import load
from support.readings import payloads
from support.warehouse_cart import WarehouseCart

MS = 1_000_000
START = ResetTarget(x=-3.5, y=-3.0, yaw=0.0, goal_x=2.5, goal_y=-1.0)


def speeds(config: CartConfig) -> list[float]:
    """Return the true forward speed every 20 ms after a command of 0.5 m/s."""
    cart = WarehouseCart(config)
    cart.reset(START, seed=1, at_ns=0)
    cart.command(0.5, 0.0, 0)
    found = []
    for tick in range(1, 13):
        cart.advance(20 * tick * MS)
        found.append(cart.true_state.linear)
    return found


def readings(config: CartConfig, sensor: str) -> list[Any]:
    """Return what a sensor says of one second of rest."""
    cart = WarehouseCart(config)
    cart.reset(START, seed=1, at_ns=0)
    return payloads(cart.advance(1000 * MS), sensor)


def test_a_longer_delay_shifts_the_response() -> None:
    thought, built = speeds(CartConfig()), speeds(CartConfig(actuator_delay=0.07))
    assert built[2:] == pytest.approx(thought[:-2], abs=1e-3)


def test_a_payload_makes_the_response_slower_and_ends_at_the_same_speed() -> None:
    thought, built = speeds(CartConfig()), speeds(CartConfig(payload=150.0))
    assert all(b <= t + 1e-9 for t, b in zip(thought, built, strict=True))
    assert max(t - b for t, b in zip(thought, built, strict=True)) > 0.01


def test_friction_in_the_wheels_takes_from_the_final_speed() -> None:
    droop = speeds(CartConfig())[-1] - speeds(CartConfig(wheel_friction=2.0))[-1]
    # The driver is proportional: 2 N m / 20 N m s/rad at a wheel of 0.1 m, 0.25 s later.
    assert droop == pytest.approx(0.01, rel=0.2)


def test_a_bias_moves_every_detection_along_x() -> None:
    biased = CartConfig(pose_detections=PoseDetectionsConfig(position_bias=0.1))
    for thought, built in zip(
        readings(CartConfig(), 'pose_detections'),
        readings(biased, 'pose_detections'),
        strict=True,
    ):
        assert built.x - thought.x == pytest.approx(0.1)
        assert (built.y, built.yaw) == (thought.y, thought.yaw)
        assert built.position_std == thought.position_std


def test_noise_of_the_scanner_is_as_wide_as_declared() -> None:
    scans = readings(CartConfig(scan=ScanConfig(range_noise=0.05)), 'scan')
    ranges = np.array([scan.ranges for scan in scans])
    seen = ranges[:, np.isfinite(ranges).all(axis=0)]
    assert np.median(seen.std(axis=0, ddof=1)) == pytest.approx(0.05, rel=0.15)


def test_every_option_of_the_cart_can_be_real_by_itself() -> None:
    assert set(RealityCartRobot.OPTIONS) == set(CartRobot.OPTIONS)
    other = {name for name, (v, _) in CartRobot.OPTIONS.items() if v != real(name)}
    assert other == {'actuator_delay', 'payload', 'pose_bias', 'scan_noise', 'wheel_friction'}
    assert REALITY.payload == real('payload')


def real(name: str) -> float:
    return RealityCartRobot.OPTIONS[name][0]


def test_it_is_installed_and_takes_the_contract_of_the_cart() -> None:
    contract = load('warehouse_cart', Pacing.LOCKSTEP).contract
    assert isinstance(make_robot(contract, 0, name='warehouse_cart_reality'), RealityCartRobot)


def test_options_for_a_robot_that_is_made_already_are_refused() -> None:
    loaded = load('warehouse_cart', Pacing.LOCKSTEP)
    robot = make_robot(loaded.contract, 0)
    with pytest.raises(LinkError, match='Make it with its options'):
        EmbeddedWorld(loaded, robot=robot, robot_options={'payload': 1.0})
