# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The last messages of one topic, as far as a record may still speak of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
import struct

from boundary_env_ros.core.sources.readers import Reading, stamp_of
from boundary_env_ros.core.sources.usable import is_measured
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use
from boundary_env_ros.storage.records import Message as Recorded

#: Nanoseconds that messages are remembered; a topic that is silent for longer keeps its last ones.
KEEP, KEPT = 20 * NANOSECONDS, 64

#: Messages of one topic that are remembered, however fast they come, and bytes of them.
MOST, MOST_BYTES = 20_000, 8 * 1024 * 1024

_LOG_TIME = attrgetter('log_time')

#: Seconds and nanoseconds of the header that a message begins with.
_STAMP = struct.Struct('<iI')


class Heard:
    """
    One message of a topic; it is decoded when it is asked for.

    Parameters
    ----------
    number
        Its place among all messages of the record.
    recorded
        The message.
    stamp
        ``header.stamp`` in nanoseconds; None if it has none.
    uses
        Who reads it.

    Attributes
    ----------
    number, stamp
        As given.
    key
        What it is found by: its stamp, or without one when it was sent.
    log_time, publish_time
        When the recorder had it and when it was sent, nanoseconds.
    length
        Its bytes on the wire.

    """

    __slots__ = (
        '_readings',
        '_recorded',
        '_uses',
        'key',
        'length',
        'log_time',
        'number',
        'publish_time',
        'stamp',
    )

    def __init__(
        self, number: int, recorded: Recorded, stamp: int | None, uses: Sequence[Use]
    ) -> None:
        self.number = number
        self.log_time = recorded.log_time
        self.publish_time = recorded.publish_time or recorded.log_time
        self.stamp = stamp
        self.key = (False, self.publish_time) if stamp is None else (True, stamp)
        self.length = len(recorded.data)
        self._recorded: Recorded | None = recorded
        self._uses = uses
        self._readings: dict[str, Reading] = {}

    @property
    def size(self) -> int:
        """Return the bytes that it holds until it is decoded."""
        return 0 if self._recorded is None else self.length

    @property
    def readings(self) -> Mapping[str, Reading]:
        """Return what each use makes of it; one that cannot read it is left out."""
        if self._recorded is not None:
            recorded, self._recorded = self._recorded, None
            try:
                message = recorded.decode()
            except BoundaryError:
                return self._readings
            for use in self._uses:
                try:
                    self._readings[use.name] = use.read(message)
                except (BoundaryError, *WRONG_INPUT):
                    # The nodes pass over what they cannot read, and say so; what a record claims
                    # to have read there is found to have no support.
                    continue
        return self._readings


class Window:
    """
    The last messages of one topic.

    Attributes
    ----------
    first
        The first message of all; None if there was none.

    """

    def __init__(self) -> None:
        self.first: Heard | None = None
        self._heard: deque[Heard] = deque()
        # By their stamps; those without one by when they were sent.
        self._found: dict[tuple[bool, int], list[Heard]] = {}
        self._bytes = 0
        # Whether its messages begin with a header; None if that is not known, or it is elsewhere.
        self._has_header: bool | None = None

    def take(self, number: int, recorded: Recorded, uses: Sequence[Use]) -> Heard:
        """Remember the next message of the topic, and forget those that are too old."""
        heard = Heard(number, recorded, self._stamp(recorded), uses)
        all_heard = self._heard
        self.first = self.first or heard
        all_heard.append(heard)
        self._found.setdefault(heard.key, []).append(heard)
        self._bytes += heard.length
        if self._bytes > MOST_BYTES:
            # What is large is read at once and let go of.
            for older in all_heard:
                _ = older.readings
            self._bytes = 0
        horizon = heard.log_time - KEEP
        while len(all_heard) > MOST or (all_heard[0].log_time < horizon and len(all_heard) > KEPT):
            self._forget(all_heard.popleft())
        return heard

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
        except BoundaryError:
            return None
        if 'header' not in message.__slots__:
            self._has_header = False
        elif message.__slots__[0] == 'header' and message.header.__slots__[0] == 'stamp':
            self._has_header = True
        return stamp_of(message)

    def _forget(self, heard: Heard) -> None:
        self._bytes = max(0, self._bytes - heard.size)
        same = self._found[heard.key]
        same.remove(heard)
        if not same:
            del self._found[heard.key]

    def newest_first(self, until: int | None = None) -> Iterator[Heard]:
        """Yield the messages from the last one back, or from the last one at a log time."""
        found = reversed(self._heard)
        if until is not None:
            last = bisect_right(self._heard, until, key=_LOG_TIME)
            return islice(found, len(self._heard) - last, None)
        return found

    def stamped(self, stamp: int) -> tuple[Heard, ...]:
        """Return the messages with a stamp, in the order in which they came."""
        return tuple(self._found.get((True, stamp), ()))

    def unstamped(self, publish_time: int) -> tuple[Heard, ...]:
        """Return the messages without a stamp that were sent at a time."""
        return tuple(self._found.get((False, publish_time), ()))

    def behind(self, heard: Heard) -> Heard | None:
        """Return the message that came next; None if there was none."""
        next_one = None
        for other in self.newest_first():
            if other.number <= heard.number:
                break
            next_one = other
        return next_one

    def newer(self, heard: Heard, log_time: int, use: Use) -> Heard | None:
        """Return the last message behind another, and before a time, that measured something."""
        last = self.last_before(log_time, use)
        return last if last is not None and last.number > heard.number else None

    def last_before(self, log_time: int, use: Use) -> Heard | None:
        """Return the last message that was there before a time and measured something."""
        for i in range(bisect_left(self._heard, log_time, key=_LOG_TIME) - 1, -1, -1):
            if measured(self._heard[i], use):
                return self._heard[i]
        return None


def measured(heard: Heard, use: Use) -> bool:
    """
    Return whether a message tells a use anything.

    The environment passes over what measured nothing; the gate goes by the newest message.
    """
    reading = heard.readings.get(use.name)
    return reading is not None and (
        use.name.startswith('gate ') or is_measured(reading.values, infinite=use.infinite)
    )
