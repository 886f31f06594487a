# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The boundary around the cart in Gazebo: server, bridge, and the node that is its driver."""

import os

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from boundary_env_ros.ros.launching import Boundary, boundary_arguments, part_of_the_world
from boundary_env_ros.simulation.gazebo.partition import partition
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return what ``ros2 launch boundary_env_ros gazebo_launch.py pacing:=lockstep`` starts."""
    shared = FindPackageShare('boundary_env_ros')
    apart = partition(os.environ)
    server = Node(
        package='ros_gz_sim',
        executable='gzserver',
        output='screen',
        additional_env=apart,
        parameters=[{'world_sdf_file': LaunchConfiguration('world')}],
    )
    bridge = Node(
        package='ros_gz_bridge',
        executable='bridge_node',
        name='bridge',
        namespace=LaunchConfiguration('namespace'),
        output='screen',
        additional_env=apart,
        parameters=[{'config_file': LaunchConfiguration('bridge'), 'use_sim_time': True}],
    )
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
                description='What ros_gz_bridge carries, a YAML file.',
            ),
            *part_of_the_world(server, 'Gazebo'),
            *part_of_the_world(bridge, 'the bridge of Gazebo'),
            Boundary('gazebo_bridge'),
        ]
    )
