# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is: out of it requests are refused, and while the others act the robot is held."""

from __future__ import annotations

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rule_output import Cause
from boundary_env_ros.core.records.decision import GateDecision, Reason, RuleResult, TURN, Verdict

#: Why a request is refused: it is for a step of another, or for none that goes on.
OUT_OF_TURN = Cause(TURN, Reason.OUT_OF_ORDER, Verdict.REJECTED)
#: Why the gate decides in lockstep without a request: the step is the turn of another.
TURN_OF_ANOTHER = Cause(TURN, Reason.REPUBLISHED, Verdict.HELD)
HELD = TURN_OF_ANOTHER.result()
#: The same beside the reasons of a stop, which is what becomes of it.
TURN_BESIDE_A_STOP = Cause(TURN, Reason.REPUBLISHED, Verdict.ADMITTED)
BESIDE_A_STOP = TURN_BESIDE_A_STOP.result()


def out_of_turn(contract: Contract, agent: str, step: int) -> tuple[RuleResult, ...]:
    """Refuse an action for a step that is the turn of another agent."""
    if contract.has_turn(agent, step):
        return ()
    due = next(i for i in range(len(contract.agent_order)) if contract.has_turn(agent, step + i))
    return (OUT_OF_TURN.result(value=float(step), limit=float(step + due), unit='step'),)


def out_of_time(step: int, closed: int, ahead: int = 1) -> tuple[RuleResult, ...]:
    """
    Refuse an action for another step than the one that goes on.

    Parameters
    ----------
    step, closed
        The step that it is for, and the last one that is closed.
    ahead
        2 where another is about to be closed: what the environment says of that may come a moment
        later than the answer to it.

    """
    if closed < step <= closed + ahead:
        return ()
    return (OUT_OF_TURN.result(value=float(step), limit=float(closed + 1), unit='step'),)


def intervenes(decision: GateDecision) -> bool:
    """Return whether the gate did anything else than was asked for, by whomever it was."""
    return decision.verdict is not Verdict.ADMITTED and decision.rules != (HELD,)
