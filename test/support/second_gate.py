# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A second safety gate: the real one, started twice by mistake.

It makes itself active; by the name of its services nobody could tell which of the two is asked.
"""

from __future__ import annotations

import sys

from boundary_env_ros.ros.contract_node import run
from boundary_env_ros.ros.nodes.safety_gate import SafetyGate


def make() -> SafetyGate:
    """Return a gate that is active."""
    gate = SafetyGate()
    gate.trigger_configure()
    gate.trigger_activate()
    return gate


if __name__ == '__main__':
    sys.exit(run(make))
