# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks that take long, as programs: `make campaign`, `make faults`, `make mutations`."""
