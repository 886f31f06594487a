# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What users of Gymnasium rely on: ids, its own check, its wrappers, its vectors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
import subprocess
import sys
from typing import Any
import warnings

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import (
    ClipAction,
    FilterObservation,
    FlattenObservation,
    FrameStackObservation,
    NormalizeObservation,
    RecordEpisodeStatistics,
    RecordVideo,
    RescaleAction,
)
import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.facade import BoundaryEnv
from boundary_env_ros.registration import IDS
from boundary_env_ros.resources import share_file
from boundary_env_ros.storage.contract_file import load
from support.shipped import changed

CART = 'boundary_env_ros/WarehouseCart-v0'
EMBEDDED = {'world': 'embedded', 'pacing': 'lockstep'}
NOTHING = np.zeros(2, dtype=np.float32)


@pytest.fixture(scope='module')
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a contract whose episodes end by their time limit after three steps."""
    path = tmp_path_factory.mktemp('hasty') / 'hasty.yaml'
    path.write_text(changed('warehouse_cart', episode__time_limit=0.3).text, encoding='utf-8')
    return path


@pytest.fixture
def cart(request: pytest.FixtureRequest) -> Iterator[gymnasium.Env[Any, Any]]:
    """Return a cart as ``gymnasium.make`` makes it."""
    made = gymnasium.make(CART, **EMBEDDED, render_mode='rgb_array')
    yield made
    made.close()


# Ids and the checker ----------------------------------------------------------------------------


def test_every_shipped_contract_of_one_simulated_robot_has_an_id_and_no_other() -> None:
    def contract(path: Path) -> Contract | None:
        text = path.read_text(encoding='utf-8')
        return load(path).contract if '\ncontract:' in text else None

    files = sorted(share_file('config/warehouse_cart.yaml').parent.glob('*.yaml'))
    shipped = [found for path in files if (found := contract(path))]
    groups = ('boundary_env_ros.robots', 'boundary_env_ros.plugins')
    robots = {entry.name for group in groups for entry in entry_points(group=group)}
    simulated = [c.name for c in shipped if len(c.agents) == 1 and c.name in robots]
    assert sorted(IDS.values()) == sorted(simulated)
    for name, value in IDS.items():
        spec = gymnasium.spec(name)
        assert spec.kwargs == {'contract': value, 'world': 'embedded'}
        assert spec.max_episode_steps is None


@pytest.mark.parametrize(
    'imports', ['import boundary_env_ros, gymnasium', 'import gymnasium, boundary_env_ros']
)
def test_importing_the_package_is_enough_for_its_ids_in_whatever_order(imports: str) -> None:
    code = f"{imports}\nenv = gymnasium.make('{CART}')\nprint(env.reset(seed=1)[1]['step'])\n"
    assert subprocess.check_output([sys.executable, '-c', code], text=True).strip() == '0'


def test_importing_the_package_alone_loads_nothing_heavy() -> None:
    code = (
        'import sys, boundary_env_ros\n'
        "print({'numpy', 'gymnasium', 'rclpy', 'mujoco', 'yaml'} & set(sys.modules))\n"
    )
    assert subprocess.check_output([sys.executable, '-c', code], text=True).strip() == 'set()'


def test_what_gymnasium_has_a_name_for_is_raised_by_that_name() -> None:
    with BoundaryEnv(**EMBEDDED) as env:
        with pytest.raises(gymnasium.error.ResetNeeded, match='none was begun'):
            env.step(NOTHING)
        env.reset(seed=1)
        with pytest.raises(gymnasium.error.InvalidAction, match='shape'):
            env.step(np.zeros(3))


def test_the_step_after_the_last_is_gymnasiums_own_error(hasty: Path) -> None:
    with BoundaryEnv(hasty, **EMBEDDED) as env:
        env.reset(seed=1)
        while not any(env.step(NOTHING)[2:4]):
            pass
        with pytest.raises(gymnasium.error.ResetNeeded, match='has ended'):
            env.step(NOTHING)


def test_an_id_with_its_module_needs_no_import_and_no_robot() -> None:
    env = gymnasium.make(f'boundary_env_ros:{CART}')
    assert isinstance(env.unwrapped, BoundaryEnv)
    assert list(env.observation_space.spaces) == ['pose', 'velocity', 'scan', 'front', 'goal']
    env.close()


@pytest.mark.parametrize('name', sorted(IDS))
def test_it_passes_gymnasiums_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip('pygame', reason='needs boundary_env_ros[render]')
    pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')
    monkeypatch.setenv('SDL_VIDEODRIVER', 'dummy')
    env = gymnasium.make(name, **EMBEDDED)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        # With an environment for each render mode; how one renders is no matter of the contract.
        check_env(env.unwrapped, skip_render_check=name != CART)
    env.close()
    # Units of the contract are no flaw.
    assert all('symmetric and normalized' in str(warning.message) for warning in caught)


@pytest.mark.parametrize(('period', 'rate'), [(0.1, 10), (0.05, 20), (0.06, 16.666667)])
def test_the_rate_of_pictures_is_that_of_the_contract(
    tmp_path: Path, period: float, rate: float
) -> None:
    path = tmp_path / 'contract.yaml'
    path.write_text(changed('warehouse_cart', period=period).text, encoding='utf-8')
    env = BoundaryEnv(path, **EMBEDDED)  # type: ignore[arg-type]
    assert env.metadata['render_fps'] == rate
    assert BoundaryEnv.metadata['render_fps'] == 10


# Wrappers ---------------------------------------------------------------------------------------


def test_observations_can_be_flattened_stacked_and_normalised(
    cart: gymnasium.Env[Any, Any],
) -> None:
    flat = FlattenObservation(FilterObservation(cart, ['pose', 'velocity', 'goal', 'scan']))
    env = NormalizeObservation(FrameStackObservation(flat, 4))
    observation, _ = env.reset(seed=1)
    assert observation.shape == env.observation_space.shape == (4, 3 + 2 + 2 + 36)
    for _ in range(3):
        observation, *_ = env.step(NOTHING)
        assert np.isfinite(observation).all()


def test_a_flat_observation_keeps_the_order_of_the_contract(cart: gymnasium.Env[Any, Any]) -> None:
    observation, _ = FlattenObservation(cart).reset(seed=1)
    last = cart.unwrapped.last.transition.after  # type: ignore[attr-defined]
    numbers = {field.name: field.values for field in last}
    assert observation[:5].tolist() == pytest.approx([*numbers['pose'], *numbers['velocity']])
    assert observation[-2:].tolist() == pytest.approx(list(numbers['goal']))


def test_rescaled_actions_reach_the_contracts_bounds(cart: gymnasium.Env[Any, Any]) -> None:
    env = RescaleAction(cart, np.float32(-1.0), np.float32(1.0))
    env.reset(seed=1)
    for asked, bound in ((1.0, [0.8, 1.5]), (-1.0, [-0.3, -1.5])):
        *_, info = env.step(np.full(2, asked, dtype=np.float32))
        assert info['requested_action'] == pytest.approx(bound, abs=1e-6)


def test_the_record_holds_what_reached_the_boundary_not_what_a_wrapper_was_given(
    cart: gymnasium.Env[Any, Any],
) -> None:
    env = ClipAction(cart)
    env.reset(seed=1)
    *_, info = env.step(np.array([9.0, 0.0], dtype=np.float32))
    assert info['requested_action'] == pytest.approx([0.8, 0.0])
    assert 'ClipAction()' in info['wrappers']  # so that the audit knows


def test_statistics_of_an_episode_are_those_of_its_record(hasty: Path) -> None:
    env = RecordEpisodeStatistics(gymnasium.make(CART, contract=str(hasty), **EMBEDDED))
    env.reset(seed=1)
    rewards, truncated = [], False
    while not truncated:
        _, reward, terminated, truncated, info = env.step(np.array([0.5, 0.0], dtype=np.float32))
        rewards.append(float(reward))
        assert not (terminated and truncated)
    env.close()
    assert info['ending'] == 'time_limit'
    assert (info['episode']['l'], info['episode']['r']) == (3, pytest.approx(sum(rewards)))


def test_an_episode_can_be_filmed(hasty: Path, tmp_path: Path) -> None:
    pytest.importorskip('moviepy', reason='needs gymnasium[other]')
    env = gymnasium.make(CART, contract=str(hasty), **EMBEDDED, render_mode='rgb_array')
    film = RecordVideo(env, str(tmp_path), episode_trigger=lambda _: True)
    assert film.frames_per_sec == 10
    film.reset(seed=1)
    for _ in range(3):
        film.step(NOTHING)
    film.close()
    assert [path.suffix for path in tmp_path.iterdir()] == ['.mp4']


def test_pictures_can_be_collected(hasty: Path) -> None:
    env = gymnasium.make(CART, contract=str(hasty), **EMBEDDED, render_mode='rgb_array_list')
    env.reset(seed=1)
    env.step(NOTHING)
    pictures = env.render()
    env.close()
    assert [picture.shape for picture in pictures] == [(48, 64, 3)] * 2


# Vectors ----------------------------------------------------------------------------------------


def vector(mode: str, hasty: Path, autoreset: AutoresetMode, count: int = 2) -> Any:
    return gymnasium.make_vec(
        CART,
        num_envs=count,
        vectorization_mode=mode,
        vector_kwargs={'autoreset_mode': autoreset},
        contract=str(hasty),
        **EMBEDDED,
    )


@pytest.mark.parametrize('mode', ['sync', 'async'])
def test_a_vector_is_made_of_single_environments_that_do_not_know_each_other(
    mode: str, hasty: Path
) -> None:
    alone = BoundaryEnv(hasty, **EMBEDDED)  # type: ignore[arg-type]
    expected = [alone.reset(seed=seed)[0] for seed in (5, 6)]
    alone.close()
    envs = vector(mode, hasty, AutoresetMode.NEXT_STEP)
    try:
        observations, infos = envs.reset(seed=5)
        for name, values in observations.items():
            assert np.array_equal(values, [one[name] for one in expected]), name
        assert infos['reset']['seed'].tolist() == [5, 6]
        _, _, terminated, truncated, infos = envs.step(np.array([[0.5, 0.0], [0.0, 9.0]]))
        assert not terminated.any()
        assert not truncated.any()
        assert infos['verdict'].tolist() == ['LIMITED', 'LIMITED']
        assert infos['requested_action'].tolist() == [[0.5, 0.0], [0.0, 9.0]]
    finally:
        envs.close()


@pytest.mark.parametrize('mode', ['sync', 'async'])
def test_a_vector_resets_by_itself_with_the_next_step(mode: str, hasty: Path) -> None:
    envs = vector(mode, hasty, AutoresetMode.NEXT_STEP)
    try:
        envs.reset(seed=1)
        steps = [envs.step(np.zeros((2, 2), dtype=np.float32)) for _ in range(5)]
    finally:
        envs.close()
    assert [truncated.tolist() for _, _, _, truncated, _ in steps] == [
        [False] * 2, [False] * 2, [True] * 2, [False] * 2, [False] * 2,
    ]  # fmt: skip
    assert [info['step'].tolist() for *_, info in steps] == [
        [1, 1], [2, 2], [3, 3], [0, 0], [1, 1],
    ]  # fmt: skip


def test_a_vector_steps_while_another_of_its_environments_resets(
    hasty: Path, tmp_path: Path
) -> None:
    shorter = tmp_path / 'shorter.yaml'
    shorter.write_text(changed('warehouse_cart', episode__time_limit=0.1).text, encoding='utf-8')
    envs = SyncVectorEnv(
        [partial(gymnasium.make, CART, contract=str(c), **EMBEDDED) for c in (shorter, hasty)]
    )
    try:
        envs.reset(seed=1)
        infos = [envs.step(np.zeros((2, 2), dtype=np.float32))[-1] for _ in range(3)]
    finally:
        envs.close()
    assert [info['step'].tolist() for info in infos] == [[1, 1], [0, 2], [1, 3]]
    # The gate has decided nothing yet where the episode begins.
    assert infos[1]['gate']['_armed'].tolist() == [False, True]


def test_a_vector_resets_by_itself_in_the_same_step(hasty: Path) -> None:
    envs = vector('sync', hasty, AutoresetMode.SAME_STEP)
    envs.reset(seed=1)
    for _ in range(3):
        *_, truncated, infos = envs.step(np.zeros((2, 2), dtype=np.float32))
    envs.close()
    assert truncated.all()
    assert infos['step'].tolist() == [0, 0]
    assert infos['final_info']['ending'].tolist() == ['time_limit', 'time_limit']
    assert infos['final_info']['step'].tolist() == [3, 3]


def test_a_vector_that_does_not_reset_by_itself_is_reset_by_mask(hasty: Path) -> None:
    envs = vector('sync', hasty, AutoresetMode.DISABLED)
    envs.reset(seed=1)
    for _ in range(3):
        envs.step(np.zeros((2, 2), dtype=np.float32))
    envs.reset(options={'reset_mask': np.array([True, True])})
    *_, infos = envs.step(np.zeros((2, 2), dtype=np.float32))
    envs.close()
    assert infos['step'].tolist() == [1, 1]
