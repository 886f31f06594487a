# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world over ROS, and the environment over it, keep the boundary as the kit sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.world import RosWorld
from support.ros_world import PATIENT, World
from support.whole_environment_tests import WholeEnvironmentTests
from support.world_tests import WorldTests

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    """Return one world in lockstep, with short episodes, for all tests of this module."""
    # A step into an ended episode is waited for as long as one that nobody answers.
    return make_world(
        pacing='lockstep',
        changes={**PATIENT, 'episode': {'time_limit': 1.5}, 'lockstep': {'deadline': 2.0}},
    )


class TestWarehouseCart(WholeEnvironmentTests, WorldTests):
    pacing = 'lockstep'
    steps = 10

    @pytest.fixture(autouse=True)
    def _in_the_world(self, world: World) -> Iterator[None]:
        self.nodes = world
        self.begun = time.monotonic_ns()
        yield
        world.close_environments()
        world.end_episode()

    def contract(self) -> Path:
        return self.nodes.file

    def world(self) -> RosWorld:
        return RosWorld(
            self.nodes.loaded, domain_id=self.nodes.domain_id, namespace=self.nodes.namespace
        )

    def env(self) -> BoundaryEnv:
        return self.nodes.environment()

    def record(self) -> Sequence[object]:
        self.nodes.end_episode()
        transitions = self.nodes.probe.messages(names.TRANSITION, self.begun)
        return [
            *self.nodes.decisions(self.begun),
            *(from_msg(Transition, message) for message in transitions),
        ]
