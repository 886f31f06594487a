# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of a step: they add up, they keep clocks of hosts apart, and unknown stays unknown."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    RuleInput,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.instants import measure, measured_offsets
from boundary_env_ros.core.records.latency import Latency, LatencyStage, STAGES
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp
from support.core_world import step_id

PARTS = ('capture', 'transport', 'inference', 'gate', 'actuation')
ORDER = ('captured', 'observed', 'delivered', 'requested', 'received', 'commanded', 'actuated')
moments = st.lists(st.integers(0, 10**12), min_size=7, max_size=7)


def instant(
    at: int, host: str = 'robot', clock: Clock = Clock.SYSTEM, steady: int = 0
) -> ClockReading:
    return ClockReading(ros=Stamp(clock=clock, nanoseconds=at, host=host), steady=steady)


def step(times: list[int], hosts: dict[str, str] | None = None, **changes: Any) -> Latency:
    """Return the stages of a step whose instants were at these nanoseconds."""
    of = hosts or {}
    found: dict[str, Any] = {
        name: instant(at, of.get(name, 'robot')) for name, at in zip(ORDER, times, strict=True)
    }
    for name in ('captured', 'actuated'):
        found[name] = found[name].ros
    budget = changes.pop('budget', {})
    lockstep = changes.pop('lockstep', False)
    return measure(transition(**{**found, **changes}), budget, lockstep=lockstep)


def transition(**instants: Any) -> Transition:
    """Return a step of which nothing but its instants matters."""
    of_request = {
        name: instants.pop(name, None) for name in ('observed', 'delivered', 'requested')
    }
    answer = GateDecision(
        id=step_id(1), sequence=1, verdict=Verdict.ADMITTED,
        inputs=RuleInput(trigger=Trigger.REQUEST, time_step=0.1),
        decided=instant(0), received=instants.pop('received', None),
        request=ActionRequest(id=step_id(1), lease_id='', sequence=1, action=(), **of_request),
    )  # fmt: skip
    return Transition(
        contract='', contract_version='', software_version='', client_version='', id=step_id(1),
        kind=Kind.STEP, pacing=Pacing.REALTIME, seed=0, after=(), closed=instant(0),
        decisions=(answer,), decision=0, **instants,
    )  # fmt: skip


def seconds(latency: Latency) -> dict[str, float | None]:
    return {name: getattr(latency, name).duration for name in STAGES}


def test_the_stages_have_the_names_of_the_record() -> None:
    assert tuple(f.name for f in fields(Latency)) == STAGES


def test_each_stage_is_the_difference_of_its_instants() -> None:
    times = [t * NANOSECONDS for t in (0, 1, 3, 6, 10, 15, 21)]
    assert seconds(step(times)) == {
        'capture': 1.0, 'transport': 2.0 + 4.0, 'inference': 3.0, 'gate': 5.0, 'actuation': 6.0,
        'reaction': 21.0,
    }  # fmt: skip


@given(times=moments)
def test_the_stages_add_up_to_the_reaction_whatever_the_instants(times: list[int]) -> None:
    found = seconds(step(times))
    total = sum(found[name] or 0.0 for name in PARTS)
    assert total == pytest.approx(found['reaction'], abs=1e-6)


@given(times=moments, offset=st.integers(-(10**9), 10**9))
def test_the_stages_add_up_across_hosts_too(times: list[int], offset: int) -> None:
    """The policy runs on a host whose clock is ahead; its instants are stamped by that clock."""
    ahead = list(times)
    for name in ('delivered', 'requested'):
        ahead[ORDER.index(name)] += offset
    here = step(times)
    there = step(ahead, {'delivered': 'policy', 'requested': 'policy'})
    for name in STAGES:
        assert getattr(there, name).duration == pytest.approx(
            getattr(here, name).duration, abs=1e-6
        )
    # To the policy and back, the offset goes in and comes out again, and its error with it.
    assert there.transport.clock_offset == pytest.approx(0.0, abs=1e-9)
    assert there.transport.uncertainty == pytest.approx(0.0)
    assert there.inference.uncertainty == 0.0


@given(
    ahead=st.integers(-(10**12), 10**12),
    waits=st.tuples(*[st.integers(0, 10**9)] * 3),
)  # fmt: skip
def test_each_step_measures_the_offset_of_the_policys_clock(
    ahead: int, waits: tuple[int, int, int]
) -> None:
    there, thinking, back = waits

    def read(host: str, nanoseconds: int) -> ClockReading:
        return ClockReading(
            ros=Stamp(clock=Clock.SYSTEM, nanoseconds=nanoseconds, host=host), steady=0
        )

    begin = 10**15
    exchange = {
        'observed': read('robot', begin),
        'delivered': read('policy', begin + there + ahead),
        'requested': read('policy', begin + there + thinking + ahead),
        'received': read('robot', begin + there + thinking + back),
    }
    (found,) = measured_offsets(transition(**exchange))
    assert (found.host, found.reference) == ('policy', 'robot')
    assert abs(found.offset - ahead / NANOSECONDS) <= found.uncertainty + 1e-6
    assert found.uncertainty == pytest.approx((there + back) / 2 / NANOSECONDS)
    assert measured_offsets(transition(**{**exchange, 'requested': None})) == ()
    here = {name: read('robot', i) for i, name in enumerate(exchange)}
    assert measured_offsets(transition(**here)) == ()


