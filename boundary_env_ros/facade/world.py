# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The world of several agents, as one client sees it.

Over ROS it is :class:`boundary_env_ros.ros.world.RosWorld`; in one process
:class:`boundary_env_ros.facade.embedded_world.EmbeddedWorld`. Others are installed as entry points
of the group ``boundary_env_ros.worlds``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.errors import EpisodeEnded, LinkError
from boundary_env_ros.facade.link import Delivery, made
from boundary_env_ros.storage.contract_file import LoadedContract

GROUP = 'boundary_env_ros.worlds'


class World(Protocol):
    """
    One client's conversation with one world, on behalf of all agents of its contract.

    Every call has a deadline and raises a named error when it passes; none returns half an answer.
    """

    @property
    def running(self) -> tuple[str, ...]:
        """The agents whose episode runs."""
        ...

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, Delivery]:
        """
        Begin an episode of every agent, over one reset of the world, and return their resets.

        Episodes that still run are ended first, as ``abandoned``. If one agent's reset fails, no
        episode runs afterwards.

        Raises
        ------
        LinkError
            As :meth:`boundary_env_ros.facade.link.Link.begin`; the message names the agent.

        """
        ...

    def step(self, actions: Mapping[str, Vector]) -> dict[str, tuple[Delivery, ...]]:
        """
        Send the actions, and return for each agent that runs what was closed since.

        Parameters
        ----------
        actions
            By agent. In lockstep of all that run, since the world waits for each. In realtime the
            gate of an agent without one holds, then stops, and what comes back of it is the next
            transition that is closed without an action. With declared turns, of the one whose turn
            it is, or in realtime of none, which misses it; what comes back goes up to the next
            turn of an agent that runs.

        Raises
        ------
        EpisodeEnded
            If no episode runs.
        LinkError
            If actions are missing that the world would wait for, or come from agents that do not
            run, or whose turn it is not.

        """
        ...

    def close(self) -> None:
        """End what this client began, and let go of all that it holds. May be called again."""
        ...


def due(contract: Contract, last: Mapping[str, Delivery]) -> tuple[str, ...]:
    """
    Return who acts next: all whose episode runs, or of these the one whose turn it is.

    Parameters
    ----------
    contract
        The contract.
    last
        The last delivery of each agent.

    """
    running = {agent: d.transition for agent, d in last.items() if not d.transition.cause}
    if not contract.turns:
        return tuple(running)
    # All that run are in the same step; over ROS one of them may have told more than another.
    step = max((transition.id.step for transition in running.values()), default=0)
    return tuple(agent for agent in running if contract.has_turn(agent, step + 1))


def check_actions(
    contract: Contract, last: Mapping[str, Delivery], actions: Collection[str]
) -> None:
    """
    Refuse a step that a world cannot take.

    Parameters
    ----------
    contract
        The contract.
    last
        The last delivery of each agent whose episode runs.
    actions
        The agents that act.

    Raises
    ------
    EpisodeEnded, LinkError
        As :meth:`World.step`.

    """
    if not last:
        raise EpisodeEnded(
            'No episode is running: none was begun, or all have ended. Call begin() first.'
        )
    to_act = due(contract, last)
    lacking = set(to_act) - set(actions)
    if set(actions) - set(to_act) or (lacking and contract.pacing is Pacing.LOCKSTEP):
        who = 'whose turn it is' if contract.turns else 'each agent that runs'
        raise LinkError(
            f'Actions do not fit the agents (expected one of {who}: {", ".join(to_act)}, '
            f'got {", ".join(actions) or "none"}).'
        )


def make_world(name: str, loaded: LoadedContract, **arguments: Any) -> World:
    """
    Return an installed world.

    Parameters
    ----------
    name
        Entry-point name: ``ros``, ``embedded`` or somebody else's.
    loaded
        The contract.
    arguments
        What that world takes.

    Raises
    ------
    LinkError
        If no world of that name is installed, or it takes no such arguments.

    """
    what = 'an installed link to a world of several agents'
    world: World = made(GROUP, name, what, loaded, arguments)
    return world
