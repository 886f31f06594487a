# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A client of the services of a boundary, with callbacks for its events.

It needs neither contract nor task: the node ``policy_server`` has them. What a call returns is
the answer of the service, as ``ros2 interface show`` tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import json
import math
from queue import SimpleQueue
import threading
import time
import traceback
from typing import Any, TypeVar
import uuid

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.records.environment_event import EnvironmentEvent, EventKind, is_of
from boundary_env_ros.core.records.episode import status_by
from boundary_env_ros.core.service_requests import (
    metadata_pairs,
    numbers_of,
    options_text,
    seed_of,
)
from boundary_env_ros.errors import (
    error_of,
    LinkError,
    LinkTimeout,
    RequestRejected,
    ResetNeeded,
    ResultCode,
)
from boundary_env_ros.facade.episodes import Snapshot
from boundary_env_ros.ros import names
from boundary_env_ros.ros.call_with_retry import ask, SIGN_OF_LIFE, wait_until
from boundary_env_ros.ros.conversions import from_msg, to_msg
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.storage.atomic import Closing

S = TypeVar('S')

#: What is called with each event.
Callback = Callable[[EnvironmentEvent], None]

# For the callbacks of events that have come, when the client is closed, s.
_LAST_EVENTS = 5.0
# What must not be asked twice: it moves the robot.
_NOT_REPEATABLE = (names.RESET, names.STEP, names.BATCH_STEP)


def snapshot_of(answer: Any, state: Callable[[dict[str, Any]], S] | None = None) -> Snapshot[S]:
    """
    Return what an answer of ``Reset``, ``Step``, ``BatchStep`` or ``Observe`` says, as a snapshot.

    Parameters
    ----------
    answer
        The answer.
    state
        Makes of a plugin's info, a dict, the ``state``; default: that dict.

    """
    world = json.loads(answer.info or '{}')
    made: Callable[[dict[str, Any]], Any] = state or dict
    return Snapshot(
        episode_id=answer.observation.id.episode_id,
        step=answer.observation.id.step,
        observation={field.name: np.array(field.values) for field in answer.observation.fields},
        reward=getattr(answer, 'reward', 0.0),
        status=status_by(
            terminated=getattr(answer, 'terminated', False),
            truncated=getattr(answer, 'truncated', False),
        ),
        state=made(world),
        info={'world': world},
    )


