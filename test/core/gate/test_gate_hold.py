# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots for which to stop is to stay: arms that hold, and fields that hold the robot."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
import math
from typing import Any

import pytest

from boundary_env_ros.core.contract.model import ActionKind, Contract, OnStale, OutOfBounds
from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    EpisodeStatusReceived,
    Measured,
    Request,
    WorldMoved,
)
from boundary_env_ros.core.records.decision import GateState, Reason, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.sources.inputs import gate_inputs
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from support.core_world import Message, only, rich, shipped, stamped
from support.gate_bench import Bench, reasons

RICH = rich()


def arm_contract() -> Contract:
    """Return the contract of an arm alone: two joints that stay where they are when it stops."""
    return replace(
        RICH,
        state=(),
        action=RICH.action[:1],
        safety=replace(RICH.safety, rules=()),
        observation=tuple(replace(f, on_stale=OnStale.MARK) for f in RICH.observation),
    )


ARM = arm_contract()


def profiled_arm(**changes: Vector) -> Contract:
    """Return the contract of an arm with other limits on its motion."""
    safety = replace(ARM.safety, republish_period=0.02)
    return replace(ARM, action=(replace(ARM.action[0], **changes),), safety=safety)


PROFILES = pytest.mark.parametrize(
    'changes',
    [
        {},
        {'max_acceleration': (4.0, 4.0)},
        {'max_acceleration': (4.0, 4.0), 'max_jerk': (40.0, 40.0)},
    ],
    ids=['velocity', 'acceleration', 'jerk'],
)
PLACE = (0.5, -0.5)


def arm(contract: Contract = ARM) -> Bench:
    """Return an arm somewhere, whose episode runs."""
    bench = Bench(contract)
    bench.motion = PLACE
    return bench.start()


def move(bench: Bench, *action: float, periods: int = 1) -> None:
    for _ in range(periods):
        bench.wait(bench.contract.period - bench.contract.safety.gate_period, policy=None)
        bench.time.wait(bench.contract.safety.gate_period)
        bench.send(action)


def blind() -> Bench:
    """Return an arm that says nothing of itself any more when its episode begins to run."""
    return Bench(ARM).start_without('odometry')


# Staying where it is -----------------------------------------------------------------------------


def test_the_first_command_starts_from_where_the_arm_is() -> None:
    bench = arm()
    decision = bench.ask(2.0, -0.5)
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == PLACE
    assert decision.command == pytest.approx((0.6, -0.5))


def test_an_arm_that_nobody_asks_stays_where_its_last_command_was() -> None:
    bench = arm()
    move(bench, 0.7, -0.7, periods=4)
    last = bench.command
    for decision in bench.wait(0.6):
        assert decision.command == last
        assert decision.verdict in (Verdict.HELD, Verdict.STOPPED)
    assert decision.verdict is Verdict.STOPPED


def test_an_emergency_stop_stays_at_the_last_command() -> None:
    bench = arm()
    move(bench, 0.7, -0.7)
    last = bench.command
    # The last command is the one to stay at already: it is said again when it is due.
    seen = bench.press()
    assert bench.gate.state.status(bench.time.now).state is GateState.EMERGENCY_STOPPED
    seen += bench.wait(bench.contract.period)
    assert [(d.verdict, d.command) for d in seen] == [(Verdict.STOPPED, last)]
    assert Reason.EMERGENCY_STOP in reasons(seen[0])
    assert bench.ask(0.9, -0.7).command == last


def test_it_goes_on_from_there_after_a_stop_has_gone() -> None:
    bench = arm()
    move(bench, 0.7, -0.7, periods=4)
    last = bench.command
    bench.alive.discard('environment')
    bench.wait(0.5)
    bench.alive.add('environment')
    bench.time.wait(0.05)
    bench.pulse()
    decision = bench.ask(0.9, -0.7)
    assert last is not None
    assert decision.inputs.previous_command == last
    assert decision.command[0] > last[0]


