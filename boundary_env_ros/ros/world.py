# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world of several agents over ROS: a link for each of them, used together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
import os
from typing import Any
import uuid

import numpy as np

from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import ActionRequest
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import BoundaryError
from boundary_env_ros.facade.link import closed_by, Delivery
from boundary_env_ros.facade.world import check_actions, due
from boundary_env_ros.ros.link import RosLink
from boundary_env_ros.storage.contract_file import LoadedContract

#: How long one agent is looked at before the next, s.
_TURN = 0.02


class RosWorld:
    """
    One client of the nodes of all agents of a contract.

    Parameters
    ----------
    loaded
        The contract; the nodes must run under the same.
    client
        Name of this client in the record, one for all agents; default: ``policy``, the process id
        and four random digits.
    link_arguments
        The other arguments of :class:`boundary_env_ros.ros.link.RosLink`.

    """

    def __init__(self, loaded: LoadedContract, *, client: str = '', **link_arguments: Any) -> None:
        self._contract = loaded.contract
        client = client or f'policy-{os.getpid()}-{uuid.uuid4().hex[:4]}'
        self._links: dict[str, RosLink] = {}
        with ExitStack() as made:
            for agent in self._contract.agents:
                link = RosLink(loaded, client=client, agent=agent, **link_arguments)
                made.callback(link.close)
                self._links[agent] = link
            made.pop_all()

    @property
    def running(self) -> tuple[str, ...]:
        """The agents whose episode runs, as far as was delivered."""
        return tuple(agent for agent, link in self._links.items() if link.running)

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, Delivery]:
        """
        Begin an episode of every agent; see :meth:`boundary_env_ros.facade.world.World.begin`.

        All must have asked before the world is reset, so the parts of a beginning are done for all
        agents one after the other.
        """
        # One seed for all: they must sample the same world.
        seed = int(np.random.default_rng().integers(2**63)) if seed is None else seed
        try:
            for link in self._links.values():
                link.ask_begin(seed=seed, options=options, wrappers=wrappers)
            for link in self._links.values():
                link.arm()
            return {agent: link.finish_begin() for agent, link in self._links.items()}
        except BoundaryError:
            for link in self._links.values():
                link.abandon()
            raise

    def step(self, actions: Mapping[str, Vector]) -> dict[str, tuple[Delivery, ...]]:
        """Send the actions; see :meth:`boundary_env_ros.facade.world.World.step`."""
        running = self.running
        check_actions(self._contract, self._last(running), actions)
        requests = {agent: self._links[agent].request(actions[agent]) for agent in actions}
        for agent in running:
            if agent not in actions:
                self._links[agent].pass_over()
        if self._contract.turns:
            return self._up_to_next_turn(running)
        closed: dict[str, list[Delivery]] = {agent: [] for agent in running}
        waiting = list(running)
        while waiting:
            for agent in tuple(waiting):
                delivery = self._links[agent].take(_TURN)
                if delivery is None:
                    continue
                closed[agent].append(delivery)
                if _is_closed(delivery.transition, requests.get(agent)):
                    waiting.remove(agent)
            waiting = self._to_wait_for(waiting, closed, acted=bool(requests))
        return {agent: tuple(deliveries) for agent, deliveries in closed.items()}

    def _last(self, agents: Iterable[str]) -> dict[str, Delivery]:
        deliveries = {agent: self._links[agent].last for agent in agents}
        return {agent: last for agent, last in deliveries.items() if last is not None}

    def _up_to_next_turn(self, running: Sequence[str]) -> dict[str, tuple[Delivery, ...]]:
        """Collect what is closed until the turn of an agent that runs has come, or all ended."""
        closed: dict[str, list[Delivery]] = {agent: [] for agent in running}
        step = 1 + max(each.transition.id.step for each in self._last(running).values())
        while True:
            for agent in running:
                link = self._links[agent]
                while link.running and (link.last is None or link.last.transition.id.step < step):
                    delivery = link.take(_TURN)
                    if delivery is not None:
                        closed[agent].append(delivery)
            if due(self._contract, self._last(running)) or not self.running:
                return {agent: tuple(deliveries) for agent, deliveries in closed.items()}
            step += 1

    def _to_wait_for(
        self, waiting: list[str], closed: Mapping[str, list[Delivery]], *, acted: bool
    ) -> list[str]:
        """
        Return those of the waiting that the others have to wait for.

        In realtime an agent without a decision of its gate makes nobody late: as many ticks have
        closed a step of it as one of those that are done, and it is returned with these.
        """
        if self._contract.pacing is Pacing.LOCKSTEP:
            return waiting
        done = [len(closed[agent]) for agent in closed if agent not in waiting]
        if acted and not done:
            return waiting
        ticks = min(done, default=1)
        return [agent for agent in waiting if len(closed[agent]) < ticks]

    def close(self) -> None:
        """End what runs as ``abandoned``; let go of all links."""
        with ExitStack() as closing:
            for link in self._links.values():
                closing.callback(link.close)


def _is_closed(transition: Transition, request: ActionRequest | None) -> bool:
    """Return whether nothing is waited for after a transition."""
    if request is None:
        return transition.terminated or transition.truncated
    return closed_by(transition, request)
