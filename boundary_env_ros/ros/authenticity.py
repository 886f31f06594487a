# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node does with the key of its boundary: seal what it sends, verify what comes."""

from __future__ import annotations

from collections.abc import Callable
import json
import secrets
import time
from typing import Any

from rclpy.serialization import serialize_message

from boundary_env_ros.core.authentication import (
    as_message,
    authentication_of,
    EMPTY,
    Role,
    Sealer,
    Verifier,
)
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.key_file import key_file, read_key

_FIELD = 'authentication'

# Stands for what a message will be sealed with, and in no other place of one.
_PLACE = secrets.token_bytes(32)


class Authenticity:
    """
    The key of a boundary in the hands of one node; without a key nothing is sealed or verified.

    Parameters
    ----------
    domain
        ROS domain of the node.
    role
        What the node is.

    Attributes
    ----------
    keyed
        Whether there is a key.

    """

    def __init__(self, domain: int, role: Role) -> None:
        self._key, self._role, self._domain = read_key(key_file(domain)), role, domain
        self.keyed = self._key is not None

    def _sealer(self, name: str) -> Sealer:
        assert self._key is not None  # only asked for with one
        return Sealer(self._key, self._place(name), self._role, secrets.token_bytes(7))

    def _place(self, name: str) -> str:
        """Return a topic or service with its domain: simulation and robot may share a key."""
        return f'{self._domain} {name}'

    def publisher(self, made: Any) -> Any:
        """Return a publisher that seals, if its messages have room for that."""
        if not self.keyed or not _has_room(made.msg_type):
            return made
        return _SealingPublisher(made, self._sealer(made.topic_name))

    def client(self, made: Any) -> Any:
        """Return a client of a service that seals its requests."""
        return _SealingClient(made, self._sealer(made.service_name)) if self.keyed else made

    def verifier(self, kind: Any, name: str) -> Callable[[bytes], str] | None:
        """
        Return what is wrong with the bytes of a message, as a function; None if nothing can be.

        Parameters
        ----------
        kind
            Class of the messages.
        name
            Fully qualified name of their topic.

        """
        if self._key is None or not _has_room(kind):
            return None
        # Of an episode that its environment did not survive the recorder says the end once.
        lasting = (Role.RECORDER,) if kind is msg.EpisodeStatus else ()
        verifier = Verifier(self._key, self._place(name), time.time_ns(), lasting=lasting)
        return lambda data: verifier.fault(data, time.time_ns())

    def verifier_of_requests(self, name: str) -> Callable[[Any], str]:
        """Return the same of the requests of a service."""
        if self._key is None:
            return lambda request: ''
        verifier = Verifier(self._key, self._place(name), time.time_ns(), calls=True)
        return lambda request: verifier.fault(
            _as_message(request, request.authentication), time.time_ns()
        )


def _has_room(kind: Any) -> bool:
    """Return whether messages of a class are sealed: their last field, and no other, is for it."""
    return [*kind.get_fields_and_field_types()][-1:] == [_FIELD]


class _Sealing:
    """What was made, but for what it sends."""

    def __init__(self, made: Any, sealer: Sealer) -> None:
        self._made, self._sealer = made, sealer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


class _SealingPublisher(_Sealing):
    """A publisher of messages, given as such or as bytes, that seals each of them."""

    def publish(self, message: Any) -> None:
        if not isinstance(message, bytes):
            # Behind the last field rclpy leaves what the memory held, where it had made more room.
            message.authentication = _PLACE
            data = serialize_message(message)
            message = data[: data.rindex(_PLACE) - len(EMPTY)] + EMPTY
        self._made.publish(self._sealer.seal(message, time.time_ns()))


class _SealingClient(_Sealing):
    """A client of a service that seals a request whenever it is sent: again is another one."""

    def call_async(self, request: Any) -> Any:
        sealed = self._sealer.seal(_as_message(request), time.time_ns())
        request.authentication = authentication_of(sealed)
        return self._made.call_async(request)


def _as_message(request: Any, authentication: Any = b'') -> bytes:
    """
    Return a request in the form of a message, the same on both sides.

    Its bytes on the wire are not known here, and those that rclpy makes have anything between two
    fields.
    """
    fields = [name for name in request.get_fields_and_field_types() if name != _FIELD]
    text = json.dumps([getattr(request, name) for name in fields])
    return as_message(text.encode(), bytes(authentication))
