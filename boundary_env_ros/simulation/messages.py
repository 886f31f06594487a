# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What readings look like as ROS messages, as plain nested mappings.

The node fills ROS messages from them, and in one process they are read as they are, so both worlds
show the same numbers. No ROS is needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Any, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from boundary_env_ros.simulation.readings import (
    ContactReading,
    Float64Array,
    ImageReading,
    ImuReading,
    JointReading,
    OdometryReading,
    PoseReading,
    Reading,
    ScanReading,
    SpatialPoseReading,
    TruthReading,
    WrenchReading,
)

if TYPE_CHECKING:
    from boundary_env_ros.simulation.physics import CartGeometry

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


def message_fields(reading: Reading) -> Fields:
    """
    Return the fields of the ROS message of a reading that was not dropped.

    SI units; covariances row-major as in REP-103.
    """
    payload = reading.payload
    if payload is None:
        raise ValueError(f'The reading of {reading.sensor} was dropped, not published.')
    fields = _WRITERS[type(payload)](payload)
    if isinstance(payload, ContactReading):
        return fields
    return {'header': header(reading.captured_ns, FRAMES.get(reading.sensor, '')), **fields}


class PlainMessage:
    """
    Fields as an object with attributes, which reads like the ROS message.

    What is nested is made when it is read: most readers want a few numbers of a message.
    """

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

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
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            value = [PlainMessage(item) for item in value]
        # Found without asking from now on.
        setattr(self, name, value)
        return value


def header(stamp: int, frame: str) -> Fields:
    """Return a ``std_msgs/msg/Header``; stamp in ns."""
    seconds, nanoseconds = divmod(stamp, 1_000_000_000)
    return {'stamp': {'sec': seconds, 'nanosec': nanoseconds}, 'frame_id': frame}


def _yaw_quaternion(yaw: float) -> Fields:
    return {'x': 0.0, 'y': 0.0, 'z': math.sin(yaw / 2.0), 'w': math.cos(yaw / 2.0)}


def vector(x: float, y: float, z: float) -> Fields:
    """Return a ``geometry_msgs/msg/Vector3`` or ``Point``."""
    return {'x': float(x), 'y': float(y), 'z': float(z)}


def _pose(x: float, y: float, yaw: float) -> Fields:
    return {'position': vector(x, y, 0.0), 'orientation': _yaw_quaternion(yaw)}


def _odometry(reading: OdometryReading | TruthReading) -> Fields:
    lateral = reading.lateral if isinstance(reading, TruthReading) else 0.0
    return {
        'child_frame_id': BASE,
        'pose': {'pose': _pose(reading.x, reading.y, reading.yaw)},
        'twist': {
            'twist': {
                'linear': vector(reading.linear, lateral, 0.0),
                'angular': vector(0.0, 0.0, reading.angular),
            }
        },
    }


def _joint_state(reading: JointReading) -> Fields:
    return {
        'name': list(reading.names),
        'position': reading.position.tolist(),
        'velocity': reading.velocity.tolist(),
    }


def _imu(reading: ImuReading) -> Fields:
    return {
        'orientation': _quaternion(reading.orientation),
        'angular_velocity': vector(*reading.angular_velocity.tolist()),
        'linear_acceleration': vector(*reading.linear_acceleration.tolist()),
    }


def _scan(reading: ScanReading) -> Fields:
    last = reading.angle_min + reading.angle_increment * (len(reading.ranges) - 1)
    return {
        'angle_min': reading.angle_min,
        'angle_max': last,
        'angle_increment': reading.angle_increment,
        'range_min': reading.range_min,
        'range_max': reading.range_max,
        'ranges': reading.ranges.astype('float32'),
    }


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


def cart_transforms(reading: Reading, geometry: CartGeometry) -> Fields | None:
    """Return the frames of the cart, which is where its odometry says; None: dropped."""
    payload = reading.payload
    if not isinstance(payload, OdometryReading):
        return None
    half = geometry.camera_pitch / 2.0
    tilt = {'x': 0.0, 'y': math.sin(half), 'z': 0.0, 'w': math.cos(half)}
    pose = _pose(payload.x, payload.y, payload.yaw)
    return transforms(
        reading.captured_ns,
        (HALL, BASE, pose['position'], pose['orientation']),
        (BASE, LASER, vector(*geometry.scan_mount), _yaw_quaternion(0.0)),
        (BASE, CAMERA, vector(*geometry.camera_mount), tilt),
    )


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


def _image(reading: ImageReading) -> Fields:
    return image(reading.pixels)


def _detection(reading: PoseReading) -> Fields:
    covariance = [0.0] * 36
    covariance[0] = covariance[7] = reading.position_std**2
    covariance[35] = reading.yaw_std**2
    return {
        'pose': {'pose': _pose(reading.x, reading.y, reading.yaw), 'covariance': covariance},
    }


def _contact(reading: ContactReading) -> Fields:
    return {'data': reading.touching}


def _wrench(reading: WrenchReading) -> Fields:
    return {'wrench': {'force': vector(*reading.force), 'torque': vector(*reading.torque)}}


def _spatial_pose(reading: SpatialPoseReading) -> Fields:
    orientation = _quaternion(reading.orientation)
    return {'pose': {'position': vector(*reading.position), 'orientation': orientation}}


def _quaternion(values: Float64Array) -> Fields:
    return dict(zip('xyzw', values.tolist(), strict=True))


_WRITERS: Mapping[type, Callable[[Any], Fields]] = {
    OdometryReading: _odometry,
    TruthReading: _odometry,
    JointReading: _joint_state,
    ImuReading: _imu,
    ScanReading: _scan,
    ImageReading: _image,
    PoseReading: _detection,
    ContactReading: _contact,
    WrenchReading: _wrench,
    SpatialPoseReading: _spatial_pose,
}
