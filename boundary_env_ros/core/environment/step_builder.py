# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closing a step: from two observations and the decisions between them to its transition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.actuation import Actuation
from boundary_env_ros.core.environment.endings import (
    foremost,
    TASK_FAILED,
    time_is_over,
    TIME_LIMIT,
)
from boundary_env_ros.core.environment.observation import ObservationField
from boundary_env_ros.core.environment.observation_buffer import View
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import check_rewards, judge, Outcome, StepView, Task
from boundary_env_ros.core.gate.decision import GateDecision, KeyValue, Trigger, Verdict
from boundary_env_ros.core.gate.rules.admission import UNHEARD
from boundary_env_ros.core.latency import measure
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    Kind,
    ResetRecord,
    Transition,
)
from boundary_env_ros.errors import TaskFailed
from boundary_env_ros.frozen import replace

#: Key in the diagnostics of a transition: whose turn the step was, if the contract declares turns.
TURN = 'turn'

#: Who declares the endings that stops of the gate stand for.
SAFETY_GATE = 'safety_gate'


def opened(contract: Contract, view: View, kind: Kind, **known: Any) -> Transition:
    """Return a transition with what is known of it before it is judged; see :func:`close`."""
    observation = view.observation
    return Transition(
        contract=contract.name,
        contract_version=contract.version,
        id=observation.id,
        kind=kind,
        pacing=contract.pacing,
        after=observation.fields,
        state=view.state,
        closed=observation.observed,
        **known,
    )


def close(
    step: Transition,
    before: View,
    *,
    contract: Contract,
    reset: ResetRecord | None,
    captured: Mapping[int, Stamp | None],
    gaps: int,
    task: Task,
    actuation: Actuation,
    endings: Mapping[str, tuple[str, str]],
) -> tuple[Transition, tuple[ActuationEvidence, ...], str]:
    """
    Close a step.

    Parameters
    ----------
    step
        What is known of it: where it stands, what was observed, the decisions of the gate since
        the last one, how late its tick was, and of a record when the robot acted. All else is
        worked out here.
    before
        What was observed before it.
    contract
        The contract.
    reset
        That of the episode.
    captured
        When the field of the reaction time was captured, by step of the observation: of the last
        ones, ``before`` among them. An action may answer an older one.
    gaps
        Decisions that are known to be lost.
    task
        Judges it.
    actuation
        Knows what the robot did.
    endings
        Endings that were found elsewhere, with their declarer and a sentence each.

    Returns
    -------
    tuple
        Its record, evidence for commands of earlier steps, and one sentence on the ending, empty
        if there is none.

    """
    index = answering(step.decisions)
    decision = step.decisions[index] if index >= 0 else None
    request = decision.request if decision else None
    executions = actuation.executions()
    execution = next(
        (e for e in executions if decision and e.decision_sequence == decision.sequence), None
    )
    by_task = f'task:{contract.task.name}'
    found = dict(endings)
    view = StepView(
        agent=step.id.agent,
        before=_values(before.observation.fields, before.state),
        after=_values(step.after, step.state),
        commanded=decision.command if decision else (),
        reset=by_name(reset.sampled) if reset else {},
        step=step.id.step,
        period=contract.period,
    )
    try:
        outcome = judge(task, contract, view)
        check_rewards(task, contract, outcome)
    except TaskFailed as error:
        # The task is a user's code: that it fails ends the episode, not the environment.
        outcome = Outcome()
        endings = {**endings, TASK_FAILED: (by_task, str(error))}
        found[TASK_FAILED] = endings[TASK_FAILED]
    found.update(_stops(step, contract))
    if outcome.ending:
        found[outcome.ending] = (by_task, '')
    if step.id.step >= contract.max_steps:
        found.setdefault(TIME_LIMIT, ('environment', time_is_over(contract.episode.time_limit)))
    ending = foremost(found, contract.episode.endings)
    declared_by, message = found[ending] if ending else ('', '')
    kind = contract.episode.endings[ending].name if ending else ''
    feedback = actuation.latest
    overrun = (
        decision is None
        and contract.pacing is Pacing.REALTIME
        and contract.has_turn(step.id.agent, step.id.step)
    )
    # An action answers the observation that its request names: all of a chunk the same, and one
    # that was inferred while the world went on an older one.
    seen = request.observed_step if request else before.observation.id.step
    closed = replace(
        step,
        requested_action=decision.requested_action if decision else (),
        admitted_action=decision.admitted_action if decision else (),
        commanded_action=decision.command if decision else (),
        measured_action=feedback.values if feedback else (),
        measured_at=feedback.captured if feedback else None,
        verdict=decision.verdict if decision else None,
        decision=index,
        overrun=overrun,
        reward=sum(term.value for term in outcome.terms),
        reward_terms=outcome.terms,
        terminated=kind == 'TERMINATED',
        truncated=kind == 'TRUNCATED',
        ending=ending or '',
        declared_by=declared_by,
        captured=captured.get(seen),
        opened=before.observation.observed,
        commanded=decision.commanded if decision else None,
        actuated=execution.actuated if execution else step.actuated,
        actuated_quantum=execution.quantum if execution else None,
        actuated_source=execution.source if execution else '',
        diagnostics=tuple(_diagnostics(step, contract, gaps, endings)),
    )
    lockstep = contract.pacing is Pacing.LOCKSTEP
    latency = measure(closed, contract.latency_budget, lockstep=lockstep)
    evidence = tuple(e for e in executions if e is not execution)
    return replace(closed, latency=latency), evidence, message


def ending_message(step: Transition, contract: Contract) -> str:
    """Return what is said of the ending of a step; empty if nothing is."""
    said = {item.key: item.value for item in step.diagnostics}
    if message := said.get(f'ending:{step.ending}', ''):
        return message
    if step.ending == TIME_LIMIT:
        return time_is_over(contract.episode.time_limit)
    return _stops(step, contract).get(step.ending, ('', ''))[1]


def is_on_new_action(decision: GateDecision) -> bool:
    """Return whether a decision is on a new action of the lease holder, however it came out."""
    return decision.trigger in (Trigger.REQUEST, Trigger.CHUNK) and not any(
        result.reason in UNHEARD for result in decision.rules
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


def _values(*parts: tuple[ObservationField, ...]) -> Mapping[str, Vector]:
    return {field.name: field.values for part in parts for field in part if field.values}


def _stops(step: Transition, contract: Contract) -> Mapping[str, tuple[str, str]]:
    """Return the endings that stops of the gate stand for, as the contract declares."""
    found = {}
    for decision in step.decisions:
        for result in decision.rules:
            ending = contract.episode.on_stop.get(result.reason.name)
            if result.outcome is Verdict.STOPPED and ending:
                found[ending] = (SAFETY_GATE, result.reason.name.lower().replace('_', ' '))
    return found


def _diagnostics(
    step: Transition, contract: Contract, gaps: int, endings: Mapping[str, tuple[str, str]]
) -> Iterator[KeyValue]:
    turn = contract.turn_of(step.id.step)
    if turn:
        yield KeyValue(key=TURN, value=turn)
    if gaps:
        yield KeyValue(key='gate_decisions_lost', value=str(gaps))
    for ending, (_, message) in endings.items():
        yield KeyValue(key=f'ending:{ending}', value=message)
