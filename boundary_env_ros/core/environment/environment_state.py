# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an environment remembers: one frozen value, which only an event turns into the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.actuation import Actuation
from boundary_env_ros.core.environment.arrivals import Arrivals
from boundary_env_ros.core.environment.environment_events import Begin
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer, View
from boundary_env_ros.core.environment.reset import ResetOutput, Resetting
from boundary_env_ros.core.environment.silence import Heartbeats
from boundary_env_ros.core.environment.task import Task
from boundary_env_ros.core.records.clock_offsets import ClockBounds
from boundary_env_ros.core.records.decision import GateDecision, GateStatus
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced, SimStepRequest
from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    Kind,
    PrivilegedObservation,
    ResetRecord,
    Transition,
)
from boundary_env_ros.core.timebase import Clock, ClockReading, RosTime, to_nanoseconds
from boundary_env_ros.frozen import frozen, replace

#: What is published.
Record: TypeAlias = Transition | PrivilegedObservation | EpisodeStatus | ActuationEvidence
#: What is asked of others.
WorldRequest: TypeAlias = ResetOutput | SimStepRequest
Output: TypeAlias = Record | WorldRequest
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
    topics
        Resolved topic of every topic that the contract names.
    software_version
        Goes into every transition.
    name
        Name of the node, the declarer of most endings.

    """

    contract: Contract
    digest: str
    task: Task
    agent: str
    topics: Mapping[str, str]
    software_version: str
    name: str = 'environment'


@frozen
class EnvironmentState:
    """
    All that an environment remembers.

    Attributes
    ----------
    setup
        What it is made for.
    episode, begin
        Where the episode stands, and what its client said when it began it.
    buffer, actuation, arrivals
        What the sensors said: of the fields, of what the robot did, and how much of it came.
    heartbeats, gate
        When the last heartbeat of the others came, and what the gate said.
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
    clocks
        What is known of the clocks of other hosts.
    sequence, gaps
        Number of the last decision of the gate, and how many are known to be lost since the last
        step.

    """

    setup: Setup
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
    clocks: ClockBounds = ClockBounds()
    sequence: int | None = None
    gaps: int = 0

    @classmethod
    def of(cls, setup: Setup) -> EnvironmentState:
        """Return that of an environment which is new."""
        contract, digest, topics = setup.contract, setup.digest, setup.topics
        id_ = StepId(digest=digest, agent=setup.agent, episode_id='')
        return cls(
            setup=setup,
            episode=EpisodeStatus(id=id_, state=EpisodeState.IDLE, pacing=contract.pacing),
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

    def transition(self, view: View, kind: Kind, **known: Any) -> Transition:
        """Return a transition of the episode that ends with a view."""
        setup, observation = self.setup, view.observation
        return Transition(
            contract=setup.contract.name,
            contract_version=setup.contract.version,
            software_version=setup.software_version,
            client_version=self.begin.client_version,
            id=observation.id,
            kind=kind,
            pacing=setup.contract.pacing,
            seed=self.episode.seed,
            after=observation.fields,
            closed=observation.observed,
            wrappers=self.begin.wrappers,
            reset=self.record if kind is Kind.RESET else None,
            state=view.state,
            info=self.info,
            **known,
        )

    def resets_for(self, begin: Begin) -> bool:
        """Return whether the reset that goes on is the one that is asked for: no answer came."""
        return self.reset is not None and begin == self.begin

    def forgotten(self) -> EnvironmentState:
        """Return it without all that is of one episode alone."""
        new = EnvironmentState.of(self.setup)
        return replace(
            new,
            episode=self.episode,
            buffer=replace(new.buffer, unusable=self.buffer.unusable),
            heartbeats=self.heartbeats,
            gate=self.gate,
            clocks=self.clocks,
            sequence=self.sequence,
        )

    def with_heartbeats(self, **heartbeats: Any) -> EnvironmentState:
        """Return it after heartbeats; see :class:`Heartbeats`."""
        return replace(self, heartbeats=replace(self.heartbeats, **heartbeats))

    def asking(
        self,
        seconds: float,
        now: ClockReading,
        outputs: Iterable[Output] = (),
        command_stamp: int = 0,
    ) -> tuple[EnvironmentState, Outputs]:
        """Return it after the world was asked to advance, and that as the last of some outputs."""
        advance = SimStepRequest(
            id=self.episode.at(self.episode.id.step + self.running),
            duration=to_nanoseconds(seconds),
            command_stamp=RosTime(command_stamp),
        )
        state = replace(
            self,
            heartbeats=replace(self.heartbeats, own=now.steady),
            arrivals=replace(self.arrivals, counts={}),
            advance=advance,
            advanced=None,
        )
        return state, (*outputs, advance)

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
        if world <= now.ros.nanoseconds:
            return now
        return replace(now, ros=replace(now.ros, nanoseconds=world))


Step: TypeAlias = tuple[EnvironmentState, Outputs]
