# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit of a live boundary: it listens to what a recorder listens to, and judges at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
import socket
import time

from rclpy.node import Node

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import LinkError, RecordError
from boundary_env_ros.evidence.findings import AuditReport, Finding
from boundary_env_ros.evidence.live import LiveAudit
from boundary_env_ros.evidence.run_files import with_task
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import decoded, from_bytes, message_class
from boundary_env_ros.ros.own_node import OwnNode
from boundary_env_ros.ros.recorded_topics import (
    RawMessage,
    RawSubscriptions,
    recorded_topics,
    RecordedTopic,
)
from boundary_env_ros.ros.served_contract import served_contract
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.records import Message, RECORDS

# Between two looks at what has come, s.
_POLL = 0.02
# Until every publisher that is there has matched a new subscription, s: what a process missed of
# the discovery Fast DDS says again every 3 s.
_MATCHED = 4.0
# Between two looks for publishers that offer less than is asked for, s.
_ADAPT = 0.1
# After the last ending that is waited for, s: what speaks of it may still be on its way.
_LAST = 1.5
# A message that was received so long ago can be taken, ns.
_SETTLED = 5_000_000
_CLOCK, _CLOCK_TYPE = '/clock', 'rosgraph_msgs/msg/Clock'
# Of a replay, which tells the time before each message.
_CLOCK_DEPTH = 50_000


def live_audit(
    *,
    episodes: int | None = None,
    seconds: float | None = None,
    domain_id: int | None = None,
    namespace: str = '',
    wait: float = 30.0,
    replayed: bool = False,
    told: Callable[[Finding], None] = lambda finding: None,
    progress: Callable[[int, int], None] = lambda ended, messages: None,
) -> AuditReport:
    """
    Audit what is published, until enough of it was seen or somebody interrupts.

    The first episode that counts is the first to begin when it has listened for 4 s: before, some
    publisher may not know of it yet, and what that published would seem to be missing.

    Parameters
    ----------
    episodes
        Number of episodes, from begin to end, after which it ends by itself; None: never.
    seconds
        Seconds, steady, after which it ends by itself; None: never.
    domain_id
        ROS domain; None: that of ``ROS_DOMAIN_ID``.
    namespace
        Namespace of the nodes of the boundary.
    wait
        Seconds, steady, for a node of a boundary to be found.
    replayed
        Whether it is a record that is published again (``boundary-env replay``): what comes then
        has the time of its ``/clock``, and the recorder's word on what it lost counts.
    told
        Is told every finding as it is found.
    progress
        Is told now and then how many episodes have ended, and how many messages have come, from
        when the next episode counts.

    Returns
    -------
    AuditReport
        What was found until the end, or until SIGINT.

    Raises
    ------
    LinkError
        If ROS does not start, or no boundary is found.
    ContractError, DigestMismatch
        If the contract that a node has latched cannot be used here.

    """
    with OwnNode('live_audit', domain_id=domain_id, namespace=namespace, listens_only=True) as own:
        loaded = served_contract(
            own.node, lambda: own.executor.spin_once(timeout_sec=_ADAPT), wait
        )
        listener = _Listener(own.node, loaded, told, episodes, replayed=replayed)
        try:
            return listener.run(episodes, seconds, progress)
        finally:
            listener.close()


class _Listener:
    """Hears what a recorder hears, and hands it to the audit."""

    def __init__(
        self,
        node: Node,
        loaded: LoadedContract,
        told: Callable[[Finding], None],
        episodes: int | None,
        *,
        replayed: bool,
    ) -> None:
        terms = with_task(loaded.contract)
        topics = recorded_topics(node, loaded.contract)
        self._follows_clock = loaded.contract.sim_time or replayed
        self._replayed, self._late = replayed, 0
        if replayed:
            # Every message has its time from it, so none of it may be missed.
            clock = RecordedTopic(name=_CLOCK, type=_CLOCK_TYPE, depth=_CLOCK_DEPTH)
            topics = (*(topic for topic in topics if topic.name != _CLOCK), clock)
        self._now = 0
        self._messages = 0
        self._waiting: list[RawMessage] = []
        self._types = {topic.type: message_class(topic.type) for topic in topics}
        self._audit = LiveAudit(
            loaded.contract,
            terms.task,
            {
                topic.name: topic.type
                for topic in topics
                # What the recorder has lost is nothing to us, unless all we hear comes from it.
                if replayed or not topic.name.endswith(names.RECORDER_STATUS)
            },
            host='' if replayed else socket.gethostname(),
            told=told,
            episodes=episodes,
        )
        self._heard = RawSubscriptions(node, topics, self._on_lost)

    def _on_lost(self, topic: RecordedTopic, number: int) -> None:
        self._audit.lost(number)
        if self._replayed and topic.name == _CLOCK:
            self._late += number

    def close(self) -> None:
        """Listen no more."""
        self._heard.close()

    def run(
        self, episodes: int | None, seconds: float | None, progress: Callable[[int, int], None]
    ) -> AuditReport:
        """Listen until enough was seen, or SIGINT."""
        begin = adapted = time.monotonic()
        end = None if seconds is None else begin + seconds
        # A replay waits for who listens, and is heard as it was recorded.
        self._audit.all_heard = self._replayed
        # What was published while we were looking for the contract was not heard.
        with suppress(KeyboardInterrupt):
            while end is None or time.monotonic() < end:
                self._poll()
                now = time.monotonic()
                if now - adapted > _ADAPT:
                    adapted = now
                    self._heard.adapt()
                    if self._audit.all_heard:
                        progress(self._audit.ended, self._messages)
                    self._audit.all_heard |= now - begin > _MATCHED
                enough = episodes is not None and self._audit.ended >= episodes
                if enough and (end is None or now + _LAST < end):
                    end = now + _LAST
                    episodes = None
                time.sleep(_POLL)
        self._poll(all_of_it=True)
        return self._audit.report()

    def _poll(self, *, all_of_it: bool = False) -> None:
        # One topic is emptied after the other: what came meanwhile on the first ones is not there
        # yet, and would come behind its /clock.
        until = time.time_ns() - _SETTLED
        self._waiting += self._heard.take()
        self._waiting.sort(key=lambda message: message.received)
        if self._late:
            raise LinkError(
                f'{self._late} times that the replay told on {_CLOCK} were missed, so nobody '
                'knows when its messages were sent. Replay it slower (--rate).'
            )
        ready = (
            len(self._waiting)
            if all_of_it
            else bisect_right(self._waiting, until, key=lambda message: message.received)
        )
        for message in self._waiting[:ready]:
            self._messages += 1
            self._take(message)
        del self._waiting[:ready]

    def _take(self, raw: RawMessage) -> None:
        kind = self._types[raw.topic.type]
        if raw.topic.type == _CLOCK_TYPE:
            clock = decoded(kind, raw.data).clock
            self._now = clock.sec * NANOSECONDS + clock.nanosec
            return
        received, published = raw.received, raw.published or raw.received
        if self._follows_clock:
            received = published = self._now
        message = Message(
            raw.topic.name,
            raw.topic.type,
            received,
            published,
            raw.data,
            lambda data: decoded(kind, data),
        )
        cls = RECORDS.get(raw.topic.type)
        if cls is not None:
            try:
                self._audit.add(from_bytes(cls, raw.data), received)
            except RecordError as error:
                self._audit.unreadable(raw.topic.name, str(error))
        if raw.topic.name in self._audit.topics:
            self._audit.message(message)
