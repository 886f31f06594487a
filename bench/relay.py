# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The bare thing to hold the gate against: an rclpy node that passes on what is requested."""

from __future__ import annotations

from geometry_msgs.msg import TwistStamped
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from boundary_env_ros.ros import names
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg


class Relay(Node):
    """Publishes the first two numbers of every request."""

    def __init__(self) -> None:
        super().__init__('relay')
        self._out = self.create_publisher(TwistStamped, 'relay/cmd_vel', names.COMMAND)
        self.create_subscription(
            msg.ActionRequest, 'relay/request', self._on_request, names.RECORD
        )

    def _on_request(self, request: object) -> None:
        command = TwistStamped()
        command.header.stamp = self.get_clock().now().to_msg()
        command.twist.linear.x, command.twist.angular.z = request.action
        self._out.publish(command)


def main() -> None:
    """Relay until told to stop."""
    rclpy.init()
    node = Relay()
    executor = fastest_executor()
    executor.add_node(node)
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=0.2)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()
