# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every simulated robot asks of MuJoCo: whether it is there, rays, and honest failures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from boundary_env_ros.errors import MissingDependency, SimulationFailed
from boundary_env_ros.simulation.messages import Float64Array

try:
    import mujoco
except ImportError as error:
    raise MissingDependency(
        'The simulated robot needs MuJoCo, which cannot be imported '
        f'({error}). Install it with `pip install mujoco`.'
    ) from error

__all__ = ['RayCaster', 'RayHits', 'mujoco', 'report_failure']


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


class RayCaster:
    """
    Rays in a world, as the sensors of light of one robot cast them.

    Parameters
    ----------
    model, data
        The world.
    groups
        The groups of geoms that are seen.
    without
        Number of a body whose geoms are not seen; -1: all are.

    Attributes
    ----------
    floor_geom
        Number of the floor's geom.
    geom_colours
        Red, green and blue of every geom, 0 to 1, shape (geoms, 3).

    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        groups: Collection[int],
        without: int = -1,
    ) -> None:
        self._model, self._data, self._without = model, data, without
        self._groups = np.isin(np.arange(6), list(groups)).astype(np.uint8)
        self.floor_geom: int = model.geom('floor').id
        self.geom_colours = np.asarray(model.geom_rgba[:, :3], dtype=np.float64)

    def cast(self, origin: Float64Array, directions: Float64Array, cutoff: float) -> RayHits:
        """
        Find what rays from one point meet.

        Parameters
        ----------
        origin
            m, world, shape (3,).
        directions
            Unit vectors, world, shape (n, 3).
        cutoff
            How far to look, m; what is hit beyond it may be reported or not.

        """
        count = len(directions)
        distance = np.empty(count)
        geom = np.empty(count, dtype=np.int32)
        normal = np.empty(3 * count)
        mujoco.mj_multiRay(
            self._model,
            self._data,
            origin,
            directions.reshape(-1),
            self._groups,
            True,
            self._without,
            geom,
            distance,
            normal,
            count,
            cutoff,
        )
        distance[geom < 0] = np.inf
        return RayHits(distance=distance, geom=geom, normal=normal.reshape(count, 3))


def report_failure(data: mujoco.MjData) -> NoReturn:
    """Raise SimulationFailed, naming the warnings that the engine gave."""
    numbers = data.warning.number
    names = [
        mujoco.mjtWarning(kind).name
        for kind in range(int(mujoco.mjtWarning.mjNWARNING))
        if numbers[kind]
    ]
    raise SimulationFailed(
        f'The physics warned (expected a physics step without warnings, got {", ".join(names)} '
        f'after {data.time:.3f} s of simulation). Reset the robot to go on.'
    )
