# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The driver of a small rover, simulated: it takes `cmd_vel` and publishes `odom`, 20 times a second.

On `cmd_vel/applied` it says which command it applied.

It knows nothing of boundary_env_ros. Like a real driver it accelerates slowly, and stops by itself
when no command has come for a while.
"""

import math
import time

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

PERIOD = 0.05  # s, between two messages
TIMEOUT = 0.25  # s without a command, after which the rover stops
ACCELERATION = 1.5  # m/s^2
TURNING = 6.0  # rad/s^2


class Driver(Node):
    """A rover that stands at the origin when it is switched on."""

    def __init__(self):
        super().__init__('rover_driver')
        self.x = self.y = self.yaw = 0.0
        self.speed = self.turn = 0.0
        self.wanted = (0.0, 0.0)
        self.heard = 0.0
        self.odom = self.create_publisher(Odometry, 'odom', 10)
        self.applied = self.create_publisher(TwistStamped, 'cmd_vel/applied', 10)
        self.create_subscription(Twist, 'cmd_vel', self.on_command, 1)
        self.create_timer(PERIOD, self.on_timer)

    def on_command(self, message):
        """Take a command."""
        self.wanted = (message.linear.x, message.angular.z)
        self.heard = time.monotonic()

    def on_timer(self):
        """Move, and say where it is and how fast."""
        speed, turn = self.wanted
        if time.monotonic() - self.heard > TIMEOUT:
            speed = turn = 0.0
        applied = TwistStamped()
        applied.header.stamp = self.get_clock().now().to_msg()
        applied.twist.linear.x, applied.twist.angular.z = speed, turn
        self.applied.publish(applied)
        self.speed += limited(speed - self.speed, ACCELERATION * PERIOD)
        self.turn += limited(turn - self.turn, TURNING * PERIOD)
        self.yaw += self.turn * PERIOD
        self.x += self.speed * math.cos(self.yaw) * PERIOD
        self.y += self.speed * math.sin(self.yaw) * PERIOD
        self.odom.publish(self.odometry())

    def odometry(self):
        """Return the message; its stamp is the time of the measurement."""
        message = Odometry()
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = 'odom'
        message.child_frame_id = 'base_link'
        message.pose.pose.position.x = self.x
        message.pose.pose.position.y = self.y
        message.pose.pose.orientation.z = math.sin(self.yaw / 2.0)
        message.pose.pose.orientation.w = math.cos(self.yaw / 2.0)
        message.twist.twist.linear.x = self.speed
        message.twist.twist.angular.z = self.turn
        return message


def limited(value, most):
    """Return the value, at most so far from 0."""
    return max(-most, min(most, value))


def main():
    """Run the driver until Ctrl-C."""
    rclpy.init()
    try:
        rclpy.spin(Driver())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
