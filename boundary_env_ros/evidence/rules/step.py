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
from boundary_env_ros.evidence.rules.base import (
    close,
    Found,
    known,
    Mismatch,
    number,
    Rule,
    rule,
    same,
    Scene,
    vector,
)

GATE = 'safety_gate'


@rule(
    'decision-answers',
    'A step points at the decision that answered its action, the last one on a request that was '
    'not refused, and has its verdict.',
    'Look at the decisions of the step; a verdict without a decision is a claim without evidence.',
)
def _decision_answers(scene: Scene) -> Found:
    now = scene.now
    expected = answering(now.decisions)
    if now.decision != expected:
        yield Mismatch(field='decision', expected=str(expected), actual=str(now.decision))
        return
    verdict = scene.answer.verdict if scene.answer else None
    if now.verdict is not verdict:
        yield Mismatch(
            field='verdict',
            expected=verdict.name if verdict else 'none without a decision',
            actual=now.verdict.name if now.verdict else 'none',
        )


@rule(
    'actions-copied',
    'Requested, admitted and commanded action of a step are those of the decision that answered '
    'it; without one there are none.',
    'Trust the decision: a clipped action that is recorded as the requested one poisons the data '
    'set.',
)
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
            yield Mismatch(field=name, expected=vector(expected), actual=vector(actual))


@rule(
    'instants-copied',
    'The instants of a step are those of the request and the decision that it answers, to the '
    'nanosecond.',
    'Look for an instant that was changed on one side only.',
)
def _instants_copied(scene: Scene) -> Found:
    now, answer = scene.now, scene.answer
    request = answer.request if answer is not None else None
    for name in ('delivered', 'requested'):
        if getattr(now, name) != getattr(request, name, None):
            yield Mismatch(field=name, expected='that of the request', actual='another')
    for name in ('received', 'commanded'):
        if getattr(now, name) != getattr(answer, name, None):
            yield Mismatch(field=name, expected='that of the decision', actual='another')
    if request is not None:
        if now.observed != request.observed:
            yield Mismatch(field='observed', expected='that of the request', actual='another')
    elif scene.earlier is not None and now.observed != scene.earlier.closed:
        yield Mismatch(field='observed', expected='`closed` of the step before', actual='another')


@rule(
    'answered-observation',
    'An action answers an observation of its own episode that was frozen when the request says '
    'so, not one to come, and is meant for the step after it, or after those that the policy '
    'says it skipped.',
    'Look at the client: it must send step and instant of the observation that it had, and how '
    'many of the predicted actions it left out.',
)
def _answered_observation(scene: Scene) -> Found:
    now, answer = scene.now, scene.answer
    if answer is None or answer.request is None or answer.verdict is Verdict.REJECTED:
        return
    request, asked = answer.request, answer.request.id
    if asked.episode_id != now.id.episode_id or asked.step > now.id.step:
        yield Mismatch(
            field='decisions.request.id',
            expected=f'step {now.id.step} of {now.id.episode_id}, or one before it',
            actual=f'step {asked.step} of {asked.episode_id}',
        )
        return
    if asked.step != request.observed_step + request.skipped + 1:
        yield Mismatch(
            field='decisions.request.observed_step',
            expected=f'step {asked.step - request.skipped - 1}, {request.skipped} skipped before '
            f'step {asked.step}',
            actual=f'step {request.observed_step}',
        )
    seen = scene.answered
    if seen is not None and now.observed != seen.closed:
        yield Mismatch(
            field='observed',
            expected=f'{seen.closed.ros.nanoseconds}, when step {seen.id.step} was closed',
            actual=str(now.observed.ros.nanoseconds if now.observed else 'unknown'),
        )


@rule(
    'captured-as-contract',
    '`captured` is the capture of the field that the contract names for the reaction time, in '
    'the observation that was answered.',
    'Compare `latency_budget: of:` in the contract, and look for a stamp that was changed on one '
    'side only.',
    needs_contract=True,
)
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
            field='captured',
            expected=f'{expected.nanoseconds if expected else "unknown"}, as of {name!r}',
            actual=str(now.captured.nanoseconds if now.captured else 'unknown'),
        )


@rule(
    'overrun-explained',
    'A tick without a decision on a new action is an overrun and says who held the robot, unless '
    'it was the turn of another agent; no other step does.',
    'Look at who ticked: an overrun that is not marked makes the policy look faster than it is.',
)
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
        yield Mismatch(field='overrun', expected=str(expected), actual=str(now.overrun))
    held = any(decision.published for decision in now.decisions)
    holder = ('gate' if held else 'driver') if expected else ''
    if now.held_by != holder:
        yield Mismatch(field='held_by', expected=repr(holder), actual=repr(now.held_by))


