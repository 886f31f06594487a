# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about one step: what it says of the decision, of the robot, and of the judgement."""

from __future__ import annotations

from collections.abc import Mapping
import math

from boundary_env_ros.core.causes import foremost, SENSOR_LOST, SUCCESS, TASK_FAILED
from boundary_env_ros.core.closing import answering, TURN
from boundary_env_ros.core.contract import ActionKind, Contract, Pacing
from boundary_env_ros.core.decision import Verdict
from boundary_env_ros.core.imported import is_import
from boundary_env_ros.core.observation import lost, ObservationField
from boundary_env_ros.core.reset import by_name
from boundary_env_ros.core.sources import Vector
from boundary_env_ros.core.task import judge, StepView, Task
from boundary_env_ros.core.transition import Kind, ResetRecord, Transition
from boundary_env_ros.errors import TaskFailed
from boundary_env_ros.evidence.rules import catalogue
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    of_step,
    same,
    Scene,
    vector,
)
from boundary_env_ros.evidence.rules.imported import if_judged, never

GATE = 'safety_gate'


@of_step(catalogue.STEP_CONSISTENT, imports=never)
def _decision_answers(scene: Scene) -> Found:
    now = scene.now
    expected = answering(now.decisions)
    if now.decision != expected:
        yield Mismatch('decision', str(expected), str(now.decision))
        return
    verdict = scene.answer.verdict if scene.answer else None
    if now.verdict is not verdict:
        yield Mismatch(
            'verdict',
            verdict.name if verdict else 'none without a decision',
            now.verdict.name if now.verdict else 'none',
        )


@of_step(catalogue.STEP_CONSISTENT, imports=never)
def _actions_copied(scene: Scene) -> Found:
    now, answer = scene.now, scene.answer
    for name, source in (
        ('requested_action', 'requested_action'),
        ('admitted_action', 'admitted_action'),
        ('commanded_action', 'command'),
    ):
        expected: Vector = getattr(answer, source) if answer is not None else ()
        actual: Vector = getattr(now, name)
        if not same(expected, actual):
            yield Mismatch(name, vector(expected), vector(actual))


@of_step(catalogue.STEP_CONSISTENT, imports=never)
def _instants_copied(scene: Scene) -> Found:
    now, answer = scene.now, scene.answer
    request = answer.request if answer is not None else None
    for name in ('delivered', 'requested'):
        if getattr(now, name) != getattr(request, name, None):
            yield Mismatch(name, 'that of the request', 'another')
    for name in ('received', 'commanded'):
        if getattr(now, name) != getattr(answer, name, None):
            yield Mismatch(name, 'that of the decision', 'another')
    if request is not None:
        if now.observed != request.observed:
            yield Mismatch('observed', 'that of the request', 'another')
    elif scene.earlier is not None and now.observed != scene.earlier.closed:
        yield Mismatch('observed', '`closed` of the step before', 'another')


@of_step(catalogue.REQUEST_VALID, imports=never)
def _answered_observation(scene: Scene) -> Found:
    now, answer = scene.now, scene.answer
    if answer is None or answer.request is None or answer.verdict is Verdict.REJECTED:
        return
    request, asked = answer.request, answer.request.id
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
    seen = scene.answered
    if seen is not None and now.observed != seen.closed:
        yield Mismatch(
            'observed',
            f'{seen.closed.ros.nanoseconds}, when step {seen.id.step} was closed',
            str(now.observed.ros.nanoseconds if now.observed else 'unknown'),
        )


@of_step(catalogue.STEP_CONSISTENT, contract=True)
def _captured_as_contract(scene: Scene) -> Found:
    now = scene.now
    if now.kind is not Kind.STEP:
        return
    seen = scene.answered or (scene.earlier if scene.answer is None else None)
    if seen is None:
        return
    name = known(scene.terms).contract.reaction_of
    expected = next((field.captured for field in seen.after if field.name == name), None)
    if now.captured != expected:
        yield Mismatch(
            'captured',
            f'{expected.nanoseconds if expected else "unknown"}, as of {name!r}',
            str(now.captured.nanoseconds if now.captured else 'unknown'),
        )


@of_step(catalogue.STEP_CONSISTENT, imports=never)
def _overrun_explained(scene: Scene) -> Found:
    now = scene.now
    if now.kind is not Kind.STEP:
        return
    if scene.terms is not None:
        own = scene.terms.contract.has_turn(now.id.agent, now.id.step)
    else:
        turn = next((pair.value for pair in now.diagnostics if pair.key == TURN), now.id.agent)
        own = turn == now.id.agent
    expected = scene.answer is None and now.pacing is Pacing.REALTIME and own
    if now.overrun is not expected:
        yield Mismatch('overrun', str(expected), str(now.overrun))
    held = any(decision.published for decision in now.decisions)
    holder = ('gate' if held else 'driver') if expected else ''
    if now.held_by != holder:
        yield Mismatch('held_by', repr(holder), repr(now.held_by))


