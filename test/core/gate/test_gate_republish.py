# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sending the command in force again between two actions, and what is sent when one is late."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.gate.gate_events import PublishersSeen, Tick
from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from boundary_env_ros.core.records.parts import Pacing
from support.core_world import Path_, shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import AHEAD_NEAR, cruise, RATE, SAFETY, STOP, TICK

AGAIN = 0.04


def republishing(changes: dict[Path_, object] | None = None) -> Bench:
    return Bench(shipped({('safety', 'republish_period'): AGAIN, **(changes or {})})).start()


# Between two actions -----------------------------------------------------------------------------


def test_the_command_in_force_is_sent_again_on_its_way_to_what_was_asked_for() -> None:
    bench = republishing()
    first = bench.ask(0.8, 0.0)
    seen = bench.wait(0.08)
    assert [reasons(d) >= {Reason.REPUBLISHED} for d in seen] == [True, True]
    assert {d.verdict for d in seen} == {Verdict.HELD}
    speeds = [first.command[0], *(d.command[0] for d in seen)]
    assert speeds[1] - speeds[0] == pytest.approx(RATE[0] * AGAIN)
    assert speeds[2] - speeds[1] == pytest.approx(RATE[0] * AGAIN)


def test_without_it_nothing_is_sent_before_the_next_action_is_late(bench: Bench) -> None:
    bench.ask(0.8, 0.0)
    assert bench.wait(0.1) == ()


def test_a_late_action_is_told_as_late_and_goes_no_further() -> None:
    bench = republishing()
    bench.wait(0.3, policy=(0.8, 0.0))
    before = bench.command
    assert before is not None
    seen = bench.wait(SAFETY.command_timeout - TICK)
    late = [d for d in seen if Reason.COMMAND_LATE in reasons(d)]
    assert late
    assert len({d.command for d in late}) == 1


def test_it_never_reaches_beyond_what_was_asked_for() -> None:
    bench = republishing()
    bench.ask(0.12, 0.0)
    bench.wait(0.14)
    assert bench.command == (pytest.approx(0.12), 0.0)


def test_nothing_is_sent_again_in_lockstep() -> None:
    bench = Bench(shipped({('safety', 'republish_period'): AGAIN}, Pacing.LOCKSTEP))
    assert bench.gate.apply(Tick(now=bench.time.now)) == ()


def test_a_refused_request_changes_nothing_of_what_is_sent_again() -> None:
    bench = republishing()
    bench.ask(0.12, 0.0)
    bench.ask(float('nan'), 0.0)
    bench.ask(0.8, 0.0, lease='lease-0')
    bench.wait(0.14)
    assert bench.command == (pytest.approx(0.12), 0.0)


def test_what_the_driver_has_braked_from_is_not_sent_again() -> None:
    slow = {('safety', 'gate_lateness'): 1.0, ('safety', 'command_timeout'): 0.9}
    bench = cruise(republishing(slow))
    bench.time.wait(0.3)  # longer than the driver's timeout, and the gate did not run
    bench.motion = (0.0, 0.0)
    bench.pulse()
    assert bench.tick() == ()
    decision = bench.ask(0.4, 0.0)
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == (0.0, 0.0)


# After a stop ------------------------------------------------------------------------------------


@pytest.mark.parametrize('again', [None, AGAIN])
def test_a_stop_whose_cause_vanished_goes_on_until_an_action_comes(again: float | None) -> None:
    bench = republishing() if again else Bench().start()
    cruise(bench)
    bench.ask(0.8, 0.0)
    bench.scan = AHEAD_NEAR
    bench.pulse()
    bench.time.wait(TICK)
    [first] = bench.tick()
    assert reasons(first) == {Reason.OBSTACLE_STOP}
    assert first.command[0] > 0.0
    bench.scan = (8.0, 8.0, 1.0, 1.0)
    seen = bench.wait(0.26)
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert reasons(seen[0]) == {Reason.STILL_STOPPED}
    assert bench.command == (0.0, 0.0)
    status = bench.gate.state.status(bench.time.now)
    assert status.state is GateState.STOPPING
    assert status.reasons == (Reason.OBSTACLE_STOP,), 'why it was stopped, not that it still is'
    decision = bench.ask(0.8, 0.0)
    assert decision.verdict is Verdict.LIMITED
    assert bench.gate.state.status(bench.time.now).state is GateState.RUNNING


