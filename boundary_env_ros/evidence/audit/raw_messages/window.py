# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The last messages of one topic, found by their stamps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from operator import sub
import struct
from typing import TypeAlias

from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.sources.readers import stamp_of
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.storage.records import Message as Recorded

#: Nanoseconds that messages are remembered; a topic that is silent for longer keeps its last ones.
KEEP, KEPT = 20 * NANOSECONDS, 64

#: Nanoseconds of log time by which topics overtake each other at most: what got lost is sent again
#: for so long.
REACH = 12 * NANOSECONDS

#: Messages of one topic that are remembered, however fast they come, and bytes of them.
MOST, MOST_BYTES = 20_000, 8 * 1024 * 1024

#: Seconds and nanoseconds of the header that a message begins with.
_STAMP = struct.Struct('<iI')

#: What a message is found by: its stamp, or without one when it was sent.
Key: TypeAlias = tuple[bool, int]


class LazyMessage:
    """
    One message of a topic; it is decoded when its readings are asked for.

    Parameters
    ----------
    recorded
        The message.
    stamp
        ``header.stamp`` in nanoseconds; None if it has none.
    inputs
        What is read from it.

    Attributes
    ----------
    key
        What it is found by: its stamp, or without one when it was sent.
    log_time, publish_time
        When the recorder had it and when it was sent, nanoseconds.
    length
        Its bytes on the wire.

    """

    __slots__ = ('_inputs', '_readings', '_recorded', 'key', 'length', 'log_time', 'publish_time')

    def __init__(self, recorded: Recorded, stamp: int | None, inputs: Sequence[Input]) -> None:
        self.log_time = recorded.log_time
        self.publish_time = recorded.publish_time or recorded.log_time
        self.key: Key = (False, self.publish_time) if stamp is None else (True, stamp)
        self.length = len(recorded.data)
        self._recorded: Recorded | None = recorded
        self._inputs = inputs
        self._readings: dict[Input, Reading] = {}

    @property
    def stamp(self) -> int | None:
        """Return its stamp in nanoseconds; None if it has none."""
        return self.key[1] if self.key[0] else None

    @property
    def has_publish_time(self) -> bool:
        """Return whether it is known when it was sent: a bag with log times only repeats them."""
        return self.publish_time != self.log_time

    @property
    def size(self) -> int:
        """Return the bytes that it holds until it is decoded."""
        return 0 if self._recorded is None else self.length

    @property
    def readings(self) -> Mapping[Input, Reading]:
        """Return what each input reads from it; one that cannot is left out."""
        if self._recorded is not None:
            recorded, self._recorded = self._recorded, None
            try:
                message = recorded.decode()
            except BoundaryError:
                return self._readings
            for item in self._inputs:
                try:
                    self._readings[item] = item.reading(message)
                except (BoundaryError, *WRONG_INPUT):
                    # The nodes pass over what they cannot read, and say so; what a record claims
                    # to have read there is found to have no support.
                    continue
        return self._readings


class Window:
    """The last messages of one topic."""

    def __init__(self) -> None:
        # Of the first message of all: what it is found by, and when the recorder had it.
        self._first: tuple[Key, int] | None = None
        self._messages: deque[LazyMessage] = deque()
        self._by_key: dict[Key, list[LazyMessage]] = {}
        self._bytes = 0
        # Whether its messages begin with a header; None if that is not known, or it is elsewhere.
        self._has_header: bool | None = None

    def add(self, recorded: Recorded, inputs: Sequence[Input]) -> LazyMessage:
        """Remember the next message of the topic, and forget those that are too old."""
        message = LazyMessage(recorded, self._stamp(recorded), inputs)
        messages = self._messages
        self._first = self._first or (message.key, message.log_time)
        messages.append(message)
        self._by_key.setdefault(message.key, []).append(message)
        self._bytes += message.length
        if self._bytes > MOST_BYTES:
            # What is large is read at once and let go of.
            for older in messages:
                _ = older.readings
            self._bytes = 0
        horizon = message.log_time - KEEP
        while len(messages) > MOST or (messages[0].log_time < horizon and len(messages) > KEPT):
            self._forget(messages.popleft())
        return message

    def _stamp(self, recorded: Recorded) -> int | None:
        """Return the stamp of a message, from the bytes where these begin with a header."""
        data = recorded.data
        if self._has_header and len(data) >= 12 and data[:2] == b'\0\1':
            seconds, nanoseconds = _STAMP.unpack_from(data, 4)
            return int(seconds) * NANOSECONDS + int(nanoseconds) or None
        if self._has_header is False:
            return None
        try:
            message = recorded.decode()
            if 'header' not in message.__slots__:
                self._has_header = False
            elif message.__slots__[0] == 'header' and message.header.__slots__[0] == 'stamp':
                self._has_header = True
            return stamp_of(message)
        except (BoundaryError, *WRONG_INPUT):  # what another calls a header is none, perhaps
            return None

    def _forget(self, message: LazyMessage) -> None:
        self._bytes = max(0, self._bytes - message.size)
        same = self._by_key[message.key]
        same.remove(message)
        if not same:
            del self._by_key[message.key]

    def at(self, key: Key) -> Sequence[LazyMessage]:
        """Return the messages with a key."""
        return self._by_key.get(key, ())

    @property
    def unstamped(self) -> Iterator[LazyMessage]:
        """Return the messages that have no stamp, the newest first."""
        return (message for message in reversed(self._messages) if not message.key[0])

    @property
    def end(self) -> int:
        """Return when the recorder had the last message, nanoseconds; 0 if there was none."""
        return self._messages[-1].log_time if self._messages else 0

    def lacks(self, key: Key | None, log_time: int) -> str:
        """
        Return why the message of a value need not be there: the record begins late or ends early.

        Parameters
        ----------
        key
            What the message would be found by; None: only a message without a stamp, sent at a
            time that is not known.
        log_time
            When the recorder had the value, nanoseconds.

        """
        if self._first is None:
            return 'early'
        first, is_known = self._first, self._messages[-1].has_publish_time
        if key is not None and key[0] == first[0][0] and (key[0] or is_known):
            # A message that got lost is counted by the recorder when a later one comes. Several
            # publishers, and a clock that is set back, put the stamps of a topic in disorder.
            stamps = [m.key[1] for m in islice(reversed(self._messages), KEPT)][::-1]
            behind = max(map(sub, accumulate(stamps, max), stamps))
            early, torn = key[1] < first[0][1], key[1] >= max(stamps) - behind
        else:
            early, torn = log_time < first[1] + REACH, log_time > self.end - REACH
        return 'early' if early else 'torn' if torn else ''
