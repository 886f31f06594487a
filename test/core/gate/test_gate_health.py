# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate holds against itself, its clock, its policy's latency, and others who command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.gate.gate_events import PublishersSeen, Request, TimerStarted
from boundary_env_ros.core.gate.health import Health
from boundary_env_ros.core.records.decision import (
    ForeignPublishers,
    GateDecision,
    GateState,
    Reason,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.timebase import Clock
from support.core_world import request_for, shipped, Timepiece
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise, PERIOD, SAFETY, TICK

LATE, JUMP = SAFETY.gate_lateness, SAFETY.clock_jump


def recovers(bench: Bench) -> None:
    """Check that fresh commands work again."""
    bench.motion = (0.0, 0.0)
    bench.wait(0.3, policy=(0.1, 0.0))
    assert bench.ask(0.1, 0.0).verdict is Verdict.ADMITTED
    assert bench.gate.state.status(bench.time.now).state is GateState.RUNNING


# The gate's own timer ----------------------------------------------------------------------------


def patient() -> Bench:
    """Return a bench where nothing but the gate itself is judged by the time that passes."""
    contract = shipped({
        ('safety', 'gate_lateness'): 0.1, ('action', 'base', 'driver_timeout'): 2.0,
    })  # fmt: skip
    return cruise(Bench(contract).start())


def test_a_timer_that_comes_too_late_stops_the_robot_to_the_end() -> None:
    bench = patient()
    bench.time.wait(0.12)
    bench.pulse()
    [first] = bench.tick()
    assert first.verdict is Verdict.STOPPED
    [result] = first.rules
    assert (result.rule, result.reason, result.limit) == ('gate', Reason.GATE_LATE, 0.1)
    assert result.value == pytest.approx(0.12)
    seen = bench.wait(0.1)
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert bench.gate.state.status(bench.time.now).reasons == (Reason.GATE_LATE,)
    bench.wait(0.2)
    assert bench.command == (0.0, 0.0)
    recovers(bench)


def test_after_a_late_timer_nothing_moves_until_something_new_is_asked_for() -> None:
    bench = patient()
    bench.time.wait(0.12)
    bench.pulse()
    [first] = bench.tick()
    assert reasons(first) == {Reason.GATE_LATE}
    [second] = bench.wait(TICK)
    assert (second.verdict, reasons(second)) == (Verdict.STOPPED, {Reason.STILL_STOPPED})
    # What lay in the queue while the gate hung answers what was seen before.
    waited = bench.ask(0.4, 0.0, age=bench.contract.safety.max_action_age + 0.01)
    assert reasons(waited) == {Reason.ACTION_TOO_OLD}
    [third] = bench.wait(TICK)
    assert (third.verdict, reasons(third)) == (Verdict.STOPPED, {Reason.STILL_STOPPED})
    decision = bench.ask(0.4, 0.0)
    assert decision.verdict is Verdict.LIMITED
    assert decision.inputs.previous_command == third.command
    assert bench.gate.state.status(bench.time.now).state is GateState.RUNNING


def test_a_request_while_the_timer_does_not_run_is_answered_by_a_stop() -> None:
    bench = patient()
    for _ in range(4):
        bench.time.wait(0.03)
        bench.pulse()
        decision = bench.ask(0.4, 0.0)
    assert reasons(decision) == {Reason.GATE_LATE}


def test_a_timer_as_late_as_it_may_be_stops_nothing() -> None:
    bench = patient()
    bench.time.wait(0.1)
    bench.pulse()
    assert bench.ask(0.4, 0.0).verdict is Verdict.ADMITTED


def test_how_long_an_inactive_gate_did_not_run_is_no_lateness(bench: Bench) -> None:
    bench.wait(0.1)
    bench.time.wait(60.0)
    bench.gate.apply(TimerStarted(now=bench.time.now))
    bench.pulse()
    assert bench.ask(0.05, 0.0).inputs.since_tick is None


# The clock ---------------------------------------------------------------------------------------


@pytest.mark.parametrize('seconds', [JUMP + 0.01, -JUMP - 0.01, 3600.0, -3600.0])
def test_a_clock_that_jumps_stops_the_robot_to_the_end(bench: Bench, seconds: float) -> None:
    cruise(bench)
    bench.time.jump_ros(seconds)
    bench.time.wait(TICK)
    bench.pulse()
    [first] = bench.tick()
    assert Reason.CLOCK in reasons(first)
    assert first.inputs.clock_error == pytest.approx(seconds)
    seen = bench.wait(0.26)
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert bench.command == (0.0, 0.0)
    recovers(bench)


def test_a_clock_that_is_corrected_a_little_stops_nothing(bench: Bench) -> None:
    cruise(bench)
    bench.time.jump_ros(-0.01)
    bench.wait(0.5, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)


@pytest.mark.parametrize('what', ['paused', 'back', 'forward'])
def test_no_clock_of_a_simulation_disarms_the_silence_of_the_policy(what: str) -> None:
    bench = Bench(replace(shipped(), sim_time=True))
    bench.time = Timepiece(clock=Clock.ROS)
    bench.time.ros = 100_000_000_000
    bench.start()
    cruise(bench)
    if what == 'paused':
        bench.time.ros_paused = True
    else:
        bench.time.jump_ros(-50.0 if what == 'back' else 50.0)
    bench.wait(SAFETY.command_timeout + 0.3)
    assert bench.command == (0.0, 0.0)
    assert bench.gate.state.status(bench.time.now).state is GateState.STOPPING


@pytest.mark.parametrize('silent', ['environment', 'scan'])
def test_no_paused_clock_of_a_simulation_disarms_the_silence_of_others(silent: str) -> None:
    bench = Bench(replace(shipped(), sim_time=True))
    bench.time = Timepiece(clock=Clock.ROS)
    bench.time.ros = 100_000_000_000
    cruise(bench.start())
    bench.time.ros_paused = True
    bench.alive.discard(silent)
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.0, 0.0)


