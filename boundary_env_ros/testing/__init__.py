# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The conformance kit: what you run on a contract, task, robot or environment of your own.

Each class is a mixin of tests, for pytest and for unittest, whose names are the sentences that
must hold. Inherit from it, override the method that returns what is to be tested, and run your
test runner; see ``doc/testing.md``. It needs neither pytest nor ROS nor a simulator itself.
"""

from __future__ import annotations

from boundary_env_ros.testing.contract_tests import ContractTests
from boundary_env_ros.testing.environment_tests import EnvironmentTests
from boundary_env_ros.testing.robot_tests import RobotTests
from boundary_env_ros.testing.task_tests import TaskTests
from boundary_env_ros.testing.verdicts import Failure

__all__ = [
    'ContractTests',
    'EnvironmentTests',
    'Failure',
    'RobotTests',
    'TaskTests',
]
