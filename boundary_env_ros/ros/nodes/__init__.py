# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes. Each is a shell around an object of the core; no node imports another."""
