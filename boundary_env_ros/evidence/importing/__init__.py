# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Transitions out of a bag that has none: its sensors and commands, replayed by a contract."""
