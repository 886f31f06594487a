# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`lerobot-record` with the nodes, and a leader arm that is the operator."""

from __future__ import annotations

import json
from pathlib import Path
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('lerobot', reason='needs LeRobot')
pytest.importorskip('torch', reason='needs LeRobot')
from lerobot.datasets import LeRobotDataset
from lerobot.scripts.lerobot_record import record

from boundary_env_ros.core.records.decision import Trigger
import lerobot_robot_boundary  # noqa: F401 - LeRobot imports what has such a name
from support import scriptedhand  # noqa: F401 - registers itself
from support.ros_world import PATIENT

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