def test_the_end_of_a_lease_leaves_the_arm_where_it_is_and_says_nothing_more() -> None:
    bench = arm()
    move(bench, 0.7, -0.7)
    assert bench.finish() == ()
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


def test_the_next_episode_starts_from_where_the_arm_is_by_then() -> None:
    bench = arm()
    move(bench, 0.7, -0.7, periods=3)
    bench.finish()
    bench.motion = (-1.0, 1.0)
    bench.say(EpisodeState.RESETTING, 'episode-2')
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    decision = bench.ask(-1.0, 1.0)
    assert decision.inputs.seeded
    assert decision.command == (-1.0, 1.0)


def test_after_the_driver_took_over_it_starts_from_where_the_arm_is() -> None:
    bench = arm()
    move(bench, 0.7, -0.7, periods=3)
    bench.motion = (0.2, -0.2)
    bench.time.wait(0.27)  # longer than the driver's timeout: nothing ran meanwhile
    bench.pulse()
    decision = bench.ask(0.2, -0.2)
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == (0.2, -0.2)


def test_a_rate_is_that_of_the_trajectory_where_it_is_shorter_than_the_period() -> None:
    group = ARM.action[0]
    short = replace(group, source=replace(group.source, duration=0.025))
    bench = arm(replace(ARM, action=(short,)))
    decision = bench.ask(2.0, -0.5)
    assert decision.command == pytest.approx((0.525, -0.5))
    [result] = decision.rules
    assert result.value == pytest.approx(1.5 / 0.025)
    assert bench.gate.reach(bench.time.now)[1][0] == pytest.approx(0.525)
    move(bench, 2.0, -0.5)
    assert bench.command == pytest.approx((0.55, -0.5))


def test_a_late_action_moves_no_arm_that_is_to_hold_safely() -> None:
    bench = arm(replace(ARM, safety=replace(ARM.safety, on_timeout=OnTimeout.SAFE)))
    move(bench, 0.7, -0.7, periods=4)
    last = bench.command
    assert {decision.command for decision in bench.wait(0.6)} == {last}


# Outside of its bounds ---------------------------------------------------------------------------

OUTSIDE = (3.3, -3.1)


def outside(contract: Contract = ARM) -> Bench:
    """Return an arm at rest outside of its bounds, whose episode runs."""
    bench = Bench(contract)
    bench.motion = OUTSIDE
    return bench.start()


@pytest.mark.parametrize('why', ['emergency stop', 'timer'])
def test_a_stop_before_any_action_leaves_an_arm_outside_of_its_bounds_where_it_is(
    why: str,
) -> None:
    bench = outside()
    if why == 'timer':
        bench.alive.discard('environment')
    else:
        bench.press()
    seen = bench.wait(1.0)
    assert seen
    assert {(d.verdict, d.command) for d in seen} == {(Verdict.STOPPED, OUTSIDE)}


def test_what_a_stop_holds_is_latched_though_the_arm_sags() -> None:
    bench = outside()
    bench.press()
    for sag in (3.2, 3.1, 3.0):
        bench.motion = (sag, -3.1)
        assert all(decision.command == OUTSIDE for decision in bench.wait(0.2))


@PROFILES
def test_from_outside_its_bounds_an_arm_only_comes_back_within_its_limits(
    changes: dict[str, Vector],
) -> None:
    contract = profiled_arm(**changes)
    bench = outside(contract)
    assert bench.ask(*OUTSIDE).command == OUTSIDE
    commands = [OUTSIDE]
    for _ in range(80):
        bench.time.wait(0.02)
        bench.pulse()
        commands.append(bench.ask(0.0, 0.0).command)
    low, high = contract.flat('low'), contract.flat('high')
    most = contract.flat('rate')
    for before, after in pairwise(commands):
        for i in range(2):
            assert abs(after[i] - before[i]) <= most[i] * 0.02 + 1e-9
            assert min(low[i], before[i]) <= after[i] <= max(high[i], before[i])
    assert all(low[i] <= commands[-1][i] <= high[i] for i in range(2))
    if changes:
        for one, two, three in zip(commands, commands[1:], commands[2:], strict=False):
            for i in range(2):
                assert abs(three[i] - 2.0 * two[i] + one[i]) <= 4.0 * 0.02**2 + 1e-9


