# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What several tests share: benches, worlds, makers of records, and programs that they start."""
