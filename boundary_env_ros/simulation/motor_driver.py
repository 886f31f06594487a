# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The cart's motor driver: from velocity commands to set speeds of the wheels.

It has what real drivers have: a delay before a command works, limits of its own, and a timeout
after which it brakes because no commands come any more.
"""

from __future__ import annotations

import math

from boundary_env_ros.errors import InvalidAction
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.delayed_commands import DelayedCommands


class MotorDriver:
    """
    Set speeds of the two wheels, step by step.

    Between reset and first command, and after the timeout, the driver brakes: the set speeds go
    to zero at the declared deceleration. It goes on braking until a fresh command takes effect;
    the old one never comes back.

    Attributes
    ----------
    applied
        The command at work, m/s and rad/s, scaled down where it was faster than the wheels may
        turn; None before the first.
    braking_since_ns
        Since when the driver brakes by itself for want of commands, ns; None if it does not.

    """

    def __init__(
        self, config: CartConfig, *, wheel_radius: float, wheel_separation: float
    ) -> None:
        self._config = config
        self._radius = wheel_radius
        self._half_separation = wheel_separation / 2.0
        self._commands: DelayedCommands[tuple[float, float]] = DelayedCommands(
            delay=config.actuator_delay, timeout=config.driver_timeout
        )
        self.restart(0)

    def restart(self, at_ns: int) -> None:
        """Forget every command; stand still from at_ns on."""
        self._commands.restart(at_ns)
        self._wheels = [0.0, 0.0]
        self._changing = False
        self.applied: tuple[float, float] | None = None
        self.braking_since_ns: int | None = at_ns

    def receive(self, linear: float, angular: float, arrived_ns: int) -> None:
        """
        Take a command, m/s and rad/s; it takes effect ``actuator_delay`` after arrived_ns.

        Raises InvalidAction if it is not finite, InvalidState if it arrived before the command
        before it or before the reset; the command that is at work stays at work.
        """
        if not (math.isfinite(linear) and math.isfinite(angular)):
            raise InvalidAction(
                f'The command is not finite (expected a finite command, got {linear} m/s, '
                f'{angular} rad/s). It was not applied.'
            )
        self._commands.receive((float(linear), float(angular)), arrived_ns)

    def wheel_speeds(self, begin_ns: int, step_ns: int) -> tuple[float, float]:
        """Return set speeds left and right, rad/s, for the step of step_ns from begin_ns on."""
        self._update(begin_ns)
        if self.braking_since_ns is not None:
            targets = (0.0, 0.0)
            change = self._config.braking_deceleration / self._radius * step_ns * 1e-9
        else:
            targets = self._wheel_targets()
            change = self._config.max_wheel_accel * step_ns * 1e-9
        for side, target in enumerate(targets):
            difference = target - self._wheels[side]
            self._wheels[side] += max(-change, min(change, difference))
        self._changing = (self._wheels[0], self._wheels[1]) != targets
        return self._wheels[0], self._wheels[1]

    def unchanged_until(self, begin_ns: int) -> float:
        """Return up to when the set speeds of the step from begin_ns on stay as they are, ns."""
        # As far as the last call of wheel_speeds went.
        return begin_ns if self._changing else self._commands.unchanged_until(begin_ns)

    def _update(self, now_ns: int) -> None:
        for linear, angular in self._commands.due(now_ns):
            self._apply(linear, angular)
        if self.braking_since_ns is None and self._commands.is_silent(now_ns):
            self.braking_since_ns = now_ns

    def _apply(self, linear: float, angular: float) -> None:
        rim = abs(linear) + abs(angular) * self._half_separation
        limit = self._config.max_wheel_speed * self._radius
        scale = min(1.0, limit / rim) if rim > 0.0 else 1.0
        self.applied = linear * scale, angular * scale
        self.braking_since_ns = None

    def _wheel_targets(self) -> tuple[float, float]:
        if self.applied is None:
            return 0.0, 0.0
        linear, angular = self.applied
        turn = angular * self._half_separation
        return (linear - turn) / self._radius, (linear + turn) / self._radius