def test_simulated_time_may_run_at_any_speed_but_not_backwards() -> None:
    time = Timepiece(clock=Clock.ROS)
    health = Health(contract=replace(shipped(), sim_time=True)).after_tick(time.now)
    time.wait(0.02)
    time.jump_ros(5.0)
    assert health.clock_error(time.now) == 0.0
    time.jump_ros(-6.0)
    assert health.clock_error(time.now) == pytest.approx(-0.98)


def simulated() -> Bench:
    """Return a bench that drives under simulated time."""
    bench = Bench(replace(shipped(), sim_time=True))
    bench.time = Timepiece(clock=Clock.ROS)
    bench.time.ros = 100_000_000_000
    return cruise(bench.start())


def stands(bench: Bench, seconds: float, back: float = 0.0) -> list[GateDecision]:
    """Let steady time pass, sensors and policy go on, and ROS time stand, or go back, s/s."""
    bench.time.ros_paused = True
    seen: list[GateDecision] = []
    for _ in range(round(seconds / PERIOD)):
        bench.time.jump_ros(-back * PERIOD)
        seen += bench.wait(PERIOD, policy=(0.4, 0.0))
    bench.time.ros_paused = False
    return seen


@pytest.mark.parametrize('back', [0.0, 0.1, 1.0])
def test_simulated_time_that_does_not_move_on_stops_as_a_silent_sensor_does(back: float) -> None:
    bench = simulated()
    goes_on = stands(bench, SAFETY.sensor_timeout - PERIOD, back)
    assert Verdict.STOPPED not in {d.verdict for d in goes_on}
    stopped = [d for d in stands(bench, 0.5, back) if d.verdict is Verdict.STOPPED]
    assert Reason.CLOCK in reasons(stopped[0])
    assert stopped[0].inputs.clock_error is not None
    assert (
        -SAFETY.sensor_timeout - 2 * TICK <= stopped[0].inputs.clock_error < -SAFETY.sensor_timeout
    )
    assert bench.command == (0.0, 0.0)
    recovers(bench)


def test_a_request_from_the_future_does_not_move_on_simulated_time_that_stands() -> None:
    bench = simulated()
    stands(bench, 0.5)
    ahead = replace(bench.time.now, ros=bench.time.stamp(ago=-0.1))
    request = request_for((0.4, 0.0), bench.sequence + 1, ahead, ahead, lease=bench.lease)
    [decision] = bench.gate.apply(Request(request=request, now=ahead))
    assert (decision.verdict, reasons(decision)) == (Verdict.STOPPED, {Reason.CLOCK})


def test_a_gate_run_again_stops_where_simulated_time_stood_still() -> None:
    bench = simulated()
    stands(bench, 0.5)
    recovers(bench)
    assert {Reason.CLOCK} in [reasons(d) for d in bench.witness.decisions]
    bench.run_again()


def test_a_slow_simulation_is_none_that_stands_still() -> None:
    time = Timepiece(clock=Clock.ROS)
    health = Health(contract=replace(shipped(), sim_time=True)).after_tick(time.now)
    time.ros_paused = True
    for _ in range(100):
        time.wait(TICK)
        time.jump_ros(TICK / 100)
        assert health.clock_error(time.now) == 0.0
        health = health.after_tick(time.now)


def test_clocks_that_cannot_be_compared_have_no_error() -> None:
    health = Health(contract=shipped())
    assert health.clock_error(Timepiece().now) is None
    assert health.since_tick(Timepiece().now) is None
    health = health.after_tick(Timepiece(clock=Clock.ROS).now)
    assert health.clock_error(Timepiece().now) is None


