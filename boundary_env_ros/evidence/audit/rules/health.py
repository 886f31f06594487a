# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the gate itself: its limits, its timer, its clock, and who else commands."""

from __future__ import annotations

from collections.abc import Iterator
import math

from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.core.records.decision import GateDecision, RuntimeLimits, Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.timebase import ClockReading, elapsed, NANOSECONDS
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.evidence.audit.rules.base import (
    DecisionLink,
    Found,
    known,
    limits_of,
    Mismatch,
    of_decision,
    outside,
)
from boundary_env_ros.evidence.audit.rules.command import begins_anew
from boundary_env_ros.evidence.audit.rules.gate import MOVING
from boundary_env_ros.evidence.record_difference import number

#: Seconds by which two readings of two clocks may be apart without a jump of either.
_READING = 0.01


@of_decision('runtime-limits-stricter', contract=True)
def _tightened_stricter(link: DecisionLink) -> Found:
    declared, decision, before = known(link.terms), link.decision, link.before
    if decision.runtime_limits != RuntimeLimits():
        try:
            tightened_limits(declared.limits, decision.runtime_limits)
        except RequestRejected as error:
            yield Mismatch('runtime_limits', 'stricter limits than the contract', str(error))
            return
    if (
        before is None
        or before.runtime_limits == decision.runtime_limits
        or not (before.inputs.armed and decision.inputs.armed and decision.id.episode_id)
        or before.id.episode_id != decision.id.episode_id
    ):
        return
    was, now = limits_of(before, declared), limits_of(decision, declared)
    for name, one, other in _looser(was, now):
        yield Mismatch(
            f'runtime_limits.{name}',
            f'as strict as {number(one)} of decision {before.sequence}',
            number(other),
        )


def _looser(was: Limits, now: Limits) -> Iterator[tuple[str, float, float]]:
    """Yield what has become less strict, with its numbers."""
    for name, sign in (('low', -1.0), ('high', 1.0), ('rate', 1.0)):
        for i, (one, other) in enumerate(zip(getattr(was, name), getattr(now, name), strict=True)):
            if sign * other > sign * one:
                yield f'{name}[{i}]', one, other
    if now.safety.command_timeout > was.safety.command_timeout:
        yield 'command_timeout', was.safety.command_timeout, now.safety.command_timeout


@of_decision('foreign-publisher')
def _foreign_publisher(link: DecisionLink) -> Found:
    found = _foreign(link.decision)
    # It is told when it comes, not with every decision for as long as it stays.
    if not found or (link.before is not None and found == _foreign(link.before)):
        return
    for topic, others in found.items():
        yield Mismatch('foreign_publishers', f'no foreign publisher on {topic}', str(others))


def _foreign(decision: GateDecision) -> dict[str, int]:
    """Return how many foreign publishers a decision counts, by topic, as far as it names them."""
    inputs = decision.inputs
    found = {each.topic: each.count for each in inputs.foreign_publishers}
    return (
        {'a command topic': inputs.foreign_commands, **found} if inputs.foreign_commands else found
    )


@of_decision('inputs-recomputed', contract=True)
def _tick_recomputed(link: DecisionLink) -> Found:
    decision, last = link.decision, link.ticked
    if known(link.terms).contract.pacing is not Pacing.REALTIME:
        return
    for name in ('since_tick', 'since_environment'):
        seconds = getattr(decision.inputs, name)
        if seconds is not None:
            yield from outside(name, seconds, 0.0, math.inf, 's')
    if (
        last is None
        or last.sequence > decision.sequence
        or last.id.episode_id != decision.id.episode_id
        or not decision.id.episode_id
    ):
        return
    passed = elapsed(last.decided, decision.decided)
    if passed is not None:
        why = f's, since decision {last.sequence}'
        # The timer may have run while a request was waiting for its turn.
        yield from outside('since_tick', decision.inputs.since_tick, 0.0, max(passed, 0.0), why)


@of_decision('allowed-to-move', contract=True)
def _clock_recomputed(link: DecisionLink) -> Found:
    decision, last, contract = link.decision, link.published, known(link.terms).contract
    if (
        last is None
        or last.commanded is None
        or decision.verdict not in MOVING
        # A robot at rest is not told to stop at every run of the timer.
        or last.verdict is Verdict.STOPPED
        or contract.pacing is not Pacing.REALTIME
        or contract.sim_time
        or begins_anew(last, decision)
    ):
        return
    jump = _jumped(last.commanded, decision.decided)
    if jump is None or abs(jump) <= contract.safety.clock_jump + _READING:
        return
    yield Mismatch(
        'clock_error', f'{number(jump)} s, and STOPPED', number(decision.inputs.clock_error)
    )


def _jumped(start: ClockReading, end: ClockReading) -> float | None:
    """Return by how many seconds ROS time has moved further than steady time; None if unknown."""
    steady = elapsed(start, end)
    if steady is None or start.ros.clock is not end.ros.clock:
        return None
    return (end.ros.nanoseconds - start.ros.nanoseconds) / NANOSECONDS - steady
