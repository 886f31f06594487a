# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
PettingZoo environments over a contract with several agents.

:func:`parallel_env` steps all agents at once, :func:`env` one after the other, in the order of
``agents`` in the contract. Both need the extra ``pettingzoo``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract import Contract, Pacing
from boundary_env_ros.core.images import as_rgb
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.errors import (
    BoundaryError,
    EpisodeEnded,
    InvalidAction,
    LinkError,
    MissingDependency,
    ResetNeeded,
)
from boundary_env_ros.facade.info import outcome_of, step_info
from boundary_env_ros.facade.link import Delivery
from boundary_env_ros.facade.spaces import (
    action_space,
    action_vector,
    observation_space,
    observation_values,
)
from boundary_env_ros.facade.world import make_world, World
from boundary_env_ros.storage.contract_file import load

try:
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils.conversions import parallel_to_aec
except ModuleNotFoundError as missing:
    raise MissingDependency(
        f'Expect PettingZoo for several agents, actually: {missing}. '
        "Install it with `pip install 'boundary_env_ros[pettingzoo]'`."
    ) from missing

Array = npt.NDArray[Any]
Observations = dict[str, dict[str, Array]]
Infos = dict[str, dict[str, Any]]

_MODES = ('rgb_array',)
# What PettingZoo's own tests give to a reset, to see that it takes options; no task knows it.
_PROBE = {'options': 1}