@pytest.mark.parametrize('clock', [Clock.ROS, Clock.STEADY])
@pytest.mark.parametrize('name', ['observed', 'delivered', 'requested', 'received'])
def test_an_exchange_by_another_clock_measures_no_offset_and_raises_nothing(
    name: str, clock: Clock
) -> None:
    exchange: dict[str, Any] = {
        each: instant(at, 'policy' if each in ('delivered', 'requested') else 'robot')
        for at, each in enumerate(('observed', 'delivered', 'requested', 'received'))
    }
    assert len(measured_offsets(transition(**exchange))) == 1
    # What a client writes into its request must not keep its step from being closed.
    exchange[name] = replace(exchange[name], ros=replace(exchange[name].ros, clock=clock))
    assert measured_offsets(transition(**exchange)) == ()


def test_a_stage_across_hosts_that_were_never_compared_says_so() -> None:
    found = step([0, 1, 2, 3, 4, 5, 6], {'captured': 'camera'})
    assert found.capture.duration is not None
    assert found.capture.uncertainty is found.capture.clock_offset is None
    assert found.gate.uncertainty == 0.0


@pytest.mark.parametrize('name', ORDER)
def test_an_unknown_instant_makes_its_stages_unknown_and_no_other(name: str) -> None:
    touched = {
        'captured': {'capture', 'reaction'},
        'observed': {'capture', 'transport'},
        'delivered': {'transport', 'inference'},
        'requested': {'transport', 'inference'},
        'received': {'transport', 'gate'},
        'commanded': {'gate', 'actuation'},
        'actuated': {'actuation', 'reaction'},
    }[name]
    found = seconds(step([0, 1, 2, 3, 4, 5, 6], **{name: None}))
    assert {stage for stage, duration in found.items() if duration is None} == touched


def test_a_sensor_on_another_clock_makes_its_stages_unknown_not_wrong() -> None:
    foreign = Stamp(clock=Clock.ROS, nanoseconds=0, host='robot')
    found = step([0, 1, 2, 3, 4, 5, 6], captured=foreign)
    assert found.capture.duration is found.reaction.duration is None
    assert found.gate.duration is not None


def test_a_negative_stage_is_reported_as_it_is() -> None:
    found = step([5 * NANOSECONDS, 3 * NANOSECONDS, 0, 0, 0, 0, 0])
    assert found.capture.duration == -2.0


def test_a_budget_is_carried_and_compared() -> None:
    found = step([0, NANOSECONDS, 0, 0, 0, 0, 0], budget={'capture': 0.5, 'reaction': 9.0})
    assert (found.capture.budget, found.gate.budget) == (0.5, None)
    assert found.capture.over_budget
    assert not found.reaction.over_budget
    assert not found.gate.over_budget


def test_an_unknown_stage_keeps_its_budget_and_is_not_over_it() -> None:
    found = step([0] * 7, captured=None, budget={'capture': 0.5})
    assert found.capture == LatencyStage(budget=0.5)
    assert not found.capture.over_budget


def test_in_lockstep_what_the_world_waits_for_is_measured_on_the_steady_clock() -> None:
    asleep = {
        name: instant(0, clock=Clock.ROS, steady=at * NANOSECONDS)
        for name, at in zip(ORDER[1:6], (0, 1, 6, 8, 11), strict=True)
    }
    found = step([0] * 7, lockstep=True, budget=dict.fromkeys(STAGES, 0.5), **asleep)
    assert (found.inference, found.transport, found.gate) == (
        LatencyStage(duration=5.0), LatencyStage(duration=3.0), LatencyStage(duration=3.0),
    )  # fmt: skip
    later = Stamp(clock=Clock.ROS, nanoseconds=NANOSECONDS, host='robot')
    moved = step([0] * 7, lockstep=True, **{**asleep, 'actuated': later})
    assert moved.actuation.duration == 1.0


def test_in_lockstep_two_hosts_have_no_steady_clock_in_common() -> None:
    elsewhere = instant(0, 'desktop', Clock.ROS)
    found = step([0] * 7, lockstep=True, requested=elsewhere, received=instant(0))
    assert found.inference.duration is None
    assert found.transport.duration is None
