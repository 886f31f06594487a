# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Contracts that nobody wrote: Hypothesis strategies over the contract language.

:func:`contract_data` draws plain data that the parser accepts, with any mix of sources, kinds of
action, derived fields and steps of a reset; :func:`contracts` the same as read. :func:`samples`
draws what sensors may say under a contract, well or not, and :func:`actions` what a policy may
ask for.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from hypothesis import strategies as st
import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, Contract, FieldSpec
from boundary_env_ros.core.contract.safety import STOPS_WITHIN
from boundary_env_ros.core.contract.sources import DECOMPRESSED, DEPTHS, ENCODINGS
from boundary_env_ros.core.records.observation import ImageReference
from boundary_env_ros.core.sources.message_parts import PARTS
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import Problem
from boundary_env_ros.storage.contract.fields import parse_fields
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract.section_reader import Reader
from support.core_world import Timepiece

Data = dict[str, Any]
Draw = Any

#: Bounds are drawn from here; differences of differences of them still fit a float32.
FAR = 1e36

_round = st.sampled_from([0.0, -0.0, 0.1, -0.1, 1.0, -1.0, 3.2, -3.2, 0.8, 1e-3, 1e6, -1e6])
_edges = st.sampled_from(
    [5e-324, -5e-324, 1e-45, 1.4e-45, 1.1754944e-38, 16777217.0, 0.1 + 0.2, 1 / 3, FAR, -FAR]
)
# From 0 to -0 there is no number.
_number = st.one_of(_round, st.floats(-100.0, 100.0), st.floats(-FAR, FAR), _edges).map(
    lambda value: value + 0.0
)
# Hypothesis tells 0.0 from -0.0, which compare as equal.
_pair = st.tuples(_number, _number).map(
    lambda pair: sorted(pair, key=lambda number: (number, math.copysign(1.0, number)))
)
_seconds = st.sampled_from([0.05, 0.1, 0.3, 1.0])
_units = st.sampled_from(['m', 'rad', 'm/s', 'N', ''])


# Fields ------------------------------------------------------------------------------------------


@st.composite
def _bounds(draw: Draw, count: int) -> tuple[list[float], list[float]]:
    pairs = [draw(_pair) for _ in range(count)]
    return [low for low, _ in pairs], [high for _, high in pairs]


@st.composite
def _source(draw: Draw, topic: str) -> tuple[Data, tuple[int, ...]]:
    """Draw the keys that say where the values of a field are, and their shape."""
    form = draw(st.sampled_from(['fields', 'parts', 'joints', 'beams', 'points', 'array']))
    if form == 'fields':
        count = draw(st.integers(1, 4))
        paths = [
            draw(st.sampled_from(['a.b{}', 'c[{}]', 'yaw(q{})', 'roll(d.q{})'])).format(i)
            for i in range(count)
        ]
        return {'topic': topic, 'type': 'some_msgs/msg/Thing', 'fields': paths}, (count,)
    if form == 'parts':
        type_name = draw(st.sampled_from(sorted(PARTS)))
        known = list(PARTS[type_name])
        parts = draw(st.lists(st.sampled_from(known), min_size=1, unique=True))
        count = sum(len(PARTS[type_name][part].paths) for part in parts)
        return {'topic': topic, 'type': type_name, 'parts': parts}, (count,)
    if form == 'joints':
        names = [f'joint_{i}' for i in range(draw(st.integers(1, 3)))]
        quantity = draw(
            st.lists(st.sampled_from(['position', 'velocity', 'effort']), min_size=1, unique=True)
        )
        shape = (len(names) * len(quantity),)
        keys = {'type': 'sensor_msgs/msg/JointState', 'joints': names, 'quantity': quantity}
        return {'topic': topic, **keys}, shape
    if form == 'beams':
        count = draw(st.integers(1, 8))
        return {'topic': topic, 'type': 'sensor_msgs/msg/LaserScan', 'beams': count}, (count,)
    if form == 'points':
        count, channels = draw(st.integers(1, 4)), draw(st.sampled_from([['x'], ['x', 'y', 'z']]))
        keys = {'type': 'sensor_msgs/msg/PointCloud2', 'points': count, 'channels': channels}
        return {'topic': topic, **keys}, (count, len(channels))
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    return {'topic': topic, 'type': 'std_msgs/msg/Float32MultiArray', 'shape': list(shape)}, shape


