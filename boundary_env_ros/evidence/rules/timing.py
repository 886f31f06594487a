# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about when it happened, and how long each stage took."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from boundary_env_ros.core.contract import Pacing
from boundary_env_ros.core.latency import LatencyStage, measure, STAGES
from boundary_env_ros.core.timebase import Clock, elapsed, Instant, NANOSECONDS, Stamp
from boundary_env_ros.core.transition import Kind
from boundary_env_ros.evidence.rules import catalogue
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    of_step,
    Scene,
)
from boundary_env_ros.evidence.rules.imported import never

#: The instants of a step that its own processes took, in the order in which they happen.
IN_ORDER = ('observed', 'delivered', 'requested', 'received', 'commanded')

#: Seconds that one pair of readings of the two clocks may lie apart because the process was
#: interrupted between them.
READING = 0.02


@of_step(catalogue.STEP_CONSISTENT, imports=never)
def _instants_present(scene: Scene) -> Found:
    now, answer = scene.now, scene.answer
    if now.kind is not Kind.STEP or answer is None or not answer.published:
        return
    for name in ('captured', *IN_ORDER):
        if getattr(now, name) is None:
            yield Mismatch(name, 'an instant', 'unknown')
    for name in ('capture', 'transport', 'inference', 'gate'):
        stage: LatencyStage = getattr(now.latency, name)
        if stage.duration is None:
            yield Mismatch(f'latency.{name}.duration', 'a duration', 'unknown')


@of_step(catalogue.STEP_CONSISTENT)
def _stages_recomputed(scene: Scene) -> Found:
    now = scene.now
    expected = measure(
        captured=now.captured,
        observed=now.observed,
        delivered=now.delivered,
        requested=now.requested,
        received=now.received,
        commanded=now.commanded,
        actuated=now.actuated,
        budget={},
        offsets=now.clock_offsets,
    )
    for name in STAGES:
        ours: LatencyStage = getattr(expected, name)
        theirs: LatencyStage = getattr(now.latency, name)
        for part in ('duration', 'clock_offset', 'uncertainty'):
            one, other = getattr(ours, part), getattr(theirs, part)
            if (one is None) != (other is None) or (
                one is not None and other is not None and not close(one, other)
            ):
                yield Mismatch(
                    f'latency.{name}.{part}', f'{number(one)} s, from the instants', number(other)
                )


@of_step(catalogue.STEP_CONSISTENT, imports=never)
def _stages_add_up(scene: Scene) -> Found:
    latency = scene.now.latency
    stages: list[LatencyStage] = [getattr(latency, name) for name in STAGES]
    durations = [stage.duration for stage in stages if stage.duration is not None]
    if len(durations) < len(STAGES):
        return
    *parts, reaction = durations
    if not close(sum(parts), reaction):
        yield Mismatch(
            'latency.reaction.duration',
            f'{number(sum(parts))} s, the sum of the stages',
            number(reaction),
        )


@of_step(catalogue.STEP_CONSISTENT, contract=True)
def _budgets_as_contract(scene: Scene) -> Found:
    budget = known(scene.terms).contract.latency_budget
    if scene.now.kind is not Kind.STEP:
        return
    for name in STAGES:
        stage: LatencyStage = getattr(scene.now.latency, name)
        if stage.budget != budget.get(name):
            yield Mismatch(
                f'latency.{name}.budget', number(budget.get(name)), number(stage.budget)
            )


@of_step(catalogue.INSTANTS_IN_ORDER)
def _instants_in_order(scene: Scene) -> Found:
    now = scene.now
    known_ones = [
        (name, instant)
        for name in (*IN_ORDER, 'closed')
        if (instant := getattr(now, name)) is not None
    ]
    for (first, start), (second, end) in pairwise(known_ones):
        seconds = elapsed(start, end)
        if seconds is not None and seconds < 0:
            yield Mismatch(second, f'not before {first!r}', f'{number(-seconds)} s before it')


@of_step(catalogue.EXECUTION_MEASURED)
def _actuated_after_commanded(scene: Scene) -> Found:
    now = scene.now
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


def _instants(scene: Scene) -> Iterator[tuple[str, Instant]]:
    now = scene.now
    for name in (*IN_ORDER, 'closed'):
        instant = getattr(now, name)
        if instant is not None:
            yield name, instant
    for i, decision in enumerate(now.decisions):
        if decision.received is not None:
            yield f'decisions[{i}].received', decision.received
        if decision.commanded is not None:
            yield f'decisions[{i}].commanded', decision.commanded


def _stamps(scene: Scene) -> Iterator[tuple[str, Stamp]]:
    now = scene.now
    for name in ('captured', 'actuated', 'measured_at'):
        stamp = getattr(now, name)
        if stamp is not None:
            yield name, stamp
    for field in now.after:
        if field.captured is not None:
            yield f'after.{field.name}.captured', field.captured
    for i, decision in enumerate(now.decisions):
        for measurement in decision.measurements:
            if measurement.captured is not None:
                yield f'decisions[{i}].{measurement.name}.captured', measurement.captured


@of_step(catalogue.INSTANTS_IN_ORDER)
def _one_clock(scene: Scene) -> Found:
    if scene.terms is not None:
        expected = Clock.ROS if scene.terms.contract.sim_time else Clock.SYSTEM
    else:
        expected = scene.first.closed.ros.clock
    for place, instant in _instants(scene):
        if instant.ros.clock is not expected:
            yield Mismatch(f'{place}.ros.clock', expected.name, instant.ros.clock.name)
        elif instant.steady <= 0:
            yield Mismatch(f'{place}.steady', 'a steady reading', str(instant.steady))
    for place, stamp in _stamps(scene):
        if stamp.clock is not expected:
            yield Mismatch(f'{place}.clock', expected.name, stamp.clock.name)
    for field in scene.now.after:
        for name in ('published', 'arrived'):
            found: Stamp | None = getattr(field, name)
            if found is not None and found.clock is not Clock.SYSTEM:
                yield Mismatch(
                    f'after.{field.name}.{name}.clock', Clock.SYSTEM.name, found.clock.name
                )


@of_step(catalogue.CLOCKS_AGREE, imports=never)
def _clocks_agree(scene: Scene) -> Found:
    known_ones = [(n, i) for n, i in _instants(scene) if '.' not in n]
    for (_, start), (name, end) in pairwise(known_ones):
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


@of_step(catalogue.STEPS_IN_ORDER, contract=True)
def _period_kept(scene: Scene) -> Found:
    now, earlier, contract = scene.now, scene.earlier, known(scene.terms).contract
    if earlier is None or earlier.kind is Kind.RESET or now.id.step != earlier.id.step + 1:
        return
    period = contract.period
    if contract.pacing is Pacing.LOCKSTEP:
        if now.cause:
            return  # What ends an episode from outside waits for no advance.
        passed = (now.closed.ros.nanoseconds - earlier.closed.ros.nanoseconds) / NANOSECONDS
        expected = period
    else:
        late, before = now.tick_error, earlier.tick_error
        steady = elapsed(earlier.closed, now.closed)
        if late is None or before is None or steady is None:
            return
        # A tick that was missed altogether is not made up for.
        passed, ticks = steady, max(1, round(before / period) + 1)
        expected = ticks * period + late - before
    if abs(passed - expected) > period / 4.0:
        yield Mismatch(
            'closed', f'{number(expected)} s after the step before', f'{number(passed)} s'
        )
