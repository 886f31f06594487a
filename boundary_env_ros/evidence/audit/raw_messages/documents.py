# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What stands on the topics of documents against what the gate decided to publish there."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.gate.rules.documents import published
from boundary_env_ros.evidence.audit.raw_messages.commands import END
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import Mismatch

_LONGEST = 60


@dataclass(slots=True)
class _Topic:
    """What was decided for one topic and what was heard there, as far as it does not agree yet."""

    use: Use
    decided: deque[tuple[int, str, GateDecision]] = field(default_factory=deque)
    sent: deque[tuple[int, str]] = field(default_factory=deque)
    begun: int | None = None


class DocumentChecks:
    """
    Pairs the messages on the topics of documents with the decisions, in their order.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._history = history
        self._topics = {
            (agent, group.name): _Topic(wiring.uses[f'document {group.name}'])
            for agent, wiring in history.wiring.items()
            for group in history.contract.documents
        }

    def decided(self, decision: GateDecision, log_time: int) -> None:
        """Take a decision as the gate published it."""
        for (agent, _), topic in self._topics.items():
            if agent == decision.id.agent and topic.begun is None:
                topic.begun = log_time
        for name, text in published(decision).items():
            found = self._topics.get((decision.id.agent, name))
            if found is not None and found.use.topic:
                found.decided.append((log_time, text, decision))
                self._pair(found)

    def sent(self, topic: tuple[str, str], heard: Heard) -> None:
        """Take a message of a topic."""
        found = self._topics[topic]
        reading = heard.readings.get(found.use.name)
        found.sent.append((heard.log_time, '' if reading is None else reading.document))
        self._pair(found)

    def _pair(self, topic: _Topic) -> None:
        while topic.decided and topic.sent and topic.decided[0][1] == topic.sent[0][1]:
            topic.decided.popleft()
            topic.sent.popleft()

    def finish(self, end: int) -> None:
        """Tell what has no other half; near the end of a record one may be missing."""
        for (agent, _), topic in self._topics.items():
            where = f'{topic.use.topic} of {agent}'
            while topic.decided:
                log_time, text, decision = topic.decided.popleft()
                while topic.sent and text in (other for _, other in topic.sent):
                    if topic.sent[0][1] == text:
                        topic.sent.popleft()
                        break
                    self._undecided(where, topic, *topic.sent.popleft())
                else:
                    if not self._spared(log_time, end):
                        expected = f'a message on {topic.use.topic} for {_short(text)}'
                        found = Mismatch(f'decision {decision.sequence}', expected, 'none')
                        self._history.find(catalogue.COMMAND_ON_TOPIC, found, decision.id)
            for log_time, text in topic.sent:
                if not self._spared(log_time, end):
                    self._undecided(where, topic, log_time, text)

    def _undecided(self, where: str, topic: _Topic, log_time: int, text: str) -> None:
        if topic.begun is None or log_time < topic.begun:
            return  # The recorder heard of this gate only later.
        expected, actual = 'a decision of the gate for each document', f'none for {_short(text)}'
        self._history.find(catalogue.COMMAND_ON_TOPIC, Mismatch(where, expected, actual), None)

    def _spared(self, log_time: int, end: int) -> bool:
        return log_time >= end - END or self._history.damaged(log_time)


def _short(text: str) -> str:
    return text if len(text) < _LONGEST else f'{text[: _LONGEST - 3]}...'
