# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What simulated sensors measured: immutable values.

Axes as in REP-103. Of the cart: ``hall`` is the fixed frame in the middle of the hall's floor,
``base_link`` the middle of the wheel axle at the wheels' height. Yaw lies in [-pi, pi].
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Float64Array: TypeAlias = npt.NDArray[np.float64]
Scalar = TypeVar('Scalar', bound=np.generic)


def read_only(values: npt.ArrayLike) -> Float64Array:
    """Return values, float64, that cannot be written to: a copy, if they can be."""
    return _unwritable(np.asarray(values, dtype=np.float64))


def _unwritable(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    if array.flags.writeable:
        array = array.copy()
        array.setflags(write=False)
    return array


class WithArrays:
    """A value whose arrays cannot be written to."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Keep copies of arrays that others can write to."""
        for item in fields(self):  # type: ignore[arg-type]  # what is derived from it is one
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, item.name, _unwritable(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class OdometryReading:
    """
    Pose by dead reckoning, and velocity in base_link.

    The pose is that of the hall's frame at the reset and drifts from there.

    Attributes
    ----------
    x, y
        Position, m.
    yaw
        Heading, rad.
    linear
        Forward velocity, m/s.
    angular
        Yaw rate, rad/s.

    """

    x: float
    y: float
    yaw: float
    linear: float
    angular: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointReading(WithArrays):
    """
    State of joints, in the order of ``names``; those of the cart are its wheels.

    Attributes
    ----------
    position
        Angle, rad, not wrapped (m for a joint that slides), shape (joints,).
    velocity
        Angular velocity, rad/s (m/s for a joint that slides), shape (joints,).
    names
        Names of the joints.

    """

    position: Float64Array
    velocity: Float64Array
    names: tuple[str, ...] = ('left_wheel_joint', 'right_wheel_joint')


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImuReading(WithArrays):
    """
    Inertial measurement in base_link, as REP-145 asks: gravity is part of the acceleration.

    Attributes
    ----------
    orientation
        Of base_link in the hall, quaternion x, y, z, w, shape (4,).
    angular_velocity
        rad/s, shape (3,).
    linear_acceleration
        m/s^2, shape (3,), mean since the capture before; about (0, 0, 9.81) at rest.

    """

    orientation: Float64Array
    angular_velocity: Float64Array
    linear_acceleration: Float64Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanReading(WithArrays):
    """
    One turn of the laser scanner, in the scanner's frame (base_link, shifted by its mount).

    Attributes
    ----------
    ranges
        m, shape (beams,), counter-clockwise from angle_min; as in REP-117, +inf where nothing
        was within range_max and -inf where something was nearer than range_min.
    angle_min, angle_increment
        Direction of the first beam and step to the next, rad, about z from x.
    range_min, range_max
        Limits of what can be measured, m.

    """

    ranges: Float64Array
    angle_min: float
    angle_increment: float
    range_min: float
    range_max: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageReading(WithArrays):
    """
    One camera frame.

    Attributes
    ----------
    pixels
        RGB, uint8, shape (height, width, 3), first row on top.

    """

    pixels: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseReading:
    """
    Planar pose of base_link in the hall, as a detector saw it.

    Attributes
    ----------
    x, y
        Position, m.
    yaw
        Heading, rad.
    position_std
        Standard deviation of x and of y, m: that which the noise was really drawn with.
    yaw_std
        Standard deviation of yaw, rad, likewise.

    """

    x: float
    y: float
    yaw: float
    position_std: float
    yaw_std: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpatialPoseReading(WithArrays):
    """
    Pose of something in space.

    Attributes
    ----------
    position
        x, y, z, m, shape (3,).
    orientation
        Quaternion x, y, z, w, shape (4,).

    """

    position: Float64Array
    orientation: Float64Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WrenchReading(WithArrays):
    """
    Force and torque on a wrist, in the wrist's axes.

    Attributes
    ----------
    force
        N, shape (3,): what the world does to the tool.
    torque
        N m, shape (3,), likewise, about the sensor's origin.

    """

    force: Float64Array
    torque: Float64Array


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactReading:
    """
    Whether the robot touched what it must not touch since the capture before.

    For the cart, that is anything but the floor.

    Attributes
    ----------
    touching
        True if it did at any instant between the two captures.

    """

    touching: bool


Payload: TypeAlias = (
    OdometryReading
    | JointReading
    | ImuReading
    | ScanReading
    | ImageReading
    | PoseReading
    | SpatialPoseReading
    | WrenchReading
    | TruthReading
    | ContactReading
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """
    One reading on its way from a sensor to its subscribers.

    Attributes
    ----------
    sensor
        Name of the sensor, as the configuration of the robot has it.
    captured_ns
        When it was measured, ns, in the clock of the caller.
    published_ns
        When it is published, or would have been, ns, in the clock of the caller.
    sequence
        Counts the sensor's captures since the reset, dropped ones included, from 0.
    payload
        What was measured; None if the reading was dropped, so that it cannot be used by mistake.

    """

    sensor: str
    captured_ns: int
    published_ns: int
    sequence: int
    payload: Payload | None

    @property
    def dropped(self) -> bool:
        """Tell whether the reading was lost on its way: it must not be published."""
        return self.payload is None
