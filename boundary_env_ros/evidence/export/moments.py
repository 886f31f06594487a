# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Minimum, maximum, mean and deviation of numbers that stream by."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Moments:
    """
    Statistics of each dimension, over the values that are finite.

    Parameters
    ----------
    size
        Number of dimensions.

    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self._known = np.zeros(size)
        self._mean, self._squares = np.zeros(size), np.zeros(size)
        self._least, self._most = np.full(size, np.inf), np.full(size, -np.inf)

    def add(self, values: Array, frames: int | None = None) -> None:
        """
        Take some values.

        Parameters
        ----------
        values
            Shape (any, size).
        frames
            Of how many frames they are; None: one each.

        """
        values = values.reshape(-1, len(self._mean)).astype(np.float64)
        self.count += len(values) if frames is None else frames
        finite = np.isfinite(values)
        known = finite.sum(axis=0)
        safe = np.maximum(known, 1)
        mean = np.where(finite, values, 0.0).sum(axis=0) / safe
        squares = (np.where(finite, values - mean, 0.0) ** 2).sum(axis=0)
        self._merge(known, mean, squares)
        self._least = np.minimum(self._least, np.where(finite, values, np.inf).min(axis=0))
        self._most = np.maximum(self._most, np.where(finite, values, -np.inf).max(axis=0))

    def merge(self, other: Moments) -> None:
        """Take what others were told."""
        self.count += other.count
        self._merge(other._known, other._mean, other._squares)
        self._least = np.minimum(self._least, other._least)
        self._most = np.maximum(self._most, other._most)

    def _merge(self, known: Array, mean: Array, squares: Array) -> None:
        # Chan, Golub and LeVeque (1979): sums over parts, without their cancellation.
        total = np.maximum(self._known + known, 1)
        apart = mean - self._mean
        self._squares += squares + apart**2 * self._known * known / total
        self._mean += apart * known / total
        self._known += known

    def figures(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """Return the statistics as nested lists of a shape; 0 where no value was finite."""
        none = self._known == 0
        found = {
            'min': np.where(none, 0.0, self._least),
            'max': np.where(none, 0.0, self._most),
            'mean': self._mean,
            'std': np.sqrt(self._squares / np.maximum(self._known, 1)),
        }
        figures: dict[str, Any] = {
            name: values.reshape(shape).tolist() for name, values in found.items()
        }
        return {**figures, 'count': [self.count]}
