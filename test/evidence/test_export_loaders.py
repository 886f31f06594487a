# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Data sets for LeRobot, written and read back by LeRobot.

It is heavy: these tests run where it is installed.
"""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rosbags', reason='bags are written by an independent implementation')
pytest.importorskip('pyarrow', reason='needs pyarrow')
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.export.dataset_steps import (
    DatasetObservation,
    DatasetOrigin,
    DatasetStep,
)
from boundary_env_ros.evidence.export.export import export_runs, Wanted
from boundary_env_ros.evidence.export.layout import Layout
from boundary_env_ros.evidence.export.lerobot import LeRobotWriter
from support.export_runs import driven_by_hand, ExportRun, front_of, values_of

#: Every column, and images without loss.
EVERYTHING = Wanted(options={'every_column': True, 'as_images': True})


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> ExportRun:
    """Return a run of three episodes with a takeover and camera images."""
    return driven_by_hand(tmp_path_factory.mktemp('run') / 'bag')


def requested(run: ExportRun) -> np.ndarray:
    nothing = (math.nan, math.nan)
    return np.asarray([step.requested_action or nothing for step in run.steps])


# LeRobot -----------------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def lerobot(run: ExportRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run as a data set of LeRobot."""
    pytest.importorskip('lerobot', reason='needs LeRobot, which the extra lerobot brings')
    pytest.importorskip('torch', reason='needs LeRobot, which the extra lerobot brings')
    out = tmp_path_factory.mktemp('lerobot') / 'cart'
    export_runs([run.bag], out, 'lerobot', wanted=EVERYTHING)
    return out


