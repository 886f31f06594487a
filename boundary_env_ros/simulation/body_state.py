# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the physics says about the cart at one instant: the truth that sensors measure from."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from boundary_env_ros.simulation.readings import Float64Array, read_only, TruthReading


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BodyState:
    """
    True state of the cart at the end of a physics step.

    Attributes
    ----------
    at_ns
        When, ns, in the clock of the caller.
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
    touch_steps
        Physics steps so far in which the cart touched anything but the floor; never goes back.

    """

    at_ns: int
    position: Float64Array
    orientation: Float64Array
    rotation: Float64Array
    velocity: Float64Array
    angular_velocity: Float64Array
    wheel_angles: Float64Array
    wheel_speeds: Float64Array
    touch_steps: int

    def __post_init__(self) -> None:
        for name in (
            'position',
            'orientation',
            'rotation',
            'velocity',
            'angular_velocity',
            'wheel_angles',
            'wheel_speeds',
        ):
            value = getattr(self, name)
            kept = read_only(value)
            if kept is not value:
                object.__setattr__(self, name, kept)

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RayHits:
    """
    Where rays from one point met something; rows in the order of the rays.

    Attributes
    ----------
    distance
        m, shape (n,); +inf where a ray met nothing.
    geom
        Number of the geom, shape (n,); -1 where a ray met nothing.
    normal
        Of the surface, unit, hall's axes, shape (n, 3); zero where a ray met nothing.

    """

    distance: Float64Array
    geom: npt.NDArray[np.int32]
    normal: Float64Array


class RayCaster(Protocol):
    """What sensors of light need to know about the world."""

    @property
    def geom_colours(self) -> Float64Array:
        """Return red, green and blue of every geom, 0 to 1, shape (geoms, 3)."""
        ...

    @property
    def floor_geom(self) -> int:
        """Return the number of the floor's geom."""
        ...

    def cast_rays(
        self,
        origin: Float64Array,
        directions: Float64Array,
        *,
        cutoff: float,
        marks: bool,
    ) -> RayHits:
        """
        Find what rays meet, the cart itself excluded.

        Parameters
        ----------
        origin
            m, hall's frame, shape (3,).
        directions
            Unit vectors, hall's axes, shape (n, 3).
        cutoff
            How far to look, m; what is hit beyond it may be reported or not.
        marks
            Whether marks on the floor, such as the goal, are seen.

        """
        ...
