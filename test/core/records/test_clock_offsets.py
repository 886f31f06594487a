# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Clocks of several hosts: the truth lies within what is said of them, whatever the link does."""

from __future__ import annotations

from dataclasses import replace
import random

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.records.clock_offsets import after_step, ClockBounds, ClockOffset
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    RuleInput,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp
from support.core_world import step_id

MILLISECOND = NANOSECONDS // 1000
delay = st.integers(0, 5 * NANOSECONDS)


class Host:
    """A host whose system clock is set wrongly and runs wrongly by some ppm."""

    def __init__(self, name: str, ahead: int, ppm: int) -> None:
        self.name, self.ahead, self.ppm = name, ahead, ppm

    def offset(self, true: int) -> int:
        return self.ahead + true * self.ppm // 1_000_000

    def read(self, true: int) -> ClockReading:
        system = Stamp(
            clock=Clock.SYSTEM, nanoseconds=10**18 + true + self.offset(true), host=self.name
        )
        return ClockReading(ros=system, steady=10**12 + true)


def transition(hosts: dict[str, Host], times: dict[str, int]) -> Transition:
    """Return a step of which nothing but its instants matters."""
    at = {name: hosts[name].read(time) for name, time in times.items()}
    request = ActionRequest(
        id=step_id(1), lease_id='', sequence=1, action=(), observed=at['observed'],
        delivered=at['delivered'], requested=at['requested'],
    )  # fmt: skip
    answer = GateDecision(
        id=step_id(1), sequence=1, verdict=Verdict.ADMITTED, request=request,
        inputs=RuleInput(trigger=Trigger.REQUEST, time_step=0.1), decided=at['received'],
        received=at['received'],
    )  # fmt: skip
    return Transition(
        contract='', contract_version='', software_version='', client_version='', id=step_id(1),
        kind=Kind.STEP, pacing=Pacing.REALTIME, seed=0, after=(), closed=at['closed'],
        decisions=(answer,), decision=0, captured=at['captured'].ros,
    )  # fmt: skip


def only(offsets: tuple[ClockOffset, ...], host: str) -> ClockOffset:
    return next(found for found in offsets if found.host == host)


def holds(found: ClockOffset, host: Host, reference: Host, true: int) -> bool:
    truth = (host.offset(true) - reference.offset(true)) / NANOSECONDS
    return abs(found.offset - truth) <= found.uncertainty + 1e-6


@given(ahead=st.integers(-(10**12), 10**12), there=delay, thinking=delay, back=delay)
def test_one_exchange_is_wrong_by_at_most_half_of_its_round_trip(
    ahead: int, there: int, thinking: int, back: int
) -> None:
    robot, policy = Host('robot', 0, 0), Host('policy', ahead, 0)
    hosts = dict.fromkeys(('captured', 'observed', 'received', 'closed'), robot)
    hosts |= {'delivered': policy, 'requested': policy}
    times = {'captured': 0, 'observed': 0, 'delivered': there, 'requested': there + thinking}
    end = there + thinking + back
    step = transition(hosts, {**times, 'received': end, 'closed': end})
    (found,) = after_step(ClockBounds(), step)[1]
    assert holds(found, policy, robot, end)
    # Beyond half of the round trip there is what both clocks may have drifted since.
    assert found.uncertainty == pytest.approx((there + back) / 2e9 + end / 1e12, abs=1e-6)


@pytest.mark.parametrize('clock', [Clock.ROS, Clock.STEADY])
def test_another_clock_than_the_system_clock_tells_nothing(clock: Clock) -> None:
    here, there = (replace(Host(n, 0, 0).read(0).ros, clock=clock) for n in ('robot', 'policy'))
    bounds = ClockBounds().after([(here, there), (there, here)], 0, 0)
    assert bounds == ClockBounds()


