# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Silence stops: of the policy, the environment, the sensors; and clocks that lie do not help."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.gate.gate_events import Measured
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.timebase import Clock, NANOSECONDS, Stamp
from support.core_world import shipped
from support.gate_bench import Bench, FREE, reasons
from support.gate_numbers import cruise, MIDDLE, PERIOD, SAFETY, STOP, TICK


def stopped_after(bench: Bench, *, policy: tuple[float, float] | None, within: float) -> float:
    """Return the steady seconds from now to the first braking command."""
    start = bench.time.steady
    for _ in range(round((within + 1.0) / TICK)):
        for decision in bench.wait(TICK, policy=policy):
            if decision.verdict is Verdict.STOPPED:
                return (bench.time.steady - start) / NANOSECONDS
    raise AssertionError(f'nothing stopped the robot within {within + 1.0} s')


def test_a_late_policy_is_held_and_a_silent_one_stopped_within_the_bound(bench: Bench) -> None:
    cruise(bench)
    seen = bench.wait(SAFETY.command_timeout + 2 * TICK)
    verdicts = [decision.verdict for decision in seen]
    assert verdicts[0] is Verdict.HELD
    assert verdicts[-1] is Verdict.STOPPED
    assert sorted(verdicts) == verdicts
    held, stop = seen[0], next(d for d in seen if d.verdict is Verdict.STOPPED)
    assert reasons(held) == {Reason.COMMAND_LATE}
    assert held.command == held.inputs.previous_command == (0.4, 0.0)
    assert reasons(stop) == {Reason.COMMAND_TIMEOUT}
    [result] = stop.rules
    assert result.value is not None
    assert SAFETY.command_timeout < result.value <= SAFETY.command_timeout + TICK + 1e-9


def test_a_policy_is_not_late_before_it_is(bench: Bench) -> None:
    cruise(bench)
    bench.time.wait(SAFETY.hold_timeout)
    bench.pulse()
    assert bench.tick() == ()
    bench.time.wait(TICK)
    assert bench.tick()[0].verdict is Verdict.HELD


def test_a_held_command_is_repeated_once_a_period_not_at_every_tick(bench: Bench) -> None:
    cruise(bench)
    seen = bench.wait(SAFETY.command_timeout)
    held = [d for d in seen if d.verdict is Verdict.HELD]
    assert 1 <= len(held) <= round(SAFETY.command_timeout / PERIOD)


def test_a_held_command_still_slows_down_before_an_obstacle(bench: Bench) -> None:
    cruise(bench, 0.6)
    bench.scan = (MIDDLE, 8.0, 1.0, 1.0)
    held = [d for d in bench.wait(SAFETY.command_timeout) if d.verdict is Verdict.HELD]
    assert {Reason.COMMAND_LATE, Reason.OBSTACLE_SLOW} <= reasons(held[0])
    assert held[0].command[0] < 0.6


def test_a_silent_policy_comes_to_rest_along_the_stop_profile(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.wait(SAFETY.command_timeout + 0.8 / STOP[0] + 2 * TICK)
    assert bench.command == (0.0, 0.0)


def test_at_rest_the_stop_is_repeated_once_a_period(bench: Bench) -> None:
    cruise(bench)
    bench.wait(2.0)
    seen = bench.wait(1.0)
    assert len(seen) == round(1.0 / PERIOD)
    assert {d.command for d in seen} == {(0.0, 0.0)}


def test_fresh_commands_work_again_after_the_policy_was_silent(bench: Bench) -> None:
    cruise(bench)
    bench.wait(2.0)
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)


@pytest.mark.parametrize('refused', [{'lease': 'x'}, {'age': 9.0}, {'sequence': 1}])
def test_a_policy_that_is_only_refused_is_a_silent_one(
    bench: Bench, refused: dict[str, object]
) -> None:
    cruise(bench)
    for _ in range(round(0.7 / TICK)):
        bench.wait(TICK)
        assert bench.ask(0.4, 0.0, **refused).verdict is Verdict.REJECTED
    assert bench.command == (0.0, 0.0)


def test_a_policy_whose_actions_are_all_out_of_bounds_is_a_silent_one() -> None:
    bench = cruise(Bench(shipped({('action', 'base', 'out_of_bounds'): 'reject'})).start())
    for _ in range(round(0.7 / TICK)):
        bench.wait(TICK)
        assert bench.ask(5.0, 0.0).verdict is Verdict.REJECTED
    assert bench.command == (0.0, 0.0)


