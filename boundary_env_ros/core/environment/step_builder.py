# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closing a step: from two observations and the decisions between them to its transition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.actuation import Actuation, Execution
from boundary_env_ros.core.environment.endings import foremost, TASK_FAILED, TIME_LIMIT
from boundary_env_ros.core.environment.observation import Observation, ObservationField
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import check_rewards, judge, Outcome, StepView, Task
from boundary_env_ros.core.gate.decision import GateDecision, KeyValue, Reason, Trigger, Verdict
from boundary_env_ros.core.latency import measure, measured_offsets
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    Kind,
    ResetRecord,
    Transition,
)
from boundary_env_ros.errors import TaskFailed

#: Key in the diagnostics of a transition: whose turn the step was, if the contract declares turns.
TURN = 'turn'

#: Who declares the endings that stops of the gate stand for.
SAFETY_GATE = 'safety_gate'

#: Why a request is refused that is not a new action of the holder of the lease, but somebody
#: else's or an old one.
_UNHEARD = frozenset(
    {
        Reason.WRONG_DIGEST,
        Reason.WRONG_AGENT,
        Reason.WRONG_EPISODE,
        Reason.WRONG_LEASE,
        Reason.OUT_OF_ORDER,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """
    All that a transition is made of, but for what task and robot made of it.

    Attributes
    ----------
    before, after
        The two observations.
    state_before, state
        The rest of the environment's state with each of them.
    captured
        When the field of the reaction time was captured, by step of the observation: of the last
        ones, ``before`` among them. An action may answer an older one.
    decisions
        Decisions of the gate since the last step was closed.
    late
        Seconds by which the tick came after its due time; None in lockstep.
    gaps
        Decisions that are known to be lost.
    source
        Topics of the feedback.
    info
        What the world says of itself, a JSON object or empty.

    """

    contract: Contract
    before: Observation
    after: Observation
    state_before: tuple[ObservationField, ...]
    state: tuple[ObservationField, ...]
    captured: Mapping[int, Stamp | None]
    decisions: tuple[GateDecision, ...]
    reset: ResetRecord | None
    late: float | None
    gaps: int
    source: str
    version: str
    client_version: str
    wrappers: tuple[str, ...]
    seed: int
    info: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """
    A closed step.

    Attributes
    ----------
    transition
        Its record.
    evidence
        Evidence for commands of earlier steps.
    message
        One sentence on the ending; empty if there is none.

    """

    transition: Transition
    evidence: tuple[ActuationEvidence, ...]
    message: str


def close(
    step: Step, *, task: Task, actuation: Actuation, endings: Mapping[str, tuple[str, str]]
) -> Closed:
    """
    Close a step.

    Parameters
    ----------
    step
        What it is made of.
    task
        Judges it.
    actuation
        Knows what the robot did.
    endings
        Endings that were found elsewhere, with their declarer and a sentence each.

    """
    contract = step.contract
    index = answering(step.decisions)
    decision = step.decisions[index] if index >= 0 else None
    executions = actuation.executions()
    execution = next(
        (
            e
            for e in executions
            if decision is not None and e.decision.sequence == decision.sequence
        ),
        None,
    )
    by_task = f'task:{contract.task.name}'
    found = dict(endings)
    try:
        outcome = judge(task, contract, _step_view(step, decision))
        check_rewards(task, contract, outcome)
    except TaskFailed as error:
        # The task is a user's code: that it fails ends the episode, not the environment.
        outcome = Outcome()
        endings = {**endings, TASK_FAILED: (by_task, str(error))}
        found[TASK_FAILED] = endings[TASK_FAILED]
    found.update(_stops(step))
    if outcome.ending:
        found[outcome.ending] = (by_task, '')
    if step.after.id.step >= contract.max_steps:
        found.setdefault(
            TIME_LIMIT, ('environment', f'{contract.episode.time_limit:g} s are over')
        )
    ending = foremost(found, contract.episode.endings)
    declared_by, message = found[ending] if ending else ('', '')
    kind = contract.episode.endings[ending].name if ending else ''
    request = decision.request if decision is not None else None
    captured = _captured(step, decision)
    feedback = actuation.latest
    observed = request.observed if request else step.before.observed
    delivered = request.delivered if request else None
    requested = request.requested if request else None
    received = decision.received if decision else None
    commanded = decision.commanded if decision else None
    actuated = execution.actuated if execution else None
    offsets = measured_offsets(
        observed=observed, delivered=delivered, requested=requested, received=received
    )
    overrun = (
        decision is None
        and contract.pacing is Pacing.REALTIME
        and contract.has_turn(step.after.id.agent, step.after.id.step)
    )
    transition = Transition(
        contract=contract.name,
        contract_version=contract.version,
        software_version=step.version,
        client_version=step.client_version,
        wrappers=step.wrappers,
        id=step.after.id,
        kind=Kind.STEP,
        pacing=contract.pacing,
        seed=step.seed,
        before=step.before.fields,
        after=step.after.fields,
        state=step.state,
        requested_action=decision.requested_action if decision else (),
        admitted_action=decision.admitted_action if decision else (),
        commanded_action=decision.command if decision else (),
        measured_action=feedback.values if feedback else (),
        payload=decision.request.payload if decision and decision.request else '',
        measured_at=feedback.captured if feedback else None,
        verdict=decision.verdict if decision else None,
        decisions=step.decisions,
        decision=index,
        overrun=overrun,
        held_by=_held_by(step.decisions) if overrun else '',
        reward=sum(term.value for term in outcome.terms),
        reward_terms=outcome.terms,
        terminated=kind == 'TERMINATED',
        truncated=kind == 'TRUNCATED',
        ending=ending or '',
        declared_by=declared_by,
        info=step.info,
        captured=captured,
        observed=observed,
        delivered=delivered,
        requested=requested,
        received=received,
        commanded=commanded,
        actuated=actuated,
        actuated_quantum=execution.quantum if execution else None,
        actuated_source=(execution.source or step.source) if execution else '',
        closed=step.after.observed,
        tick_error=step.late,
        latency=measure(
            captured=captured,
            observed=observed,
            delivered=delivered,
            requested=requested,
            received=received,
            commanded=commanded,
            actuated=actuated,
            budget=contract.latency_budget,
            lockstep=contract.pacing is Pacing.LOCKSTEP,
            offsets=offsets,
        ),
        clock_offsets=offsets,
        diagnostics=(*_diagnostics(step, endings), *(request.metadata if request else ())),
    )
    evidence = tuple(_evidence(e, step.source) for e in executions if e is not execution)
    return Closed(transition=transition, evidence=evidence, message=message)


def late_evidence(actuation: Actuation, source: str) -> tuple[ActuationEvidence, ...]:
    """Return the evidence that has come for commands of steps already closed."""
    return tuple(_evidence(execution, source) for execution in actuation.executions())


def _evidence(execution: Execution, source: str) -> ActuationEvidence:
    decision = execution.decision
    assert decision.commanded is not None  # only published commands are looked for
    return ActuationEvidence(
        id=decision.id,
        decision_sequence=decision.sequence,
        commanded=decision.commanded,
        actuated=execution.actuated,
        quantum=execution.quantum,
        source=execution.source or source,
        measured=execution.measured,
    )


def is_on_new_action(decision: GateDecision) -> bool:
    """Return whether a decision is on a new action of the lease holder, however it came out."""
    return decision.trigger in (Trigger.REQUEST, Trigger.CHUNK) and not any(
        result.reason in _UNHEARD for result in decision.rules
    )


def answering(decisions: tuple[GateDecision, ...]) -> int:
    """
    Return the index of the decision on the step's action; -1 if there is none.

    The last one on a request that was not rejected; if all were, the last of those. A request that
    was not heard at all, because it was another client's or came twice, is no action of the step.
    """
    best = -1
    for index, decision in enumerate(decisions):
        if not is_on_new_action(decision):
            continue
        rejected = decision.verdict is Verdict.REJECTED
        if best < 0 or not rejected or decisions[best].verdict is Verdict.REJECTED:
            best = index
    return best


def _held_by(decisions: tuple[GateDecision, ...]) -> str:
    return 'gate' if any(decision.published for decision in decisions) else 'driver'


def _values(observation: Observation, state: tuple[ObservationField, ...]) -> Mapping[str, Vector]:
    return {f.name: f.values for f in (*observation.fields, *state) if f.values}


def _step_view(step: Step, decision: GateDecision | None) -> StepView:
    return StepView(
        agent=step.after.id.agent,
        before=_values(step.before, step.state_before),
        after=_values(step.after, step.state),
        commanded=decision.command if decision else (),
        reset=by_name(step.reset.sampled) if step.reset else {},
        step=step.after.id.step,
        period=step.contract.period,
    )


def _stops(step: Step) -> Mapping[str, tuple[str, str]]:
    """Return the endings that stops of the gate stand for, as the contract declares."""
    found = {}
    for decision in step.decisions:
        for result in decision.rules:
            ending = step.contract.episode.on_stop.get(result.reason.name)
            if result.outcome is Verdict.STOPPED and ending:
                found[ending] = (SAFETY_GATE, result.reason.name.lower().replace('_', ' '))
    return found


def _captured(step: Step, decision: GateDecision | None) -> Stamp | None:
    """Return when the field of the reaction time was captured, in the answered observation."""
    request = None if decision is None else decision.request
    # An action answers the observation that its request names: all of a chunk the same, and one
    # that was inferred while the world went on an older one.
    seen = step.before.id.step if request is None else request.observed_step
    return step.captured.get(seen)


def _diagnostics(step: Step, endings: Mapping[str, tuple[str, str]]) -> tuple[KeyValue, ...]:
    found = []
    turn = step.contract.turn_of(step.after.id.step)
    if turn:
        found.append(KeyValue(key=TURN, value=turn))
    if step.gaps:
        found.append(KeyValue(key='gate_decisions_lost', value=str(step.gaps)))
    for ending, (_, message) in endings.items():
        found.append(KeyValue(key=f'ending:{ending}', value=message))
    for decision in step.decisions:
        if decision.request is not None and decision.request.unresolved:
            names = ','.join(decision.request.unresolved)
            found.append(KeyValue(key='images_unresolved', value=names))
    return tuple(found)
