# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The boundary on a real robot; another launch file starts its drivers."""

from boundary_env_ros.ros.launching import Boundary, boundary_arguments
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return what ``ros2 launch boundary_env_ros robot_launch.py`` starts."""
    return LaunchDescription(
        [
            *boundary_arguments(),
            Boundary(),
        ]
    )
