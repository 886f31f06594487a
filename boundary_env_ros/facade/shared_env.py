# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every environment of several agents has, whether they act at once or in turn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros import errors
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.service_requests import options_text, seed_of
from boundary_env_ros.core.sources.images import as_rgb
from boundary_env_ros.errors import BoundaryError, LinkError
from boundary_env_ros.facade.errors import InvalidAction, ResetNeeded
from boundary_env_ros.facade.first_step import FirstStep
from boundary_env_ros.facade.plugin_methods import PluginMethods
from boundary_env_ros.facade.spaces import (
    action_space,
    action_vector,
    observation_space,
    observation_values,
)
from boundary_env_ros.facade.steps import StepResult
from boundary_env_ros.facade.world import load_for, make_world, seed_for, World
from boundary_env_ros.facade.wrapper_chain import chain_of, check_same_wrappers, wrappers_around

Array = npt.NDArray[Any]

_MODES = ('rgb_array',)


class SharedEnv(PluginMethods):
    """
    Several robots, each behind a gate of its own, in one world that they share.

    Parameters
    ----------
    contract, world, pacing, render_mode, full_info, first_step, world_arguments
        See :class:`boundary_env_ros.facade.multi_agent.BoundaryParallelEnv`.

    Attributes
    ----------
    agents
        The agents of the episode that goes on; empty before the first.
    possible_agents
        All agents, in the contract's order.

    """

    agents: list[str]
    possible_agents: list[str]
    #: Whether the agents act one after the other.
    in_turn = False
    #: Classes of what may be wrapped around it.
    wrapped_by: tuple[type, ...] = ()

    def __init__(
        self,
        contract: str | Path = 'two_carts',
        *,
        world: str = 'ros',
        pacing: str | None = None,
        render_mode: str | None = None,
        full_info: bool = False,
        first_step: str | Path | None = None,
        **world_arguments: Any,
    ) -> None:
        loaded = load_for(contract, pacing=pacing, world=world)
        turns = loaded.contract.agent_order
        if bool(turns) is not self.in_turn:
            raise LinkError(
                'The contract does not fit (expected '
                f'{"" if self.in_turn else "no "}`agent_order`, got '
                f'{", ".join(turns) or "none: its agents act at once"}). '
                'Use env(), which takes both.'
            )
        if render_mode is not None and render_mode not in _MODES:
            raise BoundaryError(
                f'Unknown render_mode (expected None or one of {_MODES}, got {render_mode!r}).'
            )
        self._loaded = loaded
        self._full_info = full_info
        self._world_name, self._world_arguments = world, world_arguments
        self._keep = FirstStep(self._loaded, first_step, world)
        self._world: World | None = None
        self._closed = False
        self._broken = ''
        self._wrappers: tuple[object, ...] | None = ()
        self._generator = np.random.default_rng()
        self._last: dict[str, StepResult] = {}
        self._images: dict[str, dict[str, Array]] = {}
        agents = self.contract.agents
        self._observation_spaces = {agent: observation_space(self.contract) for agent in agents}
        self._action_spaces = {agent: action_space(self.contract) for agent in agents}
        self.metadata: dict[str, Any] = {
            'name': self.contract.name,
            'render_modes': list(_MODES),
            'render_fps': max(1, round(1.0 / self.contract.period)),
            'is_parallelizable': not self.contract.agent_order,
        }
        self.render_mode = render_mode
        self.possible_agents = list(agents)
        self.agents = []

    @property
    def contract(self) -> Contract:
        """The contract that this environment keeps."""
        return self._loaded.contract

    @property
    def digest(self) -> str:
        """The identity of that contract."""
        return self._loaded.digest

    @property
    def last_results(self) -> Mapping[str, StepResult]:
        """The last transition of each agent, whole, as it was delivered."""
        return dict(self._last)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observation, the same object every time."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's action, the same object every time."""
        return self._action_spaces[agent]

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
                    raise ResetNeeded('There is no observation to render. Call reset() first.')
                return np.hstack([as_rgb(spec, image) for image in shown if image is not None])
        raise BoundaryError('The contract has no image field to render.')

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

    def _begin(self, seed: int | None, options: dict[str, Any] | None) -> dict[str, StepResult]:
        """Begin an episode of every agent, and return their resets."""
        self._check_open()
        self._wrappers = wrappers_around(self, self.wrapped_by)
        options = options or {}
        options_text(options)  # refused by every world alike
        if seed is not None:
            seed = seed_of(seed)
            self._generator = np.random.default_rng(seed)
        if self._world is None:
            self._world = make_world(self._world_name, self._loaded, **self._world_arguments)
            self._listen()
        self.agents = []
        self._broken = ''
        self._images.clear()
        begun = self._world.reset(
            seed=seed_for(self._world, seed, lambda: int(self._generator.integers(2**63))),
            options=options,
            wrappers=chain_of(self, self._wrappers),
        )
        self.agents = list(self.possible_agents)
        return begun

    def _check_open(self) -> None:
        if self._closed:
            raise BoundaryError('The environment is closed. Create a new one.')

    def _running(self) -> World:
        """Return the world of the episodes that were begun."""
        self._check_open()
        if self._broken or self._world is None or not self._last:
            why = (
                f'the last step was broken off ({self._broken})'
                if self._broken
                else 'none was begun'
            )
            raise ResetNeeded(f'No episode is running: {why}. Call reset() first.')
        check_same_wrappers(self, self._wrappers, wrappers_around(self, self.wrapped_by))
        return self._world

    def _send(
        self, world: World, actions: Mapping[str, Vector]
    ) -> dict[str, tuple[StepResult, ...]]:
        """Send actions, and return what was closed since."""
        try:
            return world.step(actions)
        except errors.InvalidAction as error:
            raise InvalidAction(str(error)) from error
        except BaseException as error:
            # How far it went is unknown: Ctrl-C in a notebook, a process that was lost.
            self._broken = type(error).__name__
            raise

    def _observed(self, agent: str, result: StepResult) -> dict[str, Array]:
        self._keep(result.transition)
        self._last[agent] = result
        images = self._images.setdefault(agent, {})
        images.update(result.images)
        return observation_values(self.contract, result.transition.after, images)

    def _vector(self, agent: str, action: Any) -> Vector:
        try:
            return action_vector(self.contract, action)
        except InvalidAction as error:
            raise InvalidAction(f'{agent}: {error}') from error
