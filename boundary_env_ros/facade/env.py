# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The Gymnasium environment over a contract and a world."""

from __future__ import annotations

from pathlib import Path
from typing import Any, SupportsFloat

import gymnasium
from gymnasium.vector import VectorEnv

from boundary_env_ros.core.sources.images import as_rgb
from boundary_env_ros.facade.contract_env import Array, ContractEnv, Observation, WORLD
from boundary_env_ros.facade.gymnasium_errors import ResetNeeded
from boundary_env_ros.facade.info import outcome_of, step_info
from boundary_env_ros.facade.rendering import as_text, camera_of
from boundary_env_ros.facade.spaces import action_request_of
from boundary_env_ros.facade.steps import StepResult
from boundary_env_ros.facade.world import agent_of
from boundary_env_ros.storage.contract_spaces import action_space, observation_space


class BoundaryEnv(ContractEnv, gymnasium.Env[Any, Array]):
    """
    A robot behind a contract, stepped like any Gymnasium environment.

    The robot moves only through the safety gate. In realtime pacing the world does not wait: a
    ``step`` that comes late returns the transition that its action closed. What was closed without
    an action before it stands in ``info['missed']``, and its rewards are in the reward. In
    lockstep the world waits.

    Parameters
    ----------
    contract
        File of a contract, or the name of a shipped one.
    world
        The world: ``'ros'``, ``'embedded'``, ``'replay'`` for a recorded one, or the name of
        another installed one.
    pacing
        ``'realtime'`` or ``'lockstep'`` instead of what the contract says; every other process
        must be started with the same. In one process there is lockstep only, and it is the
        default.
    render_mode
        ``'rgb_array'``: a picture; ``'ansi'``: the step as text. ``gymnasium.make`` also takes
        ``'human'``, and puts Gymnasium's own window around the picture.
    render_source
        What the picture is of: an image field of the observation, or ``'world'``, drawn by a
        plugin. Default: the first image field.
    full_info
        Whether every ``info`` also has what was measured of each field and of the action.
    first_step
        New folder in which the first step is kept as soon as it exists, with the contract;
        default: ``runs/CONTRACT-DATE-TIME``, once for a contract in a process.
    world_arguments
        Passed on to the world, for example ``domain_id`` or ``namespace`` of that over ROS.

    Raises
    ------
    ContractError
        If the contract is not valid.
    LinkError
        If there is no such pacing. The world itself is made at the first ``reset``; the spaces
        need none.

    """

    metadata = {  # noqa: RUF012 - as Gymnasium declares it
        'render_modes': ['rgb_array', 'ansi'],
        'render_fps': 10,
    }
    wrapped_by = (gymnasium.Env, VectorEnv)

    def __init__(
        self,
        contract: str | Path = 'warehouse_cart',
        *,
        world: str = 'ros',
        pacing: str | None = None,
        render_mode: str | None = None,
        render_source: str | None = None,
        full_info: bool = False,
        first_step: str | Path | None = None,
        **world_arguments: Any,
    ) -> None:
        super().__init__(
            contract,
            world=world,
            pacing=pacing,
            render_mode=render_mode,
            full_info=full_info,
            first_step=first_step,
            **world_arguments,
        )
        self._agent = ''
        self._camera = None
        self._by_world = render_source == WORLD
        if not self._by_world and (render_source or render_mode == 'rgb_array'):
            self._camera = camera_of(self.contract, render_source or '')
        self.observation_space = observation_space(self.contract)
        self.action_space = action_space(self.contract)

    @property
    def episode_id(self) -> str:
        """UUID of the last episode, as in its record; empty before the first."""
        return '' if self.last is None else self.last.transition.id.episode_id

    @property
    def last(self) -> StepResult | None:
        """The last result, with the whole transition; None before the first reset."""
        return self._results.get(self._agent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """
        Begin an episode: the world is reset, the gate armed for this client alone.

        A running episode is ended first, as ``abandoned``.

        Parameters
        ----------
        seed
            Seed of the episode; without one it is drawn from the generator that the last seed
            started. Of a recorded run: the episode with that seed, without one the next.
        options
            Options of the task, for example ``{'scenario': 'clear'}``.

        Raises
        ------
        LinkError
            If the options are not plain data, which all that goes into a record is; if a node is
            missing (the message names it), refuses, or does not answer within its deadline.
        BoundaryError
            If there is a ``TimeLimit`` around it: that of the contract counts.
        ResetFailed
            If the world could not be brought into the sampled state.

        """
        self._check_open()
        super().reset(seed=seed)
        if not self._agent:
            wanted = str(self._world_arguments.get('agent', ''))
            self._agent = agent_of(self.contract.agents, wanted)
        begun = self._begin(seed, options, lambda: int(self.np_random.integers(2**63)))
        result = begun[self._agent]
        observation = self._observed(self._agent, result)
        return observation, step_info(self.contract, result, full=self._full_info)

    def step(self, action: Array) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """
        Ask the robot for one action, and return what came of it.

        The gate admits, limits, holds, stops or rejects it; ``info`` says which, and why. After
        ``terminated`` (the task ended) or ``truncated`` (something else ended it;
        ``info['ending']``) the robot is being stopped; call ``reset``.

        Parameters
        ----------
        action
            A member of ``action_space``, units and order of the contract. Out of bounds is
            allowed, and limited by the gate. A chunk is driven to its end, or to a stop or a
            takeover; the reward is the sum over its steps.

        Raises
        ------
        InvalidAction
            If it has another shape, is not finite, or the world does not allow it now (a plugin
            says why). Nothing was sent, and the episode goes on. What the gate refuses for safety
            is no error: the step is made, and ``info['verdict']`` says REJECTED.
        ResetNeeded, EpisodeEnded
            If there is no running episode, or it was begun through other wrappers than these.
        LinkError
            If a process that the step needs is lost; the message names it.

        """
        results = self._send({self._agent: action_request_of(self.contract, action)})[self._agent]
        transition = results[-1].transition
        observation = self._observed(self._agent, *results)
        reward, info = outcome_of(self.contract, results, full=self._full_info)
        return observation, reward, transition.terminated, transition.truncated, info

    def render(self) -> Array | str | None:
        """
        Return the last step as ``render_mode`` says: a picture, a text, or None.

        A picture has the shape (height, width, 3), RGB, uint8.

        Raises
        ------
        ResetNeeded
            If there is no step to show.

        """
        self._check_open()
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() was called without a render_mode, so there is nothing to see. Make the '
                f'environment with one out of {", ".join(self.metadata["render_modes"])}.'
            )
            return None
        if self.last is None:
            raise ResetNeeded('There is no observation to render. Call reset() first.')
        if self._by_world:
            return self.render_world(self.render_mode, self._agent)
        if self.render_mode == 'ansi' or self._camera is None:
            return as_text(self.contract, self.last.transition)
        return as_rgb(self._camera, self._images[self._agent][self._camera.name])
