# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is not a command is refused by the gate, and nothing is published because of it."""

from __future__ import annotations

from dataclasses import replace
import math

import pytest

from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.timebase import ClockReading
from support.core_world import only
from support.gate_bench import Bench, reasons
from support.gate_numbers import PERIOD, SAFETY, TICK


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('dimension', [0, 1])
def test_a_number_that_is_not_finite_is_rejected(
    bench: Bench, value: float, dimension: int
) -> None:
    action = [0.1, 0.1]
    action[dimension] = value
    decision = bench.ask(*action)
    assert decision.verdict is Verdict.REJECTED
    assert [(r.reason, r.dimension) for r in decision.rules] == [(Reason.NOT_FINITE, dimension)]
    assert decision.command == ()


@pytest.mark.parametrize('size', [1, 3, 100])
def test_an_action_of_another_shape_is_rejected(bench: Bench, size: int) -> None:
    decision = bench.ask(*[0.0] * size)
    assert decision.verdict is Verdict.REJECTED
    [result] = decision.rules
    assert (result.reason, result.value, result.limit) == (Reason.WRONG_SHAPE, float(size), 2.0)


def test_an_action_without_a_value_is_rejected(bench: Bench) -> None:
    decision = only(bench.send(()))
    assert reasons(decision) == {Reason.WRONG_SHAPE}


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'digest': 'sha256:' + '0' * 64}, Reason.WRONG_DIGEST),
        ({'digest': ''}, Reason.WRONG_DIGEST),
        ({'agent': 'other'}, Reason.WRONG_AGENT),
        ({'episode': 'another'}, Reason.WRONG_EPISODE),
        ({'episode': ''}, Reason.WRONG_EPISODE),
        ({'lease': 'lease-0'}, Reason.WRONG_LEASE),
        ({'lease': ''}, Reason.WRONG_LEASE),
        ({'sequence': 0}, Reason.OUT_OF_ORDER),
    ],
)
@pytest.mark.parametrize('action', [(0.1, 0.0), (0.1,), (math.nan, 0.0)])
def test_only_the_holder_of_the_lease_is_heard(
    bench: Bench, changes: dict[str, object], reason: Reason, action: tuple[float, ...]
) -> None:
    decision = bench.ask(*action, **changes)
    assert decision.verdict is Verdict.REJECTED
    assert reasons(decision) == {reason}
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED


def test_a_request_that_came_twice_moves_the_robot_once(bench: Bench) -> None:
    assert bench.ask(0.1, 0.0, sequence=1).verdict is Verdict.ADMITTED
    assert reasons(bench.ask(0.1, 0.0, sequence=1)) == {Reason.OUT_OF_ORDER}


def test_a_request_that_was_overtaken_is_rejected_and_a_gap_is_not(bench: Bench) -> None:
    assert bench.ask(0.05, 0.0, sequence=7).verdict is Verdict.ADMITTED
    decision = bench.ask(0.05, 0.0, sequence=6)
    [result] = decision.rules
    assert (result.reason, result.value, result.limit) == (Reason.OUT_OF_ORDER, 6.0, 8.0)
    assert bench.ask(0.05, 0.0, sequence=8).verdict is Verdict.ADMITTED


def test_a_rejected_request_does_not_use_up_its_sequence(bench: Bench) -> None:
    assert bench.ask(math.nan, 0.0, sequence=1).verdict is Verdict.REJECTED
    assert bench.ask(0.1, 0.0, sequence=1).verdict is Verdict.ADMITTED


def test_an_action_before_the_episode_runs_is_rejected() -> None:
    bench = Bench()
    bench.say(EpisodeState.RESETTING)
    bench.pulse()
    assert reasons(bench.ask(0.1, 0.0)) == {Reason.NOT_ARMED}
    bench.arm()
    assert reasons(bench.ask(0.1, 0.0)) == {Reason.NOT_ARMED}


@pytest.mark.parametrize('state', [EpisodeState.TERMINATED, EpisodeState.TRUNCATED])
def test_an_action_after_the_episode_is_rejected(bench: Bench, state: EpisodeState) -> None:
    bench.say(state)
    assert reasons(bench.ask(0.1, 0.0)) == {Reason.NOT_ARMED}


def test_an_action_to_a_gate_that_nobody_armed_is_rejected() -> None:
    decision = Bench().ask(0.1, 0.0)
    assert reasons(decision) == {Reason.NOT_ARMED}
    assert not decision.inputs.armed


@pytest.mark.parametrize('age', [SAFETY.max_action_age + 0.001, 10.0, None])
def test_an_action_that_answers_an_old_or_unknown_observation_is_rejected(
    bench: Bench, age: float | None
) -> None:
    decision = bench.ask(0.1, 0.0, age=age)
    assert decision.verdict is Verdict.REJECTED
    [result] = decision.rules
    assert result.reason is Reason.ACTION_TOO_OLD
    assert result.limit == SAFETY.max_action_age
    assert (result.value is None) is (age is None)


def test_an_action_just_young_enough_is_heard(bench: Bench) -> None:
    assert bench.ask(0.1, 0.0, age=SAFETY.max_action_age).verdict is Verdict.ADMITTED


def test_an_action_that_answers_an_observation_of_the_future_is_rejected(bench: Bench) -> None:
    decision = bench.ask(0.1, 0.0, age=-10.0)
    assert reasons(decision) == {Reason.ACTION_TOO_OLD}


def test_the_age_of_an_action_is_steady_time_whatever_the_ros_clock_does(bench: Bench) -> None:
    for jump in (-3600.0, 3600.0):
        observed = bench.time.now
        bench.time.wait(PERIOD)
        bench.time.jump_ros(jump)
        bench.pulse()
        assert bench.ask(0.0, 0.1, observed=observed).verdict is not Verdict.REJECTED
    observed = bench.time.now
    bench.time.wait(SAFETY.max_action_age + TICK)
    bench.time.jump_ros(-SAFETY.max_action_age)
    bench.pulse()
    assert reasons(bench.ask(0.0, 0.1, observed=observed)) == {Reason.ACTION_TOO_OLD}


def test_the_age_of_an_action_from_another_host_is_that_of_its_stamp(bench: Bench) -> None:
    """A steady clock starts again on every host: its reading there says nothing here."""
    for age, verdict in ((0.1, Verdict.ADMITTED), (0.5, Verdict.REJECTED)):
        bench.time.wait(PERIOD)
        bench.pulse()
        stamp = replace(bench.time.stamp(ago=age), host='elsewhere')
        decision = bench.ask(0.0, 0.0, observed=ClockReading(ros=stamp, steady=3))
        assert decision.verdict is verdict
