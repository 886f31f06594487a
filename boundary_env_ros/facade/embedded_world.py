# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Contract, gates, environments and a simulated robot in one process, in lockstep, no middleware.

The same core objects as over ROS, in the same order, leave the same records. The ROS clock is the
world's own time, which starts at the first period so that no stamp is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import json
from pathlib import Path
import socket
import time
from typing import Any
import uuid

import numpy as np

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import Contract, WaitStep, WorldStep
from boundary_env_ros.core.environment.environment_events import (
    Begin,
    BeginEpisode,
    DeadlinesDue,
    Decided,
    EndEpisode,
    GateReported,
    InputEvent,
    RecorderReported,
    WorldAdvanced,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import Output
from boundary_env_ros.core.environment.reset import ResetWorld, SavedState
from boundary_env_ros.core.environment.shared_world import SharedWorld
from boundary_env_ros.core.episode_events import Events
from boundary_env_ros.core.gate.gate_events import (
    Arm,
    EpisodeStatusReceived,
    Request,
    Tick,
    WorldMoved,
)
from boundary_env_ros.core.gate.rules.document_rules import published_documents
from boundary_env_ros.core.records.decision import ActionRequest, GateDecision
from boundary_env_ros.core.records.endings import ABANDONED
from boundary_env_ros.core.records.environment_event import EnvironmentEvent
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.lockstep import Advanced, SimStepRequest
from boundary_env_ros.core.records.transition import Kind, Transition
from boundary_env_ros.core.service_requests import options_text, seed_of
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp, to_nanoseconds
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import LinkError, ResetFailed, SimulationFailed
from boundary_env_ros.facade.embedded_boundary import EmbeddedBoundary
from boundary_env_ros.facade.steps import (
    action_request,
    as_request,
    ignore,
    StepRequest,
    StepResult,
)
from boundary_env_ros.facade.world import (
    check_actions,
    check_legal,
    check_open,
    check_running,
    World,
)
from boundary_env_ros.frozen import replace
from boundary_env_ros.simulation.installed_robots import make_robot
from boundary_env_ros.simulation.messages import PlainMessage
from boundary_env_ros.simulation.plugin_robot import ask, plugin_of
from boundary_env_ros.simulation.robot import Emission, report_of, SimulatedRobot
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.run_folder import RunFolder
from boundary_env_ros.storage.run_writer import RunWriter

Sink = Callable[[Output | ActionRequest | GateDecision | SavedState], None]


class EmbeddedWorld(World):
    """
    A world with all agents of a contract, in this process.

    Every agent has a gate and an environment of its own, over one robot. All begin together, with
    one seed, and so sample the same world, which is reset once. It advances once all whose episode
    runs have acted. One whose episode ended is out until the next :meth:`begin`: its gate brakes
    what it commanded last, then falls silent, and the driver's own timeout takes over.

    Parameters
    ----------
    loaded
        The contract; its pacing must be lockstep, and its reset one that needs no robot but this.
    robot
        The robot, or the name of an installed one; default: that with the contract's name.
    robot_options
        Values of the options of an installed robot.
    sink
        Is given every record as it is made: what a recorder over ROS has on its topics, but for
        the messages of robot and world, and the periodic states of gate and recorder.
    client
        Name of this client in the record.
    record
        New folder for the run, as the recorder over ROS leaves it: a bag, which has the records
        but no raw messages, the contract and the index of episodes. A step is in it when it has
        returned, whatever becomes of this process.

    Raises
    ------
    LinkError
        If the contract asks for what one process has not.
    BoundaryError
        If no such robot is installed, or several agents would each do a step of the reset.
    RecordError
        If something is in that folder already, or it cannot be made.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        *,
        robot: SimulatedRobot | str | None = None,
        robot_options: Mapping[str, float] | None = None,
        sink: Sink | None = None,
        client: str = 'embedded',
        record: str | Path | None = None,
    ) -> None:
        contract = loaded.contract
        _check(contract)
        self._contract, self._digest = contract, loaded.digest
        self._host = socket.gethostname()
        self._now = to_nanoseconds(contract.period)
        if robot_options and not (robot is None or isinstance(robot, str)):
            raise LinkError(
                'robot_options are for an installed robot, and this one is made already. '
                'Make it with its options.'
            )
        self._robot = (
            make_robot(contract, self._now, robot_options, robot or '')
            if robot is None or isinstance(robot, str)
            else robot
        )
        self._plugin = plugin_of(self._robot, contract)
        self._to = sink
        self._client = client
        self._boundaries = {agent: EmbeddedBoundary(loaded, agent) for agent in contract.agents}
        self._shared = SharedWorld(
            {agent: boundary.environment for agent, boundary in self._boundaries.items()}, contract
        )
        self._owner = {topic: b for b in self._boundaries.values() for topic in b.topics}
        self._failed = ''
        self._closed = False
        self._listener: Callable[[EnvironmentEvent], None] | None = None
        self._events: dict[str, Events] = {}
        self._record: RunWriter | None = None
        if record is not None:
            run = RunFolder.create(Path(record))
            self._record = RunWriter(run, loaded, node='embedded')
            self._record.describe(self._instant())

    @property
    def agents(self) -> tuple[str, ...]:
        """All agents of the contract: in one process none is stepped alone."""
        return self._contract.agents

    @property
    def running(self) -> tuple[str, ...]:
        """The agents whose episode runs, and which have to act in the next step."""
        return tuple(
            agent
            for agent, boundary in self._boundaries.items()
            if boundary.state is EpisodeState.RUNNING
        )

    def reset(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> dict[str, StepResult]:
        """Begin an episode of every agent; see :meth:`.world.World.reset`."""
        check_open(self._closed)
        self._failed = ''
        begin = Begin(
            digest=self._digest,
            client=self._client,
            client_version=__version__,
            wrappers=tuple(wrappers),
            # One seed for all: they must sample the same world.
            seed=None if seed is None else seed_of(seed),
            options=options_text(options),
        )
        drawn = int(np.random.default_rng().integers(2**63))
        for boundary in self._boundaries.values():
            self._begin(boundary, begin, drawn)
        self._go_on()
        for boundary in self._boundaries.values():
            self._check_reset(boundary)
        return {agent: boundary.last for agent, boundary in self._boundaries.items()}

    def step(
        self, actions: Mapping[str, Vector | StepRequest]
    ) -> dict[str, tuple[StepResult, ...]]:
        """
        Send an action of every agent that runs; see :meth:`.world.World.step`.

        Parameters
        ----------
        actions
            By agent, for exactly those of :attr:`running`; all of one length. With declared turns
            for the one whose turn it is; the world goes on until the next turn of one that runs.

        Raises
        ------
        EpisodeEnded
            If there is none.
        InvalidAction
            If actions are missing, come from agents that do not run, or the robot does not allow
            one now. Nothing was sent, and the episode goes on.
        LinkError
            If they differ in length.
        SimulationFailed
            If a step did not close.

        """
        check_open(self._closed)
        running = self.running
        last = {agent: self._boundaries[agent].last for agent in running}
        check_actions(self._contract, last, actions)
        wanted = {agent: as_request(action) for agent, action in actions.items()}
        sizes = {agent: len(request.action) for agent, request in wanted.items()}
        if len(set(sizes.values())) > 1:
            raise LinkError(
                'The agents sent chunks of different lengths '
                f'(expected as many numbers from each, got {sizes}).'
            )
        if self._plugin is not None and 'check' in self._plugin.can:
            check_legal(self._contract, wanted, self.ask)
        requests = {
            agent: action_request(
                each,
                last[agent],
                self._contract,
                lease_id=self._boundaries[agent].lease_id,
                sequence=self._boundaries[agent].sequence + 1,
                requested=self._instant(),
                client=self._client,
            )
            for agent, each in wanted.items()
        }
        for agent, boundary in self._boundaries.items():
            boundary.closed = boundary.closed[-1:]
            boundary.on_result = wanted[agent].on_result if agent in wanted else ignore
            self._alive(boundary)
            if agent in requests:
                boundary.sequence += 1
                self._sink(requests[agent])
                self._decided(
                    boundary,
                    boundary.gate.apply(Request(request=requests[agent], now=self._instant())),
                )
        self._go_on()
        closed = {agent: tuple(self._boundaries[agent].closed[1:]) for agent in running}
        if not all(closed.values()):
            raise SimulationFailed(self._failed or 'No step was closed.')
        return closed

    def observe(self) -> dict[str, tuple[StepResult, ...]]:
        """Return nothing of each agent that runs: the world waits for them."""
        check_open(self._closed)
        self._emit_pushed()
        check_running(self.running)
        return dict.fromkeys(self.running, ())

    def ask(self, method: str, arguments: Mapping[str, object]) -> Any:
        """
        Ask the robot's plugin; see :meth:`.plugin_robot.PluginRobot.ask`.

        Raises
        ------
        RequestRejected
            If it has no plugin, or that has no such method.

        """
        check_open(self._closed)
        answer = ask(self._robot, method, arguments)
        last = next(iter(self._boundaries.values())).closed[-1:]
        if method == 'save' and last:
            self._sink(SavedState(id=last[0].transition.id, state=json.dumps(answer)))
        return answer

    def close(self) -> None:
        """End the episodes that still run as ``abandoned``; nothing can be stepped any more."""
        if self._closed:
            return
        self._closed = True
        try:
            for boundary in self._boundaries.values():
                self._apply(
                    boundary,
                    EndEpisode(
                        ending=ABANDONED,
                        declared_by=self._client,
                        message='the client closed',
                        now=self._instant(),
                    ),
                )
        finally:
            if self._record is not None:
                self._record.close()

    def listen(self, listener: Callable[[EnvironmentEvent], None]) -> None:
        """
        Call back with every event of every agent, in the thread of the caller, within its call.

        What a plugin pushes between two calls is told with the next.
        """
        self._listener = listener
        if not self._events:
            for agent, boundary in self._boundaries.items():
                self._events[agent] = Events(self._contract, self._digest)
                self._events[agent].status(boundary.environment.status(self._instant()))

    def _emit(self, agent: str, record: object) -> None:
        if self._listener is not None:
            for event in self._events[agent].of(record):
                self._listener(event)

    def _emit_pushed(self) -> None:
        if self._events and self._plugin is not None:
            for push in self._plugin.pushed():
                self._emit(push.agent, push)

    def _sink(self, record: Output | ActionRequest | GateDecision | SavedState) -> None:
        if self._record is not None:
            self._record.add(record, self._instant())
            if isinstance(record, Transition):
                bounds = record.kind is Kind.RESET or record.terminated or record.truncated
                self._record.recording.flush(index=bounds)
        if self._to is not None:
            self._to(record)
        if isinstance(record, (Transition, EpisodeStatus)):
            self._emit(record.id.agent, record)

    # One agent -----------------------------------------------------------------------------------

    def _begin(self, boundary: EmbeddedBoundary, begin: Begin, drawn_seed: int) -> None:
        episode_id, lease_id = str(uuid.uuid4()), str(uuid.uuid4())
        now = self._instant()
        outputs = boundary.environment.apply(
            BeginEpisode(begin=begin, episode_id=episode_id, drawn_seed=drawn_seed, now=now)
        )
        boundary.forget(lease_id)
        # The gate must hear of the episode before it can be armed for it.
        for output in outputs:
            if isinstance(output, EpisodeStatus):
                self._decided(
                    boundary, boundary.gate.apply(EpisodeStatusReceived(status=output, now=now))
                )
        boundary.gate.apply(
            Arm(
                digest=self._digest,
                agent=boundary.agent,
                episode_id=episode_id,
                client=self._client,
                lease_id=lease_id,
                now=now,
            )
        )
        self._alive(boundary)
        self._dispatch(boundary, outputs)

    def _check_reset(self, boundary: EmbeddedBoundary) -> None:
        if boundary.state is EpisodeState.RUNNING:
            return
        message = boundary.environment.status(self._instant()).message
        unsent = sorted(boundary.topics - {self._contract.tf_topics[1]} - set(self._robot.topics))
        raise ResetFailed(
            message
            or self._failed
            or 'The observation after the reset is not complete. '
            + (
                '; '.join(boundary.problems)
                or 'The robot sends nothing on: '
                f'{", ".join(unsent) or "(it sends on every topic)"}.'
            )
        )

    def _alive(self, boundary: EmbeddedBoundary) -> None:
        """
        Be the heartbeat of gate, environment and recorder.

        In one process they live and die together.
        """
        now, environment, gate = self._instant(), boundary.environment, boundary.gate
        self._apply(boundary, RecorderReported(now=now))
        self._apply(boundary, GateReported(status=gate.state.status(now), now=now))
        self._decided(
            boundary, gate.apply(EpisodeStatusReceived(status=environment.status(now), now=now))
        )

    def _decided(self, boundary: EmbeddedBoundary, decisions: Sequence[GateDecision]) -> None:
        for decision in decisions:
            now = self._instant()
            whole = replace(decision, commanded=now) if decision.published else decision
            if whole.published:
                for topic, part in boundary.commands:
                    self._robot.command(topic, whole.command[part], self._now)
            if self._plugin is not None:
                for name, text in published_documents(whole).items():
                    self._plugin.document(boundary.documents[name], text)
            self._sink(whole)
            self._emit(boundary.agent, whole)
            self._apply(boundary, Decided(decision=whole, now=now))

    def _apply(self, boundary: EmbeddedBoundary, event: InputEvent) -> None:
        self._dispatch(boundary, boundary.environment.apply(event))

    def _dispatch(self, boundary: EmbeddedBoundary, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if isinstance(output, (ResetWorld, SimStepRequest)):
                self._shared.ask(boundary.agent, output)
            else:
                now = self._instant()
                if isinstance(output, Transition):
                    result = StepResult(
                        transition=output, delivered=now, images=dict(boundary.images)
                    )
                    boundary.closed.append(result)
                    boundary.on_result(result)
                self._sink(output)
                if isinstance(output, EpisodeStatus):
                    # It may be the turn of the next action of a chunk.
                    self._decided(
                        boundary,
                        boundary.gate.apply(EpisodeStatusReceived(status=output, now=now)),
                    )

    # The world -----------------------------------------------------------------------------------

    def _instant(self) -> ClockReading:
        ros = Stamp(clock=Clock.ROS, nanoseconds=self._now, host=self._host)
        return ClockReading(ros=ros, steady=time.monotonic_ns())

    def _go_on(self) -> None:
        """Reset and advance the world for as long as all whose episode lasts ask for it."""
        while True:
            reset = self._shared.reset()
            if reset is not None:
                self._reset(reset)
                continue
            advances = self._shared.advance(self._instant())
            if not advances:
                return
            self._advance(advances)

    def _reset(self, request: ResetWorld) -> None:
        answer = self._robot.reset(request, self._now)
        self._emit_pushed()
        for boundary in self._boundaries.values():
            self._apply(boundary, WorldAnswered(answer=answer, now=self._instant()))

    def _advance(self, advances: Mapping[str, SimStepRequest]) -> None:
        for boundary in self._boundaries.values():
            if boundary.state.over:
                self._decided(boundary, boundary.gate.apply(Tick(now=self._instant())))
        # Before the robot: if that is interrupted, it is never ahead of the world's time.
        self._now = target = self._now + max(advance.duration for advance in advances.values())
        emissions: tuple[Emission, ...] = ()
        try:
            emissions = self._robot.advance(target)
            self._failed = ''
        except SimulationFailed as error:
            self._failed = str(error)
        self._emit_pushed()
        now = self._instant()
        for emission in emissions:
            owner = self._owner.get(emission.topic)
            if owner is not None and emission.fields is not None:
                message = PlainMessage(emission.fields)
                outputs = owner.on_message(emission.topic, message, emission.stamp or None, now)
                if outputs:
                    self._dispatch(owner, outputs)
        for boundary in self._boundaries.values():
            self._dispatch(boundary, boundary.poll(now))
        for agent, advance in advances.items():
            boundary = self._boundaries[agent]
            own = [emission for emission in emissions if emission.topic in boundary.topics]
            info = '' if self._plugin is None else self._plugin.info(agent)
            report = Advanced(
                report=report_of(advance.id, own, self._failed, info=info), now=self._now
            )
            self._decided(boundary, boundary.gate.apply(WorldMoved(report=report, now=now)))
            # However long the world took: what records is this process, and it is here.
            self._apply(boundary, RecorderReported(now=now))
            self._apply(boundary, WorldAdvanced(report=report, now=now))
            if boundary.state is EpisodeState.RESETTING:
                # A step of the reset that waits has a deadline, which is looked at here alone.
                self._apply(boundary, DeadlinesDue(now=self._instant()))


def _check(contract: Contract) -> None:
    """Refuse what needs more than this process."""
    if not contract.is_lockstep:
        raise LinkError(
            'The embedded world runs in lockstep, and the contract says realtime. '
            "Pass pacing='lockstep'."
        )
    for index, step in enumerate(contract.episode.reset.steps):
        if not isinstance(step, (WorldStep, WaitStep)):
            raise LinkError(
                f'episode.reset.procedure[{index}]: expected only `world` and `wait` steps in one '
                f'process, got `{type(step).__name__.removesuffix("Step").lower()}`. It asks for '
                "a person or a node, and there is none. Use the world 'ros', or leave it out."
            )