@st.composite
def _numbers_field(draw: Draw, topic: str, *, tf: bool, evaluator: bool) -> Data:
    if tf and not evaluator and draw(st.booleans()):
        field: Data = {
            'transform': {'of': f'tool_{topic}', 'in': 'base'},
            'parts': ['translation'],
        }
        shape: tuple[int, ...] = (3,)
    else:
        field, shape = draw(_source(topic))
    count = math.prod(shape)
    low, high = draw(_bounds(count))
    field |= {'low': low, 'high': high}
    if 'points' in field:
        channels = len(field['channels'])
        field['pad'] = [draw(st.sampled_from([low[i], high[i]])) for i in range(channels)]
    if 'parts' not in field or draw(st.booleans()):
        field['unit'] = draw(st.one_of(_units, st.lists(_units, min_size=count, max_size=count)))
    stale = (
        ['mark']
        if evaluator
        else ['mark', 'truncate', *([] if 'transform' in field else ['stop'])]
    )
    common = draw(_common(stale))
    if 'transform' in field:
        common.pop('frame', None)
    field |= common
    if draw(st.booleans()):
        field['dtype'] = draw(st.sampled_from(['float32', 'float64']))
    if draw(st.booleans()):
        field['out_of_bounds'] = draw(st.sampled_from(['clip', 'truncate']))
    if 'beams' not in field and 'points' not in field and draw(st.booleans()):
        field['confidence'] = draw(
            st.sampled_from([{'field': 'score'}, {'variance': 'v[0]', 'tolerance': 0.1}])
        )
    return field


@st.composite
def _common(draw: Draw, stale: list[str]) -> Data:
    """Draw the keys that any field of a topic may have."""
    keys: Data = {}
    if draw(st.booleans()):
        keys['max_age'] = draw(_seconds)
        keys['on_stale'] = draw(st.sampled_from(stale))
    if draw(st.booleans()):
        keys['skew'] = draw(_seconds)
    if draw(st.booleans()):
        keys['frame'] = draw(st.sampled_from(['', 'map', 'base']))
    if draw(st.booleans()):
        keys['qos'] = {
            'reliability': draw(st.sampled_from(['best_effort', 'reliable'])),
            'durability': draw(st.sampled_from(['volatile', 'transient_local'])),
            'depth': draw(st.integers(1, 20)),
        }
    return keys


@st.composite
def _image_field(draw: Draw, topic: str, *, evaluator: bool) -> Data:
    field: Data = {'topic': topic}
    if draw(st.booleans()):
        field['type'] = 'sensor_msgs/msg/CompressedImage'
        field['encoding'] = draw(st.sampled_from(DECOMPRESSED))
        deep = ENCODINGS[field['encoding']][1] != 'uint8'
        field['compressed'] = 'png' if deep else draw(st.sampled_from(['jpeg', 'png']))
    else:
        field['type'] = 'sensor_msgs/msg/Image'
        field['encoding'] = draw(st.sampled_from(sorted(ENCODINGS)))
    height, width = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    field['shape'] = [height, width, ENCODINGS[field['encoding']][0]]
    if field['encoding'] == '32FC1':
        low, high = draw(_pair)
        field |= {
            'unit': 'm',
            'low': low,
            'high': high,
            'invalid': draw(st.sampled_from([low, high])),
        }
    elif field['encoding'] in DEPTHS:
        low, high = sorted((draw(st.integers(0, 65535)), draw(st.integers(0, 65535))))
        field |= {'unit': 'mm', 'low': low, 'high': high}
    return field | draw(_common(['mark'] if evaluator else ['mark', 'stop', 'truncate']))


@st.composite
def _task_field(draw: Draw, name: str) -> Data:
    unit = draw(st.lists(_units, min_size=1, max_size=4))
    low, high = draw(_bounds(len(unit)))
    return {'task': name, 'unit': unit, 'low': low, 'high': high}


@st.composite
def _derived_field(draw: Draw, names: list[str]) -> Data:
    """Draw a derived field; whether its inputs fit is for the parser to say."""
    function = draw(
        st.sampled_from(['history', 'change', 'difference', 'distance', 'sine_cosine'])
    )
    first = draw(st.sampled_from(names))
    derive: Data = {'function': function, 'of': first}
    if function == 'history':
        derive['count'] = draw(st.integers(2, 4))
    elif function == 'sine_cosine':
        derive['index'] = draw(st.integers(0, 2))
    elif function != 'change':
        derive['of'] = [first, draw(st.one_of(st.just(first), st.sampled_from(names)))]
    return {'derive': derive}


