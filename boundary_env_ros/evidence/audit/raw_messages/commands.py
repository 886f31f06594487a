# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The messages on the topics of commands and documents, one for one with the decisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.gate.rules.documents import published
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import BoundaryError, WRONG_INPUT
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use
from boundary_env_ros.evidence.audit.rules.base import Mismatch, vector

#: Nanoseconds at the end of a record in which one half of a pair may be missing.
END = NANOSECONDS // 5

#: How many commands may be there whose decisions are on their way then.
_ON_THEIR_WAY = 3

#: Nanoseconds that a message without a stamp may be apart from its decision.
_APART = NANOSECONDS // 2

_LONGEST = 60

#: What is sent to a group: numbers, or a document.
Content = Vector | str


@dataclass(slots=True, eq=False)
class _Half:
    """One command or document that is still without its other half."""

    content: Content
    stamp: int | None
    log_time: int
    decision: GateDecision | None = None
    besides: str = ''


@dataclass(slots=True)
class _Pairs:
    """What waits for its other half on the topic of one group; ``bounds`` are those of numbers."""

    agent: str
    use: Use
    start: int = 0
    bounds: tuple[Vector, Vector] | None = None
    decided: deque[_Half] = field(default_factory=deque)
    sent: deque[_Half] = field(default_factory=deque)
    stamped: bool = False  # whether a message of the topic ever had a stamp
    begun: int | None = None
    commanded: int = 0  # instant of the last decision

    def content_of(self, decision: GateDecision, documents: Mapping[str, str]) -> Content | None:
        """Return what a decision sends here; None: nothing."""
        if self.bounds is None:
            return documents.get(self.use.name.removeprefix('document '))
        end = self.start + len(self.bounds[0])
        return decision.command[self.start : end] if decision.published else None

    def is_in_bounds(self, content: Content) -> bool:
        """Return whether the gate could have sent this: numbers within the bounds of the group."""
        if self.bounds is None or isinstance(content, str):
            return self.bounds is None
        low, high = self.bounds
        return len(content) == len(low) and all(
            np.float32(least) <= np.float32(value) <= np.float32(most)
            for least, value, most in zip(low, content, high, strict=True)
        )


