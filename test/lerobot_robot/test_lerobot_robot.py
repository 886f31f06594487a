# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
LeRobot's own programs drive a robot behind a contract.

They are heavy: these tests run where LeRobot is installed.
"""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path
import re
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip('lerobot', reason='needs LeRobot')
pytest.importorskip('torch', reason='needs LeRobot')
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.datasets import LeRobotDataset
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.factory import make_pre_post_processors
from lerobot.rollout.strategies import dagger
from lerobot.scripts.lerobot_record import record
from lerobot.scripts.lerobot_replay import replay
from lerobot.scripts.lerobot_rollout import rollout
import torch

from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.storage.record_reader import open_records
from lerobot_robot_boundary import BoundaryLeader, BoundaryLeaderConfig
from support import scriptedhand  # noqa: F401 - registers itself
from support.shipped import changed

#: Where the SO-101 begins, rad.
POSE = {
    'shoulder_pan.pos': 0.0,
    'shoulder_lift.pos': -1.7,
    'elbow_flex.pos': 1.3,
    'wrist_flex.pos': 1.6,
    'wrist_roll.pos': 0.0,
    'gripper.pos': 0.8,
}
#: A swing so far and fast that the gate has to slow it.
SWING = 0.8


@pytest.fixture(scope='module')
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Let LeRobot keep what it keeps in a folder of these tests, and ask no hub."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('HF_HUB_OFFLINE', '1')
        patch.setenv('HF_DATASETS_CACHE', str(tmp_path_factory.mktemp('cache')))
        yield patch


def program(patch: pytest.MonkeyPatch, main: Any, *arguments: str) -> Any:
    """Run a program of LeRobot with these arguments."""
    patch.setattr(sys, 'argv', ['lerobot', *arguments])
    return main()


def robot(run: Path, *arguments: str) -> tuple[str, ...]:
    """Return the arguments that make a program drive the simulated SO-101, recorded."""
    return (
        '--robot.type=boundary',
        '--robot.contract=so101',
        '--robot.world=embedded',
        f'--robot.record={run}',
        '--robot.seed=1',
        '--play_sounds=false',
        *arguments,
    )


@pytest.fixture(scope='module')
def recorded(home: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a data set that `lerobot-record` made of a swinging arm, and the run of that time."""
    folder = tmp_path_factory.mktemp('recorded')
    program(
        home,
        record,
        *robot(
            folder / 'run',
            '--robot.features=[requested,admitted,verdict,reason,step]',
        ),
        '--teleop.type=scripted_hand',
        f'--teleop.pose={json.dumps(POSE)}',
        f'--teleop.swing={SWING}',
        '--dataset.repo_id=local/swing',
        f'--dataset.root={folder / "data"}',
        '--dataset.single_task=swing',
        '--dataset.num_episodes=2',
        '--dataset.episode_time_s=1.5',
        '--dataset.reset_time_s=0.2',
        '--dataset.video=false',
        '--dataset.push_to_hub=false',
    )
    (data,) = folder.glob('data*')
    return data, folder / 'run'


def frames_of(data: Path) -> list[dict[str, Any]]:
    """Return the frames of a data set: numbers by name, and what stands beside them."""
    dataset = LeRobotDataset('local/swing', root=data)
    names = dataset.features['observation.state']['names']
    return [
        {
            **dict(zip(names, frame['observation.state'].tolist(), strict=True)),
            'action': frame['action'].numpy(),
            'episode': int(frame['episode_index']),
            'scene': frame['observation.images.scene'].numpy(),
        }
        for frame in (dataset[index] for index in range(len(dataset)))
    ]


def steps_of(run: Path) -> dict[int, Transition]:
    """Return the steps of the only episode of a run that were asked for, by number."""
    transitions = list(open_records(run).transitions())
    assert len({t.id.episode_id for t in transitions}) == 1
    return {t.id.step: t for t in transitions if t.requested_action}


def test_data_set_and_record_of_one_time_agree_frame_by_frame(
    recorded: tuple[Path, Path],
) -> None:
    data, run = recorded
    frames, steps = frames_of(data), steps_of(run)
    assert {frame['episode'] for frame in frames} == {0, 1}
    for frame in frames:
        # The step that the action of this frame closed begins with what the frame shows.
        step = steps[int(frame['step']) + 1]
        (joints,) = (field for field in step.before if field.name == 'joints')
        assert [frame[name] for name in POSE] == np.float32(joints.values).tolist()
        assert frame['action'].tolist() == np.float32(step.requested_action).tolist()
        assert frame['scene'].shape == (3, 96, 128)
    for frame in (frame for frame in frames if frame['step'] > 0):
        before = steps[int(frame['step'])]
        for stage in ('requested', 'admitted'):
            said = [frame[f'{name}.{stage}'] for name in POSE]
            assert said == np.float32(getattr(before, f'{stage}_action')).tolist()
        assert before.verdict is Verdict(int(frame['verdict']))
        assert bool(frame['reason']) is (before.verdict is not Verdict.ADMITTED)
    # Otherwise what was asked for and what was admitted were the same.
    assert Verdict.LIMITED in {step.verdict for step in steps.values()}


