# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A command stays in force until the gate knows better: across leases, takeovers and silence."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from boundary_env_ros.core.contract.model import ActionKind, Contract, OnStale, WaitStep
from boundary_env_ros.core.contract.safety import Operator
from boundary_env_ros.core.gate.gate_events import TimerStarted
from boundary_env_ros.core.records.decision import GateState, Reason, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.vectors import Vector
from support.core_world import rich, shipped
from support.gate_bench import Bench, reasons

RICH = rich()
PLACE = (0.5, -0.5)
#: Fingers that were told to close to 0.01 m, and an object of 0.04 m between them.
CLOSED, ON_AN_OBJECT = (0.01, 0.01), (0.04, 0.04)


def waiting(contract: Contract) -> Contract:
    """Return a contract whose reset only waits: it leaves the robot where it is."""
    wait = WaitStep(field='joints', target=(), sampled='', tolerance=(), deadline=1.0)
    reset = replace(contract.episode.reset, steps=(wait,), tolerance={})
    return replace(contract, episode=replace(contract.episode, reset=reset))


def of_groups(*groups: object) -> Contract:
    """Return a contract with these groups alone, and nothing that stops them but time."""
    return replace(
        RICH,
        action=groups,
        state=(),
        safety=replace(RICH.safety, rules=()),
        observation=tuple(replace(f, on_stale=OnStale.MARK) for f in RICH.observation),
    )


_FINGERS = replace(RICH.action[1], kind=ActionKind.CONTINUOUS, max_delta=())
_MOTORS = replace(
    RICH.action[3], kind=ActionKind.CONTINUOUS, levels=(), driver_timeout=None,
    low=(-20.0,) * 2, high=(20.0,) * 2, safe=(15.0,) * 2, max_effort_rate=(20.0,) * 2,
)  # fmt: skip
_BASE = replace(shipped().action[0], driver_timeout=0.3)
ARM = of_groups(replace(RICH.action[0], driver_timeout=None))


def next_lease(bench: Bench, episode: str = 'episode-2') -> None:
    """End the episode; 20 ms later another one runs, under a lease of its own."""
    bench.say(EpisodeState.TRUNCATED)
    bench.time.wait(0.02)
    bench.tick()
    bench.say(EpisodeState.RESETTING, episode)
    bench.arm()
    bench.say(EpisodeState.RUNNING)


def drive(bench: Bench, *action: float, periods: int = 1) -> None:
    for _ in range(periods):
        bench.time.wait(bench.contract.period)
        bench.pulse()
        bench.send(action)


# Across leases -----------------------------------------------------------------------------------


@pytest.mark.parametrize('why', ['emergency stop', 'timer'])
def test_a_stop_before_the_first_action_of_the_next_lease_says_the_last_command_again(
    why: str,
) -> None:
    bench = Bench(waiting(ARM))
    bench.motion = PLACE
    bench.start()
    drive(bench, 2.0, -0.5, periods=7)
    last = bench.command
    assert last == pytest.approx((1.2, -0.5))
    bench.motion, bench.lag = (1.0, -0.5), 0.2  # the arm lags, and so does what it says
    next_lease(bench)
    if why == 'timer':
        bench.alive.discard('environment')
        bench.time.wait(bench.contract.safety.environment_timeout + 0.01)
        [stop] = bench.tick()
    else:
        [stop] = bench.press()
    assert (stop.verdict, stop.command, stop.inputs.seeded) == (Verdict.STOPPED, last, False)


def test_the_first_action_of_the_next_lease_goes_on_from_the_last_command() -> None:
    bench = Bench(waiting(ARM))
    bench.motion = PLACE
    bench.start()
    drive(bench, 2.0, -0.5, periods=7)
    bench.motion = (1.0, -0.5)
    next_lease(bench)
    decision = bench.ask(-2.0, -0.5)
    inputs = decision.inputs
    assert (inputs.previous_command, inputs.seeded) == (
        (pytest.approx(1.2), -0.5),
        False,
    )
    assert decision.command == pytest.approx((1.2 - 1.0 * 0.02, -0.5))


def test_a_place_that_was_measured_before_the_last_command_is_not_where_the_robot_is() -> None:
    """A reset may have moved the robot; but what was measured before that does not say where."""
    bench = Bench(ARM)
    bench.motion = PLACE
    bench.start()
    drive(bench, 2.0, -0.5, periods=7)
    bench.motion, bench.lag = (1.0, -0.5), 0.2
    next_lease(bench)
    [stop] = bench.press()
    assert (stop.verdict, stop.command) == (Verdict.STOPPED, ())
    bench.time.wait(0.3)
    bench.lag = 0.01
    bench.pulse()
    decision = bench.ask(1.0, -0.5)
    assert (decision.command, decision.inputs.seeded) == ((1.0, -0.5), True)


def test_a_reset_that_may_move_the_robot_ends_what_was_in_force() -> None:
    bench = Bench(ARM)
    bench.motion = PLACE
    bench.start()
    drive(bench, 0.7, -0.5, periods=3)
    next_lease(bench)
    bench.time.wait(0.3)
    bench.motion = (-1.0, 1.0)
    bench.pulse()
    assert bench.ask(-1.0, 1.0).command == (-1.0, 1.0)


