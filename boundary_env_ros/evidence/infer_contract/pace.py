# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How often messages come, whatever a pause or a clock that was set lies between them."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TypeAlias

from boundary_env_ros.core.timebase import NANOSECONDS

#: How many intervals there were of each length, s.
Intervals: TypeAlias = Counter[float]

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
        #: Of four digits, so that they are not more and more.
        self._intervals: Intervals = Counter()

    def count(self, arrived: int) -> None:
        """Take a message that came at an instant, ns."""
        if self.messages:
            self._intervals[float(f'{(arrived - self._last) / NANOSECONDS:.3e}')] += 1
        self._last = arrived
        self.messages += 1

    def _split(self) -> tuple[Intervals, Intervals, Intervals]:
        """Return the intervals, and apart those in which its time jumped ahead and back."""
        most = max(_JUMP, _MEDIANS * _median(self._intervals))
        even, ahead, back = Intervals(), Intervals(), Intervals()
        for each, many in self._intervals.items():
            (ahead if each > most else even if each > -_JUMP else back)[each] = many
        return even, ahead, back

    @property
    def rate(self) -> float | None:
        """
        Return the messages per second by the median interval; None if there were not two of them.

        Messages that come in bunches have no typical interval: theirs is the mean.
        """
        even, *_ = self._split()
        mean = sum(each * many for each, many in even.items()) / max(1, even.total())
        median = _median(even)
        period = median if mean / _EVEN < median < mean * _EVEN else mean
        return 1.0 / period if period > 0.0 else None

    def jumps(self) -> str:
        """Return how its time jumped, in words; empty if it did not: a pause, or a clock set."""
        return ' and '.join(
            f'{some.total()} time{"s" * (some.total() > 1)} {way}, '
            f'by up to {max(map(abs, some)):.3g} s'
            for way, some in zip(('ahead', 'back'), self._split()[1:], strict=True)
            if some
        )


def _median(counted: Intervals) -> float:
    """Return the median, of an even number the lower one, which is a value; 0 if there is none."""
    ordered = sorted(counted)
    sums = accumulate(counted[each] for each in ordered)
    half = counted.total() / 2.0
    return next((each for each, below in zip(ordered, sums, strict=True) if below >= half), 0.0)
