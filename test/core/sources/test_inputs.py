# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics gate and environment listen to, and what they read there."""

from __future__ import annotations

from dataclasses import replace
import math

import pytest

from boundary_env_ros.core.contract.model import Contract, FieldSpec, OnStale, Qos
from boundary_env_ros.core.contract.sources import Joints
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.workspace import Workspace
from boundary_env_ros.core.sources.inputs import (
    feedback_inputs,
    field_inputs,
    gate_inputs,
    image_fields,
    sensor_topics,
)
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.errors import OfAnother, RecordError
from support.core_messages import image, odometry, quaternion, ring, scan
from support.core_world import Message, rich, shipped, stamped
from support.places import CART, contract_with

CONTRACT = shipped()
SPECS = {spec.name: spec for spec in CONTRACT.fields}
TOPICS = {topic: f'/cart/{topic}' for topic in sensor_topics(CONTRACT)}


def test_every_field_of_a_topic_is_an_input_of_the_environment() -> None:
    inputs = {item.name: item for item in field_inputs(CONTRACT, TOPICS)}
    assert set(inputs) == {name for name, spec in SPECS.items() if spec.topic}
    assert inputs['pose'].topic == 'pose_detections'
    reference = inputs['front'].read(image(48, 64, bytes(48 * 64 * 3))).image
    assert reference is not None
    assert reference.topic == '/cart/camera/image_raw'


def test_the_gate_listens_to_what_its_rules_name_and_to_nothing_else() -> None:
    inputs = {item.name: item for item in gate_inputs(CONTRACT)}
    assert set(inputs) == {'obstacle.scan', 'feedback.base'}
    assert inputs['obstacle.scan'].read(scan(ring(ahead=1.0))).values == (1.0, 5.0, 1.0, 1.0)
    without = replace(CONTRACT, safety=replace(CONTRACT.safety, rules=()))
    assert [item.name for item in gate_inputs(without)] == ['feedback.base']


def test_feedback_is_read_in_the_order_of_the_command() -> None:
    [item] = feedback_inputs(CONTRACT)
    twist = Message(twist=Message(linear=Message(x=0.3), angular=Message(z=-0.1)))
    reading = item.read(stamped(3.0, twist=twist))
    assert reading.values == (0.3, -0.1)


def test_no_command_is_among_the_sensors() -> None:
    assert 'cmd_vel' not in sensor_topics(CONTRACT)
    assert sensor_topics(CONTRACT)['odom'] == 'nav_msgs/msg/Odometry'
    assert [spec.name for spec in image_fields(CONTRACT)] == ['front']


def test_a_field_spec_knows_whether_it_is_an_image() -> None:
    plain = FieldSpec(name='a', shape=(1,), dtype='float32', unit=())
    assert not plain.is_image
    assert SPECS['front'].is_image


# A field that holds the robot --------------------------------------------------------------------


def holding(*names: str) -> tuple[FieldSpec, ...]:
    return tuple(
        replace(spec, on_stale=OnStale.STOP) if spec.name in names else spec
        for spec in CONTRACT.observation
    )


def test_the_gate_listens_itself_to_a_field_that_holds_the_robot() -> None:
    reliable = Qos(reliable=True, transient_local=True, depth=3)
    observation = tuple(
        replace(spec, qos=reliable) if spec.name == 'pose' else spec
        for spec in holding('pose', 'front')
    )
    contract = replace(CONTRACT, observation=observation)
    inputs = {item.name: item for item in gate_inputs(contract)}
    assert set(inputs) == {'obstacle.scan', 'feedback.base', 'alive.pose', 'alive.front'}
    assert inputs['alive.pose'].topic == 'pose_detections'
    assert inputs['alive.pose'].qos == reliable
    # Whether it lives is all that is asked of an image, whatever it shows.
    reading = inputs['alive.front'].read(stamped(3.0, data='rubbish'))
    assert reading.values == (1.0,)
    assert inputs['alive.pose'].read(Message(data=1)).values == ()


def test_a_field_of_the_state_may_hold_the_robot_too() -> None:
    [pose, *others] = holding('pose')
    contract = replace(CONTRACT, observation=tuple(others), state=(pose,))
    assert 'alive.pose' in {item.name for item in gate_inputs(contract)}
    assert 'pose' in {item.name for item in field_inputs(contract, TOPICS)}
    assert sensor_topics(contract) == sensor_topics(CONTRACT)


def test_a_field_listens_with_the_quality_of_service_that_it_declares() -> None:
    best = {item.name: item.qos for item in field_inputs(CONTRACT, TOPICS)}
    assert set(best.values()) == {Qos()}


# What the gate cannot use ------------------------------------------------------------------------


def moving(at: float) -> Message:
    twist = Message(linear=Message(x=0.3), angular=Message(z=-0.1))
    return stamped(at, twist=Message(twist=twist))


