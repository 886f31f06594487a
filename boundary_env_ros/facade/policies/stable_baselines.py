# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Policies that Stable-Baselines3 trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import pickle
from typing import Any

from gymnasium import spaces
import numpy as np

from boundary_env_ros.errors import BoundaryError, needed
from boundary_env_ros.facade.policies.policy import Array
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.contract_spaces import action_space, observation_space


class StableBaselinesPolicy:
    """
    A model of Stable-Baselines3, as ``model.save()`` leaves it.

    A model that was trained on a vector is given the flattened observation, as Gymnasium's
    ``FlattenObservation`` makes it; one that was trained on a Dict, the fields that it knows.

    Parameters
    ----------
    loaded
        The contract.
    path
        The zip file.
    algorithm
        The class that it was trained by, for example ``SAC``.
    normalize
        File of the statistics that ``VecNormalize.save()`` left. It is a pickle: like the model
        itself it can run code, so take both only from a source that you trust.
    rescale
        Whether it was trained behind ``RescaleAction``, and its actions are to be brought back to
        the bounds of the contract.
    deterministic
        Whether it takes the most likely action, not one that it draws.
    device
        Where it runs.

    Raises
    ------
    MissingDependency
        If Stable-Baselines3 is not installed.
    BoundaryError
        If it was trained on another action space than that of the contract. Another observation
        is refused by the model itself, when it is warmed up.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        path: Path,
        *,
        algorithm: str = 'PPO',
        normalize: str = '',
        rescale: bool = False,
        deterministic: bool = True,
        device: str = 'cpu',
    ) -> None:
        with needed(f'Stable-Baselines3 is needed to run {path}', 'pip install stable-baselines3'):
            import stable_baselines3
        kind = getattr(stable_baselines3, algorithm, None)
        if kind is None:
            raise BoundaryError(f'Stable-Baselines3 has no algorithm {algorithm!r}.')
        if not path.is_file():
            raise BoundaryError(f'{path} is not the zip file of a model.')
        self._seed = stable_baselines3.common.utils.set_random_seed
        self._model: Any = kind.load(path, device=device)
        self._deterministic = deterministic
        self._normalize: Any = None
        if normalize:
            with Path(normalize).open('rb') as file:
                self._normalize = pickle.load(file)  # noqa: S301 - the user's own
        self._space = observation_space(loaded.contract)
        self._low, self._high = self._bounds(action_space(loaded.contract), rescale)
        self._rescale = rescale
        self.reset(0)

    def _bounds(self, space: spaces.Space[Any], rescale: bool) -> tuple[Array, Array]:
        own: spaces.Space[Any] = self._model.action_space
        if not isinstance(space, spaces.Box) or not isinstance(own, spaces.Box):
            if space == own:
                return np.zeros(0), np.zeros(0)
        elif own.shape == space.shape:
            alike = np.allclose(own.low, space.low) and np.allclose(own.high, space.high)
            if alike or rescale:
                return space.low, space.high
        raise BoundaryError(
            f'The model has another action space (expected {space}, got {own}). '
            'If it was trained behind RescaleAction, say rescale=true.'
        )

    def reset(self, seed: int) -> None:
        """Forget what it remembers of the episode before; draw as this seed does."""
        self._seed(seed % 2**32)
        self._state: Any = None
        self._begins = np.ones((1,), dtype=bool)

    def __call__(self, observation: Mapping[str, Array]) -> Any:
        """Return its action."""
        wanted = self._model.observation_space
        seen: Any
        if isinstance(wanted, spaces.Dict):
            seen = {name: observation[name] for name in wanted.spaces}
        else:
            seen = spaces.flatten(self._space, dict(observation))
        if self._normalize is not None:
            seen = self._normalize.normalize_obs(seen)
        action, self._state = self._model.predict(
            seen,
            state=self._state,
            episode_start=self._begins,
            deterministic=self._deterministic,
        )
        self._begins = np.zeros((1,), dtype=bool)
        if not self._rescale:
            return action
        own = self._model.action_space
        share = (action - own.low) / (own.high - own.low)
        return self._low + share * (self._high - self._low)
