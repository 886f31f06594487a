# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What can be claimed from a record, and whether it can be believed.

Nothing here edits a record, and nothing here needs ROS.
"""
