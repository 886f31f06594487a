# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How an episode starts: from a client's request over the reset to its first observation."""

from __future__ import annotations

import json

import numpy as np

from boundary_env_ros.core.contract.model import CallStep, Pacing, WaitStep, WorldStep
from boundary_env_ros.core.environment import endings
from boundary_env_ros.core.environment.environment_state import (
    Output,
    Setup,
    State,
    Step,
)
from boundary_env_ros.core.environment.episode import EpisodeStatus
from boundary_env_ros.core.environment.input_events import (
    BeginEpisode,
    ConfirmReset,
    ServiceAnswered,
    WorldAnswered,
)
from boundary_env_ros.core.environment.reset import by_name, Resetting, tolerances
from boundary_env_ros.core.environment.silence import policy_limit, recorder_silent
from boundary_env_ros.core.environment.step_builder import transition_of
from boundary_env_ros.core.environment.task import sample, supply
from boundary_env_ros.core.gate.decision import GateState
from boundary_env_ros.core.service_requests import options_of, refuse_another_digest, seed_of
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS, RosTime
from boundary_env_ros.core.transition import (
    Kind,
    NamedValues,
    PrivilegedObservation,
    ResetRecord,
    Transition,
)
from boundary_env_ros.errors import BoundaryError, RequestRejected, ResultCode
from boundary_env_ros.frozen import replace

# What the gate of a robot says that it still moves.
_MOVING = (GateState.RUNNING, GateState.STOPPING, GateState.PROBING)

# A reset that takes longer says what it waits for, s.
_QUICK = 2.0


# Beginning ---------------------------------------------------------------------------------------


def sampled_start(
    setup: Setup, state: State, event: BeginEpisode
) -> tuple[int, tuple[NamedValues, ...]]:
    """
    Return the seed of a new episode, and the start that the task samples from it.

    Raises
    ------
    RequestRejected
        If the digest is another, an option is wrong, or another client's episode is running.

    """
    begin = event.begin
    refuse_another_digest(begin.digest, setup.digest)
    if state.active and state.episode.client != begin.client:
        limit = policy_limit(setup.contract)
        raise RequestRejected(
            f'An episode is running: {state.episode.client!r} runs '
            f'{state.episode.id.episode_id}. Wait for its end, or end it; if that client was '
            f'killed, it ends as {endings.POLICY_LOST} {limit:g} s after the last step.',
            ResultCode.LEASE_HELD,
        )
    seed = event.drawn_seed if begin.seed is None else begin.seed
    try:
        rng = np.random.default_rng(seed_of(seed))
        return seed, sample(setup.task, setup.contract, rng, options_of(begin.options))
    except BoundaryError as error:
        raise RequestRejected(str(error)) from error


def begin(
    setup: Setup,
    state: State,
    event: BeginEpisode,
    seed: int,
    sampled: tuple[NamedValues, ...],
) -> Step:
    """Begin an episode: ask the world for the start that was sampled."""
    contract, now = setup.contract, event.now
    state = replace(
        state.forgotten(),
        episode=state.episode.begin(
            episode_id=event.episode_id, seed=seed, client=event.begin.client
        ),
        begin=event.begin,
        reset=Resetting(
            procedure=contract.episode.reset,
            seed=seed,
            sampled=sampled,
            asked=now,
            angles={field.name: field.angles for field in contract.fields},
            options=event.begin.options,
        ),
    )
    first = status(setup, state, now)
    state, outputs = proceed(setup, state, now)
    return state, (first, *outputs)


# Answers -----------------------------------------------------------------------------------------


def on_world(setup: Setup, state: State, event: WorldAnswered) -> Step:
    """Act on the robot's answer to the reset."""
    reset, answer, now = state.reset, event.answer, event.now
    if reset is None or not isinstance(reset.step, WorldStep):
        return state, ()  # the answer to a reset that was given up
    if answer.error:
        return fail(setup, state, answer.error, now)
    info = object_or_nothing(answer.info) if len(setup.contract.agents) == 1 else ''
    reset, asked = replace(reset, answer=answer).next(now)
    state = replace(state, info=info, reset=reset)
    if reset.wrong:
        return fail(setup, state, '; '.join(reset.wrong), now)
    state, outputs = proceed(setup, state, now)
    return state, (*asked, *outputs)


