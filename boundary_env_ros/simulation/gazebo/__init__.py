# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The warehouse and its cart for Gazebo: the same hall, the same cart, the same sensors."""
