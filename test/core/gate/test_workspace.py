# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Workspaces: a robot that keeps its promises never leaves, whatever is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
import math
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules import workspace
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.pending_motion import pending_motion, Recent
from boundary_env_ros.core.gate.rules.workspace import Workspace
from boundary_env_ros.core.records.decision import Measurement, Reason, Verdict
from boundary_env_ros.core.vectors import Vector
from support.places import CART, contract_with, CRANE, IdealRobot, SLED, spare

#: An axis of its own each, as of joints: nothing but bounds, one of them missing.
SLIDES = {
    **{key: value for key, value in CRANE.items() if key != 'keep_out'},
    'inside': {'low': [-1.0, 'none'], 'high': [1.0, 0.4]},
}
#: Nothing is in the way but one area.
YARD = {key: value for key, value in CART.items() if key != 'inside'}
#: A lift on the robot, whose driver takes longer to notice that no command comes.
LIFT = {
    'topic': 'lift', 'type': 'geometry_msgs/msg/TwistStamped', 'fields': ['twist.linear.z'],
    'unit': 'm/s', 'low': -0.1, 'high': 0.1, 'safe': 0.0,
    'max_acceleration': 1.0, 'max_deceleration': 2.0,
    'driver_timeout': 0.5,
    'feedback': {
        'topic': 'lift_state', 'type': 'nav_msgs/msg/Odometry',
        'fields': ['twist.twist.linear.z'], 'threshold': 0.03,
    },
}  # fmt: skip
#: A cart that cannot turn.
SHUTTLE = {**{key: value for key, value in CART.items() if key != 'turn'}, 'braking': 1.0}

ROUNDING = 1e-6


def robot(place: dict[str, Any], at: Vector, **changes: Any) -> IdealRobot:
    return IdealRobot(contract_with(place, changes.pop('changes', None)), at, lag=10, **changes)


def results(output: RuleOutput, rule: str = 'workspace') -> list[Any]:
    return [result for result in output.results if result.rule == rule]


def drive(moved: IdealRobot, wanted: Vector, seconds: float) -> list[RuleOutput]:
    """Ask for the same again and again, with the gate's timer in between."""
    outputs = []
    for _ in range(round(seconds / 0.1)):
        outputs.append(moved.decide(wanted))
        for _ in range(5):
            assert not moved.tick()
            moved.move(2)
    return outputs


# It never leaves ---------------------------------------------------------------------------------


@st.composite
def traffic(
    draw: st.DrawFn, where: dict[str, Any], changes: dict[Any, object] | None = None
) -> tuple[IdealRobot, Any]:
    """Return an ideal robot somewhere inside, and commands that mean no good."""
    contract = contract_with(where, changes)
    (place,) = contract.safety.of(Workspace)
    at: Vector = (draw(st.floats(-2.0, 2.0)), draw(st.floats(-1.5, 1.5)))
    assume(spare(place, at) >= 0.0)
    if len(place.unit) == 3:
        at = (*at, draw(st.floats(-4.0, 4.0)))
    moved = IdealRobot(
        contract, at, lag=draw(st.sampled_from([0, 3, 10])), eager=draw(st.booleans())
    )
    each = [
        st.sampled_from([low, high, 0.0]) | st.floats(low, high)
        for low, high in zip(moved.limits.low, moved.limits.high, strict=True)
    ]
    moves = draw(
        st.lists(
            st.tuples(
                st.tuples(*each),
                st.integers(1, 10),
                st.sampled_from([2, 5, 10]),
                st.sampled_from([0, 0, 3, 10]),
            ),
            min_size=3,
            max_size=8,
        )
    )
    return moved, moves


