# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Many steps in few columns, honestly: of each column the least and the greatest value are kept.

A mean would hide the one step that matters, and every n-th step might miss it.
"""

from __future__ import annotations

from array import array
import math

Json = object

#: Significant digits that numbers are written with.
DIGITS = 5


class Columns:
    """
    The steps of an episode of known length, some of them to a column.

    Parameters
    ----------
    steps
        How many there are.
    most
        Columns that there may be.

    Attributes
    ----------
    width
        Steps in a column; fewer may be in the last.
    count
        Number of columns.

    """

    def __init__(self, steps: int, most: int) -> None:
        self.width = max(1, math.ceil(steps / most))
        self.count = max(1, math.ceil(steps / self.width))

    def of(self, index: int) -> int:
        """Return the column of a step, by its place in the episode, from 0."""
        return min(index // self.width, self.count - 1)


class Band:
    """
    Least and greatest value of one quantity in each column.

    Parameters
    ----------
    columns
        Number of columns.

    """

    def __init__(self, columns: int) -> None:
        self._low = array('d', [math.nan]) * columns
        self._high = array('d', [math.nan]) * columns

    def add(self, column: int, value: float | None) -> None:
        """Take a value; what is unknown or not finite leaves the column as it is."""
        if value is None or not math.isfinite(value):
            return
        # A comparison with NaN is false: the first value of a column is both.
        if not self._low[column] <= value:
            self._low[column] = value
        if not self._high[column] >= value:
            self._high[column] = value

    @property
    def known(self) -> bool:
        """Return whether there is any value."""
        return any(not math.isnan(value) for value in self._low)

    def to_json(self) -> dict[str, Json]:
        """Return ``low``, and ``high`` where it differs; null stands for no value."""
        low = [rounded(value) for value in self._low]
        high = [rounded(value) for value in self._high]
        return {'low': low} if low == high else {'low': low, 'high': high}


def rounded(value: float) -> float | int | None:
    """Return a number as it is written, with :data:`DIGITS` significant digits; None for NaN."""
    if not math.isfinite(value):
        return None
    short = float(f'{value:.{DIGITS}g}')
    whole = int(short)
    return whole if whole == short else short
