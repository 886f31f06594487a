# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where in a message the values of a field or of a command are, as frozen values.

:mod:`boundary_env_ros.core.fields` reads by them, :mod:`boundary_env_ros.core.commands` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Vector: TypeAlias = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """
    A number at each of some field paths.

    Attributes
    ----------
    paths
        Names and indices, ``pose.covariance[0]``, or a function of a path,
        ``yaw(pose.orientation)``.

    """

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joints:
    """
    Values of some joints of a ``sensor_msgs/msg/JointState``, found by name.

    Attributes
    ----------
    names
        Of the joints, in contract order, whatever the order in the message.
    quantities
        ``position``, ``velocity``, ``effort``: all joints of the first, then of the next.

    """

    names: tuple[str, ...]
    quantities: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """
    One point of a ``trajectory_msgs/msg/JointTrajectory``.

    Attributes
    ----------
    names
        Of the joints, in contract order.
    duration
        Seconds from the start of the trajectory to its point.

    """

    names: tuple[str, ...]
    duration: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """
    A sequence of numbers of a declared length, for example ``data`` of a multi-array.

    Attributes
    ----------
    path
        Field path of the sequence.
    length
        How many numbers it must have.

    """

    path: str
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beams:
    """
    A ``sensor_msgs/msg/LaserScan``, downsampled to the nearest return of equal sectors.

    Attributes
    ----------
    count
        Number of sectors, from ``angle_min`` on.

    """

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """
    A ``sensor_msgs/msg/PointCloud2``, thinned out to a fixed number of points.

    Attributes
    ----------
    count
        Number of points, taken evenly over those that are finite.
    channels
        Names of the fields of a point, for example x, y, z.
    pad
        What stands in each channel of a point that the cloud has too few for.

    """

    count: int
    channels: tuple[str, ...]
    pad: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """
    A ``sensor_msgs/msg/Image`` or ``CompressedImage``, which travels by reference.

    Attributes
    ----------
    encoding
        As in ``sensor_msgs/image_encodings.hpp``: of the image, or of the decompressed one.
    compressed
        ``jpeg`` or ``png``; empty for an image that is not compressed.
    invalid
        For a depth image of floats, what stands for a pixel that measured nothing (not finite).

    """

    encoding: str
    compressed: str = ''
    invalid: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """
    A transform that tf looks up.

    Attributes
    ----------
    target, source
        The transform takes data from the frame ``source`` to the frame ``target``: it is the pose
        of ``source`` in ``target``.
    paths
        Field paths into a ``geometry_msgs/msg/Transform``.

    """

    target: str
    source: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """
    A pure function of other fields; see :mod:`boundary_env_ros.core.derived`.

    Attributes
    ----------
    function
        Name of the function.
    of
        Fields that it is of.
    parameters
        Its parameters, whole numbers.

    """

    function: str
    of: tuple[str, ...]
    parameters: Mapping[str, int] = field(default_factory=dict)


Source: TypeAlias = Paths | Joints | Trajectory | Array | Beams | Points | Picture | Lookup
