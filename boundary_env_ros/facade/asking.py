# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment asks of a world that is a plugin, beside the steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.facade.errors import ResetNeeded
from boundary_env_ros.facade.world import agent_of, World
from boundary_env_ros.simulation.plugin_wire import to_reading

#: In place of an image field: what a plugin itself draws.
WORLD = 'world'


class AsksWorld:
    """
    Methods of an environment that a plugin answers.

    Each raises RequestRejected if the world has no answer, and ResetNeeded before the first reset.
    ``agent`` is needed only where there are several.
    """

    _world: World | None

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
