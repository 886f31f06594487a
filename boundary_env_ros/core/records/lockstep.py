# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lockstep: how the world is asked to advance, and what it answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.frozen import frozen


@frozen
class SimStepRequest:
    """
    Asks the world to advance, once it has the command of that stamp; see ``SimStepRequest.msg``.

    Attributes
    ----------
    duration
        Nanoseconds of simulated time.
    command_stamp
        ``header.stamp`` of the command to wait for; 0 if none was published.

    """

    id: StepId
    duration: int
    command_stamp: RosTime
    authentication: bytes = b''


@frozen
class SimStepResponse:
    """
    The world's answer: how much was published on each topic, until when, and dropped.

    ``topics`` are fully qualified; the four sequences have equal length. A last stamp of 0 means
    that the messages of the topic carry none, so that their arrival cannot be checked.
    ``info`` is what the world says of itself, a JSON object or empty.
    """

    id: StepId
    success: bool
    message: str
    topics: tuple[str, ...]
    published: tuple[int, ...]
    last_stamp: tuple[RosTime, ...]
    dropped: tuple[int, ...]
    info: str = ''
    authentication: bytes = b''


@frozen
class Advanced:
    """A :class:`SimStepResponse` with the simulated time that its header carried, nanoseconds."""

    report: SimStepResponse
    now: int


def awaited(
    report: SimStepResponse,
    interesting: Collection[str],
    seen: Mapping[str, int],
    counts: Mapping[str, int] | None = None,
) -> tuple[str, ...]:
    """
    Return the topics whose last message of an advance has not arrived yet.

    Parameters
    ----------
    report
        The world's answer.
    interesting
        Topics that matter to the caller.
    seen
        Stamp of the last message that arrived, by topic, nanoseconds.
    counts
        How many have arrived, by topic: messages that carry no stamp are told apart by that. None:
        these are not waited for.

    """

    def is_here(topic: str, count: int, last: int) -> bool:
        if last:
            return not count or seen.get(topic, -1) >= last
        return counts is None or counts.get(topic, 0) >= count

    each = zip(report.topics, report.published, report.last_stamp, strict=True)
    return tuple(
        topic
        for topic, count, last in each
        if topic in interesting and not is_here(topic, count, last)
    )
