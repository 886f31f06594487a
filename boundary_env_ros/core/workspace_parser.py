# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The key ``workspace`` of the section ``safety``: places by name, and where they may be."""

from __future__ import annotations

from boundary_env_ros.core.contract_reader import Reader
from boundary_env_ros.core.safety import Workspace


def parse_workspaces(safety: Reader, size: int) -> tuple[Workspace, ...]:
    """Return the rules about places, in order; ``size`` is that of the command."""
    return ()
