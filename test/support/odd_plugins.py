# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plugins that do what a plugin must not, or need not; imported in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import os
import time
from typing import Any

import numpy as np

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.simulation.plugin import Baseline, EnvironmentPlugin, PluginSpace, Update


class Plain(EnvironmentPlugin):
    """A place that is pushed along; done behind 5, a success behind 9."""

    sensor = PluginSpace(name='place', values=('x',), low=(-9.0,), high=(9.0,), unit=('m',))
    actuator = PluginSpace(name='push', values=('speed',), low=(-3.0,), high=(3.0,))
    time_step = 0.1
    rewards: tuple[str, ...] = ('way', 'cost')

    def start(
        self, seed: int, target: Mapping[str, Vector], options: Mapping[str, Any]
    ) -> Baseline:
        self.starts = getattr(self, 'starts', 0) + 1
        (self.x,) = target.get('start', (0.0,))
        if self.x > 4.0:
            raise ValueError('there is a wall')
        return Baseline(
            sensors=self.sensors(),
            actuators=(self.actuator,),
            readings=self.readings(),
            time_step=self.time_step,
            rewards=self.rewards,
            achieved={'start': (self.x,)},
        )

    def sensors(self) -> tuple[PluginSpace, ...]:
        return (self.sensor,)

    def readings(self) -> dict[str, object]:
        return {'place': (self.x,)}

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        (speed,) = setpoints['push']
        self.x += speed * seconds
        return Update(
            readings=self.readings(),
            rewards={'way': speed * seconds, 'cost': -0.25},
            done=self.x > 5.0,
            success=self.x > 9.0,
        )


class Hangs(Plain):
    """Answers no update."""

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        time.sleep(60.0)
        return super().update(setpoints, seconds)


class Dies(Plain):
    """Ends its process when it is pushed backwards."""

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        if setpoints['push'][0] < 0.0:
            os._exit(3)
        return super().update(setpoints, seconds)


class Raises(Plain):
    """Cannot be pushed backwards."""

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        if setpoints['push'][0] < 0.0:
            raise ZeroDivisionError('no way back')
        return super().update(setpoints, seconds)


class NamesNoReward(Plain):
    """Gives a reward that it did not name."""

    rewards = ('way',)


class StandsStill(Plain):
    """Lets no time pass."""

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        return Update(readings={}, elapsed=0.0)


class MeasuresTooMuch(Plain):
    """Shows two numbers where it has one."""

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        return Update(readings={'place': (0.0, 1.0)})


class GoesFarther(Plain):
    """Takes 0.25 s for every update, whatever it is asked for."""

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        self.x += 1.0
        return Update(readings=self.readings(), elapsed=0.25)


class Talks(Plain):
    """Prints while it works."""

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        print('{"call": "update"}', flush=True)
        return super().update(setpoints, seconds)


class Unbounded(Plain):
    """Does not say what its actuator obeys."""

    actuator = PluginSpace(name='push', values=('speed',))


class Sees(Plain):
    """Has a camera."""

    def sensors(self) -> tuple[PluginSpace, ...]:
        return (self.sensor, PluginSpace(name='screen', shape=(4, 6, 3)))

    def readings(self) -> dict[str, object]:
        return {'place': (self.x,), 'screen': np.full((4, 6, 3), int(10 * self.x), np.uint8)}


class Remembers(Plain):
    """Tells its place, knows a wall, and can be put where it was."""

    def start(
        self, seed: int, target: Mapping[str, Vector], options: Mapping[str, Any]
    ) -> Baseline:
        baseline = super().start(seed, target, options)
        self.x = options.get('state', {}).get('x', self.x)
        return replace(baseline, readings=self.readings(), info={'place': self.x})

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        return replace(super().update(setpoints, seconds), info={'place': self.x})

    def check(self, agent: str, setpoints: Mapping[str, Vector]) -> str:
        return 'there is a wall' if self.x + 0.1 * setpoints['push'][0] < 0.0 else ''

    def save(self) -> Mapping[str, Any]:
        return {'x': self.x}


class NoPlugin:
    """A class that is none."""
