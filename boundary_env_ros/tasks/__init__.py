# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The shipped tasks: reward terms, endings, reset sampling.

Others are installed as entry points.
"""
