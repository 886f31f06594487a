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

OBSERVED, ACTION, RESET = 'observation', 'action', ('episode', 'reset')
PROCEDURE = (*RESET, 'procedure')

BROKEN: list[tuple[str, Path_, object, Path_, str]] = [
    ('no paths', (OBSERVED, 'pose', 'fields'), [], (OBSERVED, 'pose', 'fields'), 'at least one'),
    ('no parts', (OBSERVED, 'wrench', 'parts'), [], (OBSERVED, 'wrench', 'parts'), 'at least one'),
    ('no units', (OBSERVED, 'pose', 'unit'), [], (OBSERVED, 'pose', 'unit'), 'one unit, or one'),
    (
        'no units of the task', (OBSERVED, 'goal', 'unit'), [],
        (OBSERVED, 'goal', 'unit'), 'the unit',
    ),
    ('no joints', (OBSERVED, 'joints', 'joints'), [], (OBSERVED, 'joints', 'joints'), 'at least'),
    ('no shape', (OBSERVED, 'pads', 'shape'), [], (OBSERVED, 'pads', 'shape'), 'one side'),
    ('half a row', (OBSERVED, 'pads', 'shape'), [2.5, 3], (OBSERVED, 'pads', 'shape', 0), 'whole'),
    (
        'an unknown part', (OBSERVED, 'wrench', 'parts'), ['forces'],
        (OBSERVED, 'wrench', 'parts', 0), 'one of force, torque',
    ),
    (
        'parts of a message that has none', (OBSERVED, 'scan'),
        {'topic': 'a', 'type': 'x/msg/Y', 'parts': ['z'], 'unit': 'm', 'low': 0, 'high': 1},
        (OBSERVED, 'scan', 'parts'), '`fields`, since x/msg/Y has no ready adapter',
    ),
    (
        'two sources', (OBSERVED, 'scan', 'fields'), ['range_max'],
        (OBSERVED, 'scan', 'beams'), 'only one of `fields`, `parts`, `joints`',
    ),
    (
        'a joint twice', (OBSERVED, 'joints', 'joints'), ['lift', 'lift'],
        (OBSERVED, 'joints', 'joints'), 'every joint once',
    ),
    (
        'an unknown quantity', (OBSERVED, 'joints', 'quantity'), ['position', 'speed'],
        (OBSERVED, 'joints', 'quantity', 1), 'one of position, velocity, effort',
    ),
    (
        'a quantity twice', (OBSERVED, 'joints', 'quantity'), ['position', 'position'],
        (OBSERVED, 'joints', 'quantity'), 'every quantity once',
    ),
    ('no points', (OBSERVED, 'cloud', 'points'), 0, (OBSERVED, 'cloud', 'points'), 'to 16384'),
    (
        'too many points', (OBSERVED, 'cloud', 'points'), 10_000,
        (OBSERVED, 'cloud', 'points'), 'at most 16384 values',
    ),
    (
        'a pad out of bounds', (OBSERVED, 'cloud', 'pad'), [0, 0, 10],
        (OBSERVED, 'cloud', 'pad', 2), 'a value in [0, 9]',
    ),
    (
        'a bound that float32 cannot hold', (OBSERVED, 'pose', 'high'), [1e39, 4.0, 3.2],
        (OBSERVED, 'pose', 'high', 0), 'a bound that float32 can hold',
    ),
    (
        'a bound of an action that float32 cannot hold', (ACTION, 'arm', 'low'), -1e39,
        (ACTION, 'arm', 'low'), 'as the action space does',
    ),
    (
        'unknown reliability', (OBSERVED, 'joints', 'qos', 'reliability'), 'perfect',
        (OBSERVED, 'joints', 'qos', 'reliability'), 'one of best_effort, reliable',
    ),
    (
        'no depth', (OBSERVED, 'joints', 'qos', 'depth'), 0,
        (OBSERVED, 'joints', 'qos', 'depth'), '1',
    ),
    ('no skew', (OBSERVED, 'depth', 'skew'), 0, (OBSERVED, 'depth', 'skew'), 'greater than 0'),
    (
        'held without age', (OBSERVED, 'wrench', 'max_age'), MISSING,
        (OBSERVED, 'wrench', 'max_age'), 'an age (s) for `on_stale: stop`',
    ),
    (
        'held by the evaluator', ('privileged', 'hinge'),
        {'topic': 'h', 'type': 'std_msgs/msg/Float64', 'low': 0, 'high': 1, 'max_age': 1.0,
         'on_stale': 'stop'},
        ('privileged', 'hinge', 'on_stale'), 'a privileged field must not act',
    ),
    (
        'held by tf', ('state', 'gripper', 'on_stale'), 'stop',
        ('state', 'gripper', 'on_stale'), 'the gate listens to no tf',
    ),
    ('jpeg of depths', (OBSERVED, 'colour', 'encoding'), '16UC1', (OBSERVED, 'colour', 'encoding'),
     'an encoding of 8 bits for jpeg'),
    (
        'no depth bounds', (OBSERVED, 'depth', 'low'), MISSING,
        (OBSERVED, 'depth', 'low'), 'a finite',
    ),
    (
        'invalid out of bounds', (OBSERVED, 'depth', 'invalid'), 0.0,
        (OBSERVED, 'depth', 'invalid'), 'a value in [0.2, 5]',
    ),
    (
        'half a millimetre', (OBSERVED, 'depth'),
        {'topic': 'd', 'type': 'sensor_msgs/msg/Image', 'encoding': '16UC1', 'shape': [2, 3, 1],
         'unit': 'mm', 'low': 0.5, 'high': 4000},
        (OBSERVED, 'depth', 'low'), 'a whole number from 0 to 65535',
    ),
    # Derived fields.
    (
        'an unknown function', (OBSERVED, 'wrenches', 'derive', 'function'), 'histroy',
        (OBSERVED, 'wrenches', 'derive', 'function'), 'one of history, change',
    ),
    (
        'derived from nothing known', (OBSERVED, 'wrenches', 'derive', 'of'), 'rench',
        (OBSERVED, 'wrenches', 'derive', 'of', 0), 'a field of observation or state',
    ),
    (
        'derived from what is only evaluated', (OBSERVED, 'wrenches', 'derive', 'of'), 'hinge',
        (OBSERVED, 'wrenches', 'derive', 'of', 0), 'a field of observation or state',
    ),
    (
        'derived from itself', (OBSERVED, 'wrenches', 'derive', 'of'), 'wrenches',
        (OBSERVED, 'wrenches', 'derive', 'of'), 'fields that are not derived from this one',
    ),
    (
        'derived from an image', (OBSERVED, 'wrenches', 'derive', 'of'), 'depth',
        (OBSERVED, 'wrenches', 'derive', 'of', 0), 'a field of numbers',
    ),
    (
        'a history of one', (OBSERVED, 'wrenches', 'derive', 'count'), 1,
        (OBSERVED, 'wrenches', 'derive', 'count'), 'a whole number, 2 or more',
    ),
    (
        'a history of too many', (OBSERVED, 'wrenches', 'derive', 'count'), 10_000,
        (OBSERVED, 'wrenches', 'derive'), 'at most 16384 values',
    ),
    (
        'one too many', (OBSERVED, 'wrenches', 'derive', 'of'), ['wrench', 'pose'],
        (OBSERVED, 'wrenches', 'derive', 'of'), '1 fields for history',
    ),
    (
        'an index of no angle', (OBSERVED, 'heading', 'derive', 'index'), 1,
        (OBSERVED, 'heading', 'derive', 'of'), 'the index of an angle (rad)',
    ),
    (
        'an index beyond the field', (OBSERVED, 'heading', 'derive', 'index'), 3,
        (OBSERVED, 'heading', 'derive', 'of'), 'the index of an angle (rad)',
    ),
    (
        'of two frames', (OBSERVED, 'goal', 'frame'), 'map',
        (OBSERVED, 'to_goal', 'derive', 'of'), "fields of one frame, not 'base' and 'map'",
    ),
    (
        'a difference of unlike fields', (OBSERVED, 'to_goal', 'derive', 'function'), 'difference',
        (OBSERVED, 'to_goal', 'derive', 'of'), 'fields of one shape and unit',
    ),
    (
        'a difference beyond all numbers', (OBSERVED, 'wrench'),
        {'topic': 'w', 'type': 'std_msgs/msg/Float64', 'unit': 'N', 'dtype': 'float64',
         'low': -1e308, 'high': 1e308, 'on_stale': 'mark'},
        (OBSERVED, 'wrenches', 'derive', 'of'), 'bounds give one that float32 can hold',
    ),
    ('a derived field with a topic', (OBSERVED, 'heading', 'topic'), 'x',
     (OBSERVED, 'heading', 'topic'), 'unknown key'),
    # Actions.
    (
        'a path inside another', (ACTION, 'base', 'fields'), ['linear', 'linear.x'],
        (ACTION, 'base', 'fields', 1), 'a path that is not part of linear',
    ),
    (
        'an angle and a part of its quaternion', (ACTION, 'base', 'fields'), ['q.x', 'yaw(q)'],
        (ACTION, 'base', 'fields', 0), 'a path that is not part of yaw(q)',
    ),
    (
        'a path twice', (ACTION, 'base', 'fields'), ['linear.x', 'linear.x'],
        (ACTION, 'base', 'fields'), 'every path once',
    ),
    (
        'a trajectory without duration', (ACTION, 'arm', 'duration'), MISSING,
        (ACTION, 'arm', 'duration'), 'a finite number (s) greater than 0',
    ),
    (
        'an unknown kind', (ACTION, 'fingers', 'kind'), 'relative',
        (ACTION, 'fingers', 'kind'), 'one of continuous, delta, discrete, multi_discrete',
    ),
    (
        'a delta of nothing', (ACTION, 'fingers', 'max_delta'), [0.01, 0],
        (ACTION, 'fingers', 'max_delta', 1), 'greater than 0',
    ),
    ('most of a continuous group', (ACTION, 'arm', 'max_delta'), 0.1, (ACTION, 'arm', 'max_delta'),
     ''),
    (
        'one choice', (ACTION, 'base', 'choices'), {'stand': [0, 0]},
        (ACTION, 'base', 'choices'), 'at least two commands by name',
    ),
    (
        'a choice out of bounds', (ACTION, 'base', 'choices', 'ahead'), [0.6, 0],
        (ACTION, 'base', 'choices', 'ahead', 0), 'a value in [-0.5, 0.5]',
    ),
    (
        'a level out of bounds', (ACTION, 'lights', 'levels'), [[0, 2], [0, 1]],
        (ACTION, 'lights', 'levels', 0), 'values in [0, 1]',
    ),
    (
        'levels of one dimension', (ACTION, 'lights', 'levels'), [[0, 1]],
        (ACTION, 'lights', 'levels'), '2 lists of finite numbers',
    ),
    (
        'one level', (ACTION, 'lights', 'levels'), [[0, 1], [0]],
        (ACTION, 'lights', 'levels', 1), 'at least two levels',
    ),
    (
        'a word that is no hold', (ACTION, 'arm', 'safe'), 'stay',
        (ACTION, 'arm', 'safe'), 'or the word hold',
    ),
    (
        'feedback of an image', (ACTION, 'arm', 'feedback'),
        {'topic': 'i', 'type': 'sensor_msgs/msg/Image', 'threshold': 1},
        (ACTION, 'arm', 'feedback', 'fields'), '2 values, one for each dimension',
    ),
    (
        'a dimension beyond the command', ('safety', 'obstacle', 'dimension'), 'base/z',
        ('safety', 'obstacle', 'dimension'), 'the name of a dimension (arm/',
    ),
    # Resets.
    ('no steps', PROCEDURE, [], PROCEDURE, 'at least one step'),
    ('steps in no list', PROCEDURE, {'world': 'a'}, PROCEDURE, 'a list of mappings'),
    ('a step of nothing', (*PROCEDURE, 0), {}, (*PROCEDURE, 0), 'one of world, call, publish'),
    (
        'a step of two', (*PROCEDURE, 0), {'world': 'a', 'confirm': 'b', 'deadline': 1.0},
        (*PROCEDURE, 0), 'one of world, call, publish',
    ),
    ('two worlds', (*PROCEDURE, 1), {'world': 'again', 'deadline': 1.0}, (*PROCEDURE, 1, 'world'),
     'one step `world` at most'),
    (
        'a step longer than the whole', (*PROCEDURE, 5), {'confirm': 'Ready?', 'deadline': 30.0},
        (*PROCEDURE, 5, 'deadline'), 'not more than that of the reset (20 s)',
    ),
    ('a prompt that asks nothing', (*PROCEDURE, 5), {'confirm': '', 'deadline': 1.0},
     (*PROCEDURE, 5, 'confirm'), 'what a person is to do'),
    (
        'a message as a service', (*PROCEDURE, 1, 'type'), 'std_srvs/msg/Trigger',
        (*PROCEDURE, 1, 'type'), 'a service type',
    ),
    ('a request in a list', (*PROCEDURE, 1, 'request'), [1], (*PROCEDURE, 1, 'request'),
     'a mapping of keys'),
    (
        'a command behind the back of the gate', (*PROCEDURE, 2, 'publish'), 'cmd_vel',
        (*PROCEDURE, 2, 'publish'), 'which only the gate publishes',
    ),
    ('a wait for nobody', (*PROCEDURE, 3, 'wait'), 'joint', (*PROCEDURE, 3, 'wait'),
     'a field of numbers of a topic'),
    ('a wait for an image', (*PROCEDURE, 3, 'wait'), 'depth', (*PROCEDURE, 3, 'wait'),
     'a field of numbers of a topic'),
    # They come into being with the first observation, so that nobody could wait for them.
    ('a wait for a derived field', (*PROCEDURE, 3, 'wait'), 'to_goal', (*PROCEDURE, 3, 'wait'),
     'a field of numbers of a topic'),
    ('a wait for the task', (*PROCEDURE, 3, 'wait'), 'goal', (*PROCEDURE, 3, 'wait'),
     'a field of numbers of a topic'),
    (
        'a tolerance for two of four', (*PROCEDURE, 3),
        {'wait': 'joints', 'target': [0, 0], 'tolerance': [1, 1], 'deadline': 1.0},
        (*PROCEDURE, 3, 'tolerance'), 'or a list of 4',
    ),
    (
        'a negative tolerance', (*PROCEDURE, 3, 'tolerance'), [-1, 1, 1, 1],
        (*PROCEDURE, 3, 'tolerance', 0), 'not less than 0',
    ),
    ('a wait for no value', (*PROCEDURE, 3, 'target'), MISSING, (*PROCEDURE, 3, 'target'),
     'a finite number'),
    (
        'a tolerance that nobody answers to', PROCEDURE, [{'confirm': 'Ready?', 'deadline': 1.0}],
        (*RESET, 'tolerance'), 'a step `world`, whose answer says what was achieved',
    ),
    ('a service besides a procedure', (*RESET, 'service'), 'x', (*RESET, 'service'), 'either'),
]  # fmt: skip


