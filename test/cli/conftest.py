# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share with those of contract files: the corpus."""

from __future__ import annotations
