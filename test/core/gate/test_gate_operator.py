# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A person takes over, within the limits, and gives back; nobody moves the robot meanwhile."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest
from test_gate_lockstep import LockstepBench

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.gate_events import EpisodeStatusReceived, Measured, Request
from boundary_env_ros.core.records.decision import GateState, Reason, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
from boundary_env_ros.facade.steps import closed_by
from support.core_world import only, Path_, shipped, status, Timepiece
from support.episode_world import EpisodeWorld
from support.gate_bench import Bench, reasons
from support.gate_numbers import AHEAD_NEAR, cruise, HIGH, LOW, PERIOD, RATE, SAFETY, TICK

JOY: dict[str, object] = {
    'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[1]', 'axes[3]'],
    'enable': 'buttons[4]', 'scale': [0.8, 1.5], 'timeout': 0.2,
}  # fmt: skip


def with_operator(
    changes: dict[Path_, object] | None = None, pacing: Pacing | None = None
) -> Contract:
    return shipped({('safety', 'operator'): JOY, **(changes or {})}, pacing)


@pytest.fixture
def bench() -> Bench:
    """Return a gate that runs an episode under a contract with an operator."""
    return Bench(with_operator()).start()


# Taking over -------------------------------------------------------------------------------------


def test_a_held_switch_goes_before_the_policy(bench: Bench) -> None:
    cruise(bench)
    [decision] = bench.operate(0.1, 0.3)
    assert decision.trigger is Trigger.OPERATOR
    assert Reason.OPERATOR in reasons(decision)
    assert decision.id.episode_id == bench.episode
    refused = bench.ask(0.4, 0.0)
    assert refused.verdict is Verdict.REJECTED
    assert reasons(refused) == {Reason.OPERATOR}
    assert bench.gate.state.status(bench.time.now).teleoperated


def test_the_operator_gets_where_he_wants_to_and_then_unchanged(bench: Bench) -> None:
    bench.hand = (0.5, -1.0)
    seen = bench.wait(1.5, policy=(0.0, 0.0))
    assert bench.command == (0.5, -1.0)
    by_hand = [d for d in seen if d.trigger is Trigger.OPERATOR]
    last = bench.operate(0.5, -1.0)[0]
    assert last.verdict is Verdict.ADMITTED
    assert last.command == last.requested_command == last.admitted_action == (0.5, -1.0)
    assert not by_hand or by_hand[0].verdict is Verdict.LIMITED


def test_a_switch_that_is_not_held_takes_nothing_over(bench: Bench) -> None:
    cruise(bench)
    for switch in (0.0, 0.49, -1.0, math.nan):
        assert bench.operate(0.0, 1.0, switch=switch) == ()
        assert bench.ask(0.4, 0.0).verdict is Verdict.ADMITTED


@pytest.mark.parametrize('ago', [0.21, 5.0, -0.21, -1e6])
def test_a_stale_message_or_one_from_the_future_takes_nothing_over(
    bench: Bench, ago: float
) -> None:
    cruise(bench)
    assert bench.operate(0.0, 1.0, ago=ago) == ()
    assert bench.ask(0.4, 0.0).verdict is Verdict.ADMITTED


def test_whoever_takes_over_goes_on_from_the_last_command(bench: Bench) -> None:
    cruise(bench, 0.4)
    bench.motion = (0.1, 0.0)
    bench.pulse()
    bench.time.wait(TICK)
    [decision] = bench.operate(0.8, 0.0)
    assert not decision.inputs.seeded
    assert decision.inputs.previous_command == (0.4, 0.0)
    assert decision.command[0] == pytest.approx(0.4 + RATE[0] * decision.inputs.time_step)


def test_a_robot_that_says_nothing_of_itself_is_taken_over_from_where_it_was_told_to_be(
    bench: Bench,
) -> None:
    cruise(bench, 0.4)
    bench.alive.discard('odometry')
    bench.wait(0.5, policy=(0.4, 0.0))
    [decision] = bench.operate(0.8, 0.0)
    assert not decision.inputs.seeded
    assert decision.inputs.previous_command == (0.4, 0.0)


