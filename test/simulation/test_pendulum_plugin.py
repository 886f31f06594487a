# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pendulum of the examples, compared with the conformance kit."""

from __future__ import annotations

from pathlib import Path
import sys

import pytest

from boundary_env_ros.simulation.plugin_robot import PluginRobot
from boundary_env_ros.testing import RobotTests, TaskTests

EXAMPLES = Path(__file__).parents[2] / 'examples'


@pytest.fixture(autouse=True, scope='module')
def _on_the_path() -> None:
    sys.path.append(str(EXAMPLES))


class TestPendulum(RobotTests):
    """The plugin as a robot."""

    seconds = 0.5

    def contract(self) -> Path:
        return EXAMPLES / 'pendulum.yaml'

    def robot(self) -> PluginRobot:
        return PluginRobot(
            self.loaded().contract, start=self.start, plugin='pendulum_plugin:PendulumPlugin'
        )


class TestNamedRewards(TaskTests):
    """The task of plugins."""

    def contract(self) -> Path:
        return EXAMPLES / 'pendulum.yaml'
