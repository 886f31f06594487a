# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Only the holder of the lease of a running episode is heard; without one nothing moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from boundary_env_ros.core.gate.gate_events import EpisodeStatusReceived, Measured
from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from support.core_world import status
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise, PERIOD, RATE, SAFETY, STOP, TICK


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'digest': 'sha256:' + '0' * 64}, 'expected the digest sha256:5a5a'),
        ({'digest': ''}, 'got none). Start client and nodes with the same contract'),
        ({'agent': 'other'}, "expected 'cart', got 'other'"),
        ({'episode_id': 'another'}, 'Begin an episode first, and arm while it lasts'),
        ({'client': 'intruder'}, "'policy' holds the lease"),
        ({'client': ''}, 'The name of the client is missing'),
        ({'episode_id': ''}, 'got none). Begin an episode first'),
    ],
)
def test_an_arming_is_refused_with_its_reason(
    bench: Bench, changes: dict[str, str], message: str
) -> None:
    assert message in bench.refused(**changes)
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_an_episode_that_is_over_is_refused_as_such(bench: Bench) -> None:
    bench.say(EpisodeState.TERMINATED)
    over = f'(expected none, got {bench.episode}, which is over). Begin an episode first'
    assert over in bench.refused()


@pytest.mark.parametrize(
    ('silent', 'message'),
    [
        ('scan', 'obstacle.scan (/scan, never heard)'),
        ('odometry', 'feedback.base (/odom, never heard)'),
    ],
)
def test_a_gate_that_has_not_heard_a_sensor_yet_is_not_armed(silent: str, message: str) -> None:
    bench = Bench()
    bench.say(EpisodeState.RESETTING)
    bench.alive.remove(silent)
    for _ in range(3):
        assert f'missing: {message}. Start' in bench.refused()
        bench.time.wait(PERIOD)
    bench.alive.add(silent)
    bench.start()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_a_gate_that_cannot_read_its_feedback_is_not_armed(bench: Bench) -> None:
    bench.say(EpisodeState.RESETTING, 'another')
    bench.alive.remove('odometry')
    now = bench.time.now
    bench.gate.apply(Measured(name='feedback.base', values=(), captured=now.ros, now=now))
    assert 'feedback.base (/odom, which cannot be read)' in bench.refused()


def test_a_gate_that_no_longer_hears_its_sensors_is_not_armed() -> None:
    bench = Bench()
    bench.pulse()
    bench.say(EpisodeState.RESETTING)
    bench.alive -= set(bench.sensors)
    bench.time.wait(SAFETY.sensor_timeout - bench.lag)
    bench.arm()
    bench.say(EpisodeState.RESETTING, 'another')
    bench.time.wait(TICK)
    message = bench.refused()
    assert 'obstacle.scan (/scan, 0.' in message
    assert 'feedback.base (/odom, 0.' in message
    assert message.count(' s old)') == 2


@pytest.mark.parametrize(
    ('nanoseconds', 'said'),
    [(2_000_000_000, 'stamped 2 s in the future'), (None, 'has no stamp')],
)
def test_a_gate_that_cannot_go_by_a_stamp_says_so(nanoseconds: int | None, said: str) -> None:
    bench = Bench()
    bench.say(EpisodeState.RESETTING)
    bench.alive.remove('odometry')
    now = bench.time.now
    stamp = 0 if nanoseconds is None else now.ros.nanoseconds + nanoseconds
    captured = replace(now.ros, nanoseconds=stamp)
    bench.gate.apply(Measured(name='feedback.base', values=(0.0, 0.0), captured=captured, now=now))
    message = bench.refused()
    assert f'feedback.base (/odom, {said})' in message
    assert 'synchronise the clocks' in message


def test_an_ended_episode_cannot_be_armed_for(bench: Bench) -> None:
    bench.say(EpisodeState.TRUNCATED)
    assert 'arm while it lasts' in bench.refused()


def test_the_holder_that_arms_again_keeps_its_lease(bench: Bench) -> None:
    before = bench.lease
    bench.arm()
    assert bench.lease == before
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


@pytest.mark.parametrize('client', ['policy', ''])
def test_nobody_arms_for_no_episode_while_the_environment_is_idle(client: str) -> None:
    bench = Bench()
    bench.say(EpisodeState.IDLE)
    bench.pulse()
    assert bench.refused(client=client, episode_id='')
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


def test_a_second_process_of_the_name_of_the_holder_does_not_share_its_lease(
    bench: Bench,
) -> None:
    bench.ask(0.05, 0.0)
    assert "'policy' holds the lease for this episode" in bench.refused()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_what_the_environment_of_another_agent_says_is_not_heard(bench: Bench) -> None:
    bench.ask(0.05, 0.0)
    other = status(EpisodeState.TRUNCATED, bench.time.now)
    bench.gate.apply(
        EpisodeStatusReceived(
            status=replace(other, id=replace(other.id, agent='other')), now=bench.time.now
        )
    )
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


