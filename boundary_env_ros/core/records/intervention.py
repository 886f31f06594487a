# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Interventions: how often a person had the robot, and in what that person did otherwise.

They are read out of the decisions of the gate, each of which says who triggered it. One begins
with the first command of an operator and ends when the gate obeys the policy again.
"""

from __future__ import annotations

from boundary_env_ros.core.records.decision import OPERATOR, Reason, Trigger, Verdict
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

UNKNOWN_TOPIC = 'an unknown topic'


class InterventionTracker:
    """Counts how often a person took the robot over, in the steps of one agent in their order."""

    def __init__(self) -> None:
        self._episode = ''
        self._by_hand = False

    def follow(self, transition: Transition) -> int:
        """Return how many interventions begin in a step."""
        if transition.id.episode_id != self._episode:
            self._episode, self._by_hand = transition.id.episode_id, False
        begun = 0
        for decision in transition.decisions:
            if decision.trigger is Trigger.OPERATOR:
                begun += not self._by_hand
                self._by_hand = True
            elif (
                decision.trigger is not Trigger.TIMER and decision.verdict is not Verdict.REJECTED
            ):
                self._by_hand = False
        return begun


@frozen
class Intervention:
    """
    What an operator did in one step.

    Attributes
    ----------
    topic
        Where the commands came from.
    commands
        How many of them went out.
    dimensions
        Those of the command in which they ask for anything else than the policy did; all, while
        the policy asked for nothing.

    """

    topic: str
    commands: int
    dimensions: frozenset[int]


def intervention_in(transition: Transition) -> Intervention | None:
    """Return what an operator did in one step; None if no command of theirs came to the gate."""
    requested: Vector = ()
    for decision in transition.decisions:
        # What the policy asked for in this step, before or after; it may have been refused.
        refused = any(result.reason is Reason.OPERATOR for result in decision.rules)
        if decision.request is not None and (decision.requested_command or refused):
            requested = decision.requested_command or decision.request.action
    by_hand = [d for d in transition.decisions if d.trigger is Trigger.OPERATOR]
    if not by_hand:
        return None
    topics = (m.topic for m in by_hand[0].inputs.measurements if m.name == OPERATOR)
    return Intervention(
        topic=next(topics, UNKNOWN_TOPIC),
        commands=sum(decision.published for decision in by_hand),
        dimensions=frozenset(
            i
            for wanted in (decision.requested_command for decision in by_hand)
            for i, value in enumerate(wanted)
            if len(requested) != len(wanted) or value != requested[i]
        ),
    )
