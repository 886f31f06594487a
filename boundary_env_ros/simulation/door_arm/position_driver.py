# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The driver of a group of joints: from position commands to set positions, step by step.

It has what real drivers have: a delay before a command works, limits of its own, and a timeout
after which it holds its joints where they are, because no commands come any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
import math

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import InvalidAction
from boundary_env_ros.simulation.delayed_commands import DelayedCommands


class OnSilence(Enum):
    """
    Where a driver holds its joints after the timeout.

    ``MEASURED``: where they are, so that an arm neither jumps nor presses on. ``SET``: where they
    were to be, so that a gripper does not let go of what it holds.
    """

    MEASURED = 'measured'
    SET = 'set'


class PositionDriver:
    """
    Set positions of some joints.

    A set position goes to its target on a straight line, in ``duration`` or, if that would be
    faster than ``max_speed``, at that speed. Between reset and first command, and after the
    timeout, it stays.

    Parameters
    ----------
    low, high
        Limits of the joints, rad or m.
    max_speed
        Fastest that a set position moves, rad/s or m/s.
    duration
        From the effect of a command to its target, s.
    delay
        From the arrival of a command to its effect, s.
    timeout
        After so long without a command the driver holds its joints, s.
    on_silence
        Where it does.

    Attributes
    ----------
    applied
        The command at work, brought inside the limits; None before the first.
    holding_since_ns
        Since when the joints stay for want of commands, ns; None if they do not.

    """

    def __init__(
        self,
        *,
        low: Sequence[float],
        high: Sequence[float],
        max_speed: float,
        duration: float,
        delay: float,
        timeout: float,
        on_silence: OnSilence,
    ) -> None:
        self._low, self._high = tuple(low), tuple(high)
        self._max_speed = max_speed
        self._duration = duration
        self._on_silence = on_silence
        self._commands: DelayedCommands[Vector] = DelayedCommands(delay=delay, timeout=timeout)
        self.restart(0, self._low)

    def restart(self, at_ns: int, positions: Sequence[float]) -> None:
        """Forget every command; stay at these positions from at_ns on."""
        self._commands.restart(at_ns)
        self._set = list(positions)
        self._target = tuple(positions)
        self._speed = (0.0,) * len(self._set)
        self.applied: Vector | None = None
        self.holding_since_ns: int | None = at_ns

    def receive(self, targets: Vector, arrived_ns: int) -> None:
        """
        Take a command, rad or m; it takes effect ``delay`` after arrived_ns.

        Raises InvalidAction if it is not finite or not one number for each joint, InvalidState if
        it arrived before the command before it or before the reset; the command that is at work
        stays at work.
        """
        if len(targets) != len(self._low) or not all(map(math.isfinite, targets)):
            raise InvalidAction(
                f'Wrong command (expected a finite position for each of {len(self._low)} joints, '
                f'got {list(targets)}). It was not applied.'
            )
        self._commands.receive(tuple(targets), arrived_ns)

    def set_positions(
        self, begin_ns: int, step_ns: int, measure: Callable[[], Sequence[float]]
    ) -> Sequence[float]:
        """
        Return the set position of each joint for the step of step_ns from begin_ns on.

        Parameters
        ----------
        begin_ns, step_ns
            ns.
        measure
            Returns where the joints are, rad or m.

        """
        for command in self._commands.due(begin_ns):
            self._apply(command)
        if self.holding_since_ns is None and self._commands.is_silent(begin_ns):
            self._hold(begin_ns, measure())
        seconds = step_ns * 1e-9
        # Loops: for a handful of numbers NumPy takes longer than the physics.
        for joint, target in enumerate(self._target):
            most = self._speed[joint] * seconds
            self._set[joint] += max(-most, min(most, target - self._set[joint]))
        return tuple(self._set)

    def _apply(self, command: Vector) -> None:
        self._target = self._inside(command)
        self._speed = tuple(
            min(self._max_speed, abs(target - position) / self._duration)
            if self._duration
            else self._max_speed
            for target, position in zip(self._target, self._set, strict=True)
        )
        self.applied = self._target
        self.holding_since_ns = None

    def _hold(self, now_ns: int, measured: Sequence[float]) -> None:
        if self._on_silence is OnSilence.MEASURED:
            self._set = list(self._inside(measured))
        self._target = tuple(self._set)
        self.holding_since_ns = now_ns

    def _inside(self, positions: Sequence[float]) -> Vector:
        return tuple(
            max(low, min(high, position))
            for low, high, position in zip(self._low, self._high, positions, strict=True)
        )