def test_a_gripper_does_not_let_go_between_two_episodes() -> None:
    bench = Bench(waiting(of_groups(_FINGERS)))
    bench.motion = ON_AN_OBJECT
    bench.start()
    drive(bench, *CLOSED, periods=4)
    assert bench.command == CLOSED
    next_lease(bench)
    [stop] = bench.press()
    assert stop.command == CLOSED


def test_the_first_request_of_a_lease_goes_on_from_the_effort_that_was_commanded() -> None:
    bench = Bench(waiting(of_groups(_MOTORS)))
    bench.motion = (15.0, 15.0)
    bench.start()
    drive(bench, 15.0, 15.0, periods=2)
    bench.finish()
    bench.motion = (11.0, 11.0)
    bench.say(EpisodeState.RESETTING, 'episode-2')
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    bench.pulse()
    decision = bench.ask(15.0, 15.0)
    assert decision.inputs.previous_command == decision.command == (15.0, 15.0)


def test_a_deactivation_between_two_leases_moves_nothing_and_ends_what_was_in_force() -> None:
    """A hand may have moved it since; that nothing is in force from there on is in the record."""
    bench = Bench(waiting(of_groups(_FINGERS)))
    bench.motion = ON_AN_OBJECT
    bench.start()
    drive(bench, *CLOSED, periods=4)
    bench.finish()
    [stop] = bench.deactivate()
    assert (stop.command, stop.inputs.previous_command) == ((), CLOSED)
    assert Reason.DEACTIVATED in reasons(stop)
    bench.gate.apply(TimerStarted(now=bench.time.now))
    bench.say(EpisodeState.RESETTING, 'episode-2')
    bench.pulse()
    bench.arm()
    bench.say(EpisodeState.RUNNING)
    assert bench.ask(*ON_AN_OBJECT).inputs.seeded
    assert bench.gate.state.status(bench.time.now).state is GateState.RUNNING


# Takeovers ---------------------------------------------------------------------------------------


def test_a_takeover_of_an_arm_that_lags_does_not_jump_and_nor_does_giving_back() -> None:
    joystick = Operator(
        topic='joy', type='sensor_msgs/msg/Joy', source=RICH.action[1].source,
        scale=(1.0, 1.0), enable='buttons[4]', timeout=0.2,
    )  # fmt: skip
    bench = Bench(replace(ARM, safety=replace(ARM.safety, operator=joystick)))
    bench.motion = PLACE
    bench.start()
    drive(bench, 2.0, -0.5, periods=7)
    commands: list[Vector] = [bench.command or ()]
    for switch in (1.0, 1.0, 0.0, 1.0, 0.0):
        last = commands[-1]
        bench.motion = (last[0] - 0.3, -0.5)  # it lags
        bench.time.wait(0.02)
        bench.pulse()
        seen = bench.operate(*last, switch=switch) or bench.send(last)
        assert [d.inputs.seeded for d in seen if d.published] == [False]
        commands.append(seen[-1].command)
    most = ARM.action[0].rate[0] * 0.02 + 1e-9
    assert all(abs(b[0] - a[0]) <= most for a, b in pairwise(commands))


# Departing ---------------------------------------------------------------------------------------


def test_a_group_that_departs_frees_no_command_of_another_group() -> None:
    """The arm was pushed; the gripper, without `max_tracking_error`, holds on to its object."""
    bench = Bench(of_groups(replace(ARM.action[0], max_tracking_error=(0.2, 0.2)), _FINGERS))
    bench.motion = (*PLACE, *ON_AN_OBJECT)
    bench.start()
    drive(bench, *PLACE, *CLOSED, periods=4)
    bench.motion = (0.75, -0.4, *ON_AN_OBJECT)
    bench.time.wait(0.02)
    bench.pulse()
    decision = bench.ask(*PLACE, *CLOSED)
    inputs = decision.inputs
    assert (inputs.previous_command, inputs.seeded) == (
        (0.75, -0.4, *CLOSED),
        True,
    )
    assert decision.command[2:] == CLOSED


@pytest.mark.parametrize('how', ['departs', 'takes over'])
def test_what_begins_anew_leaves_the_motion_of_the_others_as_it_is(how: str) -> None:
    """An object holds the fingers apart, or their driver has let go; the arm is on its way."""
    pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')
    arm = replace(ARM.action[0], max_acceleration=(4.0, 4.0))
    fingers = replace(
        _FINGERS,
        max_tracking_error=(0.005,) * 2 if how == 'departs' else (),
        driver_timeout=None if how == 'departs' else 0.15,
    )
    contract = of_groups(arm, fingers)
    safety = replace(contract.safety, republish_period=0.02, gate_lateness=0.5)
    bench = Bench(replace(contract, safety=safety))
    bench.motion = (*PLACE, *ON_AN_OBJECT)
    bench.start()
    drive(bench, 2.0, -0.5, *ON_AN_OBJECT, periods=7)
    drive(bench, 2.0, -0.5, *CLOSED)
    bench.motion = (*bench.command[:2], *ON_AN_OBJECT)
    bench.time.wait(0.1 if how == 'departs' else 0.2)
    bench.pulse()
    before, decision = bench.command, bench.ask(2.0, -0.5, *CLOSED)
    assert decision.inputs.seeded
    assert decision.inputs.previous_command == (*before[:2], *ON_AN_OBJECT)
    # At its full speed of 1 rad/s before, and now; the fingers begin at rest.
    assert decision.inputs.previous_rate == pytest.approx((1.0, 0.0, 0.0, 0.0), abs=1e-5)
    assert decision.command[0] - before[0] == pytest.approx(decision.inputs.time_step, abs=1e-6)


