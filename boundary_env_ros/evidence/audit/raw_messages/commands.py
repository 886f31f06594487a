# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The messages on the command topics, held against the decisions of the gate, one for one."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from boundary_env_ros.core.contract.model import ActionSpec
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import Mismatch, vector

#: Nanoseconds at the end of a record in which one half of a pair may be missing.
END = NANOSECONDS // 5

#: Nanoseconds that a message without a stamp may be apart from its decision.
_APART = NANOSECONDS // 2


@dataclass(slots=True)
class _Command:
    """One command that is still without its other half."""

    values: Vector
    stamp: int | None
    log_time: int
    decision: GateDecision | None
    besides: str = ''


@dataclass(slots=True)
class _Pairs:
    """The commands of one group that wait for their other half."""

    decided: deque[_Command]
    sent: deque[_Command]
    begun: int | None = None
    commanded: int = 0  # instant of the last decision


class CommandChecks:
    """
    Pairs the command messages with the decisions.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._tape = history
        self._pairs: dict[tuple[str, str], _Pairs] = {}
        self._gated: set[str] = set()

    def gated(self, agent: str) -> None:
        """Take note that an agent has a gate, also if its topic is not in the record."""
        self._gated.add(agent)

    def _of(self, agent: str, group: str) -> _Pairs:
        return self._pairs.setdefault((agent, group), _Pairs(deque(), deque()))

    def decided(self, decision: GateDecision, log_time: int) -> None:
        """Take a decision as the gate published it."""
        wiring = self._tape.wiring.get(decision.id.agent)
        if wiring is None:
            return
        for group, start in wiring.groups:
            if self._tape.use(decision.id.agent, f'command {group.name}') is None:
                continue
            pairs = self._of(decision.id.agent, group.name)
            if pairs.begun is None:
                pairs.begun = log_time
            if decision.published:
                commanded = decision.commanded
                if commanded is not None:
                    pairs.commanded = commanded.ros.nanoseconds
                pairs.decided.append(
                    _Command(
                        decision.command[start : start + group.size],
                        commanded.ros.nanoseconds if commanded else None,
                        log_time,
                        decision,
                    )
                )

    def sent(self, agent: str, group: ActionSpec, use: Use, heard: Heard) -> None:
        """Take a message of a command topic."""
        reading = heard.readings.get(use.name)
        values = () if reading is None else reading.values
        besides = '' if reading is None else reading.problem
        pairs = self._of(agent, group.name)
        pairs.sent.append(_Command(values, heard.stamp, heard.log_time, None, besides))

    def check(self, until: int) -> None:
        """Pair what the recorder had before a time, nanoseconds; both halves must be there."""
        for (agent, group), pairs in self._pairs.items():
            use = self._tape.use(agent, f'command {group}')
            if use is None:
                continue
            while pairs.decided and pairs.decided[0].log_time < until:
                self._on_topic(pairs.decided.popleft(), pairs, use)
            while pairs.sent and pairs.sent[0].log_time < until:
                # Its decision, had it been there before, would have taken it away.
                self._decided_by(agent, pairs.sent.popleft(), pairs, use)

    def finish(self, end: int) -> None:
        """Pair all that is left; at the end of a record one half may be missing."""
        self.check(end + 1 if self._tape.torn else end - END)
        for (agent, group), pairs in self._pairs.items():
            use = self._tape.use(agent, f'command {group}')
            while pairs.decided and use is not None:
                command = pairs.decided.popleft()
                if _partner(command, pairs.sent) is not None:
                    self._on_topic(command, pairs, use)
            pairs.decided.clear()
            pairs.sent.clear()

    def _on_topic(self, command: _Command, pairs: _Pairs, use: Use) -> None:
        decision = command.decision
        assert decision is not None  # what was decided was by a decision
        partner = _partner(command, pairs.sent)
        place, found = f'decision {decision.sequence}.command', None
        if partner is None:
            if not self._tape.missing(use, command.stamp, command.log_time):
                expected = f'a message on {use.topic} with the stamp of `commanded`'
                found = Mismatch(place, expected, f'none of {vector(command.values)}')
        else:
            pairs.sent.remove(partner)
            self._tape.took('commands', use.name)
            if not _equal(command.values, partner.values):
                expected = f'{vector(partner.values)} as on {use.topic}'
                found = Mismatch(place, expected, vector(command.values))
            elif partner.besides:
                expected = 'a message that says the command and nothing else'
                found = Mismatch(place, expected, f'{partner.besides} on {use.topic}')
        if found is not None:
            self._tape.find(catalogue.COMMAND_ON_TOPIC, found, decision.id)

    def _decided_by(self, agent: str, command: _Command, pairs: _Pairs, use: Use) -> None:
        partner = _partner(command, pairs.decided)
        if partner is not None:
            pairs.decided.remove(partner)
            pairs.sent.appendleft(command)
            self._on_topic(partner, pairs, use)
            return
        early = pairs.begun is None or command.log_time < pairs.begun - _APART
        if early and (agent not in self._gated or self._is_in_bounds(command.values, use)):
            self._tape.spare('early', use.name)
            return  # The recorder heard of this gate only later.
        at = command.log_time if command.stamp is None else command.stamp
        torn = self._tape.torn and at >= pairs.commanded
        if (torn or self._tape.damaged(command.log_time)) and self._is_in_bounds(
            command.values, use
        ):
            self._tape.spare('torn' if torn else 'damaged', use.name)
            return
        actual = f'none for {vector(command.values)} at {command.log_time} ns'
        expected = 'a decision of the gate for each message'
        found = Mismatch(f'{use.topic} of {agent}', expected, actual)
        self._tape.find(catalogue.COMMAND_ON_TOPIC, found, None)

    def _is_in_bounds(self, values: Vector, use: Use) -> bool:
        group = next(g for g in self._tape.contract.action if f'command {g.name}' == use.name)
        return len(values) == group.size and all(
            np.float32(low) <= np.float32(value) <= np.float32(high)
            for low, value, high in zip(group.low, values, group.high, strict=True)
        )


def _partner(command: _Command, others: deque[_Command]) -> _Command | None:
    """Return the other half: by stamp, or where messages have none, by value and time."""
    stamped = command.stamp is not None and any(other.stamp is not None for other in others)
    if stamped:
        same = [other for other in others if other.stamp == command.stamp]
    else:
        same = [o for o in others if abs(o.log_time - command.log_time) < _APART]
    fitting = [other for other in same if _equal(other.values, command.values)]
    if fitting or not stamped:
        # Without stamps the order alone tells a changed command from a lost one.
        return next(iter(fitting or same), None)
    return next(iter(same), None)


def _equal(one: Vector, other: Vector) -> bool:
    """
    Return whether two commands are the same in the precision of the message.

    The gate rounds a float32 inwards, so it may be the one beside the nearest.
    """
    return len(one) == len(other) and all(
        a == b or abs(np.float32(a) - np.float32(b)) <= np.spacing(abs(np.float32(b)))
        for a, b in zip(one, other, strict=True)
    )