def on_service(setup: Setup, state: State, event: ServiceAnswered) -> Step:
    """Act on the answer of a service that the reset procedure called."""
    reset, service, now = state.reset, event.service, event.now
    if reset is None or not isinstance(reset.step, CallStep) or reset.step.service != service:
        return state, ()  # the answer to a reset that was given up
    if event.error:
        return fail(setup, state, f'{service}: {event.error}', now)
    reset, asked = reset.next(now, service)
    state, outputs = proceed(setup, replace(state, reset=reset), now)
    return state, (*asked, *outputs)


def on_confirmation(setup: Setup, state: State, event: ConfirmReset) -> Step:
    """
    Act on a person's answer to what the reset procedure asked.

    Raises
    ------
    RequestRejected
        If nothing is asked now, or the name of the user is missing.

    """
    reset, user, now = state.reset, event.user, event.now
    if reset is None or not reset.prompt:
        raise RequestRejected('No reset asks for a confirmation.')
    if not user:
        raise RequestRejected('The name of the person or program that confirms is missing.')
    if not event.confirmed:
        why = f'{user} did not confirm: {event.message or reset.prompt}'
        return fail(setup, state, why, now)
    reset, asked = reset.next(now, user)
    state = replace(state, reset=reset)
    then = status(setup, state, now)
    state, outputs = proceed(setup, state, now)
    return state, (*asked, then, *outputs)


# Going on ----------------------------------------------------------------------------------------


def proceed(setup: Setup, state: State, now: ClockReading) -> Step:
    """Go on with a reset as far as what came allows; with all of it the episode starts."""
    contract, reset = setup.contract, state.reset
    assert reset is not None  # the caller knows that one goes on
    outputs: list[Output] = []
    if not reset.started:
        if state.gate is not None and state.gate.state in _MOVING:
            return state, ()  # what it sends until then would reach the world after its reset
        reset, asked = reset.start(now)
        state = replace(state, reset=reset)
        outputs += asked
        if reset.prompt:
            outputs.append(status(setup, state, now))
    waits = setup.lockstep and isinstance(reset.step, WaitStep)
    if waits:
        # The world stands still, and what is waited for comes only if it moves.
        if state.advance is None:
            state, advance = state.asking(contract.period, RosTime(0), now)
            return state, (*outputs, *advance)
        if not state.all_here:
            return state, ()
    reset, asked = reset.poll(state.buffer.latest, now)
    state = replace(state, reset=reset)
    if waits:
        state = replace(state, advance=None, advanced=None)
    outputs += asked
    if reset.finished is None:
        if not outputs and setup.lockstep and isinstance(reset.step, WaitStep):
            state, advance = state.asking(contract.period, RosTime(0), now)
            outputs += advance
        return state, tuple(outputs)
    if not reset.supplied:
        try:
            supplied = supply(setup.task, contract, by_name(reset.sampled), setup.agent)
            buffer = state.buffer.supplied(supplied, now)
        except BoundaryError as error:
            state, failed = fail(setup, state, str(error), now)
            return state, (*outputs, *failed)
        state = replace(state, buffer=buffer, reset=replace(reset, supplied=True))
        if setup.lockstep:
            settle = max(contract.episode.reset.settle, contract.period)
            state, advance = state.asking(settle, RosTime(0), now)
            return state, (*outputs, *advance)
    if lacking(setup, state, now):
        return state, tuple(outputs)
    state, started = _start(setup, state, now)
    return state, (*outputs, *started)


def _start(setup: Setup, state: State, now: ClockReading) -> Step:
    at = state.world_time(now)
    state = replace(
        state.heard(policy=now.steady, own=now.steady),
        record=_record(state, at),
        started=now,
        gaps=0,
        reset=None,
        advance=None,
        advanced=None,
    )
    return run(setup, state, at)


def run(
    setup: Setup, state: State, at: ClockReading
) -> tuple[State, tuple[EpisodeStatus, Transition, PrivilegedObservation]]:
    """Let an episode run whose reset is recorded, and observe what it starts from."""
    episode = state.episode.run()
    first = episode.at(0)
    view = state.buffer.view(first, at)
    transition = transition_of(
        setup.contract, state.origin(setup), view, Kind.RESET, reset=state.record
    )
    outputs = (
        replace(episode, stamp=at),
        transition,
        state.buffer.privileged(first, at),
    )
    buffer = state.buffer.keeping(view)
    return replace(state, episode=episode, before=view, buffer=buffer, info=''), outputs


