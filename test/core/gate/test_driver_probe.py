# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What stops the robot when the gate does not, measured before anybody may move it."""

from __future__ import annotations

from dataclasses import replace
import math

import pytest

from boundary_env_ros.core.contract.model import Contract, OnStale
from boundary_env_ros.core.gate.gate_events import ProbeDrivers
from boundary_env_ros.core.records.decision import (
    GateDecision,
    GateState,
    Reason,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import RequestRejected, ResultCode
from support.core_world import Path_, rich, shipped
from support.gate_bench import Bench
from support.gate_numbers import TICK

PROBED: dict[Path_, object] = {
    ('action', 'base', 'driver_timeout_probe'): [0.1, 0.0], ('safety', 'obstacles'): None,
}  # fmt: skip
DECLARED = 0.25


class Cart:
    """A cart that does what it is told, until its driver has heard nothing for a while."""

    def __init__(self, bench: Bench, timeout: float) -> None:
        self.bench, self.timeout = bench, timeout
        self.told: tuple[float, ...] = (0.0, 0.0)
        self.since = 0.0
        self.follows = True
        self.seen: list[GateDecision] = []

    def tick(self) -> None:
        """Let one period of the gate's timer pass."""
        bench = self.bench
        bench.time.wait(TICK)
        self.since += TICK
        bench.witness.braked = self.since > self.timeout + 1e-9
        bench.motion = (0.0, 0.0) if bench.witness.braked else self.told
        if not self.follows:
            bench.motion = (0.0, 0.0)
        bench.pulse()
        for decision in bench.tick():
            self.seen.append(decision)
            if decision.command:
                self.told, self.since = decision.command, 0.0

    def run(self, seconds: float) -> None:
        """Let some time pass."""
        for _ in range(round(seconds / TICK)):
            self.tick()

    def until_silent(self) -> None:
        """Let time pass until the gate has fallen silent to listen."""
        for _ in range(200):
            count = len(self.seen)
            self.tick()
            if self.seen and len(self.seen) == count:
                return
        raise AssertionError('the gate does not fall silent')

    @property
    def timeouts(self) -> tuple[float, ...]:
        """What the gate says to have measured."""
        return self.bench.gate.state.status(self.bench.time.now).driver_timeouts


def contract(changes: dict[Path_, object] | None = None) -> Contract:
    return shipped({**PROBED, **(changes or {})})


def probing(timeout: float = DECLARED, changes: dict[Path_, object] | None = None) -> Cart:
    bench = Bench(contract(changes))
    bench.pulse()
    bench.gate.apply(ProbeDrivers(now=bench.time.now))
    bench.witness.probing = True
    return Cart(bench, timeout)


def refused(bench: Bench, episode: str = 'episode-1') -> RequestRejected:
    """Return why an arming is refused."""
    bench.say(EpisodeState.RESETTING, episode)
    with pytest.raises(RequestRejected) as caught:
        bench.arm()
    bench.leases -= 1
    return caught.value


# Before, while and after -------------------------------------------------------------------------


def test_nobody_arms_a_gate_that_has_not_probed_its_drivers() -> None:
    bench = Bench(contract())
    refusal = refused(bench)
    assert refusal.code is ResultCode.NOT_PROBED
    assert 'operator --probe' in str(refusal)
    assert bench.gate.to_probe


def test_nobody_arms_a_gate_that_is_probing_them() -> None:
    cart = probing()
    cart.run(0.1)
    assert cart.bench.gate.state.status(cart.bench.time.now).state is GateState.PROBING
    assert refused(cart.bench).code is ResultCode.PROBING


def test_after_a_probe_the_gate_is_armed_and_commands_work() -> None:
    cart = probing()
    cart.run(2.0)
    bench = cart.bench
    assert not bench.gate.state.probing
    assert bench.gate.state.probe_failure == ''
    assert bench.gate.state.status(bench.time.now).state is GateState.DISARMED
    bench.witness.forget()
    bench.motion = (0.0, 0.0)
    bench.start()
    assert bench.ask(0.05, 0.0).verdict is Verdict.ADMITTED


@pytest.mark.parametrize('timeout', [0.1, 0.2, DECLARED, DECLARED + 0.1])
def test_what_is_measured_is_never_less_than_the_truth_nor_much_more(timeout: float) -> None:
    cart = probing(timeout)
    cart.run(2.0)
    [measured] = cart.timeouts
    assert timeout - 1e-9 <= measured <= timeout + 2 * TICK + 1e-9


def test_the_robot_moves_by_the_declared_command_and_at_its_rate_and_comes_to_rest() -> None:
    cart = probing()
    cart.run(2.0)
    moved = [d for d in cart.seen if d.trigger is Trigger.PROBE]
    assert moved[-1].command == (0.1, 0.0)
    assert max(d.command[0] for d in cart.seen) == 0.1
    assert all(d.rules[0].reason is Reason.DRIVER_TIMEOUT_PROBE for d in moved)
    assert cart.told == (0.0, 0.0) or cart.since > DECLARED
    assert cart.bench.motion == (0.0, 0.0)


def test_a_contract_without_a_probe_needs_none() -> None:
    bench = Bench()
    assert not bench.gate.to_probe
    with pytest.raises(RequestRejected) as caught:
        bench.gate.apply(ProbeDrivers(now=bench.time.now))
    assert caught.value.code is ResultCode.UNSUPPORTED
    bench.start()


def test_in_lockstep_no_driver_is_probed() -> None:
    bench = Bench(contract().paced(Pacing.LOCKSTEP))
    assert not bench.gate.to_probe


@pytest.mark.parametrize('timeout', [0.06, 0.1, 0.2])
def test_a_driver_that_brakes_sooner_than_declared_is_not_set_in_motion_again(
    timeout: float,
) -> None:
    cart = probing(timeout)
    cart.until_silent()
    count = len(cart.seen)
    cart.run(2.0)
    assert cart.bench.gate.state.probe_failure == ''
    assert not cart.bench.gate.state.probing
    assert [d.command for d in cart.seen[count:] if any(d.command)] == []


# When it fails -----------------------------------------------------------------------------------


@pytest.mark.parametrize('timeout', [DECLARED + 0.4, math.inf])
def test_a_driver_that_brakes_too_late_or_never_is_braked_and_refused(timeout: float) -> None:
    cart = probing(timeout)
    cart.run(3.0)
    assert '(expected after 0.25 s' in cart.bench.gate.state.probe_failure
    assert math.isnan(cart.timeouts[0])
    assert cart.bench.motion == (0.0, 0.0)
    refusal = refused(cart.bench)
    assert refusal.code is ResultCode.NOT_PROBED
    assert 'the probe failed: the driver of cmd_vel did not brake' in str(refusal)


def test_a_robot_that_does_not_follow_is_not_waited_for() -> None:
    cart = probing()
    cart.follows = False
    cart.run(4.0)
    assert 'did not follow' in cart.bench.gate.state.probe_failure
    assert cart.told == (0.0, 0.0)


def test_a_robot_that_says_nothing_is_never_set_in_motion() -> None:
    cart = probing()
    cart.bench.alive.discard('odometry')
    cart.bench.time.wait(1.0)
    cart.run(10.0)
    assert [d for d in cart.seen if any(d.command)] == []
    assert (
        'could not begin within 10 s (the feedback is missing)'
        in cart.bench.gate.state.probe_failure
    )


def test_a_probe_waits_for_the_sensors_before_it_moves_anything() -> None:
    bench = Bench(shipped({('action', 'base', 'driver_timeout_probe'): [0.1, 0.0]}))
    bench.gate.apply(ProbeDrivers(now=bench.time.now))  # before anything was heard
    bench.witness.probing = True
    bench.alive.discard('scan')
    cart = Cart(bench, DECLARED)
    cart.run(1.0)
    assert cart.seen == []
    assert bench.gate.state.probing
    bench.alive.add('scan')
    cart.run(2.0)
    assert bench.gate.state.probe_failure == ''
    assert cart.timeouts[0] == pytest.approx(DECLARED, abs=2 * TICK)


def test_a_robot_that_says_nothing_any_more_is_stopped() -> None:
    cart = probing()
    cart.run(0.06)
    assert cart.told[0] > 0.0
    cart.bench.alive.discard('odometry')
    cart.run(1.0)
    assert cart.bench.gate.state.probe_failure
    assert not cart.bench.gate.state.probing
    assert cart.told == (0.0, 0.0)


def test_a_robot_that_falls_silent_on_its_way_is_not_driven_on() -> None:
    cart = probing()
    cart.follows = False
    cart.run(0.06)
    assert cart.told[0] > 0.0
    cart.bench.alive.discard('odometry')
    cart.run(0.5)
    assert 'no longer known' in cart.bench.gate.state.probe_failure
    assert cart.told == (0.0, 0.0)


def test_one_that_is_faster_than_it_was_told_has_not_begun_to_brake() -> None:
    cart = probing()
    cart.until_silent()
    cart.bench.motion = (0.2, 0.0)
    cart.bench.pulse()
    cart.bench.tick()
    assert cart.bench.gate.state.probing
    cart.run(1.0)
    assert cart.timeouts[0] > DECLARED - 1e-9


@pytest.mark.parametrize('silent', [False, True])
def test_an_emergency_stop_brakes_at_once_whatever_is_being_measured(silent: bool) -> None:
    cart = probing(math.inf)
    cart.until_silent() if silent else cart.run(0.06)
    [decision] = cart.bench.press()
    assert decision.verdict is Verdict.STOPPED
    assert 'emergency_stop' in cart.bench.gate.state.probe_failure
    cart.told, cart.since = decision.command, 0.0
    cart.run(0.5)
    assert cart.told == (0.0, 0.0)
    with pytest.raises(RequestRejected) as caught:
        cart.bench.gate.apply(ProbeDrivers(now=cart.bench.time.now))
    assert caught.value.code is ResultCode.EMERGENCY_STOPPED


@pytest.mark.parametrize('silent', [False, True])
def test_an_obstacle_brakes_at_once_whatever_is_being_measured(silent: bool) -> None:
    bench = Bench(shipped({('action', 'base', 'driver_timeout_probe'): [0.1, 0.0]}))
    bench.pulse()
    bench.gate.apply(ProbeDrivers(now=bench.time.now))
    bench.witness.probing = True
    cart = Cart(bench, math.inf)
    cart.until_silent() if silent else cart.run(0.06)
    bench.scan = (0.3, 8.0, 1.0, 1.0)
    cart.run(0.5)
    assert 'obstacle_stop' in bench.gate.state.probe_failure
    assert cart.told == (0.0, 0.0)


def test_a_base_that_never_brakes_is_stopped_though_nobody_knows_where_its_arm_is() -> None:
    rich_one = rich()
    base = replace(contract().action[0], feedback=replace(rich_one.action[2].feedback))
    arm_and_base = replace(
        rich_one,
        state=(),
        action=(base, rich_one.action[0]),
        safety=replace(rich_one.safety, rules=()),
        observation=tuple(replace(f, on_stale=OnStale.MARK) for f in rich_one.observation),
    )
    bench = Bench(arm_and_base)
    bench.motion = (0.0, 0.0, 0.5, -0.5)
    bench.pulse()
    bench.gate.apply(ProbeDrivers(now=bench.time.now))
    bench.witness.probing = True

    def run(seconds: float) -> None:
        for _ in range(round(seconds / TICK)):
            bench.time.wait(TICK)
            bench.pulse()
            for decision in bench.tick():
                bench.motion = decision.command or bench.motion

    run(0.3)
    assert bench.motion[0] == 0.1
    bench.alive.discard('odometry')
    run(1.0)
    assert bench.gate.state.probe_failure
    assert bench.motion == (0.0, 0.0, 0.5, -0.5)


def test_a_failed_probe_may_be_repeated() -> None:
    cart = probing(math.inf)
    cart.run(3.0)
    cart.bench.witness.forget()
    cart.timeout = DECLARED
    cart.told = (0.0, 0.0)
    cart.bench.gate.apply(ProbeDrivers(now=cart.bench.time.now))
    cart.run(2.0)
    assert cart.bench.gate.state.probe_failure == ''
    assert cart.timeouts[0] == pytest.approx(DECLARED, abs=2 * TICK)


# When there is none ------------------------------------------------------------------------------


def test_there_is_no_second_probe_beside_the_first() -> None:
    cart = probing()
    cart.run(0.1)
    with pytest.raises(RequestRejected) as caught:
        cart.bench.gate.apply(ProbeDrivers(now=cart.bench.time.now))
    assert caught.value.code is ResultCode.PROBING


def test_nobody_probes_a_gate_that_somebody_holds() -> None:
    cart = probing()
    cart.run(2.0)
    cart.bench.witness.forget()
    cart.bench.motion = (0.0, 0.0)
    cart.bench.start()
    with pytest.raises(RequestRejected) as caught:
        cart.bench.gate.apply(ProbeDrivers(now=cart.bench.time.now))
    assert caught.value.code is ResultCode.LEASE_HELD


def test_requests_move_nothing_while_the_drivers_are_probed() -> None:
    cart = probing()
    cart.run(0.06)
    decision = cart.bench.ask(0.8, 0.0)
    assert decision.verdict is Verdict.REJECTED
    assert {r.reason for r in decision.rules} == {Reason.NOT_ARMED}


def test_an_operator_moves_nothing_while_the_drivers_are_probed() -> None:
    operator = {
        'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[1]', 'axes[3]'],
        'enable': 'buttons[4]', 'scale': [0.8, 1.5], 'timeout': 0.2,
    }  # fmt: skip
    cart = probing(changes={('safety', 'operator'): operator})
    cart.run(0.06)
    assert cart.bench.operate(0.8, 0.0) == ()


def test_every_decision_of_a_probe_says_whose_it_is() -> None:
    cart = probing()
    cart.run(2.0)
    assert {d.id.episode_id for d in cart.seen} == {''}
    assert {replace(d.id, step=0) for d in cart.seen} == {cart.seen[0].id}
