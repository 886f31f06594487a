# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The gate stops the robot before it falls silent itself."""

from __future__ import annotations

from test_gate_in_force import waiting

from boundary_env_ros.core.gate.gate_events import Deactivate, ProbeDrivers, Tick, TimerStarted
from boundary_env_ros.core.records.decision import GateState, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from support.core_world import rich, shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise, PERIOD, TICK


def test_a_gate_that_is_deactivated_follows_the_stop_profile_to_the_end(bench: Bench) -> None:
    cruise(bench)
    bench.time.wait(TICK)
    began = bench.time.steady
    seen = bench.deactivate()
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert {reason for d in seen for reason in reasons(d)} == {Reason.DEACTIVATED}
    assert {d.id.episode_id for d in seen} == {bench.episode}
    speeds = [d.command[0] for d in seen]
    assert speeds == sorted(speeds, reverse=True)
    assert speeds[-1] == 0.0
    # No sooner than the profile allows, and no later.
    top, stop = bench.contract.flat('high')[0], bench.contract.flat('stop')[0]
    assert (bench.time.steady - began) * 1e-9 <= top / stop + 2 * TICK


def test_a_robot_at_rest_is_told_once_more_to_stay(bench: Bench) -> None:
    bench.ask(0.0, 0.0)
    bench.time.wait(TICK)
    [last] = bench.deactivate()
    assert last.command == (0.0, 0.0)
    assert last.inputs.armed


def test_a_gate_that_has_sent_nothing_has_nothing_to_stop() -> None:
    assert Bench().deactivate() == ()
    assert Bench().start().deactivate() == ()


def test_the_lease_ends_with_the_deactivation(bench: Bench) -> None:
    cruise(bench)
    bench.deactivate()
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED
    bench.time.wait(PERIOD)
    bench.pulse()
    assert bench.ask(0.4, 0.0).verdict is Verdict.REJECTED
    bench.finish()
    bench.say(EpisodeState.RESETTING, 'second')
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    assert bench.ask(0.05, 0.0).published


def test_a_deactivation_that_was_cut_short_leaves_neither_lease_nor_command(bench: Bench) -> None:
    """The node brakes for 2 s at most; activated again, the gate begins again."""
    cruise(bench)
    bench.time.wait(TICK)
    assert bench.gate.apply(Deactivate(now=bench.time.now))
    bench.time.wait(TICK)
    bench.gate.apply(TimerStarted(now=bench.time.now))
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED
    assert bench.gate.state.commands.in_force is None
    for _ in range(20):
        bench.time.wait(TICK)
        bench.pulse()
        assert bench.gate.apply(Tick(now=bench.time.now)) == ()
    bench.witness.sequence += 1
    assert bench.ask(0.4, 0.0).verdict is Verdict.REJECTED


def test_a_gate_run_again_begins_anew_behind_a_deactivation_that_was_cut_short() -> None:
    bench = cruise(Bench(waiting(shipped())).start())
    bench.time.wait(TICK)
    bench._see(bench.gate.apply(Deactivate(now=bench.time.now)))
    bench.time.wait(TICK)
    bench.gate.apply(TimerStarted(now=bench.time.now))
    bench.witness.drop()
    bench.motion = (0.2, 0.0)
    bench.say(EpisodeState.RESETTING, 'episode-2')
    bench.time.wait(TICK)
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    assert bench.ask(0.4, 0.0).inputs.seeded
    bench.run_again()


def test_while_it_brakes_the_status_says_why(bench: Bench) -> None:
    cruise(bench)
    bench.time.wait(TICK)
    bench.gate.apply(Deactivate(now=bench.time.now))
    status = bench.gate.state.status(bench.time.now)
    assert (status.state, status.reasons) == (GateState.STOPPING, (Reason.DEACTIVATED,))


def test_it_needs_nothing_that_could_still_arrive(bench: Bench) -> None:
    cruise(bench)
    bench.alive.clear()
    bench.time.wait(TICK)
    assert bench.deactivate()[-1].command == (0.0, 0.0)


def test_a_probe_ends_with_the_deactivation() -> None:
    bench = Bench(shipped({('action', 'base', 'driver_timeout_probe'): [0.1, 0.0]}))
    bench.pulse()
    bench.witness.probing = True
    bench.gate.apply(ProbeDrivers(now=bench.time.now))
    bench.wait(10 * TICK)
    assert bench.deactivate()[-1].command == (0.0, 0.0)
    assert not bench.gate.state.probing
    assert 'deactivated' in bench.gate.state.probe_failure


def test_what_stays_where_it_is_is_told_to_stay_there() -> None:
    bench = Bench(rich()).start()
    bench.ask(*(0.0,) * bench.contract.action_size)
    where = bench.command
    bench.time.wait(TICK)
    last = bench.deactivate()[-1]
    assert where is not None
    stays = [i for i, safe in enumerate(bench.witness.safe) if safe != safe]
    assert [last.command[i] for i in stays] == [where[i] for i in stays]
