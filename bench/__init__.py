# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Benchmarks: each prints a ratio against the bare thing, measured in the same run.

Times alone mean nothing on a shared machine.
"""
