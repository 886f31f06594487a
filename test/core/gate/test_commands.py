# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From an action to a command and back, for every kind of action."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import ActionKind, Contract, OutOfBounds
from boundary_env_ros.core.contract.sources import Array, Joints, Paths, Trajectory
from boundary_env_ros.core.gate.commands import (
    admitted_action,
    as_action,
    as_sent,
    message_fields,
    quaternion,
    translate,
)
from boundary_env_ros.core.gate.rules.evaluate import rule
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.records.decision import Reason, RuleInput, RuleResult, Trigger, Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.vectors import Vector
from support.contract_strategies import actions, contracts
from support.core_messages import quaternion as multiplied_out
from support.core_world import rich
from support.gate_sequence import altered

RICH = rich()
GROUPS = {group.name: group for group in RICH.action}
REST = (0.1, -0.1, 0.04, 0.04, 0.0, 0.0, 0.0, 0.0)


def limits_of(contract: Contract) -> Limits:
    return altered(Limits(contract), said={}, needs={})


def inputs(previous: Vector | None, time_step: float = 0.1, **changes: Any) -> RuleInput:
    found: dict[str, Any] = {
        'trigger': Trigger.REQUEST, 'time_step': time_step, 'previous_command': previous or (),
        'since_request': 0.0, 'since_environment': 0.0, **changes,
    }  # fmt: skip
    return RuleInput(**found)


def one(name: str, *action: float, previous: Vector = (0.04, 0.04)) -> tuple[Vector | None, Any]:
    group = GROUPS[name]
    return translate((group,), action, previous[: group.size] if group.size else None)


# Each kind ---------------------------------------------------------------------------------------


def test_a_continuous_action_is_the_command_itself() -> None:
    assert one('arm', 0.3, 9.0) == ((0.3, 9.0), ())


def test_a_delta_is_added_to_the_last_command() -> None:
    command, results = one('fingers', 0.01, -0.005)
    assert command == pytest.approx((0.05, 0.035))
    assert results == ()


def test_a_delta_beyond_its_most_is_limited_and_says_so() -> None:
    group = replace(GROUPS['fingers'], out_of_bounds=OutOfBounds.CLIP)
    command, [result] = translate((group,), (0.005, -0.5), (0.04, 0.04))
    assert command == pytest.approx((0.045, 0.02))
    assert result == RuleResult(
        rule='bounds', outcome=Verdict.LIMITED, reason=Reason.OUT_OF_BOUNDS, dimension=1,
        before=0.04 - 0.5, after=0.04 - 0.02, value=-0.5, limit=-0.02, unit='m',
    )  # fmt: skip


def test_a_delta_beyond_its_most_is_refused_where_the_contract_says_so() -> None:
    command, [result] = one('fingers', 0.5, 0.0)
    assert (result.outcome, result.dimension, result.after) == (Verdict.REJECTED, 0, None)
    assert command is not None


def test_a_delta_to_nothing_known_is_no_command() -> None:
    assert translate((GROUPS['fingers'],), (0.0, 0.0), None) == (None, ())


@pytest.mark.parametrize(('index', 'command'), [(0, (0.0, 0.0)), (1, (0.4, 0.0)), (2, (0.1, 0.8))])
def test_a_choice_is_the_command_of_that_name(index: int, command: Vector) -> None:
    assert one('base', float(index)) == (command, ())


@pytest.mark.parametrize('index', [3.0, -1.0, 0.5, 1e300, -1e-300])
def test_an_index_that_names_nothing_is_refused(index: float) -> None:
    command, [result] = one('base', index)
    assert command is None
    assert (result.outcome, result.reason) == (Verdict.REJECTED, Reason.OUT_OF_BOUNDS)
    assert (result.value, result.limit, result.unit) == (index, 2.0, 'index')