def fail(setup: Setup, state: State, message: str, now: ClockReading) -> Step:
    """End an episode whose reset goes on: it failed."""
    state = replace(state, record=_record(state, now), advance=None, advanced=None)
    transition = transition_of(
        setup.contract,
        state.origin(setup),
        state.buffer.view(state.episode.at(0), now),
        Kind.RESET,
        reset=state.record,
        truncated=True,
        ending=endings.RESET_FAILED,
        declared_by=setup.name,
    )
    state = replace(
        state,
        reset=None,
        episode=state.episode.end(
            ending=endings.RESET_FAILED,
            kind=endings.EndingKind.TRUNCATED,
            declared_by=setup.name,
            message=message,
        ),
    )
    return state, (transition, status(setup, state, now))


def _record(state: State, now: ClockReading) -> ResetRecord:
    reset, begin = state.reset, state.begin
    assert reset is not None  # the caller knows that one goes on
    return ResetRecord(
        seed_given=begin.seed is not None,
        options=begin.options or '{}',
        sampled=reset.sampled,
        achieved=() if reset.answer is None else reset.answer.achieved,
        tolerance=tolerances(reset.procedure),
        within_tolerance=not reset.wrong,
        confirmed_by=reset.confirmed_by,
        duration=(now.steady - reset.asked.steady) / NANOSECONDS,
    )


def object_or_nothing(info: str) -> str:
    """Return what a world says of itself; nothing, if it is no JSON object."""
    try:
        return info if info and isinstance(json.loads(info), dict) else ''
    except (ValueError, RecursionError):
        return ''


# What is waited for ------------------------------------------------------------------------------


def check_deadlines(setup: Setup, state: State, now: ClockReading) -> Step:
    """End a reset that is past its deadline, or that of the step that goes on."""
    reset = state.reset
    assert reset is not None  # the caller knows that one goes on
    overdue = reset.overdue(now, state.buffer.missing)
    if overdue:
        delayed_by = f'; waiting for {reset.delayed_by}' if reset.delayed_by else ''
        return fail(setup, state, overdue + delayed_by, now)
    deadline = reset.procedure.deadline
    if (now.steady - reset.asked.steady) / NANOSECONDS > deadline:
        missing = ', '.join(lacking(setup, state, now)) or 'nothing'
        why = f'The reset timed out after {deadline:g} s (still missing: {missing})'
        return fail(setup, state, why, now)
    return proceed(setup, state, now)


def lacking(setup: Setup, state: State, now: ClockReading) -> tuple[str, ...]:
    """Return what a reset still waits for, in words; nothing if none goes on."""
    if state.reset is None:
        return ()
    return (*lacking_itself(setup, state, now), *filter(None, (state.reset.delayed_by,)))


def lacking_itself(setup: Setup, state: State, now: ClockReading) -> tuple[str, ...]:
    """Return what a reset waits for apart from other agents, in words."""
    contract, reset = setup.contract, state.reset
    assert reset is not None  # the caller knows that one goes on
    if reset.answer is None or reset.finished is None:
        return (reset.waiting_for(state.buffer.missing),)
    found: list[str] = []
    if contract.pacing is Pacing.LOCKSTEP:
        if state.advanced is None:
            return ('the world to settle (SimStepResponse)',)
        found += state.arrivals.awaited(state.advanced)
    elif (now.steady - reset.finished.steady) / NANOSECONDS < reset.procedure.settle:
        return (f'{reset.procedure.settle:g} s for the world to settle',)
    found += state.buffer.lacking(reset.answer.completed)
    if contract.action and state.actuation.latest is None:
        unusable = state.buffer.unusable
        whys = (unusable.get(f'feedback.{group.name}', '') for group in contract.action)
        why = ' '.join(dict.fromkeys(whys)).strip()
        found.append(f'feedback ({state.actuation.source}{why and f": {why}"})')
    gate = state.gate
    if (
        gate is None
        or gate.episode_id != state.episode.id.episode_id
        or gate.state not in (GateState.ARMED, GateState.RUNNING)
    ):
        found.append('the arming of the safety gate for this episode')
    if recorder_silent(contract, state.heartbeats, now):
        found.append('the recorder')
    # What came after the reset may have grown old while the rest was waited for.
    return tuple(found) or state.buffer.unfit(state.world_time(now))


def status(setup: Setup, state: State, now: ClockReading) -> EpisodeStatus:
    """Return where the episode stands, to be latched for the others."""
    stamped, reset = replace(state.episode, stamp=now), state.reset
    if stamped.message or reset is None:
        return stamped
    if reset.prompt or (now.steady - reset.asked.steady) / NANOSECONDS < _QUICK:
        return replace(stamped, message=reset.prompt)
    missing = ', '.join(lacking(setup, state, now))
    return replace(stamped, message=f'The reset waits for {missing}.' if missing else '')
