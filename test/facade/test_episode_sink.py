# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A world in one process leaves the index of its episodes, which the command line reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.cli.main import main
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.storage.episode_store import EpisodeStore


def test_embedded_episodes_are_in_the_index_and_can_be_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = BoundaryEnv(world='embedded', pacing='lockstep', record=tmp_path, client='straight_on')
    for seed in (1, 2):
        env.reset(seed=seed, options={'scenario': 'clear'})
        for _ in range(3):
            env.step(np.array([0.2, 0.0], np.float32))
    assert main(['episodes', 'list', str(tmp_path)]) == 0
    env.close()
    with EpisodeStore.open(tmp_path / 'episodes.sqlite') as store:
        rows = store.episodes()
    # The step that ends an abandoned episode is the fourth.
    assert [(row.seed, row.step_count, row.ending) for row in rows] == [
        (1, 4, 'abandoned'),
        (2, 4, 'abandoned'),
    ]
    assert {row.state.client for row in rows} == {'straight_on'}
    assert (tmp_path / 'bag').is_dir()
    assert main(['episodes', 'label', str(tmp_path), 'last', 'failure', '--user', 'ada']) == 0
    assert main(['report', '--text', str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert '2 episodes, 1 without an ending, success 0 of 1 ended' in text
    assert 'labelled by people' in text
