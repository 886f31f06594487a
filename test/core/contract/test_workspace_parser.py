# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Workspaces in a contract: what is read, and one clear problem for every mistake."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.safety import Moves
from boundary_env_ros.core.contract.sources import Joints, Paths
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import Path_, put, TASKS
from support.places import CART, contract_with, CRANE, SLED, workspace_data

HALL: Path_ = ('safety', 'workspace', 'hall')


def problems_of(place: dict[str, Any], changes: dict[Path_, object]) -> tuple[Problem, ...]:
    """Return what is wrong with a place after some changes; None takes a key out."""
    data = workspace_data(deepcopy(place))
    for path, value in changes.items():
        put(data, (*HALL, *path) if path[0] != 'action' else path, value)
    with pytest.raises(ContractError) as caught:
        parse(data, tasks=TASKS)
    return caught.value.problems


# What is read ------------------------------------------------------------------------------------


def test_a_place_is_what_its_keys_say() -> None:
    (place,) = contract_with(CART).safety.workspaces
    assert (place.name, place.input, place.topic) == ('hall', 'workspace.hall', 'pose')
    assert place.source == Paths(
        paths=('pose.position.x', 'pose.position.y', 'yaw(pose.orientation)')
    )
    assert (place.unit, place.frame, place.moves) == (('m', 'm', 'rad'), 'hall', Moves.BODY)
    assert (place.dimensions, place.turn, place.moved_by) == ((0,), 1, (0, 1))
    assert (place.low, place.high) == ((-2.0, -1.5), (2.0, 1.5))
    assert len(place.polygon) == 6
    assert place.keep_out == (('rack', ((0.6, -0.6), (1.2, -0.6), (1.2, 0.2))),)
    assert (place.margin, place.delay, place.braking) == (0.05, 0.1, (1.0, 4.0))


def test_a_place_may_be_made_of_joints_and_bounded_on_one_side() -> None:
    (place,) = contract_with(
        CRANE,
        {
            HALL: {
                'topic': 'joint_states',
                'type': 'sensor_msgs/msg/JointState',
                'joints': ['bridge', 'trolley'],
                'unit': 'm',
                'frame': 'hall',
                'moves': 'axes',
                'dimensions': ['base/x', 'base/y'],
                'inside': {'low': ['none', 0.0], 'high': 2.0},
                'margin': 0.0,
                'delay': 0.0,
                'braking': 0.5,
            }
        },
    ).safety.workspaces
    assert place.source == Joints(names=('bridge', 'trolley'), quantities=('position',))
    assert (place.low, place.high) == ((None, 0.0), (2.0, 2.0))
    assert (place.polygon, place.keep_out, place.turn) == ((), (), None)
    assert (place.unit, place.braking) == (('m', 'm'), (0.5, 0.5))


def test_a_body_may_move_sideways() -> None:
    (place,) = contract_with(SLED).safety.workspaces
    assert (place.dimensions, place.turn, place.moved_by) == ((0, 1), 2, (0, 1, 2))


def test_several_places_come_in_their_order() -> None:
    contract = contract_with(CART, {('safety', 'workspace', 'yard'): {**CART, 'margin': 0.3}})
    assert [place.name for place in contract.safety.workspaces] == ['hall', 'yard']


def test_every_corner_counts_in_the_digest() -> None:
    corner = (*HALL, 'keep_out', 'rack', 2)
    digests = {
        digest_of(contract_with(CART)),
        digest_of(contract_with(CART, {corner: [1.2, 0.21]})),
        digest_of(contract_with(CART, {(*HALL, 'inside', 'low'): ['none', -1.5]})),
    }
    assert len(digests) == 3


# What is refused ---------------------------------------------------------------------------------

