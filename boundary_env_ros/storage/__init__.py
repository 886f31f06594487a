# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is kept: contract files, bags, transition logs and the index of episodes.

Nothing here needs ROS: bags are written from raw bytes, and read by the definitions that they
carry.
"""
