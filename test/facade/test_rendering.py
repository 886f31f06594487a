# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment shows: a camera, a text, and Gymnasium's own window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.env import BoundaryEnv
from support.shipped import changed

FORWARD = np.array([0.6, 0.0], dtype=np.float32)


@pytest.fixture
def make() -> Iterator[Any]:
    """Return a maker of embedded environments, closed with the test."""
    made = []

    def environment(contract: Any = 'warehouse_cart', **arguments: Any) -> BoundaryEnv:
        made.append(BoundaryEnv(contract, world='embedded', pacing='lockstep', **arguments))
        return made[-1]

    yield environment
    for env in made:
        env.close()


# A camera ---------------------------------------------------------------------------------------


def test_the_first_camera_is_shown_or_the_one_that_is_named(make: Any) -> None:
    first = make('door_arm', render_mode='rgb_array')
    observation, _ = first.reset(seed=1)
    assert np.array_equal(first.render(), observation['wrist'])
    named = make('door_arm', render_mode='rgb_array', render_source='scene')
    observation, _ = named.reset(seed=1)
    assert np.array_equal(named.render(), observation['scene'])
    assert not np.array_equal(observation['scene'], observation['wrist'])


def test_a_source_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(BoundaryError, match="expected wrist, scene, got 'roof'"):
        BoundaryEnv('door_arm', world='embedded', render_source='roof')


def test_a_contract_without_a_camera_has_no_picture(tmp_path: Path) -> None:
    data = yaml.safe_load(changed('warehouse_cart').text)
    del data['observation']['front']
    (tmp_path / 'blind.yaml').write_text(yaml.safe_dump(data, sort_keys=False))
    with pytest.raises(BoundaryError, match='the contract has no image field'):
        BoundaryEnv(tmp_path / 'blind.yaml', world='embedded', render_mode='rgb_array')


# A window ---------------------------------------------------------------------------------------


def test_gymnasium_puts_its_window_around_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('SDL_VIDEODRIVER', 'dummy')
    pygame = pytest.importorskip('pygame', reason='needs boundary_env_ros[render]')
    with pytest.warns(UserWarning, match='human'):
        env = gymnasium.make('boundary_env_ros/WarehouseCart-v0', render_mode='human')
    for call in (lambda: env.reset(seed=1), lambda: env.step(FORWARD)):
        observation = call()[0]
        shown = np.swapaxes(pygame.surfarray.array3d(pygame.display.get_surface()), 0, 1)
        assert np.array_equal(shown, observation['front'])
    env.close()
    assert not pygame.display.get_init()


# Text -------------------------------------------------------------------------------------------


def test_the_text_tells_what_was_seen_asked_allowed_done_and_what_it_was_worth(make: Any) -> None:
    env = make(render_mode='ansi')
    observation, _ = env.reset(seed=1, options={'scenario': 'clear'})
    at_reset = env.render()
    assert 'step 0' in at_reset
    assert 'requested' not in at_reset
    for _ in range(3):
        observation, reward, *_, info = env.step(np.array([9.0, 0.25], dtype=np.float32))
    lines = {line.split()[0]: line for line in env.render().splitlines() if line[2:3].strip()}
    text = env.render()
    assert text.splitlines()[0] == 'warehouse_cart 1.0.0   step 3   0.30 s of 6 s'
    for name, value in observation.items():
        if name not in ('front', 'scan'):
            assert ' '.join(f'{number:.3f}' for number in value) in lines[name]
    assert 'image 48x64x3' in lines['front']
    assert f'36 values, {observation["scan"].min():.3f} to ' in lines['scan']
    assert all('FRESH, ' in lines[name] for name in observation)
    assert '9.000 0.250' in lines['requested']
    assert f'{info["admitted_action"][0]:.3f} 0.250' in lines['admitted']
    assert 'm/s, rad/s' in lines['measured']
    assert lines['verdict'].split() == ['verdict', 'LIMITED']
    assert info['reasons']
    assert all(reason in text for reason in info['reasons'])
    assert f'{float(reward):+.4g}' in lines['reward']
    assert 'progress' in lines['reward']


def test_the_text_of_the_last_step_tells_how_it_ended(make: Any) -> None:
    env = make(render_mode='ansi')
    options = {'scenario': 'clear', 'start': [-3.0, -3.0, 0.0], 'goal': [-2.4, -3.0]}
    env.reset(seed=1, options=options)
    terminated = False
    while not terminated:
        *_, terminated, _, _ = env.step(FORWARD)
    last = env.render().splitlines()[-1]
    assert last.split(maxsplit=1)[1] == 'success (terminated), declared by task:go_to_goal'


# In the wrong order, and without what it takes --------------------------------------------------


def test_rendering_without_a_mode_says_how_to_get_one(make: Any) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match='rgb_array, ansi'):
        assert env.render() is None
