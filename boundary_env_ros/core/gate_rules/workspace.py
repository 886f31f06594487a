# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where a place may be, with what it needs to brake in: stop, and slow down before a boundary."""

from __future__ import annotations

from boundary_env_ros.core.decision import RuleResult
from boundary_env_ros.core.gate_rules.limits import Limits
from boundary_env_ros.core.gate_rules.shaped import Shaped
from boundary_env_ros.core.gate_rules.situation import Situation


def workspace_stops(limits: Limits, situation: Situation) -> list[RuleResult]:
    """Stop when what was commanded last leads out of a workspace faster than it can slow down."""
    return []


def keep_inside(limits: Limits, situation: Situation, shaped: Shaped) -> None:
    """Limit the speed towards a boundary to what can be braked before it."""
