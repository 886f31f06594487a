# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From plain data to a contract: one reader of values, and the sections that are made of it."""
