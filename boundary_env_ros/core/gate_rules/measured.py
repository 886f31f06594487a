# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the robot does, as a command: where the limits begin anew."""

from __future__ import annotations

from collections.abc import Mapping
import math

from boundary_env_ros.core.angles import all_near
from boundary_env_ros.core.decision import Measurement
from boundary_env_ros.core.gate_rules.limits import FEEDBACK, Limits
from boundary_env_ros.core.gate_rules.rotation import measured_rotations
from boundary_env_ros.core.sources import Vector


def measured_command(limits: Limits, measurements: Mapping[str, Measurement]) -> Vector | None:
    """
    Return the measured state as a command, with unit quaternions for rotations.

    A place is where it is, even outside of its bounds: any other would move the robot there. What
    moves the robot for as long as it is in force is brought into its bounds. None if one part is
    unknown, not usable, no rotation, or too old.

    Parameters
    ----------
    limits
        The limits in force.
    measurements
        The feedback of every group, and whatever else, by name.

    """
    values: list[float] = []
    for group in limits.groups:
        name = f'{FEEDBACK}.{group.name}'
        need, measurement = limits.needs[name], measurements.get(name)
        if measurement is None or not need.fresh(measurement) or not need.usable(measurement):
            return None
        values += measurement.values
    measured = measured_rotations(limits, tuple(values))
    if measured is None:
        return None
    return tuple(
        value if math.isnan(safe) else min(max(value, low), high)
        for value, safe, low, high in zip(
            measured, limits.safe, limits.low, limits.high, strict=True
        )
    )


def kept_of(limits: Limits, commanded: Vector, measured: Vector) -> Vector:
    """
    Return where the limits begin anew while a command is in force: what the robot does of it.

    A place is where it is; an angle that wraps, by the number nearest to the commanded. A speed is
    what the robot does between the safe speed and the commanded one: what it does beyond, or the
    other way, nobody has asked for, and a sensor that is broken may make it up.

    Parameters
    ----------
    limits
        The limits in force.
    commanded
        The command in force.
    measured
        What :func:`measured_command` says.

    """
    kept = list(all_near(measured, commanded, limits.angles))
    for i in limits.speeds:
        low, high = sorted((limits.safe[i], commanded[i]))
        kept[i] = min(max(measured[i], low), high)
    return tuple(kept)