def never_leaves(moved: IdealRobot, moves: Any, *, gone: bool = True) -> None:
    def go_on(hundredths: int) -> None:
        for _ in range(hundredths):
            moved.move(1)
            assert spare(moved.place, moved.at) >= -ROUNDING

    for wanted, times, every, age in moves:
        for _ in range(times):
            moved.decide(wanted, age=age)
            for passed in range(every):
                if passed and passed % 2 == 0:
                    moved.tick(age=age)
                go_on(1)
    if not gone:
        return
    # The gate is gone, and the driver's timeout runs out.
    go_on(25 - every)
    moved.brake_by_itself()
    go_on(120)


@pytest.mark.parametrize(
    'place', [CART, SLED, SHUTTLE, YARD], ids=['cart', 'sled', 'shuttle', 'yard']
)
@given(data=st.data())
@settings(max_examples=8)
def test_a_body_never_leaves_even_if_the_gate_dies(
    place: dict[str, Any], data: st.DataObject
) -> None:
    never_leaves(*data.draw(traffic(place)))


@pytest.mark.parametrize('place', [CRANE, SLIDES], ids=['crane', 'slides'])
@given(data=st.data())
@settings(max_examples=10)
def test_axes_never_leave_even_if_the_gate_dies(
    place: dict[str, Any], data: st.DataObject
) -> None:
    never_leaves(*data.draw(traffic(place)))


@pytest.mark.parametrize('place', [CART, SLED, CRANE, YARD], ids=['cart', 'sled', 'crane', 'yard'])
@given(data=st.data())
@settings(max_examples=10)
def test_what_is_not_computed_far_from_boundaries_changes_no_ruling(
    data: st.DataObject, place: dict[str, Any]
) -> None:
    moved, moves = data.draw(traffic(place))
    again = deepcopy(moved)

    def outputs(of: IdealRobot) -> list[RuleOutput]:
        found = []
        for wanted, times, every, age in moves:
            for _ in range(times):
                found.append(of.decide(wanted, age=age))
                of.move(every)
        return found

    quick = outputs(moved)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace._Course, 'is_far', lambda course, command: False)
        patch.setattr(workspace, '_most_that_passes', by_halves)
        assert quick == outputs(again)


def by_halves(spare: Callable[[float], float], at_most: float) -> float:
    passes, fails = 0.0, 1.0
    while fails - passes > 1.0 / workspace._PARTS:
        part = 0.5 * (passes + fails)
        if spare(part) >= -workspace._ROUNDING:
            passes = part
        else:
            fails = part
    return passes


@given(st.floats(0.01, 0.99), st.floats(0.2, 5.0), st.floats(1e-3, 10.0))
def test_the_part_that_passes_is_found_as_by_halves_and_sooner(
    root: float, power: float, size: float
) -> None:
    asked = []

    def spare(part: float) -> float:
        asked.append(part)
        return size * (root**power - part**power)

    found = workspace._most_that_passes(spare, spare(1.0))
    count = len(asked)
    assert found == by_halves(spare, 0.0)
    assert count <= 24
    assert power != 1.0 or count <= 8


@pytest.mark.parametrize('place', [CART, CRANE], ids=['cart', 'crane'])
@given(data=st.data())
@settings(max_examples=6)
def test_what_cannot_slow_down_at_once_is_stopped_rather_than_let_out(
    place: dict[str, Any], data: st.DataObject
) -> None:
    profile = {
        ('action', 'base', 'max_jerk'): [2.0, 6.0],
        ('safety', 'republish_period'): 0.02,
    }
    never_leaves(*data.draw(traffic(place, profile)), gone=False)


def test_a_robot_that_is_asked_to_leave_comes_as_near_as_it_may_without_a_stop() -> None:
    moved = robot(YARD, (-1.0, -0.1, 0.0))
    outputs = drive(moved, (0.8, 0.0), 12.0)
    assert max(output.verdict for output in outputs) is Verdict.LIMITED
    # Straight ahead is the slanted side of the rack, from (0.6, -0.6) to (1.2, 0.2).
    assert 0.0 <= spare(moved.place, moved.at) < 0.01


