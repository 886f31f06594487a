# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The boundary around the cart in Gazebo: server, bridge, and the node that is its driver."""

import os

from launch.actions import DeclareLaunchArgument, SetEnvironmentVariable
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from boundary_env_ros.ros.launching import Boundary, boundary_arguments
from boundary_env_ros.simulation.gazebo.server import partition
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return what ``ros2 launch boundary_env_ros gazebo_launch.py pacing:=lockstep`` starts."""
    shared = FindPackageShare('boundary_env_ros')
    world, file = LaunchConfiguration('world'), LaunchConfiguration('bridge')
    gazebo = {
        'gzserver': Node(
            package='ros_gz_sim',
            executable='gzserver',
            output='screen',
            parameters=[{'world_sdf_file': world}],
        ),
        'ros_gz_bridge': Node(
            package='ros_gz_bridge',
            executable='bridge_node',
            name='bridge',
            namespace=LaunchConfiguration('namespace'),
            output='screen',
            parameters=[{'config_file': file, 'use_sim_time': True}],
        ),
    }
    return LaunchDescription(
        [
            *boundary_arguments(),
            DeclareLaunchArgument(
                'world',
                default_value=PathJoinSubstitution([shared, 'config', 'gazebo', 'warehouse.sdf']),
                description='World of Gazebo, an SDF file.',
            ),
            DeclareLaunchArgument(
                'bridge',
                default_value=PathJoinSubstitution([shared, 'config', 'gazebo', 'bridge.yaml']),
                description='What is carried to ROS and back, a YAML file of ros_gz_bridge.',
            ),
            *(SetEnvironmentVariable(*item) for item in partition(os.environ).items()),
            Boundary('gazebo_bridge', gazebo),
        ]
    )
