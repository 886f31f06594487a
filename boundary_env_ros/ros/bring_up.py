# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How lifecycle nodes are brought up: the same for ``up``, the launch files, the demo and the tests.

Nodes are asked for their state; transition events are not listened to: one that came before its
listener was found is missed, and a request to a process that was just killed is never answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time
from typing import Any, Protocol

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState

from boundary_env_ros.errors import LinkError, LinkTimeout
from boundary_env_ros.ros.call_with_retry import ask, wait_until
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.storage.atomic import Closing

_VERBS = {
    Transition.TRANSITION_CONFIGURE: 'be configured',
    Transition.TRANSITION_ACTIVATE: 'be activated',
    Transition.TRANSITION_DEACTIVATE: 'be deactivated',
    Transition.TRANSITION_CLEANUP: 'be cleaned up',
}
_GOALS = {
    Transition.TRANSITION_CONFIGURE: State.PRIMARY_STATE_INACTIVE,
    Transition.TRANSITION_ACTIVATE: State.PRIMARY_STATE_ACTIVE,
}

# For an answer of a node to which the client is new, before it is asked again, s.
_ANSWER = 0.2
# How often the state is asked for where the graph has two nodes of a name: either may answer, and
# one that runs must not be asked to be configured. One of them may be dead.
_TRIES = 5
# Between two polls of a process, s.
_POLL = 0.02


class Node(Protocol):
    """A node in a process, however that was started."""

    @property
    def place(self) -> str:
        """Name of the node within the namespace of the boundary, or its full name."""
        ...

    @property
    def exit_code(self) -> int | None:
        """Exit code of the process; None while it runs."""
        ...

    def last_output(self) -> str:
        """Return the end of its output, for error messages."""
        ...


class BringUp(Closing):
    """
    Brings nodes up: all are configured before the first is activated.

    So each has latched the digest of its contract before any node compares it with the others'.

    Parameters
    ----------
    domain_id, namespace
        Where the nodes are.
    raise_if_interrupted
        Called in every wait for them, to raise what ends it.

    """

    def __init__(
        self,
        *,
        domain_id: int | None = None,
        namespace: str = '',
        raise_if_interrupted: Callable[[], None] = lambda: None,
    ) -> None:
        self._raise_if_interrupted = raise_if_interrupted
        self._own = IsolatedNode('bring_up', domain_id=domain_id, namespace=namespace)
        self._clients: dict[str, Any] = {}
        # Whichever is waited for: one that hangs must not hide that another died.
        self._together: Sequence[Node] = ()

    def close(self) -> None:
        """Let go of the context."""
        self._own.close()

    def run(self, nodes: Sequence[Node], timeout: float) -> None:
        """
        Configure nodes, all at once, and then activate one after the other.

        Parameters
        ----------
        nodes
            The nodes, in the order in which they are activated.
        timeout
            Seconds for all of them.

        Raises
        ------
        LinkError
            If one refuses or dies; the message holds the end of its output.
        LinkTimeout
            If one does not answer in time.

        """
        deadline, self._together = time.monotonic() + timeout, nodes
        try:
            configured = [
                (node, self._request(node, Transition.TRANSITION_CONFIGURE, deadline))
                for node in nodes
            ]
            for node, answer in configured:
                self._changed(node, Transition.TRANSITION_CONFIGURE, answer, deadline)
            for node in nodes:
                self.change(node, Transition.TRANSITION_ACTIVATE, deadline)
        finally:
            self._together = ()

    def change(self, node: Node, transition: int, deadline: float) -> None:
        """Ask one node for one transition of its lifecycle, until a monotonic time, s."""
        answer = self._request(node, transition, deadline)
        self._changed(node, transition, answer, deadline)

    def state(self, node: Node, timeout: float = 5.0) -> int:
        """Return the lifecycle state of a node, a constant of ``lifecycle_msgs/State``."""
        number: int = self._state(node, 'was to tell its state', time.monotonic() + timeout).id
        return number

    def _request(self, node: Node, transition: int, deadline: float) -> tuple[Any, str] | None:
        """Ask a node for a transition, unless it is where that leads; return what will answer."""
        # In this order: a node that answers with its state has found the client before, too, so
        # that one request for the transition is enough.
        client = self._client(ChangeState, f'{node.place}/change_state')
        state = self._state(node, f'was to {_verb(transition)}', deadline)
        if state.id == _GOALS.get(transition):
            return None
        if transition == Transition.TRANSITION_CONFIGURE:
            for _ in range(_TRIES):
                if state.id != State.PRIMARY_STATE_UNCONFIGURED:
                    raise _refused(node, transition, state.label)
                if self._own.node.count_services(client.srv_name) < 2:
                    break
                state = self._state(node, f'was to {_verb(transition)}', deadline)
        request = ChangeState.Request()
        request.transition.id = transition
        return client.call_async(request), state.label

    def _changed(
        self, node: Node, transition: int, requested: tuple[Any, str] | None, deadline: float
    ) -> None:
        if requested is None:
            return
        answer, state = requested
        if not wait_until(answer.done, deadline, lambda: self._spin(node)):
            raise _late(node, f'was to {_verb(transition)}')
        if not answer.result().success:
            raise _refused(node, transition, state)

    def _state(self, node: Node, task: str, deadline: float) -> Any:
        client = self._client(GetState, f'{node.place}/get_state')

        def spin() -> None:
            self._spin(node)

        answer = None
        if wait_until(client.service_is_ready, deadline, spin):
            answer = ask(client, GetState.Request(), until=deadline, patience=_ANSWER, spin=spin)
        if answer is None:
            raise _late(node, task)
        return answer.current_state

    def _client(self, kind: Any, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self._own.node.create_client(kind, service)
        return self._clients[service]

    def _spin(self, node: Node) -> None:
        """Let answers in for a moment, unless the process of the node, or of another, ended."""
        self._raise_if_interrupted()
        for each in (node, *self._together):
            if each.exit_code is not None:
                raise LinkError(
                    f'The process of the node {each.place} ended (expected it to come up, got '
                    f'exit code {each.exit_code}).\n{each.last_output()}'.rstrip()
                )
        self._own.spin(_POLL)


def _verb(transition: int) -> str:
    return _VERBS.get(transition, f'make the transition {transition}')


def _refused(node: Node, transition: int, state: str) -> LinkError:
    fix = 'Its log says why.'
    if transition == Transition.TRANSITION_CONFIGURE and state != 'unconfigured':
        fix = 'Nodes of that name run already: stop them, or take another namespace or domain.'
    return LinkError(
        f'The node {node.place} refused to {_verb(transition)} (in the state {state}). {fix}\n'
        f'{node.last_output()}'.rstrip()
    )


def _late(node: Node, task: str) -> LinkTimeout:
    return LinkTimeout(
        f'The node {node.place}, which {task}, hangs, or has too little of this machine: it does '
        'not answer in time.\n'
        f'{node.last_output()}'.rstrip()
    )
