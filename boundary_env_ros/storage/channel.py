# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Channels of a bag and their messages, as files of any storage hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from boundary_env_ros.frozen import frozen


@frozen
class Channel:
    """
    One topic of a file.

    Attributes
    ----------
    topic, type
        Name of the topic and of its type.
    encoding, definition_encoding
        How messages and definition are written; ``cdr`` and ``ros2msg`` for what ROS 2 records.
    definition
        Text of the definition.
    metadata
        What its writer says of it besides; two that differ only in this are one.

    """

    topic: str
    type: str
    encoding: str
    definition_encoding: str
    definition: bytes = field(repr=False)
    metadata: Mapping[str, str] = field(repr=False, compare=False, default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Contents:
    """
    What is in a file.

    Attributes
    ----------
    counts
        Number of messages of each channel.
    start, end
        Least and greatest log time, nanoseconds; None if there is no message.

    """

    counts: dict[Channel, int] = field(default_factory=dict)
    start: int | None = None
    end: int | None = None

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return sum(self.counts.values())

    def add(self, channel: Channel, log_time: int) -> None:
        """Count a message."""
        self.counts[channel] = self.counts.get(channel, 0) + 1
        self.start = log_time if self.start is None else min(self.start, log_time)
        self.end = log_time if self.end is None else max(self.end, log_time)


#: Channel, log time, publish time (nanoseconds; 0: not known) and bytes of a message.
Stored: TypeAlias = tuple[Channel, int, int, bytes]
