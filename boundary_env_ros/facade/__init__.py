# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a policy's author imports: the Gymnasium environment and its worlds."""

from __future__ import annotations

from boundary_env_ros.facade.env import BoundaryEnv

__all__ = ['BoundaryEnv']
