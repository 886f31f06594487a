# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a table to a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import numpy as np
import numpy.typing as npt

from boundary_env_ros.evidence.compare.comparison import Finding, Quantity
from boundary_env_ros.evidence.compare.permutation import Deals, NO_SPREAD
from boundary_env_ros.evidence.compare.tables import Table
from boundary_env_ros.evidence.summary.statistics import Proportion

Array = npt.NDArray[np.float64]


def finding_of(table: Table, deals: Deals, alpha: float) -> Finding | str:
    """Return what a test of one table gives; if it cannot be tested, why, or empty."""
    counts = [int(np.isfinite(side).any(axis=1).sum()) for side in (table.first, table.second)]
    if min(counts) < 2 <= max(counts):
        return f'only {counts[0]} episodes of A and {counts[1]} of B have a value'
    tested = deals.test(table.first, table.second, alpha=alpha)
    if tested is None:
        return '' if max(counts) < 2 else 'it is the same in all episodes'
    sizes = [_size(table.first[:, i], table.second[:, i]) for i in range(len(table.labels))]
    order = sorted(
        range(len(table.labels)),
        key=lambda i: (math.isnan(tested.each[i]), tested.each[i], -abs(np.nan_to_num(sizes[i]))),
    )
    quantities = []
    for i in order:
        low, high = float(tested.low[i]), float(tested.high[i])
        if table.family.name.startswith('outcome.success') and not deals.paired:
            low, high = _newcombe(table.first[:, i], table.second[:, i], alpha)
        quantities.append(
            Quantity(
                label=table.labels[i],
                unit=table.units[i],
                first=float(tested.first[i]),
                second=float(tested.second[i]),
                difference=float(tested.difference[i]),
                low=low,
                high=high,
                p=float(tested.each[i]),
                span=table.spans[i],
                size=sizes[i],
            )
        )
    return Finding(
        family=table.family,
        p=tested.p,
        corrected=tested.p,
        quantities=tuple(quantities),
        episodes=tested.episodes,
        least=deals.least_of(*tested.episodes),
        beyond_chance=False,
        shown=(),
        values=(table.first[:, order], table.second[:, order]),
    )


def with_correction(
    findings: Sequence[Finding], corrected: Sequence[float], *, alpha: float, relevance: float
) -> list[Finding]:
    """Return findings that know how many they are."""
    return [
        _corrected(finding, p, alpha, relevance)
        for finding, p in zip(findings, corrected, strict=True)
    ]


def _corrected(finding: Finding, corrected: float, alpha: float, relevance: float) -> Finding:
    factor = corrected / finding.p if finding.p > 0.0 else 1.0
    quantities = tuple(replace(q, p=min(1.0, q.p * factor)) for q in finding.quantities)
    return replace(
        finding,
        corrected=corrected,
        quantities=quantities,
        beyond_chance=corrected <= alpha,
        shown=tuple(
            q
            for q in quantities
            if q.p <= alpha
            and not abs(q.difference) <= relevance * q.span  # without a span: NaN, which is false
        ),
    )


def _size(first: Array, second: Array) -> float:
    """Return the difference of means over the standard deviation within the sides, inf if 0."""
    sides = [values[np.isfinite(values)] for values in (first, second)]
    if min(map(len, sides)) < 2:
        return math.nan
    difference = float(sides[1].mean() - sides[0].mean())
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in sides)
    scatter = math.sqrt(squares / (len(sides[0]) + len(sides[1]) - 2))
    # Equal numbers have a mean that is off by a rounding, and so a scatter of that size.
    if scatter > NO_SPREAD * float(np.abs(np.concatenate(sides)).max()):
        return difference / scatter
    return math.copysign(math.inf, difference) if difference else 0.0


def _newcombe(first: Array, second: Array, alpha: float) -> tuple[float, float]:
    """
    Return the interval of a difference of proportions, of a confidence of ``1 - alpha``.

    R. G. Newcombe (1998), Interval estimation for the difference between independent proportions,
    Statistics in Medicine 17(8), 873-890, method 10: of the score intervals of the two.
    """
    sides = [values[np.isfinite(values)] for values in (first, second)]
    one, other = (Proportion(count=int(v.sum()), of=len(v)) for v in sides)
    around, about = one.interval_at(alpha), other.interval_at(alpha)
    if around is None or about is None or one.value is None or other.value is None:
        return -math.inf, math.inf
    (l1, u1), (l2, u2) = around, about
    d = other.value - one.value
    return (
        d - math.hypot(other.value - l2, u1 - one.value),
        d + math.hypot(u2 - other.value, one.value - l1),
    )
