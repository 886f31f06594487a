# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A world that is small and honest: a point in the plane, with no physics engine and no ROS."""

from __future__ import annotations

from collections.abc import Mapping
import math
from pathlib import Path

import numpy as np

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.reset import by_name, ResetWorld, WorldReset
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, InvalidAction, InvalidState
from boundary_env_ros.simulation.messages import Fields, header, vector
from boundary_env_ros.simulation.robot import Emission

TEXT = """\
# A point that is driven like a cart.
contract: point
version: 1.0.0
period: 0.1
agents: [point]
observation:
  pose:
    topic: pose
    type: geometry_msgs/msg/PoseStamped
    fields: [pose.position.x, pose.position.y, yaw(pose.orientation)]
    unit: [m, m, rad]
    frame: map
    low: [-5.5, -5.5, -3.1416]
    high: [5.5, 5.5, 3.1416]
    max_age: 0.3
    on_stale: truncate
  velocity:
    topic: odom
    type: nav_msgs/msg/Odometry
    fields: [twist.twist.linear.x, twist.twist.angular.z]
    unit: [m/s, rad/s]
    low: [-2.0, -4.0]
    high: [2.0, 4.0]
    max_age: 0.2
  goal: {task: goal, unit: [m, m], frame: map, low: [-5.5, -5.5], high: [5.5, 5.5]}
privileged:
  true_pose:
    topic: truth
    type: geometry_msgs/msg/PoseStamped
    fields: [pose.position.x, pose.position.y]
    unit: [m, m]
    frame: map
    low: [-10.0, -10.0]
    high: [10.0, 10.0]
    max_age: 0.2
action:
  base:
    topic: cmd_vel
    type: geometry_msgs/msg/TwistStamped
    fields: [twist.linear.x, twist.angular.z]
    unit: [m/s, rad/s]
    low: [-0.5, -1.5]
    high: [1.0, 1.5]
    safe: [0.0, 0.0]
    max_acceleration: [1.0, 4.0]
    max_deceleration: [2.0, 8.0]
    driver_timeout: 0.25
    feedback:
      topic: odom
      type: nav_msgs/msg/Odometry
      fields: [twist.twist.linear.x, twist.twist.angular.z]
      threshold: [0.03, 0.1]
safety:
  hold_timeout: 0.15
  command_timeout: 0.3
  policy_timeout: 1.0
  environment_timeout: 0.4
  gate_timeout: 0.4
  robot_timeout: 0.3
  sensor_timeout: 0.25
  max_action_age: 0.4
task:
  name: go_to_goal
  parameters:
    radius: 0.3
    scenarios:
      near: {start: [-1.0, -1.0, 1.0, 1.0], yaw: [-0.5, 0.5], goal: [1.0, -1.0, 2.0, 1.0]}
episode:
  time_limit: 2.0
  reset:
    service: reset_world
    settle: 0.2
    deadline: 8.0
    tolerance: {start: [0.01, 0.01, 0.01]}
"""

_TICK = to_nanoseconds(0.01)
_FARTHEST = 5.0


def write(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the contract with some pieces of its text replaced; each must be there once."""
    text = TEXT
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file = folder / 'point.yaml'
    file.write_text(text, encoding='utf-8')
    return file


class Point:
    """
    The robot: it does at once what it is told, until nobody has spoken for its driver's timeout.

    What a test breaks are methods of their own.
    """

    topics: Mapping[str, str] = {
        'pose': 'geometry_msgs/msg/PoseStamped',
        'odom': 'nav_msgs/msg/Odometry',
        'truth': 'geometry_msgs/msg/PoseStamped',
    }

    def __init__(self, contract: Contract, start: int) -> None:
        timeout = contract.action[0].driver_timeout
        assert timeout is not None
        self.timeout = to_nanoseconds(timeout)
        self.now = self.ticked = start
        self.commands: list[tuple[int, Vector]] = []
        self.state = [0.0, 0.0, 0.0]
        self.velocity: Vector = (0.0, 0.0)
        self.heard = start
        self.noise = self.generator(0)

    def generator(self, seed: int) -> np.random.Generator:
        return np.random.default_rng(seed)

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        values = by_name(request.target)
        start, goal = values.get('start', ()), values.get('goal', ())
        whole = len(start) == 3 and len(goal) == 2
        if not whole or not all(abs(v) <= _FARTHEST for v in (*start, *goal)):
            return WorldReset(error=f'Expected a start and a goal in reach, got {values}.')
        self.state, self.velocity = list(start), (0.0, 0.0)
        self.now = self.ticked = self.heard = at
        self.commands.clear()
        self.noise = self.generator(request.seed)
        achieved = NamedValues(name='start', values=start, unit=('m', 'm', 'rad'))
        return WorldReset(achieved=(achieved,), completed=at, confirmed_by='point')

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        if topic != 'cmd_vel':
            raise BoundaryError(f'Expected a command on cmd_vel, got {topic}.')
        if len(values) != 2 or not all(map(math.isfinite, values)):
            raise InvalidAction(f'Expected two finite speeds, got {values}.')
        self.commands.append((arrived, values))

    def advance(self, until: int) -> tuple[Emission, ...]:
        if until < self.now:
            raise InvalidState(f'Expected {self.now} or later, got {until}.')
        self.now = until
        sent: list[Emission] = []
        while self.ticked + _TICK <= until:
            self.tick()
            self.ticked += _TICK
            sent += self.sense(self.ticked)
        return tuple(sent)

    def tick(self) -> None:
        while self.commands and self.commands[0][0] <= self.ticked:
            self.heard, self.velocity = self.commands.pop(0)
        if self.is_silent():
            self.velocity = (0.0, 0.0)
        (speed, turn), seconds = self.velocity, _TICK * 1e-9
        self.state[0] += speed * math.cos(self.state[2]) * seconds
        self.state[1] += speed * math.sin(self.state[2]) * seconds
        self.state[2] += turn * seconds

    def is_silent(self) -> bool:
        return self.ticked - self.heard >= self.timeout

    def sense(self, at: int) -> list[Emission]:
        sent = [self.emission('odom', at, self.odometry(at))]
        if at // _TICK % 5 == 0:
            noise = self.noise.normal(0.0, 0.01, size=2)
            sent.append(self.emission('pose', at, self.pose(at, noise)))
            sent.append(self.emission('truth', at, self.pose(at, np.zeros(2))))
        return sent

    def emission(self, topic: str, at: int, fields: Fields) -> Emission:
        return Emission(topic=topic, fields=fields)

    def odometry(self, at: int) -> Fields:
        linear, angular = self.velocity
        twist = {'linear': vector(linear, 0.0, 0.0), 'angular': vector(0.0, 0.0, angular)}
        return {'header': header(at, 'map'), 'twist': {'twist': twist}}

    def pose(self, at: int, noise: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Fields:
        x, y, yaw = self.state
        turned = {'x': 0.0, 'y': 0.0, 'z': math.sin(yaw / 2.0), 'w': math.cos(yaw / 2.0)}
        place = vector(x + noise[0], y + noise[1], 0.0)
        return {'header': header(at, 'map'), 'pose': {'position': place, 'orientation': turned}}