def test_an_axis_comes_as_near_as_it_may_without_a_stop() -> None:
    moved = robot(SLIDES, (0.0, 0.0))
    outputs = drive(moved, (0.8, 0.6), 10.0)
    assert max(output.verdict for output in outputs) is Verdict.LIMITED
    for value, bound in zip(moved.at, (0.95, 0.35), strict=True):
        assert bound - 0.01 <= value <= bound + 1e-9


# What is taken -----------------------------------------------------------------------------------


def test_far_from_every_boundary_nothing_is_taken() -> None:
    assert results(robot(CART, (-1.2, -0.5, 0.3)).decide((0.8, 1.5))) == []


def test_a_place_of_one_coordinate_is_ruled_on_far_from_its_bounds_too() -> None:
    mast = {
        **SLIDES, 'fields': ['pose.position.z'], 'dimensions': ['base/linear.x'], 'braking': 0.9,
        'inside': {'low': -50.0, 'high': 50.0},
    }  # fmt: skip
    assert results(robot(mast, (0.0,)).decide((0.5, 0.0))) == []


def test_the_needed_way_is_that_of_its_speed_until_it_rests() -> None:
    moved = robot(SLIDES, (0.0, 0.0)).go((0.8, 0.0), (0.35, 0.0))
    output = moved.decide((0.8, 0.0))
    # Under way for the delay, in force until the driver's timeout, and braked then.
    way = 0.8 * (0.1 + 0.25) + 0.8**2 / (2.0 * 0.9)
    (taken,) = results(output)
    assert (taken.reason, taken.outcome) == (Reason.WORKSPACE, Verdict.LIMITED)
    assert (taken.dimension, taken.before, taken.unit) == (0, 0.8, 'm')
    assert taken.value == pytest.approx(1.0 - moved.at[0] - way)
    assert taken.limit == 0.05
    assert output.command[0] == taken.after < 0.8


def test_a_body_is_slowed_down_on_the_path_that_was_asked_for() -> None:
    at = (1.77, 0.0, 0.0)
    moved = robot(CART, at).go((0.3, 0.45), at)
    first, second = results(moved.decide((0.39, 0.6)))
    assert first.after / first.before == pytest.approx(second.after / second.before)
    assert 0.3 < first.after < 0.39


def test_an_axis_is_slowed_down_alone() -> None:
    moved = robot(SLIDES, (0.94, 0.0))
    output = moved.decide((0.1, -0.08))
    assert [result.dimension for result in results(output)] == [0]
    assert output.command[1] == -0.08


def test_a_bound_that_is_none_is_none() -> None:
    assert results(robot(SLIDES, (0.0, -50.0)).decide((0.0, -0.05))) == []


def test_a_bound_of_zero_is_a_bound() -> None:
    for inside, start, speed in (
        ({'low': [0.0, 'none'], 'high': [1.0, 0.4]}, 0.06, -0.1),
        ({'low': [-1.0, 'none'], 'high': [0.0, 0.4]}, -0.06, 0.1),
    ):
        (taken,) = results(robot({**SLIDES, 'inside': inside}, (start, 0.0)).decide((speed, 0.0)))
        assert taken.value < taken.limit == 0.05


def test_of_several_drivers_the_one_that_brakes_last_counts() -> None:
    moved = robot(SLIDES, (0.0, 0.0, 0.0), changes={('action', 'lift'): LIFT})
    (taken,) = results(moved.go((0.8, 0.0, 0.0), (0.35, 0.0)).decide((0.8, 0.0, 0.0)))
    way = 0.8 * (0.1 + 0.5) + 0.8**2 / (2.0 * 0.9)
    assert taken.value == pytest.approx(1.0 - 0.35 - way)


def test_a_robot_may_turn_where_it_may_not_go_on() -> None:
    moved = robot(CART, (1.95, -1.0, 0.0))
    assert moved.decide((0.0, 0.3)).command == (0.0, 0.3)
    assert moved.decide((0.1, 0.0)).command[0] == pytest.approx(0.0, abs=1e-3)


