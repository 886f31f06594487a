# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Limits that are made stricter while the gate runs: in force at once, and never the other way."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest
from test_gate_in_force import waiting

pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')

from boundary_env_ros.core.gate.gate_events import Tighten
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.core.records.decision import Reason, RuntimeLimits, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.errors import RequestRejected
from support.core_world import shipped
from support.gate_bench import Bench, reasons
from support.gate_numbers import cruise, HIGH, LOW, PERIOD, RATE, SAFETY, TICK
from support.gate_sequence import TOOL
from support.places import CART, contract_with

LIMITS = Limits(shipped())
PROFILED = Limits(
    shipped(
        {
            ('action', 'base', 'max_jerk'): [2.0, 8.0],
            ('safety', 'obstacles'): None,
            ('safety', 'republish_period'): 0.05,
        }
    )
)


# What is accepted --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('runtime_limits', 'sentence'),
    [
        (RuntimeLimits(low=(-0.31, -1.5)), '(expected at least -0.3, got -0.31)'),
        (RuntimeLimits(high=(0.8, 1.6)), '`high` of base/angular.z is looser than the contract'),
        (RuntimeLimits(rate=(1.1, 4.0)), '(expected more than 0 and at most 1, got 1.1)'),
        (RuntimeLimits(rate=(0.0, 4.0)), '`rate` of base/linear.x is looser'),
        (RuntimeLimits(rate=(-1.0, 4.0)), '`rate` of base/linear.x is looser'),
        (RuntimeLimits(command_timeout=0.31), 'more than 0 and at most 0.3 s, got 0.31 s)'),
        (RuntimeLimits(command_timeout=-0.1), '`command_timeout` is looser'),
        (RuntimeLimits(command_timeout=math.nan), '`command_timeout` is looser'),
        (RuntimeLimits(low=(math.nan, -1.5)), '`low` of base/linear.x'),
        (RuntimeLimits(high=(math.nan, 1.5)), '`high` of base/linear.x'),
        (RuntimeLimits(rate=(math.nan, 4.0)), '`rate` of base/linear.x'),
        (RuntimeLimits(low=(-math.inf, -1.5)), '`low` of base/linear.x'),
        (RuntimeLimits(high=(math.inf, 1.5)), '`high` of base/linear.x'),
        (RuntimeLimits(low=(0.1, -1.5)), 'base/linear.x leave out its safe value'),
        (RuntimeLimits(high=(-0.1, 1.5)), 'base/linear.x leave out its safe value'),
        (RuntimeLimits(high=(0.5,)), 'values of `high` (expected 2,'),
        (RuntimeLimits(rate=(0.5, 1.0, 1.0)), 'values of `rate` (expected 2,'),
    ],
)  # fmt: skip
def test_what_is_not_stricter_is_refused_with_its_number(
    runtime_limits: RuntimeLimits, sentence: str
) -> None:
    for limits in (LIMITS, PROFILED):
        with pytest.raises(RequestRejected) as caught:
            tightened_limits(limits, runtime_limits)
        assert sentence in str(caught.value)
        assert ', got ' in str(caught.value)


def test_a_quaternion_has_no_bounds_that_could_be_stricter() -> None:
    contract = shipped({('action', 'tool'): TOOL})
    limits = Limits(contract)
    low = (*LOW, 0.0, -0.5, -1.0, -1.0, -1.0)
    with pytest.raises(RequestRejected, match='part of a rotation'):
        tightened_limits(limits, RuntimeLimits(low=low))
    tightened_limits(limits, RuntimeLimits(low=(*LOW, 0.5, -1.0, -1.0, -1.0, -1.0)))


fraction = st.floats(0.0, 1.5)


@given(low=st.tuples(fraction, fraction), high=st.tuples(fraction, fraction))
def test_what_is_accepted_is_never_wider_than_the_contract(
    low: tuple[float, float], high: tuple[float, float]
) -> None:
    asked = RuntimeLimits(
        low=tuple(a * b for a, b in zip(low, LOW, strict=True)),
        high=tuple(a * b for a, b in zip(high, HIGH, strict=True)),
    )
    try:
        limits = tightened_limits(LIMITS, asked)
    except RequestRejected:
        assert max(*low, *high) > 1.0
        return
    assert all(a >= b for a, b in zip(limits.low, LOW, strict=True))
    assert all(a <= b for a, b in zip(limits.high, HIGH, strict=True))


def test_a_refused_change_changes_nothing(bench: Bench) -> None:
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.5, 1.5)), now=bench.time.now))
    before = bench.gate.state.status(bench.time.now).runtime_limits
    with pytest.raises(RequestRejected):
        bench.gate.apply(
            Tighten(
                runtime_limits=RuntimeLimits(high=(0.4, 1.5), rate=(2.0, 4.0)), now=bench.time.now
            )
        )
    assert bench.gate.state.status(bench.time.now).runtime_limits == before
    assert bench.gate.state.bounds[1] == (0.5, 1.5)


# While a lease is out ----------------------------------------------------------------------------


