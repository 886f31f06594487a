# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closing a step: two observations and the decisions between them become its transition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.environment_state import EnvironmentState
from boundary_env_ros.core.environment.observation_buffer import View
from boundary_env_ros.core.environment.reset import by_name
from boundary_env_ros.core.environment.task import check_rewards, judge, Outcome, StepView
from boundary_env_ros.core.records.clock_offsets import (
    after_step,
    as_diagnostics,
    ClockOffset,
)
from boundary_env_ros.core.records.decision import GateDecision, NOT_CONSIDERED, Trigger, Verdict
from boundary_env_ros.core.records.endings import (
    EndingKind,
    foremost,
    TASK_FAILED,
    time_is_over,
    TIME_LIMIT,
)
from boundary_env_ros.core.records.instants import measure
from boundary_env_ros.core.records.parts import KeyValue
from boundary_env_ros.core.records.transition import ActuationEvidence, Kind, Transition
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import TaskFailed
from boundary_env_ros.frozen import replace

#: Key in the diagnostics of a transition: whose turn the step was, if the contract declares turns.
TURN = 'turn'

#: By name of an ending, who declares it, and one sentence.
Endings: TypeAlias = Mapping[str, tuple[str, str]]

#: Who declares the endings that stops of the gate stand for.
SAFETY_GATE = 'safety_gate'


def close_step(
    state: EnvironmentState,
    after: View,
    endings: Endings,
    *,
    late: float | None = None,
    actuated: Stamp | None = None,
    offsets: tuple[ClockOffset, ...] | None = None,
) -> tuple[EnvironmentState, Transition, tuple[ActuationEvidence, ...]]:
    """
    Close the step that goes on.

    Parameters
    ----------
    state
        In which an episode runs.
    after
        What was observed now.
    endings
        Endings that were found elsewhere.
    late
        Seconds by which its tick was late; None if no tick closes it.
    actuated
        When the robot acted, where a record knows it without evidence.
    offsets
        Those of the clocks of other hosts, where a record knows them.

    Returns
    -------
    tuple
        The state, the record of the step, and evidence for commands of earlier steps.

    """
    setup, before, decisions = state.setup, state.before, state.decisions
    assert before is not None  # a running episode has observed
    contract, id_ = setup.contract, after.observation.id
    index = answering(decisions)
    decision = decisions[index] if index >= 0 else None
    request = decision.request if decision else None
    actuation, executions = state.actuation.executions()
    feedback = actuation.latest
    execution = next(
        (e for e in executions if decision and e.decision_sequence == decision.sequence), None
    )
    by_task = f'task:{contract.task.name}'
    found = dict(endings)
    view = StepView(
        agent=id_.agent,
        before=_values(before),
        after=_values(after),
        commanded=decision.command if decision else (),
        reset=by_name(state.record.sampled) if state.record else {},
        step=id_.step,
        period=contract.period,
    )
    try:
        outcome = judge(setup.task, contract, view)
        check_rewards(setup.task, contract, outcome)
    except TaskFailed as error:
        # The task is a user's code: that it fails ends the episode, not the environment.
        outcome = Outcome()
        endings = {**endings, TASK_FAILED: (by_task, str(error))}
        found[TASK_FAILED] = endings[TASK_FAILED]
    found.update(_stops(decisions, contract))
    if outcome.ending:
        found[outcome.ending] = (by_task, '')
    if id_.step >= contract.max_steps:
        found.setdefault(TIME_LIMIT, ('environment', time_is_over(contract.episode.time_limit)))
    ending = foremost(found, contract.episode.endings) or ''
    declared_by, message = found.get(ending, ('', ''))
    kind = contract.episode.endings[ending] if ending else None
    # An action answers the observation that its request names: all of a chunk the same, and one
    # that was inferred while the world went on an older one.
    seen = request.observed_step if request else before.observation.id.step
    closed = state.transition(
        after,
        Kind.STEP,
        before=before.observation.fields,
        requested_action=decision.requested_action if decision else (),
        admitted_action=decision.admitted_action if decision else (),
        commanded_action=decision.command if decision else (),
        measured_action=feedback.values if feedback else (),
        measured_at=feedback.captured if feedback else None,
        verdict=decision.verdict if decision else None,
        decisions=decisions,
        decision=index,
        overrun=not (decision or contract.is_lockstep) and contract.has_turn(id_.agent, id_.step),
        reward=sum(term.value for term in outcome.terms),
        reward_terms=outcome.terms,
        terminated=kind is EndingKind.TERMINATED,
        truncated=kind is EndingKind.TRUNCATED,
        ending=ending,
        declared_by=declared_by,
        captured=state.buffer.captured_at(seen),
        opened=before.observation.observed,
        commanded=decision.commanded if decision else None,
        actuated=execution.actuated if execution else actuated,
        actuated_quantum=execution.quantum if execution else None,
        actuated_source=execution.source if execution else '',
        tick_error=late,
        diagnostics=tuple(_diagnostics(id_.step, contract, state.gaps, endings)),
    )
    clocks = state.clocks
    if offsets is None and not contract.is_lockstep:
        clocks, offsets = after_step(clocks, closed)
    if offsets:
        closed = replace(closed, diagnostics=(*closed.diagnostics, *as_diagnostics(offsets)))
    latency = measure(closed, contract.latency_budget, lockstep=contract.is_lockstep)
    episode = state.episode.stepped()
    if kind is not None:
        episode = episode.end(ending=ending, kind=kind, declared_by=declared_by, message=message)
    state = replace(
        state,
        heartbeats=replace(state.heartbeats, own=after.observation.observed.steady),
        episode=episode,
        buffer=state.buffer.keeping(after),
        actuation=actuation,
        before=after,
        decisions=(),
        advance=None,
        advanced=None,
        info='',
        clocks=clocks,
        gaps=0,
    )
    evidence = tuple(e for e in executions if e is not execution)
    return state, replace(closed, latency=latency), evidence