def test_a_turn_that_may_lead_to_the_wall_is_taken_from_a_robot_beside_it() -> None:
    beside = (-1.0, -1.449, 0.0)
    assert results(robot(CART, beside).decide((0.1, 0.0))) == []
    assert results(robot(CART, beside).decide((0.1, 0.4))) == []
    assert results(robot(CART, beside).decide((0.1, -0.4))) != []


def test_what_is_under_way_counts_before_it_is_seen() -> None:
    at, wanted = (0.8, 0.0), (0.1, 0.0)
    still, moved = robot(SLIDES, at), robot(SLIDES, at)
    moved.go((0.5, 0.0), at)
    moved.brake()
    moved.move(1)
    moved.put(at)
    assert results(still.decide(wanted)) == []
    assert results(moved.decide(wanted), 'workspace_stop') != []
    moved.go((0.0, 0.0), at)
    assert results(moved.decide(wanted)) == []


def test_an_older_place_is_as_good_once_what_went_out_since_is_counted_in() -> None:
    ways = []
    for age in (0, 10, 20):
        moved = robot(SLIDES, (0.0, 0.0)).go((0.5, 0.0), (0.45, 0.0))
        moved.move(20)
        (taken,) = results(moved.decide((0.8, 0.0), age=age))
        ways.append((taken.value, taken.after))
    assert ways[1] == pytest.approx(ways[0])
    assert ways[2] == pytest.approx(ways[0])


# Stops -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('place', 'start', 'wanted', 'jump'),
    [
        (SLIDES, (0.0, 0.0), (0.6, 0.0), (0.8, 0.0)),
        (CART, (-1.2, -1.0, 0.0), (0.6, 0.0), (1.8, -1.0, 0.0)),
        (CRANE, (-1.2, -1.0), (0.6, 0.0), (0.5, -0.4)),
    ],
    ids=['slides', 'cart', 'crane'],
)
def test_a_robot_that_is_too_near_for_its_speed_is_stopped(
    place: dict[str, Any], start: Vector, wanted: Vector, jump: Vector
) -> None:
    moved = robot(place, start).go(wanted, jump)
    output = moved.decide(wanted)
    assert output.verdict is Verdict.STOPPED
    (stop,) = results(output, 'workspace_stop')
    assert stop.reason is Reason.WORKSPACE
    assert stop.value < stop.limit <= 0.05
    assert abs(output.command[0]) < 0.6
    assert moved.tick()


def test_once_at_rest_it_is_stopped_no_more() -> None:
    moved = robot(SLIDES, (0.0, 0.0)).go((0.6, 0.0), (0.9, 0.0))
    assert moved.decide((0.0, 0.0)).verdict is Verdict.STOPPED
    while moved.tick():
        moved.move(2)
        moved.put((0.9, 0.0))
    assert moved.command == (0.0, 0.0)
    moved.move(10)
    assert moved.decide((-0.1, 0.0)).verdict is Verdict.ADMITTED


def test_between_two_commands_the_last_is_judged_as_it_stays_in_force() -> None:
    # Stopped at once 0.189 m are needed, after another 0.02 s of 0.5 m/s 0.199 m.
    at = (0.95 - 0.195, 0.0)
    assert robot(SLIDES, at).go((0.5, 0.0), at).decide((0.5, 0.0)).verdict is Verdict.LIMITED
    assert robot(SLIDES, at).go((0.5, 0.0), at).tick()


def test_what_cannot_be_slowed_down_yet_is_judged_as_it_is() -> None:
    at = (0.95 - 0.195, 0.0)
    moved = robot(SLIDES, at).go((0.5, 0.0), at)
    moved._decided = moved._now  # the last command has just gone out: the rate leaves nothing
    assert moved.decide((0.0, 0.0)).verdict is Verdict.STOPPED


