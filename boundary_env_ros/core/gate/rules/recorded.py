# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a recorded decision back to what the rules were asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import (
    GateDecision,
    Reason,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another
from boundary_env_ros.core.gate.rules.rule_input import RECORDED, RuleInput
from boundary_env_ros.core.gate.rules.stopping import FOREIGN_PUBLISHER


def situation_of(decision: GateDecision) -> RuleInput:
    """Return the situation that a decision was taken in."""
    crowded = crowded_in(decision)
    recorded: dict[str, Any] = {name: getattr(decision, name) for name in RECORDED}
    recorded['time_step'] = decision.time_step or 0.0
    return RuleInput(
        **recorded,
        previous=decision.previous_command or None,
        # Whether the lease had ended, and whether the robot was stopped before, is no number; to
        # say so can only make the ruling stricter.
        over=was_over(decision),
        deactivated=was_deactivated(decision),
        armed=decision.armed,
        stopped=any(result.reason is Reason.STILL_STOPPED for result in decision.rules),
        others_turn=holds_for_another(decision),
        foreign_commands=decision.foreign_publishers - sum(crowded.values()),
        crowded=crowded,
        measurements={found.name: found for found in decision.measurements},
    )


def crowded_in(decision: GateDecision) -> Mapping[str, int]:
    """
    Return how many publishers a decision stopped for, by the topic that the gate goes by.

    On which topics they are is no number of a decision: what it stopped for says that.
    """
    return {
        result.rule.removeprefix(f'{FOREIGN_PUBLISHER}.'): int(result.value or 0)
        for result in decision.rules
        if result.rule.startswith(f'{FOREIGN_PUBLISHER}.')
    }


def wanted_of(decision: GateDecision) -> Vector | None:
    """Return what the rules were asked to rule on; None if nothing was asked for."""
    if decision.trigger in (Trigger.REQUEST, Trigger.CHUNK):
        return decision.requested_action
    return decision.requested_command or None


#: Rules that refuse a request before it is asked how late it is.
_UNHEARD = frozenset({'well_formed', 'authority', 'turn', 'sensors', 'document'})


def was_unheard(decision: GateDecision) -> bool:
    """Return whether what was asked for was refused before it was asked how late it is."""
    return decision.verdict is Verdict.REJECTED and any(
        result.rule in _UNHEARD for result in decision.rules
    )


def was_over(decision: GateDecision) -> bool:
    """Return whether the lease had ended."""
    return any(result.reason is Reason.EPISODE_OVER for result in decision.rules)


def was_deactivated(decision: GateDecision) -> bool:
    """Return whether the gate was being deactivated."""
    return any(result.reason is Reason.DEACTIVATED for result in decision.rules)