def ending_message(step: Transition, contract: Contract) -> str:
    """Return what is said of the ending of a step; empty if nothing is."""
    diagnostics = {item.key: item.value for item in step.diagnostics}
    if message := diagnostics.get(f'ending:{step.ending}', ''):
        return message
    if step.ending == TIME_LIMIT:
        return time_is_over(contract.episode.time_limit)
    return _stops(step.decisions, contract).get(step.ending, ('', ''))[1]


def is_on_new_action(decision: GateDecision) -> bool:
    """Return whether a decision is on a new action of the lease holder, however it came out."""
    return decision.trigger in (Trigger.REQUEST, Trigger.CHUNK) and not any(
        result.reason in NOT_CONSIDERED for result in decision.rules
    )


def answering(decisions: tuple[GateDecision, ...]) -> int:
    """
    Return the index of the decision on the step's action; -1 if there is none.

    The last one on a request that was not rejected; if all were, the last of those. A request that
    was not considered, because it was another client's or came twice, is no action of the step.
    """
    best = -1
    for index, decision in enumerate(decisions):
        if not is_on_new_action(decision):
            continue
        rejected = decision.verdict is Verdict.REJECTED
        if best < 0 or not rejected or decisions[best].verdict is Verdict.REJECTED:
            best = index
    return best


def _values(view: View) -> Mapping[str, Vector]:
    return {field.name: field.values for field in view.fields if field.values}


def _stops(decisions: tuple[GateDecision, ...], contract: Contract) -> Endings:
    """Return the endings that stops of the gate stand for, as the contract declares."""
    found = {}
    for decision in decisions:
        for result in decision.rules:
            ending = contract.episode.on_stop.get(result.reason.name)
            if result.outcome is Verdict.STOPPED and ending:
                found[ending] = (SAFETY_GATE, result.reason.name.lower().replace('_', ' '))
    return found


def _diagnostics(step: int, contract: Contract, gaps: int, endings: Endings) -> Iterator[KeyValue]:
    turn = contract.turn_of(step)
    if turn:
        yield KeyValue(key=TURN, value=turn)
    if gaps:
        yield KeyValue(key='gate_decisions_lost', value=str(gaps))
    for ending, (_, message) in endings.items():
        yield KeyValue(key=f'ending:{ending}', value=message)
