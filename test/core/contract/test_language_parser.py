# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The words of the contract language: what each is read as, and what is refused, and why."""

from __future__ import annotations

import math
from typing import Any

import pytest

from boundary_env_ros.core.contract.model import (
    ActionKind,
    CallStep,
    ConfirmStep,
    Interface,
    OnStale,
    OutOfBounds,
    PublishStep,
    Qos,
    WaitStep,
    WorldStep,
)
from boundary_env_ros.core.contract.sources import (
    Array,
    Derived,
    Joints,
    Lookup,
    Paths,
    Picture,
    Points,
    Trajectory,
)
from boundary_env_ros.errors import ContractError, Problem
from boundary_env_ros.storage.contract.parser import parse
from support.core_world import drop, Path_, put, rich, rich_data, TASKS

RICH = rich()
FIELDS = {spec.name: spec for spec in RICH.fields}
GROUPS = {group.name: group for group in RICH.action}
MISSING = object()


def problems_of(path: Path_, value: object) -> tuple[Problem, ...]:
    data = rich_data()
    if value is MISSING:
        drop(data, path)
    else:
        put(data, path, value)
    with pytest.raises(ContractError) as caught:
        parse(data, tasks=TASKS)
    return caught.value.problems


# What is read ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('name', 'source', 'shape'),
    [
        ('joints', Joints(names=('lift', 'elbow'), quantities=('position', 'velocity')), (4,)),
        ('cloud', Points(count=4, channels=('x', 'y', 'z'), pad=(0.0, 0.0, 9.0)), (4, 3)),
        ('pads', Array(path='data', length=6), (2, 3)),
        ('wrench', Paths(paths=('wrench.force.x', 'wrench.force.y', 'wrench.force.z')), (3,)),
        ('depth', Picture(encoding='32FC1', invalid=5.0), (2, 3, 1)),
        ('colour', Picture(encoding='rgb8', compressed='jpeg'), (2, 3, 3)),
        (
            'gripper',
            Lookup(
                target='base',
                source='gripper',
                paths=('translation.x', 'translation.y', 'translation.z'),
            ),
            (3,),
        ),
        ('temperature', Paths(paths=('temperature',)), (1,)),
        ('hinge', Joints(names=('hinge',), quantities=('position',)), (1,)),
    ],
)
def test_a_field_is_where_its_keys_say_in_the_shape_that_follows(
    name: str, source: object, shape: tuple[int, ...]
) -> None:
    spec = FIELDS[name]
    assert (spec.source, spec.shape) == (source, shape)
    assert spec.source is not None
    if not spec.is_image:
        assert len(spec.unit) == len(spec.low) == len(spec.high) == spec.size


def test_a_field_without_any_of_the_keys_takes_all_that_its_message_has() -> None:
    every = rich({('observation', 'wrench', 'parts'): None})
    spec = next(f for f in every.observation if f.name == 'wrench')
    assert spec.size == 6
    assert spec.unit == ('N',) * 3 + ('N m',) * 3


def test_units_of_columns_and_of_rows_stand_for_every_value() -> None:
    assert FIELDS['pads'].unit == ('N', 'N', 'N m') * 2
    assert FIELDS['pads'].high == (1.0, 1.0, 2.0) * 2
    assert FIELDS['pads'].low == (-1.0,) * 6
    assert FIELDS['cloud'].unit == ('m',) * 12
    assert FIELDS['cloud'].high == (5.0, 5.0, 9.0) * 4


def test_units_come_with_the_message_and_may_be_said_otherwise() -> None:
    assert FIELDS['temperature'].unit == ('degC',)
    other = rich({('state', 'temperature', 'unit'): 'K'})
    assert other.state[0].unit == ('K',)


def test_what_a_field_says_besides_its_values_is_read() -> None:
    assert FIELDS['joints'].qos == Qos(reliable=True, transient_local=True, depth=5)
    assert FIELDS['wrench'].qos == Qos()
    assert FIELDS['wrench'].on_stale is OnStale.STOP
    assert FIELDS['pads'].out_of_bounds is OutOfBounds.TRUNCATE
    assert (FIELDS['depth'].skew, FIELDS['colour'].skew, FIELDS['wrench'].skew) == (
        0.05,
        0.04,
        None,
    )
    assert (FIELDS['pads'].dtype, FIELDS['depth'].dtype, FIELDS['colour'].dtype) == (
        'float64', 'float32', 'uint8',
    )  # fmt: skip


def test_a_derived_field_has_the_space_that_follows_from_what_it_is_of() -> None:
    wrenches = FIELDS['wrenches']
    assert wrenches.derived == Derived(function='history', of=('wrench',), parameters={'count': 3})
    assert (wrenches.shape, wrenches.unit) == ((3, 3), ('N',) * 9)
    assert (wrenches.topic, wrenches.source) == ('', None)
    assert FIELDS['to_goal'].unit == ('m', 'm')
    assert FIELDS['heading'].low == (-1.0, -1.0)


