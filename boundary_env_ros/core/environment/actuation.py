# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the robot did: the measured action, and the first evidence that a command was executed.

The evidence for a command is the first feedback, captured after the command was published, in
which some dimension has moved past the previous command towards this one by at least the
contract's threshold: what the previous command explains, such as the rest of a motion that it
began, is no evidence for this one. It may be late by the time since the feedback before it: the
sampling quantum. A command that asks for less than twice the threshold gives no evidence, since
noise could decide when it is crossed; nor does one whose evidence has not come when it no longer
counts as in time.

A driver that says what it applied is believed first: the first message stamped at or after the
command that has its values. A command that a group has had before shows nothing, since what was
said of the one before has the same values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
import math
from typing import NamedTuple

from boundary_env_ros.core.contract.model import Contract, slices_of
from boundary_env_ros.core.records.decision import GateDecision
from boundary_env_ros.core.records.transition import ActuationEvidence
from boundary_env_ros.core.sources.inputs import ACKNOWLEDGEMENT
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp, to_nanoseconds
from boundary_env_ros.core.vectors import all_near, Vector
from boundary_env_ros.frozen import frozen, replace

_HISTORY = 512
#: Within this, of its size, a value on the wire is the same: a driver may say it in float32.
_SAME = 1e-6


@frozen
class MeasuredState:
    """One measured state of the command's dimensions."""

    captured: Stamp
    values: Vector


class AcknowledgedGroup(NamedTuple):
    """
    What an acknowledgement is of.

    Attributes
    ----------
    topic
        Its topic, fully qualified.
    start
        Where the values of its group begin in the command.

    """

    topic: str
    start: int


@frozen
class Actuation:
    """
    Matches commands with feedback.

    Attributes
    ----------
    threshold
        Change towards the command that counts, for each dimension, command units.
    patience
        Nanoseconds after which feedback would rather show a later command.
    angles
        Dimensions that wrap: the feedback may say them a whole turn further on.
    places
        What drivers say that they applied, by the name of the input.
    source
        Topics of the feedback.
    groups
        What was measured last of each group of the command, in their order.
    history
        The last feedback of the whole command, the newest last.
    acknowledged
        What drivers said last that they applied, by the name of the input.
    pending
        Commands that still lack their evidence.

    """

    threshold: Vector
    patience: int
    angles: Collection[int] = ()
    places: Mapping[str, AcknowledgedGroup] = field(default_factory=dict)
    source: str = ''
    groups: Mapping[str, Vector | None] = field(default_factory=dict)
    history: tuple[MeasuredState, ...] = ()
    acknowledged: Mapping[str, tuple[MeasuredState, ...]] = field(default_factory=dict)
    pending: tuple[GateDecision, ...] = ()

    @classmethod
    def of(
        cls, contract: Contract, topics: Mapping[str, str], *, acknowledgements: bool = True
    ) -> Actuation:
        """
        Return that of a contract.

        Parameters
        ----------
        contract
            The contract.
        topics
            Resolved topic of every topic that the contract names.
        acknowledgements
            Whether what drivers acknowledge will come; without it no command waits for that.

        """
        feedback = (topics[group.feedback.topic] for group in contract.action)
        return cls(
            threshold=tuple(v for group in contract.action for v in group.feedback.threshold),
            patience=to_nanoseconds(contract.safety.command_timeout),
            angles=contract.angles,
            places={
                f'{ACKNOWLEDGEMENT}.{group.name}': AcknowledgedGroup(
                    topics[group.acknowledgement.topic], part.start
                )
                for group, part in slices_of(contract.action)
                if acknowledgements and group.acknowledgement is not None
            },
            source=' '.join(dict.fromkeys(feedback)),
            groups=dict.fromkeys(group.name for group in contract.action),
        )

    @property
    def latest(self) -> MeasuredState | None:
        """Return the latest feedback."""
        return self.history[-1] if self.history else None

    def commanded(self, decision: GateDecision) -> Actuation:
        """Return it after a command that was published, if its execution could be seen."""
        if decision.commanded is None or not decision.published or not self._is_change(decision):
            return self
        return replace(self, pending=(*self.pending, decision))

    def _is_change(self, decision: GateDecision) -> bool:
        # With a driver that says what it applied, every change can be seen.
        return any(
            abs(command - previous) >= 2.0 * least
            or (self.places and not same_on_wire(command, previous))
            for previous, command, least in zip(
                decision.inputs.previous_command, decision.command, self.threshold, strict=False
            )
        )

    def after(self, name: str, values: Vector, captured: Stamp | None) -> Actuation:
        """
        Return it after the measured state of one group, or what its driver acknowledged.

        What the robot did is known as soon as every group was measured.

        Parameters
        ----------
        name
            Of the group, or of the input of its acknowledgement.
        values, captured
            What was measured or acknowledged, and when; what has no stamp shows nothing.

        """
        if name in self.places:
            if captured is None:
                return self
            feedback = MeasuredState(captured=captured, values=values)
            history = _appended(self.acknowledged.get(name, ()), feedback)
            return replace(self, acknowledged={**self.acknowledged, name: history})
        groups, history = {**self.groups, name: values}, self.history
        if captured is not None and None not in groups.values():
            whole = tuple(value for part in groups.values() for value in part or ())
            history = _after(history, MeasuredState(captured=captured, values=whole))
        return replace(self, groups=groups, history=history)

    def measured(self, feedback: MeasuredState) -> Actuation:
        """Return it after a feedback of all groups; see :func:`_after`."""
        return replace(self, history=_after(self.history, feedback))

    def executions(self) -> tuple[Actuation, tuple[ActuationEvidence, ...]]:
        """Return what can now be shown to have been executed; each command is returned once."""
        found = []
        remaining = []
        for decision in self.pending:
            execution = self._find_acknowledged(decision) or self._find(decision)
            if execution is not None:
                found.append(execution)
            elif not self._hopeless(decision):
                remaining.append(decision)
        same = len(remaining) == len(self.pending)
        return self if same else replace(self, pending=tuple(remaining)), tuple(found)

    def _find_acknowledged(self, decision: GateDecision) -> ActuationEvidence | None:
        for name, place in self.places.items():
            before: int | None = None
            for applied in self.acknowledged.get(name, ()):
                part = slice(place.start, place.start + len(applied.values))
                wanted, previous = decision.command[part], decision.inputs.previous_command[part]
                commanded = _nanoseconds(decision.commanded, applied)
                if commanded is None or all(map(same_on_wire, wanted, previous)):
                    break
                at = applied.captured.nanoseconds
                if at >= commanded and all(map(same_on_wire, applied.values, wanted)):
                    if at - commanded > self.patience:
                        break
                    # It cannot have been applied before it was sent.
                    since = commanded if before is None else max(before, commanded)
                    return _evidence(decision, applied, at - since, place.topic)
                before = at
        return None

    def _find(self, decision: GateDecision) -> ActuationEvidence | None:
        commanded = _nanoseconds(decision.commanded, self.latest)
        if commanded is None:
            return None
        before: MeasuredState | None = None
        for feedback in self.history:
            if feedback.captured.nanoseconds <= commanded:
                before = feedback
                continue
            if before is None or feedback.captured.nanoseconds - commanded > self.patience:
                return None
            if self._moved(decision, before.values, feedback.values):
                quantum = feedback.captured.nanoseconds - before.captured.nanoseconds
                return _evidence(decision, feedback, quantum, self.source)
            before = feedback
        return None

    def _moved(self, decision: GateDecision, before: Vector, now: Vector) -> bool:
        if self.angles:
            now = all_near(now, decision.inputs.previous_command, self.angles)
            before = all_near(before, decision.inputs.previous_command, self.angles)
        for previous, command, was, value, least in zip(
            decision.inputs.previous_command,
            decision.command,
            before,
            now,
            self.threshold,
            strict=False,
        ):
            if abs(command - previous) < 2.0 * least:
                continue
            sign = 1.0 if command > previous else -1.0
            # A feedback that was past the previous command already says nothing new.
            if (was - previous) * sign < least <= (value - previous) * sign:
                return True
        return False

    def _hopeless(self, decision: GateDecision) -> bool:
        """Whether later feedback would rather show a later command."""
        latest = self.latest
        commanded = _nanoseconds(decision.commanded, latest)
        return latest is not None and (
            commanded is None or latest.captured.nanoseconds - commanded > self.patience
        )


