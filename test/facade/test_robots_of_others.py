# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The contracts of real robots, each on a stand-in that speaks the topics of its driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.facade import BoundaryEnv
from boundary_env_ros.simulation.robot import Emission
from boundary_env_ros.storage.contract_check import check_text
from boundary_env_ros.storage.contract_file import load, read_text

ROBOTS = ('quadruped', 'turtlebot4', 'ur5e')
TICK = 10_000_000  # ns: every sensor at 100 Hz
ODOMETRY, SCAN = 'nav_msgs/msg/Odometry', 'sensor_msgs/msg/LaserScan'
JOINTS, IMU = 'sensor_msgs/msg/JointState', 'sensor_msgs/msg/Imu'


class StandIn:
    """A robot that does what it is told at once, and publishes what its drivers would."""

    def __init__(self, contract: Contract) -> None:
        self.topics = {field.topic: field.type for field in contract.observation}
        (self._group,) = contract.action
        self._is_base = self._group.topic == 'cmd_vel'
        low, high = (np.array(getattr(self._group, side)) for side in ('low', 'high'))
        self.state = np.zeros(2) if self._is_base else (low + high) / 2.0
        self._before = self.state.copy()
        self.commands: list[Vector] = []
        self.silent: set[str] = set()
        self._now = 0

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """Refuse: nobody resets these robots by a service."""
        return WorldReset(error='There is no service that resets this robot.')

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        """Take a command, speeds of a base or positions of joints."""
        assert topic == self._group.topic
        self.commands.append(values)
        self.state = np.array(values)

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Publish every sensor at each tick until then."""
        sent = []
        while self._now + TICK <= until:
            self._now += TICK
            for topic, type_name in self.topics.items():
                if topic not in self.silent:
                    fields = {'header': self._header(), **self._message(type_name)}
                    sent.append(Emission(topic=topic, fields=fields))
            self._before = self.state.copy()
        return tuple(sent)

    def _header(self) -> Mapping[str, Any]:
        seconds, nanoseconds = divmod(self._now, 1_000_000_000)
        return {'stamp': {'sec': seconds, 'nanosec': nanoseconds}, 'frame_id': 'base_link'}

    def _message(self, type_name: str) -> dict[str, Any]:
        if type_name == ODOMETRY:
            speed, turn = self.state.tolist()
            return {'twist': {'twist': {'linear': {'x': speed}, 'angular': {'z': turn}}}}
        if type_name == SCAN:
            return {
                'angle_min': -3.14, 'angle_max': 3.14, 'angle_increment': 6.28 / 719,
                'range_min': 0.15, 'range_max': 12.0, 'ranges': [2.0] * 720,
            }  # fmt: skip
        if type_name == IMU:
            zero = dict.fromkeys('xyz', 0.0)
            return {'orientation': {**zero, 'w': 1.0}, 'angular_velocity': zero}
        assert type_name == JOINTS
        # joint_state_broadcaster keeps no order that a contract could rely on.
        order = list(reversed(range(len(self.state))))
        names = self._group.source.names  # type: ignore[union-attr]
        speed = (self.state - self._before) / (TICK * 1e-9)
        return {
            'name': [names[i] for i in order],
            'position': [float(self.state[i]) for i in order],
            'velocity': [float(speed[i]) for i in order],
        }


@pytest.mark.parametrize('name', ROBOTS)
def test_the_contract_of_a_real_robot_is_valid_as_shipped(name: str) -> None:
    source, text = read_text(name)
    assert check_text(text, source).problems == ()


def driven(name: str) -> tuple[gymnasium.Env[Any, Any], StandIn]:
    """Return an environment with the stand-in of a robot, at the start of an episode."""
    robot = StandIn(load(name).contract)
    env = BoundaryEnv(name, world='embedded', pacing='lockstep', robot=robot)
    env.reset(seed=1)
    return env, robot


@pytest.mark.parametrize('name', ROBOTS)
def test_a_random_policy_drives_a_real_robot_within_its_bounds_and_rates(name: str) -> None:
    env, robot = driven(name)
    (group,) = env.unwrapped.contract.action  # type: ignore[attr-defined]
    env.action_space.seed(1)
    last = np.array(robot.state)
    for _ in range(40):
        *_, info = env.step(env.action_space.sample())
        assert info['ending'] == '', info['message']
        assert info['verdict'] in ('ADMITTED', 'LIMITED')
        command = np.array(robot.commands[-1])
        assert np.all(command >= group.low)
        assert np.all(command <= group.high)
        most = np.array(group.rate) * env.unwrapped.contract.period  # type: ignore[attr-defined]
        assert np.all(np.abs(command - last) <= most + 1e-6)
        last = command
    env.close()


@pytest.mark.parametrize(
    ('name', 'topic'),
    [('quadruped', 'joint_states'), ('turtlebot4', 'odom'), ('ur5e', 'joint_states')],
)
def test_an_episode_ends_when_a_real_robot_says_no_more_what_it_does(
    name: str, topic: str
) -> None:
    env, robot = driven(name)
    robot.silent.add(topic)
    for _ in range(20):
        *_, truncated, info = env.step(env.action_space.sample())
        if truncated:
            break
    assert info['ending'] == 'sensor_lost'
    env.close()


@pytest.mark.parametrize(('name', 'topic'), [('quadruped', 'imu'), ('turtlebot4', 'scan')])
def test_a_real_robot_stands_still_while_it_cannot_see_or_balance(name: str, topic: str) -> None:
    env, robot = driven(name)
    robot.silent.add(topic)
    for _ in range(20):
        *_, info = env.step(env.action_space.sample())
    assert info['verdict'] == 'STOPPED'
    still = np.array(robot.state)
    env.step(env.action_space.sample())
    assert np.array_equal(still, robot.state)
    env.close()
