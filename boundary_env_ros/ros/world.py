# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The world over ROS: one client of the nodes, for one agent or several."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
import json
import math
import os
import time
from typing import Any
import uuid

import numpy as np
from rclpy.parameter import Parameter

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.records.decision import ActionRequest
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import (
    BoundaryError,
    error_of,
    LinkError,
    LinkTimeout,
    RequestRejected,
    ResultCode,
)
from boundary_env_ros.facade.steps import as_request, closed_by, ignore, StepRequest, StepResult
from boundary_env_ros.facade.world import (
    agent_of,
    check_actions,
    check_legal,
    check_open,
    check_running,
    due,
    World,
)
from boundary_env_ros.frozen import replace
from boundary_env_ros.ros import names
from boundary_env_ros.ros.agent_client import AgentClient
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.call_with_retry import ask, wait_until
from boundary_env_ros.ros.clock import HOST
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.storage.contract_file import LoadedContract

# For a simulated robot that is there to be found, and for what it is asked, s.
_FOUND, _ANSWERED = 2.0, 10.0

# Between two looks for an answer, s.
_SLICE = 0.05

#: How long one agent of several is polled before the next, s.
_TURN = 0.02


#: What was closed of each agent whose episode ran.
Closed = Mapping[str, list[StepResult]]


