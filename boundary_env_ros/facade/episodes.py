# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Several episodes at once in one process, each by its id, and what every call returns of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.records.episode import EpisodeState, status_by
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.facade.contract_env import Array
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.frozen import frozen
from boundary_env_ros.storage.atomic import Closing

__all__ = ['Episodes', 'Snapshot']

S = TypeVar('S')


@frozen
class Snapshot(Generic[S]):
    """
    What ``reset``, ``step`` and ``observe`` all return, in one process and over ROS.

    Attributes
    ----------
    episode_id, step
        Which episode, and its last step; 0 after the reset.
    observation
        By field: contract units and shape; over ROS flat.
    reward
        Of the step; 0.0 after a reset.
    status
        ``RUNNING``, ``TERMINATED`` (the task ended) or ``TRUNCATED`` (something else ended it).
    state
        What a plugin says of its world in ``info['world']``, as the type that was asked for.
    info
        As Gymnasium's; over ROS ``world`` alone: the transitions of the answer have the rest.

    """

    episode_id: str
    step: int
    observation: Mapping[str, npt.NDArray[np.generic]]
    reward: float
    status: EpisodeState
    state: S
    info: Mapping[str, Any]

    @property
    def is_done(self) -> bool:
        """Whether the episode is over: begin another."""
        return self.status.over


class Episodes(Closing, Generic[S]):
    """
    Episodes of one contract, each in a world of its own, stepped in any order.

    Parameters
    ----------
    make
        Returns a new environment, whose world is its own: ``lambda: BoundaryEnv('warehouse_cart',
        world='embedded')``. One whose episode is over is used again.
    state
        Makes of a plugin's info, a dict, the ``state`` of a snapshot; default: that dict.

    Every step is kept if the environments have a ``record``, each a folder of its own.

    """

    def __init__(
        self,
        make: Callable[[], BoundaryEnv],
        state: Callable[[dict[str, Any]], S] | None = None,
    ) -> None:
        self._make, self._state = make, state or cast(Callable[[dict[str, Any]], S], dict)
        self._envs: dict[str, BoundaryEnv] = {}
        self._snapshots: dict[str, Snapshot[S]] = {}
        self._idle: list[BoundaryEnv] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> Snapshot[S]:
        """Begin another episode, beside those that run; its id is in the snapshot."""
        env = self._idle.pop() if self._idle else self._make()
        try:
            observation, info = env.reset(seed=seed, options=options)
        except BaseException:
            env.close()
            raise
        self._envs[env.episode_id] = env
        return self._remember(env, observation, 0.0, info)

    def step(self, episode_id: str, action: Array) -> Snapshot[S]:
        """
        Step an episode; see :meth:`boundary_env_ros.facade.env.BoundaryEnv.step`.

        Raises
        ------
        InvalidAction
            If the action is not legal now; the episode goes on.
        EpisodeEnded
            If the episode is over.
        RequestRejected
            If there is no such episode.

        """
        env = self.env(episode_id)
        observation, reward, _, _, info = env.step(action)
        return self._remember(env, observation, float(reward), info)

    def observe(self, episode_id: str) -> Snapshot[S]:
        """Return where an episode stands, without a step."""
        self.env(episode_id)
        return self._snapshots[episode_id]

    def env(self, episode_id: str) -> BoundaryEnv:
        """Return the environment of an episode, to render or save it, or to ask for plans."""
        found = self._envs.get(episode_id)
        if found is None:
            raise RequestRejected(
                f'Unknown episode (expected one of {", ".join(self._envs) or "none"}, got '
                f'{episode_id!r}). Begin one with reset().',
                ResultCode.UNKNOWN_EPISODE,
            )
        return found

    def close(self, episode_id: str = '') -> None:
        """End an episode, as ``abandoned`` if it runs; without an id all."""
        for each in [episode_id] if episode_id else list(self._envs):
            env = self.env(each)
            del self._envs[each]
            if self._snapshots.pop(each).is_done and episode_id:
                self._idle.append(env)
            else:
                env.close()
        while self._idle and not episode_id:
            self._idle.pop().close()

    def _remember(
        self, env: BoundaryEnv, observation: Mapping[str, Array], reward: float, info: Any
    ) -> Snapshot[S]:
        transition = _last(env)
        snapshot = Snapshot(
            episode_id=env.episode_id,
            step=transition.id.step,
            observation=observation,
            reward=reward,
            status=status_by(terminated=transition.terminated, truncated=transition.truncated),
            state=self._state(info['world']),
            info=info,
        )
        self._snapshots[env.episode_id] = snapshot
        return snapshot


def _last(env: BoundaryEnv) -> Transition:
    assert env.last is not None  # an episode was begun
    return env.last.transition
