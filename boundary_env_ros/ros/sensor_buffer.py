# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the sensors of one agent have sent: bytes, kept until an observation is frozen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
import time
from typing import Any, TypeAlias

from boundary_env_ros.core.contract.model import Qos
from boundary_env_ros.core.sources.inputs import Input, TF_STATIC
from boundary_env_ros.core.sources.readers import Reading
from boundary_env_ros.errors import OfAnother
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import decoded, header_stamp, message_class
from boundary_env_ros.ros.executors import take, with_info

# A field is read from the newest message that has it; there may be an image in each.
_FIELDS_KEPT = 10
# Of feedback every message counts, but what came while nothing was looked at for long.
_FEEDBACK_KEPT = 512

#: Is given a topic, the stamp of a message (ns; lockstep only), and when it arrived on the steady
#: clock, ns; returns whether it is time to look at it.
Heard: TypeAlias = Callable[[str, int | None, int], bool]


@dataclass(slots=True)
class Arrival:
    """
    A message as it came.

    Attributes
    ----------
    data
        Its bytes on the wire.
    published, arrived
        What the middleware says of it, ns of system time.

    """

    data: bytes
    published: int
    arrived: int
    _read: Any = None

    def message(self, kind: Any) -> Any:
        """Return the message, decoded once."""
        if self._read is None:
            self._read = decoded(kind, self.data)
        return self._read


@dataclass(slots=True)
class _Topic:
    """One topic, with its uses, and what has come since it was looked at."""

    name: str
    kind: Any
    stamp: Callable[[bytes], int | None]
    subscription: Any = None
    depth: int = 0
    fields: list[Input] = field(default_factory=list)
    feedback: list[Input] = field(default_factory=list)
    waiting: deque[Arrival] = field(default_factory=deque)


