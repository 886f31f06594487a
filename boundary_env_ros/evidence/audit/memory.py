# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an auditor remembers of a record: the last few of everything, and no more."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.gate.decision import (
    GateDecision,
    StepId,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.transition import ActuationEvidence, PrivilegedObservation, Transition
from boundary_env_ros.evidence.audit.rules.base import (
    Link,
    Terms,
)
from boundary_env_ros.evidence.audit.rules.whole import Pair
from boundary_env_ros.evidence.bounded import Bounded
from boundary_env_ros.evidence.replay.decisions import DecisionsAgain

#: Episodes, decisions, steps and observations that are remembered; beyond that memory stays flat.
EPISODES, WINDOW, RECENT = 65_536, 1024, 64

Key = tuple[int, int]

#: Published decisions that are remembered: a third derivative is of four.
EMITTED = 3


def link(
    last: Link | None, decision: GateDecision, place: str, terms: Terms | None, *, direct: bool
) -> Link:
    """Return the next decision of a gate in the chain of its decisions."""
    if last is None:
        return Link(decision=decision, place=place, direct=direct, terms=terms)
    before = last.decision
    request, trigger = before.request, before.trigger
    refused = before.verdict is Verdict.REJECTED
    emitted, ticked, obeyed = last.emitted, last.ticked, last.obeyed
    if before.published:
        emitted = (*emitted[1 - EMITTED :], before)
        ticked = before if trigger in (Trigger.TIMER, Trigger.PROBE) else ticked
    if not refused and trigger in (Trigger.REQUEST, Trigger.CHUNK, Trigger.OPERATOR):
        obeyed = before
    return Link(
        decision=decision,
        place=place,
        before=before,
        emitted=emitted,
        heard=request if request is not None and not refused else last.heard,
        seen=request or last.seen,
        obeyed=obeyed,
        ticked=ticked,
        direct=direct,
        terms=terms,
    )


@dataclass(slots=True)
class Agent:
    """
    What is remembered of one agent.

    ``waiting`` is, by episode, the step that its environment was at before the first one came;
    ``bereft`` are the episodes whose ending others declared, for their environment was dead;
    ``ahead`` is evidence of execution whose step has not come yet, ``early`` names the episodes of
    what came before any step; ``halves`` are steps without their record of privileged fields, and
    the other way round, each with the log time of the last record then; ``steps`` and ``decided``
    are the last step of each episode, and the last that the gate names in a decision, once its
    step ought to have come; until then it is among ``named``, with when that was decided.
    """

    last: Transition | None = None
    start: Transition | None = None
    status: EpisodeStatus | None = None
    waiting: dict[str, int] = field(default_factory=dict)
    halves: Bounded[StepId, tuple[Transition | PrivilegedObservation, int]] = field(
        default_factory=Bounded
    )
    leaks: dict[Pair, tuple[float, int]] = field(default_factory=dict)
    steps: Bounded[str, int] = field(default_factory=Bounded)
    decided: Bounded[str, StepId] = field(default_factory=Bounded)
    named: deque[tuple[int, StepId]] = field(default_factory=deque)
    bereft: Bounded[str, None] = field(default_factory=Bounded)
    carried: Link | None = None
    carried_again: DecisionsAgain | None = None
    sent_again: DecisionsAgain | None = None
    sent: Link | None = None
    fresh: bool = True
    recent: deque[Transition] = field(default_factory=lambda: deque(maxlen=RECENT))
    executed: Bounded[Key, tuple[GateDecision, Transition]] = field(default_factory=Bounded)
    early: set[str] = field(default_factory=set)
    ahead: Bounded[Key, ActuationEvidence] = field(default_factory=Bounded)
    only_carried: Bounded[Key, tuple[StepId, GateDecision, int]] = field(default_factory=Bounded)
    only_sent: Bounded[Key, GateDecision] = field(default_factory=Bounded)

    def look_at_named(self, until: float) -> None:
        """Take the steps that the gate had named before an instant, ns, for ones that were."""
        while self.named and self.named[0][0] < until:
            _, of = self.named.popleft()
            if of.step >= self.decided.get(of.episode_id, of).step:
                self.decided.put(of.episode_id, of, EPISODES)

    def may_lack(self, of: StepId) -> bool:
        """Return whether a step may have been on its way when environment or recorder ended."""
        last, status, name = self.last, self.status, of.episode_id
        if of.step != self.steps.get(name, -1) + 1:
            return False
        if last is not None and last.id.episode_id == name:
            return not (last.terminated or last.truncated)
        return name in self.bereft or (status is not None and status.id.episode_id == name)


def key_of(decision: GateDecision) -> tuple[int, int]:
    """Return what tells decisions apart, also if the gate was started anew in between."""
    return decision.sequence, decision.commanded.steady if decision.commanded else 0


def answered(now: Transition, agent: Agent) -> Transition | None:
    """Return the step whose observation the action of this one answers."""
    wanted = now.request and (now.id.episode_id, now.request.observed_step)
    steps = reversed(agent.recent)
    return next((s for s in steps if (s.id.episode_id, s.id.step) == wanted), None)
