# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages for drafts: of any type, with any values, as plain objects, and bags of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from boundary_env_ros.storage.definitions import Field, full_name
from boundary_env_ros.storage.message_types import (
    INTEGERS,
    MessageTypes,
    rosbags_definitions,
)

SECOND = 1_000_000_000
START = 1_700_000_000 * SECOND
TYPES = MessageTypes([], rosbags_definitions())

TEXTS = ('', 'base', 'laser', 'left', 'right', 'x', 'rgb8', '32FC1', 'jpeg')
ODD = (0.0, math.nan, math.inf, -math.inf, 1e-30, 3e38, -1e300)


def any_message(type_name: str, rng: Random) -> SimpleNamespace:
    """Return a message of a type, with any values, short sequences and plausible texts."""
    message = SimpleNamespace()
    for field in TYPES.fields(type_name):
        count = rng.randint(0, 4) if field.size is None else field.size
        values = [_any_value(field, rng) for _ in range(count if field.array else 1)]
        setattr(message, field.name, values if field.array else values[0])
    return message


def _any_value(field: Field, rng: Random) -> Any:
    if field.is_message:
        return any_message(full_name(field.type), rng)
    if field.is_text:
        return rng.choice(TEXTS)
    if field.type == 'bool':
        return rng.random() < 0.5
    if field.type in INTEGERS:
        least, most = INTEGERS[field.type]
        return rng.choice([rng.randint(max(0, least), min(most, 9)), rng.randint(least, most)])
    return rng.choice(ODD) if rng.random() < 0.1 else rng.uniform(-9.0, 9.0)


def any_messages(type_name: str, seed: int) -> list[SimpleNamespace]:
    """Return a few messages of a type; the same ones for the same seed."""
    rng = Random(seed)
    return [any_message(type_name, rng) for _ in range(rng.randint(0, 4))]


# A robot in a bag --------------------------------------------------------------------------------

STORE = get_typestore(Stores.ROS2_JAZZY)
STORE.register(
    get_types_from_msg(
        'std_msgs/Header header\nfloat64 speed\nfloat64[2] slip\nbool locked\nstring note\n',
        'acme_msgs/msg/Wheel',
    )
)
STORE.register(
    {
        **get_types_from_msg('float64 angle\n', 'acme_msgs/msg/Leg'),
        **get_types_from_msg(
            'std_msgs/Header header\ntrajectory_msgs/JointTrajectoryPoint feedback\n'
            'acme_msgs/Leg[2] legs\nacme_msgs/Leg[] toes\n',
            'acme_msgs/msg/ArmState',
        ),
    }
)


def make(type_name: str, **fields: Any) -> Any:
    """Return a message of rosbags, its other fields zero or empty."""
    values = {}
    definition: Any = STORE.fielddefs[type_name][1]
    for name, (kind, detail) in definition:
        if name in fields:
            values[name] = fields[name]
        elif kind == 2:
            values[name] = make(detail)
        elif kind in (3, 4):
            (inner, what), size = detail
            numeric = inner == 1 and what[0] != 'string'
            count = size if kind == 3 else 0
            if inner == 2:
                values[name] = [make(what) for _ in range(count)]
                continue
            values[name] = (
                np.zeros(count, np.dtype(what[0] if what[0] != 'byte' else 'uint8'))
                if numeric
                else []
            )
        else:
            values[name] = {'string': '', 'bool': False}.get(detail[0], 0)
    return STORE.types[type_name](**values)