def test_while_a_lease_is_out_limits_only_become_stricter(bench: Bench) -> None:
    bench.gate.apply(
        Tighten(
            runtime_limits=RuntimeLimits(high=(0.5, 1.0), command_timeout=0.2), now=bench.time.now
        )
    )
    for looser in (
        RuntimeLimits(high=(0.6, 1.0), command_timeout=0.2),
        RuntimeLimits(high=(0.5, 1.0), command_timeout=0.25),
        RuntimeLimits(high=(0.5, 1.0)),
        RuntimeLimits(),
    ):
        with pytest.raises(RequestRejected, match='while a lease is out'):
            bench.gate.apply(Tighten(runtime_limits=looser, now=bench.time.now))
    bench.gate.apply(
        Tighten(
            runtime_limits=RuntimeLimits(high=(0.4, 1.0), command_timeout=0.2), now=bench.time.now
        )
    )
    bench.finish()
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(), now=bench.time.now))
    assert bench.gate.state.bounds == (LOW, HIGH)


def test_an_armed_gate_whose_episode_is_still_reset_is_not_loosened_either() -> None:
    bench = Bench()
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.5, 1.5)), now=bench.time.now))
    bench.say(EpisodeState.RESETTING)
    bench.pulse()
    bench.arm()
    with pytest.raises(RequestRejected, match='while a lease is out'):
        bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(), now=bench.time.now))


# What it does ------------------------------------------------------------------------------------


def test_a_stricter_bound_is_kept_and_told(bench: Bench) -> None:
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.3, 1.5)), now=bench.time.now))
    bench.wait(1.0, policy=(0.8, 0.0))
    assert bench.command == (0.3, 0.0)
    decision = bench.ask(0.8, 0.0)
    assert reasons(decision) == {Reason.OUT_OF_BOUNDS}
    assert decision.runtime_limits == RuntimeLimits(high=(0.3, 1.5))
    assert bench.gate.state.status(bench.time.now).runtime_limits == RuntimeLimits(high=(0.3, 1.5))


def test_a_robot_outside_of_a_stricter_bound_comes_inside_at_its_rate(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.3, 1.5)), now=bench.time.now))
    bench.motion = (0.8, 0.0)
    speeds = [0.8]
    for _ in range(12):
        bench.time.wait(PERIOD)
        bench.pulse()
        bench.tick()
        speeds.append(bench.ask(0.8, 0.0).command[0])
    assert speeds[-1] == 0.3
    assert max(a - b for a, b in pairwise(speeds)) <= RATE[0] * PERIOD + 1e-9


def test_a_held_command_comes_inside_of_a_stricter_bound_too(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.75, 1.5)), now=bench.time.now))
    seen = bench.wait(SAFETY.command_timeout - TICK)
    assert seen[-1].verdict is Verdict.HELD
    assert seen[-1].command[0] == pytest.approx(0.75)


STRICT = shipped({('action', 'base', 'out_of_bounds'): 'reject'})


def test_where_the_contract_rejects_too_a_robot_comes_inside_of_a_stricter_bound() -> None:
    bench = Bench(STRICT).start()
    cruise(bench, 0.7)
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.3, 1.5)), now=bench.time.now))
    seen = [d for d in bench.wait(1.0, policy=(0.7, 0.0)) if d.trigger is Trigger.REQUEST]
    assert {decision.verdict for decision in seen} == {Verdict.LIMITED}
    speeds = [0.7, *(decision.command[0] for decision in seen)]
    assert speeds[-1] == 0.3
    assert max(a - b for a, b in pairwise(speeds)) <= RATE[0] * PERIOD + 1e-9


@pytest.mark.parametrize('asked', [(0.7, 0.0), (5.0, 0.0), None])
def test_a_stricter_bound_never_silences_the_gate(asked: tuple[float, float] | None) -> None:
    bench = Bench(STRICT).start()
    cruise(bench, 0.7)
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.65, 1.5)), now=bench.time.now))
    seen = bench.wait(SAFETY.command_timeout + 3 * PERIOD, policy=asked)
    sent = [decision.command[0] for decision in seen if decision.command]
    assert min(sent) <= 0.65
    assert all(decision.command for decision in seen if decision.trigger is Trigger.TIMER)


def test_what_is_beyond_the_contract_is_still_refused_under_a_stricter_bound() -> None:
    bench = Bench(STRICT).start()
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.3, 1.5)), now=bench.time.now))
    decision = bench.ask(0.9, 0.0)
    assert decision.verdict is Verdict.REJECTED
    assert decision.rules[0].limit == HIGH[0]


def test_a_stricter_rate_is_kept() -> None:
    bench = Bench(shipped({('safety', 'obstacles'): None})).start()
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(rate=(0.5, 4.0)), now=bench.time.now))
    decision = bench.ask(0.8, 0.0)
    assert decision.command[0] == pytest.approx(0.5 * PERIOD)


