# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drive to a goal in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import ClassVar

import numpy as np

from boundary_env_ros.core.environment.task import Outcome, StepView
from boundary_env_ros.core.records.endings import SUCCESS
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.records.transition import RewardTerm
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.tasks.options import (
    check_names,
    check_numbers,
    check_scenarios,
    draw,
    Range,
    scenario_of,
)

_UNITS = {'start': ('m', 'm', 'rad'), 'goal': ('m', 'm')}
_EXAMPLE = 'start: [x_min, y_min, x_max, y_max], yaw: [low, high], goal: [...]'


class GoToGoal:
    """
    Drive a planar robot to a goal.

    The reward is the progress towards the goal, as the robot's own pose shows it, less a cost of
    time and of turning. The task ends in ``success`` when the observed position is within
    ``radius`` of the goal. Whether it truly was is told by a privileged field, the true pose.

    Parameters
    ----------
    radius
        Of the goal, m.
    scenarios
        By name, boxes ``[x_min, y_min, x_max, y_max]`` (m, frame of the pose) that ``start`` and
        ``goal`` are drawn from, and an interval ``yaw`` (rad).
    time_cost, turn_cost
        Reward per second, and per rad/s and second.

    Reset options: ``scenario`` (a name; default: drawn from all), ``start`` ([x, y, yaw]) and
    ``goal`` ([x, y]).

    """

    #: Bounds of each term of the reward of a step.
    reward_space: ClassVar[dict[str, tuple[float, float]]] = {
        'progress': (-math.inf, math.inf),
        'time': (-math.inf, 0.0),
        'turning': (-math.inf, 0.0),
        'goal': (0.0, 1.0),
    }

    def __init__(
        self,
        *,
        radius: float,
        scenarios: Mapping[str, Mapping[str, Sequence[float]]],
        time_cost: float = 0.1,
        turn_cost: float = 0.02,
    ) -> None:
        check_scenarios(scenarios)
        if not radius > 0.0:
            raise BoundaryError(
                f'Wrong radius (expected a radius (m) greater than 0, got {radius!r}).'
            )
        self._radius = radius
        self._scenarios = {name: _ranges(name, boxes) for name, boxes in scenarios.items()}
        self._time_cost = time_cost
        self._turn_cost = turn_cost

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        """Return ``start`` (x, y, yaw) and ``goal`` (x, y)."""
        check_names(options, ('scenario', 'start', 'goal'))
        ranges = self._scenarios[scenario_of(options, self._scenarios, rng)]
        return draw(rng, ranges, _UNITS, options)

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        """Return the field ``goal``."""
        return {'goal': reset['goal']}

    def judge(self, step: StepView) -> Outcome:
        """Return progress, cost of time and cost of turning; ``success`` within the radius."""
        goal = step.reset['goal']
        before, after = (math.dist(view['pose'][:2], goal) for view in (step.before, step.after))
        turn = abs(step.commanded[1]) if len(step.commanded) > 1 else 0.0
        reached = after <= self._radius
        terms = (
            RewardTerm(name='progress', value=before - after),
            RewardTerm(name='time', value=-self._time_cost * step.period),
            RewardTerm(name='turning', value=-self._turn_cost * turn * step.period),
            RewardTerm(name='goal', value=1.0 if reached else 0.0),
        )
        return Outcome(terms=terms, ending=SUCCESS if reached else '')


def _ranges(name: str, boxes: Mapping[str, Sequence[float]]) -> Mapping[str, Range]:
    """Return what start (x, y, yaw) and goal (x, y) of a scenario are drawn from."""
    start, yaw, goal = (
        check_numbers(boxes.get(key), size, f'scenarios.{name}.{key}', _EXAMPLE)
        for key, size in (('start', 4), ('yaw', 2), ('goal', 4))
    )
    return {
        'start': ((*start[:2], yaw[0]), (*start[2:], yaw[1])),
        'goal': (goal[:2], goal[2:]),
    }
