# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures of a stream in memory that does not grow with it, and how sure a proportion is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
import math
from statistics import NormalDist

#: Greatest relative error of a quantile.
ACCURACY = 0.005

_GAMMA = (1.0 + ACCURACY) / (1.0 - ACCURACY)
_LOG_GAMMA = math.log(_GAMMA)
_LEAST = 1e-12


@dataclass(slots=True, kw_only=True)
class Proportion:
    """
    How many out of how many.

    Attributes
    ----------
    count, of
        So many, out of so many.

    """

    count: int = 0
    of: int = 0

    def add(self, hit: bool) -> None:
        """Count one more."""
        self.count += hit
        self.of += 1

    @property
    def value(self) -> float | None:
        """Return the proportion; None out of nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """
        Return the 95 % score interval; None out of nothing.

        E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference,
        Journal of the American Statistical Association 22(158), 209-212. Unlike the normal
        interval it stays within [0, 1] and says something at 0 of n.
        """
        if not self.of:
            return None
        n, p = self.of, self.count / self.of
        z = NormalDist().inv_cdf(0.975)
        scale = 1.0 + z**2 / n
        centre = (p + z**2 / (2 * n)) / scale
        half = z / scale * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return max(0.0, centre - half), min(1.0, centre + half)

    def to_json(self) -> dict[str, float | None]:
        """Return it as plain data, with its interval."""
        low, high = self.interval or (None, None)
        found = {'count': self.count, 'of': self.of, 'value': self.value}
        return {**found, 'low': low, 'high': high}

    def __str__(self) -> str:
        if self.interval is None or self.value is None:
            return 'none'
        low, high = self.interval
        interval = f'{100 * low:.0f}-{100 * high:.0f}'
        return f'{100 * self.value:.0f} % ({self.count} of {self.of}; {interval})'


@dataclass(slots=True)
class Quantiles:
    """
    Quantiles of a stream, each right to within ``ACCURACY`` of its value.

    Memory is bounded by the range of the values, which are counted in buckets that grow by a
    constant factor: C. Masson, J. E. Rim and H. K. Lee (2019), DDSketch: a fast and fully-
    mergeable quantile sketch with relative-error guarantees, PVLDB 12(12), 2195-2205.
    """

    count: int = 0
    greatest: float = -math.inf
    #: Keyed so that the order of the keys is that of the values: sign first, then size.
    buckets: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, value: float) -> None:
        """Take one finite value."""
        self.count += 1
        self.greatest = max(self.greatest, value)
        size = abs(value)
        if size < _LEAST:
            self.buckets[0, 0] += 1
            return
        sign = 1 if value > 0 else -1
        self.buckets[sign, sign * math.ceil(math.log(size) / _LOG_GAMMA)] += 1

    def at(self, fraction: float) -> float | None:
        """Return the value that this fraction of all does not exceed; None if there were none."""
        if not self.count:
            return None
        rank = fraction * (self.count - 1)
        passed = 0
        for value, count in self.counts():
            passed += count
            if passed > rank:
                return value
        return self.greatest

    def counts(self) -> Iterator[tuple[float, int]]:
        """Yield the values, the least first, and how often each was there."""
        for sign, signed in sorted(self.buckets):
            value = sign * 2.0 * _GAMMA ** (sign * signed) / (_GAMMA + 1.0)
            yield value, self.buckets[sign, signed]
