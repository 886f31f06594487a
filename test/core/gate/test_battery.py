# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot whose battery is too low, or not known, stands; what the bench sees is recomputed."""

from __future__ import annotations

import math

import pytest

from boundary_env_ros.core.gate.explain import sentences
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.errors import ContractError, RequestRejected
from support.core_world import shipped
from support.gate_bench import Bench

MAIN = {'topic': 'battery_state', 'min': 0.25, 'max_age': 2.0}
CONTRACT = shipped({('safety', 'battery'): {'main': MAIN}})


@pytest.fixture
def bench() -> Bench:
    """Return a gate whose robot drives with half a battery."""
    bench = Bench(CONTRACT)
    bench.messages['battery.main'] = {'voltage': 24.0, 'percentage': 0.5}
    bench.start()
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED
    return bench


def test_a_battery_below_its_level_stops_the_robot_and_says_so(bench: Bench) -> None:
    bench.messages['battery.main'] = {'voltage': 24.0, 'percentage': 0.25}
    bench.pulse()
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED
    bench.messages['battery.main'] = {'voltage': 21.0, 'percentage': 0.125}
    bench.pulse()
    decision = bench.ask(0.1, 0.0)
    assert decision.verdict is Verdict.STOPPED
    [result] = decision.rules
    assert (result.rule, result.reason) == ('battery.main', Reason.OUT_OF_BOUNDS)
    assert sentences(decision, CONTRACT) == (
        'STOPPED by battery.main: the battery is too low (0.125, limit 0.25)',
    )
    # The timer goes on with it, and a full battery alone moves nothing.
    assert {d.verdict for d in bench.wait(0.5)} == {Verdict.STOPPED}
    assert bench.command == (0.0, 0.0)
    bench.messages['battery.main'] = {'voltage': 24.0, 'percentage': 0.5}
    assert {d.verdict for d in bench.wait(0.2)} == {Verdict.STOPPED}
    assert bench.ask(0.1, 0.0).command[0] > 0.0


@pytest.mark.parametrize('level', [math.nan, math.inf, 3.0])
def test_a_level_that_is_not_known_or_is_no_part_of_the_whole_stops_the_robot(
    bench: Bench, level: float
) -> None:
    bench.messages['battery.main'] = {'voltage': 24.0, 'percentage': level}
    bench.pulse()
    [result] = bench.ask(0.1, 0.0).rules
    assert (result.rule, result.reason) == ('sensors.battery.main', Reason.SENSOR_INVALID)


def test_a_battery_that_falls_silent_stops_the_robot_after_its_own_time(bench: Bench) -> None:
    del bench.messages['battery.main']
    seen = bench.wait(1.9, policy=(0.1, 0.0))
    assert Verdict.STOPPED not in {d.verdict for d in seen}
    bench.wait(0.2)
    [result] = bench.ask(0.1, 0.0).rules
    assert (result.rule, result.reason) == ('sensors.battery.main', Reason.OBSERVATION_TIMEOUT)


def test_without_a_word_of_the_battery_the_gate_is_not_armed() -> None:
    bench = Bench(CONTRACT)
    with pytest.raises(RequestRejected, match=r'battery\.main \(/battery_state, never heard\)'):
        bench.start()


def test_a_level_is_a_part_of_the_whole() -> None:
    with pytest.raises(ContractError, match=r'safety\.battery\.main\.min.*not more than 1'):
        shipped({('safety', 'battery'): {'main': {**MAIN, 'min': 20}}})
