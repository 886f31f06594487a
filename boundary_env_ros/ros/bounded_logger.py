# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node logs, which has a bound: others choose much of it, and how often."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Any

from rclpy.impl.rcutils_logger import _internal_callers, RcutilsLogger
from rclpy.logging import LoggingSeverity

# Characters of one text, of many at once, and of those that follow, a second.
_LONGEST, _MOST, _RATE = 4_000, 100_000.0, 1_000.0

# rclpy tells by the line of code that calls how often a text was logged: not by one in here.
_internal_callers.append(str(Path(__file__).resolve()))


class BoundedLogger(RcutilsLogger):
    """
    The logger of a node, which whoever is in the domain cannot make fill a disk.

    A text is cut; and of many, those that are not fatal are left out, and counted in the next.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._room, self._at, self._left_out = _MOST, time.monotonic(), 0

    def log(self, message: str, severity: Any, **kwargs: Any) -> bool:
        """Log a text, as rclpy does, if there is room for it."""
        now = time.monotonic()
        self._room = min(_MOST, self._room + (now - self._at) * _RATE)
        self._at = now
        if severity < LoggingSeverity.FATAL:
            if len(message) > _LONGEST:
                message = f'{message[:_LONGEST]} [...]'
            if len(message) > self._room:
                self._left_out += 1
                return False
        if self._left_out:
            message += f' (Before this {self._left_out} texts were left out.)'
        if not super().log(message, severity, **kwargs):
            return False  # it was said lately
        self._room -= len(message)
        self._left_out = 0
        return True