def _appended(
    history: tuple[MeasuredState, ...], feedback: MeasuredState
) -> tuple[MeasuredState, ...]:
    return (*history[1 - _HISTORY :], feedback)


def _after(
    history: tuple[MeasuredState, ...], feedback: MeasuredState
) -> tuple[MeasuredState, ...]:
    """
    Return a history after a feedback; those captured before the last one are passed over.

    One of the same capture says more of that instant: it is that of another group of the command,
    read from the same message.
    """
    latest = history[-1].captured.nanoseconds if history else -1
    if feedback.captured.nanoseconds == latest:
        history = history[:-1]
    return history if feedback.captured.nanoseconds < latest else _appended(history, feedback)


def same_on_wire(one: float, other: float) -> bool:
    """Return whether two values are one, as far as a message can say it."""
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)


def _evidence(
    decision: GateDecision, seen: MeasuredState, quantum: int, source: str
) -> ActuationEvidence:
    """Return that a command was executed when that was seen, or at most a quantum (ns) before."""
    assert decision.commanded is not None  # only published commands are looked for
    return ActuationEvidence(
        id=decision.id,
        decision_sequence=decision.sequence,
        commanded=decision.commanded,
        actuated=seen.captured,
        quantum=quantum / NANOSECONDS,
        source=source,
        measured=seen.values,
    )


def _nanoseconds(commanded: ClockReading | None, feedback: MeasuredState | None) -> int | None:
    """Return when a command was published, on the clock of the feedback; None if on no such."""
    if commanded is None or feedback is None or commanded.ros.clock is not feedback.captured.clock:
        return None
    if commanded.ros.clock is Clock.STEADY:
        return None
    return commanded.ros.nanoseconds
