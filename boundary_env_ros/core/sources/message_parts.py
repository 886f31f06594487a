# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Ready adapters: the parts of common messages, with the field paths and units of each.

The units are those that the message definitions declare (SI by REP-103; degrees for a
``NavSatFix``, degrees Celsius for a ``Temperature``).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from boundary_env_ros.core.contract.paths import split_call
from boundary_env_ros.frozen import frozen


@frozen(kw_only=False)
class MessagePart:
    """Field paths of one part of a message, and the unit of each."""

    paths: tuple[str, ...]
    unit: tuple[str, ...]


Parts = Mapping[str, MessagePart]


def _part(path: str, names: str, unit: str) -> MessagePart:
    """Return a part whose values have one unit; without names, it is the path itself."""
    paths = tuple('.'.join(filter(None, (path, name))) for name in (names.split() or ['']))
    return MessagePart(paths, (unit,) * len(paths))


_XYZ, _XYZW = 'x y z', 'x y z w'

#: Parts of a message, and the units, of which the variants below are made.
_GEOMETRY: Mapping[str, Mapping[str, tuple[str, str]]] = {
    'Vector3': {'': (_XYZ, '')},
    'Point': {'': (_XYZ, 'm')},
    'Quaternion': {'': (_XYZW, '')},
    'Pose': {'position': (_XYZ, 'm'), 'orientation': (_XYZW, '')},
    'Transform': {'translation': (_XYZ, 'm'), 'rotation': (_XYZW, '')},
    'Twist': {'linear': (_XYZ, 'm/s'), 'angular': (_XYZ, 'rad/s')},
    'Accel': {'linear': (_XYZ, 'm/s^2'), 'angular': (_XYZ, 'rad/s^2')},
    'Wrench': {'force': (_XYZ, 'N'), 'torque': (_XYZ, 'N m')},
}

#: Whose values have uncertainties, in ``geometry_msgs``.
_WITH_COVARIANCE = ('Pose', 'Twist', 'Accel')


def _parts(name: str, prefix: str) -> Parts:
    return {
        part or name.lower(): _part('.'.join(filter(None, (prefix, part))), names, unit)
        for part, (names, unit) in _GEOMETRY[name].items()
    }


def _geometry() -> dict[str, Parts]:
    found: dict[str, Parts] = {}
    for name in _GEOMETRY:
        # The only one whose field is not called as its type.
        inner = 'vector' if name == 'Vector3' else name.lower()
        found[f'geometry_msgs/msg/{name}'] = _parts(name, '')
        found[f'geometry_msgs/msg/{name}Stamped'] = _parts(name, inner)
        if name in _WITH_COVARIANCE:
            found[f'geometry_msgs/msg/{name}WithCovariance'] = _parts(name, inner)
            found[f'geometry_msgs/msg/{name}WithCovarianceStamped'] = _parts(
                name, f'{inner}.{inner}'
            )
    return found


_NUMBERS = (
    'Float32 Float64 Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64'.split()  # noqa: SIM905
)

#: By message type, its parts by name, in the order of the message.
PARTS: Mapping[str, Parts] = {
    **_geometry(),
    'nav_msgs/msg/Odometry': {
        **_parts('Pose', 'pose.pose'),
        **_parts('Twist', 'twist.twist'),
    },
    'sensor_msgs/msg/Imu': {
        'orientation': _part('orientation', _XYZW, ''),
        'angular_velocity': _part('angular_velocity', _XYZ, 'rad/s'),
        'linear_acceleration': _part('linear_acceleration', _XYZ, 'm/s^2'),
    },
    'sensor_msgs/msg/Range': {'range': _part('range', '', 'm')},
    'sensor_msgs/msg/BatteryState': {
        'voltage': _part('voltage', '', 'V'),
        'current': _part('current', '', 'A'),
        'temperature': _part('temperature', '', 'degC'),
        'charge': _part('charge', '', 'A h'),
        'percentage': _part('percentage', '', ''),
    },
    'sensor_msgs/msg/MagneticField': {'magnetic_field': _part('magnetic_field', _XYZ, 'T')},
    'sensor_msgs/msg/Temperature': {'temperature': _part('temperature', '', 'degC')},
    'sensor_msgs/msg/NavSatFix': {
        'position': MessagePart(('latitude', 'longitude', 'altitude'), ('deg', 'deg', 'm')),
    },
    **{f'std_msgs/msg/{name}': {'data': _part('data', '', '')} for name in ('Bool', *_NUMBERS)},
}

#: By message type, where the sequence of numbers is that an array is read from.
ARRAYS: Mapping[str, str] = {
    **{f'std_msgs/msg/{name}MultiArray': 'data' for name in _NUMBERS},
    'sensor_msgs/msg/Joy': 'axes',
}


def unit_at(type_name: str, path: str) -> str:
    """Return the unit that a message declares of a number in it; empty if none is known here."""
    if split_call(path)[0]:
        return 'rad'
    units = (zip(p.paths, p.unit, strict=True) for p in PARTS.get(type_name, {}).values())
    return dict(chain.from_iterable(units)).get(path, '')
