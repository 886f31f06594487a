# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nothing outside the contract is ever published, whatever is asked for."""

from __future__ import annotations

import math

import pytest

from boundary_env_ros.core.gate.gate_events import CommandPublished, Measured, Request
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from support.core_world import only, request_for, shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise, HIGH, LOW, PERIOD, RATE, SAFETY, TICK

TINY = 5e-324


@pytest.mark.parametrize(
    'action', [(5.0, 0.0), (-5.0, 0.0), (0.0, 9.0), (0.0, -9.0), (1e308, -1e308), (TINY, -TINY)]
)
def test_whatever_is_asked_for_stays_inside_the_bounds(
    bench: Bench, action: tuple[float, float]
) -> None:
    for _ in range(20):
        bench.time.wait(PERIOD)
        bench.pulse()
        bench.ask(*action)
    limited = tuple(min(max(v, low), high) for v, low, high in zip(action, LOW, HIGH, strict=True))
    assert bench.command == limited


def test_a_clipped_action_says_which_dimension_and_by_how_much(bench: Bench) -> None:
    cruise(bench, HIGH[0])
    bench.time.wait(PERIOD)
    bench.pulse()
    decision = bench.ask(2.0, 0.0)
    assert decision.verdict is Verdict.LIMITED
    [result] = decision.rules
    assert (result.rule, result.reason) == ('bounds', Reason.OUT_OF_BOUNDS)
    assert (result.dimension, result.before, result.after) == (0, 2.0, HIGH[0])
    assert (result.value, result.limit, result.unit) == (2.0, HIGH[0], 'm/s')
    assert decision.requested_action == (2.0, 0.0)
    assert decision.command == decision.admitted_action == (HIGH[0], 0.0)


def test_a_command_that_left_late_takes_its_delay_from_the_next() -> None:
    bench = Bench().start()
    cruise(bench, 0.3)
    bench.time.wait(PERIOD / 4)
    bench.gate.apply(CommandPublished(now=bench.time.now))
    bench.witness.out = bench.time.now.steady
    bench.time.wait(PERIOD / 2)
    bench.pulse()
    decision = bench.ask(HIGH[0], 0.0)
    assert decision.inputs.time_step == pytest.approx(PERIOD / 2)
    assert decision.command[0] - 0.3 == pytest.approx(RATE[0] * PERIOD / 2)


def test_a_limit_of_zero_is_a_limit() -> None:
    bench = Bench(shipped({('action', 'base', 'low'): [0.0, -1.5]})).start()
    decision = bench.ask(-0.1, 0.0)
    assert decision.verdict is Verdict.LIMITED
    assert decision.command == (0.0, 0.0)


def test_a_group_that_rejects_refuses_what_is_out_of_bounds_whole() -> None:
    bench = Bench(shipped({('action', 'base', 'out_of_bounds'): 'reject'})).start()
    decision = bench.ask(0.1, 9.0)
    assert decision.verdict is Verdict.REJECTED
    [result] = decision.rules
    assert (result.reason, result.dimension) == (Reason.OUT_OF_BOUNDS, 1)
    assert (result.value, result.limit) == (9.0, HIGH[1])
    assert bench.ask(0.05, 0.1).verdict is Verdict.ADMITTED


def test_the_first_action_of_an_episode_is_limited_from_the_measured_state() -> None:
    bench = Bench()
    bench.motion = (0.3, -0.2)
    decision = bench.start().ask(HIGH[0], HIGH[1])
    assert decision.verdict is Verdict.LIMITED
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == (0.3, -0.2)
    assert decision.command == pytest.approx((0.3 + RATE[0] * PERIOD, -0.2 + RATE[1] * PERIOD))


@pytest.mark.parametrize('unit', [['m/s', 'rad/s'], ['mps', 'radps'], ['', '']])
def test_a_robot_that_is_pushed_is_sent_no_speed_by_a_stop_whatever_its_unit_is_called(
    unit: list[str],
) -> None:
    bench = Bench(shipped({('safety', 'obstacles'): None, ('action', 'base', 'unit'): unit}))
    bench.motion = (0.7, 0.0)
    bench.start()
    [decision] = bench.press()
    assert (decision.verdict, decision.command) == (Verdict.STOPPED, (0.0, 0.0))


def test_a_measured_state_out_of_bounds_is_brought_into_them_first() -> None:
    bench = Bench()
    bench.motion = (7.0, -7.0)
    decision = bench.start().ask(0.0, 0.0)
    assert decision.inputs.previous_command == (HIGH[0], LOW[1])


@pytest.mark.parametrize('broken', [math.nan, math.inf, -math.inf])
def test_a_measured_state_that_is_not_finite_is_unknown_and_never_published(
    broken: float,
) -> None:
    bench = Bench()
    bench.motion = (broken, 0.0)
    decision = bench.start().ask(0.1, 0.0)
    assert decision.verdict is Verdict.STOPPED
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}
    assert decision.command == (0.0, 0.0)


def test_a_measured_state_without_values_is_unknown() -> None:
    bench = Bench().start_without('odometry')
    bench.gate.apply(
        Measured(name='feedback.base', values=(), captured=bench.time.stamp(), now=bench.time.now)
    )
    assert reasons(bench.ask(0.1, 0.0)) == {Reason.OBSERVATION_TIMEOUT}


def test_without_a_measured_state_nothing_but_the_safe_command_goes_out() -> None:
    decision = Bench().start_without('odometry').ask(0.5, 0.5)
    assert decision.verdict is Verdict.STOPPED
    assert decision.command == (0.0, 0.0)
    assert not decision.inputs.seeded


