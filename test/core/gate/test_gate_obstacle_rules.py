# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several rules about obstacles, the time to a collision, and what counts as driving there."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import Corridor, Sector, Side
from boundary_env_ros.core.gate.rule_output import RuleOutput
from boundary_env_ros.core.gate.rules.evaluate import rule
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.obstacles import AT_REST, Obstacle
from boundary_env_ros.core.gate.rules.stopping import stops
from boundary_env_ros.core.records.decision import (
    Measurement,
    Reason,
    RuleInput,
    RuleResult,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import ContractError
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import put, shipped_data, TASKS
from support.gate_sequence import left_of

FREE = (8.0, 8.0, 1.0, 1.0)
SAME = {
    'dimension': 'base/linear.x',
    'slow_distance': 0.95,
    'slow_speed': 0.25,
    'stop_distance': 0.5,
}
SEVERAL: dict[str, dict[str, Any]] = {
    'front': {'topic': 'scan', 'half_angle': 0.6, **SAME, 'time_to_collision': 2.0},
    'bumper': {'topic': 'sonar', 'type': 'sensor_msgs/msg/Range', 'direction': 'behind', **SAME},
    'depth': {
        'topic': 'points', 'type': 'sensor_msgs/msg/PointCloud2', 'half_width': 0.4,
        'bottom': 0.1, 'top': 1.5, 'min_valid': 0.2, **SAME, 'time_to_collision': 4.0,
    },
}  # fmt: skip


def contract_of(rules: dict[str, dict[str, Any]], **changes: Any) -> Contract:
    data: Any = shipped_data()
    del data['safety']['obstacles']
    data['safety']['obstacles'] = rules
    for path, value in changes.items():
        put(data, tuple(path.split('__')), value)
    return parse(data, tasks=TASKS)


CONTRACT = contract_of(SEVERAL)
LIMITS = Limits(CONTRACT)
PERIOD, FASTEST = CONTRACT.period, CONTRACT.flat('high')[0]
speeds = st.floats(-0.5, 0.8)
distances = st.one_of(st.floats(0.0, 12.0), st.just(math.inf))


def seen(**sensors: Vector) -> RuleInput:
    """Return the inputs of a robot that drives at ``previous``, with what its sensors say."""
    previous = sensors.pop('previous', (0.0, 0.0))
    return RuleInput(
        trigger=Trigger.REQUEST,
        time_step=PERIOD,
        previous_command=previous,
        since_request=0.02,
        since_environment=0.02,
        measurements=tuple(
            Measurement(
                name=item.input, topic=item.topic, values=sensors.get(item.name, FREE), age=0.02
            )
            for item in CONTRACT.safety.of(Obstacle)
        ),
    )


def ruled(inputs: RuleInput, speed: float) -> RuleOutput:
    return rule(LIMITS, inputs, (speed, 0.0))


def told(results: tuple[RuleResult, ...]) -> list[tuple[str, Reason]]:
    return [(result.rule, result.reason) for result in results]


# Several -----------------------------------------------------------------------------------------


def test_rules_are_read_by_name_each_with_its_sensor() -> None:
    bumper, depth, front = CONTRACT.safety.of(Obstacle)
    assert (bumper.name, bumper.input, bumper.zone) == ('bumper', 'obstacle.bumper', Side.BEHIND)
    assert (depth.input, depth.min_valid) == ('obstacle.depth', 0.2)
    assert depth.zone == Corridor(half_width=0.4, bottom=0.1, top=1.5)
    assert (front.zone, front.time_to_collision) == (Sector(half_angle=0.6), 2.0)
    assert bumper.time_to_collision is None


def test_how_rules_stand_in_the_file_has_no_meaning() -> None:
    assert contract_of(dict(reversed(SEVERAL.items()))) == CONTRACT


@pytest.mark.parametrize('name', ['front', 'depth'])
def test_each_of_them_stops_the_robot_and_says_which(name: str) -> None:
    output = ruled(seen(**{name: (0.3, 8.0, 1.0, 1.0)}), 0.3)
    assert output.verdict is Verdict.STOPPED
    assert told(output.results) == [(f'obstacle_stop.{name}', Reason.OBSTACLE_STOP)]
    assert (output.results[0].value, output.results[0].limit) == (0.3, 0.5)


def test_all_that_stop_are_recorded() -> None:
    near = (0.3, 8.0, 1.0, 1.0)
    assert told(stops(LIMITS, seen(front=near, depth=near), (0.3, 0.0))) == [
        ('obstacle_stop.depth', Reason.OBSTACLE_STOP),
        ('obstacle_stop.front', Reason.OBSTACLE_STOP),
    ]


def test_a_sensor_of_one_side_says_nothing_of_the_other() -> None:
    near = (math.inf, 0.3, 1.0, 1.0)
    assert ruled(seen(bumper=near), 0.1).verdict is Verdict.ADMITTED
    assert ruled(seen(bumper=near), -0.1).verdict is Verdict.STOPPED
    blind = (math.inf, math.inf, 1.0, 0.0)
    assert ruled(seen(bumper=blind), 0.1).verdict is Verdict.ADMITTED
    assert told(ruled(seen(bumper=blind), -0.1).results) == [
        ('obstacle_stop.bumper', Reason.SENSOR_INVALID)
    ]


@pytest.mark.parametrize(
    ('name', 'unit'),
    [('front', 'of the beams'), ('bumper', 'of the readings'), ('depth', 'of the points')],
)
def test_what_is_missing_is_told_in_the_words_of_the_sensor(name: str, unit: str) -> None:
    [result] = ruled(seen(**{name: (math.inf, math.inf, 0.1, 0.1)}), -0.1).results
    assert (result.reason, result.value, result.unit) == (Reason.SENSOR_INVALID, 0.1, unit)


def test_each_sensor_that_is_silent_stops_the_robot() -> None:
    for item in CONTRACT.safety.of(Obstacle):
        inputs = seen()
        left = tuple(m for m in inputs.measurements if m.name != item.input)
        silent = replace(inputs, measurements=left)
        assert told(stops(LIMITS, silent, (0.0, 0.0))) == [
            (f'sensors.{item.input}', Reason.OBSERVATION_TIMEOUT)
        ]


@given(
    wanted=speeds, previous=speeds,
    front=st.tuples(distances, distances), depth=st.tuples(distances, distances),
)  # fmt: skip
def test_of_several_rules_the_strictest_wins(
    wanted: float, previous: float, front: Vector, depth: Vector
) -> None:
    """What all of them leave is no more than each alone would leave."""
    values = {'front': (*front, 1.0, 1.0), 'depth': (*depth, 1.0, 1.0)}
    together = left_of(LIMITS, seen(previous=(previous, 0.0), **values), (wanted, 0.0))[0][0]
    for name, one in values.items():
        alone = left_of(LIMITS, seen(previous=(previous, 0.0), **{name: one}), (wanted, 0.0))[0][0]
        assert abs(together) <= max(abs(alone), abs(previous))


# Time to collision -------------------------------------------------------------------------------


@given(distance=distances, wanted=speeds)
def test_the_stop_distance_is_not_reached_before_its_time(distance: float, wanted: float) -> None:
    inputs = seen(front=(distance, distance, 1.0, 1.0), previous=(wanted, 0.0))
    (speed, _), results = left_of(LIMITS, replace(inputs, time_step=1e6), (wanted, 0.0))
    left = max(0.0, distance - 0.5)
    assert abs(speed) * 2.0 <= left or math.isclose(abs(speed) * 2.0, left)
    assert speed * wanted >= 0.0  # never the other way
    limited = [result for result in results if result.reason is Reason.TIME_TO_COLLISION]
    for result in limited:
        assert result.rule == 'time_to_collision.front'
        assert (result.limit, result.unit) == (2.0, 's')
        assert result.value is not None
        assert result.value < 2.0
    slowed = min(abs(wanted), 0.25) if distance < 0.95 else abs(wanted)
    assert bool(limited) is (slowed > left / 2.0)


def test_the_time_that_was_left_and_the_time_to_keep_are_told() -> None:
    inputs = replace(seen(front=(1.5, 8.0, 1.0, 1.0)), time_step=1e6)
    [result] = left_of(LIMITS, inputs, (0.8, 0.0))[1]
    assert (result.rule, result.reason) == ('time_to_collision.front', Reason.TIME_TO_COLLISION)
    assert (result.before, result.after) == (0.8, 0.5)
    assert (result.value, result.limit, result.unit) == (1.25, 2.0, 's')
    assert result.outcome is Verdict.LIMITED


def test_slow_zones_come_before_times_whatever_their_rules_are_called() -> None:
    near, farther = (0.6, 8.0, 1.0, 1.0), (1.0, 8.0, 1.0, 1.0)
    inputs = replace(seen(front=near, depth=farther), time_step=1e6)
    assert [result.rule for result in left_of(LIMITS, inputs, (0.8, 0.0))[1]] == [
        'obstacle_slow.front', 'time_to_collision.depth', 'time_to_collision.front',
    ]  # fmt: skip


def test_driving_away_takes_as_long_as_it_likes() -> None:
    inputs = replace(seen(front=(0.5, 8.0, 1.0, 1.0)), time_step=1e6)
    assert left_of(LIMITS, inputs, (-0.3, 0.0)) == ((-0.3, 0.0), ())


@given(
    start=st.floats(0.5, 6.0), speed=st.floats(0.0, FASTEST), late=st.floats(0.0, 0.2),
    asked=st.lists(st.floats(-0.1, FASTEST), min_size=1, max_size=8),
)  # fmt: skip
def test_a_robot_that_meets_a_wall_never_comes_nearer_than_the_time_allows(
    start: float, speed: float, late: float, asked: list[float]
) -> None:
    """
    Drive at a wall by the rules, with measurements that are up to two periods late.

    Whatever is asked for, no stop is needed before the stop distance.
    """
    wall = start + 2.0 * speed  # it was within the time when the wall was seen first
    place, before = 0.0, [0.0]
    for step in range(60):
        ago = min(len(before) - 1, math.floor(late / PERIOD))
        distance = wall - before[-1 - ago]
        inputs = seen(front=(distance, 8.0, 1.0, 1.0), previous=(speed, 0.0))
        output = ruled(inputs, asked[step % len(asked)])
        if distance > 0.5:
            assert output.verdict in (Verdict.ADMITTED, Verdict.LIMITED)
        speed = output.command[0]
        place += speed * PERIOD
        before.append(place)
        assert wall - place >= 0.5 - 1e-9


# What counts as driving --------------------------------------------------------------------------


@given(st.floats(-AT_REST, AT_REST))
def test_what_rounding_leaves_of_a_stop_is_no_drive_into_what_is_near(left: float) -> None:
    near = (0.3, 0.3, 1.0, 1.0)
    for inputs in (seen(front=near), seen(front=near, previous=(left, 0.0))):
        assert not stops(LIMITS, inputs, (left, 0.0))


@given(speed=st.floats(1.01 * AT_REST, FASTEST), sign=st.sampled_from([1.0, -1.0]))
def test_whoever_drives_or_asks_to_drive_into_what_is_near_is_stopped(
    speed: float, sign: float
) -> None:
    near = (0.3, 0.3, 1.0, 1.0)
    moving = seen(front=near, previous=(sign * min(speed, 0.5), 0.0))
    for inputs, wanted in ((seen(front=near), sign * min(speed, 0.5)), (moving, 0.0)):
        assert told(stops(LIMITS, inputs, (wanted, 0.0))) == [
            ('obstacle_stop.front', Reason.OBSTACLE_STOP)
        ]


# What a contract must leave ----------------------------------------------------------------------


def refused(path: str, value: Any, **changes: Any) -> list[str]:
    """Return what is said of a rule with one other number, about a robot with others."""
    *_, key = path.split('__')
    rules = {'front': {**SEVERAL['front'], key: value}}
    with pytest.raises(ContractError) as error:
        contract_of(rules, **changes)
    return [str(problem) for problem in error.value.problems]


def test_a_time_that_the_rate_cannot_keep_is_refused() -> None:
    assert contract_of({'front': {**SEVERAL['front'], 'time_to_collision': 0.9}})
    [problem] = refused('time_to_collision', 0.89)
    assert problem.startswith(
        'safety.obstacles.front.time_to_collision: expected at least 0.90 s, to slow down from '
        '0.8 m/s at `max_acceleration`, got 0.89'
    )


def test_a_rate_that_has_to_build_up_needs_more_room_and_time() -> None:
    problems = refused(
        'time_to_collision', 0.9, action__base__max_jerk=40.0, safety__republish_period=0.05
    )
    assert [problem.split(' (')[0].split(',')[0] for problem in problems] == [
        'safety.obstacles.front.time_to_collision: expected at least 0.95 s',
    ]
    problems = refused(
        'time_to_collision', 0.9, action__base__max_jerk=4.0, safety__republish_period=0.05
    )
    assert [problem.split(': ')[0] for problem in problems] == [
        'safety.obstacles.front.slow_distance',
        'safety.obstacles.front.time_to_collision',
    ]


def test_a_rule_needs_a_sensor_of_which_something_is_usable() -> None:
    for least in (0.0, -0.1):
        [problem] = refused('min_valid', least)
        assert problem.startswith(
            'safety.obstacles.front.min_valid: expected a finite number greater than 0 not more '
        )


def test_one_topic_is_of_one_type_in_every_rule() -> None:
    rules = {'front': SEVERAL['front'], 'depth': {**SEVERAL['depth'], 'topic': 'scan'}}
    with pytest.raises(ContractError, match='as elsewhere for the topic scan'):
        contract_of(rules)
