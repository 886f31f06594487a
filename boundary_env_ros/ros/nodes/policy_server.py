# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The node ``policy_server``: the whole conversation of a policy as services, and its events.

It is a client like any other: it has a world of its own for every agent. Its callbacks wait, so
that those of gate and environment never do. Clients without ROS reach the same by WebSocket.
"""

from __future__ import annotations

import sys

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor

from boundary_env_ros.ros.agent_services import AgentServices
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.storage.atomic import Closing

#: Of each agent one for the step that waits, one for the reset, and enough for all that does not
#: wait.
_THREADS = 16


class PolicyServer(ContractNode):
    """
    Serves the conversation with every agent of a world to any client of ROS.

    The services of an agent alone are the node's own (``policy_server/reset``, ``/ws``); of
    several, each has its own (``cart_a/policy_server/reset``, ``/cart_a/ws``), as each has topics.
    """

    def __init__(self) -> None:
        super().__init__('policy_server', 'client')
        self._waiting = ReentrantCallbackGroup()
        self._agents: tuple[AgentServices, ...] = ()
        self._sockets: Closing | None = None
        self.declare(
            'websocket',
            '',
            'Address for WebSocket, such as 127.0.0.1:8480; port 0 is a free one (empty: none).',
        )
        self.declare(
            'origins',
            '',
            'Origins of web pages that may call it there besides its own, with spaces between.',
        )

    @property
    def refused(self) -> int:
        """How many messages, requests and parameters were refused."""
        return super().refused + sum(agent.refused for agent in self._agents)

    def configure(self) -> None:
        """Offer the services; they answer ``NOT_ACTIVE`` until the node is active."""
        self._agents = tuple(
            AgentServices(self, agent, self._waiting) for agent in self.contract.agents
        )

    def activate(self) -> None:
        """Make the worlds, which look for environment and gates from now on; open the port."""
        for agent in self._agents:
            agent.activate()
        if self.value('websocket'):
            from boundary_env_ros.ros.websocket import WebSocketServer

            paths = {f'/{self.topic_of(each.agent, "ws")}': each for each in self._agents}
            server = WebSocketServer(paths, self.value('websocket'), self.value('origins').split())
            self._sockets = server
            self.get_logger().info(f'listens at {" ".join(server.places)}')

    def deactivate(self) -> None:
        """End running episodes as ``abandoned``, and answer the clients that wait."""
        for agent in self._agents:
            agent.deactivate()
        sockets, self._sockets = self._sockets, None
        if sockets is not None:
            sockets.close()

    def cleanup(self) -> None:
        """Let go of all that :meth:`configure` made."""
        self._agents = ()


def _executor() -> MultiThreadedExecutor:
    return MultiThreadedExecutor(_THREADS)


def main() -> int:
    """Run the node ``policy_server``."""
    return run(PolicyServer, executor=_executor)


if __name__ == '__main__':
    sys.exit(main())
