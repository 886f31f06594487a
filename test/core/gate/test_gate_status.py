# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the gate says of itself."""

from __future__ import annotations

from boundary_env_ros.core.gate.gate_events import PublishersSeen
from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from support.gate_bench import Bench
from support.gate_numbers import cruise, PERIOD, SAFETY, TICK


def test_the_status_follows_the_life_of_a_lease() -> None:
    bench = Bench()

    def state() -> GateState:
        return bench.gate.state.status(bench.time.now).state

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
    bench.wait(SAFETY.environment_timeout - PERIOD / 2, policy=(0.0, 0.0))
    bench.pulse()
    assert bench.ask(0.0, 0.0).verdict is Verdict.ADMITTED
    bench.time.wait(PERIOD / 2 + TICK)
    assert bench.tick() == ()
    assert bench.gate.state.status(bench.time.now).state is GateState.STOPPING


def test_the_status_says_why_it_stops_and_who_holds_the_lease(bench: Bench) -> None:
    cruise(bench)
    bench.alive.discard('scan')
    bench.wait(1.0, policy=(0.4, 0.0))
    found = bench.gate.state.status(bench.time.now)
    assert found.reasons == (Reason.OBSERVATION_TIMEOUT,)
    assert (found.lease_id, found.holder, found.episode_id) == (
        bench.lease,
        'policy',
        bench.episode,
    )
    assert found.command == (0.0, 0.0)
    assert found.sequence == bench.witness.sequence
    assert found.stamp == bench.time.now


def test_a_foreign_publisher_is_reported(bench: Bench) -> None:
    bench.gate.apply(PublishersSeen(foreign_commands=1, now=bench.time.now))
    assert bench.gate.state.status(bench.time.now).foreign_publishers == 1
    bench.gate.apply(PublishersSeen(foreign_commands=0, now=bench.time.now))
    assert bench.gate.state.status(bench.time.now).foreign_publishers == 0
