# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stable-Baselines3 takes the environments as they are, and learns on vectors of them."""

from __future__ import annotations

from typing import Any
import warnings

import gymnasium
from gymnasium.wrappers import FilterObservation, FlattenObservation
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('stable_baselines3', reason='needs boundary_env_ros[sb3]')

from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env

CART = 'boundary_env_ros:boundary_env_ros/WarehouseCart-v0'
GUARDED = 'boundary_env_ros:boundary_env_ros/GuardedCart-v0'
ARM = 'boundary_env_ros:boundary_env_ros/DoorArm-v0'


def make(name: str = CART) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(name, world='embedded', pacing='lockstep')


def without_image(name: str = CART) -> gymnasium.Env[Any, Any]:
    fields = ['pose', 'velocity', 'scan', 'goal']
    return FlattenObservation(FilterObservation(make(name), fields))


@pytest.mark.parametrize(
    'env',
    [lambda: make(CART), lambda: make(GUARDED), lambda: make(ARM), without_image],
    ids=['cart', 'guarded', 'arm', 'flat'],
)
def test_its_check_finds_nothing_but_recommendations(env: Any) -> None:
    made = env()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        check_env(made)
    made.close()
    told = [str(warning.message) for warning in caught if warning.category is UserWarning]
    assert [text for text in told if ' recommend you to ' not in text] == []


def test_it_learns_on_a_vector_whose_environment_begins_anew_by_itself() -> None:
    world = make_vec_env(without_image, n_envs=1, seed=0)
    model = PPO('MlpPolicy', world, n_steps=64, batch_size=32, n_epochs=1, seed=0, device='cpu')
    model.learn(64)
    ended = [episode['l'] for episode in model.ep_info_buffer]
    world.close()
    assert ended
    assert max(ended) <= 60
