# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The record of one step, whole. It mirrors ``Transition.msg`` field by field.

A transition explains itself: what was seen, asked, allowed, sent, done, why, when and what it was
worth.
"""

from __future__ import annotations

from enum import IntEnum

from boundary_env_ros.core.records.decision import ActionRequest, GateDecision, Verdict
from boundary_env_ros.core.records.latency import Latency
from boundary_env_ros.core.records.observation import Observation, ObservationField
from boundary_env_ros.core.records.parts import KeyValue, NamedValues, Pacing, StepId
from boundary_env_ros.core.serialization import json_object
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


class Kind(IntEnum):
    """Reset or step."""

    RESET = 1
    STEP = 2


@frozen
class RewardTerm:
    """One term of the reward."""

    name: str
    value: float


#: The option of every reset that says in words what the policy is to do; tasks do not get it.
INSTRUCTION = 'instruction'


@frozen
class ResetRecord:
    """What a reset was meant to reach, what it reached, and who says so."""

    seed_given: bool
    options: str
    sampled: tuple[NamedValues, ...]
    achieved: tuple[NamedValues, ...]
    tolerance: tuple[NamedValues, ...]
    within_tolerance: bool
    confirmed_by: str
    duration: float | None = None

    @property
    def instruction(self) -> str:
        """Return what the policy was told to do, in words; empty if it was told nothing."""
        try:
            text = json_object(self.options).get(INSTRUCTION)
        except ValueError:
            return ''
        return text if isinstance(text, str) else ''


@frozen
class Transition:
    """
    One step of an episode; the meaning of each attribute is in ``Transition.msg``.

    What stands in the decision that answered its action, or in the request of that, is read from
    there: unknown or empty if there is none.
    """

    contract: str
    contract_version: str
    software_version: str
    client_version: str
    id: StepId
    kind: Kind
    pacing: Pacing
    seed: int
    after: tuple[ObservationField, ...]
    closed: ClockReading
    wrappers: tuple[str, ...] = ()
    reset: ResetRecord | None = None
    before: tuple[ObservationField, ...] = ()
    state: tuple[ObservationField, ...] = ()
    requested_action: Vector = ()
    admitted_action: Vector = ()
    commanded_action: Vector = ()
    measured_action: Vector = ()
    measured_at: Stamp | None = None
    verdict: Verdict | None = None
    decisions: tuple[GateDecision, ...] = ()
    decision: int = -1
    overrun: bool = False
    reward: float = 0.0
    reward_terms: tuple[RewardTerm, ...] = ()
    terminated: bool = False
    truncated: bool = False
    ending: str = ''
    declared_by: str = ''
    info: str = ''
    captured: Stamp | None = None
    opened: ClockReading | None = None
    commanded: ClockReading | None = None
    actuated: Stamp | None = None
    actuated_quantum: float | None = None
    actuated_source: str = ''
    tick_error: float | None = None
    latency: Latency = Latency()
    diagnostics: tuple[KeyValue, ...] = ()

    @property
    def observation(self) -> Observation:
        """Return what the policy sees after the step."""
        return Observation(id=self.id, observed=self.closed, fields=self.after)

    @property
    def over(self) -> bool:
        """Return whether the episode ended with it."""
        return self.terminated or self.truncated

    @property
    def answer(self) -> GateDecision | None:
        """Return the decision that answered the action of this step; None if there is none."""
        known = 0 <= self.decision < len(self.decisions)
        return self.decisions[self.decision] if known else None

    @property
    def request(self) -> ActionRequest | None:
        """Return the request that the answering decision is on; None if there is none."""
        return answer.request if (answer := self.answer) else None

    @property
    def observed(self) -> ClockReading | None:
        """Return when the observation that its action answers, or ``before``, was frozen."""
        return request.observed if (request := self.request) else self.opened

    @property
    def delivered(self) -> ClockReading | None:
        """Return when the policy had that observation."""
        return request.delivered if (request := self.request) else None

    @property
    def requested(self) -> ClockReading | None:
        """Return when the policy sent its action."""
        return request.requested if (request := self.request) else None

    @property
    def received(self) -> ClockReading | None:
        """Return when the gate had the action."""
        return answer.received if (answer := self.answer) else None

    @property
    def held_by(self) -> str:
        """Return who kept the robot in its last command where no action came, else nothing."""
        by_gate = any(decision.published for decision in self.decisions)
        return ('gate' if by_gate else 'driver') if self.overrun else ''

    @property
    def clipped(self) -> tuple[bool, ...]:
        """Return for each dimension whether what was admitted differs from what was requested."""
        stages = zip(self.requested_action, self.admitted_action, strict=False)
        return tuple(requested != admitted for requested, admitted in stages)


@frozen
class PrivilegedObservation:
    """The privileged fields of one step, which no policy ever sees."""

    id: StepId
    fields: tuple[ObservationField, ...]


@frozen
class ActuationEvidence:
    """Evidence of execution that came after its step had been closed."""

    id: StepId
    decision_sequence: int
    commanded: ClockReading
    actuated: Stamp
    quantum: float
    source: str
    measured: Vector = ()