@PROFILES
def test_it_stays_outside_where_it_is_stopped_on_its_way_back(changes: dict[str, Vector]) -> None:
    bench = outside(profiled_arm(**changes))
    bench.wait(0.2, policy=(0.0, 0.0))
    last = bench.command
    assert last is not None
    assert 2.5 < last[0] < 3.3
    bench.press()
    assert {decision.command for decision in bench.wait(0.5)} == {last}


def test_a_difference_from_outside_of_the_bounds_is_not_refused_for_where_the_arm_is() -> None:
    group = ARM.action[0]
    delta = replace(
        group, kind=ActionKind.DELTA, max_delta=(0.05, 0.05), out_of_bounds=OutOfBounds.REJECT
    )
    bench = outside(replace(ARM, action=(delta,)))
    decision = bench.ask(-0.05, 0.0)
    assert decision.verdict is Verdict.ADMITTED
    assert decision.command == (3.25, -3.1)
    assert bench.ask(0.05, 0.0).verdict is Verdict.REJECTED


# Where nobody knows where it is ------------------------------------------------------------------


def test_nothing_is_published_while_nobody_knows_where_the_arm_is() -> None:
    bench = blind()
    decision = bench.ask(0.0, 0.0)
    assert (decision.verdict, decision.command) == (Verdict.STOPPED, ())
    assert reasons(decision) == {Reason.OBSERVATION_TIMEOUT}
    assert not decision.published
    assert bench.command is None


def test_it_is_told_once_and_not_at_every_turn_of_the_timer() -> None:
    bench = blind()
    told = bench.wait(0.25)
    assert [d.verdict for d in told] == [Verdict.STOPPED]
    assert bench.gate.state.status(bench.time.now).state is GateState.STOPPING


def test_another_reason_is_told_too_though_nothing_can_be_published() -> None:
    """The environment ends the episode for some of them; it must hear of each."""
    bench = blind()
    bench.wait(0.1)
    [decision] = bench.press()
    assert (decision.verdict, decision.command) == (Verdict.STOPPED, ())
    assert Reason.EMERGENCY_STOP in reasons(decision)
    assert bench.wait(0.1) == ()


def test_it_moves_as_soon_as_it_is_known() -> None:
    bench = blind()
    bench.wait(0.2)
    bench.alive.add('odometry')
    bench.motion = PLACE
    bench.pulse()
    decision = bench.ask(*PLACE)
    assert (decision.verdict, decision.command) == (Verdict.ADMITTED, PLACE)


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_a_place_that_is_no_number_is_unknown(value: float) -> None:
    bench = Bench(ARM)
    bench.motion = (0.0, value)
    bench.start()
    assert bench.ask(0.0, 0.0).command == ()


def test_every_request_is_answered_though_nothing_can_be_published() -> None:
    bench = blind()
    for _ in range(5):
        bench.time.wait(0.02)
        decision = bench.ask(0.0, 0.0)
        assert (decision.verdict, decision.command) == (Verdict.STOPPED, ())


def test_the_end_of_a_lease_of_a_blind_arm_leaves_nothing_behind() -> None:
    bench = blind()
    bench.ask(0.0, 0.0)
    assert bench.finish() == ()
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


def base_and_arm() -> Contract:
    """Return an arm on a base that moves on, unless it is braked."""
    base = replace(
        shipped().action[0], driver_timeout=0.3, feedback=replace(RICH.action[2].feedback)
    )
    return replace(ARM, action=(base, ARM.action[0]))