@pytest.fixture
def dataset(lerobot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return it as LeRobot loads it, without asking any hub."""
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')
    monkeypatch.setenv('HF_DATASETS_CACHE', str(tmp_path / 'cache'))
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    period = 0.1
    return LeRobotDataset(
        'local/cart', root=lerobot, delta_timestamps={'action': [0.0, period, 2 * period]}
    )


def test_lerobot_reads_every_step(run: ExportRun, dataset: Any) -> None:
    steps = list(run.steps)
    assert (len(dataset), dataset.num_episodes) == (len(steps), len(run.episodes))
    found = dataset.hf_dataset
    column: Any = {
        name: [np.asarray(value) for value in found[f'boundary.{name}']]
        for name in ('action_requested', 'time_closed', 'intervention', 'terminated', 'truncated')
    }
    np.testing.assert_array_equal(
        np.stack(column['action_requested']), requested(run).astype('float32')
    )
    assert [int(t) for t in column['time_closed']] == [s.closed.ros.nanoseconds for s in steps]
    assert [bool(t) for t in column['terminated']] == [s.terminated for s in steps]
    assert [bool(t) for t in column['truncated']] == [s.truncated for s in steps]
    assert any(column['intervention'])


def test_lerobot_frames_have_image_state_and_the_actions_that_follow(
    run: ExportRun, dataset: Any
) -> None:
    steps = list(run.steps)
    numbers = [spec for spec in run.contract.observation if not spec.is_image]
    for index in (0, 7, len(steps) - 1):
        frame = dataset[index]
        state = [v for spec in numbers for v in values_of(steps[index], spec.name)]
        np.testing.assert_array_equal(frame['observation.state'], np.float32(state))
        image = frame['observation.images.front'].permute(1, 2, 0).numpy() * 255
        np.testing.assert_array_equal(np.rint(image), front_of(run, steps[index]))
        assert frame['action'].shape == (3, 2)
        assert frame['task'] == run.contract.task.name
    assert dataset[len(steps) - 1]['action_is_pad'].tolist() == [False, True, True]


def test_lerobot_episodes_keep_ending_seed_and_digest(run: ExportRun, dataset: Any) -> None:
    frames = dataset.hf_dataset
    for index, steps in enumerate(run.episodes):
        said = dataset.meta.episodes[index]
        assert said['length'] == len(steps)
        last = frames[said['dataset_to_index'] - 1]
        assert last['boundary.ending'] == steps[-1].ending
        assert int(last['boundary.episode.seed']) == steps[-1].seed
        assert last['boundary.episode.contract_digest'] == steps[-1].id.digest


def test_policies_of_lerobot_see_state_images_and_action_only(dataset: Any) -> None:
    try:
        from lerobot.utils.feature_utils import dataset_to_policy_features
    except ImportError:  # before LeRobot 0.5
        from lerobot.datasets.utils import dataset_to_policy_features

    features = dataset_to_policy_features(dataset.meta.features)
    assert set(features) == {'observation.state', 'observation.images.front', 'action'}
    assert set(dataset.meta.stats['action']) >= {'min', 'max', 'mean', 'std', 'count'}


# To learn from -----------------------------------------------------------------------------------


def test_data_set_to_learn_from_has_videos_names_units_and_no_column_that_nothing_learns_from(
    run: ExportRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip('lerobot', reason='needs LeRobot, which the extra lerobot brings')
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    export_runs([run.bag], tmp_path / 'set', 'lerobot')
    found = LeRobotDataset('local/set', root=tmp_path / 'set')
    ours = {name for name in found.meta.features if name.startswith('boundary.')}
    assert ours == {'boundary.time_closed', 'boundary.intervention'}  # a person takes over
    state = found.meta.features['observation.state']
    assert state['names'][:3] == ['pose.x', 'pose.y', 'pose.yaw']
    assert state['info']['unit'][:3] == ['m', 'm', 'rad']
    assert found.meta.features['action']['names'] == ['base.linear.x', 'base.angular.z']
    assert found.meta.features['action']['info']['unit'] == ['m/s', 'rad/s']
    assert found.meta.features['observation.images.front']['dtype'] == 'video'
    assert found.fps == 10
    steps = list(run.steps)
    frames = [front_of(run, step).astype('float32') for step in steps]
    for index in (0, 7, len(run.episodes[0]), len(steps) - 1):
        image = found[index]['observation.images.front'].permute(1, 2, 0).numpy() * 255
        # A video loses something, but each of its frames is most like its own.
        assert int(np.argmin([np.abs(image - frame).mean() for frame in frames])) == index
    for name in ('action', 'observation.state', 'next.reward'):
        assert all(np.isfinite(value).all() for value in found.meta.stats[name].values())


def test_videos_of_a_period_without_a_whole_rate_are_refused(
    run: ExportRun, tmp_path: Path
) -> None:
    pytest.importorskip('lerobot', reason='needs LeRobot, which the extra lerobot brings')
    images = tuple(spec for spec in run.contract.observation if spec.is_image)
    slow = Layout(replace(run.contract, period=0.4), images)
    with pytest.raises(RecordError, match=r'expected such a period, got 0\.4 s.*--images'):
        LeRobotWriter(tmp_path, 'slow', slow)
    LeRobotWriter(tmp_path, 'slow', slow, as_images=True)


# Images that are no colours ----------------------------------------------------------------------


def measured_images(index: int) -> dict[str, np.ndarray]:
    """Return an image of depths in millimetres, and one in metres."""
    random = np.random.default_rng(index)
    return {
        'depth_16': random.integers(0, 65535, (40, 50, 1), 'uint16', endpoint=True),
        'depth': random.random((40, 50, 1), 'float32'),
    }


def write_measured_images(run: ExportRun, out: Path, make: Any) -> int:
    """Write one episode with such images, and return how many steps it has."""
    front = next(spec for spec in run.contract.observation if spec.is_image)
    specs = tuple(
        replace(front, name=name, shape=image.shape, dtype=str(image.dtype))
        for name, image in measured_images(0).items()
    )
    contract = replace(
        run.contract,
        observation=(*(s for s in run.contract.observation if not s.is_image), *specs),
    )
    steps = run.episodes[0]
    out.mkdir()
    writer = make(out, 'depths', Layout(contract, specs), every_column=True)
    writer.begin([], labelled=False)
    for index, step in enumerate(steps):
        before, after = (
            DatasetObservation(fields=fields, images=measured_images(number))
            for fields, number in ((step.before, index), (step.after, index + 1))
        )
        last = index == len(steps) - 1
        applied = step.admitted_action or (0.0, 0.0)
        writer.write(
            DatasetStep(
                transition=step,
                before=before,
                after=after,
                applied=applied,
                origin=DatasetOrigin.ADMITTED,
                intervened=False,
                actuated=None,
                last=last,
            )
        )
    writer.finish()
    return len(steps)


def test_lerobot_reads_measured_images_as_numbers(
    run: ExportRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip('lerobot', reason='needs LeRobot, which the extra lerobot brings')
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    count = write_measured_images(run, tmp_path / 'set', LeRobotWriter)
    dataset = LeRobotDataset('local/depths', root=tmp_path / 'set')
    assert len(dataset) == count
    for name, image in measured_images(3).items():
        np.testing.assert_array_equal(np.asarray(dataset[3][f'boundary.{name}']), image)
