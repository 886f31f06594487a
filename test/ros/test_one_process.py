# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes that share a process end together, whichever of them fails."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.ros.processes import isolated_environment
from support.ros_world import reserved_domain, SOON

pytestmark = pytest.mark.ros

_PAIR = """
import sys
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.executors import fastest_executor

class Sound(ContractNode):
    def deactivate(self):
        print('rests', flush=True)

    def cleanup(self):
        print('lets go', flush=True)

class Failing(Sound):
    def activate(self):
        self.every(0.05, lambda: 1 / 0)

def make(kind):
    node = kind(kind.__name__.lower(), 'robot')
    node.trigger_configure()
    node.trigger_activate()
    return node

sys.exit(run(lambda: make(Sound), lambda: make(Failing), executor=fastest_executor))
"""


def test_one_that_fails_ends_the_process_and_the_other_lets_go_in_order() -> None:
    with reserved_domain() as domain:
        told = subprocess.run(
            [sys.executable, '-c', _PAIR],
            env={**os.environ, **isolated_environment(domain)},
            check=False,
            capture_output=True,
            text=True,
            timeout=2 * SOON,
        )
    assert told.returncode == 1
    assert 'ZeroDivisionError' in told.stderr
    assert told.stdout.splitlines().count('lets go') == 2
    assert 'rests' in told.stdout
