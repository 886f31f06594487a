# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs as data sets of other projects: LeRobot, Minari."""
