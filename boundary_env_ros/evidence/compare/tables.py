# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of the episodes as tables, a row for each episode, ready to be tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
import math

import numpy as np
import numpy.typing as npt

from boundary_env_ros.evidence.compare.features import wrapped
from boundary_env_ros.evidence.compare.quantities import Family
from boundary_env_ros.evidence.compare.side import Episode

Array = npt.NDArray[np.float64]

#: A first value is told against what the reset achieved if that leaves less of its variance.
_EXPLAINED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """
    One family of both sides.

    Attributes
    ----------
    labels, units, spans
        Of the columns.
    first, second
        Shape (episodes of the side, columns); NaN where an episode has no value.

    """

    family: Family
    labels: tuple[str, ...]
    units: tuple[str, ...]
    spans: tuple[float, ...]
    first: Array
    second: Array


def tables(
    kept: Iterable[Family], first: Sequence[Episode], second: Sequence[Episode]
) -> Iterator[Table]:
    """Yield the table of every family that any episode has numbers of."""
    for family in kept:
        labels = tuple(
            dict.fromkeys(
                label for e in (*first, *second) for label in e.values.get(family.name, ())
            )
        )
        if not labels:
            continue
        one, other = (_rows(family, labels, side) for side in (first, second))
        names = labels
        if family.turns:
            one, other = _turned(family, labels, one, other)
        if family.name.endswith('.at_reset'):
            names, one, other = _against_reset(family, labels, one, other, first, second)
        units = tuple(family.units.get(label, '') for label in labels)
        spans = tuple(family.spans.get(label, math.nan) for label in labels)
        if family.name == 'reset.sampled':
            names = (*names, *(f'scatter of {label}' for label in labels))
            units, spans = (*units, *units), (*spans, *spans)
            one, other = _with_scatter(one, other)
        yield Table(family=family, labels=names, units=units, spans=spans, first=one, second=other)


def _rows(family: Family, labels: Sequence[str], episodes: Sequence[Episode]) -> Array:
    def row(episode: Episode) -> list[float]:
        values = episode.values.get(family.name)
        if values is None:
            return [math.nan] * len(labels)
        return [values.get(label, family.absent) for label in labels]

    return np.array([row(episode) for episode in episodes], dtype=float)


def _turned(
    family: Family, labels: Sequence[str], one: Array, other: Array
) -> tuple[Array, Array]:
    """Return angles next to their common mean, whatever the number of turns."""
    both = np.concatenate([one, other])
    for column, label in enumerate(labels):
        if label in family.turns:
            angles = both[:, column]
            known = angles[np.isfinite(angles)]
            if len(known):
                centre = math.atan2(float(np.sin(known).mean()), float(np.cos(known).mean()))
                both[:, column] = centre + wrapped(angles - centre)
    return both[: len(one)], both[len(one) :]


def _against_reset(
    family: Family,
    labels: Sequence[str],
    one: Array,
    other: Array,
    first: Sequence[Episode],
    second: Sequence[Episode],
) -> tuple[tuple[str, ...], Array, Array]:
    """
    Return first values minus what the reset achieved, where that is what they measure.

    That is so if the difference scatters less than the value, over both sides at once.
    """
    both = np.concatenate([one, other])
    episodes = (*first, *second)
    names = list(labels)
    for column, label in enumerate(labels):
        values = both[:, column]
        best = _EXPLAINED * _variance(values)
        for reference in episodes[0].achieved:
            found = [e.achieved.get(reference) for e in episodes]
            if any(item is None or item[1] != family.units.get(label, '') for item in found):
                continue
            off = both[:, column] - np.array([item[0] for item in found if item is not None])
            if label in family.turns:
                off = wrapped(off)
            if _variance(off) < best:
                best, values, names[column] = _variance(off), off, f'{label} - {reference}'
        both[:, column] = values
    return tuple(names), both[: len(one)], both[len(one) :]


def _variance(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.var()) if len(known) > 1 else 0.0


def _with_scatter(one: Array, other: Array) -> tuple[Array, Array]:
    """Return the columns, and how far each value is from the middle of all, whoever has it."""
    both = np.concatenate([one, other])
    both = np.concatenate([both, np.abs(both - np.nanmedian(both, axis=0))], axis=1)
    return both[: len(one)], both[len(one) :]
