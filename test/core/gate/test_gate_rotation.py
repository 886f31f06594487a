# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Quaternions through the rules of the gate: always rotations, and never turned faster than allowed.

Angles are measured here by the matrices of the rotations, which know nothing of signs.
"""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import assume, given
from hypothesis import strategies as st
import numpy as np
import numpy.typing as npt
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.braking import brake
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.rotation import (
    angle_between,
    measured_rotations,
    nearer_sign,
    turned,
)
from boundary_env_ros.core.records.decision import Reason, Verdict
from boundary_env_ros.core.vectors import Vector
from support.core_world import shipped
from support.gate_bench import Bench
from support.gate_sequence import altered, explained, inputs, of_rule, Sequence, TOOL

RATE = 1.0


def tool() -> Contract:
    """Return the shipped contract with a tool beside the base."""
    group = {**TOOL, 'max_velocity': [0.5, *[RATE] * 4]}
    return shipped({('safety', 'obstacles'): None, ('action', 'tool'): group})


HOLDING = Limits(tool())
START = (0.0, 0.0, 1.0)
TURN = slice(3, 7)

_number = st.floats(-1.0, 1.0)


def unit(quaternion: Vector) -> Vector:
    norm = math.hypot(*quaternion)
    return tuple(value / norm for value in quaternion)


_rotation = st.tuples(*[_number] * 4).filter(lambda four: math.hypot(*four) > 0.01).map(unit)
_time_step = st.one_of(st.sampled_from([0.0, 0.02, 0.1]), st.floats(0.0, 0.1))


def matrix(quaternion: Vector) -> npt.NDArray[np.float64]:
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def angle(one: Vector, other: Vector) -> float:
    """Return the angle between two rotations, from the matrix that leads from one to the other."""
    between = matrix(one).T @ matrix(other)
    skew = np.array(
        [
            between[2, 1] - between[1, 2],
            between[0, 2] - between[2, 0],
            between[1, 0] - between[0, 1],
        ]
    )
    return math.atan2(float(np.linalg.norm(skew)), float(np.trace(between)) - 1.0)


def about_z(radians: float) -> Vector:
    return 0.0, 0.0, math.sin(radians / 2.0), math.cos(radians / 2.0)


def far_enough(one: Vector, other: Vector) -> None:
    """Leave out half turns, whose axis the matrices do not tell to the last digit."""
    assume(angle(one, other) < math.pi - 1e-3)


# What is emitted ---------------------------------------------------------------------------------


@given(_rotation, st.lists(st.tuples(_rotation, _time_step, st.booleans()), max_size=20))
def test_whatever_is_asked_for_a_rotation_is_emitted_that_was_turned_no_faster_than_allowed(
    start: Vector, steps: list[tuple[Vector, float, bool]]
) -> None:
    sequence = Sequence(HOLDING, (*START, *start))
    for wanted, seconds, stopped in steps:
        before = sequence.command[TURN]
        output = sequence.stop(seconds) if stopped else sequence.ask((*START, *wanted), seconds)
        after = output.command[TURN]
        assert math.hypot(*after) == pytest.approx(1.0, abs=1e-12)
        assert angle(before, after) <= (0.0 if stopped else RATE) * seconds + 1e-9
        assert angle_between(before, after) <= (0.0 if stopped else RATE) * seconds + 1e-12


@given(_rotation, _rotation, st.floats(0.001, 0.1))
def test_it_turns_on_the_shortest_way_as_far_as_it_may(
    start: Vector, wanted: Vector, seconds: float
) -> None:
    far_enough(start, wanted)
    output = Sequence(HOLDING, (*START, *start)).ask((*START, *wanted), seconds)
    after = output.command[TURN]
    whole = angle(start, wanted)
    assert angle(start, after) == pytest.approx(min(whole, RATE * seconds), abs=1e-9)
    assert angle(start, after) + angle(after, wanted) == pytest.approx(whole, abs=1e-7)


@given(_rotation, _rotation, _time_step)
def test_the_two_quaternions_of_one_rotation_are_turned_to_alike(
    start: Vector, wanted: Vector, seconds: float
) -> None:
    far_enough(start, wanted)
    opposite = tuple(-value for value in wanted)
    one, other = (
        Sequence(HOLDING, (*START, *start)).ask((*START, *goal), seconds).command[TURN]
        for goal in (wanted, opposite)
    )
    assert angle(one, other) <= 1e-9


@given(_rotation)
def test_the_other_quaternion_of_where_it_is_asks_for_no_turn(start: Vector) -> None:
    opposite = tuple(-value for value in start)
    output = Sequence(HOLDING, (*START, *start)).ask((*START, *opposite), 0.0)
    assert output.verdict is Verdict.ADMITTED
    assert output.command[TURN] == opposite


@given(_rotation, _rotation)
def test_what_is_within_reach_is_admitted_to_the_last_bit(start: Vector, wanted: Vector) -> None:
    near = turned(start, wanted, 0.999 * RATE * 0.1)
    output = Sequence(HOLDING, (*START, *start)).ask((*START, *near), 0.1)
    assert output.verdict is Verdict.ADMITTED
    assert output.command[TURN] == near


@given(_rotation, _rotation)
def test_what_float32_says_is_a_rotation_is_one(start: Vector, wanted: Vector) -> None:
    rounded = tuple(float(np.float32(value)) for value in wanted)
    near = Sequence(HOLDING, (*START, *wanted)).ask((*START, *rounded), 0.1)
    assert near.verdict is Verdict.ADMITTED
    assert near.command[TURN] == rounded


@given(_rotation, st.floats(0.991, 1.009))
def test_what_is_nearly_a_rotation_is_made_one_and_that_is_told(
    wanted: Vector, factor: float
) -> None:
    assume(abs(factor - 1.0) > 1.1e-6)
    stretched = tuple(factor * value for value in wanted)
    output = Sequence(HOLDING, (*START, *wanted)).ask((*START, *stretched), 0.1)
    assert output.verdict is Verdict.LIMITED
    assert output.command[TURN] == pytest.approx(wanted, abs=1e-12)
    for result in output.results:
        assert (result.rule, result.reason) == ('rotation', Reason.NOT_A_ROTATION)
        assert result.value == pytest.approx(factor)
        assert (result.limit, result.unit) == (1.0, 'norm')


@given(_rotation, st.one_of(st.floats(0.0, 0.989), st.floats(1.011, 1e300)))
def test_what_is_no_rotation_is_no_command(wanted: Vector, factor: float) -> None:
    stretched = tuple(factor * value for value in wanted)
    output = Sequence(HOLDING, (*START, *wanted)).ask((*START, *stretched), 0.1)
    assert output.verdict is Verdict.REJECTED
    assert output.command == ()
    [result] = output.results
    assert (result.rule, result.reason) == ('rotation', Reason.NOT_A_ROTATION)
    assert result.dimension == 3
    assert result.value == pytest.approx(factor)


def test_a_stop_goes_before_what_is_no_rotation() -> None:
    sequence = Sequence(HOLDING, (*START, 0.0, 0.0, 0.0, 1.0))
    output = sequence.ask((*START, 0.0, 0.0, 0.0, 0.0), 0.1, emergency_stop=True)
    assert output.verdict is Verdict.STOPPED


def test_a_turn_that_is_too_fast_says_how_fast_it_would_have_been() -> None:
    sequence = Sequence(HOLDING, (*START, *about_z(0.0)))
    output = sequence.ask((*START, *about_z(0.8)), 0.1)
    assert output.command[TURN] == pytest.approx(about_z(RATE * 0.1))
    results = of_rule(output, 'rate')
    assert [result.dimension for result in results] == [5, 6]
    for result in results:
        assert result.reason is Reason.RATE_LIMIT
        assert result.value == pytest.approx(0.8 / 0.1)
        assert (result.limit, result.unit) == (RATE, 'rad/s')


def test_the_quaternion_that_is_given_back_is_on_the_side_of_the_one_before() -> None:
    opposite = tuple(-value for value in about_z(0.8))
    output = Sequence(HOLDING, (*START, *about_z(0.0))).ask((*START, *opposite), 0.1)
    assert output.command[TURN] == pytest.approx(about_z(0.1))
    explained(output)


def test_no_number_of_a_rotation_is_clamped_for_itself() -> None:
    output = Sequence(HOLDING, (*START, *about_z(3.0))).ask((*START, *about_z(-3.0)), 0.1)
    assert not of_rule(output, 'bounds')
    assert angle(about_z(3.0), output.command[TURN]) == pytest.approx(0.1)
    refusing = altered(HOLDING, reject_beyond=(True, True, True, False, False, False, False))
    stretched = tuple(1.005 * value for value in about_z(0.0))
    output = Sequence(refusing, (*START, *about_z(0.0))).ask((*START, *stretched), 0.1)
    assert output.verdict is Verdict.LIMITED


def test_a_group_that_refuses_what_is_beyond_refuses_no_rotation_for_a_number_of_it() -> None:
    contract = tool()
    groups = tuple(
        replace(group, out_of_bounds=type(group.out_of_bounds).REJECT) for group in contract.action
    )
    limits = Limits(replace(contract, action=groups))
    stretched = tuple(1.005 * value for value in about_z(0.0))
    output = Sequence(limits, (*START, *about_z(0.0))).ask((*START, *stretched), 0.1)
    assert output.verdict is Verdict.LIMITED


# Stops and holds ---------------------------------------------------------------------------------


@given(_rotation, st.floats(0.0, 0.1))
def test_where_to_stop_is_to_stay_no_rotation_is_turned(start: Vector, seconds: float) -> None:
    command = brake(HOLDING, inputs(previous=(*START, *start), time_step=seconds))
    assert command == (*START, *start)


# What is measured --------------------------------------------------------------------------------


@given(_rotation, st.floats(0.991, 1.009))
def test_a_measured_rotation_is_made_a_unit_quaternion(start: Vector, factor: float) -> None:
    measured = measured_rotations(HOLDING, (*START, *(factor * value for value in start)))
    assert measured is not None
    assert measured[:3] == START
    assert measured[TURN] == pytest.approx(start, abs=1e-12)


@pytest.mark.parametrize('wrong', [0.0, 0.5, 2.0, math.inf, math.nan])
def test_what_is_measured_and_no_rotation_is_unknown(wrong: float) -> None:
    assert all(map(math.isnan, measured_rotations(HOLDING, (*START, 0.0, 0.0, 0.0, wrong))[-4:]))


@given(_rotation, _rotation)
def test_of_two_signs_the_one_that_is_nearer_to_the_command_is_told(
    one: Vector, other: Vector
) -> None:
    found = nearer_sign(HOLDING, (*START, *one), (*START, *other))
    assert found[:3] == START
    assert angle(found[TURN], one) <= 1e-9
    assert sum(p * q for p, q in zip(found[TURN], other, strict=True)) >= 0.0


# The function itself -----------------------------------------------------------------------------


@given(_rotation, _rotation)
def test_an_angle_is_the_one_of_the_matrices(one: Vector, other: Vector) -> None:
    far_enough(one, other)
    assert angle_between(one, other) == pytest.approx(angle(one, other), abs=1e-8)


@pytest.mark.parametrize('radians', [0.0, 1e-12, 1e-9, 1e-6, 0.3, 1.0, math.pi / 2, 3.1])
def test_small_angles_are_as_exact_as_large_ones(radians: float) -> None:
    assert angle_between(about_z(0.0), about_z(radians)) == pytest.approx(radians, rel=1e-12)


def test_half_a_turn_has_a_way_too() -> None:
    way = turned((0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), 0.5)
    assert math.hypot(*way) == pytest.approx(1.0, abs=1e-15)
    assert angle_between((0.0, 0.0, 0.0, 1.0), way) == pytest.approx(0.5)


# At the gate -------------------------------------------------------------------------------------


def running(**group: object) -> Bench:
    """Return a gate whose tool looks 0.3 rad to the side."""
    contract = shipped({('safety', 'obstacles'): None, ('action', 'tool'): {**TOOL, **group}})
    bench = Bench(contract)
    bench.motion = (*START, *about_z(0.3))
    return bench.start()


def test_a_tool_starts_from_the_rotation_that_is_measured() -> None:
    bench = running()
    bench.motion = (*START, *(1.005 * value for value in about_z(0.3)))
    bench.pulse()
    decision = bench.gate.evaluate_actions(((*START, *about_z(0.3)),), bench.time.now)[0]
    assert decision.inputs.seeded
    assert decision.inputs.previous_command[TURN] == pytest.approx(about_z(0.3), abs=1e-12)


@pytest.mark.parametrize('wrong', [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.5, 0.5)])
def test_a_measured_state_that_is_no_rotation_is_unknown_and_stops(wrong: Vector) -> None:
    bench = running()
    bench.motion = (*START, *wrong)
    bench.pulse()
    decision = bench.gate.evaluate_actions(((*START, *about_z(0.3)),), bench.time.now)[0]
    assert decision.verdict is Verdict.STOPPED
    assert decision.command == ()


def test_the_other_quaternion_of_what_was_commanded_is_no_departure_from_it() -> None:
    bench = running(max_tracking_error=[0.5, 0.1, 0.1, 0.1, 0.1])
    bench.time.wait(bench.contract.period)
    bench.pulse()
    asked = (0.0, 0.0, START[2], *about_z(0.35))
    bench.send(asked)
    bench.motion = (*START, *(-value for value in about_z(0.35)))
    bench.time.wait(bench.contract.period)
    bench.pulse()
    decision = bench.gate.evaluate_actions((asked,), bench.time.now)[0]
    assert not decision.inputs.seeded
