# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about one step: what it says of the decision, of the robot, and of the judgement."""

from __future__ import annotations

from collections.abc import Mapping
import math

from boundary_env_ros.core.contract.model import ActionKind, Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.endings import SUCCESS, TASK_FAILED
from boundary_env_ros.core.environment.observation import ObservationField
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.step_builder import answering, TURN
from boundary_env_ros.core.environment.task import judge, StepView, Task
from boundary_env_ros.core.gate.decision import Verdict
from boundary_env_ros.core.imported import is_import
from boundary_env_ros.core.transition import Kind, ResetRecord, Transition
from boundary_env_ros.errors import TaskFailed
from boundary_env_ros.evidence.audit.rules import catalogue
from boundary_env_ros.evidence.audit.rules.base import (
    close,
    format_value,
    Found,
    known,
    Mismatch,
    number,
    of_step,
    same,
    Scene,
    unlike,
    vector,
)
from boundary_env_ros.evidence.audit.rules.ending import ends_by
from boundary_env_ros.evidence.audit.rules.imported import if_judged, never

#: What a step repeats of the decision that answered its action.
_OF_ANSWER = {
    'verdict': 'verdict',
    'requested_action': 'requested_action',
    'admitted_action': 'admitted_action',
    'commanded_action': 'command',
    'received': 'received',
    'commanded': 'commanded',
}


@of_step(catalogue.STEP_CONSISTENT, imports=never)
def _step_consistent(scene: Scene) -> Found:
    now, answer, earlier = scene.now, scene.answer, scene.earlier
    yield from unlike('decision', answering(now.decisions), now.decision)
    for name, source in _OF_ANSWER.items():
        nothing = () if name.endswith('action') else None
        yield from unlike(name, getattr(answer, source, nothing), getattr(now, name))
    request = None if answer is None else answer.request
    for name in ('delivered', 'requested'):
        yield from unlike(name, getattr(request, name, None), getattr(now, name))
    yield from unlike('payload', getattr(request, 'payload', ''), now.payload)
    if request is not None:
        yield from unlike('observed', request.observed, now.observed, 'as in the request')
    elif earlier is not None:
        yield from unlike('observed', earlier.closed, now.observed, 'as the step before closed')


@of_step(catalogue.STEP_CONSISTENT)
def _observation_chain(scene: Scene) -> Found:
    earlier, now = scene.earlier, scene.now
    if earlier is None or now.id.step != earlier.id.step + 1 or same(now.before, earlier.after):
        return
    yield from unlike('before', len(earlier.after), len(now.before), 'fields as after the last')
    for old, new in zip(earlier.after, now.before, strict=False):
        if not same(old, new):
            expected = f'{old.name} {vector(old.values)} as after step {earlier.id.step}'
            other = ' with another status, stamp or age' if old.values == new.values else ''
            yield Mismatch(f'before.{new.name}', expected, vector(new.values) + other)


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
    if seen is not None:
        why = f'when step {seen.id.step} was closed'
        yield from unlike('observed', seen.closed, now.observed, why)


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
    yield from unlike('captured', expected, now.captured, f'as of {name!r}')


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
    held = any(decision.published for decision in now.decisions)
    yield from unlike('overrun', expected, now.overrun)
    yield from unlike('held_by', ('gate' if held else 'driver') if expected else '', now.held_by)


@of_step(catalogue.STEP_CONSISTENT, imports=if_judged)
def _reward_sum(scene: Scene) -> Found:
    now = scene.now
    total = math.fsum(term.value for term in now.reward_terms)
    if not math.isfinite(now.reward) or not close(now.reward, total):
        yield Mismatch('reward', f'{number(total)}, the sum of its terms', number(now.reward))


@of_step(catalogue.EXECUTION_MEASURED)
def _measured_action(scene: Scene) -> Found:
    now = scene.now
    if bool(now.measured_action) != (now.measured_at is not None):
        expected = 'an instant exactly if something was measured'
        yield Mismatch('measured_at', expected, format_value(now.measured_at))
    if now.measured_at is not None:
        stamp, closed = now.measured_at, now.closed.ros
        same_clock = (stamp.clock, stamp.host) == (closed.clock, closed.host)
        if same_clock and stamp.nanoseconds > closed.nanoseconds:
            yield Mismatch('measured_at', 'not after `closed`', 'after it')
    sizes = {len(a) for a in (now.measured_action, now.commanded_action) if a}
    if scene.terms is not None:
        sizes.add(len(scene.terms.low))
    if now.measured_action and len(sizes) > 1:
        actual = str(len(now.measured_action))
        yield Mismatch('measured_action', 'as many values as the command has', actual)


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
        if any(item.key == f'ending:{TASK_FAILED}' for item in now.diagnostics):
            return  # As the step says: it was not judged.
        # A record without a field of the observation gets here; what is missing is named by the
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
    if outcome.ending:
        yield from ends_by({outcome.ending}, now.ending, contract)
    elif now.ending == SUCCESS or now.declared_by.startswith('task:'):
        yield Mismatch('ending', 'none by the task', f'{now.ending!r} by {now.declared_by!r}')


@of_step(catalogue.STEP_CONSISTENT, contract=True)
def _import_as_commanded(scene: Scene) -> Found:
    now = scene.now
    if not is_import(now):
        return
    yield from unlike('verdict', None, now.verdict)
    yield from unlike('decision', -1, now.decision)
    requested = now.requested_action
    yield from unlike('admitted_action', requested, now.admitted_action, 'as requested')
    groups = known(scene.terms).contract.action
    if all(group.kind is ActionKind.CONTINUOUS for group in groups):
        yield from unlike('requested_action', now.commanded_action, requested, 'as commanded')
