# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Invariants that are taken out one by one: a test has to notice."""