@pytest.mark.parametrize('leap', [1001, 2**63, 2**64 - 2])
def test_a_request_with_an_absurd_sequence_does_not_silence_the_holder(
    bench: Bench, leap: int
) -> None:
    bench.ask(0.05, 0.0)
    due = bench.sequence + 1
    assert reasons(bench.ask(0.05, 0.0, sequence=bench.sequence + leap)) == {Reason.OUT_OF_ORDER}
    for sequence in (due, due + 1):
        assert bench.ask(0.05, 0.0, sequence=sequence).verdict is Verdict.ADMITTED


def test_requests_may_get_lost(bench: Bench) -> None:
    bench.ask(0.05, 0.0)
    assert bench.ask(0.05, 0.0, sequence=bench.sequence + 1000).verdict is Verdict.ADMITTED


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


def test_a_lease_right_after_another_begins_from_the_measured_state(bench: Bench) -> None:
    bench.ask(0.05, 0.0)
    bench.time.wait(PERIOD)
    bench.pulse()
    assert bench.ask(0.0, 0.0).inputs.previous_rate == pytest.approx((0.5, 0.0))
    bench.say(EpisodeState.TRUNCATED)
    bench.tick()
    bench.episode = 'second'
    bench.time.wait(PERIOD)
    decision = bench.start().ask(0.1, 0.0)
    assert decision.inputs.previous_rate == ()
    assert decision.inputs.seeded


def test_the_end_of_a_lease_saves_up_no_speed(bench: Bench) -> None:
    bench.wait(PERIOD, policy=(0.1, 0.0))
    bench.say(EpisodeState.TRUNCATED)
    while bench.gate.state.status(bench.time.now).state is not GateState.DISARMED:
        bench.wait(TICK)
    assert bench.command == (0.0, 0.0)
    bench.motion = (0.0, 0.0)
    bench.episode = 'second'
    bench.time.wait(TICK)
    decision = bench.start().ask(0.8, 0.0)
    assert decision.inputs.time_step == pytest.approx(TICK)
    assert decision.command == pytest.approx((RATE[0] * TICK, 0.0))


def test_a_robot_at_rest_need_not_wait_for_the_next_lease(bench: Bench) -> None:
    bench.ask(0.0, 0.0)
    bench.episode = 'second'
    bench.time.wait(PERIOD)
    assert bench.start().ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_after_a_rearming_the_limits_start_from_the_measured_state_again(bench: Bench) -> None:
    cruise(bench)
    bench.finish()
    bench.motion = (-0.2, 0.0)
    bench.episode = 'second'
    decision = bench.start().ask(0.8, 0.0)
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == (-0.2, 0.0)


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
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


@pytest.mark.parametrize('commanded', [True, False])
def test_at_the_end_of_an_episode_at_rest_nothing_more_is_published(
    bench: Bench, commanded: bool
) -> None:
    bench.motion = (0.0, 0.0) if commanded else (0.3, 0.0)
    if commanded:
        bench.ask(0.0, 0.0)
    bench.say(EpisodeState.TERMINATED)
    assert bench.wait(1.0) == ()
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


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
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


def test_a_new_arming_does_not_cut_short_the_braking_of_the_last_episode(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.say(EpisodeState.TRUNCATED)
    bench.wait(2 * TICK)
    assert bench.command is not None
    assert bench.command[0] > 0.5
    bench.say(EpisodeState.RESETTING, 'second')
    bench.arm()
    assert bench.gate.state.status(bench.time.now).state is GateState.STOPPING
    seen = bench.wait(1.0)
    assert seen[-1].command == (0.0, 0.0)
    assert 'second' not in {decision.id.episode_id for decision in seen}
    assert bench.gate.state.status(bench.time.now).state is GateState.ARMED
    bench.motion = (0.1, 0.0)
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    decision = bench.ask(0.1, 0.0)
    assert decision.inputs.seeded
    assert decision.verdict is Verdict.ADMITTED


def test_while_it_brakes_for_the_last_episode_it_hears_nothing_of_the_next(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.say(EpisodeState.RESETTING, 'second')
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    assert reasons(bench.ask(0.8, 0.0)) == {Reason.NOT_ARMED}
    bench.wait(1.0)
    assert bench.ask(0.0, 0.0).verdict is Verdict.ADMITTED


def test_a_lease_of_an_episode_that_was_replaced_is_good_for_nothing(bench: Bench) -> None:
    old, lease = bench.episode, bench.lease
    bench.say(EpisodeState.RUNNING, 'second')
    decision = bench.ask(0.1, 0.0, episode=old, lease=lease)
    assert reasons(decision) == {Reason.NOT_ARMED}


def test_an_environment_under_another_contract_is_not_heard() -> None:
    bench = Bench()
    foreign = status(EpisodeState.RESETTING, bench.time.now, digest='sha256:' + '0' * 64)
    bench.gate.apply(EpisodeStatusReceived(status=foreign, now=bench.time.now))
    assert 'announced (expected none,' in bench.refused()


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
    assert seen[0].inputs.seeded


def test_a_stop_before_any_command_sends_no_speed_to_a_robot_that_rolls() -> None:
    bench = Bench()
    bench.motion = (0.6, 0.0)
    bench.start()
    seen = bench.wait(SAFETY.command_timeout + 2 * TICK)
    assert seen[0].inputs.previous_command == (0.6, 0.0)
    assert {d.command for d in seen} == {(0.0, 0.0)}


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
