# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`lerobot-record` with the nodes, and a leader arm that is the operator."""

from __future__ import annotations

from contextlib import closing
import json
from pathlib import Path
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('lerobot', reason='needs LeRobot')
pytest.importorskip('torch', reason='needs LeRobot')
from lerobot.common.control_utils import teleop_supports_feedback
from lerobot.datasets import LeRobotDataset
from lerobot.scripts.lerobot_record import record
from lerobot.utils.errors import DeviceNotConnectedError

from boundary_env_ros.core.records.decision import Trigger
from boundary_env_ros.ros.conversions import message_class
from lerobot_robot_boundary import BoundaryLeader, BoundaryLeaderConfig
from support import scriptedhand  # noqa: F401 - registers itself
from support.ros_world import PATIENT, Probe, reserved_domain, SOON, wait_until, write_contract

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

#: How the operator of the cart commands; a busy machine may be slow to hear them.
STICK = {
    'topic': 'joy',
    'type': 'sensor_msgs/msg/Joy',
    'fields': ['axes[1]', 'axes[3]'],
    'scale': [0.4, 1.0],
    'enable': 'buttons[4]',
    'timeout': 2.0,
}
#: What the leader arm, which has no hand, is told.
HAND = {'pose': {'base.linear.x': 0.1, 'base.angular.z': 0.0}, 'swing': 0.1}


def test_what_a_leader_demonstrates_is_an_intervention_in_data_set_and_record(
    make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    safety = {**PATIENT['safety'], 'operator': STICK}
    world = make_world(changes={**PATIENT, 'safety': safety}, one_process=True)
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')
    monkeypatch.setenv('HF_DATASETS_CACHE', str(tmp_path / 'cache'))
    both = (f'contract={world.file}', f'domain_id={world.domain_id}')
    arguments = (
        '--robot.type=boundary',
        *(f'--robot.{each}' for each in both),
        '--robot.features=[step,intervention]',
        '--teleop.type=boundary_leader',
        *(f'--teleop.{each}' for each in both),
        '--teleop.leader=scripted_hand',
        f'--teleop.leader_options={json.dumps(HAND)}',
        '--play_sounds=false',
        '--dataset.repo_id=local/cart',
        f'--dataset.root={tmp_path / "data"}',
        '--dataset.fps=10',
        '--dataset.single_task=drive',
        '--dataset.num_episodes=1',
        '--dataset.episode_time_s=4',
        '--dataset.video=false',
        '--dataset.push_to_hub=false',
    )
    monkeypatch.setattr(sys, 'argv', ['lerobot', *arguments])
    record()

    (data,) = tmp_path.glob('data*')
    dataset = LeRobotDataset('local/cart', root=data)
    places = {name: i for i, name in enumerate(dataset.features['observation.state']['names'])}
    frames = [dataset[index] for index in range(len(dataset))]
    decisions = world.decisions()
    asked = {
        d.request.observed_step: np.float32(d.request.action).tolist()
        for d in decisions
        if d.request is not None
    }
    for frame in frames:
        step = int(frame['observation.state'][places['step']])
        assert asked[step] == frame['action'].tolist()
    assert any(frame['observation.state'][places['intervention']] for frame in frames)
    by_hand = {
        np.float32(d.requested_command).tolist()[0]
        for d in decisions
        if d.trigger is Trigger.OPERATOR
    }
    demonstrated = {round(frame['action'].tolist()[0], 4) for frame in frames}
    assert {round(value, 4) for value in by_hand} & demonstrated


def test_a_leader_that_its_motors_hold_goes_where_the_robot_is_and_commands_nothing(
    tmp_path: Path,
) -> None:
    contract = write_contract(tmp_path / 'cart.yaml', {'safety': {'operator': STICK}})
    forward, turn = HAND['pose']
    with reserved_domain() as domain, closing(Probe(domain)) as probe:
        probe.subscribe('joy', message_class(STICK['type']), 10)
        leader = BoundaryLeader(
            BoundaryLeaderConfig(
                contract=str(contract),
                domain_id=domain,
                leader='scripted_hand',
                leader_options={'pose': {forward: 0.0, turn: 0.0}, 'swing': 0.0},
                scale={forward: 0.5, turn: 1.0},
                offset={forward: 0.1},
            )
        )
        with pytest.raises(DeviceNotConnectedError):
            leader.get_action()
        leader.connect()
        assert teleop_supports_feedback(leader)
        publisher = leader._made._publisher
        wait_until(publisher.get_subscription_count, SOON, 'the probe')
        leader.enable_torque()
        leader.get_action()
        there = {forward: 0.3, turn: 0.2}
        leader.send_feedback(there)
        leader.disable_torque()
        assert leader.get_action() == pytest.approx(there)
        probe.until(lambda: probe.messages('joy'), SOON, 'the command')
        leader.disconnect()
        (heard,) = probe.messages('joy')
    assert list(heard.axes) == pytest.approx([0.0, 0.3 / 0.4, 0.0, 0.2])
