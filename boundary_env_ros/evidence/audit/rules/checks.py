# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All checks of steps and of decisions, in the order in which they are made."""

from __future__ import annotations

from boundary_env_ros.evidence.audit.rules import (
    command,
    ending,
    freezing,
    gate,
    health,
    identity,
    measurement,
    motion,
    observation,
    operator,
    recompute,
    sequence,
    step,
    timing,
)
from boundary_env_ros.evidence.audit.rules.base import Check, DecisionCheck, StepCheck

_OF_STEPS = (identity, sequence, ending, observation, freezing, step, timing)
_OF_DECISIONS = (gate, operator, health, measurement, command, motion, recompute)

CHECKS: tuple[Check, ...] = tuple(
    value
    for module in (*_OF_STEPS, *_OF_DECISIONS)
    for value in vars(module).values()
    if isinstance(value, Check)
)
STEP_CHECKS = tuple(check for check in CHECKS if isinstance(check, StepCheck))
DECISION_CHECKS = tuple(check for check in CHECKS if isinstance(check, DecisionCheck))
