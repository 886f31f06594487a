# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the arm's readings look like as ROS messages; see ``simulation.messages``."""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.simulation.messages import Fields, header, image, joint_state, vector
from boundary_env_ros.simulation.readings import (
    ContactReading,
    ImageReading,
    JointReading,
    Reading,
    SpatialPoseReading,
    WrenchReading,
)

#: Relative topic and ROS type of each sensor, in the order of ``ArmConfig``.
WIRE: Mapping[str, tuple[str, str]] = {
    'joint_states': ('joint_states', 'sensor_msgs/msg/JointState'),
    'wrench': ('wrench', 'geometry_msgs/msg/WrenchStamped'),
    'tool_pose': ('tool_pose', 'geometry_msgs/msg/PoseStamped'),
    'handle_pose': ('handle_pose', 'geometry_msgs/msg/PoseStamped'),
    'wrist_camera': ('wrist_camera/image_raw', 'sensor_msgs/msg/Image'),
    'scene_camera': ('scene_camera/image_raw', 'sensor_msgs/msg/Image'),
    'hinge': ('door/hinge', 'sensor_msgs/msg/JointState'),
    'contact': ('contact', 'std_msgs/msg/Bool'),
}

#: Frame that each stamped message is in, by sensor; joints have none.
FRAMES: Mapping[str, str] = {
    'wrench': 'tool0',
    'tool_pose': 'base_link',
    'handle_pose': 'base_link',
    'wrist_camera': 'wrist_camera',
    'scene_camera': 'scene_camera',
}


def message_fields(reading: Reading) -> Fields:
    """Return the fields of the ROS message of a reading that was not dropped; SI units."""
    stamp, frame = reading.captured_ns, FRAMES.get(reading.sensor, '')
    payload = reading.payload
    if isinstance(payload, JointReading):
        return joint_state(payload, stamp)
    if isinstance(payload, WrenchReading):
        return {
            'header': header(stamp, frame),
            'wrench': {'force': vector(*payload.force), 'torque': vector(*payload.torque)},
        }
    if isinstance(payload, SpatialPoseReading):
        x, y, z, w = payload.orientation.tolist()
        return {
            'header': header(stamp, frame),
            'pose': {
                'position': vector(*payload.position),
                'orientation': {'x': x, 'y': y, 'z': z, 'w': w},
            },
        }
    if isinstance(payload, ImageReading):
        return image(payload, stamp, frame)
    if isinstance(payload, ContactReading):
        return {'data': payload.touching}
    raise ValueError(
        f'Not a published reading of the arm: {reading.sensor} has {type(payload).__name__}.'
    )