MISTAKES: list[tuple[dict[str, Any], dict[Path_, object], Path_, str]] = [
    (
        CART,
        {('keep_out', 'rack'): [[0.0, 0.0], [1.0, 0.0]]},
        ('keep_out', 'rack'),
        'three corners',
    ),
    (
        CART,
        {('keep_out', 'rack'): [[0, 0], [1, 1], [1, 0], [0, 1]]},
        ('keep_out', 'rack'),
        'without an edge that meets another',
    ),
    (
        CART,
        {('keep_out', 'rack'): [[0, 0], [1, 0], [1, 1], [0, 0]]},
        ('keep_out', 'rack'),
        'without an edge that meets another',
    ),
    (
        CART,
        {('inside', 'polygon', 1): [1.0, float('inf')]},
        ('inside', 'polygon', 1),
        'two finite numbers',
    ),
    (CART, {('inside', 'polygon', 1): [1.0]}, ('inside', 'polygon', 1), 'two finite numbers'),
    (CART, {('inside', 'polygon'): 3}, ('inside', 'polygon'), 'a list of points'),
    (CART, {('keep_out',): {}}, ('keep_out',), 'at least one area'),
    (CART, {('keep_out', 'Rack'): CART['keep_out']['rack']}, ('keep_out', 'Rack'), 'a name'),
    (CART, {('inside',): None, ('keep_out',): None}, (), 'a bound'),
    (
        CART,
        {('inside',): {'low': 'none', 'high': 'none'}, ('keep_out',): None},
        (),
        'a bound',
    ),
    (CART, {('inside', 'low'): [2.0, -1.5]}, ('inside', 'high', 0), 'more than low (2)'),
    (CART, {('inside', 'high', 1): -1.45}, ('inside', 'high', 1), 'twice the margin'),
    (CART, {('inside', 'low'): [-2.0]}, ('inside', 'low'), 'a list of 2'),
    (CART, {('inside', 'lo'): -2.0}, ('inside', 'lo'), 'unknown key'),
    (CART, {('fields',): CRANE['fields'], ('unit',): ['m', 'm']}, ('fields',), 'three values'),
    (CART, {('unit',): ['m', 'm']}, ('unit',), 'one for each of 3 values'),
    (CART, {('unit',): ['m', 'cm', 'rad']}, ('unit',), 'one unit for x and y'),
    (CART, {('unit',): ['m', 'm', 'm']}, ('unit',), 'and rad'),
    (CART, {('dimensions',): ['lift']}, ('dimensions', 0), 'the name of a dimension'),
    (CART, {('dimensions',): ['base/linear.x'] * 2}, ('dimensions',), 'different dimensions'),
    (CART, {('dimensions',): [0]}, ('dimensions', 0), 'the name of a dimension'),
    (
        CART,
        {('dimensions',): 'base/angular.z', ('turn',): None, ('braking',): 0.5},
        ('dimensions',),
        'm/s',
    ),
    (CART, {('turn',): 'base/linear.x'}, ('turn',), 'not in `dimensions`'),
    (CART, {('turn',): 7}, ('turn',), 'the name of a dimension'),
    (CRANE, {('dimensions',): ['base/x']}, ('dimensions',), '2, one for each value'),
    (CRANE, {('turn',): 'base/y'}, ('turn',), 'no `turn` with `moves: axes`'),
    (CRANE, {('unit',): 'rad'}, ('dimensions',), 'rad/s'),
    (
        CRANE,
        {
            ('fields',): ['pose.position.x'],
            ('dimensions',): ['base/x'],
            ('braking',): 0.5,
            ('inside',): {'low': -1.0},
        },
        ('keep_out',),
        'two values or more',
    ),
    (CART, {('moves',): 'wheels'}, ('moves',), 'one of axes, body'),
    (CART, {('moves',): None}, ('moves',), 'one of axes, body'),
    (CART, {('frame',): None}, ('frame',), 'a text'),
    (CART, {('topic',): '/pose'}, ('topic',), 'relative'),
    (
        CART,
        {('topic',): 'odom', ('type',): 'nav_msgs/msg/Path'},
        ('type',),
        'nav_msgs/msg/Odometry, as elsewhere',
    ),
    (CART, {('margin',): -0.1}, ('margin',), 'not less than 0'),
    (CART, {('margin',): None}, ('margin',), 'a finite number'),
    (CART, {('delay',): None}, ('delay',), 'a finite number (s)'),
    (CART, {('delay',): -0.1}, ('delay',), 'not less than 0'),
    (CART, {('braking',): [1.0, 0.0]}, ('braking', 1), 'greater than 0'),
    (CART, {('braking',): [1.0]}, ('braking',), 'a list of 2'),
    (
        CART,
        {('braking',): [1.1, 4.0]},
        ('braking',),
        'not more than `max_acceleration` (1) of base/linear.x',
    ),
    (
        CART,
        {('braking',): [1.0, 4.1]},
        ('braking',),
        'not more than `max_acceleration` (4) of base/angular.z',
    ),
    (
        CART,
        {('action', 'base', 'max_deceleration'): [0.5, 8.0]},
        ('braking',),
        'not more than `max_deceleration` (0.5) of base/linear.x',
    ),
    (CART, {('action', 'base', 'safe'): [0.0, 0.1]}, ('turn',), 'whose `safe` is 0'),
]


@pytest.mark.parametrize(('place', 'changes', 'path', 'expected'), MISTAKES)
def test_a_mistake_is_one_problem_that_says_where_and_what(
    place: dict[str, Any], changes: dict[Path_, object], path: Path_, expected: str
) -> None:
    (problem,) = problems_of(place, changes)
    assert problem.path == (*HALL, *path)
    assert expected in (problem.expected or problem.actual)


def test_a_command_of_positions_is_told_what_keeps_it_inside() -> None:
    (problem,) = problems_of(CRANE, {('action', 'base', 'unit'): ['m', 'm/s']})
    assert problem.path == (*HALL, 'dimensions')
    assert 'kept inside by its bounds' in problem.hint


def test_the_name_of_a_place_is_a_name() -> None:
    data = workspace_data(CART)
    data['safety']['workspace']['The hall'] = data['safety']['workspace'].pop('hall')
    with pytest.raises(ContractError, match='a name'):
        parse(data, tasks=TASKS)
