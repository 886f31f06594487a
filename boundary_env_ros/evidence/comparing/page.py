# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A comparison as one HTML page, without a script."""

from __future__ import annotations

from collections.abc import Iterator
import math

import numpy as np

from boundary_env_ros.evidence.comparing import words
from boundary_env_ros.evidence.comparing.comparison import Comparison, Finding
from boundary_env_ros.evidence.comparing.quantities import SECTIONS
from boundary_env_ros.evidence.web_page import page

#: Left and right end of a drawing in its own units, and floor and height of a curve.
_LEFT, _RIGHT, _FLOOR, _HEIGHT = 24, 404, 128, 116

#: Curves of one field that are drawn, the widest apart first.
_CURVES = 3


def render(comparison: Comparison) -> Iterator[str]:
    """Yield the page, piece by piece."""
    fields = [name for name in comparison.a.drift if name in comparison.b.drift]
    names = ('contract_line', 'identity', 'method', 'numbers', 'probability', 'remarks')
    return page(
        'comparing',
        f'{comparison.a.name} and {comparison.b.name}, compared',
        {name: getattr(words, name) for name in (*names, 'verdict')} | {'strip': _strip},
        found=comparison,
        sections=SECTIONS,
        curves=[drawn for name in fields if (drawn := _curve(name, comparison))],
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


def _curve(name: str, comparison: Comparison) -> dict[str, object] | None:
    a, b = comparison.a.drift[name], comparison.b.drift[name]
    apart = np.nan_to_num(np.abs(a - b)).max(axis=0)
    columns = [int(c) for c in np.argsort(-apart)[:_CURVES] if apart[c] > 0.0]
    top = max(float(np.nanmax(side[:, columns])) for side in (a, b)) if columns else 0.0
    if not math.isfinite(top) or top <= 0.0:
        return None
    last = len(a) - 1
    lines = [
        (
            letter,
            [
                (_across(step, 0, last), _FLOOR - _HEIGHT * value / top)
                for step, value in enumerate(side[:, column])
                if math.isfinite(value)
            ],
        )
        for letter, side in (('a', a), ('b', b))
        for column in columns
    ]
    told = ', '.join(f'[{column}]' for column in columns)
    return {'name': name, 'columns': told, 'top': top, 'lines': lines, 'last': last}
