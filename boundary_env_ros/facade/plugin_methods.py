# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment offers beside reset and step where its world is a plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gymnasium import spaces
import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.events import EnvironmentEvent, EventKind, is_of
from boundary_env_ros.core.environment.task import reward_space
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.facade.errors import ResetNeeded
from boundary_env_ros.facade.world import agent_of, World
from boundary_env_ros.simulation.plugin_wire import to_reading
from boundary_env_ros.storage.contract_file import make_task

#: What is called with each event.
Callback = Callable[[EnvironmentEvent], None]

#: In place of an image field: what a plugin itself draws.
WORLD = 'world'


class PluginMethods:
    """
    Methods of an environment that a plugin answers.

    Each raises RequestRejected if the world has no answer, and ResetNeeded before the first reset.
    ``agent`` is needed only where there are several.
    """

    _world: World | None
    _callbacks: tuple[tuple[EventKind | str | None, Callback], ...] = ()

    @property
    def contract(self) -> Contract:
        """The contract that this environment keeps."""
        raise NotImplementedError

    @property
    def reward_space(self) -> spaces.Dict:
        """The space of each term of the reward of a step, by name."""
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
        """Have the world tell its events, once there is one and a callback."""
        if self._world is None or not self._callbacks:
            return
        listen = getattr(self._world, 'listen', None)
        if listen is None:
            raise RequestRejected(
                f'{type(self._world).__name__} tells no events to an environment. '
                'Over ROS use boundary_env_ros.ros.client.BoundaryClient.on.',
                ResultCode.UNSUPPORTED,
            )
        listen(self._tell)

    def _tell(self, event: EnvironmentEvent) -> None:
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
        found: list[dict[str, Any]] = self._ask('affordances', agent)['affordances']
        return found

    def plan(self, query: Mapping[str, Any], agent: str = '') -> dict[str, Any]:
        """Ask what to do, JSON both ways."""
        plan: dict[str, Any] = self._ask('plan', agent, query=dict(query))['plan']
        return plan

    def save(self) -> dict[str, Any]:
        """
        Return the state of the world, JSON.

        A reset puts it back, by the option that the plugin declares for it.
        """
        state: dict[str, Any] = self._ask('save', next(iter(self._asked().agents)))['state']
        return state

    def render_world(self, mode: str = 'rgb_array', agent: str = '') -> npt.NDArray[Any] | str:
        """Return what the world shows of itself: pixels, or with ``'ansi'`` a text."""
        answer = self._ask('render', agent, mode=mode)
        return (
            str(answer['text']) if 'text' in answer else np.asarray(to_reading(answer['pixels']))
        )

    def _asked(self) -> World:
        if self._world is None:
            raise ResetNeeded('There is no world to ask yet. Call reset() first.')
        return self._world

    def _ask(self, method: str, agent: str, **arguments: Any) -> dict[str, Any]:
        world = self._asked()
        ask = getattr(world, 'ask', None)
        if ask is None:
            raise RequestRejected(
                f'{type(world).__name__} cannot be asked (expected a world with a plugin). '
                "Use the world 'embedded' or 'ros'.",
                ResultCode.UNSUPPORTED,
            )
        found: dict[str, Any] = ask(method, {'agent': agent_of(world.agents, agent), **arguments})
        return found
