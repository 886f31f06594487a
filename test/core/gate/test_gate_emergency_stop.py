# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The emergency stop brakes, latches, and is undone by clearing and a new arming only."""

from __future__ import annotations

import pytest

from boundary_env_ros.core.gate.explain import sentences
from boundary_env_ros.core.gate.gate_events import ClearEmergencyStop, PublishersSeen
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.errors import RequestRejected, ResultCode
from support.core_world import shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise, PERIOD, TICK


def test_the_emergency_stop_brakes_at_once_and_latches(bench: Bench) -> None:
    cruise(bench)
    bench.time.wait(TICK)
    [decision] = bench.press()
    assert decision.verdict is Verdict.STOPPED
    assert reasons(decision) == {Reason.EMERGENCY_STOP}
    assert decision.inputs.emergency_stop
    bench.release()
    seen = bench.wait(1.0, policy=(0.4, 0.0))
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert bench.command == (0.0, 0.0)
    assert bench.gate.state.status(bench.time.now).state is GateState.EMERGENCY_STOPPED


def test_the_emergency_stop_brakes_though_the_same_press_comes_again(bench: Bench) -> None:
    cruise(bench)
    for _ in range(50):
        bench.press()
        bench.wait(TICK)
    assert bench.command == (0.0, 0.0)


def test_a_pressed_emergency_stop_is_not_cleared(bench: Bench) -> None:
    bench.press()
    bench.finish()
    with pytest.raises(RequestRejected, match='is still pressed'):
        bench.gate.apply(ClearEmergencyStop(now=bench.time.now))


def test_the_emergency_stop_is_not_cleared_while_its_episode_runs(bench: Bench) -> None:
    bench.press()
    bench.release()
    with pytest.raises(RequestRejected, match='The episode still runs'):
        bench.gate.apply(ClearEmergencyStop(now=bench.time.now))


def test_a_latched_emergency_stop_refuses_arming(bench: Bench) -> None:
    bench.press()
    bench.release()
    bench.finish()
    bench.say(EpisodeState.RESETTING, 'second')
    assert 'Release it, then run `boundary-env operator --release`' in bench.refused()


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
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


def test_the_emergency_stop_of_a_disarmed_gate_publishes_nothing() -> None:
    bench = Bench()
    assert bench.press() == ()
    assert bench.wait(1.0) == ()
    assert bench.gate.state.status(bench.time.now).state is GateState.EMERGENCY_STOPPED


def test_a_release_that_nobody_pressed_does_nothing(bench: Bench) -> None:
    bench.release()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


# What cannot be heard ----------------------------------------------------------------------------


def test_without_a_publisher_of_the_emergency_stop_the_gate_is_not_armed() -> None:
    bench = Bench()
    bench.say(EpisodeState.RESETTING)
    bench.gate.apply(PublishersSeen(unpublished='/robot/e_stop', now=bench.time.now))
    with pytest.raises(
        RequestRejected, match='std_msgs/msg/Bool on /robot/e_stop, got none'
    ) as refused:
        bench.arm()
    assert refused.value.code is ResultCode.SENSOR_MISSING
    bench.leases -= 1
    bench.gate.apply(PublishersSeen(unpublished='', now=bench.time.now))
    bench.start()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_a_publisher_that_goes_while_the_robot_moves_stops_nothing(bench: Bench) -> None:
    cruise(bench)
    bench.gate.apply(PublishersSeen(unpublished='/e_stop', now=bench.time.now))
    bench.wait(PERIOD, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)


def test_in_lockstep_the_gate_is_armed_without_a_publisher() -> None:
    bench = Bench(shipped(pacing=Pacing.LOCKSTEP))
    bench.gate.apply(PublishersSeen(unpublished='/e_stop', now=bench.time.now))
    bench.say(EpisodeState.RESETTING)
    bench.arm()


HEARTBEAT = 0.3
BEATING = {('safety', 'emergency_stop_heartbeat'): HEARTBEAT}


def test_an_emergency_stop_that_falls_silent_stops_the_robot_like_a_lost_sensor() -> None:
    bench = cruise(Bench(shipped(BEATING)).start())
    bench.alive.remove('emergency_stop')
    assert bench.wait(HEARTBEAT, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)
    stop = bench.wait(2 * TICK)[-1]
    [result] = stop.rules
    assert (stop.verdict, result.rule) == (Verdict.STOPPED, 'emergency_stop')
    assert (result.reason, result.limit) == (Reason.OBSERVATION_TIMEOUT, HEARTBEAT)
    (told,) = sentences(stop, bench.contract)
    assert told.endswith(', limit 0.3 s; topic /emergency_stop)'), told
    # It is no press: when it is back the robot goes on.
    bench.alive.add('emergency_stop')
    bench.wait(1.0, policy=(0.4, 0.0))
    assert bench.command == (0.4, 0.0)


def test_a_gate_that_has_not_heard_the_heartbeat_is_not_armed() -> None:
    bench = Bench(shipped(BEATING))
    bench.say(EpisodeState.RESETTING)
    bench.alive.remove('emergency_stop')
    assert 'emergency_stop (/emergency_stop, never heard)' in bench.refused()
    bench.alive.add('emergency_stop')
    bench.start()


def test_in_lockstep_the_heartbeat_is_not_listened_to() -> None:
    contract = shipped(BEATING).paced(Pacing.LOCKSTEP)
    assert contract.heartbeat is None
    assert 'emergency_stop' not in {item.name for item in gate_inputs(contract)}
    assert 'emergency_stop' not in Limits(contract).needs