# Beyond a boundary -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('place', 'at', 'back', 'on'),
    [
        (SLIDES, (1.2, 0.0), (-0.1, 0.0), (0.1, 0.0)),
        (SLIDES, (-1.2, 0.6), (0.1, -0.08), (-0.1, 0.08)),
        (CART, (2.3, 0.0, 0.0), (-0.1, 0.0), (0.1, 0.0)),
        (CART, (0.0, 1.2, math.pi / 2), (-0.1, 0.0), (0.1, 0.0)),
        (CART, (1.15, -0.2, 0.0), (0.1, 0.0), (-0.1, 0.0)),
        (CRANE, (1.15, -0.2), (0.1, 0.0), (-0.1, 0.0)),
        (CRANE, (0.0, 1.2), (0.0, -0.08), (0.0, 0.08)),
    ],
    ids=['bound', 'corner', 'wall', 'slant', 'rack', 'crane in rack', 'crane'],
)
def test_what_is_outside_may_come_back_but_not_go_on(
    place: dict[str, Any], at: Vector, back: Vector, on: Vector
) -> None:
    assert robot(place, at).decide(back).command == back
    refused = robot(place, at).decide(on)
    assert refused.verdict is Verdict.LIMITED
    assert refused.command == pytest.approx((0.0, 0.0), abs=1e-4)


@pytest.mark.parametrize(
    ('place', 'near', 'back', 'on'),
    [
        (CART, (-1.98, 0.0, math.pi), (-0.1, 0.0), (0.1, 0.0)),
        (YARD, (0.9, -0.62, math.pi / 2), (-0.1, 0.0), (0.1, 0.0)),
        (SLIDES, (0.98, 0.0), (-0.1, 0.0), (0.1, 0.0)),
    ],
    ids=['wall', 'rack', 'bound'],
)
def test_what_is_nearer_than_the_margin_may_not_come_nearer(
    place: dict[str, Any], near: Vector, back: Vector, on: Vector
) -> None:
    assert robot(place, near).decide(back).command == back
    assert robot(place, near).decide(on).command[0] == pytest.approx(0.0, abs=1e-4)


def test_coming_back_does_not_lead_out_on_the_other_side() -> None:
    thin = {
        **{key: value for key, value in CRANE.items() if key != 'keep_out'},
        'inside': {'polygon': [[0.0, -5.0], [0.3, -5.0], [0.3, 5.0], [0.0, 5.0]]},
        'margin': 0.02,
    }
    moved = robot(thin, (-0.1, 0.0))
    drive(moved, (0.8, 0.0), 10.0)
    assert 0.02 <= moved.at[0] <= 0.28 + ROUNDING


# What is not known -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'values',
    [(), (math.nan, 0.0), (math.inf, 0.0), (0.0, -math.inf), (0.0,), (0.0, 0.0, 0.0)],
)
def test_a_place_that_is_not_known_stops_the_robot(values: Vector) -> None:
    moved = robot(SLIDES, (0.0, 0.0))
    moved.seen = lambda age: Measurement(  # type: ignore[method-assign]
        name='workspace.hall', topic='pose', values=values, age=0.0
    )
    output = moved.decide((0.1, 0.0))
    assert output.verdict is Verdict.STOPPED
    assert [result.rule for result in output.results] == ['sensors.workspace.hall']


def test_in_lockstep_a_command_is_in_force_for_a_period() -> None:
    contract = contract_with(SLIDES, {('clock',): 'sim', ('pacing',): 'lockstep'})
    moved = IdealRobot(contract, (0.62, 0.0), lag=10)
    assert Limits(contract).period == 0.1
    # 0.1 m/s for 0.1 s of delay, a period of 0.1 s, and the brakes: 0.0256 m. Realtime: 0.0406 m.
    moved.put((0.95 - 0.03, 0.0))
    assert results(moved.decide((0.1, 0.0))) == []
    late = robot(SLIDES, (0.95 - 0.03, 0.0))
    assert results(late.decide((0.1, 0.0))) != []


# What is under way -------------------------------------------------------------------------------


