# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A world that is no robot, as a plugin in a process of its own: a pendulum to swing up."""

from collections.abc import Mapping
import math
from pathlib import Path
from typing import Any

import numpy as np

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.simulation.plugin import Baseline, EnvironmentPlugin, PluginSpace, Update
from boundary_env_ros.simulation.plugin_robot import PluginRobot
from boundary_env_ros.storage.contract_file import load

GRAVITY, MASS, LENGTH = 10.0, 1.0, 1.0  # m/s^2, kg, m
TIME_STEP = 0.05  # s
UPRIGHT = 20  # updates that it has to stay up


class PendulumPlugin(EnvironmentPlugin):
    """A rod on a motor; its angle is 0 when it stands upright."""

    def start(
        self, seed: int, target: Mapping[str, Vector], options: Mapping[str, Any]
    ) -> Baseline:
        """Hang the rod where the task wants it."""
        self.angle, self.speed = target.get('start', (math.pi, 0.0))
        if not (abs(self.angle) <= math.pi and abs(self.speed) <= 8.0):
            raise ValueError(f'no pendulum starts at {self.angle} rad with {self.speed} rad/s')
        self.upright = 0
        return Baseline(
            sensors=(
                PluginSpace(
                    name='pendulum',
                    values=('cosine', 'sine', 'speed'),
                    low=(-1.0, -1.0, -8.0),
                    high=(1.0, 1.0, 8.0),
                    unit=('', '', 'rad/s'),
                ),
            ),
            actuators=(
                PluginSpace(
                    name='motor', values=('torque',), low=(-2.0,), high=(2.0,), unit=('N m',)
                ),
            ),
            readings=self.readings(),
            time_step=TIME_STEP,
            rewards=('angle', 'speed', 'torque'),
            achieved={'start': (self.angle, self.speed)},
        )

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        """Let the rod swing under the torque of its motor."""
        (torque,) = setpoints['motor']
        rewards = {
            'angle': -(self.angle**2),
            'speed': -0.1 * self.speed**2,
            'torque': -0.001 * torque**2,
        }
        self.speed += seconds * (
            1.5 * GRAVITY / LENGTH * math.sin(self.angle) + 3.0 * torque / (MASS * LENGTH**2)
        )
        self.speed = min(max(self.speed, -8.0), 8.0)
        self.angle = math.remainder(self.angle + seconds * self.speed, 2.0 * math.pi)
        still = abs(self.angle) < 0.2 and abs(self.speed) < 0.5
        self.upright = self.upright + 1 if still else 0
        done = self.upright >= UPRIGHT
        return Update(readings=self.readings(), rewards=rewards, done=done, success=done)

    def readings(self) -> dict[str, Vector]:
        """Return what the sensor shows."""
        return {'pendulum': (math.cos(self.angle), math.sin(self.angle), self.speed)}


def swing_up(observation: Mapping[str, np.ndarray]) -> np.ndarray:
    """Pump energy into the rod until it can be held upright."""
    cosine, sine, speed = map(float, observation['pendulum'])
    angle = math.atan2(sine, cosine)
    if cosine > 0.9:
        torque = -12.0 * angle - 3.0 * speed
    else:
        energy = speed**2 / 6.0 + GRAVITY / 2.0 * (cosine - 1.0)
        torque = -2.0 * math.copysign(1.0, energy * speed)
    return np.clip([torque], -2.0, 2.0).astype(np.float32)


def main() -> None:
    """Swing up once, behind contract, gate and record."""
    contract = Path(__file__).with_name('pendulum.yaml')
    robot = PluginRobot(load(contract).contract, plugin=PendulumPlugin)
    env = BoundaryEnv(contract, world='embedded', robot=robot)
    observation, info = env.reset(seed=1, options={'start': [3.0, 0.0]})
    terminated = truncated = False
    while not (terminated or truncated):
        observation, reward, terminated, truncated, info = env.step(swing_up(observation))
        print(info['step'], info['verdict'], f'{observation["pendulum"][0]:+.2f}, {reward:.2f}')
    print(info['ending'])
    env.close()


if __name__ == '__main__':
    main()
