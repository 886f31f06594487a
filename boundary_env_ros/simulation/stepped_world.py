# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How the time of simulated robots passes: physics in fixed steps, sensors in between.

Steps are counted from the restart. ``advance`` runs those which fit and keeps the rest for the
next call, so how the time is cut into calls changes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from heapq import merge
from typing import Generic

from boundary_env_ros.errors import InvalidState, ResetFailed, SimulationFailed
from boundary_env_ros.simulation.readings import SensorReading
from boundary_env_ros.simulation.sensor_pipeline import SensorPipeline, State


class SteppedWorld(ABC, Generic[State]):
    """
    Physics, sensors and the present time; time is an argument of every call.

    Parameters
    ----------
    step_ns
        Length of a physics step, ns.
    pipelines
        The sensors of each robot that is simulated.
    start_ns
        Present time, ns, in a clock of the caller's choice; it never runs backwards.

    Attributes
    ----------
    now_ns
        Time up to which all was advanced, ns.
    physics_ns
        End of the last physics step, ns: at most one step before ``now_ns``.

    """

    def __init__(
        self, *, step_ns: int, pipelines: Sequence[SensorPipeline[State]], start_ns: int
    ) -> None:
        self._step_ns = step_ns
        self._pipelines = tuple(pipelines)
        self._failure: str | None = None
        self.now_ns = self.physics_ns = start_ns

    @abstractmethod
    def _state(self, robot: int) -> State:
        """Return the true state of a robot at ``physics_ns``."""

    @abstractmethod
    def _step(self, begin_ns: int, most: int) -> int:
        """
        Run physics steps in one go, for as long as nothing sets anything again.

        The first begins at ``begin_ns``; returns how many were run, from 1 to ``most``. It may
        raise SimulationFailed.
        """

    def _check_restart(self, seed: int, at_ns: int) -> None:
        """Raise ResetFailed if a restart could not be with this seed, or then."""
        if at_ns < self.now_ns:
            raise ResetFailed(
                f'Time cannot run backwards (expected a reset at {self.now_ns} ns (now) or '
                f'later, got {at_ns} ns).'
            )
        if seed < 0:
            raise ResetFailed(f'Wrong seed (expected a seed of 0 or more, got {seed}).')

    def _restart(self, seed: int, at_ns: int) -> None:
        """Begin again in the present state; what was on its way before is gone."""
        self._failure = None
        self.now_ns = self.physics_ns = at_ns
        for robot, pipeline in enumerate(self._pipelines):
            state = self._state(robot)
            pipeline.restart(state, seed)
            pipeline.capture(state)

    def advance(self, until_ns: int) -> tuple[SensorReading, ...]:
        """
        Let time pass and return every reading that is published by then, in that order.

        Of one instant, those of the first robot come first. Readings that got lost are among them,
        ``dropped``, at the time they would have come. Raises SimulationFailed when the physics
        diverges, and again until the next restart.

        Parameters
        ----------
        until_ns
            New present time, ns. Before ``now_ns`` raises InvalidState.

        """
        if until_ns < self.now_ns:
            raise InvalidState(
                f'Time cannot run backwards (expected to advance to {self.now_ns} ns (now) or '
                f'later, got {until_ns} ns).'
            )
        if self._failure is not None:
            raise SimulationFailed(self._failure)
        while (steps := (until_ns - self.physics_ns) // self._step_ns) > 0:
            # A sensor captures at the first end of a step from when it is due.
            due_ns = min(pipeline.next_ns for pipeline in self._pipelines)
            if due_ns < until_ns:
                until_due = -(-(int(due_ns) - self.physics_ns) // self._step_ns)
                steps = min(steps, max(1, until_due))
            try:
                self.physics_ns += self._step_ns * self._step(self.physics_ns, steps)
            except SimulationFailed as error:
                self._failure = str(error)
                raise
            for robot, pipeline in enumerate(self._pipelines):
                if pipeline.next_ns <= self.physics_ns:
                    pipeline.capture(self._state(robot))
        self.now_ns = until_ns
        published = (pipeline.publish(until_ns) for pipeline in self._pipelines)
        return tuple(merge(*published, key=lambda reading: reading.published_ns))
