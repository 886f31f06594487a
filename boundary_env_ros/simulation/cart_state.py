# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The cart as values: how an episode begins, and the truth that sensors measure from.

Axes as in REP-103. ``hall`` is the fixed frame in the middle of the hall's floor, ``base_link``
the middle of the wheel axle at the wheels' height. Yaw lies in [-pi, pi].
"""

from __future__ import annotations

import math

from boundary_env_ros.core.environment.reset import by_name, ResetWorld
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.messages import Float64Array
from boundary_env_ros.simulation.readings import TrueState


@frozen
class TruthReading:
    """
    True pose of base_link in the hall and its true velocity; privileged.

    Attributes
    ----------
    x, y
        Position, m.
    yaw
        Heading, rad.
    linear, lateral
        Velocity forward and to the left, in base_link, m/s.
    angular
        Yaw rate, rad/s.

    """

    x: float
    y: float
    yaw: float
    linear: float
    lateral: float
    angular: float


@frozen(eq=False)
class BodyState(TrueState):
    """
    True state of the cart at the end of a physics step; it must touch nothing but the floor.

    Attributes
    ----------
    position
        Of base_link in the hall, m, shape (3,).
    orientation
        Of base_link in the hall, quaternion w, x, y, z (MuJoCo's order), shape (4,).
    rotation
        The same as a matrix, base_link to hall, shape (3, 3).
    velocity
        Of base_link in the hall's axes, m/s, shape (3,).
    angular_velocity
        In base_link, rad/s, shape (3,).
    wheel_angles
        Left and right, rad, shape (2,).
    wheel_speeds
        Left and right, rad/s, shape (2,).

    """

    position: Float64Array
    orientation: Float64Array
    rotation: Float64Array
    velocity: Float64Array
    angular_velocity: Float64Array
    wheel_angles: Float64Array
    wheel_speeds: Float64Array

    @property
    def yaw(self) -> float:
        """Heading in the hall, rad."""
        return math.atan2(self.rotation[1, 0], self.rotation[0, 0])

    def truth(self) -> TruthReading:
        """Return the privileged truth: planar pose and velocity, exact."""
        linear, lateral, _ = (self.rotation.T @ self.velocity).tolist()
        return TruthReading(
            x=float(self.position[0]),
            y=float(self.position[1]),
            yaw=self.yaw,
            linear=linear,
            lateral=lateral,
            angular=float(self.angular_velocity[2]),
        )


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
