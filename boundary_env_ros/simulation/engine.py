# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every simulated robot asks of MuJoCo: whether it is there, rays, and honest failures."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from boundary_env_ros.errors import MissingDependency, SimulationFailed
from boundary_env_ros.simulation.body_state import RayHits
from boundary_env_ros.simulation.readings import Float64Array

try:
    import mujoco
except ImportError as error:
    raise MissingDependency(
        'The simulated robot needs MuJoCo, which cannot be imported '
        f'({error}). Install it with `pip install mujoco`.'
    ) from error

__all__ = ['cast_rays', 'mujoco', 'report_failure']


def cast_rays(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    *,
    origin: Float64Array,
    directions: Float64Array,
    groups: npt.NDArray[np.uint8],
    cutoff: float,
    without: int = -1,
) -> RayHits:
    """
    Find what rays from one point meet.

    Parameters
    ----------
    model, data
        The world.
    origin
        m, world, shape (3,).
    directions
        Unit vectors, world, shape (n, 3).
    groups
        For each of the six groups of geoms, whether it is seen.
    cutoff
        How far to look, m; what is hit beyond it may be reported or not.
    without
        Number of a body whose geoms are not seen; -1: all are.

    """
    count = len(directions)
    distance = np.empty(count)
    geom = np.empty(count, dtype=np.int32)
    normal = np.empty(3 * count)
    mujoco.mj_multiRay(
        model,
        data,
        origin,
        directions.reshape(-1),
        groups,
        True,
        without,
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