class SensorBuffer:
    """
    One subscription for each topic, however many fields and groups of the action read it.

    What comes is kept, and decoded by :meth:`look`: of a field the newest message that it can be
    read from, of feedback every one.

    Parameters
    ----------
    node, agent
        A node that is being configured, and whose sensors it listens to.
    fields, feedback
        What is read from the messages.
    heard
        Is told of every message, undecoded.
    stamped
        Whether it is told their stamps.
    due
        Is called when it is time to look at a message that the executor handed over.
    unusable
        Is told why what came last of a field, or of ``feedback.GROUP``, could not be used.

    """

    def __init__(
        self,
        node: ContractNode,
        agent: str,
        *,
        fields: Sequence[Input],
        feedback: Sequence[Input],
        heard: Heard,
        stamped: bool,
        due: Callable[[], None],
        unusable: Callable[[str, str], None],
    ) -> None:
        self._node, self._heard, self._on_unusable = node, heard, unusable
        self._read_before: set[str] = set()
        self._framed: set[str] = set()
        self._feedback: deque[tuple[_Topic, Arrival]] = deque(maxlen=_FEEDBACK_KEPT)
        topics: dict[str, _Topic] = {}
        qos: dict[str, Qos] = {}
        for item in (*fields, *feedback):
            kind = message_class(item.type)
            stamp = header_stamp(kind) if stamped else _none
            topics.setdefault(item.topic, _Topic(item.topic, kind, stamp))
            known = qos.setdefault(item.topic, item.qos)
            qos[item.topic] = Qos(
                depth=max(known.depth, item.qos.depth),
                reliable=known.reliable or item.qos.reliable,
                transient_local=known.transient_local or item.qos.transient_local,
            )
        for item in fields:
            topics[item.topic].fields.append(item)
        for item in feedback:
            topics[item.topic].feedback.append(item)
        self._topics = tuple(topics.values())
        for topic in self._topics:
            latched = any(item.name == TF_STATIC for item in topic.feedback)
            asked = names.sensor(qos[topic.name], node.contract.pacing, latched=latched)
            topic.depth = asked.depth
            topic.waiting = deque(maxlen=_FIELDS_KEPT)
            topic.subscription = node.add_subscription(
                topic.kind,
                node.topic_of(agent, topic.name),
                with_info(self._listener(topic, due)),
                asked,
                raw=True,
            )

    def _keep(self, topic: _Topic, data: bytes, info: Any) -> bool:
        """Keep a message, and return whether it is time to look at it."""
        arrival = Arrival(data, info['source_timestamp'], info['received_timestamp'])
        if topic.fields:
            topic.waiting.append(arrival)
        if topic.feedback:
            self._feedback.append((topic, arrival))
        return self._heard(topic.name, topic.stamp(data), time.monotonic_ns())

    def _listener(self, topic: _Topic, due: Callable[[], None]) -> Callable[[bytes, Any], None]:
        def on_message(data: bytes, info: Any) -> None:
            if self._keep(topic, data, info):
                due()

        return on_message

    def look(
        self,
        on_field: Callable[..., bool],
        on_feedback: Callable[[str, Reading], None],
    ) -> None:
        """
        Decode what has come.

        What the executor has not handed over yet is taken as well: it runs a timer when it is due,
        and a step would be closed on what is old while the newer is there already.

        Parameters
        ----------
        on_field
            Is given a field, a reading of it and its ``arrival``; returns whether it measured
            anything.
        on_feedback
            Is given the readings of all groups, in the order in which they came.

        """
        for topic in self._topics:
            for taken in take(topic.subscription, topic.depth):
                self._keep(topic, *taken)
        while self._feedback:
            topic, arrival = self._feedback.popleft()
            for item in topic.feedback:
                self._read(item, topic, arrival, on_feedback, f'feedback.{item.name}')
        for topic in self._topics:
            for item in topic.fields:
                # Joints may come from two drivers in turn: the newest message that has the field.
                for arrival in reversed(topic.waiting):
                    if self._read(item, topic, arrival, partial(on_field, arrival=arrival)):
                        break
            topic.waiting.clear()

    def compare_types(self) -> None:
        """Take why nothing comes of a topic: it is published as another type."""
        for topic in self._topics:
            inputs = {item.name: item for item in topic.fields}
            inputs |= {f'feedback.{item.name}': item for item in topic.feedback}
            for use, item in inputs.items():
                place = topic.subscription.topic_name
                if use not in self._read_before and (
                    problem := self._node.other_type(place, item.type)
                ):
                    self._unusable(use, problem)

    def _read(
        self,
        item: Input,
        topic: _Topic,
        arrival: Arrival,
        hand: Callable[[str, Reading], object],
        use: str = '',
    ) -> bool:
        """Hand over what an input reads, and return what is said to that; no message, no."""
        try:
            message = arrival.message(topic.kind)
            reading = item.read(message)
            self._compare_frame(item, topic, message)
            self._unusable(use or item.name, reading.problem)
            return bool(hand(item.name, reading))
        except OfAnother:
            return False
        except Exception as error:  # noqa: BLE001 - whatever a message leads to
            self._unusable(use or item.name, str(error))
            self._node.refuse(topic.name, error)
            return False

    def _unusable(self, use: str, why: str) -> None:
        self._read_before.add(use)
        self._on_unusable(use, why)

    def _compare_frame(self, item: Input, topic: _Topic, message: Any) -> None:
        """Warn once of a field whose messages are of another frame than the contract says."""
        if item.name in self._framed or not (frame := item.other_frame(message)):
            return
        self._framed.add(item.name)
        expected = min(filter(None, item.frames), key=len)
        self._node.get_logger().warning(
            f'Wrong frame in the header of {topic.name} ({item.name}; expected {expected!r}, got '
            f'{frame!r}). The values are observed as they come: nothing transforms them. Change '
            '`frame` in the contract, or let the driver publish in that frame.'
        )


def _none(data: bytes) -> None:
    return None
