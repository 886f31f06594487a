# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Evidence of execution that the environment must have published, and the record does not have."""

from __future__ import annotations

import math

from boundary_env_ros.core.environment.actuation import Actuation, HISTORY
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.timebase import to_nanoseconds
from boundary_env_ros.core.transition import ActuationEvidence, Transition
from boundary_env_ros.evidence.audit.memory import key_of
from boundary_env_ros.evidence.audit.raw_messages.message_history import BEGINNING, MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import MOST
from boundary_env_ros.evidence.audit.rules.base import Mismatch, vector
from boundary_env_ros.evidence.audit.rules.whole import shows
from boundary_env_ros.evidence.bounded import Bounded

_TYPE = 'boundary_env_ros/msg/ActuationEvidence'

#: What the report calls it.
_NAME = 'late evidence'

#: Commands of one agent whose evidence is waited for.
_SOME = 64


class EvidenceChecks:
    """
    Asks for the evidence of what was commanded.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._history = history
        topics = {group.feedback.topic: '' for group in history.contract.action}
        self._moved = Actuation.of(history.contract, topics, drivers_heard=False).moved
        self._patience = to_nanoseconds(history.contract.safety.command_timeout)
        self._told: Bounded[tuple[int, int], None] = Bounded()
        self._began = 0
        self._last: dict[str, Transition] = {}
        # The commands without evidence, each with the step before it.
        self._owed: dict[str, list[tuple[GateDecision, Transition]]] = {}

    def came(self, evidence: ActuationEvidence) -> None:
        """Take note of evidence."""
        self._history.asked[_NAME] += 1
        self._told.put((evidence.decision_sequence, evidence.commanded.steady), None, MOST)

    def check(self, now: Transition, log_time: int) -> None:
        """
        Ask for what came out with the step before, at the latest, once all evidence has come.

        What comes out with the last step of an episode may be lost with its environment; of a
        record without any evidence the auditor says what that leaves unknown.
        """
        agent, last = now.id.agent, self._last.get(now.id.agent)
        owed, self._owed[agent] = self._owed.get(agent, []), []
        self._last[agent], self._began = now, self._began or log_time
        if last is None or last.id.episode_id != now.id.episode_id:
            return
        for decision, before in owed[-_SOME:]:
            if key_of(decision) in self._told:
                continue
            is_asked = _TYPE in self._history.topics.values()
            if is_asked and self._is_shown(decision, before, last, log_time):
                self._lacks(decision, last, log_time)
            elif _sent(decision) + self._patience > last.closed.ros.nanoseconds:
                self._owed[agent].append((decision, before))
        self._owed[agent] += [
            (decision, last)
            for decision in now.decisions
            if not (now.actuated and decision is now.answer)
            and shows(decision, self._history.contract)
        ]

    def _lacks(self, decision: GateDecision, step: Transition, log_time: int) -> None:
        history = self._history
        if history.torn or log_time - self._began < BEGINNING:
            history.spare('torn' if history.torn else 'early', _NAME)
        elif not history.lost_one(_NAME, log_time, log_time - BEGINNING):
            place = f'evidence for decision {decision.sequence}'
            expected = f'one, since {vector(step.measured_action)} was measured'
            history.find('execution-measured', Mismatch(place, expected, 'none'), step.id)

    def _is_shown(
        self, decision: GateDecision, before: Transition, after: Transition, log_time: int
    ) -> bool:
        """
        Return whether the environment must have seen a command in its feedback.

        It had what the steps before the command and after it say that was measured. If the one
        after shows it against the one before, and against all feedback up to the first behind the
        command, then whatever it missed in between, some feedback was the first to show it.
        """
        values, wanted = before.measured_action, after.measured_action
        start, sent, end = _at(before), _sent(decision), _at(after)
        in_time = 0 < start <= sent < end <= sent + self._patience
        if not in_time or not self._moved(decision, values, wanted):
            return False
        heard = [
            (each.stamp or 0, own.start, each.readings[use.name].values)
            for group, own in self._history.groups
            if (use := self._history.use(after.id.agent, f'feedback {group.name}')) is not None
            for each in self._history.window(use).newest_first(log_time)
            if start < (each.stamp or 0) <= end and use.name in each.readings
        ]
        is_behind = False
        for stamp, place, part in sorted(heard):
            values = (*values[:place], *part, *values[place + len(part) :])
            if not all(map(math.isfinite, part)):
                return False
            if not is_behind and not self._moved(decision, values, wanted):
                return False
            is_behind = is_behind or stamp > sent
        return is_behind and len(heard) < HISTORY  # of more it keeps the last ones


def _sent(decision: GateDecision) -> int:
    return 0 if decision.commanded is None else decision.commanded.ros.nanoseconds


def _at(step: Transition) -> int:
    return 0 if step.measured_at is None else step.measured_at.nanoseconds
