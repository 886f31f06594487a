# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the robot did, held against the raw messages of the feedback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from boundary_env_ros.core.environment.actuation import same_on_wire
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import ActuationEvidence, Transition
from boundary_env_ros.core.sources.inputs import ACKNOWLEDGEMENT, Input
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.evidence.audit.raw_messages.ties import Tie, Ties
from boundary_env_ros.evidence.audit.raw_messages.window import LazyMessage
from boundary_env_ros.evidence.audit.rules.base import Mismatch
from boundary_env_ros.evidence.record_difference import same, vector
from boundary_env_ros.evidence.wiring import same_topic


class FeedbackChecks:
    """
    Holds measured actions and evidence of execution against the feedback.

    Parameters
    ----------
    ties
        Ties values to messages.

    """

    def __init__(self, ties: Ties) -> None:
        self._ties = ties

    def check(self, now: Transition) -> None:
        """Hold the measured action of a step, and the evidence in it, against the feedback."""
        if now.measured_at is not None and now.measured_action:
            self._measured(
                now.id, 'measured_action', now.measured_at.nanoseconds, now.measured_action
            )
        if now.actuated is not None and now.commanded is not None:
            at, source = now.actuated.nanoseconds, now.actuated_source
            sampled = _before(at, now.actuated_quantum), now.commanded.ros.nanoseconds
            if not self._acknowledged(now.id, at, source, now.commanded_action, sampled):
                self._measured(now.id, 'actuated', at, None)
                self._sampled(now.id, 'actuated', at, source, sampled[0])

    def evidence(self, evidence: ActuationEvidence) -> None:
        """Look at evidence of execution that came late."""
        place = f'evidence for decision {evidence.decision_sequence}'
        at, source = evidence.actuated.nanoseconds, evidence.source
        sampled = _before(at, evidence.quantum), evidence.commanded.ros.nanoseconds
        if not self._acknowledged(evidence.id, at, source, evidence.measured, sampled):
            self._measured(evidence.id, place, at, evidence.measured)
            self._sampled(evidence.id, place, at, source, sampled[0])

    def _feedback(self, of: StepId) -> Sequence[Input]:
        """Return the topics of the feedback; empty if the record lacks one, which is told."""
        uses = [self._ties.use(of.agent, f'feedback {g.name}') for g, _ in self._ties.groups]
        known = [use for use in uses if use is not None]
        return known if len(known) == len(uses) else ()

    def _sampled(self, of: StepId, place: str, at: int, source: str, before: int) -> None:
        """Hold source and quantum of what was seen in the feedback against its topics."""
        uses = self._feedback(of)
        if not uses:
            return
        topics = list(dict.fromkeys(use.at for use in uses))
        said = source.split()
        if len(said) != len(topics) or not all(map(same_topic, topics, said)):
            found = Mismatch(f'{place}.source', repr(' '.join(topics)), repr(source))
            self._ties.find('execution-measured', found, of)
        self._quantum(of, place, before if before < at else at + 1, uses)

    def _quantum(self, of: StepId, place: str, before: int, uses: Sequence[Input]) -> None:
        """Ask for the message before the one that shows a command, which is a quantum ago."""
        expected, actual = 'the time since a message before', f'none is stamped {before} ns'
        none = Mismatch(f'{place}.quantum', expected, actual)
        self._any(of, 'feedback', uses, before, none, rule='execution-measured')

    def _acknowledged(
        self, of: StepId, stamp: int, source: str, values: Vector, sampled: tuple[int, int]
    ) -> bool:
        """
        Look for a driver's message with a stamp and the values of a command, or of its group.

        The quantum begins at the message before, or at the command: those are ``sampled``.
        Return whether the evidence is no measurement.
        """
        ties = self._ties
        parts: dict[str, Vector] = {}
        uses: list[Input] = []
        for group, own in ties.groups:
            use = ties.uses.get(of.agent, {}).get(f'environment {ACKNOWLEDGEMENT}.{group.name}')
            if use is None or not same_topic(source, use.topic):
                continue
            if not use.at:
                return True  # told as a topic that is missing
            uses.append(use)
            parts[use.label] = values if len(values) == group.size else values[own]
        if not uses or any(same_topic(source, g.feedback.topic) for g, _ in ties.groups):
            return False
        expected = f'a message on {source} at {stamp} ns with {vector(values)}'
        none = Mismatch('actuated', expected, 'none')

        def differences(use: Input, message: LazyMessage) -> tuple[Mismatch, ...]:
            again, part = message.readings[use].values, parts[use.label]
            is_same = len(again) == len(part) and all(map(same_on_wire, again, part))
            return () if is_same else (none,)

        self._any(of, 'environment', uses, stamp, none, differences)
        before, commanded = sampled
        if before != commanded:
            self._quantum(of, 'actuated', before, uses)
        return True

    def _measured(self, of: StepId, place: str, stamp: int, values: Vector | None) -> None:
        """Ask for a message of some feedback with a stamp, and with its part of the values."""
        uses = self._feedback(of)
        if not uses:
            return
        parts = {
            use.label: None if values is None else values[own]
            for use, (_, own) in zip(uses, self._ties.groups, strict=True)
        }
        topics = ' or '.join(use.at for use in uses)
        none = Mismatch(place, f'a message of that stamp on {topics}', f'none of {stamp} ns')
        self._any(of, 'feedback', uses, stamp, none, partial(_differences, place, parts))

    def _any(
        self,
        of: StepId,
        kind: str,
        uses: Sequence[Input],
        stamp: int,
        none: Mismatch,
        differences: Callable[[Input, LazyMessage], Sequence[Mismatch]] = lambda use, message: (),
        rule: str = 'values-from-sensors',
    ) -> None:
        """Tie something to a message with a stamp; of several groups only one need have come."""
        self._ties.tie(
            Tie(
                of=of,
                log_time=self._ties.now,
                kind=kind,
                uses=uses,
                key=(True, stamp),
                differences=differences,
                none=none,
                rule=rule,
            )
        )


def _before(at: int, quantum: float | None) -> int:
    """Return the stamp that a quantum says the message before had; one behind if nothing."""
    if quantum is None or not 0.0 <= quantum <= at / NANOSECONDS:
        return at + 1
    return at - round(quantum * NANOSECONDS)


def _differences(
    place: str, parts: dict[str, Vector | None], use: Input, message: LazyMessage
) -> tuple[Mismatch, ...]:
    again, part = message.readings[use].values, parts[use.label]
    if part is None or same(again, part):
        return ()
    return (Mismatch(place, f'{vector(again)} on {use.at}', vector(part)),)