def test_a_rate_at_which_the_robot_would_hit_an_obstacle_is_refused(bench: Bench) -> None:
    slow = RuntimeLimits(high=(0.3, 1.5), rate=(0.3, 4.0))
    with pytest.raises(RequestRejected, match=r'obstacles.scan.slow_distance .* from 0\.8 m/s'):
        bench.gate.apply(Tighten(runtime_limits=slow, now=bench.time.now))
    # Nothing moves before it is armed: then the bounds that come with the rate are enough.
    fresh = Bench()
    fresh.gate.apply(Tighten(runtime_limits=slow, now=fresh.time.now))
    with pytest.raises(RequestRejected, match='too low to brake by'):
        fresh.gate.apply(
            Tighten(runtime_limits=replace(slow, rate=(0.01, 4.0)), now=fresh.time.now)
        )


def test_what_is_stricter_but_no_rate_is_accepted_while_a_lease_is_out() -> None:
    bench = Bench()
    slow = RuntimeLimits(high=(0.3, 1.5), rate=(0.3, 4.0))
    bench.gate.apply(Tighten(runtime_limits=slow, now=bench.time.now))
    bench.start()
    for stricter in (slow, replace(slow, high=(0.2, 1.5)), replace(slow, high=(0.2, 1.4))):
        bench.gate.apply(Tighten(runtime_limits=stricter, now=bench.time.now))
    assert bench.gate.state.runtime_limits == stricter


def test_a_rate_is_enough_for_a_robot_that_was_faster_before_its_bounds_were_lowered() -> None:
    """It may be deep within a zone, at a speed that it has only begun to take back."""
    bench = cruise(Bench().start(), 0.8)
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.3, 1.5)), now=bench.time.now))
    slow = RuntimeLimits(high=(0.3, 1.5), rate=(0.3, 4.0))
    bench.wait(0.3, policy=(0.3, 0.0))
    with pytest.raises(RequestRejected, match=r'from 0\.8 m/s'):
        bench.gate.apply(Tighten(runtime_limits=slow, now=bench.time.now))
    bench.wait(1.0, policy=(0.0, 0.0))
    assert bench.command == (0.0, 0.0)
    bench.gate.apply(Tighten(runtime_limits=slow, now=bench.time.now))


def test_a_rate_is_enough_for_the_speed_that_is_still_in_force() -> None:
    bench = Bench(waiting(shipped())).start()
    cruise(bench, 0.8)
    bench.say(EpisodeState.TRUNCATED)
    slow = RuntimeLimits(high=(0.3, 1.5), rate=(0.3, 4.0))
    with pytest.raises(RequestRejected, match=r'from 0\.8 m/s'):
        bench.gate.apply(Tighten(runtime_limits=slow, now=bench.time.now))


def test_a_rate_at_which_a_place_could_not_be_kept_is_refused() -> None:
    bench = Bench(contract_with({**CART, 'braking': [0.8, 3.0]}))
    enough, too_low = (RuntimeLimits(rate=(rate, 4.0)) for rate in (0.8, 0.79))
    bench.gate.apply(Tighten(runtime_limits=enough, now=bench.time.now))
    with pytest.raises(RequestRejected, match=r'workspace\.hall\.braking .* got 0\.8'):
        bench.gate.apply(Tighten(runtime_limits=too_low, now=bench.time.now))
    assert bench.gate.state.runtime_limits == enough


@pytest.mark.parametrize('high', [0.2, 0.4, 0.6, 0.8])
def test_at_a_rate_that_is_accepted_the_robot_stops_before_an_obstacle(high: float) -> None:
    accepted = []
    for rate in (1.0, 0.7, 0.4, 0.2, 0.1, 0.05):
        bench = Bench()
        limits = RuntimeLimits(high=(high, 1.5), rate=(rate, 4.0))
        try:
            bench.gate.apply(Tighten(runtime_limits=limits, now=bench.time.now))
        except RequestRejected:
            continue
        accepted.append(rate)
        bench.start()
        left, speed = 7.5, math.inf
        while left > 0.0 and speed > 0.0:
            bench.scan = (left, 8.0, 1.0, 1.0)
            bench.wait(PERIOD, policy=(0.8, 0.0))
            speed = (bench.command or (0.0,))[0]
            left -= speed * PERIOD
        assert left > 0.35, f'{left} m are left at {rate} m/s^2'
    assert accepted


def test_a_stricter_timeout_stops_earlier(bench: Bench) -> None:
    bench.gate.apply(
        Tighten(runtime_limits=RuntimeLimits(command_timeout=0.16), now=bench.time.now)
    )
    cruise(bench)
    seen = bench.wait(0.2)
    first = next(d for d in seen if d.verdict is Verdict.STOPPED)
    assert reasons(first) == {Reason.COMMAND_TIMEOUT}
    assert first.inputs.since_request is not None
    assert 0.16 < first.inputs.since_request <= 0.16 + TICK + 1e-9


def test_a_stricter_bound_is_part_of_what_is_within_reach(bench: Bench) -> None:
    cruise(bench, 0.8)
    bench.gate.apply(Tighten(runtime_limits=RuntimeLimits(high=(0.3, 1.5)), now=bench.time.now))
    bench.time.wait(PERIOD)
    low, high = bench.gate.reach(bench.time.now)
    assert low[0] <= high[0]
    assert high[0] == pytest.approx(0.7), 'it comes inside at its rate, and no faster'
