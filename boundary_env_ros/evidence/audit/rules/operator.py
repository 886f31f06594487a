# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the operator: who goes before the policy, and only while his switch is held."""

from __future__ import annotations

import math

from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.core.environment.observation import age_of
from boundary_env_ros.core.gate.decision import (
    GateDecision,
    Measurement,
    Reason,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.rules.limits import OPERATOR
from boundary_env_ros.core.gate.sensor_buffer import HELD
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    Found,
    known,
    Link,
    Mismatch,
    number,
    of_decision,
    outside,
    vector,
)
from boundary_env_ros.evidence.audit.rules.command import BEFORE_COMMAND
from boundary_env_ros.evidence.audit.rules.gate import OF_POLICY


def _hand(decision: GateDecision) -> Measurement | None:
    """Return what the gate had from the operator."""
    return next((m for m in decision.measurements if m.name == OPERATOR), None)


@of_decision(catalogue.OPERATOR_FIRST, contract=True)
def _operator_holds_switch(link: Link) -> Found:
    decision, operator = link.decision, known(link.terms).contract.safety.operator
    if decision.trigger is not Trigger.OPERATOR:
        return
    hand = _hand(decision)
    if operator is None:
        yield Mismatch('trigger', 'no operator in the contract', 'OPERATOR')
    elif hand is None or not hand.values or not hand.values[-1] >= HELD:
        yield Mismatch(
            'measurements.operator',
            f'a switch that reads {number(HELD)} or more',
            'nothing' if hand is None else vector(hand.values),
        )
    else:
        yield from outside('measurements.operator.age', hand.age, -math.inf, operator.timeout, 's')


@of_decision(catalogue.OPERATOR_FIRST, contract=True)
def _operator_goes_first(link: Link) -> Found:
    decision, contract = link.decision, known(link.terms).contract
    operator, hand = contract.safety.operator, _hand(decision)
    claimed = decision.verdict is Verdict.REJECTED and any(
        result.reason is Reason.OPERATOR for result in decision.rules
    )
    if operator is None or decision.trigger not in OF_POLICY:
        if claimed:
            yield Mismatch('rules', 'another reason', 'OPERATOR')
        return
    reads = hand is not None and bool(hand.values) and hand.values[-1] >= HELD
    age = None if hand is None else hand.age
    lasts = operator.timeout + contract.safety.gate_period + BEFORE_COMMAND
    if claimed and (not reads or age is None or age > lasts):
        yield Mismatch(
            'verdict',
            'no refusal for an operator whose switch is not held',
            f'{decision.verdict.name}, {vector(hand.values if hand else ())} {number(age)} s ago',
        )
    if decision.verdict is Verdict.REJECTED or hand is None or age is None:
        return
    if reads and age <= operator.timeout and not _came_early(decision, hand, contract.pacing):
        yield Mismatch(
            'verdict',
            'REJECTED, since an operator has taken over',
            f'{decision.verdict.name}, {vector(hand.values)} {number(age)} s ago',
        )


def _came_early(decision: GateDecision, hand: Measurement, pacing: Pacing) -> bool:
    """
    Return whether the stamp of the operator's message is not known to have been in time.

    One from too far in the future was no message of a held switch when it came, and none comes
    later to say so.
    """
    now = decision.decided or decision.commanded
    if now is None or hand.captured is None:
        return False
    if pacing is Pacing.LOCKSTEP:
        return True  # the time between is that of the world, which stood still
    since = age_of(hand.captured, now)
    waited = (now.steady - hand.received_steady) / NANOSECONDS
    return since is None or since < waited
