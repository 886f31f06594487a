# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The bare thing to hold the gate against: an rclpy node that passes on what is requested.

    python -m bench.relay objects    with message objects, as most nodes are written
    python -m bench.relay raw        with bytes alone: nothing in Python is faster
"""

from __future__ import annotations

import sys

from geometry_msgs.msg import TwistStamped
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.serialization import serialize_message

from boundary_env_ros.ros import names
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg

#: What there is, each on topics under its name.
KINDS = ('objects', 'raw')


class Relay(Node):
    """Publishes the first two numbers of every request; a raw one the same bytes each time."""

    def __init__(self, kind: str) -> None:
        super().__init__(f'relay_{kind}')
        raw = kind == 'raw'
        self._out = self.create_publisher(TwistStamped, f'{kind}/cmd_vel', names.COMMAND)
        self._bytes = serialize_message(TwistStamped())
        self.create_subscription(
            msg.ActionRequest,
            f'{kind}/request',
            self._on_bytes if raw else self._on_request,
            names.RECORD,
            raw=raw,
        )

    def _on_bytes(self, request: bytes) -> None:
        self._out.publish(self._bytes)

    def _on_request(self, request: object) -> None:
        command = TwistStamped()
        command.header.stamp = self.get_clock().now().to_msg()
        command.twist.linear.x, command.twist.angular.z = request.action
        self._out.publish(command)


def main(kind: str) -> None:
    """Relay until told to stop."""
    rclpy.init()
    node = Relay(kind)
    executor = fastest_executor()
    executor.add_node(node)
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=0.2)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass


if __name__ == '__main__':
    main(*sys.argv[1:])
