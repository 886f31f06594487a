# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an auditor remembers of a record: the last few of everything, and no more."""

from __future__ import annotations

from collections import deque, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.gate.decision import (
    ActionRequest,
    GateDecision,
    StepId,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.gate.rules.recorded import was_deactivated
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.core.transition import ActuationEvidence, PrivilegedObservation, Transition
from boundary_env_ros.evidence.audit.rules.base import (
    Asked,
    ASKED_KEPT,
    is_republished,
    is_unheard,
    Link,
    Terms,
)
from boundary_env_ros.evidence.audit.rules.whole import Pair

#: Episodes, decisions, steps and observations that are remembered; beyond that memory stays flat.
EPISODES, WINDOW, RECENT, PAST = 65_536, 1024, 64, 64

T = TypeVar('T')
Key = tuple[int, int]


class Window(OrderedDict[Key, T]):
    """The last few of something by the key of its decision."""

    def put(self, decision: GateDecision, value: T) -> T | None:
        """Remember a value; return the one that has to be forgotten for it."""
        self[key_of(decision)] = value
        return self.popitem(last=False)[1] if len(self) > WINDOW else None


#: Published decisions that are remembered: a third derivative is of four.
EMITTED = 3

#: Commands that are remembered since a client was obeyed; a silence ends in a stop before that.
HELD = 64


@dataclass(slots=True)
class Chain:
    """The decisions of one gate, as far as the next one needs them."""

    before: GateDecision | None = None
    emitted: tuple[GateDecision, ...] = ()
    heard: ActionRequest | None = None
    seen: ActionRequest | None = None
    obeyed: GateDecision | None = None
    ticked: GateDecision | None = None
    since_obeyed: tuple[Vector, ...] = ()
    goal: Vector | None = None
    deactivated: bool = False
    lease: str = ''
    asked: tuple[Asked, ...] | None = None

    def link(
        self, decision: GateDecision, place: str, terms: Terms | None, *, direct: bool
    ) -> Link:
        """Return the decision in its chain, and go on to it."""
        before, request = self.before, decision.request
        refused = decision.verdict is Verdict.REJECTED
        last = self.emitted[-1] if self.emitted else None
        if not refused and (last is None or last.id.episode_id != decision.id.episode_id):
            self.goal = None
        if request is not None and not is_unheard(decision):
            self._ask(request, decision.received, begins=before is None)
        link = Link(
            decision=decision,
            place=place,
            before=before,
            emitted=self.emitted,
            heard=self.heard,
            seen=self.seen,
            obeyed=self.obeyed,
            ticked=self.ticked,
            since_obeyed=self.since_obeyed,
            goal=self.goal,
            deactivated=self.deactivated,
            asked=self.asked,
            direct=direct,
            terms=terms,
        )
        self.before = decision
        if was_deactivated(decision):
            self.deactivated = True
        elif decision.published:
            self.deactivated = False
        if request is not None:
            self.seen = request
            if not refused:
                self.heard = request
        if decision.trigger in (Trigger.TIMER, Trigger.PROBE) and decision.published:
            self.ticked = decision
        if not refused and decision.trigger in (Trigger.REQUEST, Trigger.CHUNK, Trigger.OPERATOR):
            self.obeyed = decision
        if decision.published:
            self._go_on(decision)
        return link

    def _ask(self, request: ActionRequest, received: ClockReading | None, *, begins: bool) -> None:
        """Take note of a request that was asked how late it is."""
        if request.lease_id != self.lease:
            self.lease = request.lease_id
            # Where the record begins in the middle of a lease, what came before is not known.
            self.asked = None if begins and request.sequence > 1 else ()
        if self.asked is not None:
            self.asked = (*self.asked[1 - ASKED_KEPT :], (request.observed, received))

    def _go_on(self, decision: GateDecision) -> None:
        """Take note of a decision that published a command."""
        if decision.verdict is Verdict.STOPPED:
            self.goal = decision.command
        elif decision.trigger is not Trigger.TIMER or is_republished(decision):
            # Also where a timer begins with what is commanded: after a change of hands.
            self.goal = decision.requested_command
        if decision is self.obeyed:
            self.since_obeyed = ()
        self.since_obeyed = (*self.since_obeyed[1 - HELD :], decision.command)
        self.emitted = (*self.emitted[1 - EMITTED :], decision)


@dataclass(slots=True)
class Agent:
    """
    What is remembered of one agent.

    ``bereft`` is the last episode whose ending others declared, for its environment was dead;
    ``ahead`` is evidence of execution whose step has not come yet.
    """

    last: Transition | None = None
    start: Transition | None = None
    status: EpisodeStatus | None = None
    truth: PrivilegedObservation | None = None
    leaks: dict[Pair, tuple[float, int]] = field(default_factory=dict)
    left: OrderedDict[str, None] = field(default_factory=OrderedDict)
    bereft: str = ''
    carried: Chain = field(default_factory=Chain)
    sent: Chain = field(default_factory=Chain)
    fresh: bool = True
    past: deque[Mapping[str, Vector]] = field(default_factory=lambda: deque(maxlen=PAST))
    recent: deque[Transition] = field(default_factory=lambda: deque(maxlen=RECENT))
    executed: Window[tuple[GateDecision, Transition]] = field(default_factory=lambda: Window())
    ahead: OrderedDict[Key, ActuationEvidence] = field(default_factory=OrderedDict)
    only_carried: Window[tuple[StepId, GateDecision, int]] = field(
        default_factory=lambda: Window()
    )
    only_sent: Window[GateDecision] = field(default_factory=lambda: Window())


def key_of(decision: GateDecision) -> tuple[int, int]:
    """Return what tells decisions apart, also if the gate was started anew in between."""
    return decision.sequence, decision.commanded.steady if decision.commanded else 0


def answered(now: Transition, agent: Agent) -> Transition | None:
    """Return the step whose observation the action of this one answers."""
    request = None if now.answer is None else now.answer.request
    if request is None:
        return None
    for step in reversed(agent.recent):
        if (step.id.episode_id, step.id.step) == (now.id.episode_id, request.observed_step):
            return step
    return None