class BoundaryParallelEnv(ParallelEnv):
    """
    Several robots, each behind a gate of its own, in one world that they share.

    All agents act at once. Each has its own episode: one that ended leaves ``agents``, its robot
    is stopped, and the others go on until the next ``reset``, with which all begin again together.

    Parameters
    ----------
    contract
        File of a contract, or the name of a shipped one.
    link
        How to reach the world: ``'ros'``, ``'embedded'``, or the name of another installed world.
    pacing
        ``'realtime'`` or ``'lockstep'`` instead of what the contract says; every other process
        must be started with the same. In one process there is lockstep only, and it is the
        default.
    render_mode
        ``'rgb_array'`` shows the first image field of every agent, side by side.
    link_arguments
        Passed on to the world, for example ``domain_id`` or ``namespace`` of that over ROS.

    Raises
    ------
    ContractError
        If the contract is not valid.

    """

    def __init__(
        self,
        contract: str | Path = 'two_carts',
        *,
        link: str = 'ros',
        pacing: str | None = None,
        render_mode: str | None = None,
        **link_arguments: Any,
    ) -> None:
        if render_mode is not None and render_mode not in _MODES:
            raise BoundaryError(
                f'Expect render_mode None or one of {_MODES}, actually: {render_mode!r}.'
            )
        self._loaded = load(contract, _pacing(pacing, link))
        self._link_name, self._link_arguments = link, link_arguments
        self._world: World | None = None
        self._closed = False
        self._generator = np.random.default_rng()
        self._last: dict[str, Delivery] = {}
        self._images: dict[str, dict[str, Array]] = {}
        agents = self.contract.agents
        self._observation_spaces = {agent: observation_space(self.contract) for agent in agents}
        self._action_spaces = {agent: action_space(self.contract) for agent in agents}
        self.metadata = {
            'name': self.contract.name,
            'render_modes': list(_MODES),
            'render_fps': max(1, round(1.0 / self.contract.period)),
            'is_parallelizable': True,
        }
        self.render_mode = render_mode
        self.possible_agents = list(agents)
        self.agents: list[str] = []

    @property
    def contract(self) -> Contract:
        """The contract that this environment keeps."""
        return self._loaded.contract

    @property
    def digest(self) -> str:
        """The identity of that contract."""
        return self._loaded.digest

    @property
    def last(self) -> Mapping[str, Delivery]:
        """The last transition of each agent, whole, as it was delivered."""
        return dict(self._last)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observation, the same object every time."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's action, the same object every time."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """
        Begin an episode of every agent: the world is reset once, every gate armed for this client.

        Episodes that run are ended first, as ``abandoned``.

        Parameters
        ----------
        seed
            Seed of the episodes, one for all; without one it is drawn from the generator that the
            last seed started.
        options
            Options of the task, for example ``{'scenario': 'aisle'}``.

        Raises
        ------
        LinkError
            If a node is missing (the message names it), refuses, or does not answer within its
            deadline.
        ResetFailed
            If the world could not be brought into the sampled state.

        """
        if self._closed:
            raise BoundaryError(
                'Expect an open environment, actually: it was closed. Make a new one.'
            )
        if seed is not None:
            self._generator = np.random.default_rng(seed)
        else:
            seed = int(self._generator.integers(2**63))
        if self._world is None:
            self._world = make_world(self._link_name, self._loaded, **self._link_arguments)
        self.agents = []
        self._images.clear()
        begun = self._world.begin(
            seed=seed,
            options={} if options is None or options == _PROBE else options,
            wrappers=(),
        )
        self.agents = list(self.possible_agents)
        return (
            {agent: self._observed(agent, delivery) for agent, delivery in begun.items()},
            {agent: step_info(delivery) for agent, delivery in begun.items()},
        )

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """
        Ask for one action of every agent in ``agents``, and return what came of each.

        Each gate admits, limits, holds, stops or rejects its agent's action; that agent's ``info``
        says which, and why.

        Parameters
        ----------
        actions
            A member of ``action_space(agent)`` by agent. In realtime one may be missing, or None:
            the agent misses its turn, its gate holds and then stops the robot, and after
            ``policy_timeout`` its episode ends as ``policy_lost``. In lockstep the world would
            wait, so that is refused.

        Returns
        -------
        tuple
            Observations, rewards, terminations, truncations and infos of every agent that was in
            ``agents``, those whose episode has ended just now among them.

        Raises
        ------
        InvalidAction
            If an action has another shape or is not finite. Nothing was sent.
        ResetNeeded, EpisodeEnded
            If no episode runs.
        LinkError
            If a process that the step needs is lost; the message names it.

        """
        if self._world is None or not self._last:
            raise ResetNeeded(
                'Expect running episodes, actually: none was begun. Call reset() first.'
            )
        if not self.agents:
            raise EpisodeEnded(
                'Expect a running episode, actually: all have ended. Call reset() first.'
            )
        closed = self._world.step(self._vectors(actions))
        observations: Observations = {}
        rewards: dict[str, float] = {}
        terminations: dict[str, bool] = {}
        truncations: dict[str, bool] = {}
        infos: Infos = {}
        for agent in self.agents:
            last = closed[agent][-1]
            observations[agent] = self._observed(agent, last)
            rewards[agent], infos[agent] = outcome_of(closed[agent])
            terminations[agent] = last.transition.terminated
            truncations[agent] = last.transition.truncated
        self.agents = [
            agent for agent in self.agents if not (terminations[agent] or truncations[agent])
        ]
        return observations, rewards, terminations, truncations, infos

    def render(self) -> Array | None:
        """
        Return the last image of the first image field of every agent, side by side.

        Shape (height, agents * width, 3), RGB, uint8; in the order of ``possible_agents``, those
        whose episode has ended with their last one.
        """
        if self.render_mode is None:
            return None
        for spec in self.contract.observation:
            if spec.is_image:
                shown = [self._images.get(a, {}).get(spec.name) for a in self.possible_agents]
                if any(image is None for image in shown):
                    raise ResetNeeded(
                        'Expect an observation to render, actually: none. Call reset().'
                    )
                return np.hstack([as_rgb(spec, image) for image in shown if image is not None])
        raise BoundaryError('Expect an image field to render, actually: the contract has none.')

    def close(self) -> None:
        """
        End the episodes that run as ``abandoned``, and let go of the world.

        Other environments are not touched.
        """
        self._closed = True
        self.agents = []
        if self._world is not None:
            self._world.close()
            self._world = None

    def _observed(self, agent: str, delivery: Delivery) -> dict[str, Array]:
        self._last[agent] = delivery
        images = self._images.setdefault(agent, {})
        images.update(delivery.images)
        return observation_values(self.contract, delivery.transition.after, images)

    def _vectors(self, actions: Mapping[str, Any]) -> dict[str, Vector]:
        strangers = set(actions) - set(self.agents)
        if strangers:
            raise InvalidAction(
                f'Expect actions of {", ".join(self.agents)}, '
                f'actually: of {", ".join(sorted(map(str, strangers)))} as well.'
            )
        given = {agent: action for agent, action in actions.items() if action is not None}
        lacking = [agent for agent in self.agents if agent not in given]
        if lacking and self.contract.pacing is Pacing.LOCKSTEP:
            raise InvalidAction(
                f'Expect an action of every agent in lockstep ({", ".join(self.agents)}), '
                f'actually: none of {", ".join(lacking)}. The world waits for each.'
            )
        vectors = {}
        for agent, action in given.items():
            try:
                vectors[agent] = action_vector(self.contract, action)
            except InvalidAction as error:
                raise InvalidAction(f'{agent}: {error}') from error
        return vectors


def parallel_env(contract: str | Path = 'two_carts', **arguments: Any) -> BoundaryParallelEnv:
    """
    Return an environment in which all agents act at once.

    Parameters
    ----------
    contract, arguments
        See :class:`BoundaryParallelEnv`.

    """
    return BoundaryParallelEnv(contract, **arguments)


def env(contract: str | Path = 'two_carts', **arguments: Any) -> AECEnv[Any, Any, Any]:
    """
    Return an environment in which the agents act in turn, in the contract's order.

    A turn takes no time: the actions are collected, and the world advances when the last agent of
    the round has acted. Until then every agent sees the world as it was when the round began.

    Parameters
    ----------
    contract, arguments
        See :class:`BoundaryParallelEnv`.

    """
    return parallel_to_aec(BoundaryParallelEnv(contract, **arguments))


def _pacing(name: str | None, link: str) -> Pacing | None:
    if name is None:
        return Pacing.LOCKSTEP if link == 'embedded' else None
    names = {pacing.name.lower(): pacing for pacing in Pacing}
    if name not in names:
        raise LinkError(f'Expect a pacing out of {", ".join(names)}, actually: {name!r}.')
    return names[name]
