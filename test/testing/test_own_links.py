# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The embedded link, and the environment over it, keep the boundary as the kit sees it."""

from __future__ import annotations

import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.facade.embedded import EmbeddedLink
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.testing import EnvironmentTests, LinkTests


class TestWarehouseCart(EnvironmentTests, LinkTests):
    pacing = 'lockstep'

    def contract(self) -> str:
        return 'warehouse_cart'

    def link(self) -> EmbeddedLink:
        return EmbeddedLink(self.loaded())

    def env(self) -> BoundaryEnv:
        return BoundaryEnv('warehouse_cart', link='embedded', pacing='lockstep', sink=self.keep)


class TestDoorArm(EnvironmentTests, LinkTests):
    pacing = 'lockstep'

    def contract(self) -> str:
        return 'door_arm'

    def link(self) -> EmbeddedLink:
        return EmbeddedLink(self.loaded())

    def env(self) -> BoundaryEnv:
        return BoundaryEnv('door_arm', link='embedded', pacing='lockstep', sink=self.keep)
