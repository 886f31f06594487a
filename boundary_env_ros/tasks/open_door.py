# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Open a door by its handle."""

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

#: The ending that the contract declares for a wrist that was pressed too hard.
EXCESSIVE_FORCE = 'excessive_force'

_JOINTS = 6
_UNITS = {'start': ('rad',) * _JOINTS, 'door': ('rad', 'N m'), 'handle': ('m', 'm')}
_EXAMPLE = (
    'start: six joint angles, door: [angle, friction], '
    'handle: [radius, height]; a range has all lowest values, then all highest'
)


class OpenDoor:
    """
    Open a door by its handle, without violence.

    The reward is the way of the tool to the handle and the opening of the door, as handle and
    tool are seen, less a cost of effort. The task ends in ``success`` when the handle, as it is
    seen, has turned by ``angle``, and in ``excessive_force`` when the wrist feels more than
    ``most_force``. How far the door truly is open is told by a privileged field, the hinge.

    It judges by the fields ``handle`` and ``tool`` (x, y, z: m), ``handle_yaw`` (rad, 0 when the
    door is closed) and ``wrench`` (force N, then torque N m).

    Parameters
    ----------
    angle
        How far the door is to be opened, rad.
    most_force
        What the wrist may feel, N.
    start
        Range of the joint angles that the arm starts from, rad.
    scenarios
        By name, ranges of ``door`` (angle rad, friction N m) and ``handle`` (distance from the
        hinge and height above the arm's foot, m).
    approach_gain, opening_gain
        Reward per metre that the tool comes nearer to the handle, and per radian that the door
        opens.
    effort_cost
        Reward per newton and second.

    Reset options: ``scenario`` (a name; default: drawn from all), ``start``, ``door`` and
    ``handle`` (values as above).

    """

    #: Bounds of each term of the reward of a step.
    reward_space: ClassVar[dict[str, tuple[float, float]]] = {
        'approach': (-math.inf, math.inf),
        'opening': (-math.inf, math.inf),
        'effort': (-math.inf, 0.0),
        'opened': (0.0, 1.0),
    }

    def __init__(
        self,
        *,
        angle: float,
        most_force: float,
        start: Sequence[float],
        scenarios: Mapping[str, Mapping[str, Sequence[float]]],
        approach_gain: float = 1.0,
        opening_gain: float = 2.0,
        effort_cost: float = 0.002,
    ) -> None:
        check_scenarios(scenarios)
        for name, value, unit in (('angle', angle, 'rad'), ('most_force', most_force, 'N')):
            if not value > 0.0:
                raise BoundaryError(
                    f'Wrong {name} (expected {name} ({unit}) greater than 0, got {value!r}).'
                )
        self._start = _check_range(start, _JOINTS, 'start')
        self._scenarios = {
            name: {
                key: _check_range(ranges.get(key), 2, f'scenarios.{name}.{key}')
                for key in ('door', 'handle')
            }
            for name, ranges in scenarios.items()
        }
        self._angle = angle
        self._most_force = most_force
        self._approach_gain = approach_gain
        self._opening_gain = opening_gain
        self._effort_cost = effort_cost

    def sample_reset(
        self, rng: np.random.Generator, options: Mapping[str, object]
    ) -> tuple[NamedValues, ...]:
        """Return ``start`` (joints), ``door`` (angle, friction), ``handle`` (radius, height)."""
        check_names(options, ('scenario', 'start', 'door', 'handle'))
        name = scenario_of(options, self._scenarios, rng)
        return draw(rng, {'start': self._start, **self._scenarios[name]}, _UNITS, options)

    def observe(self, reset: Mapping[str, Vector], agent: str) -> Mapping[str, Vector]:
        """Return nothing: what there is to know is seen."""
        return {}

    def judge(self, step: StepView) -> Outcome:
        """Return way, opening and cost of effort; ``success``, or ``excessive_force``."""
        before, after = (
            math.dist(view['tool'], view['handle']) for view in (step.before, step.after)
        )
        (was,), (now,) = step.before['handle_yaw'], step.after['handle_yaw']
        force = math.hypot(*step.after['wrench'][:3])
        forced, opened = force > self._most_force, now >= self._angle
        terms = (
            RewardTerm(name='approach', value=self._approach_gain * (before - after)),
            RewardTerm(name='opening', value=self._opening_gain * (now - was)),
            RewardTerm(name='effort', value=-self._effort_cost * force * step.period),
            RewardTerm(name='opened', value=1.0 if opened and not forced else 0.0),
        )
        # A door that was torn open is not a door that was opened.
        ending = EXCESSIVE_FORCE if forced else SUCCESS if opened else ''
        return Outcome(terms=terms, ending=ending)


def _check_range(value: object, size: int, where: str) -> Range:
    numbers = check_numbers(value, 2 * size, where, _EXAMPLE)
    low, high = numbers[:size], numbers[size:]
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least > most:
            raise BoundaryError(
                f'{where}: expected the highest of value {index} not below the lowest '
                f'({least:g}), got {most:g}.'
            )
    return low, high
