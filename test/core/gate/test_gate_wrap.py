# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Angles that wrap take the short way, and the numbers that are sent never jump by a turn."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.measured import resumed_from
from boundary_env_ros.core.gate.rules.rotation import nearer_sign
from boundary_env_ros.core.records.decision import Trigger, Verdict
from boundary_env_ros.core.vectors import Vector
from support.core_world import shipped
from support.gate_bench import Bench
from support.gate_numbers import PERIOD
from support.gate_sequence import Sequence

BOUND, RATE = 6.5, 1.0


def turntable(**keys: object) -> Contract:
    """Return the shipped contract with nothing but a table that turns on and on, and a lift."""
    motors: dict[str, object] = {
        'type': 'sensor_msgs/msg/JointState', 'joints': ['table', 'lift'], 'quantity': 'position',
        'unit': ['rad', 'm'],
    }  # fmt: skip
    group = {
        **motors, 'topic': 'motors', 'low': -BOUND, 'high': BOUND, 'wrap': ['table'],
        'safe': 'hold_position',
        'max_velocity': RATE, 'driver_timeout': 0.25,
        'feedback': {
            'topic': 'motor_states', 'type': 'sensor_msgs/msg/JointState',
            'joints': ['table', 'lift'], 'quantity': 'position', 'threshold': 0.01,
        },
    }  # fmt: skip
    return shipped({
        ('safety', 'obstacles'): None, ('safety', 'republish_period'): 0.05,
        ('action',): {'motors': {**group, **keys}},
    })  # fmt: skip


LIMITS = Limits(turntable())
WATCHED = Limits(turntable(max_tracking_error=0.5))
_angle = st.floats(-BOUND, BOUND)
_near_middle = st.floats(-math.pi, math.pi)


def turn_between(one: float, other: float) -> float:
    """Return the angle between two directions, of their vectors."""
    sine = math.sin(other) * math.cos(one) - math.cos(other) * math.sin(one)
    cosine = math.cos(other) * math.cos(one) + math.sin(other) * math.sin(one)
    return abs(math.atan2(sine, cosine))


def test_from_3_10_towards_minus_3_10_it_goes_the_short_way() -> None:
    sequence = Sequence(LIMITS, (3.10, 0.0))
    [first, *_, last] = [sequence.ask((-3.10, 0.0), 0.01) for _ in range(20)]
    assert first.command[0] == pytest.approx(3.11)
    assert last.command[0] == pytest.approx(math.tau - 3.10)
    assert last.verdict is Verdict.ADMITTED
    assert last.admitted == (-3.10, 0.0), 'what no rule touched is as it was asked for'


def test_a_length_beside_it_goes_where_it_is_sent() -> None:
    sequence = Sequence(LIMITS, (0.0, 3.10))
    assert sequence.ask((0.0, -3.10), 0.01).command[1] == pytest.approx(3.09)


@given(_near_middle, _near_middle)
def test_it_arrives_after_the_angle_between_and_no_later(start: float, wanted: float) -> None:
    sequence = Sequence(LIMITS, (start, 0.0))
    apart = turn_between(start, wanted)
    output = sequence.ask((wanted, 0.0), apart / RATE + 1e-9)
    assert turn_between(output.command[0], wanted) <= 1e-8
    assert abs(output.command[0] - start) <= apart + 1e-8


@given(_angle, st.lists(st.tuples(st.floats(-9.0, 9.0), st.floats(0.0, 0.5)), max_size=10))
def test_whatever_is_asked_for_numbers_never_jump_and_stay_in_bounds(
    start: float, steps: list[tuple[float, float]]
) -> None:
    sequence = Sequence(LIMITS, (start, 0.0))
    for wanted, seconds in steps:
        before = sequence.command[0]
        after = sequence.ask((wanted, 0.0), seconds).command[0]
        assert abs(after - before) <= RATE * seconds + 1e-12
        assert -BOUND <= after <= BOUND


def test_a_way_that_leads_beyond_a_bound_is_none() -> None:
    sequence = Sequence(LIMITS, (6.4, 0.0))
    output = sequence.ask((1.0, 0.0), 0.01)
    assert output.command[0] == pytest.approx(6.39)
    assert output.wanted == (1.0, 0.0)


