# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about the gate itself: its limits, its timer, its clock, and who else commands."""

from __future__ import annotations

from collections.abc import Iterator
import math

from boundary_env_ros.core.contract.model import Pacing
from boundary_env_ros.core.gate.command_history import sooner
from boundary_env_ros.core.gate.decision import GateDecision, RuntimeLimits, Trigger, Verdict
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another
from boundary_env_ros.core.gate.rules.limits import Limits
from boundary_env_ros.core.gate.rules.recorded import crowded_in
from boundary_env_ros.core.gate.rules.runtime_limits import tightened_limits
from boundary_env_ros.core.gate.rules.stopping import FOREIGN_PUBLISHER
from boundary_env_ros.core.timebase import between, ClockReading, elapsed, NANOSECONDS
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    Asked,
    ASKED_KEPT,
    Found,
    is_republished,
    is_unheard,
    known,
    limits_of,
    Link,
    Mismatch,
    number,
    of_decision,
    outside,
    ROUNDING,
    unlike,
)
from boundary_env_ros.evidence.audit.rules.command import BEFORE_COMMAND, begins_anew
from boundary_env_ros.evidence.audit.rules.gate import MOVING, OF_POLICY

#: Seconds by which two readings of two clocks may be apart without a jump of either.
_READING = 0.01


@of_decision(catalogue.RUNTIME_LIMITS_STRICTER, contract=True)
def _tightened_stricter(link: Link) -> Found:
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
        or not (before.armed and decision.armed and decision.id.episode_id)
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


@of_decision(catalogue.INPUTS_RECOMPUTED, contract=True)
def _overruns_recomputed(link: Link) -> Found:
    decision, contract = link.decision, known(link.terms).contract
    rule = contract.safety.overruns
    if rule is None:
        yield from unlike('overruns', 0, decision.overruns)
        return
    request = decision.request
    if link.asked is None or request is None or decision.trigger not in OF_POLICY:
        return
    if is_unheard(decision) or rule.of > ASKED_KEPT:
        return
    budget = contract.latency_budget['transport'] + contract.latency_budget['inference']
    late = [_late(one, budget, contract.pacing) for one in link.asked[-rule.of :]]
    # What is within rounding of the budget may be either.
    least, most = sum(one is True for one in late), sum(one is not False for one in late)
    why = f'of the last {len(late)} requests'
    yield from outside('overruns', decision.overruns, least, most, why)


def _late(asked: Asked, budget: float, pacing: Pacing) -> bool | None:
    """Return whether a request was over the budget; None if that is a matter of rounding."""
    observed, received = asked
    if observed is None or received is None:
        return True
    passed = elapsed(observed, received) if pacing is Pacing.REALTIME else None
    if passed is None:
        if observed.ros.clock is not received.ros.clock:
            return True
        duration = between(observed.ros, received.ros)
        passed = None if duration is None else duration.seconds
    if passed is None:
        return True
    return None if abs(passed - budget) <= ROUNDING else passed > budget


@of_decision(catalogue.FOREIGN_PUBLISHER)
def _foreign_publisher(link: Link) -> Found:
    found = _foreign(link.decision)
    # It is told when it comes, not with every decision for as long as it stays.
    if not found or (link.before is not None and found == _foreign(link.before)):
        return
    for topic, others in found.items():
        yield Mismatch('foreign_publishers', f'no foreign publisher on {topic}', str(others))


def _foreign(decision: GateDecision) -> dict[str, int]:
    """Return how many foreign publishers a decision counts, by topic, as far as it names them."""
    found = dict(crowded_in(decision))
    others = decision.foreign_publishers - sum(found.values())
    if others > 0:
        commanding = any(result.rule == FOREIGN_PUBLISHER for result in decision.rules)
        found['a command topic' if commanding else 'a topic that the gate goes by'] = others
    return found


@of_decision(catalogue.INPUTS_RECOMPUTED, contract=True)
def _tick_recomputed(link: Link) -> Found:
    decision, last = link.decision, link.ticked
    if known(link.terms).contract.pacing is not Pacing.REALTIME:
        return
    if decision.since_tick is not None:
        yield from outside('since_tick', decision.since_tick, 0.0, math.inf, 's')
    if (
        last is None
        or last.sequence > decision.sequence
        or last.id.episode_id != decision.id.episode_id
        or not decision.id.episode_id
    ):
        return
    passed = elapsed(last.commanded, decision.decided or decision.commanded)
    if passed is not None:
        why, most = f's, since decision {last.sequence}', passed + BEFORE_COMMAND
        yield from outside('since_tick', decision.since_tick, 0.0, most, why)


@of_decision(catalogue.ALLOWED_TO_MOVE, contract=True)
def _clock_recomputed(link: Link) -> Found:
    decision, last, contract = link.decision, link.published, known(link.terms).contract
    now = decision.decided
    if (
        last is None
        or now is None
        or last.commanded is None
        or decision.verdict not in MOVING
        # A robot at rest is not told to stop at every run of the timer.
        or last.verdict is Verdict.STOPPED
        or contract.pacing is not Pacing.REALTIME
        or contract.sim_time
        or begins_anew(last, decision)
    ):
        return
    jump = _jumped(last.commanded, now)
    if jump is None or abs(jump) <= contract.safety.clock_jump + _READING:
        return
    yield Mismatch('clock_error', f'{number(jump)} s, and STOPPED', number(decision.clock_error))


def _jumped(start: ClockReading, end: ClockReading) -> float | None:
    """Return by how many seconds ROS time has moved further than steady time; None if unknown."""
    steady = elapsed(start, end)
    if steady is None or start.ros.clock is not end.ros.clock:
        return None
    return (end.ros.nanoseconds - start.ros.nanoseconds) / NANOSECONDS - steady


@of_decision(catalogue.REPUBLISHED_AS_DECLARED, contract=True)
def _republished_as_declared(link: Link) -> Found:
    decision, last, contract = link.decision, link.published, known(link.terms).contract
    if decision.trigger is not Trigger.TIMER or decision.verdict is not Verdict.HELD:
        return
    if holds_for_another(decision):
        return  # Once a step of lockstep, whatever the clock says.
    safety = contract.safety
    since = decision.since_request
    if is_republished(decision) and (
        safety.republish_period is None or since is None or since > safety.hold_timeout + ROUNDING
    ):
        expected = f'within {number(safety.hold_timeout)} s of an action, with `republish_period`'
        yield Mismatch('rules', expected, f'sent again after {number(since)} s')
    least = contract.period if safety.republish_period is None else safety.republish_period
    if last is None or begins_anew(last, decision):
        return
    step, passed = decision.time_step, elapsed(last.commanded, decision.commanded)
    slack = sooner(safety) + ROUNDING
    # The time step is never more than a period.
    if (step is not None and step < min(least, contract.period) - slack) or (
        passed is not None and passed < least - slack
    ):
        yield Mismatch(
            'time_step',
            f'at least {number(least)} s after decision {last.sequence}',
            f'{number(step)} s, {number(passed)} s between the commands',
        )
