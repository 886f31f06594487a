# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated robots keep the boundary, as the kit sees it."""

from __future__ import annotations

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.testing import RobotTests


class TestWarehouseCart(RobotTests):
    def contract(self) -> str:
        return 'warehouse_cart'


class TestGuardedCart(RobotTests):
    seconds = 1.0

    def contract(self) -> str:
        return 'guarded_cart'


class TestDoorArm(RobotTests):
    seconds = 1.0

    def contract(self) -> str:
        return 'door_arm'


class TestTwoCarts(RobotTests):
    seconds = 1.0

    def contract(self) -> str:
        return 'two_carts'