class RosWorld(World):
    """
    A client of the nodes of one namespace; see :class:`boundary_env_ros.facade.world.World`.

    It owns a ROS context, so that any number of worlds live in one process, beside any other use
    of rclpy, and closing one touches no other. It receives in the thread of its caller, while that
    waits, unless every record is asked for; every wait has a deadline.

    Parameters
    ----------
    loaded
        The contract; the nodes must run under the same.
    namespace
        Namespace of the nodes.
    domain_id
        ROS domain; default: ``ROS_DOMAIN_ID``, or 0.
    client
        Name of this client in the record, one for all agents; default: ``policy``, the process id
        and four random digits.
    startup_timeout
        Seconds to wait for environment and gate to be found.
    agent
        The agent, if this client steps it alone; default: all of the contract, together.
    sink
        Is called with every :class:`Transition`, :class:`GateDecision` and :class:`EpisodeStatus`
        of these agents as it comes, of any client's episode, and with each
        :class:`EnvironmentEvent` that a plugin pushes. The world then receives in a thread of its
        own, and several threads may call it, though one at a time resets or steps.

    Raises
    ------
    LinkError
        If ROS does not start, or there is no such agent.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        *,
        namespace: str = '',
        domain_id: int | None = None,
        client: str = '',
        startup_timeout: float = 10.0,
        agent: str = '',
        sink: Callable[[object], None] | None = None,
    ) -> None:
        contract = loaded.contract
        agents = (agent_of(contract.agents, agent),) if agent else contract.agents
        self._contract = contract
        with ExitStack() as made:
            self._own = IsolatedNode(
                names.POLICY,
                domain_id=domain_id,
                namespace=namespace,
                parameters=(Parameter('use_sim_time', value=contract.sim_time),),
                executor=fastest_executor,
            )
            made.callback(self._own.close)
            client = client or f'policy-{os.getpid()}-{uuid.uuid4().hex[:4]}'
            authenticity = Authenticity(self._own.domain_id, Role.CLIENT)
            holder = f'{uuid.uuid4().hex[:8]} on {HOST}'
            self._clients = {
                each: AgentClient(
                    self._own,
                    loaded,
                    each,
                    client=client,
                    holder=holder,
                    startup_timeout=startup_timeout,
                    sink=sink,
                    authenticity=authenticity,
                )
                for each in agents
            }
            self._ask_client = self._own.node.create_client(srv.AskWorld, names.ASK_WORLD)
            self._described: Mapping[str, Any] | None = None
            self._undiscovered = bool(self._contract.episode.reset.service)
            if sink is not None:
                self._own.spin_in_thread('boundary_world')
            made.pop_all()
        # After, so before, the closing of the node: a script that ends without close() must not
        # leave its episode to a timeout.
        atexit.register(self.close)

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that this client steps."""
        return tuple(self._clients)

    @property
    def refused(self) -> int:
        """How many messages could not be read."""
        return self._own.incoming.refused

    @property
    def running(self) -> tuple[str, ...]:
        """The agents whose episode runs, as far as was delivered."""
        return tuple(agent for agent, client in self._clients.items() if client.running)

    def reset(
        self,
        *,
        seed: int | None,
        options: Mapping[str, object],
        wrappers: Sequence[str],
        client: str = '',
    ) -> dict[str, StepResult]:
        """
        Begin an episode of every agent; see :meth:`boundary_env_ros.facade.world.World.reset`.

        ``client`` names the client that it is begun for, where this world serves several.
        """
        check_open(self._own.closed)
        clients = self._clients.values()
        if seed is None and len(clients) > 1:
            # One seed for all: they must sample the same world.
            seed = int(np.random.default_rng().integers(2**63))
        try:
            # All must have asked before the world is reset.
            for each in clients:
                each.ask_begin(seed=seed, options=options, wrappers=wrappers, client=client)
            for each in clients:
                each.arm()
            begun = {agent: each.finish_begin() for agent, each in self._clients.items()}
            self._find_plugin()
            return begun
        except BoundaryError as error:
            # What was begun halfway must not keep the next one out; a client that was refused ends
            # nothing of the one that holds the episode.
            for each in clients:
                each.give_up(client or each.client, str(error))
            raise

    def step(
        self, actions: Mapping[str, Vector | StepRequest]
    ) -> dict[str, tuple[StepResult, ...]]:
        """Send the actions; see :meth:`boundary_env_ros.facade.world.World.step`."""
        check_open(self._own.closed)
        wanted = {agent: as_request(action) for agent, action in actions.items()}
        running = self.running
        closed: dict[str, list[StepResult]] = {agent: [] for agent in running}
        alone = self._contract.agent_order and len(self._clients) == 1
        if alone and running == tuple(wanted):
            [(agent, request)] = wanted.items()
            wanted[agent] = self._await_turn(agent, request, closed[agent])
            if not self.running:
                return {agent: tuple(closed[agent])}
        requests = self._send(wanted)
        callbacks = {agent: each.on_result for agent, each in wanted.items()}
        in_turn = self._contract.agent_order and not (alone and requests)
        waits = self._up_to_next_turn if in_turn else self._open
        # One of several is polled for a moment; the others may have closed meanwhile.
        patience = math.inf if len(running) == 1 else _TURN
        while waiting := waits(closed, requests):
            for agent in waiting:
                result = self._clients[agent].next_result(patience)
                if result is not None:
                    callbacks.get(agent, ignore)(result)
                    closed[agent].append(result)
        return {agent: tuple(results) for agent, results in closed.items()}

    def send(self, actions: Mapping[str, Vector | StepRequest]) -> dict[str, ActionRequest]:
        """Send the actions, wait for nothing; see :meth:`.facade.world.World.send`."""
        check_open(self._own.closed)
        if self._contract.is_lockstep:
            return super().send(actions)
        return self._send({agent: as_request(action) for agent, action in actions.items()})

    def _send(self, wanted: Mapping[str, StepRequest]) -> dict[str, ActionRequest]:
        running = self.running
        check_actions(self._contract, self._last(running), wanted)
        if self._described and 'check' in self._described['can']:
            check_legal(self._contract, wanted, self.ask)
        for agent in running:
            if agent not in wanted:
                self._clients[agent].skip()
        return {agent: self._clients[agent].request(each) for agent, each in wanted.items()}

    def _await_turn(
        self, agent: str, request: StepRequest, passed: list[StepResult]
    ) -> StepRequest:
        """
        Wait for the turn of the only agent of this client, which the steps of others precede.

        Its action answers what the policy had seen.
        """
        client = self._clients[agent]
        seen = client.last
        while client.running and not self._contract.has_turn(
            agent, client.last.transition.id.step + 1
        ):
            client.skip()
            result = client.next_result(math.inf)
            assert result is not None  # it would have waited, or raised
            request.on_result(result)
            passed.append(result)
        if not passed:
            return request
        skipped = request.skipped + len(passed)
        return replace(request, answers=request.answers or seen, skipped=skipped)

    def _last(self, agents: Iterable[str]) -> dict[str, StepResult]:
        return {agent: self._clients[agent].last for agent in agents}

    def _up_to_next_turn(self, closed: Closed, _: Mapping[str, ActionRequest]) -> list[str]:
        """Return who is waited for until an agent that runs has its turn, or all ended."""
        last = self._last(closed)
        steps = {agent: each.transition.id.step for agent, each in last.items()}
        # Before this call; one of them may have sent more than another.
        begun = max(
            results[0].transition.id.step - 1 if results else steps[agent]
            for agent, results in closed.items()
        )
        newest = max(begun + 1, *steps.values())
        open_ = [agent for agent in closed if self._clients[agent].running]
        behind = [agent for agent in open_ if steps[agent] < newest]
        return behind or ([] if due(self._contract, last) else open_)

    def _open(self, closed: Closed, requests: Mapping[str, ActionRequest]) -> list[str]:
        """
        Return those whose request is not closed, and whom the others have to wait for.

        In realtime an agent without a decision of its gate delays no other: as many ticks have
        closed a step of it as one of those that are done, and it is returned with these.
        """
        waiting = [
            agent
            for agent, results in closed.items()
            if not (results and closed_by(results[-1].transition, requests.get(agent)))
        ]
        done = [len(results) for agent, results in closed.items() if agent not in waiting]
        if self._contract.is_lockstep or (requests and not done):
            return waiting
        ticks = min(done, default=1)
        return [agent for agent in waiting if len(closed[agent]) < ticks]

    def observe(self) -> dict[str, tuple[StepResult, ...]]:
        """Return what was closed meanwhile; see :meth:`.facade.world.World.observe`."""
        check_open(self._own.closed)
        check_running(self.running)
        return {agent: self._clients[agent].observe() for agent in self.running}

    def ask(self, method: str, arguments: Mapping[str, object]) -> Any:
        """
        Ask the plugin of a simulated robot; see :meth:`.plugin_robot.PluginRobot.ask`.

        Raises
        ------
        RequestRejected
            If no node answers that.
        LinkTimeout
            If no answer comes.

        """
        check_open(self._own.closed)
        client = self._ask_client
        if not client.service_is_ready():
            raise RequestRejected(
                f'No node answers {method!r} (expected the node {names.ROBOT}, with a plugin, '
                f'got no service {client.srv_name}).',
                ResultCode.UNSUPPORTED,
            )
        request = srv.AskWorld.Request(method=method, arguments=json.dumps(arguments))
        until = time.monotonic() + _ANSWERED
        answer = ask(client, request, until=until, patience=_FOUND, spin=self._spin)
        if answer is None:
            raise LinkTimeout(f'{client.srv_name} did not answer within {_ANSWERED:g} s.')
        if answer.result.code:
            raise error_of(answer.result.code, answer.result.message)
        try:
            return json.loads(answer.answer)
        except (ValueError, RecursionError) as error:
            raise LinkError(
                f'The answer of {client.srv_name} is no JSON ({error}); mend the plugin that '
                'gives it.'
            ) from error

    def _spin(self) -> None:
        self._own.spin(_SLICE)

    def describe(self) -> Mapping[str, Any]:
        """
        Return what a simulated robot can do and its static model; once known, nobody is asked.

        Raises
        ------
        RequestRejected, LinkTimeout
            See :meth:`ask`.

        """
        if self._described is None:
            self._described = self.ask('describe', {})
        return self._described

    def _find_plugin(self) -> None:
        """Ask a simulated robot what it can do, where there is one."""
        node, client = self._own.node, self._ask_client
        robot = (names.ROBOT, node.get_namespace())
        # Of a world that was reset just now the node may not be discovered yet: wait for it once.
        undiscovered, self._undiscovered = self._undiscovered, False
        there = undiscovered or robot in node.get_node_names_and_namespaces()
        if self._described is None and there:
            wait_until(client.service_is_ready, time.monotonic() + _FOUND, self._spin)
        if client.service_is_ready():
            self.describe()

    def newest_image(self, agent: str, name: str) -> bytes | None:
        """Return the newest message of an image field since the episode began; None: none came."""
        return self._clients[agent].newest_image(name)

    def abandon(self) -> None:
        """End the running episodes of this client as ``abandoned``, and stay open."""
        if not self._own.closed:
            for each in self._clients.values():
                each.abandon()

    def close(self) -> None:
        """End what runs as ``abandoned``; release node and context."""
        if self._own.closed:
            return
        atexit.unregister(self.close)
        with ExitStack() as closing:
            closing.callback(self._own.close)
            for each in self._clients.values():
                closing.callback(each.close)
