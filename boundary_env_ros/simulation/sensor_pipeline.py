# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When sensors capture, what gets lost, and when the rest is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import heapq
import math
from typing import Generic, Protocol, TypeVar

import numpy as np

from boundary_env_ros.simulation.config import SensorConfig
from boundary_env_ros.simulation.motion_sensors import Sensor
from boundary_env_ros.simulation.readings import Reading


class Instantaneous(Protocol):
    """True state of a robot at one instant."""

    @property
    def at_ns(self) -> int:
        """When, ns, in the clock of the caller."""
        ...


State = TypeVar('State', bound=Instantaneous)


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel(Generic[State]):
    """
    A sensor with its name and its declared way to the listener.

    Attributes
    ----------
    name
        Of the sensor, as its readings carry it.
    config
        Rate, delay and dropout.
    sensor
        What measures.

    """

    name: str
    config: SensorConfig
    sensor: Sensor[State]


class SensorPipeline(Generic[State]):
    """
    Captures, holds readings back for their delay, and hands them out in order of publication.

    Capture k of a sensor is due k / rate after the reset and happens at the first end of a
    physics step from then on; its stamp is that instant. Every channel draws from a generator of
    its own, made of the seed and its place: switching one sensor off leaves the noise of all
    others as it was.

    Parameters
    ----------
    channels
        The sensors, in the order in which readings of one instant are handed out.
    step_ns
        Of the physics, ns.
    first_stream
        Place of the first channel among all that draw from one seed.

    """

    def __init__(
        self, channels: Sequence[Channel[State]], step_ns: int, *, first_stream: int = 0
    ) -> None:
        fastest = 1e9 / step_ns
        for channel in channels:
            if channel.config.rate > fastest:
                raise ValueError(
                    f'{channel.name}: expected a rate of at most {fastest:g} Hz (the physics '
                    f'step), got {channel.config.rate:g} Hz.'
                )
        self._channels = tuple(channels)
        self._first_stream = first_stream

    def restart(self, state: State, seed: int) -> None:
        """Begin again at the instant of state; what was on its way before is gone."""
        self._start_ns = state.at_ns
        self._captures = [0] * len(self._channels)
        self._dropouts = []
        self._waiting: list[tuple[int, int, int, Reading]] = []
        for rank, channel in enumerate(self._channels):
            stream = self._first_stream + rank
            noise, dropout = np.random.SeedSequence(seed, spawn_key=(stream,)).spawn(2)
            self._dropouts.append(np.random.Generator(np.random.PCG64(dropout)))
            channel.sensor.restart(state, np.random.Generator(np.random.PCG64(noise)))
        self._due_ns = {
            rank: self._start_ns
            for rank, channel in enumerate(self._channels)
            if channel.config.rate > 0.0
        }
        self._next_ns: float = min(self._due_ns.values(), default=math.inf)

    @property
    def next_ns(self) -> float:
        """When the next capture of any sensor is due, ns; infinite if all are switched off."""
        return self._next_ns

    def is_due(self, now_ns: int) -> bool:
        """Tell whether any sensor has to capture at now_ns."""
        return self._next_ns <= now_ns

    def capture(self, state: State) -> None:
        """Let every sensor that is due measure the state."""
        for rank, due_ns in self._due_ns.items():
            if due_ns <= state.at_ns:
                self._capture(rank, state)
        self._next_ns = min(self._due_ns.values(), default=math.inf)

    def publish(self, until_ns: int) -> tuple[Reading, ...]:
        """Return what was published up to until_ns and not returned yet, in that order."""
        readings = []
        while self._waiting and self._waiting[0][0] <= until_ns:
            readings.append(heapq.heappop(self._waiting)[-1])
        return tuple(readings)

    def _capture(self, rank: int, state: State) -> None:
        channel, sequence = self._channels[rank], self._captures[rank]
        payload = channel.sensor.capture(state)
        lost = self._dropouts[rank].random() < channel.config.dropout
        published_ns = state.at_ns + round(channel.config.delay * 1e9)
        reading = Reading(
            sensor=channel.name,
            captured_ns=state.at_ns,
            published_ns=published_ns,
            sequence=sequence,
            payload=None if lost else payload,
        )
        heapq.heappush(self._waiting, (published_ns, rank, sequence, reading))
        self._captures[rank] = sequence + 1
        self._due_ns[rank] = self._start_ns + round((sequence + 1) * 1e9 / channel.config.rate)
