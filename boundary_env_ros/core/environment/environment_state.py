# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment is made for, and what it remembers: one frozen value each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from boundary_env_ros.core.contract.model import Contract, Pacing
from boundary_env_ros.core.environment.actuation import Actuation
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.input_events import Begin
from boundary_env_ros.core.environment.lockstep import Advanced, Arrivals, SimStepRequest
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer, View
from boundary_env_ros.core.environment.reset import ResetOutput, Resetting
from boundary_env_ros.core.environment.silence import Heartbeats
from boundary_env_ros.core.environment.step_builder import Origin
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.gate.decision import GateDecision, GateStatus, StepId
from boundary_env_ros.core.timebase import Clock, ClockReading, RosTime, to_nanoseconds
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    ResetRecord,
    Transition,
)
from boundary_env_ros.frozen import frozen, replace

Output: TypeAlias = (
    Transition
    | PrivilegedObservation
    | EpisodeStatus
    | ActuationEvidence
    | ResetOutput
    | SimStepRequest
)
Outputs: TypeAlias = tuple[Output, ...]


@frozen
class Setup:
    """
    What the environment of one agent is made for.

    Attributes
    ----------
    contract, digest, task
        The contract, its digest and its task.
    agent
        The agent.
    software_version
        Goes into every transition.
    name
        Name of the node, the declarer of most endings.

    """

    contract: Contract
    digest: str
    task: Task
    agent: str
    software_version: str
    name: str = 'environment'

    @property
    def lockstep(self) -> bool:
        """Whether the world moves only as it is asked to."""
        return self.contract.pacing is Pacing.LOCKSTEP


@frozen
class State:
    """
    All that an environment remembers.

    Attributes
    ----------
    episode, begin
        Where the episode stands, and what its client said when it began it.
    buffer, actuation, arrivals
        What the sensors said: of the fields, of what the robot did, and how much of it came.
    heartbeats, gate
        When the others were heard of last, and what the gate said.
    reset
        The reset that goes on; None if none does.
    record, started
        The reset of the episode, and when it began to run.
    before
        What was observed last in the episode.
    decisions
        Those of the gate since then.
    advance, advanced
        What the world was asked for, and its answer (lockstep).
    info
        What the world said of itself last, a JSON object or empty.
    sequence, gaps
        Number of the last decision of the gate, and how many are known to be lost since the last
        step.

    """

    episode: EpisodeStatus
    begin: Begin
    buffer: ObservationBuffer
    actuation: Actuation
    arrivals: Arrivals
    heartbeats: Heartbeats = Heartbeats()
    gate: GateStatus | None = None
    reset: Resetting | None = None
    record: ResetRecord | None = None
    started: ClockReading | None = None
    before: View | None = None
    decisions: tuple[GateDecision, ...] = ()
    advance: SimStepRequest | None = None
    advanced: Advanced | None = None
    info: str = ''
    sequence: int | None = None
    gaps: int = 0

    @classmethod
    def of(cls, setup: Setup, topics: Mapping[str, str]) -> State:
        """
        Return that of an environment which is new.

        Parameters
        ----------
        setup
            What it is made for.
        topics
            Resolved topic of every topic that the contract names.

        """
        contract, digest = setup.contract, setup.digest
        return cls(
            episode=EpisodeStatus(
                id=StepId(digest=digest, agent=setup.agent, episode_id=''),
                state=EpisodeState.IDLE,
                pacing=contract.pacing,
            ),
            begin=Begin(digest=digest, client=''),
            buffer=ObservationBuffer.of(contract, topics),
            actuation=Actuation.of(contract, topics),
            arrivals=Arrivals.of(contract, topics),
        )

    @property
    def running(self) -> bool:
        """Whether the episode runs."""
        return self.episode.state is EpisodeState.RUNNING

    @property
    def active(self) -> bool:
        """Whether an episode runs, or is being reset."""
        return self.running or self.reset is not None

    @property
    def all_here(self) -> bool:
        """Whether the world has answered an advance, and all that it sent on the way is here."""
        return self.advanced is not None and not self.arrivals.awaited(self.advanced)

    @property
    def due(self) -> bool:
        """Whether it is time to read what the sensors sent, and to go on."""
        return self.reset is not None or self.all_here

    def origin(self, setup: Setup) -> Origin:
        """Return where the transitions of the episode come from."""
        return Origin(
            software_version=setup.software_version,
            client_version=self.begin.client_version,
            wrappers=self.begin.wrappers,
            seed=self.episode.seed,
            info=self.info,
        )

    def resets_for(self, begin: Begin) -> bool:
        """Return whether the reset that goes on is the one that is asked for: no answer came."""
        return self.reset is not None and begin == self.begin

    def forgotten(self) -> State:
        """Return it without all that is of one episode alone."""
        return replace(
            self,
            buffer=self.buffer.forgotten(),
            actuation=self.actuation.forgotten(),
            arrivals=replace(self.arrivals, seen={}),
            record=None,
            before=None,
            decisions=(),
            advance=None,
            advanced=None,
            info='',
        )

    def heard(self, **heartbeats: Any) -> State:
        """Return it after a heartbeat."""
        return replace(self, heartbeats=replace(self.heartbeats, **heartbeats))

    def asking(
        self, seconds: float, command_stamp: RosTime, now: ClockReading
    ) -> tuple[State, Outputs]:
        """Return it after the world was asked to advance, and what it was asked."""
        advance = SimStepRequest(
            id=self.episode.at(self.episode.id.step + self.running),
            duration=to_nanoseconds(seconds),
            command_stamp=command_stamp,
        )
        state = replace(
            self.heard(own=now.steady),
            arrivals=replace(self.arrivals, counts={}),
            advance=advance,
            advanced=None,
        )
        return state, (advance,)

    def world_time(self, now: ClockReading) -> ClockReading:
        """
        Return now, by the world's account, which may have overtaken its ``/clock``.

        Its answer to an advance tells how far it is. Before that its sensors do, within the
        advance that was asked for.
        """
        if now.ros.clock is not Clock.ROS:
            return now
        if self.advanced is not None:
            world = self.advanced.now
        elif self.advance is not None:
            world = min(self.buffer.newest, now.ros.nanoseconds + self.advance.duration)
        else:
            return now
        return replace(now, ros=replace(now.ros, nanoseconds=max(now.ros.nanoseconds, world)))


Step: TypeAlias = tuple[State, Outputs]
