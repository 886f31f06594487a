# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the environments of Gymnasium and PettingZoo have in common: a contract over a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros import errors
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.task import reward_space
from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind, is_of
from boundary_env_ros.core.service_requests import options_text, seed_of
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.first_step import FirstStep
from boundary_env_ros.facade.gymnasium_errors import EpisodeEnded, InvalidAction, ResetNeeded
from boundary_env_ros.facade.spaces import observation_values
from boundary_env_ros.facade.steps import StepRequest, StepResult
from boundary_env_ros.facade.world import agent_of, load_for, make_world, World
from boundary_env_ros.facade.wrapper_chain import (
    chain_of,
    check_no_time_limit,
    check_same_wrappers,
    wrappers_around,
)
from boundary_env_ros.simulation.plugin_wire import pixels_in
from boundary_env_ros.storage.contract_file import make_task

Array = npt.NDArray[Any]
Observation = dict[str, Array]

#: What is called with each event.
Callback = Callable[[EnvironmentEvent], None]

#: In place of an image field: what a plugin itself draws.
WORLD = 'world'


class ContractEnv:
    """
    One or several robots, each behind a gate of its own, stepped under a contract.

    Some methods are answered by a plugin: each raises RequestRejected if the world has no answer,
    and ResetNeeded before the first reset. Their ``agent`` is needed only where there are several.

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
        by_recorder = world == 'ros' and self.contract.recorder_required
        recorded = by_recorder or world_arguments.get('record') is not None
        self._first_step = FirstStep(self._loaded, first_step, recorded=recorded)
        self._full_info = full_info
        self._world: World | None = None
        self._callbacks: tuple[tuple[EventKind | str | None, Callback], ...] = ()
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
        End the episodes that run as ``abandoned``, and release the world.

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
        # A recorded world has its episodes already, and no use for a drawn seed.
        if seed is None and not self._world.recorded:
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

    def _send(
        self, actions: Mapping[str, Vector | StepRequest]
    ) -> dict[str, tuple[StepResult, ...]]:
        """Send actions to the episodes that were begun, and return what was closed since."""
        self._check_open()
        if self._idle or self._world is None:
            raise ResetNeeded(f'No episode is running: {self._idle}. Call reset() first.')
        check_same_wrappers(self, self._wrappers, wrappers_around(self, self.wrapped_by))
        try:
            return self._world.step(actions)
        except errors.InvalidAction as error:
            raise InvalidAction(str(error)) from error
        except errors.EpisodeEnded as error:
            raise EpisodeEnded(str(error)) from error
        except BaseException as error:
            # How far it went is unknown: Ctrl-C in a notebook, a process that was lost.
            self._idle = f'the last step was broken off ({type(error).__name__})'
            raise

    def _observed(self, agent: str, *results: StepResult) -> Observation:
        """Return the observation after the last of an agent's results."""
        images = self._images.setdefault(agent, {})
        for result in results:
            self._first_step(result.transition)
            self._results[agent] = result
            images.update(result.images)
        return observation_values(self.contract, results[-1].transition.after, images)

    # What a plugin answers -----------------------------------------------------------------------

    @property
    def reward_terms_space(self) -> spaces.Dict:
        """The space of each term of the reward of a step, by name."""
        # Not `reward_space`: TorchRL takes that for the space of the reward itself.
        bounds = reward_space(make_task(self.contract))
        return spaces.Dict(
            {name: spaces.Box(low, high, (), np.float64) for name, (low, high) in bounds.items()}
        )

    def on(self, kind: EventKind | str | None, callback: Callback) -> Callable[[], None]:
        """
        Call back with every event of a kind, of any agent.

        It is called within the ``reset`` or ``step`` in which the event came, before that returns.
        What a plugin pushes in between comes with the next.

        Parameters
        ----------
        kind
            A kind, the ``event_type`` of what a plugin pushes, or None: every event.
        callback
            Is called with the event.

        Returns
        -------
        Callable
            Ends that.

        """
        entry = (kind, callback)
        self._callbacks = (*self._callbacks, entry)
        self._listen()

        def stop() -> None:
            self._callbacks = tuple(each for each in self._callbacks if each is not entry)

        return stop

    def _listen(self) -> None:
        """Have the world pass on its events, once there is one and a callback."""
        if self._world is not None and self._callbacks:
            self._world.listen(self._on_event)

    def _on_event(self, event: EnvironmentEvent) -> None:
        for kind, callback in self._callbacks:
            if is_of(event, kind):
                callback(event)

    def affordances(self, agent: str = '') -> list[dict[str, Any]]:
        """
        Return what can be done now, and what cannot, with the reason.

        Returns
        -------
        list
            Of each: ``name``, ``available``, ``reason`` and ``parameters``, what to send for it.

        """
        return list(self._ask('affordances', agent))

    def plan(self, query: Mapping[str, Any], agent: str = '') -> dict[str, Any]:
        """Ask what to do, JSON both ways."""
        return dict(self._ask('plan', agent, query=dict(query)))

    def save(self) -> dict[str, Any]:
        """
        Return the state of the world, JSON.

        A reset puts it back, by the option that the plugin declares for it.
        """
        return dict(self._ask('save', next(iter(self._open_world().agents))))

    def render_world(self, mode: str = 'rgb_array', agent: str = '') -> npt.NDArray[Any] | str:
        """Return what the world shows of itself: pixels, or with ``'ansi'`` a text."""
        answer = self._ask('render', agent, mode=mode)
        return answer if isinstance(answer, str) else pixels_in(answer)

    def _open_world(self) -> World:
        if self._world is None:
            raise ResetNeeded('There is no world to ask yet. Call reset() first.')
        return self._world

    def _ask(self, method: str, agent: str, **arguments: Any) -> Any:
        world = self._open_world()
        return world.ask(method, {'agent': agent_of(world.agents, agent), **arguments})
