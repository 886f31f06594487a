# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each decision follows from its inputs, and those from the decisions before it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace

import pytest

from boundary_env_ros.core.gate.decision_chain import DecisionChain
from boundary_env_ros.core.gate.gate_events import Event
from boundary_env_ros.core.gate.reducer import Decisions, Reducer
from boundary_env_ros.core.gate.rules.judge import Judge, OUTPUT
from boundary_env_ros.core.records.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.errors import RequestRejected
from support.campaign_traffic import Run
from support.core_messages import changed_decision
from support.core_world import AGENT, DIGEST
from tools.gate_campaign import contract_of, CONTRACTS


class Recorded(Run):
    """A run of the campaign whose decisions are kept as a record has them."""

    def __init__(self, name: str, number: int = 1) -> None:
        super().__init__(contract_of(name), 2, number)
        self.decisions: list[GateDecision] = []
        self.go()

    def _see(self, decisions: tuple[GateDecision, ...]) -> None:
        for decision in decisions:
            commanded = self.now if decision.published else None
            self.decisions.append(replace(decision, commanded=commanded))
        super()._see(decisions)


def unlike(name: str, decisions: list[GateDecision]) -> list[int]:
    """Return which decisions do not follow from what came before them."""
    contract = contract_of(name)
    judge = Judge(contract, digest=DIGEST)
    chain, found = DecisionChain(contract, judge), []
    for decision in decisions:
        output = judge.output(decision)
        again = judge.again(decision, output)
        # As text: a NaN, which an action may have, is unlike itself.
        if repr(chain.add(decision, output)) != repr(decision) or repr(again) != repr(decision):
            found.append(decision.sequence)
    return found


def test_whatever_a_decision_has_follows_from_its_inputs_or_is_one() -> None:
    asked = {'request', 'received', 'inputs', 'runtime_limits'}
    which = {'id', 'sequence', 'decided', 'commanded', 'software_version', 'authentication'}
    assert {each.name for each in fields(GateDecision)} == {*OUTPUT, *asked, *which}


@pytest.mark.parametrize('name', CONTRACTS)
def test_every_honest_decision_follows_from_its_inputs_and_the_ones_before(name: str) -> None:
    decisions = Recorded(name).decisions
    assert len(decisions) > 400
    assert {d.verdict for d in decisions} >= {Verdict.STOPPED, Verdict.REJECTED}
    assert unlike(name, decisions) == []
    # From the middle on, and behind a gap, as well.
    assert unlike(name, decisions[101:150] + decisions[160:220]) == []


@pytest.mark.parametrize('name', CONTRACTS)
def test_the_same_events_lead_to_the_same_state_and_decisions(name: str) -> None:
    run = Run(contract_of(name), 2, 1)
    state, reducer = run.gate.state, Reducer(run.contract, digest=DIGEST, agent=AGENT)
    apply, events, decided = run.gate.apply, [], []

    def heard(event: Event) -> Decisions:
        events.append(event)
        decisions = apply(event)
        decided.extend(decisions)
        return decisions

    run.gate.apply = heard  # type: ignore[method-assign, assignment]
    run.go()
    again: list[GateDecision] = []
    for event in events:
        with suppress(RequestRejected):
            state, decisions = reducer.step(state, event)
            again.extend(decisions)
    assert repr(again) == repr(decided)
    assert repr(state) == repr(run.gate.state)


@pytest.mark.parametrize(
    'change',
    [
        {'previous_command': (0.1, 0.1)},
        {'previous_rate': (9.0, 9.0)},
        {'time_step': 0.0},
        {'seeded': True},
        {'last_sequence': 0},
        {'lease_episode': 'another'},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_input_that_does_not_follow_from_the_decisions_before_is_found(
    change: dict[str, object],
) -> None:
    decisions = Recorded('watchful').decisions
    asked = [
        i
        for i, decision in enumerate(decisions)
        if decision.published
        and decision.trigger is Trigger.REQUEST
        and decision.inputs.last_sequence > 1
        and not decision.inputs.seeded
        and decision.inputs.time_step > 0.0
    ]
    victim = asked[len(asked) // 2]
    forged = changed_decision(decisions[victim], **change)
    found = unlike('watchful', [*decisions[:victim], forged, *decisions[victim + 1 :]])
    assert forged.sequence in found


@pytest.mark.parametrize(
    ('stop', 'name'), [('emergency_stop', 'waiting'), ('stopped', 'watchful')]
)
def test_a_stop_that_was_unlatched_under_the_lease_is_found(stop: str, name: str) -> None:
    decisions = Recorded(name).decisions
    latched = [
        i
        for i in range(1, len(decisions))
        if getattr(decisions[i].inputs, stop)
        and getattr(decisions[i - 1].inputs, stop)
        and decisions[i].inputs.lease_id == decisions[i - 1].inputs.lease_id != ''
    ]
    victim = latched[0]
    forged = changed_decision(decisions[victim], **{stop: False})
    assert forged.sequence in unlike(name, [*decisions[:victim], forged])


def test_a_lease_that_begins_at_the_measured_state_while_a_command_is_in_force_is_found() -> None:
    episode, forged = '', 0
    decisions: list[GateDecision] = []
    for decision in Recorded('waiting').decisions:
        inputs = decision.inputs
        known = inputs.previous_command and not inputs.seeded
        begins = decision.id.episode_id != episode and known and not forged
        if begins and episode and decision.verdict is not Verdict.REJECTED:
            forged, decision = decision.sequence, changed_decision(decision, seeded=True)
        if decision.published:
            episode = decision.id.episode_id
        decisions.append(decision)
    assert forged
    assert forged in unlike('waiting', decisions)
