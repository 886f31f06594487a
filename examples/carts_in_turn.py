# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Two carts that act one after the other: the contract declares turns, a period each.

While one acts, the gate of the other goes on with what that asked for last. In one process.
"""

from pathlib import Path
import tempfile

import yaml

from boundary_env_ros.facade.multi_agent import env
from boundary_env_ros.resources import share_file

# The shipped contract, with turns; a round of two takes 0.2 s, so that nobody is late before.
contract = yaml.safe_load(share_file('config/two_carts.yaml').read_text(encoding='utf-8'))
contract['agent_order'] = ['cart_b', 'cart_a']
contract['safety'].update(hold_timeout=0.25, command_timeout=0.4)
contract['action']['base']['driver_timeout'] = 0.3

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / 'in_turn.yaml'
    file.write_text(yaml.safe_dump(contract, sort_keys=False), encoding='utf-8')
    carts = env(file, world='embedded')

carts.reset(seed=1, options={'scenario': 'apart'})
endings = {}
for agent in carts.agent_iter():
    seen, reward, terminated, truncated, info = carts.last()
    if terminated or truncated:
        endings[agent] = info['ending']
        carts.step(None)
        continue
    x, y, yaw = map(float, seen['pose'])
    goal_x, goal_y = map(float, seen['goal'])
    carts.step([0.4, 1.0 * ((goal_y - y) - yaw * (goal_x - x))])
    print(info['step'] + 1, agent, carts.infos[agent]['verdict'])
carts.close()
print(endings)
print(*set(endings.values()))
