# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a reset asks of a cart, whatever simulates it, and what is said of it then."""

from __future__ import annotations

import math

from boundary_env_ros.core.environment.reset import by_name, ResetWorld
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.readings import TruthReading


@frozen
class ResetTarget:
    """
    Where an episode shall begin and lead to, in the hall's frame.

    Attributes
    ----------
    x, y
        Start of base_link, m.
    yaw
        Heading at the start, rad.
    goal_x, goal_y
        Middle of the goal's mark, m.

    """

    x: float
    y: float
    yaw: float
    goal_x: float
    goal_y: float


def target_of(request: ResetWorld, prefix: str = '') -> ResetTarget:
    """
    Return what a reset asks of a cart.

    Parameters
    ----------
    request
        The reset.
    prefix
        Of the names of the values: ``<agent>.`` where there are several.

    Raises
    ------
    ResetFailed
        If it names no start and no goal.

    """
    values = by_name(request.target)
    start, goal = (values.get(f'{prefix}{name}', ()) for name in ('start', 'goal'))
    if len(start) != 3 or len(goal) != 2:
        raise ResetFailed(
            f'Wrong reset target (expected {prefix}start (x, y, yaw) and {prefix}goal (x, y), got '
            f'{ {name: list(v) for name, v in values.items()} }).'
        )
    x, y, yaw = start
    return ResetTarget(x=x, y=y, yaw=yaw, goal_x=goal[0], goal_y=goal[1])


def achieved(
    target: ResetTarget, truth: TruthReading, prefix: str = ''
) -> tuple[NamedValues, NamedValues]:
    """Return where the cart stands, and the mark of its goal, as the confirmation of a reset."""
    # The heading by as many turns as the target's: it is compared with that.
    turns = round((target.yaw - truth.yaw) / (2.0 * math.pi))
    return (
        NamedValues(
            name=f'{prefix}start',
            values=(truth.x, truth.y, truth.yaw + turns * 2.0 * math.pi),
            unit=('m', 'm', 'rad'),
        ),
        NamedValues(name=f'{prefix}goal', values=(target.goal_x, target.goal_y), unit=('m', 'm')),
    )