def test_a_chunk_under_way_is_dropped_by_a_takeover() -> None:
    bench = Bench(with_operator({('chunk',): {'horizon': 4}})).start()
    bench.send((0.1, 0.0, 0.2, 0.0, 0.3, 0.0, 0.4, 0.0), horizon=4)
    bench.time.wait(TICK)
    bench.operate(0.0, 0.0)
    bench.operate(0.0, 0.0, switch=0.0)
    seen = bench.wait(0.5)
    assert not [d for d in seen if d.trigger is Trigger.CHUNK]


# What he may -------------------------------------------------------------------------------------


@given(
    commands=st.lists(
        st.tuples(
            st.one_of(st.floats(), st.floats(-2.0, 2.0)),
            st.one_of(st.floats(), st.floats(-2.0, 2.0)),
            st.sampled_from([1.0, 1.0, 1.0, 0.0, math.nan]),
            st.sampled_from([0.0, 0.01, 0.05, 0.3]),
        ),
        max_size=20,
    )
)
def test_no_command_of_an_operator_leaves_bounds_and_rates(
    commands: list[tuple[float, float, float, float]],
) -> None:
    bench = Bench(with_operator()).start()
    for forward, turn, switch, pause in commands:
        bench.time.wait(pause)
        bench.pulse()
        for decision in bench.operate(forward, turn, switch=switch):
            if decision.command:
                assert all(
                    low <= value <= high
                    for value, low, high in zip(decision.command, LOW, HIGH, strict=True)
                )
        bench.tick()
    # The witness has checked every one of them.


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_a_command_that_is_no_number_is_refused_and_no_sign_of_life(
    bench: Bench, value: float
) -> None:
    cruise(bench)
    bench.hand = (value, 0.0)
    seen = bench.wait(SAFETY.command_timeout + 0.5)
    by_hand = [d for d in seen if d.trigger is Trigger.OPERATOR]
    assert {d.verdict for d in bench.witness.decisions if d.trigger is Trigger.OPERATOR} == {
        Verdict.REJECTED
    }
    assert all(d.command == () for d in by_hand)
    assert bench.command == (0.0, 0.0)
    assert bench.gate.state.status(bench.time.now).reasons == (Reason.COMMAND_TIMEOUT,)


def test_a_contract_that_rejects_rejects_an_operator_beyond_its_bounds_too() -> None:
    bench = Bench(with_operator({('action', 'base', 'out_of_bounds'): 'reject'})).start()
    cruise(bench)
    [decision] = bench.operate(0.9, 0.0)
    assert decision.verdict is Verdict.REJECTED
    bench.hand = (0.9, 0.0)
    bench.wait(1.0)
    assert bench.command == (0.0, 0.0), 'what is refused is no heartbeat'


def test_an_obstacle_stops_an_operator_too(bench: Bench) -> None:
    bench.hand = (0.5, 0.0)
    bench.wait(1.0)
    bench.scan = AHEAD_NEAR
    bench.wait(1.0)
    assert bench.command == (0.0, 0.0)
    [decision] = bench.operate(0.5, 0.0)
    assert reasons(decision) == {Reason.OBSTACLE_STOP}


def test_an_emergency_stop_stops_an_operator_too(bench: Bench) -> None:
    bench.hand = (0.5, 0.0)
    bench.wait(1.0)
    bench.press()
    bench.wait(1.0)
    assert bench.command == (0.0, 0.0)


def test_a_stop_never_asks_for_more_than_was_commanded(bench: Bench) -> None:
    cruise(bench, 0.2)
    bench.motion = (0.8, 1.5)  # what it coasts at, or what a broken sensor says
    bench.time.wait(TICK)
    bench.pulse()
    bench.press()
    for _ in range(20):
        bench.time.wait(TICK)
        bench.pulse()
        for decision in (*bench.operate(0.5, 0.0), *bench.tick()):
            assert decision.verdict is Verdict.STOPPED
            assert decision.command[0] <= 0.2
            assert decision.command[1] == 0.0


def test_late_requests_of_the_policy_are_not_held_against_the_operator() -> None:
    bench = Bench(with_operator({('safety', 'overruns'): {'exceeded': 1, 'of': 5}})).start()
    for _ in range(5):
        bench.time.wait(PERIOD)
        bench.pulse()
        bench.ask(0.1, 0.0, age=0.3)
    assert reasons(bench.ask(0.1, 0.0, age=0.3)) == {Reason.LATENCY_BUDGET}
    bench.time.wait(TICK)
    [decision] = bench.operate(0.1, 0.0)
    assert decision.verdict is not Verdict.STOPPED


