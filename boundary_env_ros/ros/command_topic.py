# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A topic of the gate's commands, which go out and come back as bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from rclpy.qos import QoSProfile

from boundary_env_ros.core.gate.publishers import Echoes
from boundary_env_ros.errors import RecordError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode, RATE
from boundary_env_ros.ros.conversions import decoded, message_writer, time_fields


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
    most
        Bytes beyond which a message is not the gate's own, unread.
    foreign
        Is called with the topic when another has published there.

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
        most: int,
        foreign: Callable[[str], None],
    ) -> None:
        self._kind, self._topic, self._most, self._foreign = kind, topic, most, foreign
        self._frame = frame if 'header' in kind.get_fields_and_field_types() else None
        self._write, slowed = message_writer(kind, self._stamped(example, 1))
        if slowed:
            node.get_logger().warning(
                f'Commands on {topic} are made by rclpy, which takes longer (expected that a '
                f'{kind.__name__} can be written here, got {slowed}).'
            )
        self._publisher = node.create_lifecycle_publisher(kind, topic, qos)
        node.own(node.destroy_publisher, self._publisher)
        # What was sent and has not come back yet, to each of two subscriptions. However a command
        # of another is offered, and however short its publisher lives, one hears it if the driver
        # does.
        self._echoes = (Echoes(), Echoes())
        for number, heard in enumerate((names.RECORD, names.SENSOR)):
            hear = partial(self._on_message, number)
            node.add_subscription(kind, topic, hear, heard, warn=False, raw=True, rate=RATE)

    def _stamped(self, fields: Mapping[str, Any], stamp: int) -> Mapping[str, Any]:
        if self._frame is None:
            return fields
        return {'header': {'stamp': time_fields(stamp), 'frame_id': self._frame}, **fields}

    def publish(self, fields: Mapping[str, Any], stamp: int) -> None:
        """Publish a message with these fields and a stamp (ns), and expect it back."""
        data = self._write(self._stamped(fields, stamp))
        self._publisher.publish(data)
        sent = _Bytes(self._kind, data)
        for echoes in self._echoes:
            echoes.sent(sent)

    def _on_message(self, subscription: int, data: bytes) -> None:
        if not self.is_own(data, subscription):
            self._foreign(self._topic)

    def is_own(self, data: bytes, subscription: int) -> bool:
        """Return whether a message that came to a subscription was published here."""
        if len(data) > self._most:
            return False  # it is not read, and no less foreign for that
        try:
            return self._echoes[subscription].is_own(_Bytes(self._kind, data))
        except RecordError:
            return False  # a driver may read what cannot be read here


class _Bytes:
    """
    The bytes of a message; equal to others that say the same.

    Only what is not the same byte by byte is read: a middleware may pad what it passes on.
    """

    def __init__(self, kind: Any, data: bytes) -> None:
        self._kind, self._data = kind, data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bytes) and (
            self._data == other._data or self._message == other._message
        )

    __hash__ = None  # type: ignore[assignment]  # they are only compared

    @cached_property
    def _message(self) -> Any:
        return decoded(self._kind, self._data)
