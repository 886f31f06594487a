# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every motor driver has: a delay before a command works, and a watch for silence."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math
from typing import Generic, TypeVar

from boundary_env_ros.errors import InvalidState

Command = TypeVar('Command')


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival(Generic[Command]):
    """
    A command that came in.

    Attributes
    ----------
    command
        What was asked for.
    arrived_ns
        When the driver got it, ns, in the clock of the caller.

    """

    command: Command
    arrived_ns: int


class DelayedCommands(Generic[Command]):
    """
    Commands on their way from the driver's input to the motors.

    Parameters
    ----------
    delay
        From the arrival of a command to its effect, s.
    timeout
        After so long without a command the driver is on its own, s.

    """

    def __init__(self, *, delay: float, timeout: float) -> None:
        self._delay_ns = round(delay * 1e9)
        self._timeout_ns = round(timeout * 1e9)
        self.restart(0)

    def restart(self, at_ns: int) -> None:
        """Forget every command; nothing was heard up to at_ns."""
        self._queue: deque[Arrival[Command]] = deque()
        self._last_queued_ns = at_ns
        self._last_heard_ns = at_ns

    def receive(self, command: Command, arrived_ns: int) -> None:
        """
        Take a command.

        Raises InvalidState if it arrived before the command before it or before the restart.
        """
        if arrived_ns < self._last_queued_ns:
            raise InvalidState(
                'The command came too late (expected a command that arrived at '
                f'{self._last_queued_ns} ns (last command or reset) or later, got {arrived_ns} '
                'ns). It was not applied.'
            )
        self._last_queued_ns = arrived_ns
        self._queue.append(Arrival(command=command, arrived_ns=arrived_ns))

    def due(self, now_ns: int) -> tuple[Arrival[Command], ...]:
        """Return every command that takes effect up to now_ns and has not yet, in order."""
        for arrival in self._queue:
            if arrival.arrived_ns <= now_ns:
                self._last_heard_ns = arrival.arrived_ns
        effective = []
        while self._queue and self._queue[0].arrived_ns + self._delay_ns <= now_ns:
            effective.append(self._queue.popleft())
        return tuple(effective)

    def unchanged_until(self, now_ns: int) -> float:
        """Return up to when nothing new takes effect and none is missed, ns, seen from now."""
        changes = [self._last_heard_ns + self._timeout_ns]
        if self._queue:
            changes.append(self._queue[0].arrived_ns + self._delay_ns)
        return min((change for change in changes if change > now_ns), default=math.inf)

    def is_silent(self, now_ns: int) -> bool:
        """Tell whether no command has arrived for the timeout, as far as ``due`` has looked."""
        return now_ns - self._last_heard_ns >= self._timeout_ns
