# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Why any rule of the gate steps in: every cause there is, in the order in which rules are asked.

The page of the reasons, sentences and reports go by this list; each is defined with its rule.
"""

from __future__ import annotations

from boundary_env_ros.core.gate.rule_output import BEYOND, Cause, NO_ROTATION, ON_MOTION
from boundary_env_ros.core.gate.rules import admission, agent_order, document_rules, evaluate
from boundary_env_ros.core.gate.rules.stopping import RULES
from boundary_env_ros.core.records.decision import RuleResult

CAUSES: tuple[Cause, ...] = (
    # Is the request valid?
    *admission.AUTHORITY, admission.WRONG_SHAPE, admission.NOT_FINITE, agent_order.OUT_OF_TURN,
    document_rules.NO_DOCUMENT, document_rules.WRONG_TYPE, admission.SENSORS_MISSING,
    admission.TELEOPERATED, admission.TOO_OLD, document_rules.TOO_OFTEN,
    # Must the robot stop? What must be taken from the command for it not to?
    *(cause for rule in RULES for cause in rule.causes),
    # Is it a command?
    BEYOND, NO_ROTATION,
    # What may be published of it?
    *ON_MOTION,
    # What is sent that nobody asked for, or not now.
    evaluate.LATE, evaluate.AGAIN, agent_order.TURN_OF_ANOTHER, agent_order.TURN_BESIDE_A_STOP,
    evaluate.BY_HAND, evaluate.PROBED,
)  # fmt: skip

_KNOWN = {(cause.rule, cause.reason, cause.outcome): cause for cause in CAUSES}


def cause_of(result: RuleResult) -> Cause:
    """Return why a rule stepped in; of a rule of another version, what its result says."""
    of = result.rule.partition('.')[0], result.reason, result.outcome
    return _KNOWN.get(of) or Cause(*of)
