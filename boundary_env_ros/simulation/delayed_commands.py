# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every motor driver has: a delay before a command works, and a watch for silence."""

from __future__ import annotations

from collections import deque
import math
from typing import Generic, TypeVar

from boundary_env_ros.errors import InvalidState

Command = TypeVar('Command')


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
        """Forget every command; nothing was received up to at_ns."""
        self._queue: deque[tuple[Command, int]] = deque()  # with its arrival, ns
        self._last_queued_ns = at_ns
        self._last_received_ns = at_ns

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
        self._queue.append((command, arrived_ns))

    def due(self, now_ns: int) -> tuple[Command, ...]:
        """Return every command that takes effect up to now_ns and has not yet, in order."""
        for _, arrived_ns in self._queue:
            if arrived_ns <= now_ns:
                self._last_received_ns = arrived_ns
        effective = []
        while self._queue and self._queue[0][1] + self._delay_ns <= now_ns:
            effective.append(self._queue.popleft()[0])
        return tuple(effective)

    def unchanged_until(self, now_ns: int) -> float:
        """Return up to when nothing new takes effect and none is missed, ns, seen from now."""
        changes = [self._last_received_ns + self._timeout_ns]
        if self._queue:
            changes.append(self._queue[0][1] + self._delay_ns)
        return min((change for change in changes if change > now_ns), default=math.inf)

    def is_silent(self, now_ns: int) -> bool:
        """Tell whether no command has arrived for the timeout, as far as ``due`` has looked."""
        return now_ns - self._last_received_ns >= self._timeout_ns
