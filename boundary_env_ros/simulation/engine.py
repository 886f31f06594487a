# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every simulated robot asks of MuJoCo: whether it is there, rays, and honest failures."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from boundary_env_ros.errors import needed, SimulationFailed
from boundary_env_ros.simulation.messages import Float64Array

with needed('The simulated robot needs MuJoCo', 'pip install mujoco'):
    import mujoco

__all__ = ['RayCaster', 'mujoco', 'report_failure']


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

    def cast(
        self, origin: Float64Array, directions: Float64Array, cutoff: float
    ) -> tuple[Float64Array, npt.NDArray[np.int32], Float64Array]:
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

        Returns
        -------
        tuple
            In the order of the rays, what each met: distance, m, shape (n,), +inf where nothing;
            number of the geom, shape (n,), -1 there; unit normal of the surface, world, shape
            (n, 3), zero there.

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
        return distance, geom, normal.reshape(count, 3)


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
