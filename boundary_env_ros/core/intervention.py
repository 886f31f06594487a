# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Interventions: when a person had the robot, from where, and in what he did otherwise.

They are read out of the decisions of the gate, each of which says who triggered it. One begins
with the first command of an operator and ends when the gate obeys the policy again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.commands import translate
from boundary_env_ros.core.gate.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.core.gate.rules.limits import OPERATOR
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.core.transition import Transition

UNKNOWN_TOPIC = 'an unknown topic'


@dataclass(slots=True, kw_only=True)
class Intervention:
    """
    One time that a person had the robot; it grows while he has it.

    Attributes
    ----------
    topic
        Where his commands came from.
    agent, episode_id, first_step, last_step
        When, as far as the steps of the policy tell.
    begun, ended
        When the first and the last of his commands went out; None if none did.
    commands
        How many of his commands went out.
    dimensions
        Those of the command in which he asked for anything else than the policy did; all, while
        the policy asked for nothing.

    """

    topic: str
    agent: str
    episode_id: str
    first_step: int
    last_step: int
    begun: ClockReading | None = None
    ended: ClockReading | None = None
    commands: int = 0
    dimensions: set[int] = field(default_factory=set)


class InterventionTracker:
    """
    Follows the decisions of one gate, in their order.

    Parameters
    ----------
    contract
        Tells which command an action means. Without it, an action that has as many values as the
        command is taken for one.

    """

    def __init__(self, contract: Contract | None = None) -> None:
        self._contract = contract
        self._episode = ''
        self._asked: Vector = ()
        self._present: Intervention | None = None

    def within(self, transition: Transition) -> Intervention | None:
        """Return what an operator did in one step alone; None if nothing."""
        self._episode, self._present = transition.id.episode_id, None
        for decision in transition.decisions:
            # What the policy asked for in this step, before or after him.
            if decision.request is not None:
                self._asked = self._wish(decision)
        for decision in transition.decisions:
            if decision.trigger is Trigger.OPERATOR:
                self._by_hand(decision, transition)
        return self._present

    def follow(self, transition: Transition) -> Iterator[Intervention]:
        """Take the decisions of a step, and yield each intervention that begins in it."""
        if transition.id.episode_id != self._episode:
            self._episode, self._asked, self._present = transition.id.episode_id, (), None
        for decision in transition.decisions:
            before = self._present
            self._take(decision, transition)
            if self._present is not None and self._present is not before:
                yield self._present

    def _take(self, decision: GateDecision, transition: Transition) -> None:
        if decision.request is not None:
            self._asked = self._wish(decision)
        if decision.trigger is Trigger.OPERATOR:
            self._by_hand(decision, transition)
        elif decision.trigger is not Trigger.TIMER and decision.verdict is not Verdict.REJECTED:
            self._present = None

    def _wish(self, decision: GateDecision) -> Vector:
        """Return the command that a policy asks for, which it may be refused."""
        if decision.requested_command:
            return decision.requested_command
        request = decision.request
        by_hand = any(result.reason is Reason.OPERATOR for result in decision.rules)
        if request is None or not by_hand:
            return self._asked
        if self._contract is None:
            return request.action
        size = self._contract.action_size
        command, _ = translate(
            self._contract.action, request.action[:size], decision.previous_command or None
        )
        return command or ()

    def _by_hand(self, decision: GateDecision, transition: Transition) -> None:
        step = transition.id.step
        if self._present is None:
            topics = [m.topic for m in decision.measurements if m.name == OPERATOR]
            self._present = Intervention(
                topic=topics[0] if topics else UNKNOWN_TOPIC,
                agent=transition.id.agent,
                episode_id=transition.id.episode_id,
                first_step=step,
                last_step=step,
            )
        hand = self._present
        hand.last_step = step
        if decision.published:
            hand.commands += 1
            hand.begun = hand.begun or decision.commanded
            hand.ended = decision.commanded
        wanted, asked = decision.requested_command, self._asked
        hand.dimensions.update(
            i for i, value in enumerate(wanted) if len(asked) != len(wanted) or value != asked[i]
        )


def intervention_in(
    transition: Transition, contract: Contract | None = None
) -> Intervention | None:
    """
    Return what an operator did in one step; None if no command of his went through the gate.

    Parameters
    ----------
    transition
        The step.
    contract
        See :class:`InterventionTracker`.

    """
    return InterventionTracker(contract).within(transition)


def interventions(
    transitions: Iterable[Transition], contract: Contract | None = None
) -> tuple[Intervention, ...]:
    """
    Return every intervention in the steps of one agent, in their order.

    Parameters
    ----------
    transitions
        Steps of one agent, in the order of the record.
    contract
        See :class:`InterventionTracker`.

    """
    hands = InterventionTracker(contract)
    return tuple(found for step in transitions for found in hands.follow(step))
