# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the robot did, held against the raw messages of the feedback."""

from __future__ import annotations

from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.transition import ActuationEvidence, Transition
from boundary_env_ros.evidence.audit.raw_messages.message_history import MessageHistory
from boundary_env_ros.evidence.audit.raw_messages.window import Heard
from boundary_env_ros.evidence.audit.raw_messages.wiring import Use
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
        self._tape = history

    def check(self, now: Transition) -> None:
        """Hold the measured action of a step, and the evidence in it, against the feedback."""
        if now.measured_at is not None and now.measured_action:
            self._held(now.id, 'measured_action', now.measured_at.nanoseconds, now.measured_action)
        if now.actuated is not None:
            self._held(now.id, 'actuated', now.actuated.nanoseconds, None)

    def evidence(self, evidence: ActuationEvidence) -> None:
        """Look at evidence of execution that came late."""
        place = f'evidence for decision {evidence.decision_sequence}'
        self._held(evidence.id, place, evidence.actuated.nanoseconds, evidence.measured)

    def _held(self, of: StepId, place: str, stamp: int, values: Vector | None) -> None:
        """Ask for a message of some feedback with a stamp, and with its part of the values."""
        history = self._tape
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
