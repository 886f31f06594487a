# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Adapters on real models, made here: what they compute is what the model computes.

Those of Stable-Baselines3 and LeRobot are run where these are installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import socket
import subprocess
import sys
from typing import Any

import gymnasium
from gymnasium import spaces
import numpy as np
import pytest

from boundary_env_ros.errors import BoundaryError, MissingDependency, PolicyFailed, PolicyLost
from boundary_env_ros.facade.inference import Inference
from boundary_env_ros.facade.policies import make_policy
from boundary_env_ros.storage.contract_spaces import action_space, observation_space
from support.shipped import changed

CART = changed('warehouse_cart')
CHUNKS = changed('warehouse_cart', chunk={'horizon': 4})
SPACE = observation_space(CART.contract)
SPACE.seed(1)
SEEN: Mapping[str, Any] = SPACE.sample()


@pytest.mark.parametrize(
    ('name', 'package', 'wanted'),
    [
        ('sb3', 'stable_baselines3', 'stable-baselines3'),
        ('lerobot', 'lerobot.configs.policies', 'lerobot'),
    ],
)
def test_an_adapter_without_its_package_asks_for_it_by_its_own_name(
    name: str, package: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=f'`pip install {wanted}`'):
        make_policy(f'{name}:model', CART, {})


def fails_at_warm_up(name: str, says: str) -> None:
    inference = Inference(make_policy(name, CART, {}), CART.contract, patience=60.0)
    with pytest.raises(PolicyFailed, match=says):
        inference.warm_up(observation_space(CART.contract).sample())
    inference.close()


# Stable-Baselines3 -------------------------------------------------------------------------------


