# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Policies that LeRobot trained."""

from __future__ import annotations

from collections.abc import Mapping
import math
from pathlib import Path
from typing import Any

import numpy as np

from boundary_env_ros.errors import BoundaryError, needed
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.facade.policies.policy_keys import PolicyKeys
from boundary_env_ros.storage.contract_file import LoadedContract

STATE, IMAGE = 'observation.state', 'observation.images.'
#: How pictures go in.
_PICTURE = {'layout': 'chw', 'dtype': 'float32', 'scale': 1.0 / 255.0}


class LeRobotPolicy:
    """
    A pretrained policy of LeRobot with its processors, from a folder that LeRobot saved.

    The features that it was trained on are filled from the fields of the observation: as
    ``features`` says; else ``observation.images.NAME`` from the image field of that name, and
    ``observation.state`` from all other fields, one after the other in the order of the contract.
    Images go in as floats from 0 to 1, channels first, as LeRobot's own data sets have them.

    Parameters
    ----------
    loaded
        The contract.
    path
        The folder, with ``config.json``, the weights and the processors.
    features
        Field, fields to be put one after the other, or what is said of an
        :class:`~boundary_env_ros.facade.policies.policy_keys.InputKey`, by feature.
    action
        What is said of its actions, as of an
        :class:`~boundary_env_ros.facade.policies.policy_keys.OutputKey`.
    any_range
        Whether an action may be far out of the bounds of the contract, where the gate limits it.
    chunk
        Whether it predicts whole chunks, and the runner executes of them what it is told to; else
        the policy keeps its own queue, and gives one action at a time. Default: chunks if the
        contract allows them.
    task
        What the robot is to do, in words, where an episode has no instruction.
    device
        Where it runs.
    rtc
        Whether each chunk continues the last one, by LeRobot's real-time chunking; or settings of
        its ``RTCConfig``.

    Raises
    ------
    MissingDependency
        If LeRobot is not installed.
    BoundaryError
        If the policy was trained on features or actions that the contract has not, answers an
        observation far out of its bounds, as one in other units does, or cannot do real-time
        chunking that is asked for.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        path: Path,
        *,
        features: Mapping[str, Any] | None = None,
        action: Mapping[str, Any] | None = None,
        any_range: bool = False,
        chunk: bool | None = None,
        task: str = '',
        device: str = 'cpu',
        rtc: bool | Mapping[str, Any] = False,
    ) -> None:
        with needed(f'LeRobot is needed to run {path}', 'pip install lerobot'):
            from lerobot.configs.policies import PreTrainedConfig
            from lerobot.policies.factory import get_policy_class, make_pre_post_processors
            import torch
        if not (path / 'config.json').is_file():
            raise BoundaryError(
                f'{path} is not the folder of a pretrained policy: it has no config.json.'
            )
        self._torch: Any = torch
        config: Any = PreTrainedConfig.from_pretrained(path)
        config.device = device
        self._policy: Any = get_policy_class(config.type).from_pretrained(path, config=config)
        self._before, self._after = make_pre_post_processors(
            config,
            pretrained_path=str(path),
            preprocessor_overrides={'device_processor': {'device': device}},
        )
        contract = loaded.contract
        self._chunk = contract.horizon > 1 if chunk is None else chunk
        if self._chunk and getattr(config, 'n_obs_steps', 1) > 1:
            raise BoundaryError(
                f'A policy with chunks predicts from one observation here, and {config.type} '
                f'looks back over {config.n_obs_steps}. With chunk=false it keeps them itself.'
            )
        self._task = self._instruction = task
        self._keys = _keys(loaded, dict(config.input_features), features or {}, action or {})
        self._converts = bool(action)
        sizes = [math.prod(feature.shape) for feature in config.output_features.values()]
        if contract.action_size not in sizes:
            raise BoundaryError(
                'Wrong size of the actions (expected a policy with actions of '
                f'{contract.action_size} numbers, got {", ".join(map(str, sizes))} in {path}).'
            )
        self._delay, self._prefix = 0, np.empty((0, contract.action_size))
        #: Whether it is given what is left of its last chunk.
        self._continues = rtc is not False
        if self._continues:
            self._prepare_rtc({} if rtc is True else rtc)
        if not any_range:
            example = self._keys.example()
            answer = {'action': np.atleast_2d(self._predicted(example))}
            self._keys.check_range(self._keys.actions(answer, example))
            self.reset(0)

    def _prepare_rtc(self, settings: Any) -> None:
        policy: Any = self._policy
        if not (self._chunk and getattr(policy, 'supports_rtc', lambda: False)()):
            raise BoundaryError(
                'No real-time chunking (expected chunks of a policy of LeRobot that can continue '
                f'them, such as smolvla or pi0, got {policy.config.type}, '
                f'{"with" if self._chunk else "without"} chunks). Leave `rtc` out.'
            )
        from lerobot.policies.rtc.configuration_rtc import RTCConfig

        try:
            policy.config.rtc_config = RTCConfig(**settings)
        except (TypeError, ValueError) as error:
            raise BoundaryError(
                f'Wrong rtc (expected true, or settings of RTCConfig, got {settings}): {error}.'
            ) from error
        policy.init_rtc_processor()

    def condition(self, delay: int, prefix: Array) -> None:
        """Continue what is left of the last chunk, if it does real-time chunking."""
        self._delay, self._prefix = delay, prefix

    def instruct(self, instruction: str) -> None:
        """Tell it what the robot is to do, if the episode says it."""
        self._instruction = instruction or self._task

    def reset(self, seed: int) -> None:
        """Empty its queues; draw as this seed does."""
        self._torch.manual_seed(seed)
        self._policy.reset()
        self._before.reset()
        self._after.reset()

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return its action, or its chunk."""
        rows = self._predicted(observation)
        if not self._converts:
            return rows
        actions = self._keys.actions({'action': np.atleast_2d(rows)}, observation)
        return actions if self._chunk else np.asarray(actions[0])

    def _predicted(self, observation: Mapping[str, Array]) -> Array:
        torch = self._torch
        batch: dict[str, Any] = {'task': self._instruction}
        for name, value in self._keys.values(observation, '').items():
            batch[name] = torch.from_numpy(value).unsqueeze(0)
        if self._continues and len(self._prefix):
            # Its processors make of actions what it predicted, whatever they undo afterwards.
            rows = (
                self._keys.prefix_of(self._prefix, observation) if self._converts else self._prefix
            )
            batch['action'] = torch.from_numpy(np.float32(rows)).unsqueeze(0)
        # Not inference_mode: real-time chunking takes gradients.
        with torch.no_grad():
            batch = self._before(batch)
            left = batch.pop('action', None)
            if not self._chunk:
                (action,) = _array(self._after(self._policy.select_action(batch)))
                return np.asarray(action)
            continued: dict[str, Any] = {}
            if left is not None:
                continued = {'inference_delay': self._delay, 'prev_chunk_left_over': left}
            rows = self._policy.predict_action_chunk(batch, **continued)
            # The processor undoes the normalisation of one action at a time.
            parts = [_array(self._after(rows[:, index])) for index in range(rows.shape[1])]
            return np.concatenate(parts)