def test_a_measured_state_that_is_too_old_seeds_nothing() -> None:
    bench = Bench().start()
    bench.alive.discard('odometry')
    bench.time.wait(SAFETY.sensor_timeout + TICK)
    bench.pulse()
    assert bench.ask(0.1, 0.0).verdict is Verdict.STOPPED


def test_each_command_is_limited_from_the_emitted_one_not_from_delayed_odometry(
    bench: Bench,
) -> None:
    bench.motion = (0.0, 0.0)  # odometry lags behind: it never sees the cart move
    for k in range(1, 6):
        bench.time.wait(PERIOD)
        bench.pulse()
        decision = bench.ask(HIGH[0], 0.0)
        assert decision.inputs.seeded is (k == 1)
        assert decision.command[0] == pytest.approx(k * RATE[0] * PERIOD)


def test_a_pause_saves_up_no_speed(bench: Bench) -> None:
    bench.ask(0.0, 0.0)
    bench.time.wait(0.9)
    bench.pulse()
    decision = bench.ask(HIGH[0], 0.0)
    assert decision.inputs.time_step == PERIOD
    assert decision.command[0] == pytest.approx(RATE[0] * PERIOD)


@pytest.mark.parametrize('over', [False, True])
def test_a_gate_that_hung_sets_no_robot_in_motion_that_came_to_rest(
    bench: Bench, over: bool
) -> None:
    cruise(bench)
    # Nothing came from the gate, so the driver braked; then the gate goes on.
    bench.time.wait(1.0)
    bench.motion = (0.0, 0.0)
    bench.pulse()
    if over:
        bench.say(EpisodeState.TRUNCATED)
    seen = bench.wait(1.0)
    assert seen
    assert {decision.command for decision in seen if decision.command} == {(0.0, 0.0)}


def test_a_gate_that_hung_until_the_driver_braked_holds_no_command_any_more(bench: Bench) -> None:
    cruise(bench)
    timeout = bench.contract.action[0].driver_timeout
    assert timeout is not None
    assert timeout < SAFETY.command_timeout
    bench.time.wait((timeout + SAFETY.command_timeout) / 2)
    bench.motion = (0.1, 0.0)
    bench.pulse()
    assert bench.tick() == ()
    decision = bench.ask(0.1, 0.0)
    assert decision.inputs.seeded
    assert decision.verdict is Verdict.ADMITTED


def test_a_driver_that_never_brakes_by_itself_never_takes_over() -> None:
    endless = shipped(
        {
            ('action', 'base', 'driver_timeout'): 'none',
            ('action', 'base', 'driver_timeout_acknowledged'): True,
        }
    )
    bench = cruise(Bench(endless).start())
    bench.time.wait(1.0)
    bench.motion = (0.0, 0.0)
    bench.pulse()
    decision = bench.tick()[0]
    assert not decision.inputs.seeded
    assert decision.inputs.previous_command == (0.4, 0.0)


def test_a_gate_that_hung_and_knows_no_motion_asks_for_the_safe_command(bench: Bench) -> None:
    cruise(bench)
    bench.time.wait(1.0)
    decision = bench.tick()[0]
    assert decision.verdict is Verdict.STOPPED
    assert decision.command == (0.0, 0.0)


def test_a_flood_of_requests_is_no_faster_than_one(bench: Bench) -> None:
    bench.ask(0.0, 0.0)
    for _ in range(100):
        bench.time.wait(PERIOD / 100)
        bench.ask(HIGH[0], 0.0)
    assert bench.command is not None
    assert bench.command[0] == pytest.approx(RATE[0] * PERIOD)


def test_readings_of_the_clock_that_overtake_each_other_leave_no_time_to_move(
    bench: Bench,
) -> None:
    first = bench.ask(0.05, 0.0)
    bench.time.wait(-0.01)
    overtaken = request_for((0.8, 0.0), 2, bench.time.now, bench.time.now)
    decision = only(bench.gate.apply(Request(request=overtaken, now=bench.time.now)))
    assert decision.inputs.time_step == 0.0
    assert decision.command == first.command


def test_a_second_request_at_the_same_instant_changes_nothing(bench: Bench) -> None:
    first = bench.ask(0.05, 0.0)
    decision = bench.ask(0.8, 0.0)
    assert decision.verdict is Verdict.LIMITED
    assert decision.command == first.command


def test_a_rate_limit_says_what_was_wanted_and_what_is_allowed(bench: Bench) -> None:
    decision = bench.ask(0.5, 0.0)
    [result] = decision.rules
    assert (result.rule, result.reason, result.unit) == ('rate', Reason.RATE_LIMIT, 'm/s/s')
    assert result.value == pytest.approx(5.0)
    assert result.limit == RATE[0]


def test_an_admitted_action_is_published_as_it_was_asked_for(bench: Bench) -> None:
    decision = bench.ask(0.05, -0.1)
    assert decision.verdict is Verdict.ADMITTED
    assert decision.rules == ()
    assert decision.command == decision.requested_action == (0.05, -0.1)


def test_a_decision_carries_the_inputs_of_its_rules(bench: Bench) -> None:
    bench.scan = (3.0, 2.0, 0.9, 0.8)
    bench.pulse()
    bench.time.wait(0.03)
    decision = bench.ask(0.05, 0.0)
    scan, odometry = decision.inputs.measurements
    assert (scan.name, scan.topic, scan.values) == ('obstacle.scan', '/scan', (3.0, 2.0, 0.9, 0.8))
    assert (odometry.name, odometry.topic) == ('feedback.base', '/odom')
    assert scan.age == pytest.approx(0.03 + bench.lag)
    assert decision.inputs.since_environment == pytest.approx(0.03)
    assert decision.inputs.previous_command == (0.0, 0.0)
    assert decision.request is not None
    assert decision.received == bench.time.now
    assert decision.software_version == 'test'