def test_levels_are_chosen_for_each_dimension() -> None:
    assert one('lights', 1.0, 1.0) == ((1.0, 0.5), ())
    command, [result] = one('lights', 1.0, 3.0)
    assert command is None
    assert (result.dimension, result.value, result.limit) == (1, 3.0, 2.0)


def test_each_group_has_its_own_part_of_action_and_command() -> None:
    action = (0.1, 0.2, 0.01, -0.02, 2.0, 1.0, 2.0)
    command, results = translate(RICH.action, action, REST)
    assert results == ()
    assert command == pytest.approx((0.1, 0.2, 0.05, 0.02, 0.1, 0.8, 1.0, 1.0))
    assert as_action(RICH.action, command, REST) == pytest.approx(action)
    _, [wrong] = translate(RICH.action, (*action[:-1], 7.0), REST)
    assert wrong.dimension == 7


def test_a_command_that_no_choice_means_is_no_action() -> None:
    assert math.isnan(as_action((GROUPS['base'],), (0.3, 0.0), None)[0])
    first, second = as_action((GROUPS['lights'],), (1.0, 0.7), None)
    assert first == 1.0
    assert math.isnan(second)


# All kinds at once -------------------------------------------------------------------------------


def close(one: float, other: float, scale: float) -> bool:
    return abs(one - other) <= 1e-9 * max(1.0, scale)


@given(st.data())
def test_action_and_command_mean_the_same_either_way(data: st.DataObject) -> None:
    contract = data.draw(contracts(images=False, tf=False))
    previous = tuple(data.draw(st.floats(low, high)) for low, high in _bounds(contract))
    action = data.draw(actions(contract))
    command, results = translate(contract.action, action, previous)
    if command is None or results:
        return
    back = as_action(contract.action, command, previous)
    scale = max(map(abs, (*previous, *command)))
    assert all(close(a, b, scale) for a, b in zip(back, action, strict=True))
    assert admitted_action(contract.action, action, command, previous) == action


def _bounds(contract: Contract) -> list[tuple[float, float]]:
    return list(zip(contract.flat('low'), contract.flat('high'), strict=True))


@given(st.data())
def test_no_action_of_any_kind_gets_past_bounds_and_rates(data: st.DataObject) -> None:
    contract = data.draw(contracts(images=False, tf=False))
    limits = limits_of(contract)
    previous = tuple(data.draw(st.floats(low, high)) for low, high in _bounds(contract))
    time_step = data.draw(st.sampled_from([0.0, 0.02, 0.1]))
    action = data.draw(actions(contract))
    output = rule(limits, inputs(previous, time_step), action)
    if output.verdict is Verdict.REJECTED:
        assert output.command == output.admitted == ()
        assert all(result.outcome is Verdict.REJECTED for result in output.results)
        return
    assert output.verdict in (Verdict.ADMITTED, Verdict.LIMITED)
    for value, was, (low, high), rate in zip(
        output.command, previous, _bounds(contract), contract.flat('rate'), strict=True
    ):
        assert low <= value <= high
        assert abs(value - was) <= rate * time_step * (1 + 1e-9) + 1e-9 * abs(was)
    if output.verdict is Verdict.ADMITTED:
        assert output.admitted == action
        assert output.results == ()
    taken = start = 0
    for group in contract.action:
        part = output.admitted[taken : taken + group.action_size]
        here = slice(start, start + group.size)
        taken, start = taken + group.action_size, start + group.size
        if group.kind is ActionKind.DELTA:
            for value, most, was, published in zip(
                part, group.max_delta, previous[here], output.command[here], strict=True
            ):
                # What no sum can show is as it was asked for.
                assert abs(value) <= most or was + value == published


@given(st.data())
def test_what_is_refused_says_of_which_dimension(data: st.DataObject) -> None:
    contract = data.draw(contracts(images=False, tf=False))
    previous = tuple(low for low, _ in _bounds(contract))
    output = rule(limits_of(contract), inputs(previous), data.draw(actions(contract)))
    for result in output.results:
        assert -1 <= result.dimension < contract.command_size
        if result.dimension >= 0 and result.unit not in ('index', ''):
            assert contract.command_unit[result.dimension] == result.unit.removesuffix('/s') or (
                result.unit == contract.command_unit[result.dimension]
            )


