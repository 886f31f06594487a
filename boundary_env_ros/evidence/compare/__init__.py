# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two runs compared with each other: what differs, by how much, and whether that is chance."""