def test_a_refused_request_does_not_end_a_stop() -> None:
    bench = cruise(republishing())
    bench.gate.apply(PublishersSeen(foreign_commands=1, now=bench.time.now))
    bench.time.wait(TICK)
    bench.tick()
    bench.gate.apply(PublishersSeen(foreign_commands=0, now=bench.time.now))
    bench.ask(float('inf'), 0.0)
    bench.ask(0.4, 0.0, age=9.0)
    seen = bench.wait(0.2)
    assert {d.verdict for d in seen} == {Verdict.STOPPED}


def test_a_request_that_was_answered_by_a_stop_is_not_crept_back_to() -> None:
    bench = cruise(republishing())
    bench.scan = AHEAD_NEAR
    bench.pulse()
    stopped = bench.ask(0.8, 0.0)
    assert stopped.verdict is Verdict.STOPPED
    bench.scan = (8.0, 8.0, 1.0, 1.0)
    seen = bench.wait(0.28)
    assert seen[-1].command == (0.0, 0.0)
    speeds = [d.command[0] for d in seen]
    assert speeds == sorted(speeds, reverse=True)


# What is sent when an action is late -------------------------------------------------------------


def late(hold: str) -> tuple[Bench, float]:
    """Return a bench whose policy fell silent a moment ago, at 0.4 m/s."""
    bench = cruise(Bench(shipped({('safety', 'on_timeout'): hold})).start())
    bench.wait(SAFETY.hold_timeout)
    return bench, 0.4


def test_to_hold_is_to_send_the_last_command_again() -> None:
    bench, speed = late('hold')
    seen = bench.wait(0.12)
    assert [d.command[0] for d in seen] == [speed] * len(seen)
    assert seen


def test_to_hold_by_a_ramp_goes_to_the_safe_command_at_the_normal_rate() -> None:
    bench, _ = late('ramp')
    seen = [d for d in bench.wait(0.12) if d.verdict is Verdict.HELD]
    assert seen
    for decision in seen:
        assert decision.inputs.time_step is not None
        before = decision.inputs.previous_command[0]
        assert decision.command[0] == pytest.approx(before - RATE[0] * decision.inputs.time_step)
        assert decision.requested_command == (0.0, 0.0)


def test_to_hold_safely_is_to_follow_the_stop_profile() -> None:
    bench = cruise(Bench(shipped({('safety', 'on_timeout'): 'safe'})).start())
    first = next(d for d in bench.wait(SAFETY.command_timeout) if d.verdict is Verdict.HELD)
    assert first.inputs.time_step is not None
    assert first.requested_command == (0.0, 0.0)
    assert first.command[0] == pytest.approx(0.4 - STOP[0] * first.inputs.time_step)
    assert first.rules[-1].limit == STOP[0]


@pytest.mark.parametrize('hold', ['hold', 'ramp', 'safe'])
def test_whatever_is_held_a_silent_policy_is_stopped_in_time_and_comes_back(hold: str) -> None:
    bench, _ = late(hold)
    bench.wait(SAFETY.command_timeout + 0.4)
    assert bench.command == (0.0, 0.0)
    assert bench.gate.state.status(bench.time.now).reasons == (Reason.COMMAND_TIMEOUT,)
    cruise(bench)


