# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Events say what happened in an episode, each once, and are silent while none is active."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import ConfirmStep, Contract
from boundary_env_ros.core.environment.environment_state import Output
from boundary_env_ros.core.episode_events import Events
from boundary_env_ros.core.records.decision import (
    GateDecision,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.transition import Kind, Transition
from support.core_messages import changed_decision
from support.core_world import AGENT, DIGEST, shipped, step_id
from support.episode_world import EpisodeWorld, NEAR_GOAL

Said = EpisodeStatus | GateDecision | Transition

FAST = 0.9
"""Faster than the bounds of the shipped contract allow, m/s."""


class Tape(EpisodeWorld):
    """A world of which everything is kept that its nodes would publish, in order."""

    def __init__(self, contract: Contract | None = None) -> None:
        self.said: list[Said] = []
        super().__init__(contract=contract)

    def carry(self, effects: Iterable[Output]) -> None:
        effects = tuple(effects)
        self.said += (e for e in effects if isinstance(e, (EpisodeStatus, Transition)))
        super().carry(effects)

    def decided(self, decisions: Iterable[GateDecision]) -> None:
        decisions = tuple(decisions)
        self.said += decisions
        super().decided(decisions)


def tell(events: Events, said: Iterable[Said]) -> list[EnvironmentEvent]:
    """Let somebody hear what was published, and return the events that come of it."""
    found: list[EnvironmentEvent] = []
    for each in said:
        found += events.of(each)
    return found


def listener() -> Events:
    return Events(shipped(), DIGEST)


def of(kind: EventKind, events: Iterable[EnvironmentEvent]) -> list[EnvironmentEvent]:
    return [event for event in events if event.kind is kind]


@pytest.fixture(scope='module')
def tape() -> Tape:
    """Return an episode that reaches its goal, with a policy that asks for too much."""
    world = Tape()
    world.policy = lambda observation: (FAST, 0.0)
    world.start(goal=NEAR_GOAL)
    world.finish()
    assert world.transitions[-1].ending == 'success'
    return world


# Numbers and silence -----------------------------------------------------------------------------


def test_events_of_an_episode_are_numbered_from_one_without_a_gap(tape: Tape) -> None:
    events = tell(listener(), tape.said)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert {event.id.episode_id for event in events} == {'episode-1'}
    assert {event.id.agent for event in events} == {AGENT}


def test_the_next_episode_is_numbered_from_one_again(tape: Tape) -> None:
    world = Tape()
    world.start(goal=NEAR_GOAL).finish()
    world.start(goal=NEAR_GOAL).finish()
    events = tell(listener(), world.said)
    firsts = [event.id.episode_id for event in events if event.sequence == 1]
    assert firsts == ['episode-1', 'episode-2']
    assert len(of(EventKind.TERMINATION, events)) == 2


def test_nothing_is_told_while_no_episode_is_active(tape: Tape) -> None:
    events = listener()
    steps = [said for said in tape.said if not isinstance(said, EpisodeStatus)]
    decisions = [said for said in steps if isinstance(said, GateDecision)]
    assert tell(events, decisions) == []
    tell(events, tape.said)
    assert tell(events, tape.said) == [], 'what was over began again'


def test_decisions_of_closed_steps_are_remembered_by_the_last_number_alone(tape: Tape) -> None:
    events, most = listener(), 0
    for said in tape.said:
        tell(events, [said])
        most = max(most, len(events._seen))
    longest = max(len(said.decisions) for said in tape.said if isinstance(said, Transition))
    assert most <= longest + 1


def test_a_state_without_an_episode_begins_none() -> None:
    world = Tape()
    idle = world.environment.status(world.now)
    assert idle.state is EpisodeState.IDLE
    assert tell(listener(), [idle, idle]) == []


def test_what_is_said_under_another_contract_is_passed_over(tape: Tape) -> None:
    stranger = Events(shipped(), 'sha256:' + 'ab' * 32)
    assert tell(stranger, tape.said) == []


# Observation and reward --------------------------------------------------------------------------


def test_every_step_is_told_with_what_changed_in_it(tape: Tape) -> None:
    told = of(EventKind.OBSERVATION, tell(listener(), tape.said))
    assert [event.id for event in told] == [transition.id for transition in tape.transitions]
    shown = {spec.name for spec in shipped().observation}
    assert {item.name for item in told[0].delta} == shown
    for before, after, event in zip(
        tape.transitions, tape.transitions[1:], told[1:], strict=False
    ):
        changed = {
            new.name: new.values
            for old, new in zip(before.after, after.after, strict=True)
            if (old.values, old.image) != (new.values, new.image)
        }
        assert {item.name: item.values for item in event.delta} == changed
        assert 'goal' not in changed


def test_units_of_what_changed_are_those_of_the_contract(tape: Tape) -> None:
    [first, *_] = of(EventKind.OBSERVATION, tell(listener(), tape.said))
    units = {item.name: item.unit for item in first.delta}
    assert units['pose'] == ('m', 'm', 'rad')


def test_rewards_are_those_of_the_steps_by_their_terms(tape: Tape) -> None:
    told = of(EventKind.REWARD, tell(listener(), tape.said))
    steps = [t for t in tape.transitions if t.kind is Kind.STEP]
    assert [event.reward for event in told] == [step.reward for step in steps]
    for event, step in zip(told, steps, strict=True):
        assert [(i.name, i.values) for i in event.delta] == [
            (term.name, (term.value,)) for term in step.reward_terms
        ]
    assert '-0,' not in told[0].reason


def test_a_stale_field_is_named(tape: Tape) -> None:
    world = Tape()
    world.start()
    world.run(0.5)
    world.alive.discard('scan')
    world.run(0.6)
    told = of(EventKind.OBSERVATION, tell(listener(), world.said))
    assert 'scan is STALE' in told[-1].reason
    assert 'STALE' not in told[1].reason


def test_a_step_belongs_to_the_action_that_closed_it(tape: Tape) -> None:
    events = tell(listener(), tape.said)
    for transition in tape.transitions[1:]:
        request = transition.decisions[transition.decision].request
        assert request is not None
        told = [e for e in events if e.id == transition.id and e.kind is not EventKind.SAFETY]
        assert {event.action_sequence for event in told} == {request.sequence}


def test_a_step_without_an_action_belongs_to_none_and_says_who_held() -> None:
    world = Tape()
    world.start()
    world.run(0.5)
    world.alive.discard('policy')
    world.finish()
    told = of(EventKind.OBSERVATION, tell(listener(), world.said))
    assert told[-1].action_sequence == 0
    assert 'held by the' in told[-1].reason


# Termination -------------------------------------------------------------------------------------


def test_an_ending_is_told_once_with_its_name_and_declarer(tape: Tape) -> None:
    [told] = of(EventKind.TERMINATION, tell(listener(), tape.said))
    assert (told.terminated, told.truncated) == (True, False)
    assert told.reason == 'success, declared by task:go_to_goal'
    assert told.id == tape.transitions[-1].id


def test_an_ending_is_the_last_event(tape: Tape) -> None:
    events = tell(listener(), tape.said)
    assert events[-1].kind is EventKind.TERMINATION


def test_a_dead_environment_ends_by_the_word_of_the_recorder() -> None:
    world = Tape()
    world.start()
    world.run(0.5)
    events = listener()
    tell(events, world.said)
    last = world.transitions[-1].id
    word = EpisodeStatus(
        id=last,
        state=EpisodeState.TRUNCATED,
        pacing=world.contract.pacing,
        ending='environment_lost',
        declared_by='recorder',
        message='silent for 0.8 s',
    )
    [told] = tell(events, [word])
    assert told.truncated
    assert told.reason == 'environment_lost, declared by recorder: silent for 0.8 s'
    assert tell(events, [word]) == []


def test_a_failed_reset_is_an_ending_and_no_observation() -> None:
    world = Tape()
    world.reset_error = 'the wheels are stuck'
    world.begin()
    events = tell(listener(), world.said)
    assert [event.kind for event in events] == [EventKind.TERMINATION]
    assert events[0].truncated
    assert 'reset_failed' in events[0].reason


def test_an_ending_that_overtakes_its_last_step_waits_for_it(tape: Tape) -> None:
    *before, last = [said for said in tape.said if isinstance(said, Transition)]
    over = next(s for s in tape.said if isinstance(s, EpisodeStatus) and s.state.over)
    events = listener()
    tell(events, before)
    assert tell(events, [over]) == []
    told = tell(events, [last])
    assert [event.kind for event in told][-1] is EventKind.TERMINATION
    assert EventKind.OBSERVATION in [event.kind for event in told]


def test_an_ending_whose_last_step_never_comes_is_told_when_it_is_repeated(tape: Tape) -> None:
    *before, _ = [said for said in tape.said if isinstance(said, Transition)]
    over = next(s for s in tape.said if isinstance(s, EpisodeStatus) and s.state.over)
    events = listener()
    tell(events, before)
    [told] = tell(events, [over, over, over])
    assert told.terminated
    assert told.reason.startswith('success')


def test_an_episode_that_another_one_follows_is_over_whatever_was_lost(tape: Tape) -> None:
    events = listener()
    tell(events, tape.transitions[:2])
    other = replace(tape.transitions[0], id=step_id(0, 'another'))
    ending, first = tell(events, [other])
    assert (ending.kind, ending.id.episode_id) == (EventKind.TERMINATION, 'episode-1')
    assert (ending.truncated, ending.reason) == (True, 'another episode began')
    assert (first.id.episode_id, first.sequence) == ('another', 1)


# Safety ------------------------------------------------------------------------------------------


def test_a_limited_action_is_told_with_what_became_of_it(tape: Tape) -> None:
    told = of(EventKind.SAFETY, tell(listener(), tape.said))
    limited = [
        decision
        for transition in tape.transitions
        for decision in transition.decisions
        if decision.verdict is Verdict.LIMITED and decision.trigger is Trigger.REQUEST
    ]
    asked = [decision.request.sequence for decision in limited if decision.request]
    assert asked
    assert [event.action_sequence for event in told if event.action_sequence] == asked
    first, decision = told[0], limited[0]
    assert 'LIMITED by bounds' in first.reason
    assert [(i.name, i.values, i.unit) for i in first.delta] == [
        ('base/linear.x', (decision.command[0],), ('m/s',))
    ]


def test_what_the_gate_goes_on_with_by_itself_is_told_once() -> None:
    world = Tape()
    world.start()
    world.run(0.5)
    world.alive.discard('policy')
    world.finish()
    events = tell(listener(), world.said)
    silence = [e for e in of(EventKind.SAFETY, events) if 'silence' in e.reason]
    held = [e for e in silence if 'HELD' in e.reason]
    stopped = [e for e in silence if 'STOPPED' in e.reason]
    assert len(stopped) == 1
    assert held
    decisions = [d for t in world.transitions for d in t.decisions if d.trigger is Trigger.TIMER]
    assert len(decisions) > len(silence) + 5
    assert {event.action_sequence for event in silence} == {0}


def test_a_command_that_is_only_sent_again_is_no_intervention(tape: Tape) -> None:
    events = listener()
    tell(events, tape.said[: tape.said.index(tape.transitions[1]) + 1])
    again = replace(
        tape.transitions[1].decisions[-1],
        id=tape.transitions[1].id,
        sequence=10_000,
        verdict=Verdict.HELD,
        inputs=RuleInput(trigger=Trigger.TIMER, time_step=0.1),
        request=None,
        rules=(RuleResult(rule='republish', outcome=Verdict.HELD, reason=Reason.REPUBLISHED),),
    )
    assert tell(events, [again]) == []


def test_a_stranger_who_is_refused_is_no_action_of_the_holder() -> None:
    world = Tape()
    world.start()
    world.run(0.3)
    world.sequence += 40
    world.request(world.observations[-1], (0.1, 0.0), lease='stolen')
    world.run(0.2)
    told = [e for e in tell(listener(), world.said) if 'authority' in e.reason]
    assert [event.action_sequence for event in told] == [0]


def test_decisions_that_were_not_heard_are_told_with_their_step(tape: Tape) -> None:
    heard = tell(listener(), tape.said)
    deaf = tell(listener(), [said for said in tape.said if not isinstance(said, GateDecision)])
    assert _told(deaf) == _told(heard)


# People ------------------------------------------------------------------------------------------


def test_taking_over_and_giving_back_are_told_once_each(tape: Tape) -> None:
    base = tape.transitions[1].decisions[-1]
    events = listener()
    tell(events, tape.said[: tape.said.index(tape.transitions[1]) + 1])

    def by_hand(number: int) -> GateDecision:
        return replace(
            base, id=base.id, sequence=number, request=None,
            inputs=replace(base.inputs, trigger=Trigger.OPERATOR),
            verdict=Verdict.ADMITTED, command=(0.2, 0.1),
            rules=(RuleResult(
                rule='operator', outcome=Verdict.ADMITTED, reason=Reason.OPERATOR),),
        )  # fmt: skip

    timer = changed_decision(replace(by_hand(3003), rules=()), trigger=Trigger.TIMER)
    again = replace(base, sequence=3005, verdict=Verdict.ADMITTED, rules=())
    told = tell(events, [by_hand(3001), by_hand(3002), timer, by_hand(3004), again])
    assert [event.kind for event in told] == [EventKind.OPERATOR, EventKind.OPERATOR]
    assert 'taken over' in told[0].reason
    assert [i.values for i in told[0].delta] == [(0.2,), (0.1,)]
    assert 'policy' in told[1].reason


def test_a_reset_that_asks_for_a_person_says_what_for(tape: Tape) -> None:
    status = next(said for said in tape.said if isinstance(said, EpisodeStatus))
    assert status.state is EpisodeState.RESETTING
    contract = shipped()
    confirm = ConfirmStep(prompt='close the door', deadline=1.0)
    procedure = replace(contract.episode.reset, steps=(*contract.episode.reset.steps, confirm))
    asks = replace(contract, episode=replace(contract.episode, reset=procedure))
    slow = replace(status, message='The reset waits for the recorder.')
    asking = replace(status, message='close the door')
    events = tell(Events(asks, DIGEST), [status, slow, asking, asking])
    assert [event.kind for event in events] == [EventKind.OPERATOR]
    assert events[0].reason.endswith('close the door')


# In any order ------------------------------------------------------------------------------------


def _told(events: Iterable[EnvironmentEvent]) -> list[tuple[object, ...]]:
    """Return what was told, without the order between steps and decisions."""
    return sorted(
        (e.kind, e.id.step, e.action_sequence, e.reason, e.delta, e.reward) for e in events
    )


@given(st.data())
def test_whatever_topic_is_faster_the_same_is_told(tape: Tape, data: st.DataObject) -> None:
    recorded = {d.sequence for t in tape.transitions for d in t.decisions}
    statuses = [s for s in tape.said if isinstance(s, EpisodeStatus)]
    over = next(index for index, status in enumerate(statuses) if status.state.over)
    streams: list[list[Said]] = [
        list(statuses[: over + 1]),
        [d for d in tape.said if isinstance(d, GateDecision) and d.sequence in recorded],
        list(tape.transitions),
    ]
    mixed: list[Said] = []
    while any(streams):
        left = [stream for stream in streams if stream]
        mixed.append(data.draw(st.sampled_from(range(len(left))).map(left.__getitem__)).pop(0))
    events = tell(listener(), mixed)
    assert _told(events) == _told(tell(listener(), tape.said))
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
