# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The only place that imports rclpy and message packages.

Conversions, the world over ROS, the nodes, and running them.
"""
