# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keys of an action about its motion: what each is read as, and what is refused, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math

import pytest

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import drop, Path_, put, rich_data, shipped, shipped_data, TASKS
from support.gate_sequence import Sequence, TOOL

RICH: dict[str, dict[str, object]] = rich_data()['action']  # type: ignore[assignment]
ARM = RICH['arm']
OPERATOR = {
    'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': [f'axes[{i}]' for i in range(7)],
    'enable': 'buttons[0]', 'scale': 1.0, 'timeout': 0.3,
}  # fmt: skip


def data_with(changes: Mapping[Path_, object]) -> dict[str, object]:
    """Return the shipped contract with a tool beside the base, and some keys changed."""
    data = shipped_data()
    put(data, ('action', 'tool'), dict(TOOL))
    drop(data, ('safety', 'obstacle'))
    for path, value in changes.items():
        put(data, path, value)
    return data


def contract_with(changes: Mapping[Path_, object]) -> Contract:
    return parse(data_with(changes), tasks=TASKS)


def problems_of(changes: Mapping[Path_, object]) -> tuple[Problem, ...]:
    with pytest.raises(ContractError) as caught:
        contract_with(changes)
    return caught.value.problems


#: Dimensions of the groups `base` and `tool`.
TWIST = ['linear.x', 'angular.z']
TURNED = [f'orientation.{axis}' for axis in 'xyzw']


def base(key: str) -> Path_:
    return 'action', 'base', key


def tool(key: str) -> Path_:
    return 'action', 'tool', key


# What is read ------------------------------------------------------------------------------------


def test_without_the_words_nothing_but_bounds_and_rate_limits_a_group() -> None:
    [group] = shipped().action
    assert group.max_jerk == group.max_tracking_error == group.driver_timeout_probe == ()
    assert group.acceleration == group.jerk == (math.inf, math.inf)
    assert group.rotation == group.scale_together == ()


def test_each_word_is_read() -> None:
    group, turned = contract_with(
        {
            base('max_jerk'): [2.0, 9.0],
            base('max_tracking_error'): [0.3, 0.8],
            base('scale_together'): ['angular.z', 'linear.x'],
            base('driver_timeout_probe'): [0.1, 0.0],
            ('safety', 'republish_period'): 0.05,
        }
    ).action
    assert group.acceleration == (2.0, 9.0)
    assert group.max_tracking_error == (0.3, 0.8)
    assert group.scale_together == (1, 0)
    assert group.driver_timeout_probe == (0.1, 0.0)
    assert turned.rotation == (1, 2, 3, 4)
    assert all(map(math.isnan, turned.safe))


@pytest.mark.parametrize(
    'name',
    ['max_jerk', 'max_tracking_error', 'scale_together', 'driver_timeout_probe'],
)
def test_a_word_without_a_value_is_as_good_as_none(name: str) -> None:
    assert contract_with({base(name): None}) == contract_with({})


@pytest.mark.parametrize(
    'changes',
    [
        {base('max_jerk'): 0.5, ('safety', 'republish_period'): 0.05},
        {base('max_tracking_error'): 0.5},
        {base('scale_together'): TWIST},
        {base('driver_timeout_probe'): [0.1, 0.0]},
    ],
)
def test_each_word_is_part_of_the_meaning_that_the_digest_is_of(
    changes: dict[Path_, object],
) -> None:
    without = {path: value for path, value in changes.items() if path[0] == 'safety'}
    assert digest_of(contract_with(changes)) != digest_of(contract_with(without))


def test_a_delta_may_keep_its_curvature_and_have_a_profile() -> None:
    changes: dict[Path_, object] = {
        base('kind'): 'delta',
        base('max_delta'): 0.1,
        base('scale_together'): TWIST,
        base('max_jerk'): 1.0,
        ('safety', 'republish_period'): 0.05,
    }
    assert contract_with(changes).action[0].scale_together == (0, 1)


def test_named_commands_may_have_a_profile() -> None:
    changes: dict[Path_, object] = {
        base('kind'): 'discrete',
        base('choices'): {'stand': [0, 0], 'ahead': [0.4, 0]},
        base('max_jerk'): 1.0,
        ('safety', 'republish_period'): 0.05,
    }
    assert contract_with(changes).action[0].max_jerk == (1.0, 1.0)


def test_the_longest_time_between_two_commands_on_a_profile_is_one_period() -> None:
    data = data_with({base('max_jerk'): 1.0, ('safety', 'republish_period'): 0.08})
    assert parse(data, tasks=TASKS).safety.republish_period == 0.08


# What is refused ---------------------------------------------------------------------------------

