# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Infer the next chunk of actions while this one is executed; with 'ros' after it, over ROS 2."""

import math
import sys

import numpy as np

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.facade.policies import GoToGoalPolicy
from boundary_env_ros.facade.runner import Plan, Runner
from boundary_env_ros.facade.world import make_world
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import loads

#: The shipped contract, and one line more; the nodes need a file of it.
CONTRACT = share_file('config/warehouse_cart.yaml').read_text() + '\nchunk: {horizon: 6}\n'


class ChunkedPolicy:
    """
    Drives a cart of its own in thought, to say what it will ask for in the next eight steps.

    Parameters
    ----------
    contract
        The contract, for the period of a step.

    """

    def __init__(self, contract):
        self.period = contract.period
        self.policy = GoToGoalPolicy(speed=0.6)

    def __call__(self, observation):
        """Return a chunk, shape (8, 2): forward m/s, turn rad/s."""
        x, y, yaw = observation['pose']
        chunk = []
        for _ in range(8):
            imagined = {'pose': (x, y, yaw), 'goal': observation['goal']}
            forward, turn = self.policy(imagined)
            chunk.append((forward, turn))
            x += forward * math.cos(yaw) * self.period
            y += forward * math.sin(yaw) * self.period
            yaw += turn * self.period
        return np.array(chunk)


def main(world_name='embedded'):
    """Run an episode: of each chunk four actions, the next one asked for two steps before."""
    embedded = world_name == 'embedded'
    loaded = loads(CONTRACT, pacing=Pacing.LOCKSTEP if embedded else None)
    world = make_world(world_name, loaded)
    plan = Plan(asynchronous=True, execute=4, lead=2)
    runner = Runner(loaded.contract, world, ChunkedPolicy(loaded.contract), plan)
    runner.warm_up()
    result = runner.episode(seed=1, options={'scenario': 'clear'})
    runner.close()
    world.close()
    print(f'{result.steps} steps, {len(result.inferences)} inferences, {result.requests} requests')
    print(f'{result.skipped} predicted actions left out, {result.chunks_late} chunks late')
    print(result.ending)


if __name__ == '__main__':
    main(*sys.argv[1:])
