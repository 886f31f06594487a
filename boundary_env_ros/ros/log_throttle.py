# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Saying each of many things once in a while; rclpy throttles by the line of code only."""

from __future__ import annotations

from collections.abc import Hashable
import time

# Things whose names others choose may be very many.
_MOST = 1000


class Once:
    """
    Knows what was said lately.

    Parameters
    ----------
    seconds
        For how long each thing need not be said again, on the steady clock.

    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._said: dict[Hashable, float] = {}

    def due(self, what: Hashable) -> bool:
        """Return whether a thing is to be said now; if so, it has been."""
        now = time.monotonic()
        said = self._said.get(what)
        if said is not None and now - said < self._seconds:
            return False
        if len(self._said) >= _MOST:
            self._said.clear()
        self._said[what] = now
        return True
