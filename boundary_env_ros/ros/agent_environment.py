# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ROS side of the environment of one agent: what it hears, publishes and is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
import uuid

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import CallStep, ConfirmStep, Pacing, PublishStep
from boundary_env_ros.core.environment.environment import Begin, Effect, Effects, Environment
from boundary_env_ros.core.environment.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.environment.lockstep import SimStepRequest
from boundary_env_ros.core.environment.observation import Observation
from boundary_env_ros.core.environment.reset import ResetWorld
from boundary_env_ros.core.gate.decision import GateDecision, GateStatus
from boundary_env_ros.core.sources.inputs import (
    acknowledgement_inputs,
    feedback_inputs,
    field_inputs,
    TF,
    TF_STATIC,
)
from boundary_env_ros.core.sources.readers import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.step_timing import StepTiming
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode, RATE
from boundary_env_ros.ros.conversions import advanced_from, from_bytes, to_bytes
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.sensor_buffer import Arrival, SensorBuffer
from boundary_env_ros.storage.task_check import fitting_task

#: What an environment asks of other nodes, beside what it publishes.
Asked = ResetWorld | CallStep | PublishStep | ConfirmStep | SimStepRequest


class AgentEnvironment:
    """
    Carries messages to the environment of one agent, and what comes of them out.

    Parameters
    ----------
    node
        A node that is being configured; what is made here lives until its cleanup.
    agent
        The agent.
    ask
        Is given what the environment asks of world and people.
    asked
        Is called after that, when all effects of one event are carried.
    started
        Is called when an episode runs.
    active
        Whether the node may act.
    draw
        Returns a seed where none is named.

    """

    def __init__(
        self,
        node: ContractNode,
        agent: str,
        *,
        ask: Callable[[str, Asked], None],
        asked: Callable[[], None],
        started: Callable[[], None],
        active: Callable[[], bool],
        draw: Callable[[], int],
    ) -> None:
        contract, topics = node.contract, node.topics(agent)
        self._node, self.agent = node, agent
        self._ask, self._asked = ask, asked
        self._started, self._active, self._draw = started, active, draw
        self._several = len(contract.agents) > 1
        self.environment = Environment(
            contract,
            digest=node.loaded.digest,
            task=fitting_task(contract),
            agent=agent,
            topics=topics,
            software_version=__version__,
            name=node.get_name(),
        )
        self.timing = StepTiming(contract)
        self._outgoing = {
            record: node.add_publisher(kind, node.topic_of(agent, topic), qos)
            for record, kind, topic, qos in (
                (Observation, msg.Observation, names.OBSERVATION, names.RECORD),
                (Transition, msg.Transition, names.TRANSITION, names.RECORD),
                (
                    PrivilegedObservation,
                    msg.PrivilegedObservation,
                    names.PRIVILEGED_OBSERVATION,
                    names.RECORD,
                ),
                (ActuationEvidence, msg.ActuationEvidence, names.ACTUATION_EVIDENCE, names.RECORD),
                (EpisodeStatus, msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED),
            )
        }
        self._transforms = TransformFields(contract)
        self._world_time = 0  # of lockstep, in which `/clock` may come later than the answer
        self._sensors = SensorBuffer(
            node,
            agent,
            fields=field_inputs(contract, topics),
            feedback=(
                *feedback_inputs(contract),
                *acknowledgement_inputs(contract),
                *self._transforms.inputs,
            ),
            heard=self.environment.heard,
            stamped=contract.pacing is Pacing.LOCKSTEP,
            due=self._go_on,
            unusable=self.environment.unusable,
        )
        for kind, topic, hear, qos in (
            (msg.GateDecision, names.GATE_DECISION, self._on_decision, names.RECORD),
            (msg.GateStatus, names.GATE_STATUS, self._on_gate_status, names.LATCHED),
            (msg.SimStepResponse, names.SIM_STEP_RESPONSE, self._on_advanced, names.RECORD),
        ):
            if kind is not msg.SimStepResponse or contract.pacing is Pacing.LOCKSTEP:
                place = node.topic_of(agent, topic)
                node.add_subscription(kind, place, hear, qos, raw=True, rate=RATE)
        for service, name, callback in (
            (srv.BeginEpisode, names.BEGIN_EPISODE, self._on_begin),
            (srv.EndEpisode, names.END_EPISODE, self._on_end),
            (srv.ConfirmReset, names.CONFIRM_RESET, self._on_confirm),
        ):
            node.add_service(service, node.topic_of(agent, name), callback)

    # Events --------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        self.look()
        self.carry(self.environment.go_on(self._node.clock.now()))

    def look(self) -> None:
        """Look at all that the sensors have sent, and at the newest transforms."""
        self._sensors.look(self._on_field, self._on_feedback)
        now = max(self._node.clock.now().ros.nanoseconds, self._world_time)
        for name, reading in self._transforms.new(now, self.environment.unusable):
            self.environment.take(name, self._node.sample(reading))

    def _on_field(self, name: str, reading: Reading, arrival: Arrival) -> bool:
        return self.environment.take(
            name, self._node.sample(reading, arrival.published, arrival.arrived)
        )

    def _on_feedback(self, name: str, reading: Reading) -> None:
        if name in (TF, TF_STATIC):
            return  # read into the buffer of the transforms
        captured = self._node.clock.captured(reading.stamp, self._node.contract.robot_host)
        self.carry(self.environment.measured(name, reading.values, captured))

    def _on_decision(self, data: bytes) -> None:
        decision = from_bytes(GateDecision, data)
        self.carry(self.environment.decision(decision, self._node.clock.now()))

    def _on_gate_status(self, data: bytes) -> None:
        status = from_bytes(GateStatus, data)
        self.carry(self.environment.gate_status(status, self._node.clock.now()))

    def _on_advanced(self, data: bytes) -> None:
        report = advanced_from(data)
        self._world_time = report.now
        self.look()
        self.carry(self.environment.advanced(report, self._node.clock.now()))

    def say(self) -> None:
        """Publish where the episode stands: a heartbeat."""
        self.carry((self.environment.status(self._node.clock.now()),))

    # Effects -------------------------------------------------------------------------------------

    def carry(self, effects: Effects) -> None:
        """Do what an event has led to."""
        for effect in effects:
            self._carry_one(effect)
        if effects:
            self._asked()

    def _carry_one(self, effect: Effect) -> None:
        if isinstance(effect, Asked):
            self._ask(self.agent, effect)
            return
        now = self._node.clock.now()
        self._outgoing[type(effect)].publish(
            to_bytes(effect, _stamp_of(effect, now).ros.nanoseconds)
        )
        if isinstance(effect, Transition):
            self.timing.add(effect)
            self._log(effect)
            if effect.reset is not None and not effect.truncated:
                self._started()

    def _log(self, transition: Transition) -> None:
        whose = f' of {self.agent}' if self._several else ''
        episode = f'{transition.id.episode_id[:8]}{whose}'
        if transition.ending:
            message = self.environment.message
            self._node.get_logger().info(
                f'episode {episode} ended after {transition.id.step} steps: '
                f'{transition.ending}, declared by {transition.declared_by}'
                f'{": " if message else ""}{message}'
            )
        elif transition.reset is not None:
            self._node.get_logger().info(f'episode {episode} runs')
        if transition.overrun:
            self._node.get_logger().warning(
                f'step {transition.id.step} of {episode}: '
                'no action came in time, '
                f'held by the {transition.held_by}',
                throttle_duration_sec=1.0,
            )

    # Services ------------------------------------------------------------------------------------

    def _on_begin(self, request: Any, response: Any) -> Any:
        if not self._active():
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
        response.episode_id = str(uuid.uuid4())
        self.look()  # an episode that still runs ends by this
        response.seed, effects = self.environment.begin(
            begin,
            episode_id=response.episode_id,
            drawn_seed=self._draw(),
            now=self._node.clock.now(),
        )
        self.carry(effects)
        return response

    def _on_end(self, request: Any, response: Any) -> Any:
        environment, now = self.environment, self._node.clock.now()
        status = environment.status(now)
        endings = self._node.contract.episode.endings
        runs = environment.state in (EpisodeState.RESETTING, EpisodeState.RUNNING)
        if not runs or request.episode_id != status.id.episode_id:
            running = f'{status.id.episode_id}, which runs' if runs else 'none, since none runs'
            ended = f' ({status.ending} ended it)' if status.ending and not runs else ''
            raise RequestRejected(
                f'The episode cannot be ended (expected {running}, '
                f'got {request.episode_id}{ended}).',
                ResultCode.UNKNOWN_EPISODE,
            )
        if request.ending not in endings:
            raise RequestRejected(
                f'Unknown ending (expected {", ".join(endings)}, got {request.ending!r}).'
            )
        self.look()
        who = request.client or 'client'
        self.carry(environment.end(request.ending, who, request.message, now))
        return response

    def _on_confirm(self, request: Any, response: Any) -> Any:
        self.carry(
            self.environment.confirm(
                request.user, request.confirmed, request.message, self._node.clock.now()
            )
        )
        return response


def _stamp_of(effect: Effect, now: ClockReading) -> ClockReading:
    """Return what the header of a record is stamped with: its own instant, if it has one."""
    if isinstance(effect, Observation):
        return effect.observed
    if isinstance(effect, Transition):
        return effect.closed
    if isinstance(effect, EpisodeStatus) and effect.stamp is not None:
        return replace(effect.stamp)
    return now
