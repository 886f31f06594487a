# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A person takes over from the policy for a while, and says afterwards what she makes of the episode.

In one process: the hand on the stick is a part of this program. On a robot it is a `joy` node.
"""

import tempfile

from boundary_env_ros.cli.main import main
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.policies import GoToGoalPolicy
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_file import load

LOADED = load('guarded_cart', Pacing.LOCKSTEP)
CONTRACT = LOADED.contract


class RobotWithStick:
    """The simulated cart, and a stick beside it, as the contract's `operator` reads it."""

    def __init__(self, start):
        self.cart = make_robot(CONTRACT, start)
        self.topics = {**self.cart.topics, 'joy': 'sensor_msgs/msg/Joy'}
        self.reset, self.command = self.cart.reset, self.cart.command
        self.held = False

    def advance(self, until):
        """Let the world run; in its end the stick says that it is pushed ahead, or let go."""
        nanoseconds = divmod(until, 1_000_000_000)
        stamp = dict(zip(('sec', 'nanosec'), nanoseconds, strict=True))
        stick = {
            'header': {'stamp': stamp, 'frame_id': ''},
            'axes': [0.0, 0.5, 0.0, 0.2],
            'buttons': [0, 0, 0, 0, int(self.held)],
        }
        sent = Emission(topic='joy', fields=stick)
        return (*self.cart.advance(until), sent)


with tempfile.TemporaryDirectory() as folder:
    robot = RobotWithStick(round(CONTRACT.period * 1e9))
    env = BoundaryEnv(
        'guarded_cart', world='embedded', pacing='lockstep', robot=robot, record=folder
    )
    policy = GoToGoalPolicy()
    observation, info = env.reset(seed=1, options={'scenario': 'clear'})
    terminated = truncated = False
    while not (terminated or truncated):
        robot.held = 10 <= info['step'] < 20
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        print(info['step'], info['verdict'], info['intervention'] or '')
    env.close()
    # Her word stands beside that of the environment, and changes nothing of it.
    main(
        [
            'episodes',
            'label',
            folder,
            'last',
            'unclear',
            '--user',
            'ada',
            '--note',
            'I had to help',
        ]
    )
    main(['episodes', 'list', folder])
print(info['ending'])
