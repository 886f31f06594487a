# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of a step: they add up, they keep clocks of hosts apart, and unknown stays unknown."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.records.clock_offsets import as_diagnostics, ClockOffset
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    RuleInput,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.instants import measure
from boundary_env_ros.core.records.latency import Latency, LatencyStage, STAGES
from boundary_env_ros.core.records.parts import KeyValue, Pacing
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


def on(host: str, offset: float, uncertainty: float) -> tuple[KeyValue, ...]:
    """Return what a step says of the clock of a host."""
    found = ClockOffset(host=host, offset=offset, uncertainty=uncertainty)
    return tuple(as_diagnostics((found,)))


def test_between_hosts_the_offset_that_the_step_names_is_taken_out_both_ways() -> None:
    """The camera's clock is 0.25 s ahead of that of the others."""
    times = [int(t * NANOSECONDS) for t in (0.25, 0.1, 0.1, 0.1, 0.1, 0.2, 0.65)]
    hosts = {'captured': 'camera', 'actuated': 'camera'}
    found = step(times, hosts, diagnostics=on('camera', 0.25, 0.01))
    assert found.capture.duration == pytest.approx(0.1)
    assert found.actuation.duration == pytest.approx(0.2)
    assert (found.capture.clock_offset, found.actuation.clock_offset) == (0.25, -0.25)
    assert found.capture.uncertainty == found.actuation.uncertainty == 0.01
    assert (found.reaction.clock_offset, found.reaction.uncertainty) == (0.0, 0.0)
    of_another = step(times, hosts, diagnostics=on('lidar', 9.0, 0.0))
    assert of_another.capture.uncertainty is of_another.capture.clock_offset is None


def test_of_the_own_clock_nothing_else_is_believed() -> None:
    found = step([0, NANOSECONDS, 0, 0, 0, 0, 0], {'captured': 'camera'}, budget={'capture': 0.5},
                 diagnostics=(*on('camera', 0.0, 0.01), *on('robot', 0.0, 1e9)))  # fmt: skip
    assert found.capture.uncertainty == 0.01
    assert found.capture.over_budget


def test_a_budget_is_exceeded_only_beyond_what_the_clocks_may_be_wrong() -> None:
    times = [0, NANOSECONDS // 10, 0, 0, 0, 0, 0]

    def capture(budget: float, **changes: Any) -> LatencyStage:
        return step(times, {'captured': 'camera'}, budget={'capture': budget}, **changes).capture

    assert capture(0.08, diagnostics=on('camera', 0.0, 0.01)).over_budget
    assert not capture(0.08, diagnostics=on('camera', 0.0, 0.03)).over_budget
    assert not capture(0.08).over_budget  # nobody knows


def test_a_stage_is_impossible_only_beyond_what_the_clocks_may_be_wrong() -> None:
    times = [NANOSECONDS // 10, 0, 0, 0, 0, 0, 0]
    of = {'captured': 'camera'}
    assert step(times, of, diagnostics=on('camera', 0.0, 0.09)).capture.impossible
    assert not step(times, of, diagnostics=on('camera', 0.0, 0.11)).capture.impossible
    assert not step(times, of).capture.impossible
    assert step(times).capture.impossible


@pytest.mark.parametrize('value', ['', '[]', '{"host": "camera"}', '{', '[' * 100_000])
def test_what_is_no_offset_leaves_it_unknown(value: str) -> None:
    said = (KeyValue(key='clock:camera', value=value),)
    assert step([0] * 7, {'captured': 'camera'}, diagnostics=said).capture.clock_offset is None


def test_simulated_time_is_one_clock_for_every_host() -> None:
    there = Stamp(clock=Clock.ROS, nanoseconds=0, host='simulator')
    found = step([0] * 7, captured=there, observed=instant(NANOSECONDS, clock=Clock.ROS))
    assert found.capture == LatencyStage(duration=1.0)


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