class Standing(gymnasium.Env[Any, Any]):
    """Spaces to train on, and nothing that moves."""

    def __init__(self, observed: spaces.Space[Any], acted: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observed, acted

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation_space.sample(), 0.0, False, False, {}


WITHOUT_IMAGE = spaces.Dict({name: s for name, s in SPACE.spaces.items() if name != 'front'})


def test_a_model_on_fields_is_given_those_fields(tmp_path: Path) -> None:
    sb3 = pytest.importorskip('stable_baselines3', reason='needs boundary_env_ros[sb3]')
    model = sb3.PPO(
        'MultiInputPolicy', Standing(WITHOUT_IMAGE, action_space(CART.contract)), n_steps=8
    )
    model.save(tmp_path / 'model.zip')
    action = make_policy(f'sb3:{tmp_path / "model.zip"}', CART, {})(SEEN)
    fields = {name: SEEN[name] for name in WITHOUT_IMAGE.spaces}
    np.testing.assert_allclose(action, model.predict(fields, deterministic=True)[0])


def test_a_model_on_a_vector_is_given_the_flattened_normalised_observation(
    tmp_path: Path,
) -> None:
    sb3 = pytest.importorskip('stable_baselines3', reason='needs boundary_env_ros[sb3]')
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    unit = spaces.Box(-1.0, 1.0, (2,), np.float32)
    flat = spaces.flatten_space(SPACE)
    env = VecNormalize(DummyVecEnv([lambda: Standing(flat, unit)]), training=True)
    env.reset()
    for _ in range(5):
        env.step(np.zeros((1, 2)))
    model = sb3.PPO('MlpPolicy', env, n_steps=8)
    model.save(tmp_path / 'model.zip')
    env.save(tmp_path / 'normalize.pkl')
    options = {'normalize': str(tmp_path / 'normalize.pkl'), 'rescale': True}
    action = make_policy(f'sb3:{tmp_path / "model.zip"}', CART, options)(SEEN)
    seen = env.normalize_obs(spaces.flatten(SPACE, dict(SEEN)))
    asked = model.predict(seen, deterministic=True)[0]
    box = action_space(CART.contract)
    assert isinstance(box, spaces.Box)
    np.testing.assert_allclose(action, box.low + (asked + 1) / 2 * (box.high - box.low), rtol=1e-5)
    with pytest.raises(BoundaryError, match='RescaleAction, say rescale=true'):
        make_policy(f'sb3:{tmp_path / "model.zip"}', CART, {})


def test_a_model_on_another_observation_is_refused(tmp_path: Path) -> None:
    sb3 = pytest.importorskip('stable_baselines3', reason='needs boundary_env_ros[sb3]')
    other = spaces.Box(-1.0, 1.0, (3,), np.float32)
    sb3.PPO('MlpPolicy', Standing(other, action_space(CART.contract)), n_steps=8).save(
        tmp_path / 'model.zip'
    )
    fails_at_warm_up(f'sb3:{tmp_path / "model.zip"}', 'Unexpected observation shape')


# LeRobot -----------------------------------------------------------------------------------------

PLAIN = ('pose', 'goal')


def learned() -> dict[str, Any]:
    """Return what every untrained policy here is said to have learned: its features and chunks."""
    from lerobot.configs.types import FeatureType, PolicyFeature

    height, width, channels = SPACE['front'].shape or (0, 0, 0)
    return {
        'input_features': {
            'observation.state': PolicyFeature(type=FeatureType.STATE, shape=(5,)),
            'observation.images.front': PolicyFeature(
                type=FeatureType.VISUAL, shape=(channels, height, width)
            ),
        },
        'output_features': {'action': PolicyFeature(type=FeatureType.ACTION, shape=(2,))},
        'chunk_size': 6,
        'n_action_steps': 6,
        'device': 'cpu',
    }


def save(kind: Any, config: Any, folder: Path, statistics: dict[str, Any]) -> None:
    """Save an untrained policy and its processors as LeRobot does."""
    from lerobot.policies.factory import make_pre_post_processors
    import torch

    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
    statistics = {
        'observation.state': {'mean': torch.zeros(5), 'std': torch.ones(5)},
        'action': {'mean': torch.full((2,), 0.25), 'std': torch.full((2,), 0.5)},
        **statistics,
    }
    for processor in make_pre_post_processors(config, dataset_stats=statistics):
        processor.save_pretrained(folder)


@pytest.fixture(scope='module')
def act(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an untrained ACT, as LeRobot saves it with its processors."""
    pytest.importorskip('lerobot.policies.act.modeling_act', reason='needs LeRobot')
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.act.modeling_act import ACTPolicy
    import torch

    *_, channels = SPACE['front'].shape or (0,)
    config = ACTConfig(
        **learned(),
        dim_model=32,
        n_heads=2,
        dim_feedforward=32,
        n_encoder_layers=1,
        use_vae=False,
        pretrained_backbone_weights=None,
    )
    pixels = {'mean': torch.zeros(channels, 1, 1), 'std': torch.ones(channels, 1, 1)}
    folder = tmp_path_factory.mktemp('act')
    save(ACTPolicy, config, folder, {'observation.images.front': pixels})
    return folder


def by_hand(folder: Path) -> Any:
    """Return the chunk that the policy predicts for the sample, in the units of the contract."""
    from lerobot.policies.act.modeling_act import ACTPolicy
    import torch

    policy = ACTPolicy.from_pretrained(folder)
    state = np.concatenate([SEEN[name] for name in PLAIN]).astype(np.float32)
    batch = {
        'observation.state': torch.from_numpy(state)[None],
        'observation.images.front': torch.from_numpy(SEEN['front'])[None]
        .permute(0, 3, 1, 2)
        .float()
        / 255.0,
    }
    return policy.predict_action_chunk(batch)[0].numpy() * 0.5 + 0.25


def test_a_lerobot_policy_predicts_chunks_from_declared_features(act: Path) -> None:
    options = {'features': {'observation.state': list(PLAIN)}}
    policy = make_policy(f'lerobot:{act}', CHUNKS, options)
    policy.reset(1)  # type: ignore[attr-defined]
    answer = policy(SEEN)
    assert answer.shape == (6, 2)
    np.testing.assert_allclose(answer, by_hand(act), rtol=1e-4, atol=1e-5)


def test_a_lerobot_policy_keeps_its_own_queue_where_the_contract_has_no_chunks(act: Path) -> None:
    options = {'features': {'observation.state': list(PLAIN)}}
    policy = make_policy(f'lerobot:{act}', CART, options)
    policy.reset(1)  # type: ignore[attr-defined]
    answers = [policy(SEEN) for _ in range(6)]
    np.testing.assert_allclose(answers, by_hand(act), rtol=1e-4, atol=1e-5)


def test_a_lerobot_policy_in_other_units_is_refused_and_can_be_converted(act: Path) -> None:
    options = {
        'features': {'observation.state': list(PLAIN)},
        'action': {'scale': [1e-3, 1e-3]},
    }
    with pytest.raises(BoundaryError, match='another range .*any_range=true'):
        make_policy(f'lerobot:{act}', CHUNKS, options)
    policy = make_policy(f'lerobot:{act}', CHUNKS, {**options, 'any_range': True})
    np.testing.assert_allclose(policy(SEEN), 1e3 * by_hand(act), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize(
    ('options', 'says'),
    [
        ({}, r"expected 5 numbers \(5,\) for the feature 'observation\.state', got \d+"),
        (
            {'features': {'observation.state': ['pose', 'none']}},
            "'observation.state', .*got 'none'",
        ),
        (
            {'features': {'observation.state': list(PLAIN), 'observation.x': 'pose'}},
            'expected features of the policy .*got observation.x',
        ),
    ],
)
def test_a_lerobot_policy_that_does_not_fit_is_refused_by_name(
    act: Path, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(BoundaryError, match=says):
        make_policy(f'lerobot:{act}', CART, options)


@pytest.fixture(scope='module')
def smolvla(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an untrained SmolVLA, its language model and its words made here."""
    for package in ('lerobot.policies.smolvla.modeling_smolvla', 'transformers', 'num2words'):
        pytest.importorskip(package, reason='needs LeRobot')
    from lerobot.policies.smolvla.configuration_smolvla import SmolVLAConfig
    from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy
    from tokenizers import models, pre_tokenizers, Tokenizer
    import transformers

    folder = tmp_path_factory.mktemp('smolvla')
    special = {
        'image_token': '<image>',
        'fake_image_token': '<fake_token_around_image>',
        'global_image_token': '<global-img>',
    }
    words = ['<pad>', '<unk>', *special.values(), 'go']
    table = {word: number for number, word in enumerate(words)}
    unknown = {'unk_token': '<unk>'}
    tokenizer = Tokenizer(models.WordLevel(table, **unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.SmolVLMProcessor(
        transformers.SmolVLMImageProcessor(size={'longest_edge': 32}),
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            extra_special_tokens=special,
            **{'pad_token': '<pad>', **unknown},
        ),
        transformers.SmolVLMVideoProcessor(),
        image_seq_len=4,
    ).save_pretrained(folder / 'words')
    small = {'num_attention_heads': 2, 'pad_token_id': 0}
    transformers.SmolVLMConfig(
        text_config={
            'model_type': 'llama',
            'hidden_size': 32,
            'intermediate_size': 64,
            'num_hidden_layers': 2,
            'num_key_value_heads': 2,
            'head_dim': 16,
            'vocab_size': len(words),
            **small,
        },
        vision_config={
            'hidden_size': 16,
            'intermediate_size': 32,
            'num_hidden_layers': 1,
            'num_attention_heads': 2,
            'image_size': 32,
            'patch_size': 8,
        },
        scale_factor=2,
        image_token_id=table['<image>'],
        pad_token_id=0,
    ).save_pretrained(folder / 'words')
    config = SmolVLAConfig(
        **learned(),
        resize_imgs_with_padding=(32, 32),
        vlm_model_name=str(folder / 'words'),
        num_vlm_layers=2,
        tokenizer_max_length=8,
        push_to_hub=False,
    )
    save(SmolVLAPolicy, config, folder, {})
    return folder


def test_a_lerobot_policy_continues_its_last_chunk_by_real_time_chunking(smolvla: Path) -> None:
    def answer(prefix: Any, **options: Any) -> Any:
        features = {'features': {'observation.state': list(PLAIN)}}
        policy: Any = make_policy(f'lerobot:{smolvla}', CHUNKS, {**features, **options})
        policy.instruct('go')
        policy.reset(1)
        policy.condition(2, np.reshape(prefix, (-1, 2)))
        return policy(SEEN)

    prefix = np.array([[0.9, -0.3], [0.9, -0.3], [0.8, -0.2], [0.7, -0.1]])
    free = answer([], rtc=True)
    np.testing.assert_allclose(free, answer(prefix), rtol=1e-4, atol=1e-5)
    continued = answer(prefix, rtc={'execution_horizon': 4})
    assert continued.shape == (6, 2)
    # Its first two actions are those that are executed while it infers, in the contract's units.
    assert np.abs(free - prefix[0])[:2].max() > 0.5
    np.testing.assert_allclose(continued[:2], prefix[:2], atol=0.01)
    with pytest.raises(BoundaryError, match='Wrong rtc .*max_guidance_weight must be positive'):
        answer([], rtc={'max_guidance_weight': -1})


def test_real_time_chunking_of_a_policy_that_cannot_do_it_is_refused(act: Path) -> None:
    options = {'features': {'observation.state': list(PLAIN)}, 'rtc': True}
    for loaded, chunks in ((CHUNKS, 'with'), (CART, 'without')):
        with pytest.raises(BoundaryError, match=f'such as smolvla or pi0, got act, {chunks} chun'):
            make_policy(f'lerobot:{act}', loaded, options)


def test_lerobots_own_server_answers_as_the_policy_does(act: Path, tmp_path: Path) -> None:
    pytest.importorskip('lerobot.async_inference.helpers', reason='needs LeRobot')
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    words = ['-m', 'lerobot.async_inference.policy_server', '--host=127.0.0.1', f'--port={port}']
    # It writes its log where it stands.
    server = subprocess.Popen([sys.executable, *words], cwd=tmp_path)
    try:
        mapping = {
            'observation': {
                'observation.state': {'fields': list(PLAIN)},
                'observation.images.front': {'fields': 'front'},
                'task': {'instruction': 'go'},
            }
        }
        options = {'policy_type': 'act', 'pretrained': str(act), 'mapping': mapping}
        options |= {'connect': 120.0, 'timeout': 30.0}
        policy: Any = make_policy(f'lerobot-async:127.0.0.1:{port}', CHUNKS, options)
        policy.reset(1)
        np.testing.assert_allclose(policy(SEEN), by_hand(act), rtol=1e-3, atol=1e-4)
        policy.reset(2)
        server.kill()
        with pytest.raises(PolicyLost, match='UNAVAILABLE'):
            policy(SEEN)
        policy.close()
        wrong = {**options, 'pretrained': str(tmp_path), 'connect': 2.0}
        with pytest.raises(PolicyLost, match='expected a server that listens, got nothing within'):
            make_policy(f'lerobot-async:127.0.0.1:{port}', CHUNKS, wrong)
    finally:
        server.kill()
        server.wait()