@of_step(catalogue.EXECUTION_MEASURED)
def _measured_action(scene: Scene) -> Found:
    now = scene.now
    if bool(now.measured_action) != (now.measured_at is not None):
        yield Mismatch(
            'measured_at',
            'an instant exactly if something was measured',
            'unknown' if now.measured_at is None else 'an instant without a value',
        )
    if now.measured_at is not None:
        stamp, closed = now.measured_at, now.closed.ros
        same_clock = (stamp.clock, stamp.host) == (closed.clock, closed.host)
        if same_clock and stamp.nanoseconds > closed.nanoseconds:
            yield Mismatch('measured_at', 'not after `closed`', 'after it')
    sizes = {len(a) for a in (now.measured_action, now.commanded_action) if a}
    if scene.terms is not None:
        sizes.add(len(scene.terms.low))
    if now.measured_action and len(sizes) > 1:
        yield Mismatch(
            'measured_action', 'as many values as the command has', str(len(now.measured_action))
        )


@of_step(catalogue.ENDING_JUSTIFIED, contract=True, imports=never)
def _stop_ends_episode(scene: Scene) -> Found:
    now, contract = scene.now, known(scene.terms).contract
    stops = {
        cause
        for decision in now.decisions
        for result in decision.rules
        if result.outcome is Verdict.STOPPED
        and (cause := contract.episode.on_stop.get(result.reason.name))
    }
    yield from _ends_by(stops, now.cause, contract)
    if now.declared_by == GATE and now.cause not in stops:
        yield Mismatch(
            'cause', f'one of {", ".join(stops) or "no"} stops of the gate', repr(now.cause)
        )


@of_step(catalogue.ENDING_JUSTIFIED, contract=True)
def _sensor_loss_explained(scene: Scene) -> Found:
    now, contract = scene.now, known(scene.terms).contract
    specs, fields = (*contract.observation, *contract.state), (*now.after, *now.state)
    if now.cause != SENSOR_LOST or len(fields) != len(specs):
        return
    if not lost(specs, fields):
        yield Mismatch('cause', 'a field that is lost', 'every field is there')


def _ends_by(present: set[str], cause: str, contract: Contract) -> Found:
    """Yield a mismatch unless the episode ended by the foremost cause, or one before it."""
    if not present:
        return
    order = tuple(contract.episode.causes)
    expected = foremost({*present, cause} if cause else present, order)
    if cause != expected:
        yield Mismatch('cause', repr(expected), repr(cause) if cause else 'none')


def values_of(fields: tuple[ObservationField, ...]) -> Mapping[str, Vector]:
    """Return the values of fields by name, without images and what is missing."""
    return {field.name: field.values for field in fields if field.values}


@of_step(catalogue.TASK_RECOMPUTED, contract=True, task=True, imports=if_judged)
def _judgement_recomputed(scene: Scene) -> Found:
    now, task, start = scene.now, scene.task, scene.start.reset
    if task is None or start is None or now.kind is not Kind.STEP:
        return
    yield from judged(
        now,
        task,
        known(scene.terms).contract,
        start,
        before=values_of((*now.before, *(scene.earlier.state if scene.earlier else ()))),
        after=values_of((*now.after, *now.state)),
    )


def judged(
    now: Transition,
    task: Task,
    contract: Contract,
    start: ResetRecord,
    *,
    before: Mapping[str, Vector],
    after: Mapping[str, Vector],
) -> Found:
    """
    Yield where a step differs from what the task makes of two observations.

    Parameters
    ----------
    now
        The step.
    task, contract
        The task, and its contract.
    start
        The reset of the episode.
    before, after
        Values of the fields of the two observations, by name.

    """
    try:
        outcome = judge(
            task,
            contract,
            StepView(
                agent=now.id.agent,
                before=before,
                after=after,
                commanded=now.commanded_action,
                reset=by_name(start.sampled),
                step=now.id.step,
                period=contract.period,
            ),
        )
    except TaskFailed as error:
        if any(item.key == f'cause:{TASK_FAILED}' for item in now.diagnostics):
            return  # As the step says: it was not judged.
        # Whoever took a field out of the observation gets here; what is missing is named by the
        # rule about fields.
        yield Mismatch('after', 'all that the task needs', repr(error))
        return
    ours = {term.name: term.value for term in outcome.terms}
    theirs = {term.name: term.value for term in now.reward_terms}
    for name in dict.fromkeys((*ours, *theirs)):
        expected, actual = ours.get(name), theirs.get(name)
        if expected is None or actual is None or not close(expected, actual):
            yield Mismatch(f'reward_terms.{name}', number(expected), number(actual))
    total = math.fsum(ours.values())
    if not close(total, now.reward):
        yield Mismatch('reward', number(total), number(now.reward))
    if outcome.cause:
        yield from _ends_by({outcome.cause}, now.cause, contract)
    elif now.cause == SUCCESS or now.declared_by.startswith('task:'):
        yield Mismatch('cause', 'none by the task', f'{now.cause!r} by {now.declared_by!r}')


@of_step(catalogue.STEP_CONSISTENT, contract=True)
def _import_as_commanded(scene: Scene) -> Found:
    now = scene.now
    if not is_import(now):
        return
    if now.verdict is not None or now.decision != -1:
        yield Mismatch(
            'verdict',
            'none without a decision',
            now.verdict.name if now.verdict else str(now.decision),
        )
    if not same(now.admitted_action, now.requested_action):
        yield Mismatch(
            'admitted_action',
            f'{vector(now.requested_action)} as requested',
            vector(now.admitted_action),
        )
    groups = known(scene.terms).contract.action
    plain = all(group.kind is ActionKind.CONTINUOUS for group in groups)
    if plain and not same(now.requested_action, now.commanded_action):
        yield Mismatch(
            'requested_action',
            f'{vector(now.commanded_action)} as commanded',
            vector(now.requested_action),
        )
