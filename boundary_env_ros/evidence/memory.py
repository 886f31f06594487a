# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an auditor remembers of a record: the last few of everything, and no more."""

from __future__ import annotations

from collections import deque, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from boundary_env_ros.core.decision import ActionRequest, GateDecision, StepId, Verdict
from boundary_env_ros.core.episode import EpisodeStatus
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.transition import EvaluatorRecord, Transition
from boundary_env_ros.evidence.rules.base import Link
from boundary_env_ros.evidence.rules.whole import Pair

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


@dataclass(slots=True)
class Chain:
    """The decisions of one gate, as far as the next one needs them."""

    before: GateDecision | None = None
    published: GateDecision | None = None
    heard: ActionRequest | None = None
    seen: ActionRequest | None = None
    obeyed: GateDecision | None = None

    def link(self, decision: GateDecision, place: str, *, direct: bool) -> Link:
        """Return the decision in its chain, and go on to it."""
        link = Link(
            decision=decision,
            place=place,
            before=self.before,
            published=self.published,
            heard=self.heard,
            seen=self.seen,
            obeyed=self.obeyed,
            direct=direct,
        )
        self.before = decision
        if decision.request is not None:
            self.seen = decision.request
            if decision.verdict is not Verdict.REJECTED:
                self.heard = decision.request
                self.obeyed = decision
        if decision.published:
            self.published = decision
        return link


@dataclass(slots=True)
class Agent:
    """
    What is remembered of one agent.

    ``bereft`` is the last episode whose ending others declared, for its environment was dead.
    """

    last: Transition | None = None
    start: Transition | None = None
    status: EpisodeStatus | None = None
    truth: EvaluatorRecord | None = None
    leaks: dict[Pair, tuple[float, int]] = field(default_factory=dict)
    left: OrderedDict[str, None] = field(default_factory=OrderedDict)
    bereft: str = ''
    carried: Chain = field(default_factory=Chain)
    sent: Chain = field(default_factory=Chain)
    fresh: bool = True
    past: deque[Mapping[str, Vector]] = field(default_factory=lambda: deque(maxlen=PAST))
    recent: deque[Transition] = field(default_factory=lambda: deque(maxlen=RECENT))
    executed: Window[tuple[GateDecision, Transition]] = field(default_factory=lambda: Window())
    only_carried: Window[tuple[StepId, GateDecision]] = field(default_factory=lambda: Window())
    only_sent: Window[GateDecision] = field(default_factory=lambda: Window())


def key_of(decision: GateDecision) -> tuple[int, int]:
    """Return what tells decisions apart, also if the gate was started anew in between."""
    return decision.sequence, decision.commanded.steady if decision.commanded else 0


def answered(now: Transition, agent: Agent) -> Transition | None:
    """Return the step whose observation the action of this one answers."""
    if not 0 <= now.decision < len(now.decisions):
        return None
    decision = now.decisions[now.decision]
    asked = decision.id if decision.request is None else decision.request.id
    for step in reversed(agent.recent):
        if (step.id.episode_id, step.id.step) == (asked.episode_id, asked.step - 1):
            return step
    return None
