# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where in a message the values of a field or of a command are, as frozen values.

:mod:`boundary_env_ros.core.sources.readers` reads by them,
:mod:`boundary_env_ros.core.gate.commands` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar, TypeAlias

from boundary_env_ros.core.contract.grammar import NAME, PATH, WORD
from boundary_env_ros.core.contract.key import BREAKING, Key, Section
from boundary_env_ros.core.contract.paths import short
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

JointNames: TypeAlias = Annotated[
    tuple[str, ...],
    Key(
        'joints',
        spelt=WORD,
        listed='joint',
        unique=True,
        expected='the name of a joint',
        one_of=True,
    ),
    BREAKING,
]

IMAGE = 'sensor_msgs/msg/Image'
COMPRESSED = 'sensor_msgs/msg/CompressedImage'
SCAN = 'sensor_msgs/msg/LaserScan'
RANGE = 'sensor_msgs/msg/Range'
CLOUD = 'sensor_msgs/msg/PointCloud2'
JOINTS = 'sensor_msgs/msg/JointState'
STRING = 'std_msgs/msg/String'
TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'

#: What a command is written to, and measured by; a field is read by beams and points, too.
COMMAND_FORMS = ('fields', 'parts', 'joints', 'array')
FORMS = ('fields', 'parts', 'joints', 'beams', 'points', 'array')

QUANTITIES = ('position', 'velocity', 'effort')

#: Enough for a costmap of 128 x 128. More numbers in one field are an image, or too many to copy
#: into every record.
MOST_VALUES = 16_384

#: In place of a unit.
OF_VALUE = 'in the unit of the value'

#: What the reference says of the unit where a ready adapter knows it.
OF_ADAPTER = 'of a ready adapter'

_BAYER = tuple(
    f'bayer_{order}{bits}' for order in ('rggb', 'bggr', 'gbrg', 'grbg') for bits in (8, 16)
)

#: Channels and NumPy type of each encoding.
ENCODINGS: dict[str, tuple[int, str]] = {
    'mono8': (1, 'uint8'),
    'rgb8': (3, 'uint8'),
    'bgr8': (3, 'uint8'),
    'rgba8': (4, 'uint8'),
    'bgra8': (4, 'uint8'),
    '8UC1': (1, 'uint8'),
    '8UC3': (3, 'uint8'),
    'mono16': (1, 'uint16'),
    '16UC1': (1, 'uint16'),
    '32FC1': (1, 'float32'),
    **{name: (1, 'uint16' if name.endswith('16') else 'uint8') for name in _BAYER},
}

#: Encodings whose pixels are measurements with a unit and bounds of their own.
DEPTHS = ('16UC1', '32FC1')

#: What a compressed image can be decompressed to.
DECOMPRESSED = ('mono8', 'rgb8', 'bgr8', 'mono16', '16UC1')


@frozen
class Paths:
    """
    A number at each of some field paths.

    Attributes
    ----------
    paths
        One [path](#field-paths) for each value. At most one of ``fields``, ``parts``, ``joints``,
        ``beams``, ``points``, ``array`` says where the values are; without any, a type with a
        [ready adapter](#ready-adapters) gives all it has.
    parts
        Parts of a message with a ready adapter, which knows their paths and units.

    """

    paths: Annotated[
        tuple[str, ...], Key('fields', spelt=PATH, listed='field path', one_of=True), BREAKING
    ]
    parts: ClassVar[Annotated[tuple[str, ...], Key(spelt=WORD, listed='part')]] = ()


@frozen
class Joints:
    """
    Values of some joints of a ``sensor_msgs/msg/JointState``, found by name.

    Attributes
    ----------
    names
        Of a ``sensor_msgs/msg/JointState``: found by name. Of an array of numbers
        (``std_msgs/msg/Float64MultiArray``): the name of each, in its order, and then no
        ``length``.
    quantities
        Of each joint: all joints of the first quantity, then of the next. Of ``feedback`` without
        ``joints`` what ``interface`` says.
    publishers
        How many nodes publish that ``JointState``: [several
        drivers](nodes/safety_gate.md#several-drivers-on-one-topic). The same wherever the topic is
        read; never of a command.

    """

    names: JointNames
    quantities: Annotated[
        tuple[str, ...],
        Key('quantity', choices=QUANTITIES, listed='quantity', unique=True),
        BREAKING,
    ] = ('position',)
    publishers: Annotated[int, Key(least=1)] = 1


@frozen
class Trajectory:
    """
    One point of a ``trajectory_msgs/msg/JointTrajectory``.

    Attributes
    ----------
    names
        Of a trajectory: its joints, in the order of the dimensions.
    duration
        Of a trajectory: from its start to its one point. With ``max_acceleration`` or ``max_jerk``
        it is at least ``period``.

    """

    names: JointNames
    duration: Annotated[float, Key(unit='s', above=0.0, when=('type', TRAJECTORY))]


