# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The boundary around a simulated robot: the one named like the contract."""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare

from boundary_env_ros.ros.launching import Boundary, boundary_arguments
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return what ``ros2 launch boundary_env_ros simulation_launch.py`` starts."""
    params = PathJoinSubstitution(
        [FindPackageShare('boundary_env_ros'), 'config', 'simulated_robot.param.yaml']
    )
    return LaunchDescription(
        [
            *boundary_arguments(),
            DeclareLaunchArgument(
                'simulated_robot_params',
                default_value=params,
                description='File of parameters of the simulated robot.',
            ),
            Boundary('simulated_robot'),
        ]
    )
