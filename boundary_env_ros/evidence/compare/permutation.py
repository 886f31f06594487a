# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Tests over whole episodes: what a difference could be if the episodes had been dealt by chance.

Steps of one episode depend on each other, so a step counts for nothing by itself: every quantity
is one number for each episode, and it is the episodes that change sides. That supposes no
distribution. Of a proportion it is Fisher's exact test, of pairs McNemar's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
import math

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """
    One family of quantities, tested together.

    Attributes
    ----------
    p
        Probability of a greatest difference like this or greater by chance, over all quantities of
        the family at once.
    each
        The same for each quantity, corrected for their number, shape (n,).
    first, second
        Means over the episodes of each side, shape (n,).
    low, high
        Interval of ``second - first`` that the test does not refuse, shape (n,); infinite where
        there are too few episodes for one. Each by itself: not corrected for their number.
    episodes
        How many of each side had a value.

    """

    p: float
    each: Array
    first: Array
    second: Array
    low: Array
    high: Array
    episodes: tuple[int, int]

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
    paired
        Whether episode k of the one belongs to episode k of the other: then only pairs are turned
        round.

    """

    def __init__(self, first: int, second: int, *, paired: bool) -> None:
        if paired and first != second:
            raise ValueError(
                'The sides differ in size (expected as many episodes on both sides, '
                f'got {first}, {second}).'
            )
        self.first, self.second, self.paired = first, second, paired
        total = 2**first if paired else math.comb(first + second, second)
        self._drawn_deals = min(DEALS, max(999, _MOST // max(first + second, 1)))
        self.exhaustive = total <= DEALS + 1
        #: Each row a deal: 1 for what is on the second side; of pairs -1 for what is turned round.
        self._rows = self._all() if self.exhaustive else self._drawn()

    @property
    def least(self) -> float:
        """Return the smallest p that there can be at all with so many episodes."""
        return self.least_of(self.first, self.second)

    def least_of(self, first: int, second: int) -> float:
        """
        Return the smallest p of a quantity that only some of the episodes have.

        Parameters
        ----------
        first, second
            How many of each side have it.

        """
        # The deals that part those that have it as they are parted, or the other way round. Of
        # whole numbers, since the number of deals may be greater than any float.
        if self.paired:
            least = 2 / int(2**first)
        else:
            count = self.first + self.second
            rest = count - first - second
            ways = math.comb(rest, self.second - second)
            ways += math.comb(rest, self.second - first) if first <= self.second else 0
            least = ways / math.comb(count, self.second)
        least = min(1.0, least)
        return least if self.exhaustive else max(least, 1.0 / (self._drawn_deals + 1))

    def _all(self) -> Array:
        if self.paired:
            return np.array(list(product((1.0, -1.0), repeat=self.first)))
        count = self.first + self.second
        rows = np.zeros((math.comb(count, self.second), count))
        for row, chosen in zip(rows, combinations(range(count), self.second), strict=True):
            row[list(chosen)] = 1.0
        return rows

    def _drawn(self) -> Array:
        random = np.random.default_rng(_SEED)
        if self.paired:
            return random.choice((-1.0, 1.0), size=(self._drawn_deals, self.first))
        row = np.repeat([0.0, 1.0], [self.first, self.second])
        return random.permuted(np.tile(row, (self._drawn_deals, 1)), axis=1)

    # Means ---------------------------------------------------------------------------------------

    def test(self, first: Array, second: Array, *, alpha: float) -> Compared | None:
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
        if self.paired:
            pairs = known[: self.first] & known[self.first :]
            known = np.concatenate([pairs, pairs])
        counts = known[: self.first].sum(axis=0), known[self.first :].sum(axis=0)
        usable = (counts[0] >= 2) & (counts[1] >= 2)
        if not usable.any():
            return None
        both = np.where(known, both, 0.0)
        scale = self._scale(both, known)
        greatest = np.maximum(np.abs(both).max(axis=0), 1e-300)
        varies = usable & (scale > NO_SPREAD * greatest)
        if not varies.any():
            return None
        dealt, shifted = self._dealt(both, known)
        found = self._mean(both, known, second=True) - self._mean(both, known, second=False)
        # As standard errors go: else a quantity that few episodes have would outshout the others.
        unit = np.where(varies, scale / np.sqrt(np.maximum(counts[0] + counts[1], 1)), np.inf)
        sizes = np.abs(np.where(varies, dealt, 0.0)) / unit
        most = sizes.max(axis=1)
        # What the order of a sum makes of equal numbers must not tell them apart.
        slack = _TIE + _ROUNDING * greatest / unit
        each = np.array(
            [self._share(most, abs(d) / u - s) for d, u, s in zip(found, unit, slack, strict=True)]
        )
        each[~varies] = np.nan
        low, high = self._intervals(found, dealt, shifted, varies, alpha)
        nothing = np.where(usable, 0.0, np.nan)
        return Compared(
            p=float(np.nanmin(each)),
            each=each,
            first=self._mean(both, known, second=False) + nothing,
            second=self._mean(both, known, second=True) + nothing,
            low=low,
            high=high,
            episodes=(int(counts[0].max()), int(counts[1].max())),
        )

    def _scale(self, both: Array, known: npt.NDArray[np.bool_]) -> Array:
        """Return how much values scatter, whoever has them: the deals must not change it."""
        if self.paired:
            apart = both[self.first :] - both[: self.first]
            count = np.maximum(known[: self.first].sum(axis=0), 1)
            return np.asarray(np.sqrt((apart**2).sum(axis=0) / count))
        count = np.maximum(known.sum(axis=0), 1)
        mean = both.sum(axis=0) / count
        return np.asarray(np.sqrt((((both - mean) * known) ** 2).sum(axis=0) / count))

    def _mean(self, both: Array, known: npt.NDArray[np.bool_], *, second: bool) -> Array:
        side = slice(self.first, None) if second else slice(self.first)
        count = np.maximum(known[side].sum(axis=0), 1)
        return np.asarray(both[side].sum(axis=0) / count)

    def _dealt(self, both: Array, known: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
        """
        Return the difference of means of every deal, shape (deals, n).

        And by how much it changes where the second side is shifted by one.
        """
        if self.paired:
            between = both[self.first :] - both[: self.first]
            pairs = known[: self.first].astype(float)
            count = np.maximum(pairs.sum(axis=0), 1.0)
            return self._rows @ between / count, self._rows @ pairs / count
        there = known.astype(float)
        on_second = self._rows
        second, rest = on_second @ there, there.sum(axis=0) - on_second @ there
        # A deal that leaves a side without any value has no difference.
        empty = (second == 0.0) | (rest == 0.0)
        second, rest = np.maximum(second, 1.0), np.maximum(rest, 1.0)

        def apart(values: Array) -> Array:
            there_second = on_second @ values
            difference: Array = there_second / second - (values.sum(axis=0) - there_second) / rest
            return difference

        shift = there.copy()
        shift[: self.first] = 0.0
        return np.where(empty, 0.0, apart(both)), np.where(empty, 0.0, apart(shift))

    def _share(self, dealt: Array, found: float) -> float:
        count = int((dealt >= found).sum())
        return count / len(dealt) if self.exhaustive else (1 + count) / (1 + len(dealt))

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
            total = len(t) + (0 if self.exhaustive else 1)
            # So many deals may speak for a shift that is refused nevertheless.
            few = math.floor(alpha * total + _TIE) - (0 if self.exhaustive else 1)
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


def enough(tests: int, alpha: float, *, paired: bool) -> int:
    """Return how many episodes of each side the smallest of so many tests needs to be passed."""
    return next(n for n in _counts() if 2 / _total(n, paired=paired) <= alpha / max(tests, 1))


def _counts() -> Iterator[int]:
    return iter(range(2, 10_000))


def _total(n: int, *, paired: bool) -> int:
    return int(2**n) if paired else math.comb(2 * n, n)
