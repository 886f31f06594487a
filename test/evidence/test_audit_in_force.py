# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit knows which command is in force: what a campaign has decided, held against it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.gate.decision import GateDecision, StepId, Verdict
from boundary_env_ros.evidence.replay.differences import FieldDifference
from boundary_env_ros.evidence.replay.rerun import Rerun
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
    """Return what running them again finds, by the number of the decision."""
    differences: dict[int, str] = {}

    def find(of: StepId, decision: GateDecision | None, first: FieldDifference) -> None:
        differences[decision.sequence if decision else 0] = f'{first}'

    again = Rerun(contract_of(name), None, digest=DIGEST, find=find)
    for decision in decisions:
        again.add(decision)
    again.finish()
    return differences


@pytest.mark.parametrize('name', ['waiting', 'every_kind', 'watchful', 'lockstep'])
def test_no_honest_decision_comes_out_as_another(name: str) -> None:
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