def test_a_profile_takes_the_short_way_too() -> None:
    pytest.importorskip('ruckig')
    contract = turntable(max_acceleration=2.0)
    sequence = Sequence(Limits(contract), (3.10, 0.0))
    seen = [sequence.ask((-3.10, 0.0), 0.1).command[0] for _ in range(10)]
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(math.tau - 3.10)


def test_the_hand_of_an_operator_takes_the_short_way_too() -> None:
    sequence = Sequence(LIMITS, (3.10, 0.0))
    output = sequence.ask((-3.10, 0.0), 0.01, trigger=Trigger.OPERATOR)
    assert output.command[0] == pytest.approx(3.11)


# What was measured -------------------------------------------------------------------------------


@given(_angle, st.integers(-3, 3))
def test_a_reading_a_turn_further_on_is_no_departure(commanded: float, turns: int) -> None:
    told = (commanded, 0.0)
    measured = (commanded + turns * math.tau, 1.0)  # the lift departs
    assert nearer_sign(LIMITS, measured, told)[0] == pytest.approx(commanded, abs=1e-12)
    assert resumed_from(WATCHED, told, measured) == pytest.approx((commanded, 1.0), abs=1e-12)


def test_a_driver_that_wraps_what_it_measures_does_not_make_the_gate_begin_anew() -> None:
    bench = Bench(turntable(max_tracking_error=0.5))
    bench.motion = (3.12, 0.0)
    bench.start()
    for _ in range(10):
        decision = bench.ask(-3.10, 0.0)
        assert not decision.inputs.seeded or decision.inputs.previous_command == (3.12, 0.0)
        before = decision.command[0]
        bench.motion = (math.remainder(before, math.tau), 0.0)
        bench.wait(0.02)
    assert before == pytest.approx(math.tau - 3.10)
    assert bench.motion[0] < 0.0, 'the reading has not wrapped: nothing is tested'


@pytest.mark.parametrize('who', [Trigger.TIMER, Trigger.REQUEST])
@pytest.mark.parametrize('beside', [False, True], ids=['alone', 'beside a belt'])
def test_neither_a_stop_nor_a_request_after_a_silence_turns_the_table_back(
    who: Trigger, beside: bool
) -> None:
    """The driver stopped by itself at 6.4 rad, which it reads as 0.12."""
    contract = turntable()
    table = contract.action[0]
    belt = replace(table, name='belt', wrap=(), driver_timeout=None)
    groups = (table, belt) if beside else (table,)
    safety = replace(contract.safety, gate_lateness=1.0)
    bench = Bench(replace(contract, action=groups, safety=safety))
    bench.motion = (3.0, 0.0) * len(groups)
    bench.start()
    goal = 3.0
    while goal < 6.4:
        goal += 0.1
        asked = (math.remainder(goal, math.tau), 0.0, 3.0, 0.0)[: len(bench.motion)]
        command = bench.ask(*asked).command
        bench.motion = (math.remainder(command[0], math.tau), *command[1:])
        bench.wait(PERIOD, policy=None)
    last = bench.command
    assert last is not None
    assert last[0] > 6.0
    bench.time.wait(0.3)
    bench.pulse()
    decision = bench.ask(0.13, *last[1:]) if who is Trigger.REQUEST else bench.press()[0]
    assert decision.trigger is who
    assert abs(decision.command[0] - last[0]) <= RATE * PERIOD


def test_a_table_that_ran_on_beyond_its_bounds_is_named_by_a_number_within_them() -> None:
    bench = Bench(turntable())
    bench.motion = (6.4, 0.0)
    bench.start()
    bench.ask(0.16, 0.0)
    assert bench.command == pytest.approx((0.16 + math.tau, 0.0))
    bench.motion = (0.5, 0.0)  # and not 6.78
    bench.time.wait(0.3)
    bench.pulse()
    assert bench.press()[0].command == (0.5, 0.0)


def test_an_angle_that_is_not_declared_to_wrap_goes_where_it_is_sent() -> None:
    contract = turntable()
    bounded = replace(contract, action=(replace(contract.action[0], wrap=()),))
    start: Vector = (3.10, 0.0)
    output = Sequence(Limits(bounded), start).ask((-3.10, 0.0), 0.01)
    assert output.command[0] == pytest.approx(3.09)