def test_one_group_that_is_refused_refuses_the_whole_action() -> None:
    """Half an action is another action."""
    limits = limits_of(RICH)
    good = (0.1, -0.1, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert rule(limits, inputs(REST), good).verdict is Verdict.ADMITTED
    for wrong in (
        (*good[:4], 3.0, 0.0, 0.0),
        (*good[:6], -1.0),
        (*good[:2], 0.5, *good[3:]),
    ):
        output = rule(limits, inputs(REST), wrong)
        assert (output.verdict, output.command) == (Verdict.REJECTED, ())


def test_a_delta_out_of_the_bounds_of_the_command_is_brought_inside_or_refused() -> None:
    near = (*REST[:2], 0.075, 0.075, *REST[4:])
    asked = (0.1, -0.1, 0.01, 0.0, 0.0, 0.0, 0.0)
    assert rule(limits_of(RICH), inputs(near), asked).verdict is Verdict.REJECTED
    clipping = rich({('action', 'fingers', 'out_of_bounds'): 'clip'})
    output = rule(limits_of(clipping), inputs(near), asked)
    assert output.verdict is Verdict.LIMITED
    assert output.command[2] == 0.08
    assert output.admitted[2] == pytest.approx(0.005)


def test_an_excess_that_no_sum_can_show_limits_nothing() -> None:
    clipping = rich({('action', 'fingers', 'out_of_bounds'): 'clip'})
    excess = math.nextafter(0.01, 1.0)
    assert 0.04 + excess == 0.04 + 0.01
    asked = (0.1, -0.1, excess, 0.0, 0.0, 0.0, 0.0)
    output = rule(limits_of(clipping), inputs(REST), asked)
    assert (output.verdict, output.results) == (Verdict.ADMITTED, ())
    assert output.admitted == asked


def test_a_choice_that_is_limited_on_the_way_is_no_choice_any_more() -> None:
    slow = rich({('action', 'base', 'max_acceleration'): [0.5, 8.0]})
    output = rule(limits_of(slow), inputs(REST), (0.1, -0.1, 0.0, 0.0, 1.0, 0.0, 0.0))
    assert output.verdict is Verdict.LIMITED
    assert output.command[4] == pytest.approx(0.05)
    assert math.isnan(output.admitted[4])


def test_held_commands_of_every_kind_stay_as_they_are() -> None:
    output = rule(limits_of(RICH), inputs(REST, trigger=Trigger.TIMER, since_request=0.2), REST)
    assert (output.verdict, output.command) == (Verdict.HELD, REST)
    assert output.admitted == (0.1, -0.1, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize('pacing', list(Pacing))
def test_from_an_unknown_state_no_kind_of_action_moves_anything(pacing: Pacing) -> None:
    limits = altered(limits_of(RICH), lockstep=pacing is Pacing.LOCKSTEP)
    for action in ((0.1, -0.1, 0.0, 0.0, 1.0, 0.0, 0.0), (0.1, -0.1, 0.0, 0.0, 9.0, 0.0, 0.0)):
        output = rule(limits, inputs(None), action)
        assert (output.verdict, output.command) == (Verdict.STOPPED, ())


# Messages ----------------------------------------------------------------------------------------


@given(st.floats(0.001, 1e6), st.floats(-1.0, 1.0))
def test_a_float32_is_never_beyond_a_bound_that_its_command_keeps(
    bound: float, part: float
) -> None:
    group = replace(GROUPS['base'], low=(-bound, -bound), high=(bound, bound))
    for value in (bound, -bound, part * bound):
        sent, same = as_sent(group, (value, value), (True, False), low=group.low, high=group.high)
        assert same == value
        assert sent == float(np.float32(sent))
        assert -bound <= sent <= bound
        assert sent == pytest.approx(value, rel=2e-7)


def as_float32(value: float, *, low: float = -0.3, high: float = 0.3) -> float:
    """Return a value as a float32 carries it, of a group that may go from -0.3 to 0.3."""
    group = replace(GROUPS['base'], low=(-0.3, -0.3), high=(0.3, 0.3))
    return as_sent(group, (value, value), (True, False), low=(low, low), high=(high, high))[0]


def test_a_place_outside_of_its_bounds_is_sent_as_the_nearest_float32() -> None:
    assert as_float32(0.7) == float(np.float32(0.7))


def test_a_float32_is_not_beyond_a_bound_that_was_made_stricter() -> None:
    assert float(np.float32(0.05)) > 0.05 > as_float32(0.05, high=0.05)
    assert float(np.float32(0.01)) < 0.01 < as_float32(0.01, low=0.01)


def test_on_its_way_to_a_stricter_bound_a_float32_stays_within_those_of_the_contract() -> None:
    assert float(np.float32(0.3)) > 0.3 > as_float32(0.3, high=0.05)
    assert float(np.float32(-0.3)) < -0.3 < as_float32(-0.3, low=0.01)


def test_a_value_goes_to_its_path() -> None:
    assert message_fields(GROUPS['base'], (0.4, -0.2)) == {
        'linear': {'x': 0.4}, 'angular': {'z': -0.2},
    }  # fmt: skip


def test_joints_go_by_name_and_quantity() -> None:
    source = Joints(names=('a', 'b'), quantities=('position', 'effort'))
    group = replace(GROUPS['arm'], source=source)
    assert message_fields(group, (1.0, 2.0, 3.0, 4.0)) == {
        'name': ['a', 'b'], 'position': [1.0, 2.0], 'effort': [3.0, 4.0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ('duration', 'time'), [(0.1, (0, 100_000_000)), (2.5, (2, 500_000_000)), (1e-9, (0, 1))]
)
def test_a_trajectory_is_one_point_that_is_due_after_its_duration(
    duration: float, time: tuple[int, int]
) -> None:
    group = replace(GROUPS['arm'], source=Trajectory(names=('a', 'b'), duration=duration))
    assert message_fields(group, (1.0, 2.0)) == {
        'joint_names': ['a', 'b'],
        'points': [
            {
                'positions': [1.0, 2.0],
                'time_from_start': {'sec': time[0], 'nanosec': time[1]},
            }
        ],
    }


def test_an_array_goes_to_its_path_whole() -> None:
    group = replace(GROUPS['fingers'], source=Array(path='inner.data', length=2))
    assert message_fields(group, (1.0, 2.0)) == {'inner': {'data': [1.0, 2.0]}}


angle = st.floats(-math.pi, math.pi)


@given(roll=angle, pitch=st.floats(-1.5, 1.5), yaw=angle)
def test_angles_make_the_quaternion_of_their_product(
    roll: float, pitch: float, yaw: float
) -> None:
    found, expected = quaternion(roll, pitch, yaw), multiplied_out(roll, pitch, yaw)
    assert math.hypot(*found.values()) == pytest.approx(1.0)
    for name, value in found.items():
        assert value == pytest.approx(getattr(expected, name), abs=1e-12)


def test_angles_of_one_quaternion_are_written_as_one() -> None:
    group = replace(
        GROUPS['base'], source=Paths(paths=('p.x', 'yaw(p.q)', 'roll(p.q)', 'pitch(other)'))
    )
    found = message_fields(group, (7.0, 0.3, 0.1, 0.2))
    assert found == {
        'p': {'x': 7.0, 'q': quaternion(roll=0.1, yaw=0.3)}, 'other': quaternion(pitch=0.2),
    }  # fmt: skip