@pytest.mark.parametrize('loss', [0.0, 0.01, 0.05, 0.2])
@pytest.mark.parametrize('environment', ['robot', 'policy'])
def test_over_a_bad_link_every_estimate_holds_the_truth_and_most_are_narrow(
    environment: str, loss: float
) -> None:
    """
    The link is asymmetric, jitters and loses; both clocks are set wrongly, and drift.

    With the environment on the robot an exchange is an observation there and an action back; on
    the policy's host what the sensors say and what the gate has decided come there, and the action
    goes back.
    """
    chance = random.Random(f'{environment} {loss}')
    robot, policy = Host('robot', -3 * NANOSECONDS, -300), Host('policy', 80 * MILLISECOND, 400)
    hosts = dict.fromkeys(('captured', 'received'), robot)
    hosts |= {'delivered': policy, 'requested': policy}
    hosts |= dict.fromkeys(('observed', 'closed'), {'robot': robot, 'policy': policy}[environment])

    def crossing(least: int) -> int:
        return least * MILLISECOND + int(chance.expovariate(1 / (10 * MILLISECOND)))

    own, other = hosts['closed'], policy if environment == 'robot' else robot
    bounds, seen, drifts = ClockBounds(), [], []
    for step in range(1, 1001):
        captured = step * 100 * MILLISECOND
        here = environment == 'policy'
        observed = captured + (crossing(1) if here else 5 * MILLISECOND)
        delivered = observed + (MILLISECOND if here else crossing(1))
        requested = delivered + int(chance.uniform(1, 40)) * MILLISECOND
        received = requested + crossing(20)
        decided = received + (crossing(1) if here else MILLISECOND)
        closed = max(decided, captured + 100 * MILLISECOND)
        if chance.random() < loss:
            continue  # whatever was lost, there is no action in this step
        known = {'captured': captured, 'observed': observed, 'delivered': delivered}
        known |= {'requested': requested, 'received': received, 'closed': closed}
        whole = transition(hosts, known)
        at = own.read(decided)
        bounds = bounds.after([(whole.decisions[0].decided.ros, at.ros)], at.steady, at.steady)
        bounds, offsets = after_step(bounds, whole)
        found = only(offsets, other.name)
        assert holds(found, other, own, closed)
        seen.append(found.uncertainty)
        if found.drift is not None and found.drift_uncertainty is not None:
            drifts.append(found)
            assert abs(found.drift - (other.ppm - own.ppm) / 1e6) <= found.drift_uncertainty
    assert len(seen) > 700
    # Half of the least round trip is 10.5 ms; a single exchange has 20 ms, as the mean.
    assert sorted(seen)[len(seen) // 2] < 0.014
    assert (drifts[-1].drift_uncertainty or 1.0) < 500e-6


def test_three_hosts_are_known_to_each_other_by_what_goes_around() -> None:
    """The environment, the policy and the gate: nothing goes back on the way that it came."""
    one, two, three = (Host(n, ahead, 0) for n, ahead in (('e', 0), ('p', 10**9), ('g', -(10**9))))
    bounds = ClockBounds()
    ways = ((one, two, 2), (two, three, 3), (three, one, 5))
    for sender, receiver, took in ways:
        sent, had = sender.read(0).ros, receiver.read(took * MILLISECOND).ros
        bounds = bounds.after([(sent, had)], 0, 0)
    offsets = bounds.measured('e', 0)[1]
    assert [found.host for found in offsets] == ['g', 'p']
    for found, host in zip(offsets, (three, two), strict=True):
        assert holds(found, host, one, 0)
        assert found.uncertainty == pytest.approx(0.005)


def test_what_has_crossed_one_way_alone_tells_no_offset() -> None:
    here, there = Host('robot', 0, 0), Host('policy', 0, 0)
    bounds = ClockBounds().after([(here.read(0).ros, there.read(1).ros)], 0, 0)
    assert bounds.measured('robot', 0)[1] == ()


@pytest.mark.parametrize('leap', [-NANOSECONDS, NANOSECONDS])
def test_after_a_clock_was_set_the_new_offset_is_found(leap: int) -> None:
    robot, policy = Host('robot', 0, 0), Host('policy', 0, 0)
    bounds = ClockBounds()
    for exchange in range(4):
        if exchange == 2:
            policy = Host('policy', leap, 0)
        at = exchange * NANOSECONDS
        later, home = at + MILLISECOND, at + 2 * MILLISECOND
        now = robot.read(home).steady
        bounds = bounds.after([(robot.read(at).ros, policy.read(later).ros)], now, now)
        bounds = bounds.after([(policy.read(later).ros, robot.read(home).ros)], now, now)
        bounds, offsets = bounds.measured('robot', now)
        for found in offsets:
            assert holds(found, policy, robot, home)
    assert offsets


@pytest.mark.parametrize('ppm', [0, 83_000])
def test_after_a_clock_was_set_by_less_than_the_round_trip_it_is_found_in_seconds(
    ppm: int,
) -> None:
    """By 8 ms, at once or as fast as chrony slews; there it takes 1 ms, and back 9 ms."""
    robot, bounds, wrong = Host('robot', 0, 0), ClockBounds(), []
    begin = 5 * NANOSECONDS

    def policy(true: int) -> Host:
        passed = max(0, true - begin)
        leap = 8 * MILLISECOND if true >= begin else 0
        return Host('policy', min(leap, passed * ppm // 1_000_000) if ppm else leap, 0)

    for at in range(0, 20 * NANOSECONDS, 100 * MILLISECOND):
        later, home = at + MILLISECOND, at + 10 * MILLISECOND
        far = policy(later).read(later).ros
        now = robot.read(home)
        bounds = bounds.after([(robot.read(at).ros, far), (far, now.ros)], now.steady, now.steady)
        bounds, (found,) = bounds.measured('robot', now.steady)
        if not holds(found, policy(home), robot, home):
            wrong.append(home)
    assert all(begin <= time < begin + 4 * NANOSECONDS + 200 * MILLISECOND for time in wrong)


def test_what_was_had_at_an_unknown_time_is_no_bound() -> None:
    """The request says not when its observation was made; it came 90 ms before the step closed."""
    robot, policy = Host('robot', 0, 0), Host('policy', 0, 0)
    hosts = dict.fromkeys(('captured', 'observed', 'received', 'closed'), robot)
    hosts |= {'delivered': policy, 'requested': policy}
    times = dict.fromkeys(('captured', 'observed', 'delivered', 'requested', 'received'), 0)
    step = transition(hosts, {**times, 'closed': 90 * MILLISECOND})
    (answer,) = step.decisions
    assert answer.request is not None
    request = replace(answer.request, observed=None)
    unknown = replace(step, decisions=(replace(answer, request=request),))
    assert after_step(ClockBounds(), step)[0].bounds
    assert after_step(ClockBounds(), unknown) == (ClockBounds(), ())


def test_names_of_hosts_without_end_are_not_kept_and_push_out_only_the_oldest() -> None:
    robot, policy = Host('robot', 0, 0), Host('policy', 0, 0)
    bounds = ClockBounds()
    for number in range(1000):
        sent = Host(f'host_{number}', 0, 0).read(0).ros
        bounds = bounds.after([(sent, robot.read(1).ros)], 0, 0)
        there, back = (
            (a.read(0).ros, b.read(2000 - number).ros)
            for a, b in ((robot, policy), (policy, robot))
        )
        bounds = bounds.after([there, back], 0, 0)
        assert len(bounds.bounds) <= 64
        assert bounds.measured('robot', 0)[1]
    assert len(bounds.bounds) == 64