CASES: tuple[tuple[str, dict[Path_, object], Path_, str], ...] = (
    ('no jerk at all', {base('max_jerk'): 0.0}, base('max_jerk'), 'greater than'),
    ('a jerk too many', {base('max_jerk'): [1.0, 1.0, 1.0]}, base('max_jerk'), 'or a list of 2'),
    (
        'bounds said twice', {base('max_velocity'): 0.5}, base('low'),
        'either low and high or max_velocity',
    ),
    (
        'a velocity that may begin at once', {base('max_acceleration'): None},
        base('max_acceleration'), 'a finite number (m/s^2 or rad/s^2) greater than 0',
    ),
    (
        'a velocity that may begin at once in one dimension',
        {base('max_acceleration'): [1.0, 'none']}, (*base('max_acceleration'), 1),
        'a number, of velocity',
    ),
    ('an effort of a twist', {base('max_effort_rate'): 1.0}, (*base('max_effort_rate'), 0),
     'none, of velocity'),
    (
        'an effort with a velocity', {('action', 'lights'): {**RICH['lights'], 'max_velocity': 1}},
        ('action', 'lights', 'max_velocity', 0), 'none, of effort',
    ),
    (
        'an effort with a deceleration',
        {('action', 'lights'): {**RICH['lights'], 'max_deceleration': 1}},
        ('action', 'lights', 'max_deceleration', 0), 'none, of effort',
    ),
    ('no difference', {base('max_tracking_error'): [0.1, 0.0]}, (*base('max_tracking_error'), 1),
     'greater than 0'),
    (
        'a profile that nobody follows', {base('max_jerk'): 1.0},
        ('safety', 'republish_period'),
        'at most period - gate_period (0.08 s), with `max_jerk`',
    ),
    (
        'a profile that is followed too seldom',
        {base('max_jerk'): 1.0, ('safety', 'republish_period'): 0.09},
        ('safety', 'republish_period'),
        'at most period - gate_period (0.08 s), with `max_jerk`',
    ),
    # Interface.
    (
        'an array that does not say what it is',
        {('action', 'arm'): {**RICH['fingers'], 'interface': None}},
        ('action', 'arm', 'interface'), 'one of velocity, position, effort',
    ),
    (
        'a place to go to in a stop', {('action', 'arm'): {**ARM, 'safe': [0.5, 0.5]}},
        ('action', 'arm', 'safe'), 'hold_position, of a position',
    ),
    ('a speed that goes on in a stop', {base('safe'): 'hold_position'}, base('safe'),
     'a finite number'),
    (
        'a twist of positions', {base('interface'): 'position', base('safe'): 'hold_position'},
        base('interface'), 'velocity, as geometry_msgs/msg/TwistStamped says',
    ),
    (
        'an interface too many', {base('interface'): ['velocity'] * 3},
        base('interface'), 'one interface, or one for each of 2 values',
    ),
    (
        'a profile of a driver that is told to be there sooner',
        {('action', 'arm'): {**ARM, 'max_acceleration': 4.0, 'duration': 0.05},
         ('safety', 'republish_period'): 0.05},
        ('action', 'arm', 'duration'), 'at least period (0.1 s), with `max_acceleration`',
    ),
    # Curvature.
    (
        'a curvature of one', {base('scale_together'): TWIST[:1]},
        base('scale_together'), 'two or more',
    ),
    (
        'one twice', {base('scale_together'): TWIST[:1] * 2},
        base('scale_together'), 'different dimensions',
    ),
    ('beyond the group', {base('scale_together'): ['linear.x', 'z']}, (*base('scale_together'), 1),
        'the name of a dimension (base/linear.x, base/angular.z, '),
    ('between two', {base('scale_together'): ['linear.x', 1]}, (*base('scale_together'), 1),
     'the name of a dimension'),
    (
        'named twists',
        {base('scale_together'): TWIST, base('kind'): 'discrete',
         base('choices'): {'stand': [0, 0], 'ahead': [0.4, 0]}},
        base('kind'), 'continuous or delta, with scale_together',
    ),
    (
        'levels', {base('scale_together'): TWIST, base('kind'): 'multi_discrete',
                   base('levels'): [[0, 0.4], [0, 1]]},
        base('kind'), 'continuous or delta, with scale_together',
    ),
    (
        'no way to 0',
        {base('scale_together'): TWIST, base('low'): [0.1, -1.5], base('safe'): [0.1, 0.0]},
        (*base('low'), 0), 'at most 0, with scale_together',
    ),
    (
        'no way to 0 from below',
        {base('scale_together'): TWIST, base('high'): [0.8, -0.1], base('safe'): [0.0, -0.1]},
        (*base('high'), 1), 'at least 0, with scale_together',
    ),
    # Probe.
    ('a probe out of bounds', {base('driver_timeout_probe'): [0.9, 0.0]},
     (*base('driver_timeout_probe'), 0), 'a value in'),
    (
        'a probe that shows nothing', {base('driver_timeout_probe'): [0.02, 0.1]},
        base('driver_timeout_probe'),
        'differs from safe by more than feedback.threshold',
    ),
    (
        'a driver without a timeout',
        {base('driver_timeout_probe'): [0.1, 0.0], base('driver_timeout'): 'none',
         base('driver_timeout_acknowledged'): True},
        base('driver_timeout_probe'), 'no probe, of a driver without a timeout',
    ),
    (
        'a place that is held', {tool('driver_timeout_probe'): [0.6, 0.0, 0.0, 0.0, 1.0]},
        tool('driver_timeout_probe'),
        'no probe, in a group that stays where it is',
    ),
    # Rotation.
    ('three of four', {tool('rotation'): TURNED[:3]}, tool('rotation'), 'four dimensions'),
    ('five', {tool('rotation'): ['position.z', *TURNED]}, tool('rotation'), 'four dimensions'),
    ('not its own', {tool('rotation'): [*TURNED[:3], 'w']}, (*tool('rotation'), 3), 'the name of'),
    (
        'half the numbers', {tool('low'): [0.0, -1, -1, -1, 0]}, (*tool('low'), 4),
        '-1, of a unit quaternion',
    ),
    (
        'more than all', {tool('high'): [2.0, 1, 1, 1, 1.1]}, (*tool('high'), 4),
        '1, of a unit quaternion',
    ),
    (
        'four rates', {tool('max_velocity'): [0.5, 1.0, 1.0, 1.0, 2.0]}, tool('max_velocity'),
        'one number (rad/s) for all four of the rotation',
    ),
    (
        'a difference of quaternions', {tool('kind'): 'delta', tool('max_delta'): 0.1},
        tool('kind'),
        'continuous, with rotation',
    ),
    (
        'a turn with a profile',
        {tool('max_acceleration'): 1.0, ('safety', 'republish_period'): 0.05},
        tool('max_acceleration'), 'no max_acceleration, in a group with rotation',
    ),
    (
        'a turn with a jerk', {tool('max_jerk'): 1.0, ('safety', 'republish_period'): 0.05},
        tool('max_jerk'), 'no max_jerk, in a group with rotation',
    ),
    (
        'a part of it scaled', {tool('scale_together'): ['position.z', TURNED[0]]},
        tool('scale_together'), 'no dimension of the rotation',
    ),
    (
        'a part of it as a speed',
        {('safety', 'obstacle'): {
            'topic': 'scan', 'type': 'sensor_msgs/msg/LaserScan',
            'dimension': 'tool/orientation.y', 'half_angle': 0.6, 'slow_distance': 99.0,
            'slow_speed': 0.2, 'stop_distance': 0.5}},
        tool('rotation'), 'dimensions that no other rule is about',
    ),
    (
        'a hand that stretches it', {('safety', 'operator'): {**OPERATOR, 'scale': 0.5}},
        ('safety', 'operator', 'scale'), '1 for the rotation of action.tool',
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ('changes', 'path', 'expected'), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_makes_no_sense_is_refused_where_it_stands(
    changes: dict[Path_, object], path: Path_, expected: str
) -> None:
    found = [problem for problem in problems_of(changes) if problem.path == path]
    assert found, problems_of(changes)
    assert any(expected in problem.expected for problem in found), found


def test_a_hand_that_gives_the_rotation_itself_is_heard() -> None:
    scale = [0.8, 1.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    contract = contract_with({('safety', 'operator'): {**OPERATOR, 'scale': scale}})
    assert contract.safety.operator is not None


def test_a_unit_that_is_missing_is_all_that_is_said_of_a_rotation_that_is_right() -> None:
    [problem] = problems_of({tool('unit'): ['m', '']})
    assert problem.path == tool('unit')


# Room for obstacles ------------------------------------------------------------------------------


def slowed(contract: Contract, rising: int) -> float:
    """Return how far a cart drives that is slowed after so many ticks of getting faster."""
    limits, tick = Limits.of(contract), contract.safety.gate_period
    fastest, slow = limits.high[0], contract.safety.obstacles[0].slow_speed
    sequence = Sequence(replace(limits, safety=replace(limits.safety, obstacles=())), (0.0, 0.0))
    for _ in range(rising):
        sequence.ask((fastest, 0.0), tick)
    way = sequence.command[0] * contract.period
    while sequence.command[0] > slow + 1e-9:
        before = sequence.command[0]
        sequence.ask((slow, 0.0), tick)
        way += tick * max(before, sequence.command[0])
    return way


@pytest.mark.parametrize(
    'profile',
    [{'max_jerk': 0.5}, {'max_jerk': 5.0}],
)
def test_the_least_room_that_is_asked_for_is_enough_for_one_that_was_getting_faster(
    profile: dict[str, float],
) -> None:
    changes: dict[Path_, object] = {base(key): value for key, value in profile.items()}
    changes |= {('safety', 'republish_period'): 0.05}
    where = ('safety', 'obstacle', 'slow_distance')
    with pytest.raises(ContractError) as caught:
        shipped({**changes, where: 0.7})
    [problem] = [found for found in caught.value.problems if found.path == where]
    least = float(problem.expected.split()[2])
    contract = shipped({**changes, where: least + 0.02})
    room = contract.safety.obstacles[0].slow_distance - contract.safety.obstacles[0].stop_distance
    assert max(slowed(contract, rising) for rising in range(0, 90, 5)) <= room
