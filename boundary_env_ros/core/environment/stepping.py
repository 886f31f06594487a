# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the steps of an episode that runs come about: decisions, advances of the world, closing."""

from __future__ import annotations

from boundary_env_ros.core.environment.environment_events import Decided
from boundary_env_ros.core.environment.environment_state import EnvironmentState, Step
from boundary_env_ros.core.environment.silence import sensors_lost, silent
from boundary_env_ros.core.environment.step_builder import close_step, Endings, is_on_new_action
from boundary_env_ros.core.records.decision import GateDecision, holds_for_another, Verdict
from boundary_env_ros.core.timebase import ClockReading, elapsed
from boundary_env_ros.frozen import replace


def on_decision(state: EnvironmentState, event: Decided) -> Step:
    """Keep a decision of the gate for the step, and ask the world to advance (lockstep)."""
    decision, last = event.decision, state.sequence
    lost = 0 if last is None else max(0, decision.sequence - last - 1)
    sequence, gaps = decision.sequence, state.gaps + lost
    foreign = decision.id.episode_id != state.episode.id.episode_id
    if not state.running or (
        # Still braking out of the episode before, or refused while that lasted.
        foreign and (decision.verdict is not Verdict.REJECTED or _was_before(state, decision))
    ):
        return replace(state, sequence=sequence, gaps=gaps), ()
    # What was rejected goes by the name that its request gave itself, and belongs here too.
    now = event.now
    clocks = state.clocks.after([(decision.decided.ros, now.ros)], now.steady, now.steady)
    state = replace(
        state,
        sequence=sequence,
        gaps=gaps,
        decisions=(*state.decisions, decision),
        actuation=state.actuation.commanded(decision),
        clocks=clocks,
    )
    is_new = is_on_new_action(decision)
    if foreign or not (is_new or holds_for_another(decision)):
        return state, ()
    if is_new:
        state = state.with_heartbeats(policy=now.steady)
    if not state.setup.contract.is_lockstep or state.advance is not None:
        return state, ()
    # What moves the world is the last command, which need not be an answer to the request: an
    # operator may have taken over.
    sent = [d.commanded.ros.nanoseconds for d in state.decisions if d.commanded is not None]
    period, stamp = state.setup.contract.period, sent[-1] if sent else 0
    return state.asking(period, now, command_stamp=stamp)


def _was_before(state: EnvironmentState, decision: GateDecision) -> bool:
    """Return whether a decision is known to have been made before the episode ran."""
    since = elapsed(state.started, decision.received)
    return since is not None and since < 0.0


def parties_lost(state: EnvironmentState, now: ClockReading) -> Endings:
    """Return which parties have been silent for too long."""
    advancing = state.advance is not None
    found = silent(state.setup.contract, state.heartbeats, now, advancing=advancing)
    return {ending: (state.setup.name, sentence) for ending, sentence in found.items()}


def close(
    state: EnvironmentState,
    now: ClockReading,
    found: Endings | None = None,
    late: float | None = None,
) -> Step:
    """
    Close the step that goes on.

    Parameters
    ----------
    state
        In which an episode runs.
    now
        When.
    found
        Endings that were found already.
    late
        Seconds by which its tick was late; None if no tick closes it.

    """
    setup, at = state.setup, state.world_time(now)
    view = state.buffer.view(state.episode.at(state.episode.id.step + 1), at)
    lost = sensors_lost(setup.contract, state.heartbeats, state.buffer, view, at)
    endings = {ending: (setup.name, why) for ending, why in lost.items()}
    if not setup.contract.is_lockstep:
        endings |= parties_lost(state, at)
    state, transition, evidence = close_step(state, view, {**endings, **(found or {})}, late=late)
    privileged = state.buffer.privileged(transition.id, at)
    # What the policy waits for goes first.
    return state, (transition, privileged, *evidence, replace(state.episode, stamp=at))
