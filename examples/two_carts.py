# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Two carts swap places in an aisle: each keeps to its right, behind a gate of its own.

In one process; with ``--world ros`` they are the carts of the nodes that
``ros2 launch boundary_env_ros simulation_launch.py contract:=two_carts pacing:=lockstep`` starts.
"""

import argparse
import math

from boundary_env_ros.facade.multi_agent import parallel_env

LANES = {'cart_a': -1.8, 'cart_b': -1.05}


def keep_right(agent, seen):
    """Return forward speed (m/s) and turn (rad/s) along the lane, and to the goal at its end."""
    x, y, yaw = map(float, seen['pose'])
    goal_x, goal_y = map(float, seen['goal'])
    if abs(goal_x - x) > 1.2:
        goal_x, goal_y = x + math.copysign(0.8, goal_x - x), LANES[agent]
    error = math.remainder(math.atan2(goal_y - y, goal_x - x) - yaw, 2.0 * math.pi)
    return [0.6 * max(0.0, math.cos(error)), 1.5 * error]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--world', default='embedded', choices=['embedded', 'ros'])
parser.add_argument('--contract', default='two_carts', help='a file, or the shipped one')
given = parser.parse_args()

env = parallel_env(given.contract, world=given.world, pacing='lockstep')
observations, infos = env.reset(seed=1, options={'scenario': 'aisle'})
endings = {}
while env.agents:
    actions = {agent: keep_right(agent, observations[agent]) for agent in env.agents}
    observations, rewards, terminations, truncations, infos = env.step(actions)
    for agent, info in infos.items():
        print(info['step'], agent, info['verdict'], *info['reasons'])
        endings[agent] = info['ending']
env.close()
print(endings)
print(*set(endings.values()))