def test_what_happened_while_a_request_waited_for_its_turn_is_no_negative_time_ago(
    bench: Bench,
) -> None:
    cruise(bench)
    came = bench.time.now
    bench.time.wait(0.001)
    bench.pulse()
    bench.tick()
    request = request_for((0.0, 0.0), 9, came, came, lease='of nobody')
    [decision] = bench.gate.apply(Request(request=request, now=came))
    assert (decision.inputs.since_tick, decision.inputs.since_environment) == (0.0, 0.0)


# Somebody else who commands ----------------------------------------------------------------------


def test_a_foreign_publisher_stops_for_as_long_as_he_is_there(bench: Bench) -> None:
    cruise(bench)
    bench.gate.apply(PublishersSeen(foreign_commands=2, now=bench.time.now))
    seen = bench.wait(1.0, policy=(0.4, 0.0))
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert all(reasons(d) == {Reason.FOREIGN_PUBLISHER} for d in seen)
    assert seen[0].rules[0].value == 2.0
    assert bench.command == (0.0, 0.0)
    assert bench.gate.state.status(bench.time.now).reasons == (Reason.FOREIGN_PUBLISHER,)
    bench.gate.apply(PublishersSeen(foreign_commands=0, now=bench.time.now))
    recovers(bench)


def test_two_publishers_on_what_the_gate_goes_by_stop_and_the_topic_is_named(
    bench: Bench,
) -> None:
    cruise(bench)
    others = tuple(ForeignPublishers(topic=t, count=n) for t, n in (('scan', 1), ('odom', 2)))
    bench.gate.apply(
        PublishersSeen(foreign_commands=1, foreign_publishers=others, now=bench.time.now)
    )
    seen = bench.wait(0.5, policy=(0.4, 0.0))
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert {d.inputs.foreign for d in seen} == {4}
    assert {(r.rule, r.reason, r.value) for d in seen for r in d.rules} == {
        ('foreign_publisher', Reason.FOREIGN_PUBLISHER, 1.0),
        ('foreign_publisher.scan', Reason.FOREIGN_PUBLISHER, 1.0),
        ('foreign_publisher.odom', Reason.FOREIGN_PUBLISHER, 2.0),
    }
    assert bench.gate.state.status(bench.time.now).foreign_publishers == 4
    bench.gate.apply(PublishersSeen(foreign_commands=0, now=bench.time.now))
    recovers(bench)


def test_a_contract_may_have_him_reported_only() -> None:
    bench = cruise(Bench(shipped({('safety', 'foreign_publisher'): 'report'})).start())
    bench.gate.apply(PublishersSeen(foreign_commands=1, now=bench.time.now))
    bench.wait(0.5, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)
    assert bench.witness.decisions[-1].inputs.foreign == 1


# The latency of the policy -----------------------------------------------------------------------


BUDGET = sum(shipped().latency_budget[stage] for stage in ('transport', 'inference'))
QUICK, SLOW = BUDGET - 0.005, BUDGET + 0.005


def overrunning() -> Bench:
    return Bench(shipped({('safety', 'overruns'): {'exceeded': 2, 'of': 5}})).start()


def asked(bench: Bench, *ages: float) -> list[Verdict]:
    found = []
    for age in ages:
        bench.time.wait(PERIOD)
        bench.pulse()
        bench.tick()
        found.append(bench.ask(0.05, 0.0, age=age).verdict)
    return found


def test_a_policy_that_is_too_slow_too_often_stops_until_it_is_quick_again() -> None:
    bench = overrunning()
    assert Verdict.STOPPED not in asked(bench, SLOW, SLOW, QUICK, QUICK)
    assert asked(bench, SLOW) == [Verdict.STOPPED]
    last = bench.witness.decisions[-1]
    [result] = last.rules
    assert (result.rule, result.value, result.limit) == ('latency_budget', 3.0, 2.0)
    # One of the three falls out of the last five with the next request.
    assert Verdict.STOPPED not in asked(bench, QUICK, QUICK, QUICK)


def test_an_unknown_latency_is_no_short_one() -> None:
    bench = overrunning()
    asked(bench, SLOW, SLOW)
    bench.time.wait(PERIOD)
    bench.pulse()
    bench.ask(0.05, 0.0, age=None)
    assert bench.ask(0.05, 0.0, age=QUICK).verdict is Verdict.STOPPED


def test_requests_of_strangers_are_no_latency_of_the_policy() -> None:
    bench = overrunning()
    for _ in range(5):
        bench.ask(0.05, 0.0, age=SLOW, lease='lease-0')
    assert asked(bench, QUICK) != [Verdict.STOPPED]


def test_another_lease_begins_without_the_latencies_of_the_one_before() -> None:
    bench = overrunning()
    asked(bench, SLOW, SLOW, SLOW)
    bench.finish()
    bench.say(EpisodeState.RESETTING, 'episode-2')
    bench.pulse()
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    assert bench.ask(0.05, 0.0).inputs.overruns == 0


# What an event was made of -----------------------------------------------------------------------
