# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit: whether a record kept the boundary, and if not, where, which rule and which step."""

from __future__ import annotations

from collections.abc import Iterable

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.decision import GateDecision
from boundary_env_ros.core.task import Task
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.evidence.auditor import Auditor
from boundary_env_ros.evidence.findings import AuditReport


def audit(
    transitions: Iterable[Transition],
    *,
    contract: Contract | None = None,
    task: Task | None = None,
    decisions: Iterable[GateDecision] | None = None,
) -> AuditReport:
    """
    Audit transitions.

    Parameters
    ----------
    transitions
        In the order in which they were recorded.
    contract
        Contract that they were made under; without it the rules that need one are not applied.
    task
        Its task, to judge the steps again.
    decisions
        Decisions as the gate itself published them, in order; they are read along with the
        transitions.

    """
    auditor = Auditor(contract, task)
    pending = iter(decisions) if decisions is not None else iter(())
    reached = 0
    for transition in transitions:
        goal = max((decision.sequence for decision in transition.decisions), default=0)
        while reached < goal and (decision := next(pending, None)) is not None:
            auditor.add(decision)
            reached = decision.sequence
        auditor.add(transition)
    for decision in pending:
        auditor.add(decision)
    return auditor.report()
