# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The embedded world, and the environment over it, keep the boundary as the kit sees it."""

from __future__ import annotations

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.facade.embedded_world import EmbeddedWorld
from boundary_env_ros.facade.env import BoundaryEnv
from support.whole_environment_tests import WholeEnvironmentTests
from support.world_tests import WorldTests


class TestWarehouseCart(WholeEnvironmentTests, WorldTests):
    pacing = 'lockstep'

    def contract(self) -> str:
        return 'warehouse_cart'

    def world(self) -> EmbeddedWorld:
        return EmbeddedWorld(self.loaded())

    def env(self) -> BoundaryEnv:
        return BoundaryEnv('warehouse_cart', world='embedded', pacing='lockstep', sink=self.keep)


class TestDoorArm(WholeEnvironmentTests, WorldTests):
    pacing = 'lockstep'

    def contract(self) -> str:
        return 'door_arm'

    def world(self) -> EmbeddedWorld:
        return EmbeddedWorld(self.loaded())

    def env(self) -> BoundaryEnv:
        return BoundaryEnv('door_arm', world='embedded', pacing='lockstep', sink=self.keep)
