# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lockstep: asking the world to advance, and knowing what to wait for afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.records.lockstep import Advanced, awaited, SimStepRequest
from boundary_env_ros.core.sources.inputs import acknowledgement_inputs, feedback_inputs
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.errors import RecordError
from boundary_env_ros.frozen import frozen, replace


def refuse_long(request: SimStepRequest, contract: Contract) -> None:
    """
    Refuse to advance by what no environment asks for: the world would be busy for long.

    Raises
    ------
    RecordError
        If the world is to advance backwards, or by more than a period or the settling of a reset.

    """
    most = to_nanoseconds(max(contract.period, contract.episode.reset.settle))
    if not 0 <= request.duration <= most:
        raise RecordError(
            f'Wrong advance (expected 0 to {most / NANOSECONDS:g} s, the longest under the '
            f'contract, got {request.duration / NANOSECONDS:g} s).'
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
