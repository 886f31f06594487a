# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Acceleration and jerk of what the gate emits, judged by divided differences alone.

The n-th divided difference of samples of a path is its n-th derivative somewhere between them,
over n!, at steps of any length; so a bound on the derivative is one on the difference. Rounding of
the samples is the only tolerance.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')

from boundary_env_ros.core.contract.safety import OnTimeout
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.motion import rest
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.vectors import Vector
from support.core_world import rich
from support.gate_sequence import altered, inputs, of_rule, Sequence, unhindered

PLAIN = Limits(unhindered())
ACCELERATION = altered(PLAIN, acceleration=(0.5, 20.0))
JERK = altered(PLAIN, acceleration=(0.5, 20.0), jerk=(2.0, 200.0))
ONLY_JERK = altered(PLAIN, jerk=(2.0, 200.0))
PROFILED = pytest.mark.parametrize('limits', [ACCELERATION, JERK, ONLY_JERK])

#: What rounding does to a sample: units in the last place of the greatest bound.
ROUNDING = 4 * math.ulp(1.5)


def divided(times: list[Fraction], values: list[float]) -> tuple[Fraction, Fraction]:
    """Return the divided difference of samples, and what rounding of them may make of it."""
    x = [Fraction(value) for value in values]
    spread = [Fraction(ROUNDING)] * len(x)
    for order in range(1, len(times)):
        gaps = [later - t for t, later in zip(times, times[order:], strict=False)]
        x = [(x[i + 1] - x[i]) / gap for i, gap in enumerate(gaps)]
        spread = [(spread[i + 1] + spread[i]) / gap for i, gap in enumerate(gaps)]
    return abs(x[0]), spread[0]


class Witness:
    """Keeps the samples since the last stop, and holds each new one against the limits."""

    def __init__(self, limits: Limits, start: Vector) -> None:
        self.limits = limits
        self.times, self.commands = [Fraction(0)], [start]

    def see(self, output: RuleOutput, time_step: float) -> None:
        for value, low, high in zip(
            output.command, self.limits.low, self.limits.high, strict=True
        ):
            assert low <= value <= high
        if output.verdict is Verdict.STOPPED:
            # Stops follow a profile of their own, and are counted apart.
            self.times, self.commands = [Fraction(0)], [output.command]
            return
        if time_step == 0.0:
            assert output.command == self.commands[-1], 'moved in no time'
            return
        self.times.append(self.times[-1] + Fraction(time_step))
        self.commands.append(output.command)
        bounds = (self.limits.rate, self.limits.acceleration, self.limits.jerk)
        for i in range(len(output.command)):
            for order, limit in enumerate(bounds, start=1):
                if len(self.times) > order and limit[i] < math.inf:
                    values = [command[i] for command in self.commands[-order - 1 :]]
                    found, rounding = divided(self.times[-order - 1 :], values)
                    most = Fraction(limit[i]) / math.factorial(order)
                    assert found <= most * (1 + Fraction(1e-9)) + rounding, (
                        f'derivative {order} of dimension {i}: '
                        f'{float(found * math.factorial(order))} > {limit[i]}'
                    )


_goal = st.tuples(
    st.one_of(st.sampled_from([-9.0, -0.3, 0.0, 0.8, 9.0]), st.floats(-1.0, 1.0)),
    st.one_of(st.sampled_from([-99.0, -1.5, 0.0, 1.5]), st.floats(-2.0, 2.0)),
)
_time_step = st.one_of(st.sampled_from([0.0, 0.001, 0.02, 0.1]), st.floats(0.001, 0.1))
_passing = _time_step.filter(bool)
_what = st.sampled_from(['ask', 'ask', 'ask', 'ask', 'hold', 'again', 'ramp', 'stop'])


