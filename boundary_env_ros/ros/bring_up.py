# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
How lifecycle nodes are brought up: the same for ``up``, the launch files, the demo and the tests.

Everything here is a generator that yields while it waits, so that the caller may spin an executor
or sleep in an event loop meanwhile. It asks nodes for their state instead of listening for
transition events: an event that came before its listener was found is missed, and a request to a
process that was just killed is never answered.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
import time
from typing import Any

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from std_srvs.srv import Trigger

from boundary_env_ros.errors import LinkError, LinkTimeout

#: Goes on when it is resumed.
Waiting = Generator[None, None, None]

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

# For an answer of a node to which the client is new, before it is asked again, s; then twice as
# long, up to the second.
_ANSWER, _LATE_ANSWER = 0.2, 1.0


class _Phase(Enum):
    """How far a node has been brought; what the operator does to it later does not count."""

    STARTED = 1
    CONFIGURED = 2
    ACTIVE = 3


class WayUp:
    """
    Brings nodes up: all are configured before the first is activated.

    So each has latched the digest of its contract before any node compares it with the others'.

    Parameters
    ----------
    node
        Node that asks; its executor is spun by the caller of the generators.
    places
        Names of the nodes, in the order in which they are activated.
    patience
        Seconds for each transition of a node.

    """

    def __init__(self, node: Any, places: Iterable[str], patience: float) -> None:
        self._node, self._patience = node, patience
        self._phases = dict.fromkeys(places, _Phase.STARTED)

    @property
    def done(self) -> bool:
        """Whether all nodes are active."""
        return all(phase is _Phase.ACTIVE for phase in self._phases.values())

    def lost(self, place: str) -> None:
        """Take note that the process of a node ended; its successor is brought up again."""
        self._phases[place] = _Phase.STARTED

    def of(self, place: str, *, name: str = '', latch: str = '') -> Waiting:
        """
        Configure a node, and activate it when its turn has come.

        Parameters
        ----------
        place
            The node.
        name
            Its name with its namespace, if that of the asking node is another.
        latch
            Service of the node that is called before it is activated.

        Raises
        ------
        LinkError
            If the node refuses.
        LinkTimeout
            If it does not answer in time.

        """
        name = name or place
        yield from change(self._node, name, Transition.TRANSITION_CONFIGURE, self._patience)
        if latch:
            yield from _trigger(self._node, name, latch, self._patience)
        self._phases[place] = _Phase.CONFIGURED
        # Without a deadline: the node that holds it up has one of its own.
        while not self._is_turn_of(place):
            yield
        yield from change(self._node, name, Transition.TRANSITION_ACTIVATE, self._patience)
        self._phases[place] = _Phase.ACTIVE

    def _is_turn_of(self, place: str) -> bool:
        places = list(self._phases)
        before = places[: places.index(place)]
        return _Phase.STARTED not in self._phases.values() and all(
            self._phases[each] is _Phase.ACTIVE for each in before
        )


def change(node: Any, place: str, transition: int, patience: float) -> Waiting:
    """Ask a node for a transition, unless it is where that leads; see :meth:`WayUp.of`."""
    verb = _VERBS.get(transition, f'make the transition {transition}')
    request = ChangeState.Request()
    request.transition.id = transition
    deadline = time.monotonic() + patience
    # In this order: a node that tells its state has found the client before, too, so that one
    # request for the transition is enough.
    with _client(node, ChangeState, f'{place}/change_state') as client:
        state = yield from state_of(node, place, patience, f'was to {verb}')
        if state.id == _GOALS.get(transition):
            return
        answer = yield from _answer(client, request, deadline)
    if answer is None:
        raise _late(place, f'was to {verb}')
    if not answer.success:
        fix = 'Its log says why.'
        if transition == Transition.TRANSITION_CONFIGURE and state.label != 'unconfigured':
            fix = 'Nodes of that name run already: stop them, or take another namespace or domain.'
        raise LinkError(f'The node {place} refused to {verb} (in the state {state.label}). {fix}')


def state_of(
    node: Any, place: str, patience: float, task: str = 'was to tell its state'
) -> Generator[None, None, State]:
    """Return the lifecycle state of a node; see :meth:`WayUp.of`."""
    with _client(node, GetState, f'{place}/get_state') as client:
        answer = yield from _asked(client, GetState.Request(), place, task, patience)
    return answer.current_state


def _trigger(node: Any, place: str, service: str, patience: float) -> Waiting:
    with _client(node, Trigger, f'{place}/{service}') as client:
        yield from _asked(client, Trigger.Request(), place, f'was to {service}', patience)


def _asked(
    client: Any, request: Any, place: str, task: str, patience: float
) -> Generator[None, None, Any]:
    """Return the answer to a request that may be repeated."""
    deadline, wait = time.monotonic() + patience, _ANSWER
    while time.monotonic() < deadline:
        answer = yield from _answer(client, request, min(deadline, time.monotonic() + wait))
        if answer is not None:
            return answer
        wait = min(2.0 * wait, _LATE_ANSWER)
    raise _late(place, task)


def _answer(client: Any, request: Any, deadline: float) -> Generator[None, None, Any]:
    """Return the answer to one request; None if none came in time."""
    while not client.service_is_ready():
        if time.monotonic() > deadline:
            return None
        yield
    future = client.call_async(request)
    try:
        while not future.done():
            if time.monotonic() > deadline:
                return None
            yield
    finally:
        if not future.done():
            client.remove_pending_request(future)
    return future.result()


def _late(place: str, task: str) -> LinkTimeout:
    return LinkTimeout(f'The node {place}, which {task}, does not answer in time.')


@contextmanager
def _client(node: Any, kind: Any, service: str) -> Iterator[Any]:
    client = node.create_client(kind, service)
    try:
        yield client
    finally:
        node.destroy_client(client)
