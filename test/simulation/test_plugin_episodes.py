# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Episodes by their ids, snapshots of them, and the store of what was done in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_plugin import contract_data, yaml

from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import EpisodeEnded, InvalidAction, RequestRejected, ResultCode
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.facade.episodes import Episodes, Snapshot
from boundary_env_ros.simulation.plugin_robot import PluginRobot
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.episode_store import EpisodeStore
from boundary_env_ros.storage.record_reader import open_records
from boundary_env_ros.storage.run_folder import RunFolder
from support import odd_plugins

AHEAD, BACK = np.array([3.0], np.float32), np.array([-2.0], np.float32)


@dataclass(frozen=True)
class Place:
    """The state of the world, as its user wants it."""

    place: float


@pytest.fixture
def episodes(tmp_path: Path) -> Iterator[Episodes[Place]]:
    data = contract_data()
    data['task']['parameters']['options'] = ['state']
    file = tmp_path / 'place.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    loaded = load(file)
    numbers = itertools.count()

    def make() -> BoundaryEnv:
        robot = PluginRobot(loaded.contract, plugin=odd_plugins.Remembers)
        record = tmp_path / f'run_{next(numbers)}'
        return BoundaryEnv(file, world='embedded', robot=robot, record=record)

    def state(info: dict[str, Any]) -> Place:
        return Place(**info)

    with Episodes(make, state) as made:
        yield made


def test_reset_step_and_observe_return_a_snapshot(episodes: Episodes[Place]) -> None:
    first: Snapshot[Place] = episodes.reset(seed=1, options={'start': [1.0]})
    assert (first.reward, first.status, first.is_done) == (0.0, EpisodeState.RUNNING, False)
    assert first.state == Place(1.0)
    second = episodes.step(first.episode_id, AHEAD)
    assert (second.step, second.state) == (1, Place(1.3))
    assert second.reward == pytest.approx(0.05)
    assert second.observation['place'] == pytest.approx([1.3])
    assert episodes.observe(first.episode_id) is second


def test_snapshot_says_how_an_episode_ended(episodes: Episodes[Place]) -> None:
    snapshot = episodes.reset(seed=1, options={'start': [3.0]})
    while not snapshot.is_done:
        snapshot = episodes.step(snapshot.episode_id, AHEAD)
    assert snapshot.status is EpisodeState.TERMINATED
    assert episodes.observe(snapshot.episode_id).is_done
    with pytest.raises(EpisodeEnded):
        episodes.step(snapshot.episode_id, AHEAD)


def test_action_that_is_not_legal_now_is_a_typed_error_and_the_gates_is_a_verdict(
    episodes: Episodes[Place],
) -> None:
    episode = episodes.reset(seed=1, options={'start': [0.0]}).episode_id
    with pytest.raises(InvalidAction, match='pusher cannot do this now: there is a wall'):
        episodes.step(episode, BACK)
    assert episodes.observe(episode).step == 0
    limited = episodes.step(episode, np.array([99.0], np.float32))
    assert limited.info['verdict'] == 'LIMITED'


def test_several_episodes_run_at_once_by_their_ids(episodes: Episodes[Place]) -> None:
    one = episodes.reset(seed=1, options={'start': [0.0]}).episode_id
    other = episodes.reset(seed=2, options={'start': [2.0]}).episode_id
    episodes.step(one, AHEAD)
    episodes.step(other, AHEAD)
    episodes.step(one, AHEAD)
    assert (episodes.observe(one).step, episodes.observe(other).step) == (2, 1)
    assert episodes.observe(one).state == Place(pytest.approx(0.6))
    assert episodes.observe(other).state == Place(2.3)
    episodes.close(one)
    with pytest.raises(RequestRejected, match='Unknown episode') as unknown:
        episodes.observe(one)
    assert unknown.value.code is ResultCode.UNKNOWN_EPISODE
    episodes.step(other, AHEAD)


def test_the_store_has_the_steps_the_state_and_the_ending_of_each_episode(
    episodes: Episodes[Place], tmp_path: Path
) -> None:
    one = episodes.reset(seed=1, options={'start': [1.0]}).episode_id
    episodes.step(one, AHEAD)
    state = episodes.env(one).save()
    episodes.step(one, AHEAD)
    other = episodes.reset(seed=2, options={'state': state, 'start': [0.0]})
    assert other.state == Place(1.3), 'it goes on from the saved state'
    episodes.close()

    runs = [RunFolder(tmp_path / name) for name in ('run_0', 'run_1')]
    with EpisodeStore.open(runs[1].episodes) as store:
        (row,) = store.episodes()
        assert (row.episode_id, row.ending) == (other.episode_id, 'abandoned')
    with EpisodeStore.open(runs[0].episodes) as store:
        (row,) = store.episodes()
        assert (row.episode_id, row.ending) == (one, 'abandoned')
        steps = list(open_records(runs[0].bag).records(Transition))
        assert {step.id.episode_id for step in steps} == {one}
        assert [step.id.step for step in steps] == [0, 1, 2, 3]
        (saved,) = store.states(one)
        assert (saved.id.step, json.loads(saved.state)) == (1, state)