@pytest.mark.parametrize(
    ('change', 'value', 'path', 'expected'),
    [case[1:] for case in BROKEN],
    ids=[case[0] for case in BROKEN],
)
def test_a_broken_word_is_refused_by_the_path_of_its_fault(
    change: Path_, value: object, path: Path_, expected: str
) -> None:
    problems = problems_of(change, value)
    at = [problem for problem in problems if problem.path == path]
    assert at, f'nothing was said about {path}: {problems}'
    assert any(expected in (problem.expected or problem.actual) for problem in at), at


def test_fields_derived_from_one_another_in_a_circle_are_all_named() -> None:
    data: Any = rich_data()
    for name, of in (('one', 'two'), ('two', 'three'), ('three', 'one'), ('aside', 'one')):
        put(data, (OBSERVED, name), {'derive': {'function': 'change', 'of': of}})
    with pytest.raises(ContractError) as caught:
        parse(data, tasks=TASKS)
    told = {problem.path[1]: problem.actual for problem in caught.value.problems}
    assert told == {'one': 'two', 'two': 'three', 'three': 'one', 'aside': 'one'}


def test_derived_fields_may_stand_before_what_they_are_derived_from() -> None:
    data: Any = rich_data()
    first = {'twice': {'derive': {'function': 'change', 'of': 'heading'}}}
    put(data, (OBSERVED,), {**first, **data[OBSERVED]})
    contract = parse(data, tasks=TASKS)
    assert contract.observation[0].name == 'twice'
    assert contract.observation[0].high == (2.0, 2.0)


@pytest.mark.parametrize(
    ('change', 'value', 'hint'),
    [
        ((OBSERVED, 'wrench', 'parts'), ['forse'], "Did you mean 'force'?"),
        ((OBSERVED, 'wrenches', 'derive', 'of'), 'wrenhc', "Did you mean 'wrench'?"),
        ((OBSERVED, 'wrenches', 'derive', 'function'), 'histroy', "Did you mean 'history'?"),
        ((ACTION, 'fingers', 'kind'), 'detla', "Did you mean 'delta'?"),
        ((*PROCEDURE, 3, 'wait'), 'joint', "Did you mean 'joints'?"),
    ],
)
def test_a_near_miss_is_met_with_a_suggestion(change: Path_, value: object, hint: str) -> None:
    assert hint in [problem.hint for problem in problems_of(change, value)]


def test_a_key_without_a_value_is_as_good_as_none() -> None:
    for path in ((OBSERVED, 'scan', 'max_age'), (OBSERVED, 'scan', 'qos'), (RESET[0], 'on_stop')):
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
