# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The node ``environment``: observation, episode, reward, ending and record.

It sends no command.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
import sys
from types import MappingProxyType
from typing import Any
import uuid

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np

from boundary_env_ros import __version__
from boundary_env_ros.core.environment.environment import Environment
from boundary_env_ros.core.environment.environment_events import (
    Begin,
    BeginEpisode,
    ConfirmReset,
    Decided,
    EndEpisode,
    GateReported,
    InputEvent,
    MessageArrived,
    RecorderReported,
    SensorsRead,
    ServiceAnswered,
    StepDue,
    WorldAdvanced,
    WorldAnswered,
)
from boundary_env_ros.core.environment.environment_state import (
    Output,
    Outputs,
    Setup,
    WorldRequest,
)
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.environment.shared_world import SharedWorld
from boundary_env_ros.core.environment.step_timing import StepTiming
from boundary_env_ros.core.records.decision import GateDecision, GateStatus
from boundary_env_ros.core.records.episode import EpisodeStatus
from boundary_env_ros.core.records.lockstep import SimStepRequest
from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.core.sources.inputs import Input, Purpose, TF_TYPE
from boundary_env_ros.core.sources.listener import inputs_of
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import ClockReading, NANOSECONDS
from boundary_env_ros.errors import RequestRejected, ResetFailed, ResultCode
from boundary_env_ros.frozen import replace
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode, OFTEN, run
from boundary_env_ros.ros.conversions import (
    advanced_from,
    from_bytes,
    message_class,
    message_of,
    to_bytes,
)
from boundary_env_ros.ros.diagnostics import of_steps
from boundary_env_ros.ros.enclaves import enabled
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.reset_client import ResetClient
from boundary_env_ros.ros.sensor_buffer import KEPT, SensorBuffer
from boundary_env_ros.storage.records import TOPICS
from boundary_env_ros.storage.task_check import fitting_task

# Deadlines are checked a few times a period, so that they are missed by little.
_WATCHES_A_PERIOD = 4

# Topics that are searched for frames at most: a fleet has one for each robot.
_MOST_ELSEWHERE = 16

# Seconds between two looks for topics that are published as another type.
_POLL = 1.0


