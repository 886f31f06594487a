# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How often messages come, whatever a pause or a clock that was set lies between them."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

import numpy as np

from boundary_env_ros.core.timebase import NANOSECONDS

Intervals: TypeAlias = 'np.ndarray[Any, np.dtype[np.float64]]'

#: An interval that is longer than both is a pause, or a step of the clock: s, and in medians.
_JUMP, _MEDIANS = 1.0, 10.0
#: How far mean and median may be apart where messages come evenly, some of them lost.
_EVEN = 1.5


class Pace:
    """
    The intervals of a stream of messages, in memory that does not grow with it.

    Attributes
    ----------
    messages
        How many messages came.

    """

    def __init__(self) -> None:
        self.messages = self._last = 0
        #: How many there were of each, s; of four digits, so that they are not more and more.
        self._intervals: Counter[float] = Counter()

    def count(self, arrived: int) -> None:
        """Take a message that came at an instant, ns."""
        if self.messages:
            self._intervals[float(f'{(arrived - self._last) / NANOSECONDS:.3e}')] += 1
        self._last = arrived
        self.messages += 1

    def _split(self) -> tuple[Intervals, Intervals, Intervals]:
        """Return the intervals, s, and apart those in which its time jumped ahead and back."""
        every = np.repeat(np.array([*self._intervals]), np.array([*self._intervals.values()], int))
        most = max(_JUMP, _MEDIANS * _median(every))
        jumps = (every > most) | (every <= -_JUMP)
        return every[~jumps], every[jumps & (every > 0.0)], every[jumps & (every < 0.0)]

    @property
    def rate(self) -> float | None:
        """
        Return the messages per second by the median interval; None if there were not two of them.

        Messages that come in bunches have no typical interval: theirs is the mean.
        """
        if not (even := self._split()[0]).size:
            return None
        median, mean = _median(even), float(even.mean())
        period = median if mean / _EVEN < median < mean * _EVEN else mean
        return 1.0 / period if period > 0.0 else None

    def jumps(self) -> str:
        """Return how its time jumped, in words; empty if it did not: a pause, or a clock set."""
        return ' and '.join(
            f'{len(some)} time{"s" * (len(some) > 1)} {way}, by up to {abs(some).max():.3g} s'
            for way, some in zip(('ahead', 'back'), self._split()[1:], strict=True)
            if some.size
        )


def _median(values: Intervals) -> float:
    """Return the median, of an even number the lower one, which is a value; 0 if there is none."""
    return float(np.quantile(values, 0.5, method='lower')) if values.size else 0.0
