# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drive the simulated cart to a goal; with 'ros' instead of 'embedded', over ROS 2."""

import gymnasium

from boundary_env_ros.facade.policies import GoToGoalPolicy

env = gymnasium.make('boundary_env_ros/WarehouseCart-v0', world='embedded')
policy = GoToGoalPolicy()
observation, info = env.reset(seed=1, options={'scenario': 'clear'})
terminated = truncated = False
while not (terminated or truncated):
    observation, reward, terminated, truncated, info = env.step(policy(observation))
    print(info['step'], info['verdict'], *info['reasons'])
print(info['ending'])
env.close()
