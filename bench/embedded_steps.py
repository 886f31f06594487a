# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the boundary costs a simulation: steps a second, embedded, against the bare world.

The bare thing advances the same cart by the same period and makes the same messages of its
readings; observation, contract, gate, record and episode are what it lacks.
"""

from __future__ import annotations

import time

from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.policies import NoOpPolicy
from boundary_env_ros.simulation.robot import make_robot, SimulatedRobot

ROUNDS = 10
STEPS = 50


def _boundary(env: BoundaryEnv) -> float:
    policy = NoOpPolicy(env.contract)
    observation, _ = env.reset(seed=1, options={'scenario': 'clear'})
    start = time.perf_counter()
    for _ in range(STEPS):
        observation, *_ = env.step(policy(observation))
    return time.perf_counter() - start


def _bare(robot: SimulatedRobot, now: int) -> tuple[float, int]:
    start = time.perf_counter()
    for _ in range(STEPS):
        robot.command('cmd_vel', (0.0, 0.0), now)
        now += 100_000_000
        robot.advance(now)
    return time.perf_counter() - start, now


def main() -> None:
    """Print both rates and their ratio, taken in turn."""
    env = BoundaryEnv(link='embedded', pacing='lockstep')
    now = 100_000_000
    robot = make_robot(env.contract, now)
    ours, bare = [], []
    for _ in range(ROUNDS):
        ours.append(_boundary(env))
        seconds, now = _bare(robot, now)
        bare.append(seconds)
    env.close()
    ours.sort()
    bare.sort()
    mine, theirs = STEPS / ours[ROUNDS // 2], STEPS / bare[ROUNDS // 2]
    print(f'embedded steps, {ROUNDS} rounds of {STEPS}, in turn (median)')
    print(
        f'  boundary {mine:5.0f} steps/s   bare world {theirs:5.0f} steps/s   '
        f'ratio {mine / theirs:4.2f}   budget 0.8'
    )


if __name__ == '__main__':
    main()
