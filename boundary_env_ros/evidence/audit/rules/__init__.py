# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rules of the audit, one module for each thing that a record can be wrong about."""
