# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Who sent a message: a tag under a key that the processes of one boundary share.

The tag is an HMAC-SHA256 over topic, message, role and number. It stands in the last field of a
message, ``authentication``, so that what it covers are the bytes before it, as they are on the
wire.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum
import hmac
from struct import Struct

from boundary_env_ros.core.timebase import NANOSECONDS

#: Bytes of a key.
KEY_SIZE = 32

# Role, sender, number; then the tag.
_ORIGIN = Struct('<B7sQ')
_TAG_SIZE = 32
_SIZE = _ORIGIN.size + _TAG_SIZE

# Text little-endian CDR: what the field is before it is filled in, and its length afterwards. The
# third and fourth byte of a message are the middleware's.
_LITTLE_ENDIAN, _OPTIONS = b'\0\1', 4
#: The field while it is empty.
EMPTY = bytes(4)
_FULL = _SIZE.to_bytes(4, 'little')

# How far the clocks of two senders of a role may be apart, ns.
_APART = 10 * NANOSECONDS

# Senders of a topic that are remembered.
_MOST = 1000


class Role(IntEnum):
    """What a sender is in the boundary."""

    CLIENT = 1
    ENVIRONMENT = 2
    SAFETY_GATE = 3
    ROBOT = 4
    RECORDER = 5
    OPERATOR = 6


def _keyed(key: bytes, name: str) -> hmac.HMAC:
    """Return what begins each tag of a topic: setting up a key takes longer than most messages."""
    return hmac.new(hmac.digest(key, name.encode(), 'sha256'), digestmod='sha256')


def _tag(keyed: hmac.HMAC, data: bytes, origin: bytes) -> bytes:
    whole = keyed.copy()
    whole.update(data + origin)
    return whole.digest()


class Sealer:
    """
    Fills in the authentication of the messages of one sender.

    Parameters
    ----------
    key
        The key of the boundary.
    name
        Fully qualified name of the topic or service.
    role
        What the sender is.
    sender
        Seven random bytes, of this sender alone.

    """

    def __init__(self, key: bytes, name: str, role: Role, sender: bytes) -> None:
        self._keyed = _keyed(key, name)
        self._role, self._sender = role, sender
        self._number = 0

    def seal(self, data: bytes, now: int) -> bytes:
        """
        Return a message with its authentication.

        Parameters
        ----------
        data
            The message, whose last field is empty.
        now
            System time, ns; the number is that, or one more than the last.

        Raises
        ------
        ValueError
            If the field is filled in already.

        """
        if not data.endswith(EMPTY):
            raise ValueError('A message is sealed once (expected no authentication, got one).')
        self._number = max(now, self._number + 1)
        origin = _ORIGIN.pack(self._role, self._sender, self._number)
        body = data[: -len(EMPTY)]
        return body + _FULL + origin + _tag(self._keyed, body[_OPTIONS:], origin)


def as_message(body: bytes, authentication: bytes) -> bytes:
    """Return what is no message, as a request of a service, in the form of one."""
    head, length = _LITTLE_ENDIAN + bytes(2), len(authentication).to_bytes(4, 'little')
    return head + body + length + authentication


def authentication_of(sealed: bytes) -> bytes:
    """Return the field of a sealed message."""
    return sealed[-_SIZE:]


def sender_of(authentication: bytes) -> bytes:
    """Return role and name of who filled in a field; empty if nobody did."""
    return authentication[: _ORIGIN.size - 8]


class Verifier:
    """
    Tells the messages of a topic, or the requests of a service, that bear a right authentication.

    The numbers of a sender increase. One that is new begins at most 10 s before the
    newest number of its role, and before the receiver: what a sender said that is gone cannot be
    sent again. No number is more than 10 s ahead of the receiver's clock.

    Parameters
    ----------
    key, name
        As of :class:`Sealer`.
    since
        Since when the receiver listens, system time, ns.
    calls
        Of calls, which name no episode: one that was made before that, or more than 10 s ago, is
        refused: it was kept, or recorded.
    lasting
        Roles whose last message is latched, and may be of any age.

    """

    def __init__(
        self,
        key: bytes,
        name: str,
        since: int,
        *,
        calls: bool = False,
        lasting: Collection[Role] = (),
    ) -> None:
        self._keyed, self._since = _keyed(key, name), since
        self._calls, self._lasting = calls, lasting
        self._forgotten = 0
        self._last: dict[tuple[int, bytes], int] = {}
        self._newest: dict[int, int] = {}

    def fault(self, data: bytes, now: int) -> str:
        """
        Return what is wrong with the authentication of a message; empty if it is right.

        Parameters
        ----------
        data
            The message, as it came.
        now
            System time, ns.

        """
        body, field = data[:-_SIZE], data[-_SIZE:]
        if data[:2] != _LITTLE_ENDIAN or not body.endswith(_FULL):
            return (
                'it bears no authentication (expected one under the key of the boundary, got '
                'none). Give its sender the key file, and start it again.'
            )
        origin, tag = field[: _ORIGIN.size], field[_ORIGIN.size :]
        if not hmac.compare_digest(_tag(self._keyed, body[_OPTIONS : -len(_FULL)], origin), tag):
            return (
                'its authentication is wrong (expected one under the key of the boundary, got '
                'another). It was forged, or its sender has another key file.'
            )
        role, sender, number = _ORIGIN.unpack(origin)
        if number > now + _APART:
            return (
                f'its number is ahead (expected at most {now + _APART}, got {number}), and so is '
                'the clock of its sender. Synchronise the hosts.'
            )
        self._since = min(self._since, now)  # the clock may have been set back
        newest = self._newest.get(role, 0 if role in self._lasting else self._since)
        after = self._last.get((role, sender), max(newest - _APART, self._forgotten))
        if self._calls:
            after = max(after, self._since, now - _APART)
        if number <= after:
            return (
                f'its number was used (expected one after {after}, got {number}). It was recorded '
                'and sent again, its sender was silent since, or its clock is behind.'
            )
        # The order of the dictionary is that of the last message of each sender.
        self._last.pop((role, sender), None)
        self._last[role, sender] = number
        if len(self._last) > _MOST:
            self._forgotten = max(self._forgotten, self._last.pop(next(iter(self._last))))
        self._newest[role] = max(newest, number)
        return ''