def test_the_groups_of_the_action_are_what_their_keys_say() -> None:
    assert GROUPS['arm'].source == Trajectory(names=('lift', 'elbow'), duration=0.1)
    assert all(map(math.isnan, GROUPS['arm'].safe))
    assert GROUPS['fingers'].source == Array(path='data', length=2)
    assert (GROUPS['fingers'].kind, GROUPS['fingers'].max_delta) == (
        ActionKind.DELTA,
        (0.01, 0.02),
    )
    assert set(GROUPS['arm'].interface) == {Interface.POSITION}
    assert all(map(math.isnan, GROUPS['fingers'].safe))
    assert set(GROUPS['fingers'].interface) == {Interface.POSITION}
    assert set(GROUPS['base'].interface) == {Interface.VELOCITY}
    assert GROUPS['base'].choices == (
        ('stand', (0.0, 0.0)), ('ahead', (0.4, 0.0)), ('left', (0.1, 0.8)),
    )  # fmt: skip
    assert GROUPS['lights'].levels == ((0.0, 1.0), (0.0, 0.5, 1.0))
    assert (RICH.action_size, RICH.command_size) == (2 + 2 + 1 + 2, 8)


def test_every_dimension_of_the_command_has_a_name() -> None:
    assert RICH.command_dimensions == (
        'arm/lift', 'arm/elbow', 'fingers/0', 'fingers/1', 'base/linear.x', 'base/angular.z',
        'lights/x', 'lights/y',
    )  # fmt: skip


def test_the_reset_procedure_is_its_steps_in_order() -> None:
    kinds = [type(step) for step in RICH.episode.reset.steps]
    assert kinds == [WorldStep, CallStep, PublishStep, WaitStep, WaitStep, ConfirmStep]
    assert RICH.episode.reset.service == 'reset_world'
    without = {
        ('episode', 'reset', 'procedure'): [{'confirm': 'Ready?', 'deadline': 2.0}],
        ('episode', 'reset', 'tolerance'): {},
    }
    assert rich(without).episode.reset.service == ''


# What is refused ---------------------------------------------------------------------------------


def test_fields_derived_from_one_another_in_a_circle_are_all_named() -> None:
    data: Any = rich_data()
    for name, of in (('one', 'two'), ('two', 'three'), ('three', 'one'), ('aside', 'one')):
        put(data, ('observation', name), {'derive': {'function': 'change', 'of': of}})
    with pytest.raises(ContractError) as caught:
        parse(data, tasks=TASKS)
    told = {problem.path[1]: problem.actual for problem in caught.value.problems}
    assert told == {'one': 'two', 'two': 'three', 'three': 'one', 'aside': 'one'}


def test_derived_fields_may_stand_before_what_they_are_derived_from() -> None:
    data: Any = rich_data()
    first = {'twice': {'derive': {'function': 'change', 'of': 'heading'}}}
    put(data, ('observation',), {**first, **data['observation']})
    contract = parse(data, tasks=TASKS)
    assert contract.observation[0].name == 'twice'
    assert contract.observation[0].high == (2.0, 2.0)


def test_a_key_without_a_value_is_as_good_as_none() -> None:
    for path in (
        ('observation', 'scan', 'max_age'),
        ('observation', 'scan', 'qos'),
        ('episode', 'on_stop'),
    ):
        rich({path: None})


# Leaks -------------------------------------------------------------------------------------------


def truth(topic: str, kind: str, *fields: str) -> dict[str, object]:
    return {
        'topic': topic, 'type': kind, 'fields': list(fields), 'unit': '', 'low': -9, 'high': 9,
    }  # fmt: skip


POSE_TYPE = 'geometry_msgs/msg/PoseWithCovarianceStamped'


@pytest.mark.parametrize(
    ('field', 'name'),
    [
        (truth('pose', POSE_TYPE, 'pose.pose.position.y'), 'pose'),
        (truth('pose', POSE_TYPE, 'yaw(pose.pose.orientation)'), 'pose'),
        # The angle is made of it.
        (truth('pose', POSE_TYPE, 'pose.pose.orientation.w'), 'pose'),
        (truth('pads', 'std_msgs/msg/Float64MultiArray', 'data[3]'), 'pads'),
        (truth('joint_states', 'sensor_msgs/msg/JointState', 'velocity[0]'), 'joints'),
        (truth('scan', 'sensor_msgs/msg/LaserScan', 'ranges[7]'), 'scan'),
        (truth('temperature', 'sensor_msgs/msg/Temperature', 'temperature'), 'temperature'),
        ({'transform': {'of': 'gripper', 'in': 'base'}, 'parts': ['translation'], 'low': -9,
          'high': 9}, 'gripper'),
    ],
)  # fmt: skip
def test_what_only_the_evaluator_sees_is_no_part_of_what_the_policy_may_see(
    field: dict[str, object], name: str
) -> None:
    problems = problems_of(('privileged', 'truth'), field)
    assert {problem.path for problem in problems} == {('privileged', 'truth')}
    assert all('that the policy does not see' in problem.expected for problem in problems)
    assert all(repr(name) in problem.actual for problem in problems)


@pytest.mark.parametrize(
    'field',
    [
        truth('pose', POSE_TYPE, 'pose.pose.position.z', 'roll(pose.pose.orientation)'),
        truth('pose', POSE_TYPE, 'pose.covariance[7]'),
        truth('scan', 'sensor_msgs/msg/LaserScan', 'range_max'),
        truth('joint_states', 'sensor_msgs/msg/JointState', 'effort[0]'),
        truth('elsewhere', POSE_TYPE, 'pose.pose.position.y'),
    ],
)
def test_another_part_of_a_message_is_the_evaluators_to_see(field: dict[str, object]) -> None:
    rich({('privileged', 'truth'): field})
