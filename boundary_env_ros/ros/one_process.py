# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Several nodes in one process, on one executor.

    python -m boundary_env_ros.ros.one_process NODE [--ros-args ...] [-- NODE ...]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
import sys

from boundary_env_ros.ros.contract_node import run
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.nodes.environment import EnvironmentNode
from boundary_env_ros.ros.nodes.recorder import Recorder
from boundary_env_ros.ros.nodes.safety_gate import SafetyGate
from boundary_env_ros.ros.nodes.simulated_robot import SimulatedRobotNode

_NODES = {
    'recorder': Recorder,
    'simulated_robot': SimulatedRobotNode,
    'safety_gate': SafetyGate,
    'environment': EnvironmentNode,
}


def main(argv: Sequence[str]) -> int:
    """Run nodes, each with its own arguments of ROS alone."""
    given = [list(part) for ends, part in groupby(argv, '--'.__eq__) if not ends]
    makes = [
        partial(_NODES[name], cli_args=arguments, use_global_arguments=False)
        for name, *arguments in given
    ]
    return run(*makes, executor=fastest_executor)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