class AgentEnvironment:
    """
    Carries messages to the environment of one agent, and what comes of them out.

    Parameters
    ----------
    node
        The node, which is being configured; what is made here lives until its cleanup.
    agent
        The agent.

    """

    def __init__(self, node: EnvironmentNode, agent: str) -> None:
        contract, topics = node.contract, node.topics(agent)
        self._node, self.agent = node, agent
        self._several = len(contract.agents) > 1
        self.environment = Environment(
            Setup(
                contract=contract,
                digest=node.loaded.digest,
                task=fitting_task(contract),
                agent=agent,
                topics=topics,
                software_version=__version__,
                name=node.get_name(),
            )
        )
        self.timing = StepTiming(contract)
        self._outgoing = {
            record: node.publisher_of(TOPICS[record], agent)
            for record in (Transition, PrivilegedObservation, ActuationEvidence, EpisodeStatus)
        }
        self._transforms = TransformFields(contract, namespace=node.get_namespace())
        self._elsewhere: dict[str, Any] = {}
        node.own(lambda _: self._ignore_elsewhere(), None)
        self._world_time = 0  # of lockstep, in which `/clock` may come later than the answer
        inputs = inputs_of(contract, topics, self._transforms)
        listener = node.listener(
            [item for item in inputs if item.purpose is not Purpose.GATE],
            kept=KEPT,
            transforms=self._transforms,
            on_problem=self.environment.on_problem,
        )
        self._sensors = SensorBuffer(
            node, agent, listener, arrived=self._on_message, due=self._go_on
        )
        node.subscribe(names.GATE_DECISION, self._on_decision, agent)
        node.subscribe(names.GATE_STATUS, self._on_gate_status, agent)
        if contract.is_lockstep:
            node.subscribe(names.SIM_STEP_RESPONSE, self._on_advanced, agent)
        for service, name, callback in (
            (srv.BeginEpisode, names.BEGIN_EPISODE, self._on_begin),
            (srv.EndEpisode, names.END_EPISODE, self._on_end),
            (srv.ConfirmReset, names.CONFIRM_RESET, self._on_confirm),
        ):
            node.add_service(service, node.topic_of(agent, name), callback)

    @property
    def now(self) -> ClockReading:
        """What time it is."""
        return self._node.clock.now()

    # Events --------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        self.poll()
        self.apply(SensorsRead(now=self.now))

    def poll(self) -> None:
        """Read all that the sensors have sent, and the newest transforms."""
        now = max(self.now.ros.nanoseconds, self._world_time)
        self._sensors.poll(self._on_reading, now)

    def compare_types(self) -> None:
        """Find out why what has never come does not."""
        self._sensors.compare_types()
        # An enclave allows no other topics than those of the contract.
        if self._transforms.never_known and not enabled():
            self._subscribe_elsewhere()
        else:
            self._ignore_elsewhere()

    def _subscribe_elsewhere(self) -> None:
        """Listen where else transforms are published, to say which topic has a frame."""
        known = {*self._node.topics(self.agent).values(), *self._elsewhere}
        for topic, kinds in self._node.get_topic_names_and_types():
            if TF_TYPE in kinds and topic not in known and len(self._elsewhere) < _MOST_ELSEWHERE:
                latched = topic.endswith('_static')
                self._elsewhere[topic] = self._node.create_subscription(
                    message_class(TF_TYPE),
                    topic,
                    partial(self._transforms.note, topic),
                    names.profile(100, reliable=latched, latched=latched),
                )

    def _ignore_elsewhere(self) -> None:
        for subscription in self._elsewhere.values():
            self._node.destroy_subscription(subscription)
        self._elsewhere.clear()

    def _on_message(self, topic: str, captured: int | None, steady: int) -> bool:
        self.environment.apply(MessageArrived(topic=topic, captured=captured, steady=steady))
        return self.environment.state.due

    def _on_reading(self, item: Input, reading: Reading) -> None:
        self.dispatch(self.environment.on_reading(item, reading))

    def _on_decision(self, data: bytes) -> None:
        self.apply(Decided(decision=from_bytes(GateDecision, data), now=self.now))

    def _on_gate_status(self, data: bytes) -> None:
        self.apply(GateReported(status=from_bytes(GateStatus, data), now=self.now))

    def _on_advanced(self, data: bytes) -> None:
        report = advanced_from(data)
        self._world_time = report.now
        self.poll()
        self.apply(WorldAdvanced(report=report, now=self.now))

    def publish_status(self) -> None:
        """Publish where the episode stands: a heartbeat."""
        self.dispatch((self.environment.status(self.now),))

    # Outputs -------------------------------------------------------------------------------------

    def apply(self, event: InputEvent) -> None:
        """Let an event happen, and do what comes of it."""
        self.dispatch(self.environment.apply(event))

    def dispatch(self, outputs: Outputs) -> None:
        """Do what an event has led to."""
        for output in outputs:
            self._dispatch_one(output)
        if outputs:
            self._node.go_on()

    def _dispatch_one(self, output: Output) -> None:
        if isinstance(output, WorldRequest):
            self._node.ask(self.agent, output)
            return
        now = self.now
        self._outgoing[type(output)].publish(
            to_bytes(output, _stamp_of(output, now).ros.nanoseconds)
        )
        if isinstance(output, Transition):
            self.timing.add(output)
            self._log(output)
            if output.reset is not None and not output.truncated:
                self._node.on_started()

    def _log(self, transition: Transition) -> None:
        whose = f' of {self.agent}' if self._several else ''
        episode = f'{transition.id.episode_id[:8]}{whose}'
        if transition.ending:
            message = self.environment.state.episode.message
            self._node.get_logger().info(
                f'episode {episode} ended after {transition.id.step} steps: '
                f'{transition.ending}, declared by {transition.declared_by}'
                f'{": " if message else ""}{message}'
            )
        elif transition.reset is not None:
            self._node.get_logger().info(f'episode {episode} runs')
        if transition.overrun:
            self._node.get_logger().warning(
                f'step {transition.id.step} of {episode}: no action came in time, '
                f'held by the {transition.held_by}',
                throttle_duration_sec=1.0,
            )

    # Services ------------------------------------------------------------------------------------

    def _on_begin(self, request: Any, response: Any) -> Any:
        if not self._node.active:
            raise RequestRejected(
                'The environment is not active. '
                '`boundary-env up` is still starting it, or it was deactivated.',
                ResultCode.NOT_ACTIVE,
            )
        begin = Begin(
            digest=request.digest,
            client=request.client,
            client_version=request.client_version,
            wrappers=tuple(request.wrappers),
            seed=request.seed if request.seed_given else None,
            options=request.options,
        )
        if not self.environment.state.resets_for(begin):
            self.poll()  # an episode that still runs ends by this
            self.apply(
                BeginEpisode(
                    begin=begin,
                    episode_id=str(uuid.uuid4()),
                    drawn_seed=self._node.draw_seed(),
                    now=self.now,
                )
            )
        episode = self.environment.state.episode
        response.episode_id, response.seed = episode.id.episode_id, episode.seed
        return response

    def _on_end(self, request: Any, response: Any) -> Any:
        status, runs = self.environment.state.episode, self.environment.state.active
        if not runs or request.episode_id != status.id.episode_id:
            running = f'{status.id.episode_id}, which runs' if runs else 'none, since none runs'
            ended = f' ({status.ending} ended it)' if status.ending and not runs else ''
            raise RequestRejected(
                f'The episode cannot be ended (expected {running}, '
                f'got {request.episode_id}{ended}).',
                ResultCode.UNKNOWN_EPISODE,
            )
        self.poll()
        self.apply(
            EndEpisode(
                ending=request.ending,
                declared_by=request.client or 'client',
                message=request.message,
                now=self.now,
            )
        )
        return response

    def _on_confirm(self, request: Any, response: Any) -> Any:
        self.apply(
            ConfirmReset(
                user=request.user,
                confirmed=request.confirmed,
                message=request.message,
                now=self.now,
            )
        )
        return response


