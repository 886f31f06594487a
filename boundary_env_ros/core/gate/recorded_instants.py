# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
When a gate took its decisions, by what they say.

Only a decision on a request carries its instant. The others say how long it was since the gate
heard an acceptable request, and since the last command went out; when their own command did; and
how old what they measured was.
"""

from __future__ import annotations

from dataclasses import replace

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.gate.decision import GateDecision, Trigger, Verdict
from boundary_env_ros.core.timebase import Clock, ClockReading, NANOSECONDS, Stamp

#: Triggers of decisions that answer a request.
ASKED = (Trigger.REQUEST, Trigger.CHUNK, Trigger.OPERATOR)

#: Within which two ways to tell when a decision was taken mean one instant, ns.
_NEAR = 1_000_000


class RecordedInstants:
    """
    The instants of the decisions of one gate, to be asked for in their order.

    Parameters
    ----------
    contract
        The contract.

    Attributes
    ----------
    now
        That of the last decision.

    """

    def __init__(self, contract: Contract) -> None:
        self._lockstep = contract.pacing is Pacing.LOCKSTEP
        self._period = contract.period
        self._lateness = round(contract.safety.gate_lateness * NANOSECONDS)
        #: When the last command went out, and from when the time of the policy runs, steady ns.
        self._out: int | None = None
        self._asked: int | None = None
        #: How far the ROS clock was before the steady one, ns, when both were read last.
        self._ahead: int | None = None
        self.now = ClockReading(ros=Stamp(clock=Clock.SYSTEM, nanoseconds=0, host=''), steady=0)

    def begin(self) -> None:
        """Take note that another lease begins: from when its policy's time runs is not known."""
        self._asked = None

    def go_on_to(self, then: GateDecision) -> ClockReading:
        """Return the instant of the next decision."""
        self.now = self._instant(then)
        return self.now

    def follow(self, then: GateDecision) -> None:
        """Take note of what that decision did."""
        now = self.now.steady
        if then.published:
            self._out = now if then.commanded is None else max(now, then.commanded.steady)
        if then.trigger in ASKED and then.verdict is not Verdict.REJECTED:
            self._asked = now
        elif then.since_request is not None:
            self._asked = now - round(then.since_request * NANOSECONDS)

    def _instant(self, then: GateDecision) -> ClockReading:
        on_request = then.trigger is Trigger.REQUEST
        known = then.received if on_request else then.commanded
        at = known or then.commanded or then.received or self.now
        if at is not self.now:
            self._ahead = at.ros.nanoseconds - at.steady
        if self._lockstep:
            # There only the time of the world counts, by which the robot acts.
            return then.commanded or at
        if on_request:
            return at
        told = []
        if self._asked is not None and then.since_request is not None:
            told.append(self._asked + round(then.since_request * NANOSECONDS))
        if self._out is not None and then.time_step is not None:
            since = self._out + round(then.time_step * NANOSECONDS)
            if then.time_step < self._period:
                told.append(since)
            else:  # it says no more than that
                at = replace(at, steady=max(at.steady, since))
        measured = self._by_its_measurements(then)
        if then.commanded is None:
            told = told if measured is None else [measured]
            return replace(at, steady=max(self.now.steady, at.steady, *told))
        # A gate that took longer to send than this decided again; it decides no earlier.
        earliest = max(at.steady - self._lateness, self.now.steady)
        likely = [steady for steady in told if earliest <= steady <= at.steady]
        if measured is not None and earliest <= measured <= at.steady:
            # Two clocks say when it measured; what was told is to the nanosecond, if it is near.
            near = [steady for steady in likely if abs(steady - measured) <= _NEAR]
            likely = near[-1:] or [measured]
        return replace(at, steady=max(likely, default=at.steady))

    def _by_its_measurements(self, then: GateDecision) -> int | None:
        """Return when a decision was taken by the age of what it measured, steady ns."""
        found = []
        for measurement in then.measurements:
            if measurement.age is None:
                continue
            # The age is the greater of those by receipt and by stamp: neither gives too early.
            age = round(measurement.age * NANOSECONDS)
            found.append(measurement.received_steady + age)
            if measurement.captured is not None and self._ahead is not None:
                found.append(measurement.captured.nanoseconds + age - self._ahead)
        return min(found, default=None)
