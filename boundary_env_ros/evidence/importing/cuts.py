# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where the episodes of a bag begin and end; a bag does not say it, the import's options do.

A cut is called with what happens in the order in which it does. From ``start_at`` on, nanoseconds
of the time line, an episode is to begin as soon as every field has come; at ``end_at`` the one
that runs, or is to begin, ends by itself, which is called ``reason``. None: not known yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias


class AtCommands:
    """
    Episodes begin with a command.

    Parameters
    ----------
    gap
        Nanoseconds without a command after which one ends, and the next command begins another;
        None: there is one episode, to the end of the bag.

    """

    reason = 'the commands ceased'

    def __init__(self, gap: int | None = None) -> None:
        self.start_at: int | None = None
        self.end_at: int | None = None
        self._gap = gap
        self._last: int | None = None

    def command(self, now: int) -> None:
        """Begin with it, if it is the first after a gap, or go on."""
        last, self._last = self._last, now
        if last is None or (self._gap is not None and now - last > self._gap):
            self.start_at = now
        if self._gap is not None and self.start_at is not None:
            self.end_at = now + self._gap

    def ended(self) -> None:
        """Wait for the next gap: what is driven after an ending is the way back."""
        self.start_at = self.end_at = None


class AtRanges:
    """
    Episodes lie in ranges of time.

    Parameters
    ----------
    ranges
        Begin and end of each, nanoseconds of the time line, in order and apart; None: the end of
        the bag.

    """

    reason = 'the range ends'

    def __init__(self, ranges: Sequence[tuple[int, int | None]]) -> None:
        self._ranges = list(ranges)
        self.start_at: int | None
        self.end_at: int | None
        self.ended()

    def command(self, now: int) -> None:
        """Pass it over."""

    def ended(self) -> None:
        """Go on to the next range."""
        self.start_at, self.end_at = self._ranges.pop(0) if self._ranges else (None, None)


Cut: TypeAlias = AtCommands | AtRanges