#: A pose and a point that fit each other, so that `relative_position` is met often.
_PLANAR: Data = {
    'planar': {
        'topic': 'planar', 'type': 'some_msgs/msg/Pose', 'fields': ['x', 'y', 'yaw(q)'],
        'unit': ['m', 'm', 'rad'], 'low': [-5.5, -4.5, -3.2], 'high': [5.5, 1e6, 3.2],
    },
    'mark': {'task': 'mark', 'unit': ['m', 'm'], 'low': [-0.1, -1e6], 'high': [7.3, 4.5]},
    'ahead': {'derive': {'function': 'relative_position', 'of': ['planar', 'mark']}},
    'apart': {'derive': {'function': 'distance', 'of': ['mark', 'mark']}},
    'turned': {'derive': {'function': 'sine_cosine', 'of': 'planar', 'index': 2}},
}  # fmt: skip


# Actions -----------------------------------------------------------------------------------------


@st.composite
def _command(draw: Draw, name: str) -> tuple[Data, int]:
    """Draw the keys that say where a command goes, and how many values it has."""
    form = draw(st.sampled_from(['twist', 'pose', 'trajectory', 'joints', 'array']))
    if form == 'twist':
        paths = draw(
            st.lists(
                st.sampled_from(['twist.linear.x', 'twist.linear.y', 'twist.angular.z']),
                min_size=1,
                unique=True,
            )
        )
        return {'type': 'geometry_msgs/msg/TwistStamped', 'fields': paths}, len(paths)
    if form == 'pose':
        angles = draw(st.lists(st.sampled_from(['roll', 'pitch', 'yaw']), unique=True))
        paths = ['pose.position.x', *(f'{angle}(pose.orientation)' for angle in angles)]
        return {'type': 'geometry_msgs/msg/PoseStamped', 'fields': paths}, len(paths)
    if form == 'array':
        count = draw(st.integers(1, 3))
        one = st.sampled_from(['position', 'velocity', 'effort'])
        interface = draw(st.lists(one, min_size=count, max_size=count))
        keys = {'type': 'std_msgs/msg/Float64MultiArray', 'length': count}
        return {**keys, 'interface': interface}, count
    joints = [f'{name}_{i}' for i in range(draw(st.integers(1, 3)))]
    if form == 'trajectory':
        keys = {'type': 'trajectory_msgs/msg/JointTrajectory', 'duration': 0.1}
        return {**keys, 'joints': joints}, len(joints)
    return {'type': 'sensor_msgs/msg/JointState', 'joints': joints}, len(joints)


_limit = st.sampled_from([0.01, 0.3, 1.0, 4.0, 1e6])


def _interface(group: Data, count: int) -> list[str]:
    """Return what each dimension of a group is."""
    twist = group['type'] == 'geometry_msgs/msg/TwistStamped'
    return group.get('interface') or ['velocity' if twist else 'position'] * count


#: Limits, and what they are of.
_LIMITS = {
    'max_velocity': 'position',
    'max_acceleration': 'velocity',
    'max_deceleration': 'velocity',
    'max_effort_rate': 'effort',
}