@pytest.mark.parametrize('motion', [0.8, 0.1, -0.2], ids=['downhill', 'blocked', 'pushed back'])
def test_holding_never_follows_what_the_robot_does_of_its_own_accord(motion: float) -> None:
    bench = departing()
    bench.motion = (motion, 0.0)
    seen = bench.wait(SAFETY.command_timeout - TICK)
    assert seen
    assert {d.command for d in seen} == {(0.4, 0.0)}


def departing() -> Bench:
    """Return a bench at 0.4 m/s, under a contract that bounds how far command and robot part."""
    bench = Bench(shipped({('action', 'base', 'max_tracking_error'): 0.1}))
    bench.motion = (0.4, 0.0)
    return cruise(bench.start())


# What was commanded and what is measured ---------------------------------------------------------


def test_an_action_goes_on_from_what_is_measured_where_the_two_have_parted() -> None:
    bench = departing()
    bench.motion = (0.31, 0.0)
    bench.pulse()
    bench.time.wait(TICK)
    assert not bench.ask(0.4, 0.0).inputs.seeded
    bench.motion = (0.2, 0.0)
    bench.pulse()
    bench.time.wait(TICK)
    decision = bench.ask(0.4, 0.0)
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == (0.2, 0.0)


@pytest.mark.parametrize('nonsense', [float('nan'), float('inf')])
def test_what_is_measured_and_cannot_be_true_is_not_gone_on_from_but_stops(
    nonsense: float,
) -> None:
    bench = departing()
    bench.motion = (nonsense, 0.0)
    bench.pulse()
    bench.time.wait(TICK)
    decision = bench.ask(0.4, 0.0)
    assert not decision.inputs.seeded
    assert reasons(decision) == {Reason.SENSOR_INVALID}


def test_a_robot_that_is_to_be_watched_and_says_nothing_is_stopped() -> None:
    bench = departing()
    bench.alive.discard('odometry')
    seen = bench.wait(SAFETY.sensor_timeout + 2 * TICK, policy=(0.4, 0.0))
    assert seen[-1].verdict is Verdict.STOPPED
    assert reasons(seen[-1]) == {Reason.OBSERVATION_TIMEOUT}


@pytest.mark.parametrize('measured', [0.8, -0.8])
def test_what_the_robot_does_beyond_its_command_is_not_taken_for_one(measured: float) -> None:
    bench = departing()
    bench.wait(0.6, policy=(0.0, 0.0))
    assert bench.command == (0.0, 0.0)
    bench.motion = (measured, 0.0)  # pushed, or a broken encoder
    seen = bench.wait(1.0, policy=(0.0, 0.0))
    assert {d.command for d in seen} == {(0.0, 0.0)}
    assert not any(d.inputs.seeded for d in seen)


def test_no_obstacle_makes_a_robot_that_was_told_to_stand_drive() -> None:
    bench = departing()
    bench.wait(0.6, policy=(0.0, 0.0))
    bench.motion, bench.scan = (0.8, 0.0), (0.3, 8.0, 1.0, 1.0)
    seen = bench.wait(1.0, policy=(0.0, 0.0))
    assert {d.command for d in seen} == {(0.0, 0.0)}


def test_a_stop_of_a_blocked_robot_takes_from_what_was_commanded() -> None:
    bench = departing()
    bench.motion, bench.scan = (0.1, 0.0), (0.3, 8.0, 1.0, 1.0)
    bench.pulse()
    bench.time.wait(TICK)
    decision = bench.ask(0.4, 0.0)
    assert reasons(decision) == {Reason.OBSTACLE_STOP}
    assert not decision.inputs.seeded
    assert decision.inputs.previous_command == (0.4, 0.0)
    assert decision.command[0] == pytest.approx(0.4 - STOP[0] * decision.inputs.time_step)


def test_a_robot_that_goes_the_other_way_is_commanded_from_rest() -> None:
    bench = departing()
    bench.motion = (-0.3, 0.0)
    bench.pulse()
    bench.time.wait(TICK)
    decision = bench.ask(0.4, 0.0)
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == (0.0, 0.0)
    assert 0.0 < decision.command[0] < 0.2