@frozen
class Array:
    """
    A sequence of numbers of a declared length, for example ``data`` of a multi-array.

    Attributes
    ----------
    path
        A sequence of numbers, at most 16,384. ``data`` of the ``std_msgs`` multi-arrays and
        ``axes`` of a ``Joy`` are found without it.
    length
        Of the array, in place of ``shape``.
    names
        Of the joint that each of them is for; empty if ``joints`` does not say it.

    """

    path: Annotated[str, Key('array', spelt=PATH, one_of=True), BREAKING]
    length: Annotated[int, Key(least=1, most=MOST_VALUES, one_of=True), BREAKING]
    names: Annotated[tuple[str, ...], BREAKING] = ()


@frozen
class Beams:
    """
    A ``sensor_msgs/msg/LaserScan``, downsampled to the nearest return of equal sectors.

    Attributes
    ----------
    count
        For ``sensor_msgs/msg/LaserScan``: so many equal sectors from ``angle_min`` on; each value
        is the nearest return of its sector. No return counts as ``range_max``, an unusable beam as
        0.

    """

    count: Annotated[int, Key('beams', least=1, most=MOST_VALUES, one_of=True), BREAKING]


@frozen
class Points:
    """
    A ``sensor_msgs/msg/PointCloud2``, thinned out to a fixed number of points.

    Attributes
    ----------
    count
        For ``sensor_msgs/msg/PointCloud2``: so many points, taken evenly over those that are
        finite. Shape ``[points, channels]``.
    channels
        Of the point cloud's fields.
    pad
        One for each channel, within the bounds: what stands for missing points.

    """

    count: Annotated[int, Key('points', least=1, most=MOST_VALUES, one_of=True), BREAKING]
    channels: Annotated[
        tuple[str, ...],
        Key(spelt=WORD, listed='channel', unique=True, shown='list of names'),
        BREAKING,
    ] = ('x', 'y', 'z')
    pad: Annotated[Vector, Key(unit=OF_VALUE), BREAKING]


@frozen
class Picture:
    """
    A ``sensor_msgs/msg/Image`` or ``CompressedImage``, which travels by reference.

    Attributes
    ----------
    encoding
        Of an image. It must fit the channels of ``shape``.
    compressed
        Of a ``CompressedImage``; ``encoding`` is then what it is decompressed to. Needs the extra
        ``images`` in the policy's process.
    invalid
        For ``32FC1``: what stands for a pixel that measured nothing, within the bounds.

    """

    encoding: Annotated[
        str, Key(choices=tuple(ENCODINGS), shown='an [encoding](#images)'), BREAKING
    ]
    compressed: Annotated[
        str, Key(choices=('jpeg', 'png'), required=True, when=('type', COMPRESSED))
    ] = ''
    invalid: Annotated[float, Key(unit=OF_VALUE, when=('encoding', '32FC1')), BREAKING] = 0.0


@frozen
class Lookup:
    """
    A transform that tf looks up.

    Attributes
    ----------
    paths
        Field paths into a ``geometry_msgs/msg/Transform``.
    transform
        Instead of ``topic`` and ``type``: the field is looked up in the frames that ``/tf`` and
        ``/tf_static`` tell. ``fields`` or ``parts`` are those of a
        ``geometry_msgs/msg/Transform``. It is as old as the oldest of its moving links; a chain of
        static links alone never ages. A message on a topic, a detection in the frame of a camera,
        is not transformed: have its publisher tell it on ``/tf`` as well, as a frame.
    target
        Frame that the transform is the pose in.
    source
        Frame whose pose it is.

    """

    paths: Annotated[tuple[str, ...], Key('fields', spelt=PATH), BREAKING]
    transform: ClassVar[Annotated[Section, Key()]] = Section()
    target: Annotated[
        str, Key('transform.in', expected='the name of a frame', shown='frame'), BREAKING
    ]
    source: Annotated[
        str, Key('transform.of', expected='the name of a frame', shown='frame'), BREAKING
    ]


@frozen
class Derived:
    """
    A pure function of other fields; see :mod:`boundary_env_ros.core.sources.derived`.

    Attributes
    ----------
    function
        Name of the function.
    of
        Fields that it is of, derived ones among them.
    count
        For ``history``.
    index
        For ``sine_cosine``.
    parameters
        Its parameters, whole numbers.

    """

    function: Annotated[str, Key(shown='a [function](#derived-fields)'), BREAKING]
    of: Annotated[tuple[str, ...], Key(spelt=NAME, expected='the name of a field'), BREAKING]
    count: ClassVar[Annotated[int, Key(least=2, when=('function', 'history'))]]
    index: ClassVar[Annotated[int, Key(least=0, when=('function', 'sine_cosine'))]]
    parameters: Annotated[Mapping[str, int], Key(''), BREAKING] = field(default_factory=dict)


def publishers_of(source: object) -> int:
    """Return how many nodes may publish the topic that a source is read from."""
    return source.publishers if isinstance(source, Joints) else 1


Source: TypeAlias = Paths | Joints | Trajectory | Array | Beams | Points | Picture | Lookup


def value_names(source: Source | None) -> tuple[str, ...]:
    """Return a short name for each value of a source; empty where it gives them none."""
    match source:
        case Paths(paths=paths) | Lookup(paths=paths):
            return short(paths)
        case Joints(names=names, quantities=quantities) if len(quantities) > 1:
            return tuple(f'{name} {quantity}' for quantity in quantities for name in names)
        case Joints(names=names) | Trajectory(names=names) | Array(names=names):
            return names
    return ()
