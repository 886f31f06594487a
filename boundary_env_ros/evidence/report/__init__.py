# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run as one page to look at: what happened, when, why, and where to look first."""