@rule(
    'measured-action',
    'The measured action has the dimensions of the command, and says when it was captured, not '
    'later than the step was closed.',
    'Look at the feedback of the contract: what the robot did is measured, not assumed.',
)
def _measured_action(scene: Scene) -> Found:
    now = scene.now
    if bool(now.measured_action) != (now.measured_at is not None):
        yield Mismatch(
            field='measured_at',
            expected='an instant exactly if something was measured',
            actual='unknown' if now.measured_at is None else 'an instant without a value',
        )
    if now.measured_at is not None:
        stamp, closed = now.measured_at, now.closed.ros
        same_clock = (stamp.clock, stamp.host) == (closed.clock, closed.host)
        if same_clock and stamp.nanoseconds > closed.nanoseconds:
            yield Mismatch(field='measured_at', expected='not after `closed`', actual='after it')
    sizes = {len(a) for a in (now.measured_action, now.commanded_action) if a}
    if scene.terms is not None:
        sizes.add(len(scene.terms.low))
    if now.measured_action and len(sizes) > 1:
        yield Mismatch(
            field='measured_action',
            expected='as many values as the command has',
            actual=str(len(now.measured_action)),
        )


@rule(
    'stop-ends-episode',
    'A stop of the gate ends the episode where the contract says so, and nobody else claims an '
    'ending by the gate.',
    'Compare `episode: on_stop:` in the contract with the rules of the decisions of the step.',
    needs_contract=True,
)
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
            field='cause',
            expected=f'one of {", ".join(stops) or "no"} stops of the gate',
            actual=repr(now.cause),
        )


@rule(
    'sensor-loss-explained',
    'An episode that ended as `sensor_lost` has a field that was too old, never came or left its '
    'bounds.',
    'Compare `when_stale:` and `beyond:` in the contract with the fields of the last observation.',
    needs_contract=True,
)
def _sensor_loss_explained(scene: Scene) -> Found:
    now, contract = scene.now, known(scene.terms).contract
    specs, fields = (*contract.observation, *contract.state), (*now.after, *now.state)
    if now.cause != SENSOR_LOST or len(fields) != len(specs):
        return
    if not lost(specs, fields):
        yield Mismatch(
            field='cause', expected='a field that is lost', actual='every field is there'
        )


def _ends_by(present: set[str], cause: str, contract: Contract) -> Found:
    """Yield a mismatch unless the episode ended by the foremost cause, or one before it."""
    if not present:
        return
    order = tuple(contract.episode.causes)
    expected = foremost({*present, cause} if cause else present, order)
    if cause != expected:
        yield Mismatch(
            field='cause', expected=repr(expected), actual=repr(cause) if cause else 'none'
        )


def values_of(fields: tuple[ObservationField, ...]) -> Mapping[str, Vector]:
    """Return the values of fields by name, without images and what is missing."""
    return {field.name: field.values for field in fields if field.values}


@rule(
    'judgement-recomputed',
    'Reward, terms and verdict of the task are what the task makes of the recorded step when it '
    'is asked again.',
    'Install the version of the task that the contract names; if it is that one, the record was '
    'changed.',
    needs_contract=True,
    needs_task=True,
)
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
        yield Mismatch(field='after', expected='all that the task needs', actual=repr(error))
        return
    ours = {term.name: term.value for term in outcome.terms}
    theirs = {term.name: term.value for term in now.reward_terms}
    for name in dict.fromkeys((*ours, *theirs)):
        expected, actual = ours.get(name), theirs.get(name)
        if expected is None or actual is None or not close(expected, actual):
            yield Mismatch(
                field=f'reward_terms.{name}', expected=number(expected), actual=number(actual)
            )
    total = math.fsum(ours.values())
    if not close(total, now.reward):
        yield Mismatch(field='reward', expected=number(total), actual=number(now.reward))
    if outcome.cause:
        yield from _ends_by({outcome.cause}, now.cause, contract)
    elif now.cause == SUCCESS or now.declared_by.startswith('task:'):
        yield Mismatch(
            field='cause',
            expected='none by the task',
            actual=f'{now.cause!r} by {now.declared_by!r}',
        )


@rule(
    'import-as-commanded',
    'A step that was imported from a bag claims no verdict of a gate, and its requested and '
    'admitted action are the one that its command means.',
    'Import the bag anew; nobody knows what was asked for before it was commanded.',
    needs_contract=True,
)
def _import_as_commanded(scene: Scene) -> Found:
    now = scene.now
    if not is_import(now):
        return
    if now.verdict is not None or now.decision != -1:
        yield Mismatch(
            field='verdict',
            expected='none without a decision',
            actual=now.verdict.name if now.verdict else str(now.decision),
        )
    if not same(now.admitted_action, now.requested_action):
        yield Mismatch(
            field='admitted_action',
            expected=f'{vector(now.requested_action)} as requested',
            actual=vector(now.admitted_action),
        )
    groups = known(scene.terms).contract.action
    plain = all(group.kind is ActionKind.CONTINUOUS for group in groups)
    if plain and not same(now.requested_action, now.commanded_action):
        yield Mismatch(
            field='requested_action',
            expected=f'{vector(now.commanded_action)} as commanded',
            actual=vector(now.requested_action),
        )


RULES: tuple[Rule, ...] = (
    _decision_answers,
    _actions_copied,
    _instants_copied,
    _answered_observation,
    _captured_as_contract,
    _overrun_explained,
    _measured_action,
    _stop_ends_episode,
    _sensor_loss_explained,
    _judgement_recomputed,
    _import_as_commanded,
)
