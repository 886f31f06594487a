# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the robot did, held against the raw messages of the feedback."""

from __future__ import annotations

from collections.abc import Sequence

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.actuation import same_on_wire
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.inputs import ACKNOWLEDGEMENT
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.transition import ActuationEvidence, Transition
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import same_topic, Use
from boundary_env_ros.evidence.audit.rules.base import Mismatch, same, vector


class FeedbackChecks:
    """
    Holds measured actions and evidence of execution against the feedback.

    Parameters
    ----------
    history
        What the topics said.

    """

    def __init__(self, history: MessageHistory) -> None:
        self._history = history

    def check(self, now: Transition) -> None:
        """Hold the measured action of a step, and the evidence in it, against the feedback."""
        if now.measured_at is not None and now.measured_action:
            self._held(now.id, 'measured_action', now.measured_at.nanoseconds, now.measured_action)
        if now.actuated is not None and now.commanded is not None:
            at, source = now.actuated.nanoseconds, now.actuated_source
            sampled = self._before(at, now.actuated_quantum), now.commanded.ros.nanoseconds
            if not self._acknowledged(now.id, at, source, now.commanded_action, sampled):
                self._held(now.id, 'actuated', at, None)
                self._sampled(now.id, 'actuated', at, source, sampled[0])

    def evidence(self, evidence: ActuationEvidence) -> None:
        """Look at evidence of execution that came late."""
        place = f'evidence for decision {evidence.decision_sequence}'
        at, source = evidence.actuated.nanoseconds, evidence.source
        sampled = self._before(at, evidence.quantum), evidence.commanded.ros.nanoseconds
        if not self._acknowledged(evidence.id, at, source, evidence.measured, sampled):
            self._held(evidence.id, place, at, evidence.measured)
            self._sampled(evidence.id, place, at, source, sampled[0])

    @staticmethod
    def _before(at: int, quantum: float | None) -> int:
        """Return the stamp that a quantum says the message before had; one behind if nothing."""
        if quantum is None or not 0.0 <= quantum <= at / NANOSECONDS:
            return at + 1
        return at - round(quantum * NANOSECONDS)

    def _sampled(self, of: StepId, place: str, at: int, source: str, before: int) -> None:
        """Hold source and quantum of what was seen in the feedback against its topics."""
        history = self._history
        uses = [history.use(of.agent, f'feedback {g.name}') for g, _ in history.groups]
        known = [use for use in uses if use is not None]
        if not known or len(known) < len(uses):
            return  # told as topics that are missing
        topics = list(dict.fromkeys(use.topic for use in known))
        said = source.split()
        if len(said) != len(topics) or not all(map(same_topic, topics, said)):
            found = Mismatch(f'{place}.source', repr(' '.join(topics)), repr(source))
            history.find('execution-measured', found, of)
        self._quantum(of, place, before if before < at else at + 1, known)

    def _quantum(self, of: StepId, place: str, before: int, uses: Sequence[Use]) -> None:
        """Ask for the message before the one that shows a command, which is a quantum ago."""
        history = self._history
        if any(history.window(use).stamped(before) for use in uses):
            return
        if not history.missing(uses[0], before, history.now):
            expected = 'the time since a message before'
            none = Mismatch(f'{place}.quantum', expected, f'none is stamped {before} ns')
            history.find('execution-measured', none, of)

    def _acknowledged(
        self, of: StepId, stamp: int, source: str, values: Vector, sampled: tuple[int, int]
    ) -> bool:
        """
        Look for a driver's message with a stamp and the values of a command, or of its group.

        The quantum begins at the message before, or at the command: those are ``sampled``.
        Return whether nothing more is to be asked: the evidence is no measurement.
        """
        history = self._history
        asked: list[Use] = []
        for group, own in history.groups:
            use = history.uses.get(of.agent, {}).get(f'environment {ACKNOWLEDGEMENT}.{group.name}')
            if use is None or not same_topic(source, use.wanted):
                continue
            if not use.topic:
                return True  # told as a topic that is missing
            part = values if len(values) == group.size else values[own]
            for heard in history.window(use).stamped(stamp):
                reading = heard.readings.get(use.name)
                if reading is not None and all(map(same_on_wire, reading.values, part)):
                    history.took('environment', use.name)
                    before, commanded = sampled
                    if before != commanded:
                        self._quantum(of, 'actuated', before, [use])
                    return True
            asked.append(use)
        measured = any(same_topic(source, group.feedback.topic) for group, _ in history.groups)
        if measured or not asked:
            return False
        if not history.missing(asked[0], stamp, history.now):
            expected = f'a message on {source} at {stamp} ns with {vector(values)}'
            found = Mismatch('actuated', expected, 'none')
            history.find('values-from-sensors', found, of)
        return True

    def _held(self, of: StepId, place: str, stamp: int, values: Vector | None) -> None:
        """Ask for a message of some feedback with a stamp, and with its part of the values."""
        history = self._history
        told: list[str] = []
        uses: list[Use] = []
        found = False
        cut_off: Use | None = None
        for group, own in history.groups:
            use = history.use(of.agent, f'feedback {group.name}')
            if use is None:
                return
            uses.append(use)
            part = None if values is None else values[own]
            now = history.window(use).stamped(stamp)
            if any(_is_of(heard, use, part) for heard in now):
                found = True
            elif not now and history.is_cut_off(use, stamp):
                cut_off = use
            elif part is not None and not _earlier(history, use, part, stamp):
                # Of several groups only one need have come just then.
                told += [
                    f'{vector(heard.readings[use.name].values)} on {use.topic}'
                    for heard in now
                    if use.name in heard.readings
                ] or [f'a message on {use.topic}']
        if found and not told:
            history.took('feedback', uses[0].name)
            return
        if cut_off is not None and not told:
            history.spare('torn', cut_off.name)
            return
        if not uses or (not found and history.missing(uses[0], stamp, history.now)):
            return
        topics = ' or '.join(use.topic for use in uses)
        expected = ', '.join(told) or f'a message of that stamp on {topics}'
        actual = vector(values or ()) if told else f'none of {stamp} ns'
        history.find('values-from-sensors', Mismatch(place, expected, actual), of)


def _is_of(heard: Heard, use: Use, values: Vector | None) -> bool:
    reading = heard.readings.get(use.name)
    return reading is not None and (values is None or same(reading.values, values))


def _earlier(history: MessageHistory, use: Use, values: Vector, stamp: int) -> bool:
    """Return whether a message from before has the values."""
    return any(
        _is_of(heard, use, values)
        for heard in history.window(use).newest_first()
        if heard.stamp is None or heard.stamp < stamp
    )
