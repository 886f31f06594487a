# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the robot does, as a command: where the limits begin again."""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rotation import measured_rotations, nearer_sign
from boundary_env_ros.core.records.decision import FEEDBACK, Measurement, measurement_of
from boundary_env_ros.core.vectors import all_near, Vector


def measured_command(
    limits: Limits, measurements: Sequence[Measurement], since: float = math.inf
) -> Vector | None:
    """
    Return the measured state as a command, with unit quaternions for rotations.

    A place is where it is, even outside of its bounds: any other would move the robot there. What
    moves the robot for as long as it is in force is brought into its bounds. None if one part is
    unknown, not usable, no rotation, or was measured before the last command.

    Parameters
    ----------
    limits
        The limits in force.
    measurements
        The feedback of every group, and whatever else.
    since
        Seconds since the last command: a robot that has moved since an older measurement is not
        there any more, and to send that would move it back.

    """
    measured = known_state(limits, measurements, since)
    return None if any(map(math.isnan, measured)) else measured


def known_state(
    limits: Limits, measurements: Sequence[Measurement], since: float = math.inf
) -> Vector:
    """
    Return what is known of the measured state, as a command; NaN for a group that is not known.

    Nor is one that was measured more seconds ago than ``since``.
    """
    values: list[float] = []
    for group in limits.groups:
        name = f'{FEEDBACK}.{group.name}'
        need, measurement = limits.needs[name], measurement_of(measurements, name)
        if (
            measurement is None
            or not need.fresh(measurement)
            or not need.usable(measurement)
            or (measurement.age is not None and measurement.age > since)
        ):
            values += (math.nan,) * group.size
        else:
            values += measurement.values
    measured = measured_rotations(limits, tuple(values))
    return tuple(
        value if math.isnan(safe) else min(max(value, low), high)
        for value, safe, low, high in zip(
            measured, limits.safe, limits.low, limits.high, strict=True
        )
    )


def beside(
    limits: Limits,
    commanded: Vector,
    known: Vector,
    left: Sequence[bool],
    *,
    to_stop: bool,
) -> Vector:
    """
    Return where the limits begin again where only some drivers were left alone.

    The others still follow the last command. A request begins at what the robot does
    where its driver has braked. A stop begins there at the safe speed, which the driver brakes
    to. So does a request where a speed is not known; a place that is not known goes on from the
    last command: no other is sent, and what is still commanded can be braked.

    Parameters
    ----------
    limits
        The limits in force.
    commanded
        The last command.
    known
        What :func:`known_state` says of the robot since that went out.
    left
        By dimension, whether its driver brakes by itself.
    to_stop
        Whether there is no request.

    """
    previous = list(commanded)
    for i, is_ in enumerate(known):
        if left[i] and not math.isnan(limits.safe[i]) and (to_stop or math.isnan(is_)):
            previous[i] = limits.safe[i]
        elif left[i] and not math.isnan(is_):
            previous[i] = is_
    return tuple(previous)


def resumed_from(limits: Limits, commanded: Vector, measured: Vector) -> Vector:
    """
    Return where the limits begin again while a command is in force: what the robot does of it.

    Only for the groups that have departed from it by more than their own ``max_tracking_error``;
    the others go on from the last command. A place is where it is; an angle that wraps, by the
    number nearest to the commanded. A speed is what the robot does between the safe speed and the
    commanded one: what it does beyond, or the other way, was not asked for, and a sensor that
    is broken may make it up.

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
    return tuple(
        is_ if far else was
        for was, is_, far in zip(
            commanded, kept, departed(limits, commanded, measured), strict=True
        )
    )


def departed(limits: Limits, commanded: Vector, measured: Vector) -> tuple[bool, ...]:
    """Return, by dimension, whether its group does another thing than it was commanded."""
    apart = iter(zip(commanded, nearer_sign(limits, measured, commanded), strict=True))
    found: list[bool] = []
    for group in limits.groups:
        most = group.max_tracking_error or (math.inf,) * group.size
        far = [abs(was - is_) > limit for limit, (was, is_) in zip(most, apart, strict=False)]
        found += [any(far)] * group.size
    return tuple(found)
