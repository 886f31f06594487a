# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Workspaces in a contract: what is read, and one clear problem for every mistake."""

from __future__ import annotations

from typing import Any

import pytest

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.sources import Joints, Paths
from boundary_env_ros.core.gate.rules.workspace import Moves, Workspace
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import Path_, put, TASKS
from support.places import CART, contract_with, CRANE, SLED, workspace_data

HALL: Path_ = ('safety', 'workspace', 'hall')


def problems_of(place: dict[str, Any], changes: dict[Path_, object]) -> tuple[Problem, ...]:
    """Return what is wrong with a place after some changes; None takes a key out."""
    data = workspace_data(place)
    for path, value in changes.items():
        put(data, (*HALL, *path) if path[0] != 'action' else path, value)
    with pytest.raises(ContractError) as caught:
        parse(data, tasks=TASKS)
    return caught.value.problems


# What is read ------------------------------------------------------------------------------------


def test_a_place_is_what_its_keys_say() -> None:
    (place,) = contract_with(CART).safety.of(Workspace)
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
    ).safety.of(Workspace)
    assert place.source == Joints(names=('bridge', 'trolley'), quantities=('position',))
    assert (place.low, place.high) == ((None, 0.0), (2.0, 2.0))
    assert (place.polygon, place.keep_out, place.turn) == ((), (), None)
    assert (place.unit, place.braking) == (('m', 'm'), (0.5, 0.5))


def test_a_body_may_move_sideways() -> None:
    (place,) = contract_with(SLED).safety.of(Workspace)
    assert (place.dimensions, place.turn, place.moved_by) == ((0, 1), 2, (0, 1, 2))


def test_several_places_come_in_their_order() -> None:
    contract = contract_with(CART, {('safety', 'workspace', 'yard'): {**CART, 'margin': 0.3}})
    assert [place.name for place in contract.safety.of(Workspace)] == ['hall', 'yard']


def test_every_corner_counts_in_the_digest() -> None:
    corner = (*HALL, 'keep_out', 'rack', 2)
    digests = {
        digest_of(contract_with(CART)),
        digest_of(contract_with(CART, {corner: [1.2, 0.21]})),
        digest_of(contract_with(CART, {(*HALL, 'inside', 'low'): ['none', -1.5]})),
    }
    assert len(digests) == 3


# What is refused ---------------------------------------------------------------------------------


def test_a_command_of_positions_is_told_what_keeps_it_inside() -> None:
    (problem,) = problems_of(CRANE, {('action', 'base', 'unit'): ['m', 'm/s']})
    assert problem.path == (*HALL, 'dimensions')
    assert 'kept inside by its bounds' in problem.hint


def test_the_name_of_a_place_is_a_name() -> None:
    data = workspace_data(CART)
    data['safety']['workspace']['The hall'] = data['safety']['workspace'].pop('hall')
    with pytest.raises(ContractError, match='a name'):
        parse(data, tasks=TASKS)
