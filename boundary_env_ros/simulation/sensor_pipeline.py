# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When sensors capture, what gets lost, and when the rest is published."""

from __future__ import annotations

from collections.abc import Mapping
import heapq
import math
from typing import Generic, TypeVar

import numpy as np

from boundary_env_ros.simulation.cart_config import SensorConfig
from boundary_env_ros.simulation.motion_sensors import Sensor
from boundary_env_ros.simulation.readings import SensorReading, TrueState

State = TypeVar('State', bound=TrueState)


class SensorPipeline(Generic[State]):
    """
    Captures, holds readings back for their delay, and hands them out in order of publication.

    Capture k of a sensor is due k / rate after the reset and happens at the first end of a
    physics step from then on; its stamp is that instant. Every sensor draws from a generator of
    its own, made of the seed and its place: switching one sensor off leaves the noise of all
    others as it was.

    Parameters
    ----------
    configs
        Rate, delay and dropout of each sensor by its name, in the order in which readings of one
        instant are handed out.
    sensors
        What measures, by the same names.
    step_ns
        Of the physics, ns.
    robot
        Number of the robot whose they are, from 0; its sensors draw after those of the one before.

    Attributes
    ----------
    next_ns
        When the next capture of any sensor is due, ns; infinite before the first restart, and if
        all are switched off.

    """

    def __init__(
        self,
        configs: Mapping[str, SensorConfig],
        sensors: Mapping[str, Sensor[State]],
        step_ns: int,
        *,
        robot: int = 0,
    ) -> None:
        fastest = 1e9 / step_ns
        for name, config in configs.items():
            if config.rate > fastest:
                raise ValueError(
                    f'{name}: expected a rate of at most {fastest:g} Hz (the physics step), got '
                    f'{config.rate:g} Hz.'
                )
        self._channels = tuple((name, each, sensors[name]) for name, each in configs.items())
        self._robot, self._first_stream = robot, robot * len(configs)
        self._waiting: list[tuple[int, int, int, SensorReading]] = []
        self.next_ns: float = math.inf

    def restart(self, state: State, seed: int) -> None:
        """Begin again at the instant of state; what was on its way before is gone."""
        self._start_ns = state.at_ns
        self._captures = [0] * len(self._channels)
        self._dropouts = []
        self._waiting = []
        for rank, (_, _, sensor) in enumerate(self._channels):
            stream = self._first_stream + rank
            noise, dropout = np.random.SeedSequence(seed, spawn_key=(stream,)).spawn(2)
            self._dropouts.append(np.random.Generator(np.random.PCG64(dropout)))
            sensor.restart(state, np.random.Generator(np.random.PCG64(noise)))
        self._due_ns = {
            rank: self._start_ns
            for rank, (_, config, _) in enumerate(self._channels)
            if config.rate > 0.0
        }
        self.next_ns = min(self._due_ns.values(), default=math.inf)

    def capture(self, state: State) -> None:
        """Let every sensor that is due measure the state."""
        for rank, due_ns in self._due_ns.items():
            if due_ns <= state.at_ns:
                self._capture(rank, state)
        self.next_ns = min(self._due_ns.values(), default=math.inf)

    def publish(self, until_ns: int) -> tuple[SensorReading, ...]:
        """Return what was published up to until_ns and not returned yet, in that order."""
        readings = []
        while self._waiting and self._waiting[0][0] <= until_ns:
            readings.append(heapq.heappop(self._waiting)[-1])
        return tuple(readings)

    def _capture(self, rank: int, state: State) -> None:
        (name, config, sensor), sequence = self._channels[rank], self._captures[rank]
        fields = sensor.capture(state)
        lost = self._dropouts[rank].random() < config.dropout
        published_ns = state.at_ns + round(config.delay * 1e9)
        reading = SensorReading(
            robot=self._robot,
            sensor=name,
            captured_ns=state.at_ns,
            published_ns=published_ns,
            sequence=sequence,
            fields=None if lost else fields,
        )
        heapq.heappush(self._waiting, (published_ns, rank, sequence, reading))
        self._captures[rank] = sequence + 1
        self._due_ns[rank] = self._start_ns + round((sequence + 1) * 1e9 / config.rate)
