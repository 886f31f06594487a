# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where the tests of the facade find those who make bags."""

from __future__ import annotations
