# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where values come from: paths into messages, and readers of scans, point clouds and images."""
