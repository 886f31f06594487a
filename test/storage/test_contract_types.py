# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a contract says about messages is compared with their definitions."""

from __future__ import annotations

from collections.abc import Callable
import copy
from dataclasses import replace
from typing import Any

import pytest
import yaml

from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.gate.rules.interlock import Interlock
from boundary_env_ros.core.gate.rules.workspace import Moves, Workspace
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.resources import share_directory, share_file
from boundary_env_ros.storage.contract.parser import parse
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.contract_types import problems_of, TypeCheck
from boundary_env_ros.storage.message_types import MessageTypes, rosbags_definitions

pytest.importorskip('rosbags')

SHIPPED = sorted(
    path.stem
    for path in (share_directory() / 'config').glob('*.yaml')
    if not path.name.endswith('.param.yaml')
)
BASE = yaml.safe_load(share_file('config/warehouse_cart.yaml').read_text())
BASE['privileged'].pop('contact')

ACME = {
    'acme_msgs/msg/Wheel': (
        'std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[4] slip\n'
        'float32 speed\nbool locked\ngeometry_msgs/Vector3[] forces\n'
    ),
    'acme_msgs/srv/Place': (
        'geometry_msgs/Point at\nuint8 color\nstring label\nfloat64[2] size\nbool[<=2] flags\n'
        '---\nbool done\n'
    ),
    'std_srvs/srv/Trigger': '---\nbool success\nstring message\n',
}


@pytest.fixture(scope='module')
def types(tmp_path_factory: pytest.TempPathFactory) -> MessageTypes:
    """Return a workspace of messages and services over the common messages, without ROS."""
    prefix = tmp_path_factory.mktemp('prefix')
    for name, text in ACME.items():
        package, kind, stem = name.split('/')
        file = prefix / 'share' / package / kind / f'{stem}.{kind}'
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return MessageTypes([prefix], rosbags_definitions())


Change = Callable[[dict[str, Any]], object]


def checked(change: Change, types: MessageTypes) -> TypeCheck:
    data = copy.deepcopy(BASE)
    change(data)
    return problems_of(parse(data), types)


def sentences(check: TypeCheck) -> list[str]:
    return [str(problem) for problem in check.problems]


@pytest.mark.parametrize('name', SHIPPED)
def test_shipped_contract_names_only_what_its_messages_have(
    name: str, types: MessageTypes
) -> None:
    assert problems_of(load(name).contract, types).problems == ()


