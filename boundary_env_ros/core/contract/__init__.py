# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The contract: its values, the grammar of its texts, its checks and its digest."""
