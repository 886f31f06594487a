# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
All rules of the audit, by name.

``doc/audit.md`` lists the same rules, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.evidence.rules import (
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
    sensors,
    sequence,
    step,
    timing,
    whole,
)
from boundary_env_ros.evidence.rules.base import Rule

#: The rules by what they are about, in the order of reports and of ``doc/audit.md``.
GROUPS: Mapping[str, tuple[Rule, ...]] = {
    'The record as a whole': (
        whole.record_complete,
        whole.record_not_empty,
        whole.record_closed,
        whole.contract_readable,
        whole.contract_described,
        whole.first_transition_saved,
        whole.index_agrees,
    ),
    'Who made it, under which contract': identity.RULES,
    'Order of the steps, and resets': (
        *sequence.RULES,
        whole.episode_ended,
        whole.record_ended,
    ),
    'Endings and rewards': (*ending.RULES, whole.status_agrees, whole.mark_known),
    'What the policy saw': (
        *observation.RULES,
        *freezing.RULES,
        whole.evaluator_as_contract,
        whole.evaluator_leak,
    ),
    'What a step says of decision, robot and judgement': step.RULES,
    'What the gate let through': gate.RULES,
    'The operator': operator.RULES,
    'The gate itself': health.RULES,
    'What the gate measured': measurement.RULES,
    'What was published': (*command.RULES, *motion.RULES),
    'Decisions computed again': (*recompute.RULES, whole.decisions_agree),
    'When it happened': (*timing.RULES, whole.late_evidence),
    'What the raw messages say': sensors.RULES,
}

RULES: tuple[Rule, ...] = tuple(rule for rules in GROUPS.values() for rule in rules)

RULE: Mapping[str, Rule] = {rule.id: rule for rule in RULES}
