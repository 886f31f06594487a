# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about when it happened, and how long each stage took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
import math

from boundary_env_ros.core.records.clock_offsets import (
    after_step,
    ClockBounds,
    crossings,
    offsets_of,
)
from boundary_env_ros.core.records.decision import Verdict
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.timebase import Clock, ClockReading, elapsed, NANOSECONDS, Stamp
from boundary_env_ros.evidence.audit.rules.audit_rule import (
    Found,
    IN_ORDER,
    known,
    of_step,
    StepContext,
    unlike,
)
from boundary_env_ros.evidence.record_difference import format_value, Mismatch, number

#: Seconds that one pair of readings of the two clocks may lie apart because the process was
#: interrupted between them.
READING = 0.02


@of_step('instants-in-order')
def _instants_in_order(context: StepContext) -> Found:
    for (first, start), (second, end) in pairwise(_of_step(context.now)):
        seconds = elapsed(start, end)
        if seconds is not None and seconds < 0:
            yield Mismatch(second, f'not before {first!r}', f'{number(-seconds)} s before it')


@of_step('execution-measured')
def _actuated_after_commanded(context: StepContext) -> Found:
    now = context.now
    if now.actuated is None:
        return
    if now.commanded is None:
        yield Mismatch('actuated', 'nothing without a command', 'an instant')
        return
    start = now.commanded.ros
    if start.clock is now.actuated.clock and start.host == now.actuated.host:
        passed = now.actuated.nanoseconds - start.nanoseconds
        if passed < 0:
            yield Mismatch(
                'actuated', 'not before `commanded`', f'{number(-passed / 1e9)} s before it'
            )
    if not now.actuated_source:
        yield Mismatch('actuated_source', 'a topic', 'nothing')
    if now.actuated_quantum is None or now.actuated_quantum < 0:
        yield Mismatch('actuated_quantum', 'at least 0 s', number(now.actuated_quantum))


def _of_step(now: Transition) -> list[tuple[str, ClockReading]]:
    """Return the known instants of a step itself, in the order in which they happen."""
    found = ((name, getattr(now, name)) for name in (*IN_ORDER, 'closed'))
    return [(name, instant) for name, instant in found if instant is not None]


def _instants(now: Transition) -> Iterator[tuple[str, ClockReading]]:
    yield from _of_step(now)
    for i, decision in enumerate(now.decisions):
        for name in ('received', 'decided', 'commanded'):
            if (instant := getattr(decision, name)) is not None:
                yield f'decisions[{i}].{name}', instant


def _stamps(
    now: Transition, instants: Iterable[tuple[str, ClockReading]], clock: Clock
) -> Iterator[tuple[str, Stamp | None, Clock]]:
    """Yield the stamps of a step, each with the clock that it must be of."""
    for name in ('captured', 'actuated', 'measured_at'):
        yield name, getattr(now, name), clock
    for field in now.after:
        place = f'after.{field.name}'
        yield f'{place}.captured', field.captured, clock
        yield f'{place}.published', field.published, Clock.SYSTEM
        yield f'{place}.arrived', field.arrived, Clock.SYSTEM
    for i, decision in enumerate(now.decisions):
        for found in decision.inputs.measurements:
            yield f'decisions[{i}].{found.name}.captured', found.captured, clock
    for place, instant in instants:
        yield f'{place}.ros', instant.ros, clock


@of_step('instants-in-order')
def _one_clock(context: StepContext) -> Found:
    now, expected = context.now, context.first.closed.ros.clock
    if context.terms is not None:
        expected = Clock.ROS if context.terms.contract.sim_time else Clock.SYSTEM
    instants = [*_instants(now)]
    for place, instant in instants:
        if instant.steady <= 0:
            yield Mismatch(f'{place}.steady', 'a steady reading', str(instant.steady))
    for place, stamp, clock in _stamps(now, instants, expected):
        if stamp is not None and stamp.clock is not clock:
            yield from unlike(f'{place}.clock', clock, stamp.clock)


@of_step('clocks-agree')
def _clocks_agree(context: StepContext) -> Found:
    for (_, start), (name, end) in pairwise(_of_step(context.now)):
        one, other = start.ros, end.ros
        if one.clock is not Clock.SYSTEM or other.clock is not one.clock or one.host != other.host:
            continue
        difference = ((other.nanoseconds - one.nanoseconds) - (end.steady - start.steady)) / 1e9
        if abs(difference) > READING:
            yield Mismatch(
                name,
                f'clocks that differ by less than {READING} s since the instant before',
                f'{number(difference)} s',
            )