class CommandChecks:
    """
    Pairs the messages with the decisions.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._history = history
        #: By agent and use.
        self.pairs: dict[tuple[str, str], _Pairs] = {}
        for agent, uses in history.uses.items():
            for group, own in history.groups:
                use = uses[f'command {group.name}']
                bounds = group.low, group.high
                self.pairs[agent, use.name] = _Pairs(agent, use, own.start, bounds)
            for each in history.contract.documents:
                use = uses[f'document {each.name}']
                self.pairs[agent, use.name] = _Pairs(agent, use)

    def decided(self, decision: GateDecision, log_time: int) -> None:
        """Take a decision as the gate published it."""
        documents = self._documents(decision)
        instant = decision.commanded
        stamp = None if instant is None else instant.ros.nanoseconds
        for pairs in self.pairs.values():
            if pairs.agent != decision.id.agent or not pairs.use.topic:
                continue
            if pairs.begun is None:
                pairs.begun = log_time
            content = pairs.content_of(decision, documents)
            if content is not None:
                pairs.commanded = stamp or pairs.commanded
                pairs.decided.append(_Half(content, stamp, log_time, decision))

    def _documents(self, decision: GateDecision) -> Mapping[str, str]:
        """Return the documents of a decision; a payload that holds none is a finding."""
        try:
            return published(decision)
        except (BoundaryError, *WRONG_INPUT) as error:
            place = f'decision {decision.sequence}.request.payload'
            found = Mismatch(place, 'an object with documents', f'{error}')
            self._history.find('record-complete', found, decision.id)
            return {}

    def sent(self, pairs: _Pairs, heard: Heard) -> None:
        """Take a message of a topic."""
        reading = heard.readings.get(pairs.use.name)
        half = _Half((), heard.stamp, heard.log_time)
        if reading is not None:
            half.besides = reading.problem
            half.content = reading.document if pairs.bounds is None else reading.values
        pairs.stamped = pairs.stamped or half.stamp is not None
        pairs.sent.append(half)

    def check(self, until: int) -> None:
        """Pair what the recorder had before a time, nanoseconds; both halves must be there."""
        for pairs in self.pairs.values():
            while pairs.decided and pairs.decided[0].log_time < until:
                self._on_topic(pairs.decided.popleft(), pairs)
            while pairs.sent and pairs.sent[0].log_time < until:
                # Its decision, had it been there before, would have taken it away.
                self._decided_by(pairs.sent.popleft(), pairs)

    def finish(self, end: int) -> None:
        """Pair all that is left; at the end of a record one half may be missing, if allowed."""
        self.check(end + 1 if self._history.torn else end - END)
        for pairs in self.pairs.values():
            for half in tuple(pairs.decided):
                if _partner(half, pairs.sent, stamped=pairs.stamped) is not None:
                    self._on_topic(half, pairs)
            for place, half in enumerate(tuple(pairs.sent), start=-len(pairs.sent)):
                # The log times of many may be forged to be as late as that.
                if place < -_ON_THEIR_WAY or not pairs.is_in_bounds(half.content):
                    self._decided_by(half, pairs)

    def _on_topic(self, half: _Half, pairs: _Pairs) -> None:
        decision, use = half.decision, pairs.use
        assert decision is not None  # what was decided was by a decision
        partner = _partner(half, pairs.sent, stamped=pairs.stamped)
        place, found = f'decision {decision.sequence}.command', None
        if partner is None:
            if not self._history.missing(use, half.stamp, half.log_time):
                expected = f'a message on {use.topic} with the stamp of `commanded`'
                found = Mismatch(place, expected, f'none of {_told(half.content)}')
        else:
            pairs.sent.remove(partner)
            self._history.took('commands', use.name)
            if not _equal(half.content, partner.content):
                expected = f'{_told(partner.content)} as on {use.topic}'
                found = Mismatch(place, expected, _told(half.content))
            elif partner.besides:
                expected = 'a message that says the command and nothing else'
                found = Mismatch(place, expected, f'{partner.besides} on {use.topic}')
        if found is not None:
            self._history.find('command-on-topic', found, decision.id)

    def _decided_by(self, half: _Half, pairs: _Pairs) -> None:
        history, use = self._history, pairs.use
        partner = _partner(half, pairs.decided, stamped=pairs.stamped)
        if partner is not None:
            pairs.decided.remove(partner)
            pairs.sent.appendleft(half)
            self._on_topic(partner, pairs)
            return
        possible = pairs.is_in_bounds(half.content)
        early = pairs.begun is None or half.log_time < pairs.begun - _APART
        if early and possible:
            history.spare('early', use.name)
            return  # The recorder heard of this gate only later.
        at = half.log_time if half.stamp is None else half.stamp
        torn = history.torn and at >= pairs.commanded
        if possible and (torn or history.damaged(half.log_time)):
            history.spare('torn' if torn else 'damaged', use.name)
            return
        actual = f'none for {_told(half.content)} at {half.log_time} ns'
        expected = 'a decision of the gate for each message'
        found = Mismatch(f'{use.topic} of {pairs.agent}', expected, actual)
        history.find('command-on-topic', found, None)


def _partner(half: _Half, others: deque[_Half], *, stamped: bool) -> _Half | None:
    """Return the other half: by stamp, or where messages have none, by content and time."""
    first = None
    for other in others:
        if stamped and half.stamp is not None:
            near = other.stamp == half.stamp
        else:
            near = abs(other.log_time - half.log_time) < _APART
        if near and _equal(other.content, half.content):
            return other
        # Without stamps the order alone tells a changed command from a lost one.
        first = other if near and first is None else first
    return first


def _equal(one: Content, other: Content) -> bool:
    """
    Return whether two commands are the same in the precision of the message.

    The gate rounds a float32 inwards, so it may be the one beside the nearest.
    """
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return len(one) == len(other) and all(
        a == b or abs(np.float32(a) - np.float32(b)) <= np.spacing(abs(np.float32(b)))
        for a, b in zip(one, other, strict=True)
    )


def _told(content: Content) -> str:
    if not isinstance(content, str):
        return vector(content)
    return content if len(content) < _LONGEST else f'{content[: _LONGEST - 3]}...'
