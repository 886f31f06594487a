# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node in a process of its own that tells one static frame: board, 0.4 m ahead of base_link."""

from __future__ import annotations

from geometry_msgs.msg import TransformStamped
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage


def main() -> None:
    """Tell it, and stay until killed, so that those who come later hear it too."""
    rclpy.init()
    node = rclpy.create_node('frame_teller')
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(TFMessage, '/tf_static', latched)
    board = TransformStamped(child_frame_id='board')
    board.header.frame_id = 'base_link'
    board.transform.translation.x = 0.4
    publisher.publish(TFMessage(transforms=[board]))
    rclpy.spin(node)


if __name__ == '__main__':
    main()