def _array(tensor: Any) -> Array:
    array: Array = tensor.detach().to('cpu').numpy()
    return array


def _keys(
    loaded: LoadedContract,
    wanted: Mapping[str, Any],
    declared: Mapping[str, Any],
    action: Mapping[str, Any],
) -> PolicyKeys:
    """Return what makes each feature of the fields, and has its size."""
    contract = loaded.contract
    plain = [s.name for s in contract.observation if not (s.is_image or s.is_document)]
    if unknown := set(declared) - set(wanted):
        raise BoundaryError(
            f'Unknown features (expected features of the policy ({", ".join(wanted)}), got '
            f'{", ".join(sorted(unknown))}).'
        )
    parts = {}
    for feature in wanted:
        usual = plain if feature == STATE else feature.removeprefix(IMAGE)
        given = declared.get(feature, usual)
        parts[feature] = {
            **(_PICTURE if feature.startswith(IMAGE) else {}),
            **(given if isinstance(given, dict) else {'fields': given}),
        }
    keys = PolicyKeys(contract, {'observation': parts, 'action': {'action': action}})
    for feature, value in keys.values(keys.example(), '').items():
        shape = tuple(wanted[feature].shape)
        if math.prod(shape) != value.size:
            raise BoundaryError(
                f'Wrong size of a feature (expected {math.prod(shape)} numbers {shape} for the '
                f'feature {feature!r}, got {value.size}). Say which fields it has: features='
                f'{{{feature}: [FIELD, ...]}}.'
            )
    return keys
