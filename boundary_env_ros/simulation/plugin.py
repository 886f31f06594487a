# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A world that is no ROS robot, behind the boundary: a simulator or a game as a plugin.

Subclass :class:`EnvironmentPlugin`. It runs in a process of its own, which is started, asked and,
if it does not answer in time, killed by
:class:`~boundary_env_ros.simulation.plugin_robot.PluginRobot`; for contract, gate and record it is
a robot as any other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundary_env_ros.core.contract.sources import Vector

#: Numbers of a sensor, or pixels of a camera, shape ``(height, width, channels)``.
PluginReading: TypeAlias = 'Vector | NDArray[np.uint8]'


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSpace:
    """
    One sensor or actuator, and what its values can be.

    Attributes
    ----------
    name
        Its name, which is its topic in the contract.
    values
        A name for each of its values, in their order.
    low, high
        Bounds of each value; of an actuator, those that it obeys.
    unit
        Of each value.
    shape
        Of a camera: height, width and channels (1 or 3), 8 bits each; it has no ``values`` then.

    """

    name: str
    values: tuple[str, ...] = ()
    low: Vector = ()
    high: Vector = ()
    unit: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """
    What a plugin says when it has been started or reset.

    Attributes
    ----------
    sensors, actuators
        What there is.
    readings
        First reading of every sensor.
    time_step
        Seconds that an update usually takes of its world's time.
    rewards
        Names of the rewards that its updates may give.
    achieved
        The start state that it reached, by name of the sampled value.

    """

    sensors: tuple[PluginSpace, ...]
    actuators: tuple[PluginSpace, ...]
    readings: Mapping[str, PluginReading]
    time_step: float
    rewards: tuple[str, ...] = ()
    achieved: Mapping[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """
    What became of one update.

    Attributes
    ----------
    readings
        Of the sensors that have measured since the last update; all of them, or some.
    rewards
        By name; one that is missing is 0.
    done, success
        Whether the world is at its end, and whether that is a success. It is not updated again
        before a reset.
    elapsed
        Seconds that have passed in its world; None: its ``time_step``.

    """

    readings: Mapping[str, PluginReading]
    rewards: Mapping[str, float] = field(default_factory=dict)
    done: bool = False
    success: bool = False
    elapsed: float | None = None


class EnvironmentPlugin(ABC):
    """
    A world with sensors and actuators that keeps its own time.

    It is made without arguments, in its own process. Whatever a method raises ends the episode as
    ``simulation_failed`` with the words of the error; in a reset, as ``reset_failed``.
    """

    @abstractmethod
    def start(self, seed: int, target: Mapping[str, Vector]) -> Baseline:
        """
        Bring the world up, and say what there is.

        Parameters
        ----------
        seed
            For everything random in it: equal seeds give equal worlds.
        target
            Start state that the task sampled, by name; empty before the first episode.

        """

    def reset(self, seed: int, target: Mapping[str, Vector]) -> Baseline:
        """Begin again; by default it is closed and started."""
        self.close()
        return self.start(seed, target)

    @abstractmethod
    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        """
        Let time pass under the set-points of the actuators.

        Parameters
        ----------
        setpoints
            By name of the actuator, for each that the contract commands.
        seconds
            What is asked for: the ``time_step`` of the baseline. It says itself how much passed.

        """

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of the world."""