def test_a_base_brakes_while_its_arm_stays() -> None:
    bench = Bench(base_and_arm())
    bench.motion = (0.0, 0.0, *PLACE)
    bench.start()
    move(bench, 0.3, 0.0, *PLACE, periods=4)
    assert bench.command == pytest.approx((0.3, 0.0, *PLACE))
    for decision in bench.wait(1.0):
        assert decision.command[2:] == PLACE
    assert bench.command == (0.0, 0.0, *PLACE)


def test_winding_down_ends_where_nobody_knows_where_to_stay() -> None:
    """The gate was held up until the driver took over, and the arm went blind meanwhile."""
    bench = Bench(base_and_arm())
    bench.motion = (0.0, 0.0, *PLACE)
    bench.start()
    move(bench, 0.3, 0.0, *PLACE, periods=4)
    bench.alive.discard('odometry')
    bench.say(EpisodeState.TRUNCATED)
    bench.time.wait(0.5)
    seen = bench.wait(0.5)
    assert [(d.verdict, d.command) for d in seen] == [(Verdict.STOPPED, ())]
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED


# Fields that hold the robot ----------------------------------------------------------------------

HOLDING = replace(
    ARM,
    observation=tuple(
        replace(f, on_stale=OnStale.STOP) if f.name == 'wrench' else f for f in ARM.observation
    ),
)
MAX_AGE = 0.2


def test_a_field_that_holds_stops_the_robot_when_it_is_stale_and_lets_it_go_on_after() -> None:
    bench = arm(HOLDING)
    move(bench, 0.7, -0.7, periods=3)
    last = bench.command
    bench.alive.discard('alive.wrench')
    bench.wait(MAX_AGE - 0.06)
    assert bench.ask(0.7, -0.7).verdict is not Verdict.STOPPED
    last = bench.command
    bench.wait(0.08)
    decision = bench.ask(0.9, -0.7)
    assert (decision.verdict, decision.command) == (Verdict.STOPPED, last)
    [result] = decision.rules
    assert (result.rule, result.reason, result.limit) == (
        'sensors.alive.wrench', Reason.OBSERVATION_TIMEOUT, MAX_AGE,
    )  # fmt: skip
    assert result.value is not None
    assert result.value > MAX_AGE
    bench.alive.add('alive.wrench')
    bench.time.wait(0.05)
    bench.pulse()
    decision = bench.ask(0.9, -0.7)
    assert decision.verdict is Verdict.LIMITED
    assert last is not None
    assert decision.command[0] > last[0]


def test_a_field_that_holds_stops_by_the_timer_too() -> None:
    bench = arm(HOLDING)
    move(bench, 0.7, -0.7)
    bench.alive.discard('alive.wrench')
    seen = bench.wait(MAX_AGE + 0.1)
    assert seen[-1].verdict is Verdict.STOPPED
    assert seen[-1].trigger is Trigger.TIMER
    assert Reason.OBSERVATION_TIMEOUT in reasons(seen[-1])


def test_a_gate_that_has_not_heard_a_field_that_holds_is_not_armed() -> None:
    bench = Bench(HOLDING)
    bench.alive.discard('alive.wrench')
    bench.say(EpisodeState.RESETTING)
    assert 'alive.wrench (/wrench, never heard)' in bench.refused()


def test_a_field_that_holds_and_fell_silent_during_the_reset_holds() -> None:
    bench = Bench(HOLDING)
    bench.motion = PLACE
    bench.start_without('alive.wrench')
    decision = bench.ask(*PLACE)
    assert (decision.verdict, decision.command) == (Verdict.STOPPED, PLACE)


def test_a_field_that_is_punctual_with_old_values_holds_too() -> None:
    bench = arm(HOLDING)
    bench.lag = MAX_AGE + 0.05
    bench.pulse()
    assert bench.ask(*PLACE).verdict is Verdict.STOPPED


