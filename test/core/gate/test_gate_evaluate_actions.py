# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What would become of an action: the same that becomes of it, and nothing happens by asking."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest
from test_gate_operator import with_operator

from boundary_env_ros.core.records.decision import Reason, Verdict
from support.core_world import shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import AHEAD_NEAR, cruise, HIGH, LOW, PERIOD, RATE

number = st.one_of(
    st.floats(-2.0, 2.0), st.floats(), st.sampled_from([math.nan, math.inf, -0.0, 0.8])
)
candidates = st.lists(
    st.one_of(st.tuples(number, number), st.lists(number, max_size=3).map(tuple)),
    min_size=1,
    max_size=5,
)


def driven() -> Bench:
    bench = cruise(Bench().start())
    bench.time.wait(0.06)
    bench.pulse()
    return bench


@given(actions=candidates)
def test_a_plan_changes_nothing(actions: list[tuple[float, ...]]) -> None:
    bench = driven()
    before = repr(bench.gate.state)
    bench.gate.evaluate_actions(actions, bench.time.now)
    bench.gate.reach(bench.time.now)
    assert repr(bench.gate.state) == before


@given(actions=candidates, near=st.booleans(), latched=st.booleans())
def test_a_plan_is_what_a_request_then_gets(
    actions: list[tuple[float, ...]], near: bool, latched: bool
) -> None:
    bench = driven()
    if near:
        bench.scan = AHEAD_NEAR
        bench.pulse()
    if latched:
        bench.press()
    for action in actions:
        planned = deepcopy(bench.gate).evaluate_actions([action], bench.time.now)[0]
        real = bench.ask(*action)
        same_but_for_whose = replace(
            real,
            id=planned.id,
            sequence=planned.sequence,
            request=planned.request,
            received=planned.received,
        )
        assert repr(same_but_for_whose) == repr(planned)


def test_each_candidate_is_decided_on_as_if_it_were_the_only_one() -> None:
    bench = driven()
    alone = bench.gate.evaluate_actions([(0.8, 0.0)], bench.time.now)
    several = bench.gate.evaluate_actions([(-0.3, 1.0), (0.8, 0.0), (0.8, 0.0)], bench.time.now)
    assert several[1:] == alone * 2


def test_a_plan_says_what_is_admitted_limited_and_stopped() -> None:
    bench = driven()
    admitted, limited, refused = bench.gate.evaluate_actions(
        [(0.4, 0.0), (0.8, 0.0), (math.nan, 0.0)], bench.time.now
    )
    assert admitted.verdict is Verdict.ADMITTED
    assert reasons(limited) == {Reason.RATE_LIMIT}
    assert reasons(refused) == {Reason.NOT_FINITE}
    bench.scan = AHEAD_NEAR
    bench.pulse()
    [stopped] = bench.gate.evaluate_actions([(0.4, 0.0)], bench.time.now)
    assert reasons(stopped) == {Reason.OBSTACLE_STOP}


def test_whoever_may_not_ask_is_told_so_by_a_plan() -> None:
    [unarmed] = Bench().gate.evaluate_actions([(0.1, 0.0)], Bench().time.now)
    assert reasons(unarmed) == {Reason.NOT_ARMED}
    bench = Bench(with_operator()).start()
    bench.operate(0.0, 0.0)
    [taken] = bench.gate.evaluate_actions([(0.1, 0.0)], bench.time.now)
    assert reasons(taken) == {Reason.OPERATOR}


def test_a_plan_reckons_with_a_request_that_is_in_time() -> None:
    bench = Bench(shipped({('safety', 'overruns'): {'exceeded': 1, 'of': 2}})).start()
    for _ in range(2):
        bench.ask(0.0, 0.0, age=0.3)
    assert reasons(bench.ask(0.0, 0.0, age=0.3)) == {Reason.LATENCY_BUDGET}
    [planned] = bench.gate.evaluate_actions([(0.0, 0.0)], bench.time.now)
    assert planned.inputs.overruns == 1
    assert bench.ask(0.0, 0.0).inputs.overruns == 1


def test_what_is_within_reach_is_what_a_request_can_get() -> None:
    bench = driven()
    low, high = bench.gate.reach(bench.time.now)
    found = bench.gate.evaluate_actions([LOW, HIGH], bench.time.now)
    assert found[0].command == pytest.approx(low)
    assert found[1].command == pytest.approx(high)
    assert high[0] - low[0] == pytest.approx(2 * RATE[0] * found[0].inputs.time_step)
    assert found[0].inputs.time_step <= PERIOD


def test_what_is_within_reach_of_a_robot_nobody_knows_is_all_of_it() -> None:
    bench = Bench()
    assert bench.gate.reach(bench.time.now) == (LOW, HIGH)
