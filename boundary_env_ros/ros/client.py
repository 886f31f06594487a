# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A client of the services of a boundary, with callbacks for its events.

It needs neither contract nor task: the node ``policy_server`` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
import threading
import time
from types import TracebackType
from typing import Any, Literal
import uuid

import numpy.typing as npt

from boundary_env_ros.core.environment.events import EnvironmentEvent, EventKind
from boundary_env_ros.core.environment.observation import Observation
from boundary_env_ros.core.service_requests import (
    metadata_pairs,
    numbers_of,
    options_text,
    seed_of,
)
from boundary_env_ros.errors import (
    BoundaryError,
    error_of,
    LinkError,
    LinkTimeout,
    RequestRejected,
    ResetNeeded,
    ResultCode,
)
from boundary_env_ros.ros import names
from boundary_env_ros.ros.call_with_retry import ask, SIGN_OF_LIFE
from boundary_env_ros.ros.conversions import from_msg, to_msg
from boundary_env_ros.ros.event_callbacks import Callback, EventCallbacks
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.message_guard import Incoming
from boundary_env_ros.ros.service_results import (
    Batch,
    batch_from,
    Began,
    began_from,
    EvaluatedActions,
    Picture,
    picture_from,
    Spaces,
    spaces_from,
    Stepped,
)

# Between two looks for a service, s.
_LOOK = 0.02
# What changes nothing when it is asked twice.
_REPEATABLE = (names.OBSERVE, names.SPACES, names.RENDER, names.EVALUATE_ACTIONS, names.CLOSE)