def header(at: int, frame: str) -> Any:
    stamp = make('builtin_interfaces/msg/Time', sec=at // SECOND, nanosec=at % SECOND)
    return make('std_msgs/msg/Header', stamp=stamp, frame_id=frame)


def cart_and_arm(steps: int = 40) -> Iterator[tuple[str, str, int, Any]]:
    """Yield topic, type, time of logging and message of a mobile robot with an arm."""
    for step in range(steps):
        at = START + step * SECOND // 20
        turn = math.sin(step / 7.0)
        odom = make('nav_msgs/msg/Odometry', header=header(at, 'odom'))
        odom.pose.pose.position.x, odom.pose.pose.position.y = 3.0 * turn, -1.5
        odom.pose.pose.orientation.z = math.sin(turn / 2.0)
        odom.pose.pose.orientation.w = math.cos(turn / 2.0)
        odom.twist.twist.linear.x, odom.twist.twist.angular.z = 0.6 * turn, -turn
        yield '/odom', 'nav_msgs/msg/Odometry', at + 4_000_000, odom
        yield '/ground_truth/pose', 'nav_msgs/msg/Odometry', at + 4_000_000, odom
        scan = make(
            'sensor_msgs/msg/LaserScan',
            header=header(at, 'laser'),
            range_max=10.0,
            ranges=np.full(180, 2.0 + turn, np.float32),
        )
        yield '/scan', 'sensor_msgs/msg/LaserScan', at + 9_000_000, scan
        joints = make(
            'sensor_msgs/msg/JointState',
            header=header(at, ''),
            name=['lift', 'turn'],
            position=np.array([turn, 2.0 * turn]),
            velocity=np.array([0.1, -turn]),
        )
        yield '/joint_states', 'sensor_msgs/msg/JointState', at + 1_000_000, joints
        wheel = make(
            'acme_msgs/msg/Wheel',
            header=header(at, 'wheel'),
            speed=turn,
            slip=np.array([turn, 7.0]),
        )
        yield '/wheel', 'acme_msgs/msg/Wheel', at + 2_000_000, wheel
        if step % 4 == 0:
            image = make(
                'sensor_msgs/msg/Image',
                header=header(at, 'camera'),
                height=4,
                width=6,
                encoding='32FC1',
                step=24,
                data=np.full(24, 1.5, np.float32).view(np.uint8),
            )
            yield '/depth/image', 'sensor_msgs/msg/Image', at + 30_000_000, image
        command = make('geometry_msgs/msg/Twist')
        command.linear.x, command.angular.z = 0.5 * turn, 0.9 * turn
        yield '/cmd_vel', 'geometry_msgs/msg/Twist', at, command
        arm = make('std_msgs/msg/Float64MultiArray', data=np.array([turn, 0.25]))
        yield '/arm_position_controller/commands', 'std_msgs/msg/Float64MultiArray', at, arm
        yield '/battery', 'std_msgs/msg/Float32', at, make('std_msgs/msg/Float32', data=24.0)
        yield '/rosout', 'rcl_interfaces/msg/Log', at, make('rcl_interfaces/msg/Log')
        yield '/notes', 'std_msgs/msg/String', at, make('std_msgs/msg/String', data='all is well')


MODES: Mapping[str, tuple[StoragePlugin, CompressionMode]] = {
    'mcap': (StoragePlugin.MCAP, CompressionMode.NONE),
    'mcap, chunks compressed': (StoragePlugin.MCAP, CompressionMode.STORAGE),
    'mcap, file compressed': (StoragePlugin.MCAP, CompressionMode.FILE),
    'sqlite3': (StoragePlugin.SQLITE3, CompressionMode.NONE),
    'sqlite3, file compressed': (StoragePlugin.SQLITE3, CompressionMode.FILE),
}


def write_bag(
    folder: Path,
    content: Iterator[tuple[str, str, int, Any]],
    mode: str = 'mcap',
) -> Path:
    """Write a rosbag2 folder and return it; a message of bytes is written as it is."""
    plugin, compression = MODES[mode]
    writer = Writer(folder, version=9, storage_plugin=plugin)
    if compression is not CompressionMode.NONE:
        writer.set_compression(compression, CompressionFormat.ZSTD)
    with writer:
        connections: dict[str, Any] = {}
        for topic, type_name, at, message in content:
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, type_name, typestore=STORE)
            data = (
                message if isinstance(message, bytes) else STORE.serialize_cdr(message, type_name)
            )
            writer.write(connections[topic], at, data)
    return folder