@st.composite
def _group(draw: Draw, name: str) -> Data:
    group, count = draw(_command(name))
    low, high = draw(_bounds(count))

    def inside(index: int) -> st.SearchStrategy[float]:
        bounds = low[index], high[index]
        return st.one_of(st.sampled_from(bounds), st.floats(*bounds))

    interface = _interface(group, count)
    kind = draw(st.sampled_from([kind.value for kind in ActionKind]))
    group |= {
        'topic': f'{name}/command', 'kind': kind, 'low': low, 'high': high,
        'unit': draw(st.lists(_units, min_size=count, max_size=count)),
        'out_of_bounds': draw(st.sampled_from(['clip', 'reject'])),
        'safe': [
            'hold_position' if one == 'position' else draw(st.sampled_from([low[i], high[i]]))
            for i, one in enumerate(interface)
        ],
        **{
            name: [draw(_limit) if one == of else 'none' for one in interface]
            for name, of in _LIMITS.items()
            if of in interface
        },
        'driver_timeout': draw(st.sampled_from([0.25, 'none'])),
        'driver_timeout_acknowledged': True,
        'feedback': {
            'topic': f'{name}/state', 'type': 'std_msgs/msg/Float64MultiArray', 'length': count,
            'threshold': 0.01,
        },
    }  # fmt: skip
    if any(
        one != 'position'
        and max(high[i] - safe, safe - low[i])
        / group['max_effort_rate' if one == 'effort' else 'max_deceleration'][i]
        > STOPS_WITHIN
        for i, (safe, one) in enumerate(zip(group['safe'], interface, strict=True))
    ):
        group['driver_timeout'] = 0.25  # for where the gate falls silent before the robot stands
    if kind == 'delta':
        group['max_delta'] = [draw(_limit) for _ in range(count)]
    elif kind == 'discrete':
        commands = draw(st.lists(st.tuples(*map(inside, range(count))), min_size=2, max_size=4))
        group['choices'] = {f'choice_{i}': list(c) for i, c in enumerate(dict.fromkeys(commands))}
    elif kind == 'multi_discrete':
        group['levels'] = [
            list(dict.fromkeys(draw(st.lists(inside(i), min_size=2, max_size=3))))
            for i in range(count)
        ]
    chosen = group.get('levels', [group.get('choices', (0, 0))])
    if any(len(options) < 2 for options in chosen):
        # All that was drawn was the same.
        group['kind'] = 'continuous'
        group.pop('choices', None)
        group.pop('levels', None)
    return group


# Resets ------------------------------------------------------------------------------------------

_step = st.sampled_from(
    [
        {'call': 'a/b', 'type': 'std_srvs/srv/Trigger', 'deadline': 1.0},
        {'publish': 'lamp', 'type': 'std_msgs/msg/Bool', 'message': {'data': True}},
        {'confirm': 'Ready?', 'deadline': 2.0},
    ]
)


@st.composite
def _reset(draw: Draw) -> Data:
    steps = draw(st.lists(_step, max_size=3))
    if not steps:
        return {'service': 'reset_world', 'deadline': 5.0, 'settle': 0.1}
    world = {'world': 'reset_world', 'deadline': 3.0}
    return {'procedure': draw(st.permutations([world, *steps])), 'deadline': 9.0}


# Whole contracts ---------------------------------------------------------------------------------


def _frame_of(observation: Data, action: Data, reset: Data) -> Data:
    """Return a contract around its sections, everything else as it usually is."""
    return {
        'contract': 'drawn', 'version': '1.0.0', 'period': 0.1, 'agents': ['robot'],
        'observation': observation, 'state': {}, 'privileged': {}, 'action': action,
        'safety': {
            'gate_period': 0.02, 'hold_timeout': 0.15, 'command_timeout': 0.3,
            'policy_timeout': 1.0,
            'environment_timeout': 0.4, 'gate_timeout': 0.4, 'robot_timeout': 0.5,
            'sensor_timeout': 0.25, 'max_action_age': 0.4,
        },
        'task': {'name': 'drawn'}, 'recorder': {'required': False},
        'episode': {'time_limit': 6.0, 'reset': reset},
    }  # fmt: skip


@st.composite
def contract_data(draw: Draw, *, tf: bool = True, images: bool = True) -> Data:
    """
    Draw a contract as plain data, that the parser accepts.

    Parameters
    ----------
    tf, images
        Whether fields may be looked up by tf, and be images.

    """
    numbers = _numbers_field
    sections: dict[str, Data] = {'observation': {}, 'state': {}, 'privileged': {}}
    for index in range(draw(st.integers(1, 6))):
        section = draw(st.sampled_from(list(sections)))
        evaluator, name = section == 'privileged', f'field_{index}'
        kinds = ['numbers'] * 3 + (['image'] if images else []) + ([] if evaluator else ['task'])
        kind = draw(st.sampled_from(kinds))
        if kind == 'numbers':
            sections[section][name] = draw(numbers(f'topic_{index}', tf=tf, evaluator=evaluator))
        elif kind == 'image':
            sections[section][name] = draw(_image_field(f'topic_{index}', evaluator=evaluator))
        else:
            sections[section][name] = draw(_task_field(f'given_{index}'))
    sections['observation']['first'] = draw(numbers('first', tf=False, evaluator=False))
    if draw(st.booleans()):
        sections['observation'] |= _PLANAR
    action = {
        f'group_{index}': draw(_group(f'group_{index}'))
        for index in range(draw(st.integers(1, 3)))
    }
    data = _frame_of(sections['observation'], action, draw(_reset()))
    data |= {'state': sections['state'], 'privileged': sections['privileged']}
    numbers_alone = all(group['kind'] in ('continuous', 'delta') for group in action.values())
    if numbers_alone and draw(st.booleans()):
        data['chunk'] = {'horizon': draw(st.integers(1, 4))}
    for index in range(draw(st.integers(0, 3))):
        seen = [*data['observation'], *data['state']]
        section = draw(st.sampled_from(['observation', 'state']))
        data[section][f'derived_{index}'] = draw(_derived_field(seen))
    _leave_out_what_does_not_fit(data)
    return data


