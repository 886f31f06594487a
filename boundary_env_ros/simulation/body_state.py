# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the physics says about the cart at one instant: the truth that sensors measure from."""

from __future__ import annotations

import math

from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.messages import Float64Array
from boundary_env_ros.simulation.readings import TrueState, TruthReading


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
