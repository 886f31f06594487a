# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit knows which command is in force: what a campaign has decided, held against it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.gate.decision import GateDecision, Reason, Verdict
from boundary_env_ros.evidence.audit.memory import Chain
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import terms_of
from boundary_env_ros.evidence.audit.rules.checks import DECISION_CHECKS
from support.campaign_traffic import Run
from support.core_world import DIGEST
from tools.gate_campaign import contract_of


class Recorded(Run):
    """A run of the campaign whose decisions are kept as a record has them."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(contract_of(name), 3, number)
        self.decisions: list[GateDecision] = []

    def _see(self, decisions: tuple[GateDecision, ...]) -> None:
        for decision in decisions:
            commanded = self.now if decision.published else None
            self.decisions.append(replace(decision, commanded=commanded))
        super()._see(decisions)


def found(name: str, decisions: list[GateDecision]) -> dict[int, str]:
    """Return what the rule about the command before finds, by the number of the decision."""
    terms, chain = terms_of(contract_of(name), DIGEST), Chain()
    mismatches = {}
    for decision in decisions:
        link = chain.link(decision, 'here', terms, direct=True)
        for check in DECISION_CHECKS:
            if check.rule is catalogue.PREVIOUS_COMMAND:
                for mismatch in check.look(link):
                    mismatches[decision.sequence] = f'{mismatch}'
    return mismatches


@pytest.mark.parametrize('name', ['waiting', 'every_kind', 'watchful', 'lockstep'])
def test_no_honest_decision_begins_from_another_command_than_the_audit_expects(name: str) -> None:
    run = Recorded(name, 1)
    run.go()
    assert found(name, run.decisions) == {}


def test_a_lease_that_begins_at_the_measured_state_while_a_command_is_in_force_is_named() -> None:
    run = Recorded('waiting', 1)
    run.go()
    episode, forged = '', 0
    decisions: list[GateDecision] = []
    for decision in run.decisions:
        known = decision.previous_command and not decision.seeded
        begins = decision.id.episode_id != episode and known and not forged
        if begins and episode and decision.verdict is not Verdict.REJECTED:
            forged, decision = decision.sequence, replace(decision, seeded=True)
        if decision.published:
            episode = decision.id.episode_id
        decisions.append(decision)
    assert forged
    assert forged in found('waiting', decisions)


def test_a_deactivation_is_remembered_until_the_next_command() -> None:
    run = Recorded('waiting', 1)
    run.go()
    sent = next(d for d in run.decisions if d.verdict is Verdict.STOPPED and d.published)
    reasons = tuple(replace(rule, reason=Reason.DEACTIVATED) for rule in sent.rules)
    refused = next(d for d in run.decisions if d.verdict is Verdict.REJECTED)
    terms, chain = terms_of(contract_of('waiting'), DIGEST), Chain()

    def deactivated(decision: GateDecision) -> bool:
        """Return what the chain knows when a decision comes."""
        return chain.link(decision, 'here', terms, direct=True).deactivated

    assert not deactivated(sent)
    assert not deactivated(replace(sent, rules=reasons))
    assert deactivated(refused)  # somebody asks too early
    assert deactivated(sent)
    assert not deactivated(sent)