# Giving back -------------------------------------------------------------------------------------


def test_the_policy_goes_on_from_what_the_operator_commanded(bench: Bench) -> None:
    bench.hand = (0.5, 0.0)
    bench.wait(1.0, policy=(0.1, 0.0))
    bench.motion, bench.hand = (0.45, 0.0), None
    bench.pulse()
    bench.operate(0.5, 0.0, switch=0.0)
    bench.time.wait(TICK)
    decision = bench.ask(0.8, 0.0)
    assert not decision.inputs.seeded
    assert decision.inputs.previous_command == (0.5, 0.0)
    assert not bench.gate.state.status(bench.time.now).teleoperated


def test_a_hand_that_is_silent_has_let_go(bench: Bench) -> None:
    bench.operate(0.5, 0.0)
    bench.time.wait(0.2 + TICK)
    bench.pulse()
    bench.tick()
    assert bench.ask(0.1, 0.0).verdict is not Verdict.REJECTED


def test_nobody_at_the_switch_and_a_silent_policy_stop_the_robot(bench: Bench) -> None:
    bench.hand = (0.5, 0.0)
    bench.wait(1.0)
    bench.operate(0.5, 0.0, switch=0.0)
    bench.hand = None
    bench.wait(SAFETY.command_timeout + 0.5)
    assert bench.command == (0.0, 0.0)


def test_neither_goal_of_before_is_crept_to_after_a_change_of_hands() -> None:
    bench = Bench(with_operator({('safety', 'republish_period'): 0.04})).start()
    bench.ask(0.8, 0.0)
    bench.time.wait(TICK)
    bench.pulse()
    bench.operate(0.5, 0.0)
    before = bench.command
    bench.operate(0.5, 0.0, switch=0.0)
    bench.wait(0.1)
    assert bench.command == before


def test_a_request_that_was_refused_meanwhile_is_not_heard_when_it_comes_again(
    bench: Bench,
) -> None:
    bench.operate(0.0, 0.0)
    refused = bench.ask(0.5, 0.0)
    bench.operate(0.0, 0.0, switch=0.0)
    assert refused.request is not None
    [again] = bench.gate.apply(Request(request=refused.request, now=bench.time.now))
    assert reasons(again) == {Reason.OUT_OF_ORDER}


def test_a_gate_run_again_finds_the_hand_where_a_clock_stepped_back_for_a_moment() -> None:
    bench = Bench(replace(with_operator(), sim_time=True))
    bench.time = Timepiece(clock=Clock.ROS)
    bench.time.ros = 100_000_000_000
    cruise(bench.start())
    bench.operate(0.5, 0.0)
    bench.time.jump_ros(-0.5)
    bench.tick()
    bench.time.jump_ros(0.5)
    # The hand is there again, for its message is not old.
    assert reasons(bench.ask(0.4, 0.0)) == {Reason.OPERATOR}
    bench.run_again()


def test_a_gate_run_again_knows_nothing_of_a_hand_that_let_go_between_two_decisions() -> None:
    bench = Bench(with_operator({('safety', 'republish_period'): 0.04})).start()
    bench.operate(0.8, 0.0)
    bench.time.wait(TICK)
    bench.operate(0.8, 0.0, switch=0.0)
    bench.operate(math.nan, 0.0)
    bench.wait(0.1)
    assert {d.verdict for d in bench.witness.decisions} >= {Verdict.REJECTED, Verdict.HELD}
    bench.run_again()


def test_a_takeover_that_asks_for_nothing_that_may_be_sent_holds_the_last_command() -> None:
    bench = Bench(with_operator({('safety', 'republish_period'): 0.04})).start()
    bench.ask(0.8, 0.0)
    bench.time.wait(TICK)
    [refused] = bench.operate(math.nan, 0.0)
    assert refused.verdict is Verdict.REJECTED
    before = bench.command
    bench.operate(0.0, 0.0, switch=0.0)
    bench.wait(0.2)
    assert bench.command == before
    bench.run_again()


# When nothing may move ---------------------------------------------------------------------------