def test_of_what_holds_it_is_told_that_it_can_be_used() -> None:
    bench = arm(HOLDING)
    decision = bench.ask(*PLACE)
    [measurement] = [m for m in decision.inputs.measurements if m.name == 'alive.wrench']
    assert (measurement.values, measurement.topic) == ((1.0,), '/wrench')
    assert decision.verdict is Verdict.ADMITTED


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_a_field_that_holds_and_is_not_measured_stops_at_once(value: float) -> None:
    bench = arm(HOLDING)
    assert bench.ask(*PLACE).verdict is Verdict.ADMITTED
    [item] = [item for item in gate_inputs(HOLDING) if item.name == 'alive.wrench']
    force = stamped(
        1.0, wrench=Message(force=Message(x=value, y=0.0, z=0.0), torque=Message(z=0.5))
    )
    values = item.read(force).values
    bench.gate.apply(
        Measured(
            name='alive.wrench', values=values, captured=bench.time.stamp(), now=bench.time.now
        )
    )
    decision = bench.ask(*PLACE)
    assert decision.verdict is Verdict.STOPPED
    assert Reason.SENSOR_INVALID in reasons(decision)


def test_a_field_that_only_marks_does_not_hold() -> None:
    assert [i.name for i in gate_inputs(ARM)] == ['feedback.arm']


def test_in_lockstep_a_field_that_holds_is_judged_by_the_time_of_the_world() -> None:
    """However long the policy thinks, the world stands still meanwhile."""
    from boundary_env_ros.core.records.lockstep import Advanced, SimStepResponse
    from boundary_env_ros.core.timebase import Clock, RosTime
    from support.core_world import AGENT, DIGEST, EPISODE, request_for, status, Timepiece

    contract = HOLDING.paced(Pacing.LOCKSTEP)
    time = Timepiece(clock=Clock.ROS)
    time.ros_paused = True
    time.ros = 50 * NANOSECONDS
    topics = {i.name: f'/{i.topic}' for i in gate_inputs(contract)}
    gate = Gate(contract, digest=DIGEST, agent=AGENT, topics=topics)

    def say(state: EpisodeState) -> None:
        gate.apply(
            EpisodeStatusReceived(
                status=status(state, time.now, pacing=Pacing.LOCKSTEP), now=time.now
            )
        )

    say(EpisodeState.RESETTING)
    gate.apply(
        Arm(
            digest=DIGEST,
            agent=AGENT,
            episode_id=EPISODE,
            client='policy',
            lease_id='lease-1',
            now=time.now,
        )
    )

    def advance(step: int, *names: str) -> None:
        time.jump_ros(contract.period)
        for name in names:
            gate.apply(
                Measured(
                    name=name,
                    values=PLACE if 'feedback' in name else (1.0,),
                    captured=time.stamp(),
                    now=time.now,
                )
            )
        spoke = sorted({topics[name] for name in names})
        report = SimStepResponse(
            id=replace(status(EpisodeState.RUNNING, time.now).id, step=step), success=True,
            message='', topics=tuple(spoke), published=(1,) * len(spoke),
            last_stamp=(RosTime(time.ros),) * len(spoke), dropped=(0,) * len(spoke),
        )  # fmt: skip
        gate.apply(WorldMoved(report=Advanced(report=report, now=time.ros), now=time.now))

    both: tuple[Any, ...] = ('feedback.arm', 'alive.wrench')
    verdicts: list[tuple[Verdict, Vector]] = []
    for step, names in enumerate([both, both[:1], both[:1], both[:1], both], start=1):
        advance(step - 1, *names)
        say(EpisodeState.RUNNING)
        time.wait(2.0)  # steady: the policy thinks
        say(EpisodeState.RUNNING)
        request = request_for(PLACE, step, time.now, time.now, step=step)
        decision = only(gate.apply(Request(request=request, now=time.now)))
        verdicts.append((decision.verdict, decision.command))
    admitted, stopped = (Verdict.ADMITTED, PLACE), (Verdict.STOPPED, PLACE)
    assert verdicts == [admitted, admitted, admitted, stopped, admitted]
