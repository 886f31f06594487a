# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is recorded: every record as a value, and what can be said of it without a contract."""