def _leave_out_what_does_not_fit(data: Data) -> None:
    """Take out the derived fields that the parser refuses, and those that are derived of them."""
    while True:
        problems: list[Problem] = []
        parse_fields(Reader(data, problems=problems))
        refused = {problem.path[:2] for problem in problems if 'derived' in str(problem.path[1:2])}
        if not refused:
            return
        for section, name in refused:
            data[str(section)].pop(name)


@st.composite
def contracts(draw: Draw, *, tf: bool = True, images: bool = True) -> Contract:
    """Draw a contract."""
    return parse(draw(contract_data(tf=tf, images=images)))


# What comes under a contract ---------------------------------------------------------------------


def values_of(spec: FieldSpec) -> st.SearchStrategy[Vector]:
    """Return values of a field of numbers: inside, at its bounds, and beyond; NaN is rare."""

    def one(low: float, high: float) -> st.SearchStrategy[float]:
        near = [
            low,
            high,
            *(math.nextafter(b, to) for b in (low, high) for to in (-math.inf, math.inf)),
        ]
        rounded = [float(np.float32(b)) for b in (low, high)]
        return st.one_of(
            st.floats(low, high), st.sampled_from([*near, *rounded]), st.floats(allow_nan=False)
        )

    return st.tuples(*(one(low, high) for low, high in zip(spec.low, spec.high, strict=True)))


@st.composite
def samples(draw: Draw, contract: Contract, time: Timepiece) -> Mapping[str, Reading]:
    """Draw what has come for the fields of a contract: some of it old, some from ahead of time."""
    found = {}
    for spec in contract.fields:
        if spec.derived is not None or draw(st.integers(0, 9)) == 0:
            continue
        ago = draw(st.sampled_from([0.0, 0.01, 0.06, 0.2, 5.0, -0.1]))
        captured = draw(st.sampled_from([time.stamp(ago=ago)] * 4 + [None]))
        image = None
        if spec.is_image:
            image = ImageReference(
                topic=f'/{spec.topic}', stamp=RosTime(1), height=spec.shape[0],
                width=spec.shape[1], encoding='', sha256=bytes(32),
            )  # fmt: skip
        values = () if spec.is_image else draw(values_of(spec))
        found[spec.name] = Reading(values=values, captured=captured, image=image)
    return found


def chunks(contract: Contract) -> st.SearchStrategy[tuple[Vector, int]]:
    """Return actions of one step or several, one after the other, and of how many."""
    steps = st.lists(actions(contract), min_size=1, max_size=contract.horizon)
    return steps.map(lambda each: (tuple(value for one in each for value in one), len(each)))


@st.composite
def actions(draw: Draw, contract: Contract) -> Vector:
    """Draw an action, well formed; one in four asks for more than there is."""
    values: list[float] = []
    for group in contract.action:
        wild = draw(st.integers(0, 3)) == 0
        anything = st.floats(allow_nan=False, allow_infinity=False)
        if group.kind is ActionKind.DISCRETE:
            inside: list[st.SearchStrategy[float]] = [_index(len(group.choices))]
        elif group.kind is ActionKind.MULTI_DISCRETE:
            inside = [_index(len(levels)) for levels in group.levels]
        elif group.kind is ActionKind.DELTA:
            inside = [st.floats(-most, most) for most in group.max_delta]
        else:
            inside = [
                st.floats(low, high) for low, high in zip(group.low, group.high, strict=True)
            ]
        values += (draw(st.one_of(one, anything) if wild else one) for one in inside)
    return tuple(values)


def _index(count: int) -> st.SearchStrategy[float]:
    return st.integers(0, count - 1).map(float)