# Silence of the gate -----------------------------------------------------------------------------


def test_a_driver_that_took_over_frees_no_command_of_another_driver() -> None:
    """The gate hung for longer than the base waits; the gripper follows its last command still."""
    bench = Bench(of_groups(_BASE, _FINGERS))
    bench.motion = (0.0, 0.0, *ON_AN_OBJECT)
    bench.start()
    drive(bench, 0.3, 0.0, *CLOSED, periods=4)
    bench.motion = (0.1, 0.0, *ON_AN_OBJECT)
    bench.time.wait(0.35)
    bench.pulse()
    decision = bench.ask(0.3, 0.0, *CLOSED)
    inputs = decision.inputs
    assert (inputs.previous_command, inputs.seeded) == (
        (0.1, 0.0, *CLOSED),
        True,
    )
    assert decision.command[2:] == CLOSED


@pytest.mark.parametrize('who', [Trigger.TIMER, Trigger.REQUEST])
def test_a_stop_brakes_what_is_in_force_beside_a_driver_that_took_over(who: Trigger) -> None:
    belt = replace(_BASE, name='belt', driver_timeout=None, max_deceleration=(1.0, 1.0))
    bench = Bench(of_groups(_BASE, belt))
    bench.start()
    drive(bench, 0.3, 0.0, 0.3, 0.0, periods=6)
    assert bench.command == pytest.approx((0.3, 0.0, 0.3, 0.0))
    bench.motion = (0.2, 0.0, 0.3, 0.0)
    bench.time.wait(0.35)
    bench.pulse()
    bench.alive.discard('environment')
    if who is Trigger.TIMER:
        [stop] = bench.press()
    else:
        bench.witness.latched = True
        state = bench.gate.state
        latched = replace(state.lease_state, emergency=True)
        bench.gate.state = replace(state, lease_state=latched)
        stop = bench.ask(0.3, 0.0, 0.3, 0.0)
    assert stop.verdict is Verdict.STOPPED
    assert stop.command == pytest.approx((0.0, 0.0, 0.3 - 1.0 * bench.contract.period, 0.0))


_ARM_THAT_WAITS = replace(RICH.action[0], driver_timeout=0.25)
_BASE_IN_FORCE = replace(_BASE, driver_timeout=None)


@pytest.mark.parametrize('who', [Trigger.TIMER, Trigger.REQUEST])
def test_a_stop_says_no_place_that_was_measured_before_the_last_command(who: Trigger) -> None:
    bench = Bench(of_groups(_ARM_THAT_WAITS, _BASE_IN_FORCE))
    bench.motion = (*PLACE, 0.0, 0.0)
    bench.start()
    drive(bench, 2.0, -0.5, 0.0, 0.0, periods=4)
    last = bench.command
    assert last == pytest.approx((0.9, -0.5, 0.0, 0.0))
    bench.time.wait(0.26)
    bench.say(EpisodeState.RUNNING)
    bench.lag = 0.27
    bench.motion = (0.7, -0.5, 0.0, 0.0)
    bench.sense()
    if who is Trigger.TIMER:
        [stop] = bench.press()
        assert (stop.verdict, stop.command) == (Verdict.STOPPED, last)
    else:
        decision = bench.ask(2.0, -0.5, 0.0, 0.0)
        assert decision.inputs.previous_command == last


@pytest.mark.parametrize('how', ['timer', 'deactivation', 'end'])
def test_a_stop_brakes_what_is_in_force_beside_an_arm_of_which_nothing_is_known(how: str) -> None:
    """The gate hung, the arm's driver took over, its feedback is gone; the base still drives."""
    bench = Bench(of_groups(_ARM_THAT_WAITS, _BASE_IN_FORCE))
    bench.motion = (*PLACE, 0.0, 0.0)
    bench.start()
    drive(bench, *PLACE, 0.3, 0.0, periods=5)
    last = bench.command or ()
    bench.alive.discard('odometry')
    bench.time.wait(0.45)
    if how == 'end':
        bench.say(EpisodeState.TRUNCATED)
    seen = bench.deactivate() if how == 'deactivation' else bench.wait(1.0)
    assert {d.command[:2] for d in seen if d.published} == {last[:2]}
    assert seen[-1].command[2:] == (0.0, 0.0)
