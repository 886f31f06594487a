# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A record run again to its verdict: the same commands, rewards, endings, or the first other."""
