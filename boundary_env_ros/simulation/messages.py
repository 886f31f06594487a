# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What readings look like as ROS messages, as plain nested mappings.

The node fills ROS messages from them, and in one process they are read as they are, so both worlds
show the same numbers. No ROS is needed here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Float64Array: TypeAlias = npt.NDArray[np.float64]

Fields = dict[str, Any]  # values are numbers, texts, arrays, again such mappings, or lists of them

#: Relative topic and ROS type of each sensor, in the order of ``CartConfig``.
WIRE: Mapping[str, tuple[str, str]] = {
    'odometry': ('odom', 'nav_msgs/msg/Odometry'),
    'joint_states': ('joint_states', 'sensor_msgs/msg/JointState'),
    'imu': ('imu', 'sensor_msgs/msg/Imu'),
    'scan': ('scan', 'sensor_msgs/msg/LaserScan'),
    'camera': ('camera/image_raw', 'sensor_msgs/msg/Image'),
    'pose_detections': ('pose_detections', 'geometry_msgs/msg/PoseWithCovarianceStamped'),
    'ground_truth': ('ground_truth', 'nav_msgs/msg/Odometry'),
    'contact': ('contact', 'std_msgs/msg/Bool'),
}

#: Of images, by the number of their channels.
ENCODINGS = {1: 'mono8', 3: 'rgb8'}

HALL, BASE, LASER, CAMERA, TOOL = 'hall', 'base_link', 'laser', 'camera', 'tool0'

#: Frame that each stamped message is in, by sensor of cart or arm; joints have none.
FRAMES: Mapping[str, str] = {
    'odometry': HALL,
    'imu': BASE,
    'scan': LASER,
    'camera': CAMERA,
    'pose_detections': HALL,
    'ground_truth': HALL,
    'wrench': TOOL,
    'tool_pose': BASE,
    'handle_pose': BASE,
    'wrist_camera': 'wrist_camera',
    'scene_camera': 'scene_camera',
}


#: What fields are made of that are messages themselves, or lists.
_NESTED = (dict, list)


class PlainMessage:
    """
    Fields as an object with attributes, which reads like the ROS message.

    What is nested is made when it is read: most readers want a few numbers of a message.
    """

    def __init__(self, fields: Fields) -> None:
        own = self.__dict__
        own['_fields'] = fields
        for name, value in fields.items():
            if value.__class__ not in _NESTED:
                own[name] = value  # found without asking

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._fields[name]
        except KeyError:
            raise AttributeError(
                'Unknown field of the message (expected a field of the message '
                f'({", ".join(self._fields)}), got {name!r}).'
            ) from None
        if isinstance(value, dict):
            value = PlainMessage(value)
        elif value and isinstance(value[0], dict):
            value = [PlainMessage(item) for item in value]
        # Found without asking from now on.
        self.__dict__[name] = value
        return value


def header(stamp: int, frame: str) -> Fields:
    """Return a ``std_msgs/msg/Header``; stamp in ns."""
    seconds, nanoseconds = divmod(stamp, 1_000_000_000)
    return {'stamp': {'sec': seconds, 'nanosec': nanoseconds}, 'frame_id': frame}


def vector(x: float, y: float, z: float) -> Fields:
    """Return a ``geometry_msgs/msg/Vector3`` or ``Point``."""
    return {'x': float(x), 'y': float(y), 'z': float(z)}


def quaternion(values: Float64Array) -> Fields:
    """Return a ``geometry_msgs/msg/Quaternion`` of x, y, z, w."""
    return dict(zip('xyzw', values.tolist(), strict=True))


def planar_pose(x: float, y: float, yaw: float) -> Fields:
    """Return a ``geometry_msgs/msg/Pose`` on the floor; m, rad."""
    return {'position': vector(x, y, 0.0), 'orientation': rotation_about('z', yaw)}


def rotation_about(axis: str, angle: float) -> Fields:
    """Return a ``geometry_msgs/msg/Quaternion``; rad."""
    return {'x': 0.0, 'y': 0.0, 'z': 0.0, axis: math.sin(angle / 2.0), 'w': math.cos(angle / 2.0)}


def odometry(
    x: float, y: float, yaw: float, *, linear: float, angular: float, lateral: float = 0.0
) -> Fields:
    """Return a ``nav_msgs/msg/Odometry`` without its header; m, rad, m/s, rad/s."""
    return {
        'child_frame_id': BASE,
        'pose': {'pose': planar_pose(x, y, yaw)},
        'twist': {
            'twist': {
                'linear': vector(linear, lateral, 0.0),
                'angular': vector(0.0, 0.0, angular),
            }
        },
    }


def joint_state(names: Sequence[str], position: Float64Array, velocity: Float64Array) -> Fields:
    """Return a ``sensor_msgs/msg/JointState`` without its header; rad and rad/s, or m and m/s."""
    return {'name': list(names), 'position': position.tolist(), 'velocity': velocity.tolist()}


def transforms(stamp: int, *links: tuple[str, str, Fields, Fields]) -> Fields:
    """Return a ``tf2_msgs/msg/TFMessage`` of parents, children, translations and rotations."""
    return {
        'transforms': [
            {
                'header': header(stamp, parent),
                'child_frame_id': child,
                'transform': {'translation': translation, 'rotation': rotation},
            }
            for parent, child, translation, rotation in links
        ]
    }


def image(pixels: npt.NDArray[np.uint8]) -> Fields:
    """Return a ``sensor_msgs/msg/Image`` without its header, of shape (height, width, 1 or 3)."""
    height, width, channels = pixels.shape
    return {
        'height': height,
        'width': width,
        'encoding': ENCODINGS[channels],
        'is_bigendian': 0,
        'step': width * channels,
        'data': pixels.tobytes(),
    }
