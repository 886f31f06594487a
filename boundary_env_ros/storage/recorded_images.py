# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The images that recorded observations refer to, found on their topics in the same bag."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
import hashlib
from typing import Any

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.records.observation import ImageReference
from boundary_env_ros.core.sources.images import Image
from boundary_env_ros.core.sources.readers import stamp_of
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.record_reader import Bag
from boundary_env_ros.storage.records import Message

# How far behind its transition an image may stand in the bag, since the recorder empties one topic
# after the other; and how long one is kept that nothing has referred to, ns.
_BEHIND = 2 * NANOSECONDS
_KEPT = 5 * NANOSECONDS


class RecordedImages:
    """
    One way through the images of a bag, beside that through its transitions.

    Of each topic it holds what lies between the image that was referred to last and the transition
    that is looked at.

    Parameters
    ----------
    source
        The record.
    specs
        The image fields of the contract.

    """

    def __init__(self, source: Bag, specs: Sequence[FieldSpec]) -> None:
        types = {spec.type for spec in specs}
        topics = {name for name, kind in source.topics() if kind in types}
        self._messages: Iterator[Message] = iter(())
        if topics:
            self._messages = source.messages(topics)
        self._seen: dict[str, OrderedDict[int, tuple[int, Any]]] = {
            _bare(topic): OrderedDict() for topic in topics
        }

    def pixels(
        self, spec: FieldSpec, reference: ImageReference | None, log_time: int
    ) -> Image | None:
        """
        Return the pixels that a reference means; None if there is none, or the bag lacks them.

        Parameters
        ----------
        spec
            The field.
        reference, log_time
            As of :meth:`message`.

        Raises
        ------
        RecordError
            If the message cannot be decoded.

        """
        message = None if reference is None else self.message(reference, log_time)
        return None if message is None else pixels_of(spec, message)

    def message(self, reference: ImageReference, log_time: int) -> Any | None:
        """
        Return the message that a reference means; None if the bag does not have it.

        Parameters
        ----------
        reference
            Topic, stamp and hash.
        log_time
            Of the transition with the reference, nanoseconds; they must not go backwards.

        """
        seen = self._seen.get(_bare(reference.topic))
        if seen is None:
            return None
        while reference.stamp not in seen:
            if not self._read(log_time):
                return None
        for stamp in tuple(seen):
            if stamp == reference.stamp:
                break
            del seen[stamp]
        _, message = seen[reference.stamp]
        if hashlib.sha256(message.data).digest() != reference.sha256:
            return None
        return message

    def _read(self, log_time: int) -> bool:
        """Take the next image of the bag; return whether one was there that may be the one."""
        following = next(self._messages, None)
        if following is None:
            return False
        try:
            message = following.decode()
        except RecordError:
            return True
        seen = self._seen[_bare(following.topic)]
        seen[stamp_of(message) or 0] = (following.log_time, message)
        while seen and next(iter(seen.values()))[0] < log_time - _KEPT:
            seen.popitem(last=False)
        return following.log_time <= log_time + _BEHIND


def _bare(topic: str) -> str:
    """Return a name without the slash at its front, which one process has no use for."""
    return topic.lstrip('/')
