# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an auditor remembers of a record: the last few of everything, and no more."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from boundary_env_ros.core.records.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.audit.rules.audit_rule import AuditTerms, DecisionLink
from boundary_env_ros.evidence.audit.rules.whole import Pair
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.replay.decisions_again import DecisionsAgain
from boundary_env_ros.evidence.replay.steps_again import StepsAgain

#: Episodes, decisions, steps and observations that are remembered; beyond that memory stays flat.
EPISODES, WINDOW, RECENT = 65_536, 1024, 64

#: Nanoseconds behind a hole in which a record may speak of what was in it.
BEHIND = 2 * NANOSECONDS

#: Nanoseconds by which messages of several topics may be in another order than they came in.
EDGE = NANOSECONDS // 20

Key = tuple[int, int]

#: What comes with another record under the same id.
Half: TypeAlias = Transition | PrivilegedObservation


#: Published decisions that are remembered: a third derivative is of four.
EMITTED = 3


def link(
    last: DecisionLink | None,
    decision: GateDecision,
    place: str,
    terms: AuditTerms | None,
    *,
    direct: bool,
) -> DecisionLink:
    """Return the next decision of a gate in the chain of its decisions."""
    if last is None:
        return DecisionLink(decision=decision, place=place, direct=direct, terms=terms)
    before = last.decision
    request, trigger = before.request, before.trigger
    refused = before.verdict is Verdict.REJECTED
    emitted, ticked, obeyed = last.emitted, last.ticked, last.obeyed
    heard = request if request is not None and not refused else last.heard
    if direct and decision.sequence > before.sequence + 1:
        emitted, heard = (), None  # Which were the last ones is not in the record.
    elif before.published:
        emitted = (*emitted[1 - EMITTED :], before)
        ticked = before if trigger in (Trigger.TIMER, Trigger.PROBE) else ticked
    if not refused and trigger in (Trigger.REQUEST, Trigger.CHUNK, Trigger.OPERATOR):
        obeyed = before
    return DecisionLink(
        decision=decision,
        place=place,
        before=before,
        emitted=emitted,
        heard=heard,
        seen=request or last.seen,
        obeyed=obeyed,
        ticked=ticked,
        direct=direct,
        terms=terms,
    )


@dataclass(slots=True)
class DecisionSeries:
    """The decisions of one gate, as its topic or its steps have them: the first, the last one."""

    first: GateDecision | None = None
    last: DecisionLink | None = None
    again: DecisionsAgain | None = None

    def follow(
        self, decision: GateDecision, place: str, terms: AuditTerms | None, *, direct: bool
    ) -> DecisionLink:
        """Take the next one, and return it in their chain."""
        self.first = self.first or decision
        self.last = link(self.last, decision, place, terms, direct=direct)
        return self.last

    def outside(self, steady: int) -> tuple[bool, bool]:
        """Return whether a steady instant is before the first one, and behind the last one."""
        first, last = self.first, self.last
        before = first is not None and steady < first.decided.steady
        return before, last is None or steady > last.decision.decided.steady


class Holes:
    """
    The parts of a record whose messages were damaged.

    Parameters
    ----------
    holes
        The log times that each is between, nanoseconds.

    """

    def __init__(self, holes: Iterable[tuple[int, int]]) -> None:
        self._holes = sorted(holes)

    def __len__(self) -> int:
        return len(self._holes)

    def _last(self, log_time: int) -> tuple[int, int] | None:
        """Return the last one that begins before a log time; None if none does."""
        place = bisect_left(self._holes, (log_time,))
        return self._holes[place - 1] if place else None

    def begin_at(self, log_time: int) -> None:
        """Take what came before the record for missing."""
        if self._last(1) is None:
            self._holes.insert(0, (0, log_time))

    def fill(self, log_time: int) -> None:
        """Take note of a message: nothing is missing around it."""
        hole = self._last(log_time - EDGE) if self._holes else None
        if hole is not None and log_time < hole[1] - EDGE:
            self._holes.remove(hole)

    def reach(self, log_time: int) -> bool:
        """Return whether a record may speak of what was in one."""
        hole = self._last(log_time + 1)
        return hole is not None and log_time <= hole[1] + BEHIND


@dataclass(slots=True)
class Agent:
    """
    What is remembered of one agent.

    ``waiting`` is, by episode, the step that its environment was at before the first one came;
    ``bereft`` are the episodes whose ending others declared, for their environment was dead;
    ``ahead`` is evidence of execution whose step has not come yet, with its log time; ``halves``
    are steps without their record of privileged fields, and the other way round, each with the log
    time of the last record then and its number in the order of both, and ``whole`` the numbers of
    the first and the last of each kind that have both; ``steps`` is the last step of each episode,
    and ``named`` the last that the gate names in a decision, with the log time of the first one.
    """

    last: Transition | None = None
    start: Transition | None = None
    status: EpisodeStatus | None = None
    waiting: Bounded[str, int] = field(default_factory=Bounded)
    halves: Bounded[StepId, tuple[Half, int, int]] = field(default_factory=Bounded)
    whole: dict[type, tuple[int, int]] = field(default_factory=dict)
    leaks: dict[Pair, tuple[float, int]] = field(default_factory=dict)
    steps: Bounded[str, int] = field(default_factory=Bounded)
    first_named: StepId | None = None
    named: Bounded[str, tuple[StepId, int]] = field(default_factory=Bounded)
    bereft: Bounded[str, None] = field(default_factory=Bounded)
    carried: DecisionSeries = field(default_factory=DecisionSeries)
    sent: DecisionSeries = field(default_factory=DecisionSeries)
    steps_again: StepsAgain | None = None
    fresh: bool = True
    recent: deque[Transition] = field(default_factory=lambda: deque(maxlen=RECENT))
    executed: Bounded[Key, tuple[GateDecision, Transition]] = field(default_factory=Bounded)
    ahead: Bounded[Key, tuple[ActuationEvidence, int]] = field(default_factory=Bounded)
    only_carried: Bounded[Key, tuple[StepId, GateDecision, int]] = field(default_factory=Bounded)
    only_sent: Bounded[Key, GateDecision] = field(default_factory=Bounded)

    def name(self, of: StepId, log_time: int) -> None:
        """Take note of the step that the gate names in a decision."""
        self.first_named = self.first_named or of
        known = self.named.get(of.episode_id)
        if known is None or of.step > known[0].step:
            self.named.put(of.episode_id, (of, log_time), EPISODES)

    def last_step(self, episode: str) -> int:
        """Return the last step that the record has, or the one at which it begins."""
        first = self.first_named
        begins = first.step if first is not None and first.episode_id == episode else 0
        return max(self.steps.get(episode, 0), begins)

    def may_lack(self, of: StepId) -> bool:
        """Return whether a step may have been on its way when environment or recorder ended."""
        last, status, name = self.last, self.status, of.episode_id
        if of.step != self.steps.get(name, -1) + 1:
            return False
        if last is not None and last.id.episode_id == name:
            return not (last.terminated or last.truncated)
        return name in self.bereft or (status is not None and status.id.episode_id == name)


def answered(now: Transition, agent: Agent) -> Transition | None:
    """Return the step whose observation the action of this one answers."""
    wanted = now.request and (now.id.episode_id, now.request.observed_step)
    steps = reversed(agent.recent)
    return next((s for s in steps if (s.id.episode_id, s.id.step) == wanted), None)
