# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs as data sets: records as they are, or steps as another project has them."""
