# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the numbers of the episodes to findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np
import numpy.typing as npt

from boundary_env_ros.evidence.compare.comparison import ComparisonFinding, Quantity
from boundary_env_ros.evidence.compare.features import Values
from boundary_env_ros.evidence.compare.permutation import Deals, holm, NO_SPREAD
from boundary_env_ros.frozen import replace

Array = npt.NDArray[np.float64]

#: What an episode that says nothing of a label has none of.
_ABSENT = ('rates.reasons', 'outcome.endings', 'outcome.reward_terms')


#: What a quantity has of the test of its family.
_NUMBERS = ('first', 'second', 'difference', 'low', 'high')


def findings_of(
    first: Sequence[Values],
    second: Sequence[Values],
    deals: Deals,
    *,
    alpha: float,
    units: Mapping[str, Mapping[str, str]],
) -> tuple[list[ComparisonFinding], dict[str, str]]:
    """
    Test every family of numbers that any episode has.

    Parameters
    ----------
    first, second
        Numbers of each episode of A and of B.
    deals
        How the episodes are dealt.
    alpha
        Chance of any false alarm over all tests.
    units
        Units of the labels of a family.

    Returns
    -------
    list of Finding
        What was tested.
    dict
        Families that were not, and why.

    """
    findings: list[ComparisonFinding] = []
    untested: dict[str, str] = {}
    for family in dict.fromkeys(name for values in (*first, *second) for name in values):
        some = [values[family] for values in (*first, *second) if family in values]
        labels = tuple(dict.fromkeys(label for numbers in some for label in numbers))
        one, other = (_rows(family, labels, side) for side in (first, second))
        names = units.get(family, {})
        found = _finding(family, labels, names, one, other, deals, alpha)
        if isinstance(found, ComparisonFinding):
            findings.append(found)
        elif found:
            untested[family] = found
    corrected = holm([finding.p for finding in findings])
    return [_corrected(f, p, alpha) for f, p in zip(findings, corrected, strict=True)], untested


def _rows(family: str, labels: Sequence[str], side: Sequence[Values]) -> Array:
    absent = 0.0 if family in _ABSENT else math.nan
    rows = [
        [values[family].get(label, absent) if family in values else math.nan for label in labels]
        for values in side
    ]
    return np.array(rows, dtype=float).reshape(len(side), len(labels))


def _finding(
    family: str,
    labels: Sequence[str],
    units: Mapping[str, str],
    first: Array,
    second: Array,
    deals: Deals,
    alpha: float,
) -> ComparisonFinding | str:
    """Return what the test of one family gives; if it cannot be tested, why, or empty."""
    counts = [int(np.isfinite(side).any(axis=1).sum()) for side in (first, second)]
    sides = (len(first), len(second))
    # With so few of them nothing could be shown, which is not the same as no difference.
    few = counts != [*sides] and math.comb(sum(counts), counts[0]) < 2.0 / alpha
    if max(counts) > 1 and (few or min(counts) < 2):
        return f'only {counts[0]} episodes of A and {counts[1]} of B have a value'
    tested = deals.test(first, second, alpha=alpha)
    if tested is None:
        return '' if max(counts) < 2 else 'it is the same in all episodes'
    quantities = [
        Quantity(
            label=label,
            unit=units.get(label, ''),
            **{name: float(getattr(tested, name)[i]) for name in _NUMBERS},
            p=float(tested.each[i]),
            size=_size(first[:, i], second[:, i]),
        )
        for i, label in enumerate(labels)
    ]
    quantities.sort(key=lambda q: (math.isnan(q.p), q.p, -abs(np.nan_to_num(q.size))))
    return ComparisonFinding(
        name=family,
        p=tested.p,
        corrected=tested.p,
        quantities=tuple(quantities),
        episodes=tested.episodes,
    )


def _corrected(finding: ComparisonFinding, corrected: float, alpha: float) -> ComparisonFinding:
    """Return a finding that knows how many there are."""
    factor = corrected / finding.p if finding.p > 0.0 else 1.0
    quantities = tuple(replace(q, p=min(q.p * factor, 1.0)) for q in finding.quantities)
    shown = tuple(q for q in quantities if q.p <= alpha)
    return replace(finding, corrected=corrected, quantities=quantities, shown=shown)


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
