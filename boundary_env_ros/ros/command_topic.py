# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A topic of the gate's commands, which go out and come back as bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import time
from typing import Any

from rclpy.qos import QoSProfile

from boundary_env_ros.core.gate.other_publishers import Echoes, Replies
from boundary_env_ros.ros import names
from boundary_env_ros.ros.command_domain import CommandDomain
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import message_writer, time_fields
from boundary_env_ros.ros.executors import dispatch

# Messages of each subscription that are dispatched before they are answered.
_BATCH = 64

# Seconds in which a second gate is logged once.
_AGAIN = 10.0

# Bytes that the end of a message may be padded with.
_PADDING = 8


class CommandTopic:
    """
    Where the gate publishes its commands or documents, and tells those of another from them.

    Parameters
    ----------
    node
        The gate, which is being configured; what is made here lives until its cleanup.
    kind, topic, qos
        Class of the messages, where they go and how.
    example
        Fields of a message as they will be given.
    frame
        What the header names, if the messages have one.
    foreign
        Is called with the topic when another has published there, once for all that waited, and
        whether to answer: not what says the same as was published here last.
    domain
        Where the driver listens, if that is another domain than the node's.

    """

    def __init__(
        self,
        node: ContractNode,
        kind: Any,
        topic: str,
        qos: QoSProfile,
        example: Mapping[str, Any],
        frame: str = '',
        *,
        foreign: Callable[[str, bool], None],
        domain: CommandDomain | None = None,
    ) -> None:
        self._topic, self._foreign = topic, foreign
        fields = [*kind.get_fields_and_field_types()]
        self._frame = frame if 'header' in fields else None
        self._begins_with_stamp = fields[:1] == ['header']
        self._write, slowed = message_writer(kind, self._stamped(example, 1))
        if slowed:
            node.get_logger().warning(
                f'Commands on {topic} are made by rclpy, which takes longer (expected that a '
                f'{kind.__name__} can be written here, got {slowed}).'
            )
        # That of the driver goes first; in a domain of its own another is for the record.
        self._publishers = [node.create_lifecycle_publisher(kind, topic, qos)]
        node.own(node.destroy_publisher, self._publishers[0])
        subscribe = partial(node.add_subscription, kind, topic, warn=False)
        if domain is not None:
            at = node.resolve_topic_name(topic)
            self._publishers.insert(0, domain.create_publisher(kind, at, qos))
            subscribe = partial(domain.add_subscription, kind, at)
        # What was sent and has not come back yet, to each of two subscriptions. However a command
        # of another is offered, and however short its publisher lives, one receives it if the
        # driver does.
        self._echoes = (Echoes(), Echoes())
        self._replies, self._logger = Replies(), node.get_logger()
        self._last = b''
        # While what waits is dispatched: whether another node has published, and something else.
        self._found: set[bool] | None = None
        self._subscriptions = [
            subscribe(callback=partial(self._on_message, number), qos=qos, raw=True)
            for number, qos in enumerate((names.RECORD, names.SENSOR))
        ]

    def _stamped(self, fields: Mapping[str, Any], stamp: int) -> Mapping[str, Any]:
        if self._frame is None:
            return fields
        return {'header': {'stamp': time_fields(stamp), 'frame_id': self._frame}, **fields}

    def publish(self, fields: Mapping[str, Any], stamp: int) -> None:
        """Publish a message with these fields and a stamp (ns), and expect it back."""
        self._last = self._write(self._stamped(fields, stamp))
        self.repeat()

    def repeat(self) -> None:
        """Publish the last message again."""
        for publisher in self._publishers:
            publisher.publish(self._last)
        body = _body(self._last)
        for echoes in self._echoes:
            echoes.sent(body)
        self._replies.commanded()

    def _on_message(self, subscription: int, data: bytes) -> None:
        # What is longer than any of ours is not looked through: it may be very long.
        is_longer = len(data) > len(self._last) + _PADDING
        if not is_longer and self.is_own(data, subscription):
            return
        self._replies.received(subscription)
        differs = is_longer or self._without_stamp(data) != self._without_stamp(self._last)
        if self._found is not None:
            self._found.add(differs)
            return
        # One answer after all that waits, on both subscriptions: of a flood the last word matters.
        found = self._found = {differs}
        try:
            for each in self._subscriptions:
                dispatch(each, _BATCH)
        finally:
            self._found = None
        differs = any(found)
        answers = differs and self._replies.due(time.monotonic_ns())
        if differs and not answers:
            message = (
                f'Who publishes on {self._topic} answers each stop, as a second gate does '
                '(expected one gate). Stop one of the two.'
            )
            self._logger.error(message, throttle_duration_sec=_AGAIN)
        self._foreign(self._topic, answers)

    def _without_stamp(self, data: bytes) -> bytes:
        """Return what a message says beside its stamp, which comes first."""
        body = _body(data)
        return body[:2] + body[10:] if self._begins_with_stamp else body

    def is_own(self, data: bytes, subscription: int) -> bool:
        """Return whether a message that came to a subscription was published here."""
        return self._echoes[subscription].is_own(_body(data))


def _body(data: bytes) -> bytes:
    """
    Return what of a message every middleware passes on as it is: not its options, nor its end.

    The options are the third and fourth byte, and tell how the end is padded. No two messages of a
    type differ in zeros at their end alone: CDR says how long a text or a sequence is before it.
    """
    return data[:2] + data[4:].rstrip(b'\0')
