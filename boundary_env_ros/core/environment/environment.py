# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The environment of one agent: it owns observation, episode, reward, ending and record.

It is a function: state and event in (a sample, a decision of the gate, a tick), state and outputs
out: records to publish, a reset or an advance to ask for. It sends no command, reads no clock, and
waits for nothing: what it waits for is a state, with a deadline. How an episode starts is in
:mod:`boundary_env_ros.core.environment.starting`, how its steps close in
:mod:`boundary_env_ros.core.environment.stepping`. Here the events come together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from boundary_env_ros.core.environment import starting, stepping
from boundary_env_ros.core.environment.environment_events import (
    AdvanceDelayed,
    BeginEpisode,
    ConfirmReset,
    DeadlinesDue,
    Decided,
    EndEpisode,
    FieldRead,
    GateReported,
    GroupMeasured,
    InputEvent,
    InputUnusable,
    MessageArrived,
    RecorderReported,
    SensorsRead,
    ServiceAnswered,
    StartDelayed,
    StepDue,
    WorldAdvanced,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import (
    EnvironmentState,
    Outputs,
    Setup,
    Step,
)
from boundary_env_ros.core.records import endings
from boundary_env_ros.core.records.decision import GateState, Reason
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.sources.inputs import Input, Purpose, TF, TF_STATIC
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.errors import RequestRejected
from boundary_env_ros.frozen import replace


def step(state: EnvironmentState, event: InputEvent) -> Step:
    """
    Return what a state becomes by an event, and what comes of it.

    Raises
    ------
    RequestRejected
        If the event asks for something that is refused; the state stays as it is.

    """
    return _ON[type(event)](state, event)


class Environment:
    """
    The environment of one agent, as it runs: the one place that keeps its state.

    Parameters
    ----------
    setup
        What it is made for.

    Attributes
    ----------
    state
        What it remembers.

    """

    def __init__(self, setup: Setup) -> None:
        self.state = EnvironmentState.of(setup)

    def apply(self, event: InputEvent) -> Outputs:
        """
        Let an event happen, and return what comes of it.

        Raises
        ------
        RequestRejected
            If the event asks for something that is refused; then nothing has happened.

        """
        self.state, outputs = step(self.state, event)
        return outputs

    def on_reading(self, item: Input, reading: Reading) -> Outputs:
        """Let an input of the environment have a reading, in the order of the messages."""
        if item.purpose is Purpose.FIELD:
            return self.apply(FieldRead(name=item.name, reading=reading))
        if item.name in (TF, TF_STATIC):
            return ()  # read into the transforms
        return self.apply(
            GroupMeasured(name=item.name, values=reading.values, captured=reading.captured)
        )

    def on_problem(self, item: Input, why: str) -> None:
        """Let what came last of an input be unusable for some reason; empty: it is usable."""
        name = item.name if item.purpose is Purpose.FIELD else f'feedback.{item.name}'
        self.apply(InputUnusable(name=name, why=why))

    def status(self, now: ClockReading) -> EpisodeStatus:
        """Return where the episode stands, to be latched for the others."""
        return starting.status(self.state, now)

    def ready(self, now: ClockReading) -> bool:
        """Return whether a reset lacks nothing any more but other agents."""
        reset = self.state.reset
        waits = reset is None or not reset.supplied
        return not waits and not starting.lacking(self.state, now, alone=True)

    def reads_sensors(self, now: ClockReading) -> bool:
        """Return whether what the sensors sent matters to the deadlines that are due."""
        state = self.state
        if state.running:
            return state.setup.contract.is_lockstep and bool(stepping.parties_lost(state, now))
        return state.reset is not None or bool(state.actuation.pending)


# Sensors -----------------------------------------------------------------------------------------


def _on_message(state: EnvironmentState, event: MessageArrived) -> Step:
    arrivals, heartbeats = state.arrivals, state.heartbeats
    if state.setup.contract.is_lockstep:
        arrivals = arrivals.after(event.topic, event.captured, event.count)
    # Transforms come from others than its drivers, too; many messages arrive at one instant.
    newer = heartbeats.robot is None or event.steady > heartbeats.robot
    if newer and event.topic not in state.setup.contract.tf_topics:
        heartbeats = replace(heartbeats, robot=event.steady)
    return replace(state, arrivals=arrivals, heartbeats=heartbeats), ()


def _on_reading(state: EnvironmentState, event: FieldRead) -> Step:
    return replace(state, buffer=state.buffer.after({event.name: event.reading})), ()


def _on_measurement(state: EnvironmentState, event: GroupMeasured) -> Step:
    actuation = state.actuation.after(event.name, event.values, event.captured)
    found: Outputs = ()
    if not state.decisions:
        # While a step is open, its evidence may still be that of its own transition.
        actuation, found = actuation.executions()
    return replace(state, actuation=actuation), found


def _on_unusable(state: EnvironmentState, event: InputUnusable) -> Step:
    return replace(state, buffer=state.buffer.without(event.name, event.why)), ()


def _on_sensors(state: EnvironmentState, event: SensorsRead) -> Step:
    return _proceed(state, event.now)


def _proceed(state: EnvironmentState, now: ClockReading) -> Step:
    """Start the episode, or close a step of lockstep, if all that it waits for has come."""
    if state.reset is not None:
        return starting.proceed(state, now)
    if state.running and state.all_here:
        return stepping.close(state, now)
    return state, ()


def _on_end(state: EnvironmentState, event: EndEpisode) -> Step:
    declared, ending = state.setup.contract.episode.endings, event.ending
    if ending not in declared:
        raise RequestRejected(f'No such ending (expected {", ".join(declared)}, got {ending!r}).')
    return starting.end(state, {ending: (event.declared_by, event.message)}, event.now)


# Others ------------------------------------------------------------------------------------------


def _on_gate(state: EnvironmentState, event: GateReported) -> Step:
    status, now = event.status, event.now
    if status.digest != state.setup.digest or status.agent != state.setup.agent:
        return state, ()
    falls_silent = status.state is GateState.INACTIVE or Reason.DEACTIVATED in status.reasons
    beats = replace(state.heartbeats, gate=now.steady, gate_falls_silent=falls_silent)
    return _go_on_resetting(replace(state, gate=status, heartbeats=beats), now)


def _on_recorder(state: EnvironmentState, event: RecorderReported) -> Step:
    return _go_on_resetting(state.with_heartbeats(recorder=event.now.steady), event.now)


def _go_on_resetting(state: EnvironmentState, now: ClockReading) -> Step:
    return (state, ()) if state.reset is None else starting.proceed(state, now)


def _on_advance(state: EnvironmentState, event: WorldAdvanced) -> Step:
    report, now = event.report.report, event.now
    if state.advance is None or report.id != state.advance.id:
        return state, ()
    if not report.success:
        found = {endings.SIMULATION_FAILED: (state.setup.name, report.message)}
        return starting.end(state, found, now)
    info = starting.object_or_nothing(report.info)
    return _proceed(replace(state, advanced=event.report, info=info), now)


# Time --------------------------------------------------------------------------------------------


def _on_step(state: EnvironmentState, event: StepDue) -> Step:
    if not state.running or state.setup.contract.is_lockstep:
        return state, ()
    return stepping.close(state, event.now, late=event.late)


def _on_deadlines(state: EnvironmentState, event: DeadlinesDue) -> Step:
    now = event.now
    if state.reset is not None:
        return starting.check_deadlines(state, now)
    stands = state.running and state.setup.contract.is_lockstep
    found = stepping.parties_lost(state, now) if stands else {}
    return stepping.close(state, now, found) if found else (state, ())


# Other agents ------------------------------------------------------------------------------------


def _on_start_delayed(state: EnvironmentState, event: StartDelayed) -> Step:
    if state.reset is None:
        return state, ()
    return replace(state, reset=replace(state.reset, delayed_by=event.why)), ()


def _on_advance_delayed(state: EnvironmentState, event: AdvanceDelayed) -> Step:
    return state.with_heartbeats(own=event.now.steady), ()


#: What is done at each kind of event.
_ON: Mapping[type[InputEvent], Callable[[EnvironmentState, Any], Step]] = {
    MessageArrived: _on_message,
    FieldRead: _on_reading,
    GroupMeasured: _on_measurement,
    InputUnusable: _on_unusable,
    SensorsRead: _on_sensors,
    BeginEpisode: starting.on_begin,
    EndEpisode: _on_end,
    ConfirmReset: starting.on_confirmation,
    WorldAnswered: starting.on_world,
    ServiceAnswered: starting.on_service,
    GateReported: _on_gate,
    RecorderReported: _on_recorder,
    Decided: stepping.on_decision,
    WorldAdvanced: _on_advance,
    StepDue: _on_step,
    DeadlinesDue: _on_deadlines,
    StartDelayed: _on_start_delayed,
    AdvanceDelayed: _on_advance_delayed,
}
