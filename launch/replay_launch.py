# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A record in place of a robot and its boundary: its topics again, with their time on /clock."""

from launch.actions import OpaqueFunction

from boundary_env_ros.ros.launching import replay, replay_arguments
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return what ``ros2 launch boundary_env_ros replay_launch.py`` starts."""
    return LaunchDescription([*replay_arguments(), OpaqueFunction(function=replay)])
