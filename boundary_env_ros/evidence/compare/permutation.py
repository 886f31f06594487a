# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Tests over whole episodes: what a difference could be if the episodes had been dealt by chance.

Steps of one episode depend on each other, so a step counts for nothing by itself: every quantity
is one number for each episode, and it is the episodes that change sides. That supposes no
distribution. Of a proportion it is Fisher's exact test.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
import math

import numpy as np
import numpy.typing as npt

from boundary_env_ros.frozen import frozen

Array = npt.NDArray[np.float64]

#: Deals that are drawn where there are more than so many; else all are looked at.
DEALS = 4999

#: Episodes of all drawn deals together: of very many episodes fewer deals are drawn, 999 at least.
_MOST = 20_000_000

_SEED = 20261122
#: Rounding of a mean, as a share of the values.
_ROUNDING = 1e-12
#: What scatters by less than this share of its greatest value does not scatter.
NO_SPREAD = 1000.0 * _ROUNDING
#: Slack for sums that are equal but for the order of their parts.
_TIE = 1e-9


@frozen
class TestedFamily:
    """
    One family of quantities, tested together.

    Attributes
    ----------
    each
        Probability of each quantity, corrected for their number, shape (n,): how often chance
        makes any of them differ as much. NaN for what does not vary.
    first, second
        Means over the episodes of each side, shape (n,).
    low, high
        Interval of ``second - first`` that the test does not refuse, shape (n,); infinite where
        there are too few episodes for one. Each by itself: not corrected for their number.
    episodes
        How many of each side had a value.

    """

    each: Array
    first: Array
    second: Array
    low: Array
    high: Array
    episodes: tuple[int, int]

    @property
    def p(self) -> float:
        """Return the least of the probabilities, which is that of the family."""
        return float(np.nanmin(self.each))

    @property
    def difference(self) -> Array:
        """Return ``second - first``, shape (n,)."""
        return self.second - self.first


