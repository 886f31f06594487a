# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the shipped tasks make of the options of a reset."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import cast, TypeAlias

import numpy as np

from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.errors import BoundaryError

#: The lowest and the highest of some values.
Range: TypeAlias = tuple[Sequence[float], Sequence[float]]

#: Farther than any hall, larger than any angle, and a number that every float can hold.
_MOST = 1e9


def check_names(options: Mapping[str, object], known: Collection[str]) -> None:
    """
    Refuse options that a task does not know.

    Raises
    ------
    BoundaryError
        If there are any.

    """
    unknown = set(options) - set(known)
    if unknown:
        raise BoundaryError(
            f'Unknown reset options (expected {", ".join(known) or "none"}, '
            f'got {", ".join(sorted(unknown))}).'
        )


def check_scenarios(scenarios: Collection[str]) -> None:
    """
    Refuse a task without scenarios.

    Raises
    ------
    BoundaryError
        If there are none.

    """
    if not scenarios:
        raise BoundaryError('No scenarios (expected at least one).')


def scenario_of(
    options: Mapping[str, object], scenarios: Collection[str], rng: np.random.Generator
) -> str:
    """
    Return the scenario of a reset: the one that is given, or a drawn one.

    It is drawn even when it is given, so that both use the generator alike.

    Raises
    ------
    BoundaryError
        If there is no such scenario.

    """
    drawn = list(scenarios)[int(rng.integers(len(scenarios)))]
    name = options.get('scenario')
    if name is None:
        return drawn
    if not isinstance(name, str) or name not in scenarios:
        raise BoundaryError(f'Unknown scenario (expected {", ".join(scenarios)}, got {name!r}).')
    return name


def check_numbers(value: object, size: int, where: str, example: str) -> Sequence[float]:
    """
    Return so many numbers.

    Raises
    ------
    BoundaryError
        If it is anything else.

    """
    if (
        not isinstance(value, (list, tuple))
        or len(value) != size
        or not all(isinstance(v, (int, float)) and abs(v) <= _MOST for v in value)
    ):
        raise BoundaryError(
            f'{where}: expected {size} numbers, for example {example}, got {value!r}.'
        )
    return [float(v) for v in cast(Sequence[float], value)]


def draw(
    rng: np.random.Generator,
    ranges: Mapping[str, Range],
    units: Mapping[str, tuple[str, ...]],
    options: Mapping[str, object],
) -> tuple[NamedValues, ...]:
    """
    Return values drawn from their ranges, or as the options of the reset say.

    They are drawn even when they are given, so that both use the generator alike.

    Raises
    ------
    BoundaryError
        If an option is anything else than so many numbers.

    """
    sampled = []
    for name, (low, high) in ranges.items():
        values: Sequence[float] = rng.uniform(low, high).tolist()
        if name in options:
            example = f'{[round(value, 3) for value in values]}'
            values = check_numbers(options[name], len(values), name, example)
        sampled.append(NamedValues(name=name, values=tuple(values), unit=units[name]))
    return tuple(sampled)