@pytest.mark.parametrize(
    ('silent', 'bound', 'reason'),
    [
        ('environment', SAFETY.environment_timeout, Reason.ENVIRONMENT_TIMEOUT),
        ('scan', SAFETY.sensor_timeout, Reason.OBSERVATION_TIMEOUT),
    ],
)
def test_silence_stops_within_its_bound_though_the_policy_goes_on(
    bench: Bench, silent: str, bound: float, reason: Reason
) -> None:
    cruise(bench)
    bench.alive.discard(silent)
    start = bench.time.steady
    seen = bench.wait(bound + PERIOD, policy=(0.4, 0.0))
    stop = next(d for d in seen if d.verdict is Verdict.STOPPED)
    assert reasons(stop) == {reason}
    [result] = stop.rules
    assert result.limit == bound
    assert result.value is not None
    assert bound < result.value <= bound + TICK + 1e-9
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.0, 0.0)
    assert bench.time.steady > start
    bench.alive.add(silent)
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)


def test_odometry_may_be_silent_while_the_emitted_sequence_is_known(bench: Bench) -> None:
    cruise(bench)
    bench.alive.discard('odometry')
    seen = bench.wait(2.0, policy=(0.4, 0.0))
    assert {d.verdict for d in seen} == {Verdict.ADMITTED}


def test_a_scan_that_fell_silent_during_the_reset_keeps_the_robot_still() -> None:
    decision = Bench().start_without('scan').ask(0.1, 0.0)
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}


def test_an_environment_that_never_spoke_cannot_be_armed_for() -> None:
    bench = Bench()
    message = bench.refused()
    assert 'not the one that the environment announced (expected none,' in message


def test_a_sensor_that_is_punctual_with_frozen_stamps_is_a_silent_one(bench: Bench) -> None:
    cruise(bench)
    frozen = bench.time.stamp()
    bench.alive.discard('scan')
    for _ in range(round((SAFETY.sensor_timeout + 2 * TICK) / TICK)):
        bench.wait(TICK)
        bench.gate.apply(
            Measured(name='obstacle.scan', values=FREE, captured=frozen, now=bench.time.now)
        )
    bench.time.wait(TICK)
    decision = bench.ask(0.4, 0.0)
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}


def test_a_sensor_from_the_future_is_no_better_than_one_from_the_past(bench: Bench) -> None:
    bench.lag = -(SAFETY.sensor_timeout + 0.05)
    bench.measure('scan')
    assert Reason.OBSERVATION_TIMEOUT in reasons(bench.ask(0.1, 0.0))


def test_a_sensor_without_a_stamp_is_judged_by_its_arrival(bench: Bench) -> None:
    bench.alive.discard('scan')
    bench.gate.apply(
        Measured(name='obstacle.scan', values=FREE, captured=None, now=bench.time.now)
    )
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED
    bench.time.wait(SAFETY.sensor_timeout + TICK)
    bench.pulse()
    assert reasons(bench.ask(0.05, 0.0)) == {Reason.OBSERVATION_TIMEOUT}


def test_a_sensor_stamped_by_another_clock_is_judged_by_its_arrival(bench: Bench) -> None:
    other = Stamp(clock=Clock.ROS, nanoseconds=0, host='robot')
    bench.gate.apply(
        Measured(name='obstacle.scan', values=FREE, captured=other, now=bench.time.now)
    )
    decision = bench.ask(0.05, 0.0)
    assert decision.verdict is Verdict.ADMITTED
    assert decision.inputs.measurements[0].age == 0.0


@pytest.mark.parametrize('trouble', ['paused', 'backward', 'forward'])
def test_a_ros_clock_that_lies_does_not_disarm_the_silence_of_the_policy(
    bench: Bench, trouble: str
) -> None:
    cruise(bench)
    bench.time.ros_paused = trouble == 'paused'
    bench.time.jump_ros({'paused': 0.0, 'backward': -1e6, 'forward': 1e6}[trouble])
    bench.pulse()
    assert stopped_after(bench, policy=None, within=SAFETY.command_timeout) <= (
        SAFETY.command_timeout + TICK + 1e-9
    )


@pytest.mark.parametrize('trouble', ['paused', 'backward', 'forward'])
@pytest.mark.parametrize('silent', ['environment', 'scan'])
def test_a_ros_clock_that_lies_does_not_disarm_the_silence_of_the_others(
    bench: Bench, trouble: str, silent: str
) -> None:
    cruise(bench)
    bench.alive.discard(silent)
    bench.time.ros_paused = trouble == 'paused'
    bench.time.jump_ros({'paused': 0.0, 'backward': -1e6, 'forward': 1e6}[trouble])
    bound = max(SAFETY.environment_timeout, SAFETY.sensor_timeout) + PERIOD
    bench.wait(bound, policy=(0.4, 0.0))
    assert bench.command is not None
    assert bench.command[0] < 0.4


def test_a_ros_clock_that_jumped_recovers_with_fresh_sensors(bench: Bench) -> None:
    cruise(bench)
    bench.time.jump_ros(-1e6)
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)