def test_a_replay_asks_for_the_recorded_actions_again(
    home: Any, recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    data, _ = recorded
    program(
        home,
        replay,
        *robot(tmp_path / 'again'),
        '--dataset.repo_id=local/swing',
        f'--dataset.root={data}',
        '--dataset.episode=0',
    )
    wanted = [frame['action'].tolist() for frame in frames_of(data) if frame['episode'] == 0]
    asked = [list(step.requested_action) for step in steps_of(tmp_path / 'again').values()]
    assert asked == wanted


@pytest.fixture(scope='module')
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an untrained ACT, which asks for angles near those of the start."""
    shape, picture = (len(POSE),), (3, 96, 128)
    config = ACTConfig(
        input_features={
            'observation.state': PolicyFeature(type=FeatureType.STATE, shape=shape),
            'observation.images.scene': PolicyFeature(type=FeatureType.VISUAL, shape=picture),
        },
        output_features={'action': PolicyFeature(type=FeatureType.ACTION, shape=shape)},
        chunk_size=10,
        n_action_steps=10,
        dim_model=32,
        n_heads=2,
        dim_feedforward=32,
        n_encoder_layers=1,
        use_vae=False,
        pretrained_backbone_weights=None,
        device='cpu',
        push_to_hub=False,
    )
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp('act')
    ACTPolicy(config).save_pretrained(folder)
    zeros, ones = torch.zeros(shape), torch.ones(shape)
    statistics = {
        'observation.state': {'mean': zeros, 'std': ones},
        'observation.images.scene': {'mean': zeros[:3, None, None], 'std': ones[:3, None, None]},
        'action': {'mean': torch.tensor(list(POSE.values())), 'std': 0.05 * ones},
    }
    for processor in make_pre_post_processors(config, dataset_stats=statistics):
        processor.save_pretrained(folder)
    return folder


def test_a_rollout_that_a_person_corrects_has_their_actions_in_data_set_and_record(
    home: pytest.MonkeyPatch, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(dispatch: Callable[[str], None], **_: str) -> None:
        """Press the keys of a correction, one a second: there is no keyboard here."""

        def run() -> None:
            for key in ('space', 'tab', 'tab', 'esc'):
                time.sleep(1.0)
                dispatch(key)

        threading.Thread(target=run, daemon=True).start()

    monkeypatch.setattr(dagger, 'create_key_listener', press)
    program(
        home,
        rollout,
        *robot(tmp_path / 'run'),
        f'--policy.path={policy}',
        '--strategy.type=dagger',
        '--strategy.num_episodes=1',
        '--strategy.smooth_handover=false',
        '--teleop.type=scripted_hand',
        f'--teleop.pose={json.dumps(POSE)}',
        '--teleop.swing=0.02',
        '--dataset.repo_id=local/rollout_swing',
        f'--dataset.root={tmp_path / "data"}',
        '--dataset.single_task=swing',
        '--dataset.video=false',
        '--dataset.push_to_hub=false',
        '--return_to_initial_position=false',
        '--device=cpu',
    )
    (data,) = tmp_path.glob('data*')
    dataset = LeRobotDataset('local/rollout_swing', root=data)
    corrections = [dataset[index] for index in range(len(dataset))]
    assert corrections
    assert all(bool(frame['intervention']) for frame in corrections)
    steps = steps_of(tmp_path / 'run').values()
    asked = [np.float32(step.requested_action).tolist() for step in steps]
    first = asked.index(corrections[0]['action'].tolist())
    assert asked[first : first + len(corrections)] == [f['action'].tolist() for f in corrections]
    # The policy went before.
    assert first > 0


#: The operator of the arm, as the page shows it.
STICK = {
    'topic': 'joy',
    'type': 'sensor_msgs/msg/Joy',
    'fields': [f'axes[{number}]' for number in range(6)],
    'scale': [1.0] * 6,
    'enable': 'buttons[0]',
    'timeout': 0.5,
}


@pytest.mark.parametrize(
    ('told', 'problem'),
    [
        (
            {'scale': {'gripper.pos': 0.02}},
            r'scale .*expected shoulder_pan.pos.*got gripper.pos\)',
        ),
        ({'scale': dict.fromkeys(POSE, 0.0)}, 'expected none of 0'),
        ({'offset': {'wrist.pos': 0.1}}, r'offset .*got .*wrist.pos'),
        ({'leader_options': {'pose': {'gripper.pos': 0.0}}}, r'leader .*got gripper.pos\)'),
    ],
)
def test_a_leader_that_does_not_fit_the_action_is_refused(
    tmp_path: Path, told: dict[str, Any], problem: str
) -> None:
    contract = tmp_path / 'arm.yaml'
    contract.write_text(changed('so101', safety__operator=STICK).text)
    told = {'contract': str(contract), 'leader_options': {'pose': POSE}, **told}
    with pytest.raises(BoundaryError, match=problem):
        BoundaryLeader(BoundaryLeaderConfig(leader='scripted_hand', **told))


def test_lerobots_programs_find_the_robot_by_the_name_of_its_distribution(
    tmp_path: Path,
) -> None:
    root = Path(__file__).parents[2]
    text = (root / 'lerobot_robot_boundary/pyproject.toml').read_text()
    (name,) = re.findall(r'^name = "(\w+)"$', text, re.MULTILINE)
    installed = tmp_path / f'{name}-0.dist-info/METADATA'
    installed.parent.mkdir()
    installed.write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 0\n')
    arguments = ('--robot.type=boundary', '--robot.contract=nowhere.yaml')
    found = subprocess.run(
        [
            *(sys.executable, '-m', 'lerobot.scripts.lerobot_replay', *arguments),
            *('--dataset.repo_id=local/none', '--dataset.episode=0'),
        ],
        env={**os.environ, 'PYTHONPATH': f'{tmp_path}:{root}', 'HF_HUB_OFFLINE': '1'},
        capture_output=True,
        text=True,
        timeout=300.0,
        check=False,
    )
    assert 'nowhere.yaml: 1 problem' in found.stderr
