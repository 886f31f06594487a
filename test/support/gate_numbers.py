# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of the shipped contract, as the tests of the gate call them."""

from __future__ import annotations

from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from support.core_world import shipped
from support.gate_bench import Bench

PERIOD = shipped().period
RATE, STOP = shipped().flat('rate'), shipped().flat('stop')
LOW, HIGH = shipped().flat('low'), shipped().flat('high')
SAFETY = shipped().safety
TICK = SAFETY.gate_period

[OBSTACLE] = SAFETY.of(Obstacle)
NEAR = OBSTACLE.stop_distance - 0.01
MIDDLE = (OBSTACLE.stop_distance + OBSTACLE.slow_distance) / 2
AHEAD_NEAR = (NEAR, 8.0, 1.0, 1.0)
BEHIND_NEAR = (8.0, NEAR, 1.0, 1.0)


def cruise(bench: Bench, speed: float = 0.4, seconds: float = 1.0) -> Bench:
    """Let a policy drive until it has its speed."""
    bench.wait(seconds, policy=(speed, 0.0))
    assert bench.command == (speed, 0.0)
    bench.motion = (speed, 0.0)
    bench.pulse()
    return bench
