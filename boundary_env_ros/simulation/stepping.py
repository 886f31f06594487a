# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How the time of simulated robots passes: physics in fixed steps, sensors in between.

Steps are counted from the restart. ``advance`` runs those which fit and keeps the rest for the
next call, so how the time is cut into calls changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import merge
from typing import Generic, TypeVar

from boundary_env_ros.errors import InvalidState, ResetFailed, SimulationFailed
from boundary_env_ros.simulation.readings import Reading
from boundary_env_ros.simulation.sensor_pipeline import Instantaneous, SensorPipeline

State = TypeVar('State', bound=Instantaneous)


class Stepping(Generic[State]):
    """
    Physics, sensors and the present time; time is an argument of every call.

    Parameters
    ----------
    step_ns
        Length of a physics step, ns.
    step
        Runs physics steps in one go, for as long as nothing sets anything again: given when the
        first begins, ns, and the most that there may be, it returns how many it ran, at least
        one. It may raise SimulationFailed.
    bodies
        The robots that are simulated: the sensors of each, and what returns its true state, given
        when that is, ns.
    start_ns
        Present time, ns, in a clock of the caller's choice; it never runs backwards.

    """

    def __init__(
        self,
        *,
        step_ns: int,
        step: Callable[[int, int], int],
        bodies: Sequence[tuple[SensorPipeline[State], Callable[[int], State]]],
        start_ns: int,
    ) -> None:
        self._step_ns = step_ns
        self._step = step
        self._bodies = tuple(bodies)
        self._failure: str | None = None
        self._now_ns = self._physics_ns = start_ns

    @property
    def now_ns(self) -> int:
        """Time up to which all was advanced, ns."""
        return self._now_ns

    @property
    def physics_ns(self) -> int:
        """End of the last physics step, ns: at most one step before ``now_ns``."""
        return self._physics_ns

    def check_restart(self, seed: int, at_ns: int) -> None:
        """Raise ResetFailed if a restart could not be with this seed, or then."""
        if at_ns < self._now_ns:
            raise ResetFailed(
                f'Time cannot run backwards (expected a reset at {self._now_ns} ns (now) or '
                f'later, got {at_ns} ns).'
            )
        if seed < 0:
            raise ResetFailed(f'Wrong seed (expected a seed of 0 or more, got {seed}).')

    def restart(self, seed: int, at_ns: int) -> None:
        """Begin again in the present state; what was on its way before is gone."""
        self.check_restart(seed, at_ns)
        self._failure = None
        self._now_ns = self._physics_ns = at_ns
        for pipeline, true_state in self._bodies:
            state = true_state(at_ns)
            pipeline.restart(state, seed)
            pipeline.capture(state)

    def advance(self, until_ns: int) -> tuple[tuple[int, Reading], ...]:
        """
        Let time pass and return every reading that is published by then, in that order.

        Readings that got lost are among them, ``dropped``, at the time they would have come.
        Raises SimulationFailed when the physics diverges, and again until the next restart.

        Parameters
        ----------
        until_ns
            New present time, ns. Before ``now_ns`` raises InvalidState.

        Returns
        -------
        tuple
            Each reading with the number of the robot whose it is; of one instant, those of the
            first come first.

        """
        if until_ns < self._now_ns:
            raise InvalidState(
                f'Time cannot run backwards (expected to advance to {self._now_ns} ns (now) or '
                f'later, got {until_ns} ns).'
            )
        if self._failure is not None:
            raise SimulationFailed(self._failure)
        while (steps := (until_ns - self._physics_ns) // self._step_ns) > 0:
            # A sensor captures at the first end of a step from when it is due.
            due_ns = min(pipeline.next_ns for pipeline, _ in self._bodies)
            if due_ns < until_ns:
                until_due = -(-(int(due_ns) - self._physics_ns) // self._step_ns)
                steps = min(steps, max(1, until_due))
            try:
                self._physics_ns += self._step_ns * self._step(self._physics_ns, steps)
            except SimulationFailed as error:
                self._failure = str(error)
                raise
            for pipeline, true_state in self._bodies:
                if pipeline.is_due(self._physics_ns):
                    pipeline.capture(true_state(self._physics_ns))
        self._now_ns = until_ns
        published = (
            [(number, reading) for reading in pipeline.publish(until_ns)]
            for number, (pipeline, _) in enumerate(self._bodies)
        )
        return tuple(merge(*published, key=lambda item: item[1].published_ns))
