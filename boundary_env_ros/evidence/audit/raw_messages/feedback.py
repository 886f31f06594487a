# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the robot did, held against the raw messages of the feedback."""

from __future__ import annotations

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.actuation import same_on_wire
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.sources.inputs import ACKNOWLEDGEMENT
from boundary_env_ros.core.transition import ActuationEvidence, Transition
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import same_topic, Use
from boundary_env_ros.evidence.audit.rules import catalogue
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
        if now.actuated is not None:
            at = now.actuated.nanoseconds
            if not self._acknowledged(now.id, at, now.actuated_source, now.commanded_action):
                self._held(now.id, 'actuated', at, None)

    def evidence(self, evidence: ActuationEvidence) -> None:
        """Look at evidence of execution that came late."""
        place = f'evidence for decision {evidence.decision_sequence}'
        at = evidence.actuated.nanoseconds
        if not self._acknowledged(evidence.id, at, evidence.source, evidence.measured):
            self._held(evidence.id, place, at, evidence.measured)

    def _acknowledged(self, of: StepId, stamp: int, source: str, values: Vector) -> bool:
        """
        Look for a driver's message with a stamp and the values of a command, or of its group.

        Return whether nothing more is to be asked: the evidence is no measurement.
        """
        history = self._history
        wiring = history.wiring.get(of.agent)
        if wiring is None:
            return False
        asked: list[Use] = []
        for group, start in wiring.groups:
            use = wiring.uses.get(f'environment {ACKNOWLEDGEMENT}.{group.name}')
            if use is None or not same_topic(source, use.wanted):
                continue
            if not use.topic:
                return True  # told as a topic that is missing
            part = values if len(values) == group.size else values[start : start + group.size]
            for heard in history.window(use).stamped(stamp):
                reading = heard.readings.get(use.name)
                if reading is not None and all(map(same_on_wire, reading.values, part)):
                    history.took('environment', use.name)
                    return True
            asked.append(use)
        measured = any(same_topic(source, group.feedback.topic) for group, _ in wiring.groups)
        if measured or not asked:
            return False
        if not history.missing(asked[0], stamp, history.now):
            expected = f'a message on {source} at {stamp} ns with {vector(values)}'
            found = Mismatch('actuated', expected, 'none')
            history.find(catalogue.VALUES_FROM_SENSORS, found, of)
        return True

    def _held(self, of: StepId, place: str, stamp: int, values: Vector | None) -> None:
        """Ask for a message of some feedback with a stamp, and with its part of the values."""
        history = self._history
        wiring = history.wiring.get(of.agent)
        if wiring is None:
            return
        told: list[str] = []
        uses: list[Use] = []
        found = False
        cut_off: Use | None = None
        for group, start in wiring.groups:
            use = history.use(of.agent, f'feedback {group.name}')
            if use is None:
                return
            uses.append(use)
            part = None if values is None else values[start : start + group.size]
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
        history.find(catalogue.VALUES_FROM_SENSORS, Mismatch(place, expected, actual), of)


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
