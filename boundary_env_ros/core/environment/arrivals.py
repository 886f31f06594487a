# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What has come on which topic, and what lockstep still waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.lockstep import Advanced, awaited
from boundary_env_ros.core.sources.inputs import acknowledgement_inputs, TF, TF_STATIC
from boundary_env_ros.core.timebase import Stamp


class Arrivals:
    """
    Arrivals of the sensor messages of one agent.

    Parameters
    ----------
    contract
        The contract.
    topics
        Resolved topic of every topic that the contract names.

    """

    def __init__(self, contract: Contract, topics: Mapping[str, str]) -> None:
        # Field and feedback of one topic may be read apart: what one of them has, the other may
        # still wait for.
        uses = (
            *((f'field {spec.name}', spec.topic) for spec in contract.fields if spec.topic),
            *((f'feedback {group.name}', group.feedback.topic) for group in contract.action),
            *((item.name, item.topic) for item in acknowledgement_inputs(contract)),
            *((topic, topic) for topic in (TF, TF_STATIC) if topic in topics),
        )
        self._uses = {use: topics[topic] for use, topic in uses}
        self._of_topic: dict[str, list[str]] = {}
        for use, topic in uses:
            self._of_topic.setdefault(topic, []).append(use)
        self._seen: dict[str, int] = {}
        self._counts: Counter[str] = Counter()

    def forget(self) -> None:
        """Forget what was captured when: another episode begins."""
        self._seen.clear()

    def begin_to_count(self) -> None:
        """Count again: the world is about to advance."""
        self._counts.clear()

    def note(self, use: str, captured: Stamp | None) -> bool:
        """
        Take note of a message, by its use: ``field <name>`` or ``feedback <group>``.

        Return whether it is a heartbeat of the robot, which a look-up in tf is not.
        """
        self._note(use, None if captured is None else captured.nanoseconds)
        return use in self._uses

    def note_all(self, topic: str, captured: int | None) -> None:
        """Take note of a message for all uses of its topic, which the contract names so."""
        for use in self._of_topic[topic]:
            self._note(use, captured)

    def _note(self, use: str, captured: int | None) -> None:
        self._counts[use] += 1
        if captured is not None:
            self._seen[use] = max(self._seen.get(use, -1), captured)

    def awaited(self, advanced: Advanced) -> tuple[str, ...]:
        """Return the topics whose last message of an advance has not come yet for every use."""
        seen: dict[str, int] = {}
        counted: dict[str, int] = {}
        for use, topic in self._uses.items():
            last, count = self._seen.get(use, -1), self._counts[use]
            seen[topic] = min(seen.get(topic, last), last)
            counted[topic] = min(counted.get(topic, count), count)
        report = advanced.report
        # Messages that carry no stamp are told apart by how many there were.
        uncounted = tuple(
            topic
            for topic, count, last in zip(
                report.topics, report.published, report.last_stamp, strict=True
            )
            if not last and counted.get(topic, count) < count
        )
        return (*awaited(report, seen.keys(), seen), *uncounted)