def test_what_was_sent_acts_until_the_next_does_and_is_braked_then() -> None:
    found = pending_motion(((1.0, 0.8), (0.1, 0.2)), age=0.2, delay=0.3, braking=1.0)
    # 0.8 m/s from 0.2 s ago until 0.2 s from now, less by 0.1 m/s at the end of the delay.
    assert found.distance == pytest.approx(0.8 * 0.4 + 0.1 * 0.75)
    assert found.speed == pytest.approx(0.7)
    assert found.last == 0.2


def test_a_faster_command_may_act_at_any_time_until_the_delay_is_over() -> None:
    found = pending_motion(((1.0, 0.2),), age=0.0, delay=0.3, braking=1.0)
    assert found.distance == pytest.approx(0.2 * 0.3)
    # At once, for all of the delay; and it is braked when the hold is over.
    assert found.needs(0.5, hold=0.0) == pytest.approx(0.5 * 0.3 + 0.5**2 / 2.0)


def test_what_goes_the_other_way_is_not_under_way() -> None:
    found = pending_motion(((1.0, -0.8), (0.1, -0.2)), age=0.2, delay=0.3, braking=1.0)
    assert (found.distance, found.speed, found.last) == (0.0, 0.0, 0.0)
    assert found.needs(-0.5, hold=1.0) == 0.0


speeds = st.floats(-1.0, 1.0)


@given(
    st.lists(st.tuples(st.floats(0.0, 2.0), speeds), max_size=8),
    st.floats(0.0, 0.5),
    st.floats(0.0, 0.5),
    st.floats(0.2, 5.0),
    speeds,
    speeds,
)
def test_more_speed_never_needs_less_way(
    sent: list[tuple[float, float]],
    age: float,
    delay: float,
    braking: float,
    one: float,
    other: float,
) -> None:
    found = pending_motion(
        tuple(sorted(sent, reverse=True, key=lambda item: item[0])),
        age=age,
        delay=delay,
        braking=braking,
    )
    slow, fast = sorted((one, other))
    assert found.needs(slow, 0.3) <= found.needs(fast, 0.3) + 1e-12
    assert found.needs(slow, 0.2) <= found.needs(slow, 0.3) + 1e-12


def test_only_what_may_still_act_is_remembered() -> None:
    recent = Recent(1.0)
    for second in range(9):
        recent = recent.after((float(second // 2),), second * 10**9)
    found = recent.at(9 * 10**9)
    assert [(one.age, one.command) for one in found] == [(3.0, (3.0,)), (1.0, (4.0,))]
    assert recent.forgotten().at(9 * 10**9) == ()


# What is remembered ------------------------------------------------------------------------------

_SPEEDS = st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))


@given(
    before=st.lists(_SPEEDS, max_size=3),
    at_once=st.lists(_SPEEDS, min_size=1, max_size=40),
    age=st.floats(0.0, 0.5),
    delay=st.floats(0.0, 0.5),
)
def test_a_repeated_step_is_remembered_by_its_extremes(
    before: list[Vector], at_once: list[Vector], age: float, delay: float
) -> None:
    """In lockstep the time of the robot stands still between two steps."""
    sent = [(i * 100_000_000, command) for i, command in enumerate(before)]
    sent += [(300_000_000, command) for command in at_once]
    # What is sent again goes on.
    sent = [one for i, one in enumerate(sent) if not i or one[1] != sent[i - 1][1]]
    recent = Recent(10.0)
    for at, command in sent:
        recent = recent.after(command, at)
    assert len(recent.sent) <= len(before) + 4
    now = 350_000_000
    for dimension in (0, 1):
        for sign in (1.0, -1.0):
            kept, all_of_it = (
                pending_motion(
                    tuple(((now - at) / 1e9, sign * command[dimension]) for at, command in each),
                    age=age,
                    delay=delay,
                    braking=0.8,
                )
                for each in (recent.sent, sent)
            )
            assert kept == all_of_it
