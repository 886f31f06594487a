# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The keys of an action about its motion: what each is read as, and what is refused, and why."""

from __future__ import annotations

from collections.abc import Mapping
import math

import pytest

from boundary_env_ros.core.contract.digest import digest_of
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import drop, Path_, put, rich_data, shipped, shipped_data, TASKS
from support.gate_sequence import altered, Sequence, TOOL

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
    drop(data, ('safety', 'obstacles'))
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
    limits, tick = Limits(contract), contract.safety.gate_period
    fastest, slow = limits.high[0], contract.safety.of(Obstacle)[0].slow_speed
    sequence = Sequence(altered(limits, said={}), (0.0, 0.0))
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
    where = ('safety', 'obstacles', 'scan', 'slow_distance')
    with pytest.raises(ContractError) as caught:
        shipped({**changes, where: 0.7})
    [problem] = [found for found in caught.value.problems if found.path == where]
    least = float(problem.expected.split()[2])
    contract = shipped({**changes, where: least + 0.02})
    [zones] = contract.safety.of(Obstacle)
    room = zones.slow_distance - zones.stop_distance
    assert max(slowed(contract, rising) for rising in range(0, 90, 5)) <= room
