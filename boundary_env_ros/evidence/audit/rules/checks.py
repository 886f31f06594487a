# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All checks of steps and of decisions, in the order in which they are made."""

from __future__ import annotations

from boundary_env_ros.evidence.audit.rules import (
    command,
    gate,
    health,
    identity,
    measurement,
    motion,
    observation,
    sequence,
    timing,
)
from boundary_env_ros.evidence.audit.rules.base import Check, DecisionCheck, StepCheck

_MODULES = (identity, sequence, observation, timing, gate, health, measurement, command, motion)

CHECKS: tuple[Check, ...] = tuple(
    value for module in _MODULES for value in vars(module).values() if isinstance(value, Check)
)
STEP_CHECKS = tuple(check for check in CHECKS if isinstance(check, StepCheck))
DECISION_CHECKS = tuple(check for check in CHECKS if isinstance(check, DecisionCheck))
