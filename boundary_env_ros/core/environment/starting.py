# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How an episode starts: from a client's request over the reset to its first observation."""

from __future__ import annotations

import numpy as np

from boundary_env_ros.core.contract.model import CallStep, WaitStep, WorldStep
from boundary_env_ros.core.environment.environment_events import (
    BeginEpisode,
    ConfirmReset,
    ServiceAnswered,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import EnvironmentState, Output, Step
from boundary_env_ros.core.environment.reset import by_name, Resetting, tolerances
from boundary_env_ros.core.environment.silence import policy_limit, recorder_silent
from boundary_env_ros.core.environment.step_builder import Endings
from boundary_env_ros.core.environment.stepping import close
from boundary_env_ros.core.environment.task import sample, supply, with_instruction
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import GateState
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.transition import (
    Kind,
    PrivilegedObservation,
    ResetRecord,
    Transition,
)
from boundary_env_ros.core.serialization import json_object
from boundary_env_ros.core.service_requests import (
    options_of,
    options_text,
    refuse_another_digest,
    seed_of,
)
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.errors import BoundaryError, RequestRejected, ResultCode
from boundary_env_ros.frozen import replace

# What the gate of a robot says that it still moves.
_MOVING = (GateState.RUNNING, GateState.STOPPING, GateState.PROBING)

# A reset that takes longer says what it waits for, s.
_QUICK = 2.0


# Beginning ---------------------------------------------------------------------------------------


def on_begin(state: EnvironmentState, event: BeginEpisode) -> Step:
    """
    Begin an episode: sample a start, and ask the world for it.

    Raises
    ------
    RequestRejected
        If the digest is another, an option is wrong, or another client's episode is running.

    """
    contract, begin, now = state.setup.contract, event.begin, event.now
    refuse_another_digest(begin.digest, state.setup.digest)
    if state.active and state.episode.client != begin.client:
        raise RequestRejected(
            f'An episode is running: {state.episode.client!r} runs '
            f'{state.episode.id.episode_id}. Wait for its end, or end it; if that client was '
            f'killed, it ends as {endings.POLICY_LOST} {policy_limit(contract):g} s after the '
            'last step.',
            ResultCode.LEASE_HELD,
        )
    seed = event.drawn_seed if begin.seed is None else begin.seed
    try:
        rng = np.random.default_rng(seed_of(seed))
        options = with_instruction(contract, seed, options_of(begin.options))
        sampled = sample(state.setup.task, contract, rng, options)
    except BoundaryError as error:
        raise RequestRejected(str(error)) from error
    found = {endings.ABANDONED: (state.setup.name, 'the client began another')}
    state, ended = end(state, found, now)
    reset = Resetting(
        procedure=contract.episode.reset,
        seed=seed,
        sampled=sampled,
        requested=now,
        angles={field.name: field.angles for field in contract.fields},
        options=options_text(options),
    )
    episode = state.episode.begin(episode_id=event.episode_id, seed=seed, client=begin.client)
    state = replace(state.forgotten(), episode=episode, begin=begin, reset=reset)
    first = status(state, now)
    state, outputs = proceed(state, now)
    return state, (*ended, first, *outputs)


def end(state: EnvironmentState, found: Endings, now: ClockReading) -> Step:
    """End the episode, if there is one, by an ending from outside."""
    if state.reset is not None:
        [(ending, (_, message))] = found.items()
        return fail(state, message or ending, now)
    return close(state, now, found) if state.running else (state, ())


# Answers -----------------------------------------------------------------------------------------


def on_world(state: EnvironmentState, event: WorldAnswered) -> Step:
    """Act on the robot's answer to the reset."""
    reset, answer = state.reset, event.answer
    if reset is None or not isinstance(reset.step, WorldStep):
        return state, ()  # the answer to a reset that was given up
    if answer.error:
        return fail(state, answer.error, event.now)
    info = object_or_nothing(answer.info) if len(state.setup.contract.agents) == 1 else ''
    state = replace(state, info=info)
    reset = replace(reset, answer=answer)
    if reset.wrong:
        return fail(replace(state, reset=reset), '; '.join(reset.wrong), event.now)
    return _next(state, reset, event.now)


def on_service(state: EnvironmentState, event: ServiceAnswered) -> Step:
    """Act on the answer of a service that the reset procedure called."""
    reset, service = state.reset, event.service
    if reset is None or not isinstance(reset.step, CallStep) or reset.step.service != service:
        return state, ()  # the answer to a reset that was given up
    if event.error:
        return fail(state, f'{service}: {event.error}', event.now)
    return _next(state, reset, event.now, service)


def on_confirmation(state: EnvironmentState, event: ConfirmReset) -> Step:
    """
    Act on a person's answer to what the reset procedure asked.

    Raises
    ------
    RequestRejected
        If nothing is asked now, or the name of the user is missing.

    """
    reset, user = state.reset, event.user
    if reset is None or not reset.prompt:
        raise RequestRejected('No reset asks for a confirmation.')
    if not user:
        raise RequestRejected('The name of the person or program that confirms is missing.')
    if not event.confirmed:
        why = event.message or reset.prompt
        return fail(state, f'{user} did not confirm: {why}', event.now)
    return _next(state, reset, event.now, user)


def _next(
    state: EnvironmentState, reset: Resetting, now: ClockReading, confirmed_by: str = ''
) -> Step:
    """Go on to the next step of the reset, and say so where a person waits for that."""
    is_prompted = bool(reset.prompt)
    reset, effects = reset.next(now, confirmed_by)
    state = replace(state, reset=reset)
    announced = (status(state, now),) if is_prompted else ()
    state, outputs = proceed(state, now)
    return state, (*effects, *announced, *outputs)


# Going on ----------------------------------------------------------------------------------------


def proceed(state: EnvironmentState, now: ClockReading) -> Step:
    """Go on with a reset as far as what came allows; with all of it the episode starts."""
    setup, reset = state.setup, state.reset
    assert reset is not None  # the caller knows that one goes on
    period = setup.contract.period
    outputs: list[Output] = []
    if not reset.started:
        if state.gate is not None and state.gate.state in _MOVING:
            return state, ()  # what it sends until then would reach the world after its reset
        reset, effects = reset.start(now)
        state = replace(state, reset=reset)
        outputs += (*effects, status(state, now)) if reset.prompt else effects
    if setup.contract.is_lockstep and isinstance(reset.step, WaitStep):
        # The world stands still, and what is waited for comes only if it moves.
        if state.advance is None:
            return state.asking(period, now, outputs)
        if not state.all_here:
            return state, ()
        state = replace(state, advance=None, advanced=None)
    reset, effects = reset.poll(state.buffer.latest, now)
    state = replace(state, reset=reset)
    outputs += effects
    if reset.finished is None:
        waits = setup.contract.is_lockstep and isinstance(reset.step, WaitStep)
        return state.asking(period, now) if waits and not outputs else (state, tuple(outputs))
    if not reset.supplied:
        try:
            supplied = supply(setup.task, setup.contract, by_name(reset.sampled), setup.agent)
            buffer = state.buffer.supplied(supplied, now)
        except BoundaryError as error:
            state, failed = fail(state, str(error), now)
            return state, (*outputs, *failed)
        state = replace(state, buffer=buffer, reset=replace(reset, supplied=True))
        if setup.contract.is_lockstep:
            return state.asking(max(reset.procedure.settle, period), now, outputs)
    if lacking(state, now):
        return state, tuple(outputs)
    at = state.world_time(now)
    state = replace(
        state.with_heartbeats(policy=now.steady, own=now.steady),
        record=_record(state, at),
        started=now,
        gaps=0,
        reset=None,
        advance=None,
        advanced=None,
    )
    state, started = run(state, at)
    return state, (*outputs, *started)


def run(
    state: EnvironmentState, at: ClockReading
) -> tuple[EnvironmentState, tuple[EpisodeStatus, Transition, PrivilegedObservation]]:
    """Let an episode run whose reset is recorded, and observe what it starts from."""
    episode = state.episode.run()
    view = state.buffer.view(episode.at(0), at)
    outputs = (
        replace(episode, stamp=at),
        state.transition(view, Kind.RESET),
        state.buffer.privileged(episode.at(0), at),
    )
    buffer = state.buffer.keeping(view)
    return replace(state, episode=episode, before=view, buffer=buffer, info=''), outputs


def fail(state: EnvironmentState, message: str, now: ClockReading) -> Step:
    """End an episode whose reset goes on: it failed."""
    ending, by = endings.RESET_FAILED, state.setup.name
    view = state.buffer.view(state.episode.at(0), now)
    state = replace(
        state,
        record=_record(state, now),
        reset=None,
        advance=None,
        advanced=None,
        episode=state.episode.end(
            ending=ending, kind=endings.EndingKind.TRUNCATED, declared_by=by, message=message
        ),
    )
    failed = state.transition(view, Kind.RESET, truncated=True, ending=ending, declared_by=by)
    return state, (failed, status(state, now))


def _record(state: EnvironmentState, now: ClockReading) -> ResetRecord:
    reset, begin = state.reset, state.begin
    assert reset is not None  # the caller knows that one goes on
    return ResetRecord(
        seed_given=begin.seed is not None,
        options=reset.options or '{}',
        sampled=reset.sampled,
        achieved=() if reset.answer is None else reset.answer.achieved,
        tolerance=tolerances(reset.procedure),
        within_tolerance=not reset.wrong,
        confirmed_by=reset.confirmed_by,
        duration=(now.steady - reset.requested.steady) / NANOSECONDS,
    )


def object_or_nothing(info: str) -> str:
    """Return what a world says of itself; nothing, if it is no JSON object."""
    try:
        json_object(info)
    except ValueError:
        return ''
    return info


# What is waited for ------------------------------------------------------------------------------


def check_deadlines(state: EnvironmentState, now: ClockReading) -> Step:
    """End a reset that is past its deadline, or whose step is past its own; else go on with it."""
    reset = state.reset
    assert reset is not None  # the caller knows that one goes on
    why, deadline = reset.overdue(now, state.buffer.missing), reset.procedure.deadline
    if why and reset.delayed_by:
        why += f'; waiting for {reset.delayed_by}'
    elif not why and (now.steady - reset.requested.steady) / NANOSECONDS > deadline:
        missing = ', '.join(lacking(state, now)) or 'nothing'
        why = f'The reset timed out after {deadline:g} s (still missing: {missing})'
    return fail(state, why, now) if why else proceed(state, now)


def lacking(state: EnvironmentState, now: ClockReading, *, alone: bool = False) -> tuple[str, ...]:
    """Return what a reset waits for, in words; alone: apart from other agents."""
    contract, reset, buffer, gate = state.setup.contract, state.reset, state.buffer, state.gate
    assert reset is not None  # the caller knows that one goes on
    delayed_by = () if alone or not reset.delayed_by else (reset.delayed_by,)
    if reset.answer is None or reset.finished is None:
        return (reset.waiting_for(buffer.missing), *delayed_by)
    found: list[str] = []
    if state.setup.contract.is_lockstep:
        if state.advanced is None:
            return ('the world to settle (SimStepResponse)', *delayed_by)
        found += state.arrivals.awaited(state.advanced)
    elif (now.steady - reset.finished.steady) / NANOSECONDS < reset.procedure.settle:
        return (f'{reset.procedure.settle:g} s for the world to settle', *delayed_by)
    found += buffer.lacking(reset.answer.completed)
    if contract.action and state.actuation.latest is None:
        whys = (buffer.unusable.get(f'feedback.{group.name}', '') for group in contract.action)
        why = ' '.join(dict.fromkeys(whys)).strip()
        found.append(f'feedback ({state.actuation.source}{why and f": {why}"})')
    armed = gate is not None and gate.state in (GateState.ARMED, GateState.RUNNING)
    if gate is None or not armed or gate.episode_id != state.episode.id.episode_id:
        found.append('the arming of the safety gate for this episode')
    if recorder_silent(contract, state.heartbeats, now):
        found.append('the recorder')
    # What came after the reset may have grown old while the rest was waited for.
    return (*(found or buffer.unfit(state.world_time(now))), *delayed_by)


def status(state: EnvironmentState, now: ClockReading) -> EpisodeStatus:
    """Return where the episode stands, to be latched for the others."""
    stamped, reset = replace(state.episode, stamp=now), state.reset
    if reset is None:
        return stamped
    if reset.prompt or (now.steady - reset.requested.steady) / NANOSECONDS < _QUICK:
        return replace(stamped, message=reset.prompt)
    missing = ', '.join(lacking(state, now))
    return replace(stamped, message=f'The reset waits for {missing}.' if missing else '')
