# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Obstacles slow the robot down and stop it; what cannot be seen is no free space."""

from __future__ import annotations

import math

import pytest

from boundary_env_ros.core.records.decision import Reason, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from support.core_world import shipped
from support.gate_bench import Bench, FREE, quicker, reasons
from support.gate_numbers import (
    AHEAD_NEAR,
    BEHIND_NEAR,
    cruise,
    LOW,
    MIDDLE,
    NEAR,
    OBSTACLE,
    PERIOD,
    TICK,
)


def test_an_obstacle_in_the_slow_zone_limits_the_speed(bench: Bench) -> None:
    cruise(bench, 0.6)
    bench.scan = (MIDDLE, 8.0, 1.0, 1.0)
    seen = bench.wait(1.0, policy=(0.6, 0.0))
    assert seen[0].verdict is Verdict.LIMITED
    assert Reason.OBSTACLE_SLOW in reasons(seen[0])
    assert bench.command == (OBSTACLE.slow_speed, 0.0)


def test_a_speed_below_the_slow_speed_is_left_alone(bench: Bench) -> None:
    bench.scan = (MIDDLE, 8.0, 1.0, 1.0)
    bench.pulse()
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED
    bench.motion = (0.2, 0.0)
    bench.say(EpisodeState.TRUNCATED)
    bench.wait(1.0)
    bench.episode = 'second'
    assert bench.start().ask(OBSTACLE.slow_speed, 0.0).verdict is Verdict.ADMITTED


def test_an_obstacle_behind_slows_the_way_back_only(bench: Bench) -> None:
    bench.scan = (8.0, MIDDLE, 1.0, 1.0)
    bench.wait(1.0, policy=(LOW[0], 0.0))
    assert bench.command == (-OBSTACLE.slow_speed, 0.0)
    bench.wait(2.0, policy=(0.5, 0.0))
    assert bench.command == (0.5, 0.0)


def test_an_obstacle_in_the_stop_zone_stops_the_robot(bench: Bench) -> None:
    cruise(bench)
    bench.scan = AHEAD_NEAR
    bench.pulse()
    bench.time.wait(TICK)
    decision = bench.ask(0.4, 0.0)
    assert decision.verdict is Verdict.STOPPED
    [result] = decision.rules
    assert (result.rule, result.reason) == ('obstacle_stop.scan', Reason.OBSTACLE_STOP)
    assert (result.value, result.limit) == (NEAR, OBSTACLE.stop_distance)
    assert decision.admitted_action == ()
    bench.wait(0.5, policy=(0.4, 0.0))
    assert bench.command == (0.0, 0.0)


def test_an_obstacle_stops_the_robot_though_the_policy_says_nothing(bench: Bench) -> None:
    cruise(bench)
    bench.scan = AHEAD_NEAR
    bench.pulse()
    bench.time.wait(TICK)
    [decision] = bench.tick()
    assert reasons(decision) == {Reason.OBSTACLE_STOP}
    assert decision.trigger is Trigger.TIMER


def test_at_the_stop_distance_itself_the_robot_may_move(bench: Bench) -> None:
    bench.scan = (OBSTACLE.stop_distance, 8.0, 1.0, 1.0)
    bench.pulse()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_the_robot_may_back_away_from_an_obstacle_ahead(bench: Bench) -> None:
    bench.scan = AHEAD_NEAR
    bench.wait(1.0, policy=(-0.2, 0.0))
    assert bench.command == (-0.2, 0.0)


def test_the_robot_may_turn_before_an_obstacle(bench: Bench) -> None:
    bench.scan = AHEAD_NEAR
    bench.pulse()
    assert bench.ask(0.0, 0.3).verdict is Verdict.ADMITTED


def test_a_robot_that_still_moves_ahead_stops_though_it_is_told_to_back_away(
    bench: Bench,
) -> None:
    cruise(bench)
    bench.scan = AHEAD_NEAR
    bench.pulse()
    bench.time.wait(TICK)
    decision = bench.ask(-0.2, 0.0)
    assert reasons(decision) == {Reason.OBSTACLE_STOP}


def test_an_obstacle_behind_stops_the_way_back(bench: Bench) -> None:
    bench.scan = BEHIND_NEAR
    bench.pulse()
    assert reasons(bench.ask(-0.1, 0.0)) == {Reason.OBSTACLE_STOP}
    bench.time.wait(PERIOD)
    bench.pulse()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


@pytest.mark.parametrize(
    'scan',
    [(8.0, 8.0, 0.0, 1.0), (math.inf, 8.0, OBSTACLE.min_valid - 0.01, 1.0)],
    ids=['uncovered', 'too few beams'],
)
def test_a_sector_without_enough_usable_beams_is_not_free_space(
    bench: Bench, scan: tuple[float, ...]
) -> None:
    bench.scan = scan
    bench.pulse()
    decision = bench.ask(0.1, 0.0)
    assert decision.verdict is Verdict.STOPPED
    assert reasons(decision) == {Reason.SENSOR_INVALID}
    bench.time.wait(PERIOD)
    bench.pulse()
    assert bench.ask(-0.1, 0.0).verdict is Verdict.ADMITTED


def test_a_scan_of_infinities_is_free_space(bench: Bench) -> None:
    bench.scan = (math.inf, math.inf, 1.0, 1.0)
    bench.pulse()
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED


@pytest.mark.parametrize(
    'scan', [(), (math.nan,) * 4, (math.nan, 8.0, 1.0, 1.0), (8.0, 8.0, math.nan, 1.0)]
)
def test_a_scan_that_says_nothing_is_not_free_space(bench: Bench, scan: tuple[float, ...]) -> None:
    bench.scan = scan
    bench.pulse()
    assert bench.ask(0.1, 0.0).verdict is Verdict.STOPPED


def test_the_robot_moves_again_once_the_obstacle_is_gone(bench: Bench) -> None:
    cruise(bench)
    bench.scan = AHEAD_NEAR
    bench.wait(0.5, policy=(0.4, 0.0))
    assert bench.command == (0.0, 0.0)
    bench.scan = FREE
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)


def test_without_an_obstacle_rule_no_scan_is_needed() -> None:
    contract = shipped()
    bench = Bench(quicker(contract, rules=()))  # type: ignore[arg-type]
    bench.alive.discard('scan')
    assert bench.start().ask(0.05, 0.0).verdict is Verdict.ADMITTED