class BoundaryClient(Closing):
    """
    A client of the services, with a ROS context and two threads of its own.

    One thread receives answers, the other calls the callbacks: those may call the client, and hold
    up nothing but each other. A call waits for its answer until its deadline; an error in the
    answer is raised as the error that it was on the other side.

    Parameters
    ----------
    client
        Name of this client in the record, and of its sessions; default: a unique one.
    namespace
        Namespace of the services: that of the nodes, or with several agents that of the agent,
        ``'cart_a'``.
    domain_id
        ROS domain; default: ``ROS_DOMAIN_ID``, or 0.
    agent
        The agent that is meant; empty: the one whose services these are.
    timeout
        Seconds that a call waits for its answer. A reset may take as long as its contract allows,
        and a batch as its steps.
    startup_timeout
        Seconds that a call waits for its service to be found.

    Attributes
    ----------
    episode_id
        The episode that was begun last; empty before the first.
    timeout
        As above; it may be set between two calls.

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
        self.client = client or f'client-{uuid.uuid4().hex[:8]}'
        self.episode_id = ''
        self._agent = agent
        self.timeout, self._startup_timeout = timeout, startup_timeout
        self._terminated = ''  # the last episode that ended, of any client
        self._done = True
        self._closed = self._connected = False
        self._callbacks: list[tuple[EventKind | str | None, Callback]] = []
        self._lock = threading.Lock()  # of what a call and an event both change
        self._events: SimpleQueue[EnvironmentEvent | None] = SimpleQueue()
        # A callback that never returns must not keep the process.
        self._callback_thread = threading.Thread(
            target=self._run_callbacks, name='boundary_events', daemon=True
        )

        self._own = IsolatedNode(
            names.CLIENT, domain_id=domain_id, namespace=namespace, executor=fastest_executor
        )
        node = self._own.node
        self._clients = {
            name: node.create_client(kind, name) for name, kind in names.SERVICES.items()
        }
        self._listener = self._own.incoming.subscribe(
            msg.EnvironmentEvent, names.EVENT, self._on_event, names.RECORD
        )
        self._own.spin_in_thread('boundary_client')
        self._callback_thread.start()

    @property
    def is_done(self) -> bool:
        """
        Whether no episode of this client runs.

        An ending is known as soon as its event has come, without a call.
        """
        return self._done

    def reset(
        self,
        *,
        environment: str = '',
        seed: int | None = None,
        options: Mapping[str, object] | None = None,
        wrappers: Sequence[str] = (),
        digest: str = '',
    ) -> Any:
        """
        Begin an episode, and return the answer of ``Reset``.

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
            If another client holds the episode (the message names it), or an argument is wrong.
        DigestMismatch
            If the nodes work under another contract.
        ResetFailed
            If the world could not be reset; the message says what is missing.
        LinkTimeout
            If no answer came in time.

        """
        answer = self._call(
            names.RESET,
            digest=digest,
            environment=environment,
            agent=self._agent,
            client=self.client,
            wrappers=list(wrappers),
            seed_given=seed is not None,
            seed=0 if seed is None else seed_of(seed),
            options=options_text(options or {}),
        )
        with self._lock:
            self.episode_id = answer.episode_id
            # Its ending may have come before this answer.
            self._done = self.episode_id == self._terminated
        return answer

    def step(self, action: npt.ArrayLike, *, metadata: Mapping[str, str] | None = None) -> Any:
        """
        Send one action, and return the answer of ``Step``.

        Parameters
        ----------
        action
            Shape (n,), or (horizon, n) for a chunk: all groups one after the other, units and
            order of the contract.
        metadata
            Stays in the request, and so in the transition.

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
        return self._step(names.STEP, metadata, action=values.ravel().tolist(), horizon=rows)

    def batch_step(
        self, actions: npt.ArrayLike, *, metadata: Mapping[str, str] | None = None
    ) -> Any:
        """
        Send several actions up to the first ending or error; return the answer of ``BatchStep``.

        Parameters
        ----------
        actions
            Shape (count, n).
        metadata
            As in :meth:`step`.

        Raises
        ------
        BoundaryError
            As :meth:`step`, if not even the first was carried out; later on, the error is in
            ``result`` of the answer.

        """
        values = numbers_of(actions, 2)
        return self._step(
            names.BATCH_STEP, metadata, actions=values.ravel().tolist(), count=len(values)
        )

    def _step(self, name: str, metadata: Mapping[str, str] | None, **actions: Any) -> Any:
        episode_id = self.episode_id
        pairs = [to_msg(pair) for pair in metadata_pairs(metadata or {})]
        answer = self._call(name, episode_id=episode_id, metadata=pairs, **actions)
        with self._lock:
            self._done = self._done or (answer.done and episode_id == self.episode_id)
        return answer

    def observe(self, episode_id: str = '') -> Any:
        """
        Return the answer of ``Observe``, which is like that of a step; ResetNeeded before any.

        Parameters
        ----------
        episode_id
            The episode; empty: the latest, of any client.

        """
        return self._call(names.OBSERVE, agent=self._agent, episode_id=episode_id)

    def spaces(self) -> Any:
        """Return the answer of ``Spaces``."""
        return self._call(names.SPACES, agent=self._agent)

    def plan(self, goal: Mapping[str, object] | None = None) -> Any:
        """
        Return the answer of ``Plan``: what can be done now, and a plan if a goal is given.

        Raises
        ------
        RequestRejected
            If the world is no plugin that can tell.

        """
        text = options_text(goal) if goal else ''
        return self._call(names.PLAN, agent=self._agent, goal=text)

    def render(self, source: str = '', mode: str = 'rgb_array') -> npt.NDArray[np.uint8] | str:
        """
        Return a picture of the present state, shape (height, width, 3), RGB, uint8, or a text.

        Parameters
        ----------
        source
            An image field, or ``world`` for what a plugin draws; default: the first camera.
        mode
            ``'rgb_array'``, or ``'ansi'`` for a text.

        """
        answer = self._call(names.RENDER, agent=self._agent, source=source, mode=mode)
        if mode == 'ansi':
            return str(answer.text)
        image = answer.image
        pixels: npt.NDArray[np.uint8] = np.frombuffer(image.data, np.uint8).copy()
        return pixels.reshape(image.height, image.width, 3)

    def evaluate_actions(self, actions: npt.ArrayLike) -> Any:
        """
        Ask the safety gate what it would do with candidate actions now, without acting.

        Parameters
        ----------
        actions
            Shape (count, n).

        """
        values = numbers_of(actions, 2)
        spaces = self.spaces()
        # Of several agents, the one of the namespace.
        namespace = self._own.node.get_namespace().rpartition('/')[2]
        return self._call(
            names.EVALUATE_ACTIONS,
            digest=spaces.digest,
            agent=self._agent or (namespace if len(spaces.agents) > 1 else spaces.agents[0]),
            actions=values.ravel().tolist(),
            count=len(values),
        )

    def end(self) -> None:
        """End the session: an episode that runs is truncated as ``abandoned``."""
        if not self.episode_id:
            raise ResetNeeded('There is no episode to end: none was begun. Call reset first.')
        self._call(names.CLOSE, episode_id=self.episode_id, client=self.client)
        with self._lock:
            self._done = True

    # Events --------------------------------------------------------------------------------------

    def on(self, kind: EventKind | str | None, callback: Callback) -> Callable[[], None]:
        """
        Call back with every event of a kind (None: of any), of any client's episode.

        A word is the ``event_type`` of what a plugin pushes.

        One event after the other, on a thread of their own: a callback may call the client. What a
        callback raises is logged, and the next event is passed on all the same.

        Returns
        -------
        Callable
            Ends that.

        """
        entry = (kind, callback)
        with self._lock:
            self._callbacks = [*self._callbacks, entry]

        def stop() -> None:
            with self._lock:
                self._callbacks = [each for each in self._callbacks if each is not entry]

        return stop

    def _on_event(self, message: Any) -> None:
        event = from_msg(EnvironmentEvent, message)
        if event.kind is EventKind.TERMINATION:
            with self._lock:
                self._terminated = event.id.episode_id
                self._done = self._done or self._terminated == self.episode_id
        self._events.put(event)

    def _run_callbacks(self) -> None:
        while (event := self._events.get()) is not None:
            for kind, callback in self._callbacks:
                if not is_of(event, kind):
                    continue
                try:
                    callback(event)
                except Exception:  # noqa: BLE001 - a user's code must not end the events
                    self._own.node.get_logger().error(
                        f'A callback of {event.kind.name} failed: {traceback.format_exc()}'
                    )

    # Calling -------------------------------------------------------------------------------------

    def _call(self, name: str, **fields: Any) -> Any:
        """Return the answer of a service, or raise its error if nothing at all was carried out."""
        if self._closed:
            raise LinkError('The client is closed. Create a new one.')
        client, not_repeatable = self._clients[name], name in _NOT_REPEATABLE
        if not_repeatable and not self._connected:
            # What is asked for once is asked for when the client is known on the other side.
            self.spaces()
            self._connected = True
        # The publisher of the events that follow is to be there, too.
        if not wait_until(
            lambda: client.service_is_ready() and self._listener.get_publisher_count(),
            time.monotonic() + self._startup_timeout,
        ):
            raise LinkTimeout(
                f'No node serves {client.srv_name} on ROS_DOMAIN_ID {self._own.domain_id} (waited '
                f'{self._startup_timeout:g} s). Start the nodes with `boundary-env up CONTRACT '
                '--services`.'
            )
        request = names.SERVICES[name].Request(**fields)
        until, patience = time.monotonic() + self.timeout, SIGN_OF_LIFE / 2.0
        answer = ask(
            client, request, until=until, patience=math.inf if not_repeatable else patience
        )
        if answer is None:
            raise LinkTimeout(
                f'{client.srv_name} did not answer within {self.timeout:g} s. '
                'Is the node alive? What was asked for may still be done.'
            )
        if answer.result.code and not getattr(answer, 'completed', 0):
            raise error_of(answer.result.code, answer.result.message)
        return answer

    def close(self) -> None:
        """End a running episode as ``abandoned``; release context and threads."""
        if self._closed:
            return
        try:
            if not self.is_done:
                self.end()
        except RequestRejected as refusal:
            # The node that serves now was started after the episode, and it is over.
            if refusal.code is not ResultCode.UNKNOWN_EPISODE:
                raise
        finally:
            self._closed = True
            self._events.put(None)
            if self._callback_thread is not threading.current_thread():
                self._callback_thread.join(timeout=_LAST_EVENTS)
            self._own.close()
