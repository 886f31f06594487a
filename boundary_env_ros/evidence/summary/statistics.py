# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures of a stream in memory that does not grow with it, and how sure a proportion is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
import math
from statistics import NormalDist

#: Greatest relative error of a quantile: of three digits.
ACCURACY = 0.005


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

    Memory is bounded by the range of the values, which are counted by their first three digits.
    """

    count: int = 0
    greatest: float = -math.inf
    counts: Counter[float] = field(default_factory=Counter)

    def add(self, value: float) -> None:
        """Take one finite value."""
        self.count += 1
        self.greatest = max(self.greatest, value)
        self.counts[float(f'{value:.3g}')] += 1

    def at(self, fraction: float) -> float | None:
        """Return the value that this fraction of all does not exceed; None if there were none."""
        rank, passed = fraction * (self.count - 1), 0
        for value in sorted(self.counts):
            passed += self.counts[value]
            if passed > rank:
                return value
        return None
