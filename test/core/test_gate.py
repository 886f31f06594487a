# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The failure catalogue of the gate: whatever arrives, or stops arriving, the robot is safe.

Every decision that is made on the bench is also checked by its witness (`gate_bench.py`).
"""

from __future__ import annotations

from dataclasses import replace
import math

from core_world import only, shipped, status
from gate_bench import Bench, FREE, quicker, reasons
import pytest

from boundary_env_ros.core.decision import GateState, Reason, Trigger, Verdict
from boundary_env_ros.core.episode import EpisodeState
from boundary_env_ros.core.timebase import Clock, Instant, NANOSECONDS, Stamp
from boundary_env_ros.errors import Refused

PERIOD = shipped().period
RATE, STOP = shipped().flat('rate'), shipped().flat('stop')
LOW, HIGH = shipped().flat('low'), shipped().flat('high')
SAFETY = shipped().safety
TICK = SAFETY.gate_period
TINY = 5e-324


@pytest.fixture
def bench() -> Bench:
    """Return a gate that runs an episode, everything around it well."""
    return Bench().start()


def cruise(bench: Bench, speed: float = 0.4, seconds: float = 1.0) -> Bench:
    """Let a policy drive until it has its speed."""
    bench.wait(seconds, policy=(speed, 0.0))
    assert bench.command == (speed, 0.0)
    bench.motion = (speed, 0.0)
    bench.pulse()
    return bench


# What is not a command is refused, and nothing is published because of it ------------------------


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
def test_only_the_holder_of_the_lease_is_heard(
    bench: Bench, changes: dict[str, object], reason: Reason
) -> None:
    decision = bench.ask(0.1, 0.0, **changes)
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
    assert not decision.armed


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
    """A steady clock starts anew on every host: its reading there says nothing here."""
    for age, verdict in ((0.1, Verdict.ADMITTED), (0.5, Verdict.REJECTED)):
        bench.time.wait(PERIOD)
        bench.pulse()
        stamp = replace(bench.time.stamp(ago=age), host='elsewhere')
        decision = bench.ask(0.0, 0.0, observed=Instant(ros=stamp, steady=3))
        assert decision.verdict is verdict


# Nothing outside the contract is ever published --------------------------------------------------


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


def test_a_limit_of_zero_is_a_limit() -> None:
    bench = Bench(shipped({('action', 'base', 'low'): [0.0, -1.5]})).start()
    decision = bench.ask(-0.1, 0.0)
    assert decision.verdict is Verdict.LIMITED
    assert decision.command == (0.0, 0.0)


def test_a_group_that_rejects_refuses_what_is_out_of_bounds_whole() -> None:
    bench = Bench(shipped({('action', 'base', 'beyond'): 'reject'})).start()
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
    assert decision.seeded
    assert decision.previous_command == (0.3, -0.2)
    assert decision.command == pytest.approx((0.3 + RATE[0] * PERIOD, -0.2 + RATE[1] * PERIOD))


def test_a_measured_state_out_of_bounds_is_brought_into_them_first() -> None:
    bench = Bench()
    bench.motion = (7.0, -7.0)
    decision = bench.start().ask(0.0, 0.0)
    assert decision.previous_command == (HIGH[0], LOW[1])


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


def test_without_a_measured_state_nothing_but_the_safe_command_goes_out() -> None:
    bench = Bench()
    bench.alive.discard('odometry')
    decision = bench.start().ask(0.5, 0.5)
    assert decision.verdict is Verdict.STOPPED
    assert decision.command == (0.0, 0.0)
    assert not decision.seeded


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
        assert decision.seeded is (k == 1)
        assert decision.command[0] == pytest.approx(k * RATE[0] * PERIOD)


def test_a_pause_saves_up_no_speed(bench: Bench) -> None:
    bench.ask(0.0, 0.0)
    bench.time.wait(0.9)
    bench.pulse()
    decision = bench.ask(HIGH[0], 0.0)
    assert decision.time_step == PERIOD
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
    assert decision.seeded
    assert decision.verdict is Verdict.ADMITTED


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
    scan, odometry = decision.measurements
    assert (scan.name, scan.topic, scan.values) == ('obstacle', '/scan', (3.0, 2.0, 0.9, 0.8))
    assert (odometry.name, odometry.topic) == ('feedback.base', '/odom')
    assert scan.age == pytest.approx(0.03 + bench.lag)
    assert decision.since_environment == pytest.approx(0.03)
    assert decision.previous_command == (0.0, 0.0)
    assert decision.request is not None
    assert decision.received == bench.time.now
    assert decision.software_version == 'test'


# Obstacles ---------------------------------------------------------------------------------------

OBSTACLE = SAFETY.obstacle
assert OBSTACLE is not None
NEAR = OBSTACLE.stop_distance - 0.01
MIDDLE = (OBSTACLE.stop_distance + OBSTACLE.slow_distance) / 2
AHEAD_NEAR = (NEAR, 8.0, 1.0, 1.0)
BEHIND_NEAR = (8.0, NEAR, 1.0, 1.0)


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
    assert (result.rule, result.reason) == ('obstacle_stop', Reason.OBSTACLE_STOP)
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
    bench = Bench(quicker(contract, obstacle=None))  # type: ignore[arg-type]
    bench.alive.discard('scan')
    assert bench.start().ask(0.05, 0.0).verdict is Verdict.ADMITTED


# Silence stops -----------------------------------------------------------------------------------


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
    assert held.command == held.previous_command == (0.4, 0.0)
    assert reasons(stop) == {Reason.COMMAND_TIMEOUT}
    [result] = stop.rules
    assert result.value is not None
    assert SAFETY.command_timeout < result.value <= SAFETY.command_timeout + TICK + 1e-9


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
    bench = cruise(Bench(shipped({('action', 'base', 'beyond'): 'reject'})).start())
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


def test_a_scan_that_never_came_keeps_the_robot_still() -> None:
    bench = Bench()
    bench.alive.discard('scan')
    decision = bench.start().ask(0.1, 0.0)
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}
    assert next(r.value for r in decision.rules) is None


def test_an_environment_that_never_spoke_cannot_be_armed_for() -> None:
    bench = Bench()
    message = bench.refused()
    assert 'Expect the episode that the environment announced (none)' in message


def test_a_sensor_that_is_punctual_with_frozen_stamps_is_a_silent_one(bench: Bench) -> None:
    cruise(bench)
    frozen = bench.time.stamp()
    bench.alive.discard('scan')
    for _ in range(round((SAFETY.sensor_timeout + 2 * TICK) / TICK)):
        bench.wait(TICK)
        bench.gate.measure('obstacle', FREE, frozen, bench.time.now)
    bench.time.wait(TICK)
    decision = bench.ask(0.4, 0.0)
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}


def test_a_sensor_from_the_future_is_no_better_than_one_from_the_past(bench: Bench) -> None:
    bench.lag = -(SAFETY.sensor_timeout + 0.05)
    bench.measure('scan')
    assert Reason.OBSERVATION_TIMEOUT in reasons(bench.ask(0.1, 0.0))


def test_a_sensor_without_a_stamp_is_judged_by_its_arrival(bench: Bench) -> None:
    bench.alive.discard('scan')
    bench.gate.measure('obstacle', FREE, None, bench.time.now)
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED
    bench.time.wait(SAFETY.sensor_timeout + TICK)
    bench.pulse()
    assert reasons(bench.ask(0.05, 0.0)) == {Reason.OBSERVATION_TIMEOUT}


def test_a_sensor_stamped_by_another_clock_is_judged_by_its_arrival(bench: Bench) -> None:
    other = Stamp(clock=Clock.ROS, nanoseconds=0, host='robot')
    bench.gate.measure('obstacle', FREE, other, bench.time.now)
    decision = bench.ask(0.05, 0.0)
    assert decision.verdict is Verdict.ADMITTED
    assert decision.measurements[0].age == 0.0


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


# The emergency stop ------------------------------------------------------------------------------


def test_the_emergency_stop_brakes_at_once_and_latches(bench: Bench) -> None:
    cruise(bench)
    bench.time.wait(TICK)
    [decision] = bench.press()
    assert decision.verdict is Verdict.STOPPED
    assert reasons(decision) == {Reason.EMERGENCY_STOP}
    assert decision.emergency_stop
    bench.release()
    seen = bench.wait(1.0, policy=(0.4, 0.0))
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert bench.command == (0.0, 0.0)
    assert bench.gate.status(bench.time.now).state is GateState.EMERGENCY_STOPPED


def test_the_emergency_stop_brakes_though_the_same_press_comes_again(bench: Bench) -> None:
    cruise(bench)
    for _ in range(50):
        bench.press()
        bench.wait(TICK)
    assert bench.command == (0.0, 0.0)


def test_a_pressed_emergency_stop_is_not_cleared(bench: Bench) -> None:
    bench.press()
    bench.finish()
    with pytest.raises(Refused, match='it is still pressed'):
        bench.gate.clear_emergency_stop()


def test_the_emergency_stop_is_not_cleared_while_its_episode_runs(bench: Bench) -> None:
    bench.press()
    bench.release()
    with pytest.raises(Refused, match='Expect an ended episode, actually: it still runs'):
        bench.gate.clear_emergency_stop()


def test_a_latched_emergency_stop_refuses_arming(bench: Bench) -> None:
    bench.press()
    bench.release()
    bench.finish()
    bench.say(EpisodeState.RESETTING, 'second')
    assert 'Release it and call ~/clear_emergency_stop' in bench.refused()


def test_clearing_the_emergency_stop_does_not_cut_short_the_braking(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.press()
    bench.release()
    bench.say(EpisodeState.TRUNCATED)
    bench.clear()
    seen = bench.wait(1.0)
    assert seen[-1].command == (0.0, 0.0)
    assert {decision.id.episode_id for decision in seen} == {bench.episode}


def test_after_clearing_and_rearming_fresh_commands_work_again(bench: Bench) -> None:
    cruise(bench)
    bench.press()
    bench.release()
    bench.finish()
    bench.clear()
    bench.motion = (0.0, 0.0)
    bench.episode = 'second'
    bench.start()
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)


def test_a_lease_from_before_the_emergency_stop_does_not_outlive_its_clearing() -> None:
    bench = Bench()
    bench.say(EpisodeState.RESETTING)
    bench.pulse()
    bench.arm()
    bench.press()
    bench.release()
    bench.clear()
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    assert reasons(bench.ask(0.1, 0.0)) == {Reason.NOT_ARMED}
    assert bench.gate.status(bench.time.now).state is GateState.DISARMED


def test_the_emergency_stop_of_a_disarmed_gate_publishes_nothing() -> None:
    bench = Bench()
    assert bench.press() == ()
    assert bench.wait(1.0) == ()
    assert bench.gate.status(bench.time.now).state is GateState.EMERGENCY_STOPPED


def test_a_release_that_nobody_pressed_does_nothing(bench: Bench) -> None:
    bench.release()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


# Leases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'digest': 'sha256:' + '0' * 64}, 'Expect the digest sha256:5a5a'),
        ({'digest': ''}, 'actually: none. Start client and gate with the same contract'),
        ({'agent': 'other'}, "Expect the agent 'cart', actually: 'other'"),
        ({'episode_id': 'another'}, 'Begin an episode first, and arm while it lasts'),
        ({'client': 'intruder'}, "Expect a free lease, actually: 'policy' holds it"),
    ],
)
def test_an_arming_is_refused_with_its_reason(
    bench: Bench, changes: dict[str, str], message: str
) -> None:
    assert message in bench.refused(**changes)
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_an_ended_episode_cannot_be_armed_for(bench: Bench) -> None:
    bench.say(EpisodeState.TRUNCATED)
    assert 'arm while it lasts' in bench.refused()


def test_the_holder_that_arms_again_keeps_its_lease(bench: Bench) -> None:
    before = bench.lease
    bench.arm()
    assert bench.lease == before
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_the_lease_ends_with_its_episode(bench: Bench) -> None:
    old = bench.lease
    bench.finish()
    bench.episode = 'second'
    bench.start()
    assert reasons(bench.ask(0.1, 0.0, lease=old)) == {Reason.WRONG_LEASE}
    assert reasons(bench.ask(0.1, 0.0, episode='first')) == {Reason.WRONG_EPISODE}


def test_every_lease_counts_its_requests_from_one(bench: Bench) -> None:
    for _ in range(5):
        bench.ask(0.0, 0.0)
    bench.finish()
    bench.episode = 'second'
    bench.start()
    assert bench.ask(0.0, 0.0, sequence=1).verdict is Verdict.ADMITTED


def test_a_lease_right_after_another_begins_as_if_there_had_been_none(bench: Bench) -> None:
    bench.ask(0.05, 0.0)
    bench.time.wait(PERIOD)
    bench.pulse()
    assert bench.ask(0.0, 0.0).previous_rate == pytest.approx((0.5, 0.0))
    bench.say(EpisodeState.TRUNCATED)
    bench.tick()
    bench.episode = 'second'
    decision = bench.start().ask(0.1, 0.0)
    assert decision.time_step == PERIOD
    assert decision.previous_rate == ()
    assert decision.seeded


def test_after_a_rearming_the_limits_start_from_the_measured_state_again(bench: Bench) -> None:
    cruise(bench)
    bench.finish()
    bench.motion = (-0.2, 0.0)
    bench.episode = 'second'
    decision = bench.start().ask(0.8, 0.0)
    assert decision.seeded
    assert decision.previous_command == (-0.2, 0.0)


def test_at_the_end_of_the_episode_the_robot_is_braked_and_then_left_to_its_driver(
    bench: Bench,
) -> None:
    cruise(bench, 0.8)
    bench.say(EpisodeState.TERMINATED)
    seen = bench.wait(2.0, policy=(0.8, 0.0))
    published = [d for d in seen if d.command]
    assert {d.verdict for d in published} == {Verdict.STOPPED}
    assert all(Reason.EPISODE_OVER in reasons(d) for d in published)
    assert published[-1].command == (0.0, 0.0)
    assert len(published) == round(0.8 / STOP[0] / TICK)
    assert bench.gate.status(bench.time.now).state is GateState.DISARMED


@pytest.mark.parametrize('commanded', [True, False])
def test_at_the_end_of_an_episode_at_rest_nothing_more_is_published(
    bench: Bench, commanded: bool
) -> None:
    bench.motion = (0.0, 0.0) if commanded else (0.3, 0.0)
    if commanded:
        bench.ask(0.0, 0.0)
    bench.say(EpisodeState.TERMINATED)
    assert bench.wait(1.0) == ()
    assert bench.gate.status(bench.time.now).state is GateState.DISARMED


def test_an_episode_that_the_environment_replaced_is_over_too(bench: Bench) -> None:
    cruise(bench)
    bench.say(EpisodeState.RESETTING, 'second')
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.0, 0.0)


def test_a_restarted_environment_that_knows_no_episode_ends_the_lease(bench: Bench) -> None:
    cruise(bench)
    bench.say(EpisodeState.IDLE)
    bench.alive.discard('environment')
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.0, 0.0)
    assert bench.gate.status(bench.time.now).state is GateState.DISARMED


def test_a_new_arming_does_not_cut_short_the_braking_of_the_last_episode(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.say(EpisodeState.TRUNCATED)
    bench.wait(2 * TICK)
    assert bench.command is not None
    assert bench.command[0] > 0.5
    bench.say(EpisodeState.RESETTING, 'second')
    bench.arm()
    assert bench.gate.status(bench.time.now).state is GateState.STOPPING
    seen = bench.wait(1.0)
    assert seen[-1].command == (0.0, 0.0)
    assert 'second' not in {decision.id.episode_id for decision in seen}
    assert bench.gate.status(bench.time.now).state is GateState.ARMED
    bench.motion = (0.1, 0.0)
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    decision = bench.ask(0.1, 0.0)
    assert decision.seeded
    assert decision.verdict is Verdict.ADMITTED


def test_an_environment_under_another_contract_is_not_heard() -> None:
    bench = Bench()
    foreign = status(EpisodeState.RESETTING, bench.time.now, digest='sha256:' + '0' * 64)
    bench.gate.heard(foreign, bench.time.now)
    assert 'announced (none)' in bench.refused()


# A gate that is not armed ------------------------------------------------------------------------


def test_a_gate_that_nobody_armed_publishes_nothing() -> None:
    bench = Bench()
    bench.say(EpisodeState.RUNNING)
    assert bench.wait(2.0) == ()


def test_during_the_reset_an_armed_gate_publishes_nothing() -> None:
    bench = Bench()
    bench.say(EpisodeState.RESETTING)
    bench.pulse()
    bench.arm()
    assert bench.wait(2.0) == ()


def test_before_the_first_action_nothing_is_published() -> None:
    bench = Bench().start()
    assert bench.wait(SAFETY.command_timeout) == ()


def test_a_policy_that_never_acts_is_stopped_like_one_that_fell_silent() -> None:
    bench = Bench().start()
    seen = bench.wait(SAFETY.command_timeout + 2 * TICK)
    assert seen[0].verdict is Verdict.STOPPED
    assert seen[0].seeded


def test_a_rolling_robot_is_braked_from_its_measured_speed() -> None:
    bench = Bench()
    bench.motion = (0.6, 0.0)
    bench.start()
    seen = bench.wait(SAFETY.command_timeout + 2 * TICK)
    assert seen[0].previous_command == (0.6, 0.0)
    assert seen[0].command[0] == pytest.approx(0.6 - STOP[0] * PERIOD)


def test_armed_in_mid_episode_the_time_of_the_policy_runs_from_the_arming() -> None:
    bench = Bench()
    bench.say(EpisodeState.RUNNING)
    bench.wait(5.0)
    bench.arm()
    assert bench.wait(SAFETY.command_timeout - TICK) == ()
    assert reasons(bench.wait(3 * TICK)[0]) == {Reason.COMMAND_TIMEOUT}


def test_the_time_of_the_policy_runs_from_the_start_of_the_episode() -> None:
    bench = Bench()
    bench.say(EpisodeState.RESETTING)
    bench.pulse()
    bench.arm()
    bench.wait(5.0)
    bench.say(EpisodeState.RUNNING)
    assert bench.wait(SAFETY.command_timeout - TICK) == ()


# What it says of itself --------------------------------------------------------------------------


def test_the_status_follows_the_life_of_a_lease() -> None:
    bench = Bench()

    def state() -> GateState:
        return bench.gate.status(bench.time.now).state

    assert state() is GateState.DISARMED
    bench.say(EpisodeState.RESETTING)
    bench.pulse()
    bench.arm()
    assert state() is GateState.ARMED
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    assert state() is GateState.RUNNING
    cruise(bench)
    bench.wait(SAFETY.command_timeout + TICK)
    assert state() is GateState.STOPPING
    bench.wait(1.0, policy=(0.4, 0.0))
    assert state() is GateState.RUNNING
    bench.say(EpisodeState.TERMINATED)
    assert state() is GateState.STOPPING
    bench.wait(1.0)
    assert state() is GateState.DISARMED


def test_a_robot_at_rest_is_said_to_be_stopped_as_soon_as_it_has_to_be(bench: Bench) -> None:
    bench.wait(1.0, policy=(0.0, 0.0))
    bench.alive.discard('environment')
    bench.time.wait(SAFETY.environment_timeout - PERIOD / 2)
    bench.pulse()
    assert bench.ask(0.0, 0.0).verdict is Verdict.ADMITTED
    bench.time.wait(PERIOD / 2 + TICK)
    assert bench.tick() == ()
    assert bench.gate.status(bench.time.now).state is GateState.STOPPING


def test_the_status_says_why_it_stops_and_who_holds_the_lease(bench: Bench) -> None:
    cruise(bench)
    bench.alive.discard('scan')
    bench.wait(1.0, policy=(0.4, 0.0))
    found = bench.gate.status(bench.time.now)
    assert found.reasons == (Reason.OBSERVATION_TIMEOUT,)
    assert (found.lease_id, found.holder, found.episode_id) == (
        bench.lease,
        'policy',
        bench.episode,
    )
    assert found.command == (0.0, 0.0)
    assert found.sequence == bench.witness.sequence
    assert found.taken == bench.time.now


def test_a_competing_publisher_is_reported(bench: Bench) -> None:
    bench.gate.competing(1)
    assert bench.gate.status(bench.time.now).competing_publishers == 1
    bench.gate.competing(0)
    assert bench.gate.status(bench.time.now).competing_publishers == 0