@of_step('clocks-agree')
def _offsets_agree(context: StepContext) -> Found:
    now, own = context.now, context.now.closed.ros.host
    found = {o.host: (o.offset, o.uncertainty) for o in offsets_of(now)}
    for host, (offset, uncertainty) in found.items():
        if host == own or uncertainty < 0.0 or not math.isfinite(offset + uncertainty):
            expected = 'finite offsets of other hosts, uncertain by at least 0 s'
            yield Mismatch('diagnostics', expected, f'{offset} s, by {uncertainty} s, of {host!r}')
    # Live nothing is known of the clocks that is less than what the step alone shows of them.
    alone = () if now.pacing is Pacing.LOCKSTEP else after_step(ClockBounds(), now)[1]
    for best in alone:
        uncertainty = found.get(best.host, (0.0, math.inf))[1]
        if uncertainty > best.uncertainty:
            expected = f'the clock of {best.host} known to {number(best.uncertainty)} s or better'
            yield Mismatch('diagnostics', expected, f'{number(uncertainty)} s')
    found[own] = (0.0, 0.0)
    for sent, had in crossings(now):
        if sent.host in found and had.host in found:
            (there, uncertainty), (here, other_uncertainty) = found[sent.host], found[had.host]
            delay = (had.nanoseconds - sent.nanoseconds) / NANOSECONDS - (here - there)
            if delay + uncertainty + other_uncertainty < -READING:
                expected = 'an offset of the clocks by which nothing came before it was sent'
                why = f'{number(-delay)} s before, from {sent.host} to {had.host}'
                yield Mismatch('diagnostics', expected, why)


@of_step('steps-in-order', contract=True)
def _period_kept(context: StepContext) -> Found:
    now, earlier, contract = context.now, context.earlier, known(context.terms).contract
    if earlier is None or earlier.kind is Kind.RESET or now.id.step != earlier.id.step + 1:
        return
    # A machine may be late, and what ends an episode from outside waits for no advance.
    if not contract.is_lockstep or now.ending:
        return
    passed = (now.closed.ros.nanoseconds - earlier.closed.ros.nanoseconds) / NANOSECONDS
    if abs(passed - contract.period) > contract.period / 4.0:
        expected = f'{number(contract.period)} s after the step before'
        yield Mismatch('closed', expected, f'{number(passed)} s')


@of_step('instants-in-order')
def _closed_later(context: StepContext) -> Found:
    now, earlier = context.now, context.earlier
    passed = None if earlier is None else elapsed(earlier.closed, now.closed)
    if passed is not None and passed < 0.0:
        yield Mismatch('closed', 'not before the step before', f'{number(-passed)} s before it')


@of_step('request-valid')
def _answered_observation(context: StepContext) -> Found:
    now, answer = context.now, context.now.answer
    if answer is None or answer.request is None or answer.verdict is Verdict.REJECTED:
        return
    request, asked = answer.request, answer.request.id
    if now.pacing is Pacing.LOCKSTEP:  # the world waits for it
        yield from unlike('id.step', answer.id.step, now.id.step, 'as in its decision')
    if asked.episode_id != now.id.episode_id or asked.step > now.id.step:
        yield Mismatch(
            'decisions.request.id',
            f'step {now.id.step} of {now.id.episode_id}, or one before it',
            f'step {asked.step} of {asked.episode_id}',
        )
        return
    if asked.step != request.observed_step + request.skipped + 1:
        yield Mismatch(
            'decisions.request.observed_step',
            f'step {asked.step - request.skipped - 1}, {request.skipped} skipped before '
            f'step {asked.step}',
            f'step {request.observed_step}',
        )
    seen = context.answered
    if seen is not None:
        why = f'when step {seen.id.step} was closed'
        yield from unlike('observed', seen.closed, request.observed, why)


@of_step('execution-measured')
def _measured_action(context: StepContext) -> Found:
    now = context.now
    # No episode begins before what the robot does is known.
    needed = now.kind is Kind.STEP and context.terms and context.terms.contract.action
    if bool(now.measured_action or needed) != (now.measured_at is not None):
        expected = 'an instant exactly if something was measured, as in every step'
        yield Mismatch('measured_at', expected, format_value(now.measured_at))
    if now.measured_at is not None:
        stamp, closed = now.measured_at, now.closed.ros
        same_clock = (stamp.clock, stamp.host) == (closed.clock, closed.host)
        if same_clock and stamp.nanoseconds > closed.nanoseconds:
            yield Mismatch('measured_at', 'not after `closed`', 'after it')
        robot = context.terms.contract.robot_host if context.terms else stamp.host
        yield from unlike('measured_at.host', robot or closed.host, stamp.host, 'of the robot')
        before = None if context.earlier is None else context.earlier.measured_at
        if before is not None and before.nanoseconds > stamp.nanoseconds:
            yield Mismatch('measured_at', 'not before that of the step before', 'before it')
    sizes = {len(now.measured_action), len(now.commanded_action or now.measured_action)}
    if context.terms is not None:
        sizes.add(len(context.terms.limits.low))
    if (now.measured_action or (needed and now.measured_at)) and len(sizes) > 1:
        actual = str(len(now.measured_action))
        yield Mismatch('measured_action', 'as many values as the command has', actual)
