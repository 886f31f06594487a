# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the bridge to Gazebo carries is what the contract asks for and what the world has."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.resources import share_file
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.gazebo.server import partition
from boundary_env_ros.simulation.messages import WIRE
from boundary_env_ros.storage.contract_file import load

MADE = {'pose_detections', 'contact'}
"""What no sensor of Gazebo publishes: the node makes it of what it hears."""

# The pairs of types that ros_gz_bridge converts (its README, Jazzy), of those that are used here.
CONVERTED = {
    'geometry_msgs/msg/Twist': 'gz.msgs.Twist',
    'nav_msgs/msg/Odometry': 'gz.msgs.Odometry',
    'ros_gz_interfaces/msg/Contacts': 'gz.msgs.Contacts',
    'rosgraph_msgs/msg/Clock': 'gz.msgs.Clock',
    'sensor_msgs/msg/Image': 'gz.msgs.Image',
    'sensor_msgs/msg/Imu': 'gz.msgs.IMU',
    'sensor_msgs/msg/JointState': 'gz.msgs.Model',
    'sensor_msgs/msg/LaserScan': 'gz.msgs.LaserScan',
}


# The services likewise (its source of 2025): request and answer.
SERVED = {
    'ros_gz_interfaces/srv/ControlWorld': ('gz.msgs.WorldControl', 'gz.msgs.Boolean'),
    'ros_gz_interfaces/srv/SetEntityPose': ('gz.msgs.Pose', 'gz.msgs.Boolean'),
}


def _entries() -> list[dict[str, Any]]:
    text = share_file('config/gazebo/bridge.yaml').read_text(encoding='utf-8')
    entries: list[dict[str, Any]] = yaml.safe_load(text)
    return entries


@pytest.fixture(scope='module')
def bridged() -> dict[str, dict[str, Any]]:
    entries = [entry for entry in _entries() if 'service_name' not in entry]
    names = [entry['ros_topic_name'] for entry in entries]
    assert len(set(names)) == len(names)
    return dict(zip(names, entries, strict=True))


def test_every_sensor_of_the_cart_is_bridged_with_its_type_or_made_by_the_node(
    bridged: dict[str, dict[str, Any]],
) -> None:
    for name in CartConfig().sensors:
        topic, kind = WIRE[name]
        if topic in MADE:
            assert topic not in bridged
        else:
            assert bridged[topic]['ros_type_name'] == kind
            assert bridged[topic]['direction'] == 'GZ_TO_ROS'


@pytest.mark.parametrize('contract', ['warehouse_cart', 'guarded_cart'])
def test_every_topic_that_a_contract_senses_by_is_there(
    bridged: dict[str, dict[str, Any]], contract: str
) -> None:
    topics = set(sensor_topics(load(contract).contract))
    from_people = {'joy'}
    assert topics - from_people <= bridged.keys() | MADE


def test_the_bridge_converts_each_pair_of_types(bridged: dict[str, dict[str, Any]]) -> None:
    for entry in bridged.values():
        assert CONVERTED[entry['ros_type_name']] == entry['gz_type_name']


def test_pausing_stepping_and_placing_go_to_the_services_of_the_world() -> None:
    served = {e['service_name']: e for e in _entries() if 'service_name' in e}
    assert served.keys() == {'/world/warehouse/control', '/world/warehouse/set_pose'}
    for entry in served.values():
        pair = (entry['gz_req_type_name'], entry['gz_rep_type_name'])
        assert SERVED[entry['ros_type_name']] == pair


def test_only_the_node_that_is_the_driver_moves_the_cart(
    bridged: dict[str, dict[str, Any]],
) -> None:
    command_topics = {g.topic for g in load('warehouse_cart').contract.action}
    assert not command_topics & bridged.keys()
    towards = {n: e for n, e in bridged.items() if e['direction'] != 'GZ_TO_ROS'}
    assert {n: e['gz_topic_name'] for n, e in towards.items()} == {
        'gazebo/cmd_vel': '/model/warehouse_cart/cmd_vel'
    }


def test_every_topic_of_gazebo_is_one_of_the_world(bridged: dict[str, dict[str, Any]]) -> None:
    root = ET.fromstring(share_file('config/gazebo/warehouse.sdf').read_text(encoding='utf-8'))
    world = root.find('world')
    assert world is not None
    said = {
        element.text
        for element in world.iter()
        if element.tag in ('topic', 'odom_topic') and element.text
    }
    of_the_world = {f'/world/{world.attrib["name"]}/clock'}
    assert {e['gz_topic_name'] for e in bridged.values()} == said | of_the_world


# Apart from others -------------------------------------------------------------------------------


def test_no_server_that_was_left_over_answers_in_a_launch() -> None:
    # Seen: one with a world of the same name answered at random.
    first, second = partition({}), partition({'GZ_PARTITION': ''})
    for variables in (first, second):
        assert variables.keys() == {'GZ_PARTITION', 'IGN_PARTITION'}
        assert len(set(variables.values())) == 1
    assert first != second


@pytest.mark.parametrize('given', ['GZ_PARTITION', 'IGN_PARTITION'])
def test_a_partition_that_is_named_is_taken(given: str) -> None:
    assert set(partition({given: 'mine'}).values()) == {'mine'}
