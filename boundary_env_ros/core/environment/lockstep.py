# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lockstep: asking the world to advance, and knowing what to wait for afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.inputs import acknowledgement_inputs, feedback_inputs
from boundary_env_ros.core.timebase import NANOSECONDS, RosTime, to_nanoseconds
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen, replace


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


def refuse_long(wish: SimStepRequest, contract: Contract) -> None:
    """
    Refuse to advance by what no environment asks for: the world would be busy for long.

    Raises
    ------
    RecordError
        If the world is to advance backwards, or by more than a period or the settling of a reset.

    """
    most = to_nanoseconds(max(contract.period, contract.episode.reset.settle))
    if not 0 <= wish.duration <= most:
        raise RecordError(
            f'Wrong advance (expected 0 to {most / NANOSECONDS:g} s, the longest under the '
            f'contract, got {wish.duration / NANOSECONDS:g} s).'
        )


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


@frozen
class Arrivals:
    """
    What has come on the topics of one agent, and what lockstep still waits for.

    Attributes
    ----------
    topics
        Resolved topic of each that is listened to, as the contract names it.
    seen
        Stamp of the newest message, ns, by resolved topic.
    counts
        How many came since the world was asked to advance, by resolved topic.

    """

    topics: Mapping[str, str]
    seen: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, contract: Contract, topics: Mapping[str, str]) -> Arrivals:
        """
        Return those of a contract, of which none has come.

        Parameters
        ----------
        contract
            The contract.
        topics
            Resolved topic of every topic that the contract names.

        """
        # Those of the environment: the rules of the gate may read others.
        names = {spec.topic for spec in contract.fields if spec.topic}
        names |= {item.topic for item in feedback_inputs(contract)}
        names |= {item.topic for item in acknowledgement_inputs(contract)}
        names |= set(contract.tf_topics) & set(topics)
        return cls(topics={name: topics[name] for name in names})

    def after(self, topic: str, captured: int | None, count: int) -> Arrivals:
        """Return them after messages of a topic that the contract names; newest stamp in ns."""
        topic = self.topics[topic]
        counts = {**self.counts, topic: self.counts.get(topic, 0) + count}
        newest = max(self.seen.get(topic, -1), -1 if captured is None else captured)
        return replace(self, counts=counts, seen={**self.seen, topic: newest})

    def awaited(self, advanced: Advanced) -> tuple[str, ...]:
        """Return the topics whose last message of an advance has not come yet."""
        return awaited(advanced.report, self.topics.values(), self.seen, self.counts)
