# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the steps of an episode that runs come about: decisions, advances of the world, closing."""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.environment.environment_state import Setup, State, Step
from boundary_env_ros.core.environment.input_events import Decided
from boundary_env_ros.core.environment.observation_buffer import View
from boundary_env_ros.core.environment.silence import sensors_lost, silent
from boundary_env_ros.core.environment.step_builder import close_step, is_on_new_action
from boundary_env_ros.core.gate.decision import GateDecision, Verdict
from boundary_env_ros.core.gate.rules.agent_order import holds_for_another
from boundary_env_ros.core.timebase import ClockReading, elapsed, RosTime
from boundary_env_ros.core.transition import ActuationEvidence, Transition
from boundary_env_ros.frozen import replace

#: By name of an ending, who declares it, and one sentence.
Endings = Mapping[str, tuple[str, str]]


def on_decision(setup: Setup, state: State, event: Decided) -> Step:
    """Keep a decision of the gate for the step, and ask the world to advance (lockstep)."""
    decision, last = event.decision, state.sequence
    lost = 0 if last is None else max(0, decision.sequence - last - 1)
    state = replace(state, sequence=decision.sequence, gaps=state.gaps + lost)
    if not state.running:
        return state, ()
    foreign = decision.id.episode_id != state.episode.id.episode_id
    if foreign and (decision.verdict is not Verdict.REJECTED or _was_before(state, decision)):
        return state, ()  # still braking out of the episode before, or refused while it lasted
    # What was rejected goes by the name that its request gave itself, and belongs here too.
    state = replace(
        state,
        decisions=(*state.decisions, decision),
        actuation=state.actuation.commanded(decision),
    )
    asked = is_on_new_action(decision)
    if foreign or not (asked or holds_for_another(decision)):
        return state, ()
    if asked:
        state = state.heard(policy=event.now.steady)
    if not setup.lockstep or state.advance is not None:
        return state, ()
    # What moves the world is the last command, which need not be an answer to the request: an
    # operator may have taken over.
    sent = [d.commanded for d in state.decisions if d.commanded is not None]
    stamp = RosTime(sent[-1].ros.nanoseconds if sent else 0)
    return state.asking(setup.contract.period, stamp, event.now)


def _was_before(state: State, decision: GateDecision) -> bool:
    """Return whether a decision is known to have been made before the episode ran."""
    since = elapsed(state.started, decision.received)
    return since is not None and since < 0.0


def parties_lost(setup: Setup, state: State, now: ClockReading) -> Endings:
    """Return which parties have been silent for too long."""
    advancing = state.advance is not None
    found = silent(setup.contract, state.heartbeats, now, advancing=advancing)
    return {ending: (setup.name, sentence) for ending, sentence in found.items()}


def close(
    setup: Setup,
    state: State,
    now: ClockReading,
    *,
    found: Endings | None = None,
    late: float | None = None,
) -> Step:
    """
    Close the step that goes on.

    Parameters
    ----------
    setup, state
        Of the environment.
    now
        When.
    found
        Endings that were found already.
    late
        Seconds by which its tick was late; None if no tick closes it.

    """
    contract = setup.contract
    view = state.buffer.view(state.episode.at(state.episode.id.step + 1), now)
    lost = sensors_lost(contract, state.heartbeats, state.buffer, view, now)
    every = {
        **{ending: (setup.name, why) for ending, why in lost.items()},
        **({} if setup.lockstep else parties_lost(setup, state, now)),
        **(found or {}),
    }
    state, transition, evidence = close_with(setup, state, view, every, late)
    privileged = state.buffer.privileged(transition.id, now)
    # What the policy waits for goes first.
    return state, (transition, privileged, *evidence, replace(state.episode, stamp=now))


def close_with(
    setup: Setup, state: State, view: View, found: Endings, late: float | None = None
) -> tuple[State, Transition, tuple[ActuationEvidence, ...]]:
    """
    Close the step that goes on with what was observed and these endings.

    Returns
    -------
    tuple
        The state, the record of the step, and evidence for commands of earlier steps.

    """
    contract, before = setup.contract, state.before
    assert before is not None  # a running episode has observed
    actuation, executions = state.actuation.executions()
    transition, evidence, message = close_step(
        contract,
        setup.task,
        state.origin(setup),
        before=before,
        after=view,
        decisions=state.decisions,
        reset=state.record,
        captured=state.buffer.captured_at,
        endings=found,
        feedback=actuation.latest,
        executions=executions,
        gaps=state.gaps,
        late=late,
    )
    episode = state.episode.stepped()
    if transition.ending:
        episode = episode.end(
            ending=transition.ending,
            kind=contract.episode.endings[transition.ending],
            declared_by=transition.declared_by,
            message=message,
        )
    state = replace(
        state.heard(own=view.observation.observed.steady),
        episode=episode,
        buffer=state.buffer.keeping(view),
        actuation=actuation,
        before=view,
        decisions=(),
        advance=None,
        advanced=None,
        info='',
        gaps=0,
    )
    return state, transition, evidence