def run(limits: Limits, steps: list[tuple[str, Vector, float]]) -> list[RuleOutput]:
    """Let a sequence go where it is asked to, and a witness look at it."""
    sequence, witness = Sequence(limits, (0.0, 0.0)), Witness(limits, (0.0, 0.0))
    ramp = altered(limits, safety=replace(limits.safety, on_timeout=OnTimeout.RAMP))
    goal: Vector = (0.0, 0.0)
    outputs = []
    for what, wanted, time_step in steps:
        sequence.limits = ramp if what == 'ramp' else limits
        if what == 'ask':
            goal = wanted
            output = sequence.ask(wanted, time_step)
        elif what == 'again':
            output = sequence.again(goal, time_step)
        elif what == 'stop':
            output = sequence.stop(time_step)
            goal = output.command
        else:
            output = sequence.hold(time_step)
        witness.see(output, time_step)
        outputs.append(output)
    return outputs


@PROFILED
@given(st.lists(st.tuples(_what, _goal, _time_step), min_size=1, max_size=40))
def test_no_derivative_of_what_is_emitted_exceeds_its_limit(
    limits: Limits, steps: list[tuple[str, Vector, float]]
) -> None:
    run(limits, steps)


@PROFILED
@given(st.lists(st.tuples(st.booleans(), st.booleans(), _time_step), min_size=9, max_size=60))
def test_nor_does_it_while_the_policy_swings_from_one_end_to_the_other(
    limits: Limits, steps: list[tuple[bool, bool, float]]
) -> None:
    ends = list(zip(limits.low, limits.high, strict=True))
    asked = [
        ('ask', (ends[0][first], ends[1][second]), seconds) for first, second, seconds in steps
    ]
    run(limits, asked)


def test_the_witness_sees_an_acceleration_where_there_is_no_limit_on_it() -> None:
    witness = Witness(altered(ACCELERATION, groups=PLAIN.groups), (0.0, 0.0))
    sequence = Sequence(PLAIN, (0.0, 0.0))
    witness.see(sequence.ask((0.1, 0.0), 0.1), 0.1)
    with pytest.raises(AssertionError, match='derivative 2 of dimension 0'):
        witness.see(sequence.ask((0.1, 0.0), 0.1), 0.1)


@PROFILED
@given(_goal)
def test_what_is_asked_for_is_reached_exactly_and_then_admitted(
    limits: Limits, wanted: Vector
) -> None:
    inside = tuple(
        min(max(value, low), high)
        for value, low, high in zip(wanted, limits.low, limits.high, strict=True)
    )
    sequence = Sequence(limits, (0.0, 0.0))
    for _ in range(60):
        last = sequence.ask(inside, 0.1)
    assert last.command == inside
    assert last.verdict is Verdict.ADMITTED
    assert last.acceleration == (0.0, 0.0)
    assert last.rate == (0.0, 0.0)


@PROFILED
@given(_goal, st.integers(1, 12))
def test_a_hold_comes_to_rest_where_it_was_announced(
    limits: Limits, wanted: Vector, count: int
) -> None:
    sequence = Sequence(limits, (0.0, 0.0))
    for _ in range(count):
        sequence.ask(wanted, 0.1)
    announced = sequence.hold(0.02)
    assert announced.verdict is Verdict.HELD
    for _ in range(200):
        last = sequence.hold(0.02)
    assert last.command == pytest.approx(announced.wanted, abs=1e-6)
    assert last.command == sequence.hold(0.02).command


def test_without_such_limits_a_hold_stays_where_it_is() -> None:
    sequence = Sequence(PLAIN, (0.4, 0.1))
    assert sequence.hold(0.02).command == (0.4, 0.1)


@PROFILED
@given(_goal, st.integers(1, 12))
def test_after_a_stop_the_profile_begins_anew_from_rest(
    limits: Limits, wanted: Vector, count: int
) -> None:
    sequence = Sequence(limits, (0.0, 0.0))
    for _ in range(count):
        sequence.ask(wanted, 0.1)
    stopped = sequence.stop(0.02)
    assert stopped.rate == (0.0, 0.0)
    assert stopped.acceleration == ()
    fresh = Sequence(limits, stopped.command)
    assert sequence.ask((0.8, 1.5), 0.1) == fresh.ask((0.8, 1.5), 0.1)


