# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closing a step: two observations and the decisions between them become its transition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.contract.sources import Vector
from boundary_env_ros.core.environment.actuation import Feedback
from boundary_env_ros.core.environment.endings import (
    foremost,
    TASK_FAILED,
    time_is_over,
    TIME_LIMIT,
)
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
from boundary_env_ros.frozen import frozen, replace

#: Key in the diagnostics of a transition: whose turn the step was, if the contract declares turns.
TURN = 'turn'

#: Who declares the endings that stops of the gate stand for.
SAFETY_GATE = 'safety_gate'


@frozen
class Origin:
    """
    Where a transition comes from, as its client, its software and its world say.

    Attributes
    ----------
    software_version, client_version, wrappers, seed, info
        As in ``Transition.msg``.

    """

    software_version: str
    client_version: str = ''
    wrappers: tuple[str, ...] = ()
    seed: int = 0
    info: str = ''


def transition_of(
    contract: Contract, origin: Origin, view: View, kind: Kind, **known: Any
) -> Transition:
    """Return a transition that ends with a view; of a step see :func:`close_step`."""
    observation = view.observation
    return Transition(
        contract=contract.name,
        contract_version=contract.version,
        software_version=origin.software_version,
        client_version=origin.client_version,
        id=observation.id,
        kind=kind,
        pacing=contract.pacing,
        seed=origin.seed,
        after=observation.fields,
        closed=observation.observed,
        wrappers=origin.wrappers,
        state=view.state,
        info=origin.info,
        **known,
    )


def close_step(
    contract: Contract,
    task: Task,
    origin: Origin,
    *,
    before: View,
    after: View,
    decisions: tuple[GateDecision, ...],
    reset: ResetRecord | None,
    captured: Callable[[int], Stamp | None],
    endings: Mapping[str, tuple[str, str]],
    feedback: Feedback | None,
    executions: Sequence[ActuationEvidence] = (),
    actuated: Stamp | None = None,
    gaps: int = 0,
    late: float | None = None,
) -> tuple[Transition, tuple[ActuationEvidence, ...], str]:
    """
    Close a step.

    Parameters
    ----------
    contract, task
        The contract; its task judges the step.
    origin
        Where it comes from.
    before, after
        What was observed before and after it.
    decisions
        Those of the gate in between.
    reset
        That of the episode.
    captured
        Returns when the field of the reaction time was captured in the observation of a step. An
        action may answer an older one than ``before``.
    endings
        Endings that were found elsewhere, with their declarer and a sentence each.
    feedback, executions
        What the robot did last, and evidence for commands of this step and earlier ones.
    actuated
        When the robot acted, where a record knows it without such evidence.
    gaps
        Decisions that are known to be lost.
    late
        Seconds by which its tick was late; None if no tick closed it.

    Returns
    -------
    tuple
        Its record, evidence for commands of earlier steps, and one sentence on the ending, empty
        if there is none.

    """
    id_ = after.observation.id
    index = answering(decisions)
    decision = decisions[index] if index >= 0 else None
    request = decision.request if decision else None
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
        reset=by_name(reset.sampled) if reset else {},
        step=id_.step,
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
    found.update(_stops(decisions, contract))
    if outcome.ending:
        found[outcome.ending] = (by_task, '')
    if id_.step >= contract.max_steps:
        found.setdefault(TIME_LIMIT, ('environment', time_is_over(contract.episode.time_limit)))
    ending = foremost(found, contract.episode.endings)
    declared_by, message = found[ending] if ending else ('', '')
    kind = contract.episode.endings[ending].name if ending else ''
    lockstep = contract.pacing is Pacing.LOCKSTEP
    # An action answers the observation that its request names: all of a chunk the same, and one
    # that was inferred while the world went on an older one.
    seen = request.observed_step if request else before.observation.id.step
    closed = transition_of(
        contract,
        origin,
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
        overrun=decision is None and not lockstep and contract.has_turn(id_.agent, id_.step),
        reward=sum(term.value for term in outcome.terms),
        reward_terms=outcome.terms,
        terminated=kind == 'TERMINATED',
        truncated=kind == 'TRUNCATED',
        ending=ending or '',
        declared_by=declared_by,
        captured=captured(seen),
        opened=before.observation.observed,
        commanded=decision.commanded if decision else None,
        actuated=execution.actuated if execution else actuated,
        actuated_quantum=execution.quantum if execution else None,
        actuated_source=execution.source if execution else '',
        tick_error=late,
        diagnostics=tuple(_diagnostics(id_.step, contract, gaps, endings)),
    )
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
    return _stops(step.decisions, contract).get(step.ending, ('', ''))[1]


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


def _values(view: View) -> Mapping[str, Vector]:
    return {field.name: field.values for field in view.fields if field.values}


def _stops(
    decisions: tuple[GateDecision, ...], contract: Contract
) -> Mapping[str, tuple[str, str]]:
    """Return the endings that stops of the gate stand for, as the contract declares."""
    found = {}
    for decision in decisions:
        for result in decision.rules:
            ending = contract.episode.on_stop.get(result.reason.name)
            if result.outcome is Verdict.STOPPED and ending:
                found[ending] = (SAFETY_GATE, result.reason.name.lower().replace('_', ' '))
    return found


def _diagnostics(
    step: int, contract: Contract, gaps: int, endings: Mapping[str, tuple[str, str]]
) -> Iterator[KeyValue]:
    turn = contract.turn_of(step)
    if turn:
        yield KeyValue(key=TURN, value=turn)
    if gaps:
        yield KeyValue(key='gate_decisions_lost', value=str(gaps))
    for ending, (_, message) in endings.items():
        yield KeyValue(key=f'ending:{ending}', value=message)