def test_an_operator_moves_nothing_without_a_running_episode() -> None:
    bench = Bench(with_operator())
    bench.hand = (0.5, 0.0)
    assert bench.wait(0.3) == ()
    bench.say(EpisodeState.RESETTING)
    bench.pulse()
    assert bench.wait(0.3) == ()
    bench.arm()
    assert bench.wait(0.3) == ()
    assert bench.command is None


def test_a_switch_that_is_held_before_the_arming_holds_the_policy_off() -> None:
    bench = Bench(with_operator())
    bench.hand = (0.0, 0.0)
    bench.start()
    refused = bench.ask(0.5, 0.0)
    assert reasons(refused) == {Reason.OPERATOR}


def test_a_switch_that_is_held_before_the_arming_need_not_be_heard_again() -> None:
    bench = Bench(with_operator())
    bench.operate(0.0, 0.0)
    assert reasons(bench.start().ask(0.5, 0.0)) == {Reason.OPERATOR}


def test_a_switch_that_was_held_long_before_the_arming_does_not() -> None:
    bench = Bench(with_operator())
    bench.operate(0.0, 0.0)
    bench.time.wait(10.0)
    bench.start()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


def test_the_end_of_the_episode_ends_what_an_operator_moves(bench: Bench) -> None:
    bench.hand = (0.5, 0.0)
    bench.wait(1.0)
    bench.say(EpisodeState.TERMINATED)
    seen = bench.wait(1.0)
    assert bench.command == (0.0, 0.0)
    assert {d.verdict for d in seen} == {Verdict.STOPPED}
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


# Lockstep ----------------------------------------------------------------------------------------


def lockstep_bench(horizon: int = 1) -> LockstepBench:
    contract = replace(with_operator(pacing=Pacing.LOCKSTEP), horizon=horizon)
    return LockstepBench(contract).begin()


def lockstep_world() -> EpisodeWorld:
    return EpisodeWorld(pacing=Pacing.LOCKSTEP, contract=with_operator()).start()


def hand(world: EpisodeWorld, *command: float, switch: float = 1.0) -> None:
    world.witness.teleoperated = switch >= 0.5
    captured = world.time.stamp()
    world.decided(
        world.gate.apply(
            Measured(name='operator', values=(*command, switch), captured=captured, now=world.now)
        )
    )


def test_in_lockstep_an_operator_moves_once_a_step_however_often_he_speaks() -> None:
    world = lockstep_world()
    most = RATE[0] * PERIOD
    for count in range(1, 4):
        for _ in range(50):
            hand(world, 0.8, 0.0)
        closed = world.step(0.0, 0.0)
        assert closed is not None
        assert closed.verdict is Verdict.REJECTED
        assert [d.trigger for d in closed.decisions if d.published] == [Trigger.OPERATOR]
        assert world.witness.last is not None
        assert world.witness.last[0] <= count * most + 1e-9
    assert world.witness.last[0] == pytest.approx(3 * most)
    # The world waits for the command that moves it, not for an answer to the request.
    assert world.advances[-1].command_stamp != 0


def test_in_lockstep_a_hand_goes_before_a_request_that_waited_for_the_world() -> None:
    bench = lockstep_bench()
    bench.hear(bench.request(0.8, 0.0))
    bench.step = 1
    assert bench.hear(bench.request(0.8, 0.0)) == ()
    bench.time.jump_ros(3 * PERIOD)  # longer than a hand may be silent
    bench.advance(speak=('scan',))
    assert bench.operate(-0.1, 0.0, ago=0.0) == ()
    by_hand, refused = bench.measure('odometry')
    assert (by_hand.trigger, by_hand.published) == (Trigger.OPERATOR, True)
    assert reasons(refused) == {Reason.OPERATOR}


