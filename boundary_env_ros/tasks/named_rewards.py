# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rewards and the end that a plugin's world itself tells of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import numpy as np

from boundary_env_ros.core.environment.task import Outcome, StepView
from boundary_env_ros.core.records.endings import FAILURE, SUCCESS
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import RewardTerm
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.tasks.options import check_names, draw, Range

#: From here on the last value of the field means: the world is at its end, and that a success.
_ENDED, _SUCCEEDED = 0.5, 1.5


class NamedRewards:
    """
    Take rewards and ending from a field of the state, as a plugin's robot sends it.

    The field has one value for each reward, summed up since the reset, and a last one: 0 while the
    world goes on, 1 at its end, 2 at an end that is a success. A term of the reward is by how much
    its sum has grown in the step.

    Parameters
    ----------
    rewards
        Names of the rewards, in the order of the field.
    bounds
        By name ``[least, greatest]``, what a step can bring of a reward; one that is missing has
        none.
    field
        The field, in ``state`` of the contract.
    start
        Start state by name: ``low``, ``high`` and ``unit``, lists of one length, which it is drawn
        from.
    options
        Names of further reset options, which the plugin takes.

    Reset options: the name of a start value, with the values to start from, and ``options``.

    """

    def __init__(
        self,
        *,
        rewards: Sequence[str],
        bounds: Mapping[str, Sequence[float]] | None = None,
        field: str = 'outcome',
        start: Mapping[str, Mapping[str, Sequence[float | str]]] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self._rewards = tuple(rewards)
        given = bounds or {}
        strangers = sorted(set(given) - set(rewards))
        if strangers:
            raise BoundaryError(
                f'bounds: expected names of rewards ({", ".join(rewards)}), got '
                f'{", ".join(strangers)}.'
            )
        unbounded = (-math.inf, math.inf)
        self.reward_space = {n: _bounds(n, given.get(n, unbounded)) for n in rewards}
        self._field = field
        self._options = tuple(options)
        if len(set(self._rewards)) != len(self._rewards) or not all(self._rewards):
            raise BoundaryError(f'rewards: expected names, each once, got {list(rewards)}.')
        boxes = start or {}
        self._ranges = {name: _range(name, box) for name, box in boxes.items()}
        self._units = {name: tuple(map(str, box['unit'])) for name, box in boxes.items()}

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        """Return the start state, drawn from its boxes or as the options say."""
        check_names(options, (*self._ranges, *self._options))
        sampled = draw(rng, self._ranges, self._units, options)
        for item in sampled:
            for value, low, high in zip(item.values, *self._ranges[item.name], strict=True):
                if not low <= value <= high:
                    raise BoundaryError(
                        f'{item.name}: expected {low:g} to {high:g}, got {value:g}.'
                    )
        return sampled

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        """Return no fields."""
        return {}

    def judge(self, step: StepView) -> Outcome:
        """Return by how much each reward has grown, and the ending that the world tells of."""
        before, after = self._values(step.before), self._values(step.after)
        ended = SUCCESS if after[-1] >= _SUCCEEDED else FAILURE
        return Outcome(
            terms=tuple(
                RewardTerm(name=name, value=now - then)
                for name, now, then in zip(self._rewards, after, before, strict=False)
            ),
            ending=ended if after[-1] >= _ENDED else '',
        )

    def _values(self, values: Mapping[str, Vector]) -> Vector:
        found = values.get(self._field, ())
        if len(found) != len(self._rewards) + 1:
            raise BoundaryError(
                f'Wrong field of the task (expected a field {self._field!r} of '
                f'{len(self._rewards) + 1} values in the state of the contract '
                f'({", ".join((*self._rewards, "done"))}), got {list(found)} among '
                f'{", ".join(values)}).'
            )
        return found


def _bounds(name: str, given: Sequence[float]) -> tuple[float, float]:
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not low <= high:
        raise BoundaryError(f'bounds.{name}: expected [least, greatest], got {given!r}.')
    return low, high


def _range(name: str, box: Mapping[str, Sequence[float | str]]) -> Range:
    """Return what one start value is drawn from."""
    if set(box) != {'low', 'high', 'unit'}:
        raise BoundaryError(
            f'start.{name}: expected low, high and unit, got {", ".join(sorted(box))}.'
        )
    low, high = (tuple(map(float, box[key])) for key in ('low', 'high'))
    if not (
        len(low) == len(high) == len(box['unit']) > 0
        and all(-math.inf < a <= b < math.inf for a, b in zip(low, high, strict=True))
    ):
        raise BoundaryError(
            f'start.{name}: expected low <= high, finite, each with a unit, got '
            f'{list(low)}, {list(high)}, {list(box["unit"])}.'
        )
    return low, high