class BoundaryClient:
    """
    A client of the services, with a ROS context and two threads of its own.

    One thread receives answers, the other calls the callbacks: those may call the client, and hold
    up nothing but each other. A call waits for its answer until its deadline; what an answer
    refuses is raised as the error that it was on the other side.

    Parameters
    ----------
    client
        Name of this client in the record, and of its sessions; default: one that nobody else has.
    namespace
        Namespace of the services: that of the nodes, or with several agents that of the agent,
        ``'cart_a'``.
    domain_id
        ROS domain; default: ``ROS_DOMAIN_ID``, or 0.
    agent
        The agent that is meant; empty: the one whose services these are.
    timeout
        Seconds that a call waits for its answer if it says nothing else. A reset may take as long
        as its contract allows.
    startup_timeout
        Seconds that a call waits for its service to be found.

    """

    def __init__(
        self,
        client: str = '',
        *,
        namespace: str = '',
        domain_id: int | None = None,
        agent: str = '',
        timeout: float = 30.0,
        startup_timeout: float = 10.0,
    ) -> None:
        self._name = client or f'client-{uuid.uuid4().hex[:8]}'
        self._agent = agent
        self._timeout, self._startup_timeout = timeout, startup_timeout
        self._lock = threading.Lock()
        self._episode_id = self._terminated = ''
        self._done = True
        self._closed = self._met = False
        self._spaces: Spaces | None = None

        self._own = IsolatedNode('boundary_client', domain_id=domain_id, namespace=namespace)
        node = self._own.node
        # The last one is asked first, see `_meet`.
        self._clients = {
            name: node.create_client(kind, name)
            for kind, name in (
                (srv.Reset, names.RESET),
                (srv.Step, names.STEP),
                (srv.BatchStep, names.BATCH_STEP),
                (srv.Observe, names.OBSERVE),
                (srv.Render, names.RENDER),
                (srv.EvaluateActions, names.EVALUATE_ACTIONS),
                (srv.Close, names.CLOSE),
                (srv.Spaces, names.SPACES),
            )
        }
        self._callbacks = EventCallbacks(lambda words: node.get_logger().error(words))
        self._listener = node.create_subscription(
            msg.EnvironmentEvent,
            names.EVENT,
            Incoming(node).guarded(names.EVENT, self._on_event),
            names.RECORD,
        )
        self._own.spin_in_thread('boundary_client')

    # The conversation ----------------------------------------------------------------------------

    @property
    def client(self) -> str:
        """Name of this client in the record."""
        return self._name

    @property
    def episode_id(self) -> str:
        """The episode that was begun last; empty before the first."""
        return self._episode_id

    @property
    def is_done(self) -> bool:
        """
        Whether no episode of this client runs.

        An ending is known as soon as its event has come, without a call.
        """
        return self._done

    @property
    def events_lost(self) -> int:
        """How many events are known to be lost, by gaps in their numbers."""
        return self._callbacks.lost

    def reset(
        self,
        *,
        environment: str = '',
        seed: int | None = None,
        options: Mapping[str, object] | None = None,
        wrappers: Sequence[str] = (),
        digest: str = '',
        timeout: float | None = None,
    ) -> Began:
        """
        Begin an episode, and return its first observation.

        Parameters
        ----------
        environment, digest
            Name and digest of the contract that is meant; empty: whatever is served.
        seed
            Seed of the episode; default: the environment draws one.
        options
            Options of the task.
        wrappers
            The wrappers around the caller, outermost first, and the caller itself last, for the
            record; empty: they are not known, and an audit says so.

        Raises
        ------
        RequestRejected
            If somebody else holds the episode (the message names who), or an argument is wrong.
        DigestMismatch
            If the nodes work under another contract.
        ResetFailed
            If the world could not be reset; the message says what is missing.
        LinkTimeout
            If no answer came in time.

        """
        answer = self._call(
            names.RESET,
            srv.Reset.Request(
                digest=digest,
                environment=environment,
                agent=self._agent,
                client=self._name,
                wrappers=list(wrappers),
                seed_given=seed is not None,
                seed=0 if seed is None else seed_of(seed),
                options=options_text(options or {}),
            ),
            timeout,
        )
        with self._lock:
            self._episode_id = answer.episode_id
            # Its ending may have come before this answer.
            self._done = answer.episode_id == self._terminated
        return began_from(answer)

    def step(
        self,
        action: npt.ArrayLike,
        *,
        metadata: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Stepped:
        """
        Send one action, and return what came of it.

        Parameters
        ----------
        action
            Shape (n,), or (horizon, n) for a chunk: all groups one after the other, units and
            order of the contract.
        metadata
            Goes into the diagnostics of the transition.

        Raises
        ------
        InvalidAction
            If it has another shape, or is not finite. Nothing was sent.
        ResetNeeded, EpisodeEnded
            If there is no running episode.
        SimulationFailed, PeerLost
            If what the episode depends on failed before this step.

        """
        values = numbers_of(action, 0, 1, 2)
        rows = len(values) if values.ndim == 2 else 1
        answer = self._call(
            names.STEP,
            srv.Step.Request(
                episode_id=self._episode_id,
                action=values.ravel().tolist(),
                horizon=rows,
                metadata=_pairs(metadata),
            ),
            timeout,
        )
        stepped = from_msg(Stepped, answer)
        self._note(stepped)
        return stepped

    def batch_step(
        self,
        actions: npt.ArrayLike,
        *,
        metadata: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Batch:
        """
        Send several actions, one after the other, up to the first ending or error.

        Parameters
        ----------
        actions
            Shape (count, n).
        metadata, timeout
            As in :meth:`step`; the deadline is that of all together.

        Raises
        ------
        BoundaryError
            As :meth:`step`, if not even the first was carried out; later on, the error is in what
            is returned.

        """
        values = numbers_of(actions, 2)
        answer = self._call(
            names.BATCH_STEP,
            srv.BatchStep.Request(
                episode_id=self._episode_id,
                actions=values.ravel().tolist(),
                count=len(values),
                metadata=_pairs(metadata),
            ),
            timeout,
            partly=True,
        )
        batch = batch_from(answer)
        self._note(batch)
        return batch

    def _note(self, stepped: Stepped) -> None:
        with self._lock:
            if stepped.transition.id.episode_id == self._episode_id:
                self._done = self._done or stepped.done

    def observe(self, *, timeout: float | None = None) -> Observation:
        """
        Return the latest observation, without stepping.

        Raises
        ------
        ResetNeeded
            If none has been made yet.

        """
        request = srv.Observe.Request(agent=self._agent)
        answer = self._call(names.OBSERVE, request, timeout)
        return from_msg(Observation, answer.observation)

    def spaces(self, *, timeout: float | None = None) -> Spaces:
        """Return the spaces of the environment, and the first readings of its sensors."""
        answer = self._call(names.SPACES, srv.Spaces.Request(agent=self._agent), timeout)
        self._spaces = spaces_from(answer)
        return self._spaces

    def render(self, source: str = '', *, timeout: float | None = None) -> Picture:
        """
        Return a picture of the present state, shape (height, width, 3), RGB, uint8.

        Parameters
        ----------
        source
            An image field, or ``view`` for a drawn one; default: the first camera, else the view.

        """
        request = srv.Render.Request(agent=self._agent, source=source)
        return picture_from(self._call(names.RENDER, request, timeout))

    def evaluate_actions(
        self, actions: npt.ArrayLike, *, timeout: float | None = None
    ) -> EvaluatedActions:
        """
        Ask the safety gate what it would do with candidate actions now, without acting.

        Parameters
        ----------
        actions
            Shape (count, n).

        """
        values = numbers_of(actions, 2)
        spaces = self._spaces or self.spaces(timeout=timeout)
        answer = self._call(
            names.EVALUATE_ACTIONS,
            srv.EvaluateActions.Request(
                digest=spaces.digest,
                agent=self._agent or self._whose(spaces),
                actions=values.ravel().tolist(),
                count=len(values),
            ),
            timeout,
        )
        return from_msg(EvaluatedActions, answer)

    def _whose(self, spaces: Spaces) -> str:
        """Return the agent that is served here: of several, that of the namespace."""
        if len(spaces.agents) == 1:
            return spaces.agents[0]
        return str(self._own.node.get_namespace().rpartition('/')[2])

    def end(self, *, timeout: float | None = None) -> None:
        """End the session: an episode that runs is truncated as ``abandoned``."""
        if not self._episode_id:
            raise ResetNeeded('There is no episode to end: none was begun.')
        request = srv.Close.Request(episode_id=self._episode_id, client=self._name)
        self._call(names.CLOSE, request, timeout)
        with self._lock:
            self._done = True

    # Events --------------------------------------------------------------------------------------

    def on(self, kind: EventKind, callback: Callback) -> Callable[[], None]:
        """
        Call back with every event of a kind, whoever's episode it is of; return what ends that.

        One event after the other, on a thread of their own: a callback may call the client. What a
        callback raises is logged, and the next event is told all the same.
        """
        return self._callbacks.on(kind, callback)

    def _on_event(self, message: Any) -> None:
        event = from_msg(EnvironmentEvent, message)
        if event.kind is EventKind.TERMINATION:
            with self._lock:
                self._terminated = event.id.episode_id
                self._done = self._done or self._terminated == self._episode_id
        self._callbacks.put(event)

    # Calling -------------------------------------------------------------------------------------

    def _call(
        self, name: str, request: Any, timeout: float | None, *, partly: bool = False
    ) -> Any:
        """Return an answer; raise the error in it, unless it is one of an answer in part."""
        if self._closed:
            raise LinkError('The client is closed. Create a new one.')
        client, again = self._clients[name], name in _REPEATABLE
        if not again:
            self._meet()
        self._wait_for(client)
        seconds = self._timeout if timeout is None else timeout
        answer = ask(
            client,
            request,
            until=time.monotonic() + seconds,
            patience=2.0 * SIGN_OF_LIFE if again else math.inf,
        )
        if answer is None:
            raise LinkTimeout(
                f'{client.srv_name} did not answer within {seconds:g} s. '
                'Is the node alive? What was asked for may still be done.'
            )
        if answer.result.code and not (partly and answer.completed):
            raise error_of(answer.result.code, answer.result.message)
        return answer

    def _meet(self) -> None:
        """
        Become known to who serves, before the first question that must not be asked twice.

        Clients are announced in the order in which they were made: whoever answers the last one
        has found the others too.
        """
        if self._met:
            return
        client = self._clients[names.SPACES]
        self._wait_for(client)
        until = time.monotonic() + self._startup_timeout
        request = srv.Spaces.Request(agent=self._agent)
        if ask(client, request, until=until, patience=0.5 * SIGN_OF_LIFE) is None:
            raise LinkTimeout(
                f'{client.srv_name} did not answer within {self._startup_timeout:g} s. '
                'Is the node `policy_server` alive?'
            )
        self._met = True

    def _wait_for(self, client: Any) -> None:
        """Wait for who serves, and for who publishes the events that follow."""
        deadline = time.monotonic() + self._startup_timeout
        while not (client.service_is_ready() and self._listener.get_publisher_count()):
            if time.monotonic() > deadline:
                raise LinkTimeout(
                    f'Nobody serves {client.srv_name} on ROS_DOMAIN_ID {self._own.domain_id} '
                    f'(waited {self._startup_timeout:g} s). Start the node `policy_server`.'
                )
            time.sleep(_LOOK)

    # Ending --------------------------------------------------------------------------------------

    def close(self) -> None:
        """End a running episode as ``abandoned``; let go of context and threads."""
        if self._closed:
            return
        try:
            if not self._done:
                self.end()
        except RequestRejected as refusal:
            # Whoever serves now was started after the episode, and it is over.
            if refusal.code is not ResultCode.UNKNOWN_EPISODE:
                raise
        finally:
            self._closed = True
            self._callbacks.close()
            self._own.close()

    def __enter__(self) -> BoundaryClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        """Close; an error of the closing itself does not hide the one that led here."""
        try:
            self.close()
        except BoundaryError:
            if error is None:
                raise
        return False


def _pairs(metadata: Mapping[str, str] | None) -> list[Any]:
    return [to_msg(pair) for pair in metadata_pairs(metadata or {})]