@pytest.mark.parametrize(
    ('name', 'message', 'why'),
    [
        ('obstacle.scan', stamped(1.0, data=1), 'ranges'),
        ('obstacle.scan', Message(data=1), 'ranges'),
        ('feedback.base', stamped(1.0, twist=1), 'linear'),
        ('feedback.base', moving(0.0), 'The stamp in the header is 0'),
        ('alive.pose', stamped(1.0, pose=1), 'pose'),
    ],
)
def test_a_message_that_cannot_be_read_gives_no_values(
    name: str, message: Message, why: str
) -> None:
    contract = replace(CONTRACT, observation=holding('pose'))
    reading = seen_by_the_gate(contract, name, message)
    assert reading.values == ()
    assert why in reading.problem


@pytest.mark.parametrize(
    ('message', 'why'),
    [
        (stamped(0.0, axes=[0.0, 0.6], buttons=[1]), 'The stamp in the header is 0'),
        (stamped(1.0, axes=[0.0], buttons=[1]), 'axes'),
    ],
)
def test_only_a_message_of_the_operators_device_that_cannot_be_read_is_refused(
    message: Message, why: str
) -> None:
    hand = {
        'topic': 'joy', 'type': 'sensor_msgs/msg/Joy', 'fields': ['axes[0]', 'axes[1]'],
        'enable': 'buttons[0]', 'scale': [1.0, 1.0], 'timeout': 0.2,
    }  # fmt: skip
    contract = shipped({('safety', 'operator'): hand})
    with pytest.raises(RecordError, match=why):
        seen_by_the_gate(contract, 'operator', message)
    stamped_now = stamped(1.0, axes=[0.0, 0.6], buttons=[1])
    assert seen_by_the_gate(contract, 'operator', stamped_now).values == (0.0, 0.6, 1.0)


@pytest.mark.parametrize('bad', [math.nan, math.inf])
def test_what_was_not_measured_is_told_by_its_name_and_keeps_its_values(bad: float) -> None:
    contract = replace(CONTRACT, observation=holding('pose'))
    reading = seen_by_the_gate(contract, 'alive.pose', odometry(x=bad))
    assert reading.values[0] == pytest.approx(bad, nan_ok=True)
    assert f'pose is not usable (expected finite values, got x is {bad:g})' in reading.problem


# Frames ------------------------------------------------------------------------------------------

FENCED = contract_with(CART)


def placed(frame: str) -> Message:
    """Return a pose as a detector in some frame sends it."""
    pose = Message(position=Message(x=1.0, y=-0.5, z=0.0), orientation=quaternion(0, 0, 0.25))
    return stamped(2.0, frame, pose=pose)


def seen_by_the_gate(contract: Contract, name: str, message: Message) -> Reading:
    inputs = {item.name: item for item in gate_inputs(contract)}
    return inputs[name].read(message)


def refused_by_the_gate(contract: Contract, message: Message) -> str:
    reading = seen_by_the_gate(contract, 'workspace.hall', message)
    assert reading.values == ()
    return reading.problem


def test_a_place_of_another_frame_than_its_fence_is_not_used() -> None:
    assert seen_by_the_gate(FENCED, 'workspace.hall', placed('hall')).values[:2] == (1.0, -0.5)
    reading = seen_by_the_gate(FENCED, 'workspace.hall', placed('map'))
    assert reading.values == ()
    assert reading.problem == (
        "Wrong frame in the header of pose (workspace.hall; expected 'hall', got 'map'). Such a "
        'message is not used. Let it be published in the frame of the contract, or change `frame` '
        'there and all that it bounds.'
    )


def test_a_message_that_names_no_frame_does_not_contradict_the_contract() -> None:
    assert seen_by_the_gate(FENCED, 'workspace.hall', placed('')).values[:2] == (1.0, -0.5)
    bare = Message(pose=placed('map').pose)
    assert seen_by_the_gate(FENCED, 'workspace.hall', bare).values[:2] == (1.0, -0.5)


@pytest.mark.parametrize('frame', ['cart_a/hall', 'map/hall', 'hall/cart', 'Hall', ' hall'])
def test_of_one_agent_no_prefix_belongs_to_the_frame(frame: str) -> None:
    assert "expected 'hall', got " in refused_by_the_gate(FENCED, placed(frame))


@pytest.mark.parametrize(
    ('frame', 'same'),
    [('hall', True), ('cart_a/hall', True), ('cart_b/hall', True), ('cart_c/hall', False)],
)
def test_of_several_agents_each_may_put_its_name_before_its_frames(frame: str, same: bool) -> None:
    contract = replace(FENCED, agents=('cart_a', 'cart_b'))
    if same:
        assert seen_by_the_gate(contract, 'workspace.hall', placed(frame)).values
    else:
        assert frame in refused_by_the_gate(contract, placed(frame))


