# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What strangers send is refused where it enters, and nobody dies of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from boundary_env_ros.errors import RecordError
from boundary_env_ros.ros.once import Once

# Seconds in which a topic is logged once.
_ONCE = 1.0


class Incoming:
    """
    The callbacks of a node, so that a message which cannot be read does not end its process.

    Whoever is in the domain may send on any topic, and what an empty message of ROS says is often
    no value of ours: a plain ``ros2 topic pub`` has a source of 0.

    Parameters
    ----------
    node
        The node; its logger says what was refused.

    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._refused: Counter[str] = Counter()
        self._once = Once(_ONCE)

    @property
    def refused(self) -> int:
        """How many messages were refused."""
        return self._refused.total()

    def guarded(self, topic: str, callback: Callable[..., None]) -> Callable[..., None]:
        """
        Return a callback that refuses what the given one cannot read.

        Parameters
        ----------
        topic
            Where the messages come from, for the log.
        callback
            Reads a message before it does anything; raises :class:`RecordError` if it cannot.

        """

        # rclpy looks at the signature, whether it takes the MessageInfo.
        @wraps(callback)
        def on_message(*message: Any) -> None:
            try:
                callback(*message)
            except RecordError as error:
                self._refuse(topic, error)

        return on_message

    def _refuse(self, topic: str, error: RecordError) -> None:
        self._refused[topic] += 1
        if not self._once.due(topic):
            return
        self._node.get_logger().error(
            f'{topic}: {error} It is refused, {self._refused[topic]} so far; find who sends it '
            f'with `ros2 topic info --verbose {self._node.resolve_topic_name(topic)}`.'
        )
