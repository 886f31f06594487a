# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The boundary around the cart in Gazebo: server, bridge, and the node that is its driver."""

import os

from launch.actions import DeclareLaunchArgument, ExecuteProcess, SetEnvironmentVariable
from launch.conditions import IfCondition
from launch.substitutions import EqualsSubstitution, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from boundary_env_ros.ros.launching import Boundary, boundary_arguments
from boundary_env_ros.simulation.gazebo.partition import partition
from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return what ``ros2 launch boundary_env_ros gazebo_launch.py pacing:=lockstep`` starts."""
    shared = FindPackageShare('boundary_env_ros')
    world, file = LaunchConfiguration('world'), LaunchConfiguration('bridge')
    ros_gz, gz = (
        IfCondition(EqualsSubstitution(LaunchConfiguration('transport'), transport))
        for transport in ('ros_gz', 'gz')
    )
    common = {'namespace': LaunchConfiguration('namespace'), 'output': 'screen'}
    by_ros_gz = {
        'gzserver': Node(
            package='ros_gz_sim',
            executable='gzserver',
            output='screen',
            parameters=[{'world_sdf_file': world}],
            condition=ros_gz,
        ),
        'ros_gz_bridge': Node(
            package='ros_gz_bridge',
            executable='bridge_node',
            name='bridge',
            parameters=[{'config_file': file, 'use_sim_time': True}],
            condition=ros_gz,
            **common,
        ),
    }
    without = {
        'Gazebo': ExecuteProcess(
            # Without a command gz, env says so and ends, and the launch ends with it.
            cmd=['env', 'gz', 'sim', '-s', '--headless-rendering', world],
            name='gz',
            output='screen',
            condition=gz,
        ),
        'gazebo_topics': Node(
            package='boundary_env_ros',
            executable='gazebo_topics',
            parameters=[{'config_file': file}],
            condition=gz,
            **common,
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
            DeclareLaunchArgument(
                'transport',
                default_value='ros_gz',
                choices=['ros_gz', 'gz'],
                description="How Gazebo is reached: by ros_gz, or by Gazebo's Python bindings.",
            ),
            *(SetEnvironmentVariable(*item) for item in partition(os.environ).items()),
            Boundary('gazebo_bridge', {**by_ros_gz, **without}),
        ]
    )
