# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the environments of Gymnasium and PettingZoo have in common: a contract over a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from boundary_env_ros import errors
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.service_requests import options_text, seed_of
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.errors import InvalidAction, ResetNeeded
from boundary_env_ros.facade.first_step import FirstStep
from boundary_env_ros.facade.plugin_methods import PluginMethods
from boundary_env_ros.facade.spaces import observation_values
from boundary_env_ros.facade.steps import StepRequest, StepResult
from boundary_env_ros.facade.world import load_for, make_world, World
from boundary_env_ros.facade.wrapper_chain import (
    chain_of,
    check_no_time_limit,
    check_same_wrappers,
    wrappers_around,
)

Array = npt.NDArray[Any]
Observation = dict[str, Array]


class ContractEnv(PluginMethods):
    """
    One or several robots, each behind a gate of its own, stepped under a contract.

    Parameters
    ----------
    contract, world, pacing, render_mode, full_info, first_step, world_arguments
        See :class:`boundary_env_ros.facade.env.BoundaryEnv`.

    """

    metadata: dict[str, Any]
    render_mode: str | None
    #: Classes of what may be wrapped around it.
    wrapped_by: tuple[type, ...]

    def __init__(
        self,
        contract: str | Path,
        *,
        world: str = 'ros',
        pacing: str | None = None,
        render_mode: str | None = None,
        full_info: bool = False,
        first_step: str | Path | None = None,
        **world_arguments: Any,
    ) -> None:
        modes = self.metadata['render_modes']
        if render_mode is not None and render_mode not in modes:
            raise BoundaryError(
                f'Unknown render_mode (expected None, {", ".join(modes)}, got {render_mode!r}).'
            )
        self._loaded = load_for(contract, pacing=pacing, world=world)
        # That of the class is what there is before an instance; a period is the contract's.
        rate = round(1.0 / self.contract.period, 6)
        fps = int(rate) if rate.is_integer() else rate
        self.metadata = {**self.metadata, 'render_fps': fps}
        self.render_mode = render_mode
        self._world_name, self._world_arguments = world, world_arguments
        self._keep = FirstStep(self._loaded, first_step, world)
        self._full_info = full_info
        self._world: World | None = None
        self._closed = False
        #: Why no episode is running; empty if one is.
        self._idle = 'none was begun'
        self._results: dict[str, StepResult] = {}
        self._images: dict[str, dict[str, Array]] = {}
        self._wrappers: tuple[object, ...] | None = ()

    @property
    def contract(self) -> Contract:
        """The contract that this environment keeps."""
        return self._loaded.contract

    @property
    def digest(self) -> str:
        """The identity of that contract."""
        return self._loaded.digest

    def close(self) -> None:
        """
        End the episodes that run as ``abandoned``, and let go of the world.

        Other environments are not touched.
        """
        self._closed = True
        world, self._world = self._world, None
        if world is not None:
            world.close()

    def _begin(
        self, seed: int | None, options: dict[str, Any] | None, draw: Callable[[], int]
    ) -> dict[str, StepResult]:
        """Begin an episode of every agent, by a given or a drawn seed, and return the resets."""
        self._check_open()
        self._wrappers = wrappers_around(self, self.wrapped_by)
        check_no_time_limit(self._wrappers or (), self.contract)
        options_text(options or {})  # refused by every world alike
        if self._world is None:
            self._world = make_world(self._world_name, self._loaded, **self._world_arguments)
            self._listen()
        # A recorded world has its episodes already, and no use for a seed that nobody asked for.
        if seed is None and not getattr(self._world, 'recorded', False):
            seed = draw()
        self._idle = 'the last reset failed'
        self._images.clear()
        begun = self._world.reset(
            seed=None if seed is None else seed_of(seed),
            options=options or {},
            wrappers=chain_of(self, self._wrappers),
        )
        self._idle = ''
        return begun

    def _check_open(self) -> None:
        if self._closed:
            raise BoundaryError('The environment is closed. Create a new one.')

    def _running(self) -> World:
        """Return the world of the episodes that were begun."""
        self._check_open()
        if self._idle or self._world is None:
            raise ResetNeeded(f'No episode is running: {self._idle}. Call reset() first.')
        check_same_wrappers(self, self._wrappers, wrappers_around(self, self.wrapped_by))
        return self._world

    def _send(
        self, world: World, actions: Mapping[str, Vector | StepRequest]
    ) -> dict[str, tuple[StepResult, ...]]:
        """Send actions, and return what was closed since."""
        try:
            return world.step(actions)
        except errors.InvalidAction as error:
            raise InvalidAction(str(error)) from error
        except BaseException as error:
            # How far it went is unknown: Ctrl-C in a notebook, a process that was lost.
            self._idle = f'the last step was broken off ({type(error).__name__})'
            raise

    def _observed(self, agent: str, *results: StepResult) -> Observation:
        """Return the observation after the last of an agent's results."""
        images = self._images.setdefault(agent, {})
        for result in results:
            self._keep(result.transition)
            self._results[agent] = result
            images.update(result.images)
        return observation_values(self.contract, results[-1].transition.after, images)
