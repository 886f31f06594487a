# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The link to a recorded run of several agents: one way through the record for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.errors import EpisodeEnded, LinkError, RecordError, Refused
from boundary_env_ros.facade.link import Delivery
from boundary_env_ros.facade.replay import EPISODE, ReplayLink
from boundary_env_ros.storage.contract_file import LoadedContract


class ReplayWorld:
    """
    A recorded run of all agents of a contract; see :class:`boundary_env_ros.facade.world.World`.

    Parameters
    ----------
    loaded, run, arguments
        As :class:`~boundary_env_ros.facade.replay.ReplayLink` takes them.

    Raises
    ------
    LinkError
        If the contract declares turns.

    """

    recorded = True

    def __init__(self, loaded: LoadedContract, *, run: str | Path = '', **arguments: Any) -> None:
        if loaded.contract.turns:
            raise LinkError(
                'Agents that act in turn cannot be replayed together (`turns`: '
                f'{", ".join(loaded.contract.turns)}). Replay one agent with '
                'boundary_env_ros.facade.replay.ReplayLink(..., agent=...).'
            )
        self._path = run
        self._links = {
            agent: ReplayLink(loaded, run=run, agent=agent, **arguments)
            for agent in loaded.contract.agents
        }

    @property
    def running(self) -> tuple[str, ...]:
        """The agents whose episode runs."""
        return tuple(agent for agent, link in self._links.items() if link.running)

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, Delivery]:
        """
        Go to a recorded episode of every agent, and return their resets.

        They began together; so an id, which is that of one agent, stands for those of the others
        at its place.
        """
        which = options.get(EPISODE)
        first = next(iter(self._links))
        if isinstance(which, str):
            first = self._owner(which)
        begun = {first: self._links[first].begin(seed=seed, options=options, wrappers=wrappers)}
        replayed = begun[first].replayed
        assert replayed is not None  # every delivery of such a link is
        others = {**options, EPISODE: replayed.episode}
        for agent, link in self._links.items():
            if agent != first:
                begun[agent] = link.begin(seed=None, options=others, wrappers=wrappers)
        seeds = {agent: delivery.transition.seed for agent, delivery in begun.items()}
        if len(set(seeds.values())) > 1:
            raise RecordError(
                f'The agents have different seeds in the episode {replayed.episode} of '
                f'{self._path} (got {seeds}). A reset of one of them is missing there.'
            )
        return {agent: begun[agent] for agent in self._links}

    def _owner(self, episode: str) -> str:
        for agent, link in self._links.items():
            if link.has(episode):
                return agent
        raise Refused(
            f'Unknown episode: none of {", ".join(self._links)} in {self._path} has '
            f'an id that begins with {episode!r}.'
        )

    def step(self, actions: Mapping[str, Vector]) -> dict[str, tuple[Delivery, ...]]:
        """
        Return for each agent that runs what was delivered to it at this place of the record.

        An action that is missing is compared with nothing.

        Raises
        ------
        EpisodeEnded
            If no episode runs.
        LinkError
            If an action comes from an agent that does not run.

        """
        running = self.running
        if not running:
            raise EpisodeEnded(
                'No episode is running: none was begun, or all have ended. Call begin() first.'
            )
        strangers = set(actions) - set(running)
        if strangers:
            raise LinkError(
                f'Unknown agents (expected {", ".join(running)}, '
                f'got {", ".join(sorted(strangers))} as well).'
            )
        return {agent: self._links[agent].step(actions.get(agent)) for agent in running}

    def close(self) -> None:
        """Let go of the record."""
        for link in self._links.values():
            link.close()