class EnvironmentNode(ContractNode):
    """
    Hosts the environments of all agents of one world: one clock, one reset, one advance.

    Attributes
    ----------
    active
        Whether the node may act.

    """

    active = False
    _agents: Mapping[str, AgentEnvironment] = MappingProxyType({})
    _world: SharedWorld
    _procedure: ResetClient
    _ticks: Any = None
    _due = 0

    def __init__(self, **options: Any) -> None:
        super().__init__('environment', 'environment', **options)

    def configure(self) -> None:
        """Make the environments, and all that they listen to and publish."""
        contract = self.contract
        self._agents = {agent: AgentEnvironment(self, agent) for agent in contract.agents}
        self._world = SharedWorld(
            {agent: made.environment for agent, made in self._agents.items()}, contract
        )
        self._advances = self.publisher_of(names.SIM_STEP_REQUEST)
        self.subscribe(names.RECORDER_STATUS, self._on_recorder_status)
        self._procedure = ResetClient(self, on_world=self._on_world, on_called=self._on_called)

    def activate(self) -> None:
        """Start the timers, all on the steady clock: the period, the watch, the heartbeat."""
        period = self.contract.period
        self.active = True
        if not self.contract.is_lockstep:
            self._ticks = self.every(period, self._on_tick)
        self.every(max(period, OFTEN) / _WATCHES_A_PERIOD, self._on_watch)
        # Every step says besides where the episode stands.
        self.every(
            self.heartbeat(self.contract.safety.environment_timeout), self._publish_statuses
        )
        self.every(_POLL, self._compare_types)
        self._publish_statuses()

    def deactivate(self) -> None:
        """End the episodes that run: an inactive environment declares nothing later."""
        if self.active:
            for agent in self._agents.values():
                agent.poll()
                agent.apply(
                    EndEpisode(
                        ending='operator_stop',
                        declared_by=self.get_name(),
                        message='the environment is being deactivated',
                        now=self.clock.now(),
                    )
                )
        self.active = False

    def busy(self) -> str:
        """Return whose episode runs; empty if none does."""
        running = [name for name, each in self._agents.items() if each.environment.state.active]
        return f'an episode of {", ".join(running)} runs' if running else ''

    def cleanup(self) -> None:
        """Let go of the environments: an answer that comes late reaches none."""
        self._agents = {}

    # The world -----------------------------------------------------------------------------------

    def ask(self, agent: str, what: WorldRequest) -> None:
        """Take what an environment asks of world and people."""
        if isinstance(what, (ResetWorld, SimStepRequest)):
            self._world.ask(agent, what)
        else:
            self._procedure.execute(what)

    def draw_seed(self) -> int:
        """Return a seed where none is named: that of an agent that waits for it, if one does."""
        seed = self._world.seed
        return int(np.random.default_rng().integers(2**63)) if seed is None else seed

    def go_on(self) -> None:
        """Ask the world for what all have asked for by now."""
        try:
            reset = self._world.reset()
        except ResetFailed as error:
            self._on_world(WorldReset(error=str(error)))
            return
        if reset is not None:
            self._procedure.execute(reset)
        now = self.clock.now()
        advances = tuple(self._world.advance(now).values())
        for advance in advances:
            # The last of them says how far; those before it, which commands to wait for.
            last = advance is advances[-1]
            request = advance if last else replace(advance, duration=0)
            self._advances.publish(to_bytes(request, now.ros.nanoseconds))

    def _on_world(self, answer: WorldReset) -> None:
        self._apply(WorldAnswered(answer=answer, now=self.clock.now()))

    def _on_called(self, service: str, error: str) -> None:
        self._apply(ServiceAnswered(service=service, error=error, now=self.clock.now()))

    def _on_recorder_status(self, data: bytes) -> None:
        message = message_of(msg.RecorderStatus, data)
        if message.digest == self.loaded.digest and message.recording:
            self._apply(RecorderReported(now=self.clock.now()))

    def _apply(self, event: InputEvent) -> None:
        for agent in self._agents.values():
            agent.apply(event)

    # Time ----------------------------------------------------------------------------------------

    def on_started(self) -> None:
        """Begin to count the period again: the first step is as long as the others."""
        if self._ticks is not None:
            self._ticks.reset()
            self._due = self.clock.now().steady + round(self.contract.period * NANOSECONDS)

    def _on_tick(self) -> None:
        for agent in self._agents.values():
            agent.poll()
        now = self.clock.now()
        late = (now.steady - self._due) / NANOSECONDS
        if late < -self.contract.period / 2.0:
            return  # it was on its way already when the period began again
        # As the timer has it, lest a whole episode seem to be late: it does not make up for a tick
        # that was missed altogether.
        self._due = now.steady + self._ticks.time_until_next_call()
        for agent in self._agents.values():
            agent.apply(StepDue(late=late, now=now))

    def _on_watch(self) -> None:
        self._procedure.watch()
        for name, agent in self._agents.items():
            if agent.environment.reads_sensors(self.clock.now()):
                agent.poll()
            agent.dispatch(self._world.watch(name, self.clock.now()))

    def _compare_types(self) -> None:
        for agent in self._agents.values():
            agent.compare_types()

    def _publish_statuses(self) -> None:
        for agent in self._agents.values():
            agent.publish_status()

    def conditions(self) -> Iterator[DiagnosticStatus]:
        """Yield what ``/diagnostics`` says of the node and of each agent's steps."""
        yield from super().conditions()
        for name, agent in self._agents.items():
            yield of_steps(self.path, name, agent.timing)


def _stamp_of(output: Output, now: ClockReading) -> ClockReading:
    """Return what the header of a record is stamped with: its own instant, if it has one."""
    if isinstance(output, Transition):
        return output.closed
    if isinstance(output, EpisodeStatus) and output.stamp is not None:
        return output.stamp
    return now


def main() -> int:
    """Run the node ``environment``."""
    return run(EnvironmentNode, executor=fastest_executor)


if __name__ == '__main__':
    sys.exit(main())
