# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A rover of my own, and the conformance kit on its contract, task, robot and environment."""

import math
from pathlib import Path
import unittest

from boundary_env_ros.core.environment.reset import by_name, WorldReset
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.errors import InvalidAction, InvalidState
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.testing import ContractTests, EnvironmentTests, RobotTests, TaskTests

CONTRACT = Path(__file__).with_name('my_robot.yaml')
TICK = 10_000_000  # ns
TIMEOUT = 250_000_000  # ns without a command, after which it stops


class Rover:
    """Drives as it is told, and sends where it is and how fast."""

    def __init__(self, start):
        self.topics = {'odom': 'nav_msgs/msg/Odometry'}
        self.place(0.0, 0.0, 0.0, start)

    def place(self, x, y, yaw, at):
        """Stand still somewhere, from a time (ns) on."""
        self.x, self.y, self.yaw = x, y, yaw
        self.speed = self.turn = 0.0
        self.now = self.heard = at

    def reset(self, request, at):
        """Go where the task wants it; a failure is an answer."""
        start = by_name(request.target).get('start', ())
        if len(start) != 3 or not all(abs(value) <= 5.0 for value in start):
            return WorldReset(error=f'Expected a start within 5 m, got {start}.')
        self.place(*start, at)
        achieved = NamedValues(name='start', values=start, unit=('m', 'm', 'rad'))
        return WorldReset(achieved=(achieved,), completed=at, confirmed_by='rover')

    def command(self, topic, values, arrived):
        """Take a command, m/s and rad/s."""
        if topic != 'cmd_vel' or len(values) != 2 or not all(map(math.isfinite, values)):
            raise InvalidAction(f'Expected two speeds on cmd_vel, got {values} on {topic}.')
        self.speed, self.turn = values
        self.heard = arrived

    def advance(self, until):
        """Drive until then, ns, and return what was sent on the way."""
        if until < self.now:
            raise InvalidState(f'Expected {self.now} ns or later, got {until} ns.')
        sent = []
        while self.now + TICK <= until:
            if self.now - self.heard >= TIMEOUT:
                self.speed = self.turn = 0.0
            self.x += self.speed * math.cos(self.yaw) * TICK * 1e-9
            self.y += self.speed * math.sin(self.yaw) * TICK * 1e-9
            self.yaw += self.turn * TICK * 1e-9
            self.now += TICK
            sent.append(Emission(topic='odom', fields=self.odometry()))
        return tuple(sent)

    def odometry(self):
        """Return the message, as nested mappings."""
        seconds, nanoseconds = divmod(self.now, 1_000_000_000)
        half = self.yaw / 2.0
        pose = {
            'position': {'x': self.x, 'y': self.y, 'z': 0.0},
            'orientation': {'x': 0.0, 'y': 0.0, 'z': math.sin(half), 'w': math.cos(half)},
        }
        return {
            'header': {'stamp': {'sec': seconds, 'nanosec': nanoseconds}, 'frame_id': 'odom'},
            'pose': {'pose': pose},
            'twist': {'twist': {'linear': {'x': self.speed}, 'angular': {'z': self.turn}}},
        }


class TestMyRobot(ContractTests, TaskTests, RobotTests, EnvironmentTests, unittest.TestCase):
    """All that must hold, in one class; several are as good."""

    def contract(self):
        """Return the file of my contract."""
        return CONTRACT

    def valid_options(self):
        """Return options that its task takes."""
        return ({}, {'scenario': 'near', 'start': [0.0, 0.0, 0.0], 'goal': [1.0, 1.0]})

    def robot(self):
        """Return a new robot of mine."""
        return Rover(self.start)

    def env(self):
        """Return a new environment with it."""
        return BoundaryEnv(
            CONTRACT, world='embedded', pacing='lockstep', robot=Rover(0), sink=self.keep
        )


if __name__ == '__main__':
    result = unittest.main(argv=['test_my_robot'], exit=False).result
    print('success' if result.wasSuccessful() else 'failure')