class Deals:
    """
    All ways, or many drawn ones, to deal the episodes to the two sides.

    Parameters
    ----------
    first, second
        Number of episodes of each side.

    Attributes
    ----------
    least
        Smallest p that there can be at all with so many episodes.

    """

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second
        count, total = first + second, math.comb(first + second, second)
        drawn = min(DEALS, max(999, _MOST // max(count, 1)))
        self._exhaustive = total <= DEALS + 1
        # The deal that was recorded, and the other way round.
        self.least = min(1.0, (1 + (first == second)) / total)
        #: Each row a deal: 1 for what is on the second side.
        if self._exhaustive:
            self._rows = np.zeros((total, count))
            for row, chosen in zip(self._rows, combinations(range(count), second), strict=True):
                row[list(chosen)] = 1.0
        else:
            self.least = max(self.least, 1.0 / (drawn + 1))
            one = np.repeat([0.0, 1.0], [first, second])
            random = np.random.default_rng(_SEED)
            self._rows = random.permuted(np.tile(one, (drawn, 1)), axis=1)

    def test(self, first: Array, second: Array, *, alpha: float) -> TestedFamily | None:
        """
        Test whether the means differ.

        Parameters
        ----------
        first, second
            Shape (episodes of the side, n); NaN where an episode has no value.
        alpha
            One minus the confidence of the intervals.

        Returns
        -------
        Compared or None
            None if there are fewer than two values on a side, or nothing varies at all.

        """
        both = np.concatenate([first, second])
        known = np.isfinite(both)
        counts = known[: self.first].sum(axis=0), known[self.first :].sum(axis=0)
        usable = (counts[0] >= 2) & (counts[1] >= 2)
        both = np.where(known, both, 0.0)
        count = np.maximum(counts[0] + counts[1], 1)
        # How much all values scatter together: the permutations must not change it.
        scale = np.sqrt((((both - both.sum(axis=0) / count) * known) ** 2).sum(axis=0) / count)
        greatest = np.maximum(np.abs(both).max(axis=0, initial=0.0), 1e-300)
        varies = usable & (scale > NO_SPREAD * greatest)
        if not varies.any():
            return None
        means = [
            np.where(usable, side.sum(axis=0) / np.maximum(number, 1), np.nan)
            for side, number in zip((both[: self.first], both[self.first :]), counts, strict=True)
        ]
        found = np.where(usable, means[1] - means[0], 0.0)
        dealt, shifted = self._dealt(both, known)
        # As standard errors go: else a quantity that few episodes have would outshout the others.
        unit = np.where(varies, scale / np.sqrt(count), np.inf)
        most = (np.abs(np.where(varies, dealt, 0.0)) / unit).max(axis=1)
        # What the order of a sum makes of equal numbers must not distinguish them.
        slack = _TIE + _ROUNDING * greatest / unit
        each = np.array(
            [self._share(most, abs(d) / u - s) for d, u, s in zip(found, unit, slack, strict=True)]
        )
        each[~varies] = np.nan
        low, high = self._intervals(found, dealt, shifted, varies, alpha)
        return TestedFamily(
            each=each,
            first=means[0],
            second=means[1],
            low=low,
            high=high,
            episodes=(int(counts[0].max()), int(counts[1].max())),
        )

    def _dealt(self, both: Array, known: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
        """
        Return the difference of means of every deal, shape (deals, n).

        And by how much it changes where the second side is shifted by one.
        """
        there = known.astype(float)
        second = self._rows @ there
        rest = there.sum(axis=0) - second
        # A deal that leaves a side without any value has no difference.
        empty = (second == 0.0) | (rest == 0.0)
        second, rest = np.maximum(second, 1.0), np.maximum(rest, 1.0)

        def apart(values: Array) -> Array:
            on_second = self._rows @ values
            difference = on_second / second - (values.sum(axis=0) - on_second) / rest
            return np.where(empty, 0.0, difference)

        shift = there.copy()
        shift[: self.first] = 0.0
        return apart(both), apart(shift)

    def _share(self, dealt: Array, found: float) -> float:
        count = int((dealt >= found).sum())
        return count / len(dealt) if self._exhaustive else (1 + count) / (1 + len(dealt))

    def _intervals(
        self,
        found: Array,
        dealt: Array,
        shifted: Array,
        varies: npt.NDArray[np.bool_],
        alpha: float,
    ) -> tuple[Array, Array]:
        """Return all shifts of the second side that the test of one quantity does not refuse."""
        low, high = np.full(len(found), -np.inf), np.full(len(found), np.inf)
        for i in np.flatnonzero(varies):
            d, t, c = float(found[i]), dealt[:, i], shifted[:, i]
            # A deal speaks for a shift s where |t - c s| >= |d - s|, which is between two points.
            with np.errstate(divide='ignore', invalid='ignore'):
                ends = np.stack([(d - t) / (1.0 - c), (d + t) / (1.0 + c)])
            always = np.abs(np.abs(c) - 1.0) < _TIE
            lows = np.where(always, -np.inf, ends.min(axis=0))
            highs = np.where(always, np.inf, ends.max(axis=0))
            total = len(t) + (not self._exhaustive)
            # So many deals may speak for a shift that is refused nevertheless.
            few = math.floor(alpha * total + _TIE) - (not self._exhaustive)
            if 0 <= few < len(t):
                low[i] = min(float(np.partition(lows, few)[few]), d)
                high[i] = max(float(-np.partition(-highs, few)[few]), d)
        return low, high


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """
    Return probabilities that are corrected for their number.

    S. Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics 6(2), 65-70: the chance of any false alarm stays below alpha, however the tests
    hang together.
    """
    corrected = [1.0] * len(ps)
    before = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        before = max(before, min(1.0, (len(ps) - rank) * ps[index]))
        corrected[index] = before
    return tuple(corrected)


def enough(tests: int, alpha: float) -> int:
    """Return how many episodes of each side the smallest of so many tests needs to be passed."""
    return next(n for n in range(2, 1000) if 2 / math.comb(2 * n, n) <= alpha / max(tests, 1))