def test_a_stop_knows_no_limit_but_its_own_rate() -> None:
    sequence = Sequence(JERK, (0.6, 0.0))
    assert sequence.stop(0.1).command == (pytest.approx(0.6 - JERK.stop[0] * 0.1), 0.0)


def test_to_hold_safely_brakes_as_a_stop_does_and_leaves_a_profile_at_rest_there() -> None:
    braking = altered(JERK, safety=replace(JERK.safety, on_timeout=OnTimeout.SAFE))
    held, stopped = Sequence(braking, (0.6, 0.0)).hold(0.02), Sequence(JERK, (0.6, 0.0)).stop(0.02)
    assert held.command == stopped.command
    assert held.rate == (0.0, 0.0)


# What is told ------------------------------------------------------------------------------------


def test_a_command_that_would_accelerate_too_hard_says_by_how_much() -> None:
    output = Sequence(ACCELERATION, (0.0, 0.0)).ask((0.05, 0.0), 0.1)
    [result] = output.results
    assert (result.rule, result.reason) == ('acceleration', Reason.ACCELERATION_LIMIT)
    assert result.value == pytest.approx(4.0 * 0.05 / 0.1**2)
    assert result.limit == ACCELERATION.acceleration[0]
    assert result.unit == 'm/s/s^2'
    assert 0.0 < output.command[0] < 0.05


def test_with_a_limit_on_jerk_it_says_how_much_jerk_that_would_have_been() -> None:
    output = Sequence(JERK, (0.0, 0.0)).ask((0.05, 0.0), 0.1)
    [result] = output.results
    assert (result.rule, result.reason) == ('acceleration', Reason.JERK_LIMIT)
    assert result.value == pytest.approx(32.0 * 0.05 / 0.1**3)
    assert result.limit == JERK.jerk[0]
    assert result.unit == 'm/s/s^3'


@pytest.mark.parametrize(
    ('rate', 'acceleration', 'way', 'needed'),
    [
        # From rest to rest; a rate alone to lose; an acceleration alone to lose.
        (0.0, 0.0, 0.05, 32.0 * 0.05 / 0.1**3),
        (0.05, 0.0, 0.05 * 0.1 / 2.0, 4.0 * 0.05 / 0.1**2),
        (-0.5 * 0.1 / 2.0, 0.5, -0.5 * 0.1**2 * 5.0 / 32.0, 0.5 / 0.1),
    ],
)
def test_the_jerk_that_is_told_is_the_least_that_would_have_come_to_rest_there(
    rate: float, acceleration: float, way: float, needed: float
) -> None:
    sequence = Sequence(ONLY_JERK, (0.2, 0.0))
    sequence.rate, sequence.acceleration = (rate, 0.0), (acceleration, 0.0)
    [result] = sequence.ask((0.2 + way, 0.0), 0.1).results
    assert result.reason is Reason.JERK_LIMIT
    assert result.value == pytest.approx(needed)


@PROFILED
def test_at_the_full_rate_nothing_but_the_rate_is_in_the_way(limits: Limits) -> None:
    slow = Limits(limits.contract, rate=(0.1, 4.0))
    sequence = Sequence(slow, (-0.3, 0.0))
    for _ in range(20):
        output = sequence.ask((0.8, 0.0), 0.1)
    [result] = output.results
    assert (result.rule, result.reason) == ('rate', Reason.RATE_LIMIT)
    assert result.value == pytest.approx((0.8 - output.command[0] + 0.01) / 0.1)
    assert result.limit == 0.1
    assert sequence.rate[0] == pytest.approx(0.1, rel=1e-5)


