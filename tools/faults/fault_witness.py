# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Says where the robot is, whatever becomes of the network: a process on the robot's own host.

A line for each ground truth: its stamp in ns, and the true forward speed in m/s. It is none of the
probe's process because Fast DDS looks for the addresses of a host once a process. The end of the
input ends it. Argument: the domain.
"""

from __future__ import annotations

import select
import sys
from typing import Any

from nav_msgs.msg import Odometry
import rclpy
from rclpy.executors import SingleThreadedExecutor

from boundary_env_ros.ros import names
from support.ros_world import stamp_of


def tell(message: Any) -> None:
    """Tell one ground truth."""
    print(stamp_of(message.header), abs(message.twist.twist.linear.x), flush=True)


def main(domain_id: int) -> None:
    """Listen and tell."""
    rclpy.init(domain_id=domain_id)
    node = rclpy.create_node('witness')
    node.create_subscription(Odometry, 'ground_truth', tell, names.SENSOR)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not select.select([sys.stdin], [], [], 0.0)[0]:
        executor.spin_once(timeout_sec=0.2)
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    main(int(sys.argv[1]))
