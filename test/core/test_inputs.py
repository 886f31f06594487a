# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics gate and environment listen to, and what they read there."""

from __future__ import annotations

from dataclasses import replace

from core_messages import image, ring, scan
from core_world import Message, shipped, stamped

from boundary_env_ros.core.contract import FieldSpec, Qos, WhenStale
from boundary_env_ros.core.inputs import (
    feedback_inputs,
    field_inputs,
    gate_inputs,
    image_fields,
    sensor_topics,
)

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
    assert set(inputs) == {'obstacle', 'feedback.base'}
    assert inputs['obstacle'].read(scan(ring(ahead=1.0))).values == (1.0, 5.0, 1.0, 1.0)
    assert inputs['obstacle'].read(scan(ring())).stamp == 1_000_000_000
    without = replace(CONTRACT, safety=replace(CONTRACT.safety, obstacles=()))
    assert [item.name for item in gate_inputs(without)] == ['feedback.base']


def test_feedback_is_read_in_the_order_of_the_command() -> None:
    [item] = feedback_inputs(CONTRACT)
    twist = Message(twist=Message(linear=Message(x=0.3), angular=Message(z=-0.1)))
    reading = item.read(stamped(3.0, twist=twist))
    assert (reading.values, reading.stamp) == ((0.3, -0.1), 3_000_000_000)


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
        replace(spec, when_stale=WhenStale.HOLD) if spec.name in names else spec
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
    assert set(inputs) == {'obstacle', 'feedback.base', 'alive.pose', 'alive.front'}
    assert inputs['alive.pose'].topic == 'pose_detections'
    assert inputs['alive.pose'].qos == reliable
    # Whether it lives is all that is asked: no value, whatever the message holds.
    reading = inputs['alive.front'].read(stamped(3.0, data='rubbish'))
    assert (reading.values, reading.stamp) == ((), 3_000_000_000)
    assert inputs['alive.pose'].read(Message(data=1)).stamp is None


def test_a_field_of_the_state_may_hold_the_robot_too() -> None:
    [pose, *others] = holding('pose')
    contract = replace(CONTRACT, observation=tuple(others), state=(pose,))
    assert 'alive.pose' in {item.name for item in gate_inputs(contract)}
    assert 'pose' in {item.name for item in field_inputs(contract, TOPICS)}
    assert sensor_topics(contract) == sensor_topics(CONTRACT)


def test_a_field_listens_with_the_quality_of_service_that_it_declares() -> None:
    best = {item.name: item.qos for item in field_inputs(CONTRACT, TOPICS)}
    assert set(best.values()) == {Qos()}
