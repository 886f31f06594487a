# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How the world in Gazebo is kept apart from others, stepped, and the cart put in its place.

Seen on a real server: it answers before it has done what it was asked for, so only what it says of
the world tells when it has. It adds up what is asked meanwhile. A cart that is put elsewhere keeps
its speed. And the twist of its true odometry is a mean of the last ten samples, which is false
after a leap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
import secrets
import time
from typing import Protocol

import numpy as np

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import SimulationFailed
from boundary_env_ros.simulation.cart_state import BodyState, ResetTarget

# For so long the drive brakes before the cart is put elsewhere: it comes to rest from 0.9 m/s, s.
_BRAKING = 0.6
# By how much the world advances to see where the cart is, and how often it is polled, s.
_POLL, _POLLS = 0.02, 100
# Where the cart's wheels stand on the floor: base_link is at their middle, m.
_HEIGHT = 0.1
# What the cart may be away from its place (m, rad) and from rest (m/s, rad/s).
_AWAY, _TURNED, _SPEED, _SPIN = 0.05, 0.05, 0.02, 0.05

# The name of a partition of the transport, of Gazebo and of its releases up to Fortress.
_VARIABLES = ('GZ_PARTITION', 'IGN_PARTITION')


def partition(environment: Mapping[str, str]) -> dict[str, str]:
    """
    Return the environment variables by which server and bridge find each other alone.

    A server that was left over has a world of the same name, and answers in place of this one.

    Parameters
    ----------
    environment
        Variables that are set: a partition that is named there is taken.

    """
    given = next(filter(None, map(environment.get, _VARIABLES)), '')
    return dict.fromkeys(_VARIABLES, given or f'boundary_{secrets.token_hex(4)}')


class Server(Protocol):
    """What is asked of Gazebo, and what comes from it."""

    @property
    def truth(self) -> BodyState | None:
        """The last true state of the cart that came."""

    def world_time(self) -> int:
        """Return the time of the world as far as it was received, ns."""

    def halt(self) -> None:
        """Tell the drive to stand."""

    async def step(self, steps: int) -> None:
        """Ask for steps of a world that is paused."""

    async def place(self, entity: str, x: float, y: float, z: float, yaw: float) -> None:
        """Ask for an entity to be put in a place, m and rad."""

    async def moment(self) -> None:
        """Let messages come in."""


class GazeboWorld:
    """
    The world in Gazebo, whose time passes by requests.

    Parameters
    ----------
    server
        Whom it asks.
    step
        Seconds of one step.
    patience
        Seconds, steady, for the time of the world to come.
    paused
        Whether its time passes by steps only.
    steady
        Clock of the patience, s.

    """

    def __init__(
        self,
        server: Server,
        *,
        step: float,
        patience: float,
        paused: bool,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._server = server
        self._step = step
        self._patience = patience
        self._paused = paused
        self._steady = steady
        # The time of the world when it has done all that it was asked for.
        self._until = 0

    async def advance(self, seconds: float) -> int:
        """
        Ask for time to pass, in whole steps, and return what time it is in the world then, ns.

        Raises
        ------
        SimulationFailed
            If it is not stepped, or what was asked before is not done.

        """
        if not self._paused:
            return self._server.world_time() + round(seconds * NANOSECONDS)
        while self._server.world_time() < self._until:
            await self.reach(self._until)
        steps = max(1, math.ceil(seconds / self._step - 1e-6))
        until = self._server.world_time() + round(steps * self._step * NANOSECONDS)
        self._until = until
        try:
            await self._server.step(steps)
        except SimulationFailed:
            self._until = 0
            raise
        return until

    async def reach(self, until: int) -> None:
        """
        Come back when the world's time has come so far, ns.

        Raises
        ------
        SimulationFailed
            If it does not within the patience.

        """
        deadline = self._steady() + self._patience
        while self._server.world_time() < until:
            if self._steady() > deadline:
                self._until = 0  # it will not be done any more
                raise SimulationFailed(
                    f'/clock did not come in time (expected {until / NANOSECONDS:g} s within '
                    f'{self._patience:g} s, got {self._server.world_time() / NANOSECONDS:g} s). '
                    'Look at the bridge.'
                )
            await self._server.moment()

    async def put(self, target: ResetTarget, entity: str, goal: str) -> BodyState:
        """
        Put cart and goal in their places, at rest, and return where the cart really is.

        Parameters
        ----------
        target
            Where they belong.
        entity
            Name of the cart.
        goal
            Name of the mark of the goal; empty: there is none.

        Raises
        ------
        SimulationFailed
            If it is not put there, or is not there in time.

        """
        self._server.halt()
        before = await self._pass(_BRAKING)
        x, y, yaw = target.x, target.y, target.yaw
        await self._server.place(entity, x, y, _HEIGHT, yaw)
        if goal:
            await self._server.place(goal, target.goal_x, target.goal_y, 0.0, 0.0)
        wrong = 'nothing new of it on ground_truth; look at the bridge'
        for _ in range(_POLLS):
            await self._pass(_POLL)
            state = self._server.truth
            if state is None or state.at_ns <= before:
                continue
            wrong = _wrong(state, target)
            if not wrong:
                return state
        raise SimulationFailed(
            f'{entity} is not at rest in its place {_POLLS * _POLL:g} s of simulated time after '
            f'it was put there (expected ({x:.2f}, {y:.2f}, {yaw:.2f}), got {wrong}).'
        )

    async def _pass(self, seconds: float) -> int:
        until = await self.advance(seconds)
        await self.reach(until)
        return until


def _wrong(state: BodyState, target: ResetTarget) -> str:
    """Return where the cart is instead of at rest in its place; empty if it is there."""
    truth = state.truth()
    speed = float(np.linalg.norm(state.velocity))
    there = (
        math.hypot(truth.x - target.x, truth.y - target.y) < _AWAY
        and abs(math.remainder(truth.yaw - target.yaw, 2.0 * math.pi)) < _TURNED
        and speed < _SPEED
        and float(np.linalg.norm(state.angular_velocity)) < _SPIN
    )
    return '' if there else f'({truth.x:.2f}, {truth.y:.2f}, {truth.yaw:.2f}), {speed:.2f} m/s'