def test_a_field_of_another_frame_is_told_and_read_all_the_same() -> None:
    inputs = {item.name: item for item in field_inputs(CONTRACT, TOPICS)}
    pose, velocity = inputs['pose'], inputs['velocity']
    for frame, other in (('hall', ''), ('', ''), ('map', 'map')):
        assert pose.other_frame(stamped(2.0, frame)) == other
    # Of an odometry the velocity is in the frame of the child.
    there = stamped(2.0, 'odom', child_frame_id='base_link')
    assert velocity.other_frame(there) == ''
    assert velocity.other_frame(stamped(2.0, 'odom', child_frame_id='imu')) == 'odom'


def with_place(**changes: object) -> Contract:
    (hall,) = FENCED.safety.of(Workspace)
    assert isinstance(hall, Workspace)
    place = replace(hall, **changes)  # type: ignore[arg-type]
    return replace(FENCED, safety=replace(FENCED.safety, rules=(place,)))


def test_the_header_of_joints_says_nothing_of_their_positions() -> None:
    contract = with_place(
        type='sensor_msgs/msg/JointState',
        source=Joints(names=('lift',), quantities=('position',)),
    )
    state = stamped(2.0, 'base_link', name=['lift'], position=[0.5])
    assert seen_by_the_gate(contract, 'workspace.hall', state).values == (0.5,)


def test_a_place_without_a_frame_is_read_in_any() -> None:
    assert seen_by_the_gate(with_place(frame=''), 'workspace.hall', placed('map')).values


def test_a_sensor_of_obstacles_is_held_to_the_frame_that_the_contract_declares() -> None:
    (rule,) = CONTRACT.safety.of(Obstacle)
    level = replace(rule, frame='laser')
    contract = replace(CONTRACT, safety=replace(CONTRACT.safety, rules=(level,)))
    there = scan(ring(ahead=1.0))
    for frame, declared in (('laser', contract), ('', contract), ('tilted', CONTRACT)):
        there.header.frame_id = frame
        assert seen_by_the_gate(declared, 'obstacle.scan', there).values[0] == 1.0
    there.header.frame_id = 'tilted'
    reading = seen_by_the_gate(contract, 'obstacle.scan', there)
    assert "scan (obstacle.scan; expected 'laser'," in reading.problem
    assert reading.values == ()


def test_a_field_and_a_feedback_are_read_in_any_frame() -> None:
    # The speeds of an Odometry are of its child frame; the contract declares that one.
    twist = Message(twist=Message(linear=Message(x=0.3), angular=Message(z=-0.1)))
    odometry = stamped(3.0, 'hall', twist=twist)
    assert SPECS['velocity'].frame == 'base_link'
    for items in (field_inputs(CONTRACT, TOPICS), feedback_inputs(CONTRACT)):
        [reading] = [
            item.read(odometry).values for item in items if item.name in ('velocity', 'base')
        ]
        assert reading == (0.3, -0.1)


# Several drivers on one topic --------------------------------------------------------------------

SHARED = rich({
    ('action', 'arm', 'feedback', 'publishers'): 2,
    ('observation', 'joints', 'publishers'): 2,
})  # fmt: skip


def test_a_message_of_another_driver_says_nothing_and_is_no_failure() -> None:
    [item] = [i for i in gate_inputs(SHARED) if i.name == 'feedback.arm']
    assert item.publishers == 2
    other = stamped(3.0, name=['left', 'right'], position=[0.0, 0.0])
    with pytest.raises(
        OfAnother, match='Joints of another publisher .* lift, elbow, got left, right'
    ):
        item.read(other)
    own = stamped(3.0, name=['elbow', 'lift'], position=[0.2, 0.1])
    assert item.read(own).values == (0.1, 0.2)


def test_a_message_with_some_of_the_joints_cannot_be_used() -> None:
    [item] = [i for i in gate_inputs(SHARED) if i.name == 'feedback.arm']
    reading = item.read(stamped(3.0, name=['lift', 'left'], position=[0.1, 0.0]))
    assert reading.values == ()
    assert "The joint 'elbow' is missing" in reading.problem


def test_of_one_driver_every_message_must_have_the_joints() -> None:
    [item] = [i for i in gate_inputs(rich()) if i.name == 'feedback.arm']
    assert item.publishers == 1
    assert item.read(stamped(3.0, name=['left'], position=[0.0])).values == ()


def test_the_emergency_stop_is_no_topic_of_a_sensor_though_its_heartbeat_is_heard() -> None:
    contract = shipped({('safety', 'emergency_stop_heartbeat'): 0.5})
    [item] = [i for i in gate_inputs(contract) if i.name == 'emergency_stop']
    assert (item.topic, item.type) == ('emergency_stop', 'std_msgs/msg/Bool')
    assert item.read(Message(data=True)).values == (1.0,)
    assert item.read(Message()).values == ()
    assert sensor_topics(contract) == sensor_topics(CONTRACT)
