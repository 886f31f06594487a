# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the audit can say of transitions that were imported from a bag.

Nobody recorded a request, a decision of a gate or a reset there, and the steady clock was not
read: rules about them would find fault with what is not claimed, or praise what was not looked at.
"""

from __future__ import annotations

from typing import Final

from boundary_env_ros.core.imported import is_import, is_unknown
from boundary_env_ros.core.observation import FieldStatus
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.rules import (
    ending,
    freezing,
    identity,
    observation,
    sensors,
    sequence,
    step,
    timing,
    whole,
)
from boundary_env_ros.evidence.rules.base import Rule

WHY: Final = 'the record was imported from a bag, which has no request, decision or reset'
UNJUDGED: Final = 'steps of the import that the task could not judge'
ABSENT: Final = 'steps of the import with fields that the bag has no topic for'

_GROUPS: Final = (
    whole.record_complete,
    whole.record_not_empty,
    whole.record_closed,
    whole.contract_readable,
    whole.contract_described,
    whole.first_transition_saved,
    whole.index_agrees,
    whole.episode_ended,
    whole.record_ended,
    whole.status_agrees,
    whole.mark_known,
    whole.evaluator_as_contract,
    whole.evaluator_leak,
    *identity.RULES,
    *sequence.RULES,
    *ending.RULES,
    *observation.RULES,
    *freezing.RULES,
    *step.RULES,
    *timing.RULES,
    sensors.fields_from_sensors,
    sensors.fields_newest,
    sensors.judgement_from_sensors,
    sensors.evaluator_from_sensors,
    sensors.measured_from_sensors,
    sensors.import_from_commands,
)

#: Of those groups, the ones about what an import has not.
_NOT: Final = frozenset(
    {
        'versions-present',
        'wrapper-order',
        'seed-constant',
        'reset-verdict',
        'reset-as-contract',
        'reset-recomputed',
        'reset-confirmed',
        'decision-answers',
        'actions-copied',
        'instants-copied',
        'answered-observation',
        'overrun-explained',
        'stop-ends-episode',
        'instants-present',
        'stages-add-up',
        'clocks-agree',
    }
)

#: Rules that an imported record is held against.
APPLIED: Final = frozenset(rule.id for rule in _GROUPS if rule.id not in _NOT)

#: Rules about a judgement of the task, which an import may lack.
_OF_JUDGEMENT: Final = frozenset({'reward-sum', 'judgement-recomputed', 'judgement-from-sensors'})

#: Rules about what the task makes of the reset, of which an import may know nothing.
_OF_RESET: Final = frozenset({'task-field-recomputed'})

#: Rules that hold a missing field against a step, though the bag never had it.
_OF_MISSING: Final = frozenset({'stale-ends-episode', 'task-field-recomputed'})


def not_applied(rule: Rule, now: Transition) -> str:
    """Return why a rule is not applied to a transition; empty if it is."""
    if not is_import(now):
        return ''
    if rule.id not in APPLIED:
        return WHY
    if rule.id in _OF_JUDGEMENT and is_unknown(now, 'reward'):
        return UNJUDGED
    if rule.id in _OF_RESET and (is_unknown(now, 'reward') or is_unknown(now, 'reset')):
        return UNJUDGED
    if rule.id in _OF_MISSING and any(
        field.status is FieldStatus.MISSING for field in (*now.after, *now.state)
    ):
        return ABSENT
    return ''
