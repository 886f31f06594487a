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

from collections import deque
from collections.abc import Collection, Mapping, Sequence
import math
from types import MappingProxyType
from typing import NamedTuple

from boundary_env_ros.core.angles import all_near
from boundary_env_ros.core.contract.model import Contract, slices_of
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.gate.decision import GateDecision
from boundary_env_ros.core.sources.inputs import ACKNOWLEDGEMENT
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp, to_nanoseconds
from boundary_env_ros.core.transition import ActuationEvidence
from boundary_env_ros.frozen import frozen

_HISTORY = 512
#: Within this, of its size, a value on the wire is the same: a driver may say it in float32.
_SAME = 1e-6


@frozen
class Feedback:
    """One measured state of the command's dimensions."""

    captured: Stamp
    values: Vector


class Place(NamedTuple):
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


class Actuation:
    """
    Matches commands with feedback.

    Parameters
    ----------
    threshold
        Change towards the command that counts, for each dimension, command units.
    patience
        Seconds after which feedback would rather show a later command.
    angles
        Dimensions that wrap: the feedback may say them a whole turn further on.
    groups
        Names of the groups of the command, in their order.
    acknowledged
        What drivers say that they applied, by the name of the input.
    source
        Topics of the feedback.

    Attributes
    ----------
    source
        Topics of the feedback.

    """

    def __init__(
        self,
        threshold: Vector,
        patience: float,
        angles: Collection[int] = (),
        groups: Sequence[str] = (),
        acknowledged: Mapping[str, Place] = MappingProxyType({}),
        source: str = '',
    ) -> None:
        self.source = source
        self._angles = angles
        self._threshold = threshold
        self._patience = to_nanoseconds(patience)
        self._history: deque[Feedback] = deque(maxlen=_HISTORY)
        self._groups: dict[str, Vector | None] = dict.fromkeys(groups)
        self._places = acknowledged
        self._acknowledged: dict[str, deque[Feedback]] = {
            name: deque(maxlen=_HISTORY) for name in acknowledged
        }
        self._open: list[GateDecision] = []

    @classmethod
    def of(
        cls, contract: Contract, topics: Mapping[str, str], *, drivers_heard: bool = True
    ) -> Actuation:
        """
        Return that of a contract.

        Parameters
        ----------
        contract
            The contract.
        topics
            Resolved topic of every topic that the contract names.
        drivers_heard
            Whether what drivers acknowledge will be told; without it no command waits for that.

        """
        acknowledged = {
            f'{ACKNOWLEDGEMENT}.{group.name}': Place(
                topics[group.acknowledgement.topic], part.start
            )
            for group, part in slices_of(contract.action)
            if drivers_heard and group.acknowledgement is not None
        }
        feedback = (topics[group.feedback.topic] for group in contract.action)
        return cls(
            tuple(value for group in contract.action for value in group.feedback.threshold),
            patience=contract.safety.command_timeout,
            angles=contract.angles,
            groups=[group.name for group in contract.action],
            acknowledged=acknowledged,
            source=' '.join(dict.fromkeys(feedback)),
        )

    def clear(self) -> None:
        """Forget everything: a new episode begins."""
        self._history.clear()
        for said in self._acknowledged.values():
            said.clear()
        self._open.clear()
        self._groups = dict.fromkeys(self._groups)

    @property
    def latest(self) -> Feedback | None:
        """Return the latest feedback."""
        return self._history[-1] if self._history else None

    @property
    def open(self) -> bool:
        """Whether a command still lacks its evidence."""
        return bool(self._open)

    def commanded(self, decision: GateDecision) -> None:
        """Take note of a command that was published, if its execution could be seen."""
        if decision.commanded is not None and decision.published and self._is_change(decision):
            self._open.append(decision)

    def _is_change(self, decision: GateDecision) -> bool:
        # With a driver that says what it applied, every change can be seen.
        return any(
            abs(command - previous) >= 2.0 * least
            or (self._acknowledged and not same_on_wire(command, previous))
            for previous, command, least in zip(
                decision.inputs.previous_command, decision.command, self._threshold, strict=False
            )
        )

    def heard(self, name: str, values: Vector, captured: Stamp | None) -> None:
        """
        Take the measured state of one group, or what its driver acknowledged.

        What the robot did is known as soon as every group was measured.

        Parameters
        ----------
        name
            Of the group, or of the input of its acknowledgement.
        values, captured
            What was said, and when that was so; what has no stamp shows nothing.

        """
        acknowledged = self._acknowledged.get(name)
        if acknowledged is None:
            self._groups[name] = values
        if captured is None:
            return
        if acknowledged is not None:
            acknowledged.append(Feedback(captured=captured, values=values))
        elif None not in self._groups.values():
            whole = tuple(value for part in self._groups.values() for value in part or ())
            self.measured(Feedback(captured=captured, values=whole))

    def measured(self, feedback: Feedback) -> None:
        """
        Take a feedback; those captured before the last one are passed over.

        One of the same capture says more of that instant: it is that of another group of the
        command, read from the same message.
        """
        latest = self.latest
        if latest is None or feedback.captured.nanoseconds > latest.captured.nanoseconds:
            self._history.append(feedback)
        elif feedback.captured.nanoseconds == latest.captured.nanoseconds:
            self._history[-1] = feedback

    def executions(self) -> tuple[ActuationEvidence, ...]:
        """Return what can now be shown to have been executed; each command is returned once."""
        found = []
        remaining = []
        for decision in self._open:
            execution = self._find_acknowledged(decision) or self._find(decision)
            if execution is not None:
                found.append(execution)
            elif not self._hopeless(decision):
                remaining.append(decision)
        self._open = remaining
        return tuple(found)

    def _find_acknowledged(self, decision: GateDecision) -> ActuationEvidence | None:
        for name, history in self._acknowledged.items():
            place = self._places[name]
            before: int | None = None
            for said in history:
                part = slice(place.start, place.start + len(said.values))
                wanted, previous = decision.command[part], decision.inputs.previous_command[part]
                commanded = _nanoseconds(decision.commanded, said)
                if commanded is None or all(map(same_on_wire, wanted, previous)):
                    break
                at = said.captured.nanoseconds
                if at >= commanded and all(map(same_on_wire, said.values, wanted)):
                    if at - commanded > self._patience:
                        break
                    # It cannot have been applied before it was sent.
                    since = commanded if before is None else max(before, commanded)
                    return _evidence(decision, said, at - since, place.topic)
                before = at
        return None

    def _find(self, decision: GateDecision) -> ActuationEvidence | None:
        commanded = _nanoseconds(decision.commanded, self.latest)
        if commanded is None:
            return None
        before: Feedback | None = None
        for feedback in self._history:
            if feedback.captured.nanoseconds <= commanded:
                before = feedback
                continue
            if before is None or feedback.captured.nanoseconds - commanded > self._patience:
                return None
            if self._moved(decision, before.values, feedback.values):
                quantum = feedback.captured.nanoseconds - before.captured.nanoseconds
                return _evidence(decision, feedback, quantum, self.source)
            before = feedback
        return None

    def _moved(self, decision: GateDecision, before: Vector, now: Vector) -> bool:
        if self._angles:
            now = all_near(now, decision.inputs.previous_command, self._angles)
            before = all_near(before, decision.inputs.previous_command, self._angles)
        for previous, command, was, value, least in zip(
            decision.inputs.previous_command,
            decision.command,
            before,
            now,
            self._threshold,
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
            commanded is None or latest.captured.nanoseconds - commanded > self._patience
        )


def same_on_wire(one: float, other: float) -> bool:
    """Return whether two values are one, as far as a message can say it."""
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)


def _evidence(
    decision: GateDecision, seen: Feedback, quantum: int, source: str
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


def _nanoseconds(commanded: ClockReading | None, feedback: Feedback | None) -> int | None:
    """Return when a command was published, on the clock of the feedback; None if on no such."""
    if commanded is None or feedback is None or commanded.ros.clock is not feedback.captured.clock:
        return None
    if commanded.ros.clock is Clock.STEADY:
        return None
    return commanded.ros.nanoseconds