def test_in_lockstep_a_takeover_ends_a_chunk_and_the_world_goes_on() -> None:
    bench = lockstep_bench(horizon=3)
    bench.hear(bench.request(0.8, 0.0, 0.8, 0.0, 0.8, 0.0, horizon=3))
    bench.operate(-0.1, 0.0, ago=0.0)
    # What a stranger asks for meanwhile is nothing to the chunk.
    assert reasons(only(bench.hear(bench.request(0.1, 0.0, lease='another')))) == {
        Reason.WRONG_LEASE
    }
    bench.step = 1
    seen = bench.advance()
    bench.operate(-0.1, 0.0, ago=0.0)
    said = status(EpisodeState.RUNNING, bench.time.now, episode=bench.episode, step=1)
    told = EpisodeStatusReceived(status=said, now=bench.time.now)
    by_hand, refused = (*seen, *bench._see(bench.gate.apply(told)))
    assert by_hand.trigger is Trigger.OPERATOR
    assert (refused.trigger, reasons(refused)) == (Trigger.CHUNK, {Reason.OPERATOR})
    bench.operate(0.0, 0.0, switch=0.0, ago=0.0)
    bench.step = 2
    bench.advance()
    said = status(EpisodeState.RUNNING, bench.time.now, episode=bench.episode, step=2)
    assert bench.gate.apply(EpisodeStatusReceived(status=said, now=bench.time.now)) == ()
    bench.run_again()


def test_in_lockstep_a_hand_takes_over_while_requests_are_refused_for_their_number() -> None:
    bench = lockstep_bench()
    bench.hear(bench.request(0.8, 0.0))
    before = bench.command
    bench.operate(0.1, 0.0, ago=0.0)
    assert reasons(only(bench.hear(bench.request(0.8, 0.0)))) == {Reason.OUT_OF_ORDER}
    bench.operate(0.1, 0.0, switch=0.0, ago=0.0)
    assert bench.gate.state.commands.goal == before
    bench.run_again()


# What the environment makes of it ----------------------------------------------------------------


def operated(world: EpisodeWorld, seconds: float, *command: float) -> None:
    """Let a person drive for a while, whose device speaks at every slice."""
    for _ in range(round(seconds / world.slice)):
        world.witness.teleoperated = True
        world.decided(
            world.gate.apply(
                Measured(
                    name='operator',
                    values=(*command, 1.0),
                    captured=world.time.stamp(),
                    now=world.now,
                )
            )
        )
        world.pass_slice()


def test_a_step_in_a_takeover_closes_with_what_the_operator_did() -> None:
    world = EpisodeWorld(contract=with_operator()).start().run(0.5)
    operated(world, 0.6, 0.2, 0.5)
    last = world.transitions[-1]
    assert not last.truncated
    assert last.verdict is Verdict.REJECTED
    assert last.decision >= 0
    assert Reason.OPERATOR in reasons(last.decisions[last.decision])
    by_hand = [d for d in last.decisions if d.trigger is Trigger.OPERATOR]
    assert by_hand
    assert all(d.published for d in by_hand)
    assert not last.overrun
    # The client of a chunk that the takeover dropped is not left waiting for its end.
    request = next(d.request for t in world.transitions for d in t.decisions if d.request)
    dropped = replace(request, sequence=request.sequence + 1000, horizon=3)
    assert closed_by(last, dropped)
    assert not closed_by(world.transitions[1], dropped)


def test_a_policy_that_is_refused_by_a_takeover_is_not_lost() -> None:
    world = EpisodeWorld(contract=with_operator()).start().run(0.5)
    operated(world, SAFETY.policy_timeout + 1.0, 0.0, 0.2)
    assert world.state is EpisodeState.RUNNING
    world.witness.teleoperated = False
    world.decided(
        world.gate.apply(
            Measured(
                name='operator', values=(0.0, 0.0, 0.0), captured=world.time.stamp(), now=world.now
            )
        )
    )
    world.run(0.5)
    assert world.transitions[-1].verdict in (Verdict.ADMITTED, Verdict.LIMITED)


def test_a_policy_that_died_in_a_takeover_is_lost() -> None:
    world = EpisodeWorld(contract=with_operator()).start().run(0.5)
    world.alive.discard('policy')
    operated(world, SAFETY.policy_timeout + 0.5, 0.0, 0.2)
    assert world.state.over
    assert [t.ending for t in world.transitions if t.truncated] == ['policy_lost']


def test_an_instant_of_another_host_takes_nothing_over(bench: Bench) -> None:
    captured = Stamp(clock=bench.time.clock, nanoseconds=0, host='elsewhere')
    now = ClockReading(ros=bench.time.stamp(), steady=bench.time.steady)
    assert (
        bench.gate.apply(
            Measured(name='operator', values=(0.5, 0.0, 1.0), captured=captured, now=now)
        )
        == ()
    )
