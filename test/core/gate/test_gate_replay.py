# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever went over a gate, the gate run again on its decisions decides the same."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest

from boundary_env_ros.core.gate.decision import GateDecision, Trigger
from boundary_env_ros.core.gate.events import Event
from boundary_env_ros.core.gate.reducer import Decisions, Reducer
from boundary_env_ros.core.gate.replay import Replay
from boundary_env_ros.errors import RequestRejected
from support.campaign_traffic import Run
from support.core_world import AGENT, DIGEST
from tools.gate_campaign import contract_of, CONTRACTS

#: What is decided, and what it follows from.
DECIDED = (
    'id',
    'lease_id',
    'measurements',
    'requested_action',
    'previous_command',
    'previous_rate',
    'previous_acceleration',
    'seeded',
    'overruns',
    'recent_commands',
    'time_step',
    'verdict',
    'requested_command',
    'admitted_action',
    'command',
    'rules',
)


class Recorded(Run):
    """A run of the campaign whose decisions are kept, each with the episode that ran."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(contract_of(name), 2, number)
        self.decisions: list[tuple[GateDecision, str]] = []

    def _see(self, decisions: tuple[GateDecision, ...]) -> None:
        lease_state = self.gate.state.lease_state
        lease = lease_state.lease
        episode = lease.episode_id if lease is not None and lease_state.running else ''
        for decision in decisions:
            whole = replace(decision, commanded=self.now) if decision.published else decision
            self.decisions.append((whole, episode))
        super()._see(decisions)


@pytest.mark.parametrize('name', CONTRACTS)
def test_the_gate_decides_the_same_again(name: str) -> None:
    run = Recorded(name, 1)
    run.go()
    again = Replay(run.contract, digest=DIGEST, agent=AGENT, topics=run.topics)
    assert len(run.decisions) > 400
    for then, episode in run.decisions:
        found = again.again(then, current=episode)
        assert found is not None, then
        for field in DECIDED:
            assert repr(getattr(found, field)) == repr(getattr(then, field)), (field, then)


@pytest.mark.parametrize('name', CONTRACTS)
def test_the_same_events_lead_to_the_same_state_and_decisions(name: str) -> None:
    run = Recorded(name, 1)
    state, reducer = run.gate.state, Reducer(run.contract, agent=AGENT)
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


def test_after_a_change_it_goes_on_from_the_record() -> None:
    run = Recorded('smooth', 1)
    run.go()
    again = Replay(run.contract, digest=DIGEST, agent=AGENT, topics=run.topics)
    sent = [d for d, _ in run.decisions if d.published and d.trigger is Trigger.REQUEST]
    victim = sent[len(sent) // 2]
    unlike = []
    for then, episode in run.decisions:
        recorded = replace(then, admitted_action=(9.0, 9.0)) if then is victim else then
        found = again.again(recorded, current=episode)
        assert found is not None
        if repr((found.command, found.admitted_action)) != repr(
            (recorded.command, recorded.admitted_action)
        ):
            unlike.append(then.sequence)
            again.adopt(then)
    assert unlike == [victim.sequence]


def test_from_the_middle_it_takes_up_the_memory_of_the_record() -> None:
    run = Recorded('cart', 1)
    run.go()
    again = Replay(run.contract, digest=DIGEST, agent=AGENT, topics=run.topics)
    middle = next(
        i
        for i, (then, _) in enumerate(run.decisions)
        if i > 100 and then.trigger is Trigger.REQUEST and then.published and not then.seeded
    )
    for then, episode in run.decisions[middle : middle + 30]:
        found = again.again(then, current=episode, begun=then is not run.decisions[middle][0])
        assert found is not None
        assert (found.verdict, found.command) == (then.verdict, then.command)
