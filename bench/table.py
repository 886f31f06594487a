# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How a figure of a benchmark is held, and how all of them are printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
import json

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """
    One measured figure.

    Attributes
    ----------
    name, unit
        What was measured.
    values
        A value for each round.
    bare
        The same of the bare thing, in the same rounds; empty if there is none.
    ratio
        How the two are divided: ``'bare/ours'`` or ``'ours/bare'``; ``'added/bare'``: what is
        beyond the bare thing; of what costs nothing bare ``'ours-bare'``.
    budget
        Of that ratio, or of the value if nothing bare is there.

    """

    name: str
    unit: str
    values: Sequence[float]
    bare: Sequence[float] = ()
    ratio: str = ''
    budget: str = ''

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round."""
        pairs = zip(self.values, self.bare, strict=False)
        if self.ratio == 'bare/ours':
            return [bare / ours for ours, bare in pairs]
        if self.ratio == 'ours/bare':
            return [ours / bare for ours, bare in pairs]
        if self.ratio == 'added/bare':
            return [ours / bare - 1.0 for ours, bare in pairs]
        return [ours - bare for ours, bare in pairs]


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median of some values, and between what half of them lie."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float(middle), float(low), float(high)


def show(figures: Sequence[Figure]) -> str:
    """Return a table: median, and in brackets between what half of the rounds lie."""
    rows = [('figure', 'unit', 'ours', 'bare', 'ratio', 'budget')]
    for figure in figures:
        cells = [
            '{:.3g} ({:.3g} to {:.3g})'.format(*spread(values)) if len(values) else ''
            for values in (figure.values, figure.bare, figure.ratios)
        ]
        if figure.bare:
            cells[2] = f'{figure.ratio} {cells[2]}'
        rows.append((figure.name, figure.unit, *cells, figure.budget))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return '\n'.join(
        '  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def as_json(figures: Sequence[Figure]) -> str:
    """Return all values, for a program."""
    return json.dumps(
        [{**asdict(figure), 'ratios': figure.ratios} for figure in figures], indent=2
    )