@given(st.lists(st.tuples(st.just('ask'), _goal, _passing), min_size=1, max_size=20))
def test_whoever_is_told_of_an_acceleration_asked_for_more_of_it_than_is_allowed(
    steps: list[tuple[str, Vector, float]],
) -> None:
    for output in run(ACCELERATION, steps):
        for result in output.results:
            assert result.value is not None
            assert result.limit is not None
            if result.rule != 'bounds':
                assert result.value > result.limit


@pytest.mark.parametrize('limits', [JERK, ONLY_JERK])
@given(st.lists(st.tuples(st.just('ask'), _goal, _passing), min_size=1, max_size=20))
def test_a_jerk_is_told_as_what_is_needed_at_least_which_is_near_to_what_is_allowed_or_above(
    limits: Limits, steps: list[tuple[str, Vector, float]]
) -> None:
    for output in run(limits, steps):
        for result in of_rule(output, 'acceleration'):
            assert result.value is not None
            assert result.limit is not None
            assert result.value > 0.5 * result.limit


# Next to others ----------------------------------------------------------------------------------


@given(_goal, _time_step)
def test_a_contract_without_such_limits_is_clamped_as_ever(
    wanted: Vector, time_step: float
) -> None:
    output = Sequence(PLAIN, (0.2, -0.2)).ask(wanted, time_step)
    for i, (value, was) in enumerate(zip(output.command, (0.2, -0.2), strict=True)):
        inside = min(max(wanted[i], PLAIN.low[i]), PLAIN.high[i])
        most = PLAIN.rate[i] * time_step
        assert value == pytest.approx(min(max(inside, was - most), was + most), abs=1e-12)
    assert not of_rule(output, 'acceleration')
    assert output.acceleration == ()


def test_dimensions_of_other_groups_keep_their_mean_rate() -> None:
    contract = rich(
        {('action', 'arm', 'max_acceleration'): 2.0, ('safety', 'republish_period'): 0.05}
    )
    contract = replace(
        contract,
        action=(contract.action[0], contract.action[2]),
        safety=replace(contract.safety, rules=()),
    )
    limits = altered(Limits(contract), needs={})
    assert limits.profiled == (0, 1)
    assert limits.plain == (2, 3)
    sequence = Sequence(limits, (0.0, 0.0, 0.0, 0.0))
    output = sequence.ask((0.5, 0.0, 1.0), 0.1)
    assert output.command[2:] == (pytest.approx(0.2), 0.0)
    assert output.rate[2:] == (pytest.approx(2.0), 0.0)
    assert output.acceleration[2:] == (0.0, 0.0)
    assert 0.0 < output.command[0] < 0.1
    assert 0.0 < output.rate[0] <= 0.2


@given(st.lists(st.tuples(st.just('ask'), _goal, _time_step), min_size=1, max_size=30))
def test_inside_of_bounds_that_were_made_stricter_it_stays_inside(
    steps: list[tuple[str, Vector, float]],
) -> None:
    run(altered(JERK, low=(-0.1, -0.5), high=(0.3, 0.2)), steps)


@PROFILED
@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_bounds_that_were_made_stricter_are_reached_without_a_jump(
    limits: Limits, sign: float
) -> None:
    sequence, witness = Sequence(limits, (0.0, 0.0)), Witness(limits, (0.0, 0.0))
    far, near = (sign * 0.8, sign * 1.5), (sign * 0.05, sign * 0.5)
    for _ in range(9):
        witness.see(sequence.ask(far, 0.1), 0.1)
    assert all(
        abs(value) > abs(bound) for value, bound in zip(sequence.command, near, strict=True)
    )
    sequence.limits = altered(limits, **{'high' if sign > 0.0 else 'low': near})
    for _ in range(60):
        witness.see(sequence.ask(far, 0.1), 0.1)
    assert sequence.command == near


def test_where_a_sequence_without_a_command_comes_to_rest_is_unknown() -> None:
    assert rest(JERK, inputs(previous=None)) == ()
