# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records compared with the raw messages of the topics that they speak of."""