def field(**keys: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        data['state'] = {'it': {'topic': 'it', 'unit': '', 'low': 0.0, 'high': 1.0, **keys}}

    return change


def observation(**keys: Any) -> Change:
    return lambda data: data['observation']['velocity'].update(keys)


def action(**keys: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        data['action']['base'].update(keys)
        del data['safety']['obstacles']

    return change


def feedback(**keys: Any) -> Change:
    return lambda data: data['action']['base']['feedback'].update(keys)


def step(**keys: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        reset = data['episode']['reset']
        del reset['service'], reset['tolerance']
        reset['procedure'] = [{'confirm': 'Ready?', 'deadline': 5.0}, keys]

    return change


def call(**request: Any) -> Change:
    return step(call='place', type='acme_msgs/srv/Place', request=request, deadline=1.0)


def obstacles(**rules: dict[str, Any]) -> Change:
    """Return a change to several rules about obstacles; what they share is filled in."""
    shared = {
        'dimension': 'base/linear.x',
        'slow_distance': 2.0,
        'slow_speed': 0.2,
        'stop_distance': 0.5,
    }

    def change(data: dict[str, Any]) -> None:
        del data['safety']['obstacles']
        data['safety']['obstacles'] = {
            name: {'topic': f'sensor_{name}', **shared, **keys} for name, keys in rules.items()
        }

    return change


def operator(**keys: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        data['safety']['operator'] = {'topic': 'joy', 'scale': 1.0, 'timeout': 0.3, **keys}

    return change


SCAN, RANGE, CLOUD = (f'sensor_msgs/msg/{name}' for name in ('LaserScan', 'Range', 'PointCloud2'))
SENSORS: dict[str, dict[str, Any]] = {
    SCAN: {'type': SCAN, 'half_angle': 0.5},
    RANGE: {'type': RANGE, 'direction': 'ahead'},
    CLOUD: {'type': CLOUD, 'half_width': 0.4, 'bottom': 0.1, 'top': 1.0},
}

ODOMETRY, WHEEL = 'nav_msgs/msg/Odometry', 'acme_msgs/msg/Wheel'
IN_PROCEDURE = 'episode.reset.procedure.1.'

GOOD: dict[str, Change] = {
    'paths of a custom message': field(type=WHEEL, fields=['slip[3]', 'speed', 'locked']),
    'a vector in a sequence': field(type=WHEEL, fields=['forces[2].z']),
    'an array': field(type=WHEEL, array='slip', length=4),
    'a sequence': field(type=WHEEL, array='position', length=9),
    'all ready parts': field(type='sensor_msgs/msg/Imu'),
    'joints': field(type='sensor_msgs/msg/JointState', joints=['a'], quantity=['effort']),
    'points': field(type='sensor_msgs/msg/PointCloud2', points=8, pad=0.0),
    'every sensor of obstacles': obstacles(
        front=SENSORS[SCAN], bumper=SENSORS[RANGE], camera=SENSORS[CLOUD]
    ),
    'an operator': operator(
        type='sensor_msgs/msg/Joy', fields=['axes[1]', 'axes[0]'], enable='buttons[5]'
    ),
    'a request': call(at={'x': 1, 'y': 2.5}, color=255, label='red', size=[1, 2], flags=[True]),
    'an empty request': step(call='go', type='std_srvs/srv/Trigger', deadline=1.0),
    'a published message': step(
        publish='led', type='std_msgs/msg/ColorRGBA', message={'r': 1.0, 'a': 0.5}
    ),
    'a transform': lambda data: data.update(
        state={
            'hand': {
                'transform': {'of': 'hand', 'in': 'base'},
                'fields': ['translation.x', 'yaw(rotation)'],
                'unit': ['m', 'rad'],
                'low': -4.0,
                'high': 4.0,
            }
        }
    ),
}

BAD: dict[str, tuple[Change, list[str]]] = {
    'type': (
        field(type='nav_msgs/msg/Odometri', fields=['x']),
        [
            (
                'state.it.type: the message type nav_msgs/msg/Odometri is not installed. '
                "Did you mean 'nav_msgs/msg/Odometry'?"
            ),
        ],
    ),
    'path': (
        observation(fields=['twist.twist.liner.x', 'twist.twist.angular.w']),
        [
            (
                "observation.velocity.fields.0: no field 'liner' in "
                "geometry_msgs/msg/Twist (at 'twist.twist' of nav_msgs/msg/Odometry). "
                "Did you mean 'linear'?"
            ),
            (
                "observation.velocity.fields.1: no field 'w' in "
                "geometry_msgs/msg/Vector3 (at 'twist.twist.angular' of "
                'nav_msgs/msg/Odometry). It has: x, y, z.'
            ),
        ],
    ),
    'path to a message': (
        observation(fields=['twist.twist.linear', 'twist.twist.angular.z']),
        [
            (
                'observation.velocity.fields.0: expected a number at '
                "'twist.twist.linear' in nav_msgs/msg/Odometry, got "
                'geometry_msgs/msg/Vector3. Go on into it: twist.twist.linear.x, '
                'twist.twist.linear.y, twist.twist.linear.z.'
            ),
        ],
    ),
    'index': (
        field(type=ODOMETRY, fields=['pose.covariance[36]']),
        [
            (
                "state.it.fields.0: expected an index below 36 for 'pose.covariance' in "
                'nav_msgs/msg/Odometry, got 36.'
            ),
        ],
    ),
    'confidence': (
        observation(confidence={'variance': 'twist.covariance', 'tolerance': 0.1}),
        [
            (
                'observation.velocity.confidence.variance: expected a number at '
                "'twist.covariance' in nav_msgs/msg/Odometry, got "
                'float64[36]. Name one of them, for example twist.covariance[0].'
            ),
        ],
    ),
    'confidence field': (
        observation(confidence={'field': 'certainty'}),
        [
            (
                "observation.velocity.confidence.field: no field 'certainty' in "
                'nav_msgs/msg/Odometry. It has: header, child_frame_id, pose, twist.'
            ),
        ],
    ),
    'array of another length': (
        field(type=WHEEL, array='slip', length=3),
        [
            (
                "state.it.array: expected a sequence of 3 numbers at 'slip' in "
                'acme_msgs/msg/Wheel, got float64[4].'
            ),
        ],
    ),
    'array of texts': (
        field(type=WHEEL, array='name', length=3),
        [
            (
                "state.it.array: expected a sequence of 3 numbers at 'name' in "
                'acme_msgs/msg/Wheel, got string[].'
            ),
        ],
    ),
    'privileged': (
        lambda data: data['privileged']['true_pose'].update(fields=['a', 'b', 'yaw(pose.pose)']),
        [
            (
                "privileged.true_pose.fields.0: no field 'a' in nav_msgs/msg/Odometry. It "
                'has: header, child_frame_id, pose, twist.'
            ),
            (
                "privileged.true_pose.fields.1: no field 'b' in nav_msgs/msg/Odometry. It "
                'has: header, child_frame_id, pose, twist.'
            ),
            (
                'privileged.true_pose.fields.2: expected a quaternion (a message with x, '
                'y, z and w) in yaw(pose.pose), got geometry_msgs/msg/Pose.'
            ),
        ],
    ),
    'command': (
        action(fields=['twist.linear.x', 'twist.angluar.z']),
        [
            (
                "action.base.fields.1: no field 'angluar' in geometry_msgs/msg/Twist (at "
                "'twist' of geometry_msgs/msg/TwistStamped). Did you mean 'angular'?"
            ),
        ],
    ),
    'command that is no number with a fraction': (
        lambda data: (
            data['action']['base'].update(
                type='acme_msgs/msg/Wheel', fields=['speed', 'locked'], interface='velocity'
            ),
            data['safety']['obstacles']['scan'].update(dimension='base/speed'),
        ),
        [
            (
                "action.base.fields.1: expected float32 or float64 at 'locked' in "
                'acme_msgs/msg/Wheel, since a command is of numbers with fractions, got '
                'bool.'
            ),
        ],
    ),
    'command of an array of whole numbers': (
        lambda data: (
            data['action']['base'].pop('fields'),
            data['action']['base'].update(
                type='std_msgs/msg/Int16MultiArray', array='data', length=2, interface='velocity'
            ),
        ),
        [
            (
                "action.base.array: expected float32 or float64 at 'data' in "
                'std_msgs/msg/Int16MultiArray, since a command is of numbers with '
                'fractions, got int16.'
            ),
        ],
    ),
    'command type': (
        action(type='geometry_msgs/msg/TwistStampd', interface='velocity'),
        [
            (
                'action.base.type: the message type geometry_msgs/msg/TwistStampd is not '
                "installed. Did you mean 'geometry_msgs/msg/TwistStamped'?"
            ),
        ],
    ),
    'feedback': (
        feedback(fields=['twist.linear.x', 'twist.twist.angular.z']),
        [
            (
                "action.base.feedback.fields.0: no field 'linear' in "
                "geometry_msgs/msg/TwistWithCovariance (at 'twist' of "
                'nav_msgs/msg/Odometry). It has: twist, covariance.'
            ),
        ],
    ),
    'transform': (
        lambda data: data.update(
            state={
                'hand': {
                    'transform': {'of': 'hand', 'in': 'base'},
                    'fields': ['origin.x'],
                    'unit': 'm',
                    'low': -4.0,
                    'high': 4.0,
                }
            }
        ),
        [
            (
                "state.hand.fields.0: no field 'origin' in geometry_msgs/msg/Transform. "
                'It has: translation, rotation.'
            ),
        ],
    ),
    'service': (
        step(call='go', type='std_srvs/srv/Triger', deadline=1.0),
        [
            (
                f'{IN_PROCEDURE}type: the service type std_srvs/srv/Triger is '
                "not installed. Did you mean 'std_srvs/srv/Trigger'?"
            ),
        ],
    ),
    'operator': (
        operator(type=WHEEL, fields=['speed', 'sped'], enable='lock'),
        [
            (
                "safety.operator.fields.1: no field 'sped' in acme_msgs/msg/Wheel. Did "
                "you mean 'speed'?"
            ),
            (
                "safety.operator.enable: no field 'lock' in acme_msgs/msg/Wheel. Did you "
                "mean 'locked'?"
            ),
        ],
    ),
    'operator of an unknown type': (
        operator(type='acme_msgs/msg/Wheels', fields=['a', 'b'], enable='c'),
        [
            (
                'safety.operator.type: the message type acme_msgs/msg/Wheels is not '
                "installed. Did you mean 'acme_msgs/msg/Wheel'?"
            ),
        ],
    ),
}


@pytest.mark.parametrize('change', GOOD.values(), ids=GOOD)
def test_what_the_messages_have_is_no_problem(change: Change, types: MessageTypes) -> None:
    assert checked(change, types) == TypeCheck(problems=())


@pytest.mark.parametrize(('change', 'expected'), BAD.values(), ids=BAD)
def test_what_the_messages_have_not_is_named_with_its_key(
    change: Change, expected: list[str], types: MessageTypes
) -> None:
    assert sorted(sentences(checked(change, types))) == sorted(expected)


def test_the_place_of_a_workspace_is_looked_for_in_its_message(types: MessageTypes) -> None:
    place = Workspace(
        name='floor', topic='odom', type=ODOMETRY,
        source=Paths(paths=('pose.pose.position.x', 'pose.pose.positon.y')), unit=('m', 'm'),
        frame='odom', moves=Moves.AXES, dimensions=(0, 1), turn=None, low=(0.0, 0.0),
        high=(5.0, 5.0), polygon=(), keep_out=(), margin=0.1, delay=0.1, braking=(1.0, 1.0),
    )  # fmt: skip
    contract = parse(BASE)
    safety = replace(contract.safety, rules=(place,))
    [problem] = problems_of(replace(contract, safety=safety), types).problems
    assert str(problem).startswith('safety.workspace.floor.fields.1: no field')
    assert "Did you mean 'position'?" in str(problem)


def test_an_age_of_messages_without_a_stamp_is_a_problem(types: MessageTypes) -> None:
    keys: dict[str, Any] = {'type': 'std_msgs/msg/Float64', 'fields': ['data'], 'max_age': 0.2}
    [problem] = checked(field(**keys), types).problems
    assert str(problem).startswith(
        'state.it.max_age: expected messages with a header.stamp, or no `max_age`, got std_msgs/'
    )
    del keys['max_age']
    assert checked(field(**keys), types).problems == ()


def test_in_lockstep_what_a_rule_reads_needs_a_stamp(types: MessageTypes) -> None:
    door = Interlock(
        name='door', topic='door', type='std_msgs/msg/Bool', field='data', low=1.0, max_age=0.5
    )
    contract = parse(BASE)
    contract = replace(contract, safety=replace(contract.safety, rules=(door,)))
    assert problems_of(contract.paced(Pacing.REALTIME), types).problems == ()
    [problem] = problems_of(contract.paced(Pacing.LOCKSTEP), types).problems
    assert str(problem).startswith('safety.interlock.door.type: expected messages with a header')


def test_parts_of_unknown_packages_are_noted_and_not_judged(types: MessageTypes) -> None:
    def change(data: dict[str, Any]) -> None:
        field(type='other_msgs/msg/Speed', fields=['x'])(data)
        step(call='go', type='more_msgs/srv/Go', deadline=1.0)(data)

    assert checked(change, types) == TypeCheck(
        problems=(),
        note='Not checked: more_msgs/srv/Go, other_msgs/msg/Speed, since only the definitions '
        'that rosbags has of ROS 2 Jazzy are known here. Source the ROS workspace that has them.',
    )
