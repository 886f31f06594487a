# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A comparison as one HTML page, without a script."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from boundary_env_ros.evidence.compare import text
from boundary_env_ros.evidence.compare.comparison import Comparison, Finding
from boundary_env_ros.evidence.compare.quantities import SECTIONS
from boundary_env_ros.evidence.web_page import page

#: Left and right end of a drawing in its own units, and floor and height of a curve.
_LEFT, _RIGHT, _FLOOR, _HEIGHT = 24, 404, 128, 116

#: Curves of one field that are drawn, the widest apart first.
_CURVES = 3


def render(comparison: Comparison) -> Iterator[str]:
    """Yield the page, piece by piece."""
    names = ('contract_line', 'identity', 'method', 'numbers', 'probability', 'remarks')
    return page(
        'compare',
        f'{comparison.a.name} and {comparison.b.name}, compared',
        {name: getattr(text, name) for name in (*names, 'verdict')} | {'strip': _strip},
        found=comparison,
        sections=SECTIONS,
    )


def _strip(finding: Finding) -> dict[str, object] | None:
    """Return the episodes of both sides as dots on a line each, of what differs first."""
    column = finding.quantities.index(finding.shown[0])
    drawn = [values[:, column] for values in finding.values]
    sides = [values[np.isfinite(values)] for values in drawn]
    both = np.concatenate(sides)
    if not len(both):
        return None
    low, high = float(both.min()), float(both.max())
    if high <= low:
        low, high = low - 1.0, high + 1.0
    return {
        'rows': [
            (
                letter,
                18 + 28 * row,
                [_across(float(value), low, high) for value in values],
                _across(float(values.mean()), low, high),
            )
            for row, (letter, values) in enumerate(zip('ab', sides, strict=True))
        ],
        'low': low,
        'high': high,
        'unit': finding.shown[0].unit,
    }


def _across(value: float, low: float, high: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (value - low) / (high - low)
