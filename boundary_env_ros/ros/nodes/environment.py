# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The node ``environment``: observation, episode, reward, ending and record.

It sends no command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
import sys
from typing import Any
import uuid

import numpy as np

from boundary_env_ros import __version__
from boundary_env_ros.core.contract import Pacing
from boundary_env_ros.core.decision import GateDecision, GateStatus
from boundary_env_ros.core.environment import Begin, Effect, Effects, Environment
from boundary_env_ros.core.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.inputs import feedback_inputs, field_inputs, Input, looked_up_fields
from boundary_env_ros.core.lockstep import WorldAdvance
from boundary_env_ros.core.observation import Observation, Sample
from boundary_env_ros.core.reset import ResetWorld, WorldReset
from boundary_env_ros.core.resetting import AskPerson, CallService, PublishMessage
from boundary_env_ros.core.timebase import Instant, NANOSECONDS
from boundary_env_ros.core.transition import (
    ActuationEvidence,
    EvaluatorRecord,
    Transition,
)
from boundary_env_ros.errors import BoundaryError, Refused
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode, run
from boundary_env_ros.ros.conversions import advanced_from, from_msg, message_class, to_msg
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.reset_client import ResetClient
from boundary_env_ros.ros.transforms import Transforms
from boundary_env_ros.storage.contract_file import make_task

# Looked at a few times a period, so that a deadline is missed by little.
_WATCHES_A_PERIOD = 4


class EnvironmentNode(ContractNode):
    """Carries messages to the environment of the core, and what comes of them out."""

    def __init__(self) -> None:
        super().__init__('environment', 'environment')
        self._environment: Environment | None = None
        self._outgoing: Mapping[type, Any] = {}
        self._transforms: Transforms | None = None
        self._procedure: ResetClient | None = None
        self._ticks: Any = None
        self._due = 0
        self._sensors: list[tuple[Any, Callable[[Any, Any], None], int]] = []

    def configure(self) -> None:
        """Make the environment, and all that it listens to and publishes."""
        contract, topics = self.contract, self.topics()
        self._environment = Environment(
            contract,
            digest=self.loaded.digest,
            task=make_task(contract),
            agent=self.agent,
            topics=topics,
            software_version=__version__,
            name=self.get_name(),
        )
        self._outgoing = {
            record: self.speak(kind, topic, qos)
            for record, kind, topic, qos in (
                (Observation, msg.Observation, names.OBSERVATION, names.RECORD),
                (Transition, msg.Transition, names.TRANSITION, names.RECORD),
                (EvaluatorRecord, msg.EvaluatorRecord, names.EVALUATOR, names.RECORD),
                (ActuationEvidence, msg.ActuationEvidence, names.ACTUATION_EVIDENCE, names.RECORD),
                (EpisodeStatus, msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED),
                (WorldAdvance, msg.WorldAdvance, names.WORLD_ADVANCE, names.RECORD),
            )
        }
        self._sensors = []
        for inputs, hear in (
            (field_inputs(contract, topics), self._field),
            (feedback_inputs(contract), self._feedback),
        ):
            for item in inputs:
                qos, on_message = names.sensor(item.qos, contract.pacing), hear(item)
                made = self.listen(message_class(item.type), item.topic, on_message, qos)
                self._sensors.append((made, on_message, qos.depth))
        looked_up = looked_up_fields(contract)
        self._transforms = Transforms(self, looked_up) if looked_up else None
        self.listen(msg.GateDecision, names.GATE_DECISION, self._on_decision, names.RECORD)
        self.listen(msg.GateStatus, names.GATE_STATUS, self._on_gate_status, names.LATCHED)
        self.listen(
            msg.RecorderStatus, names.RECORDER_STATUS, self._on_recorder_status, names.LATCHED
        )
        if contract.pacing is Pacing.LOCKSTEP:
            self.listen(msg.WorldAdvanced, names.WORLD_ADVANCED, self._on_advanced, names.RECORD)
        for service, name, callback in (
            (srv.BeginEpisode, '~/begin_episode', self._on_begin),
            (srv.EndEpisode, '~/end_episode', self._on_end),
            (srv.ConfirmReset, '~/confirm_reset', self._on_confirm),
        ):
            self.serve(service, name, callback)
        self._procedure = self._reset_procedure()

    def activate(self) -> None:
        """Start the timers, all on the steady clock: the period, the watch, the sign of life."""
        period = self.contract.period
        self._active = True
        if self.contract.pacing is Pacing.REALTIME:
            self._ticks = self.every(period, self._on_tick)
        self.every(period / _WATCHES_A_PERIOD, self._on_watch)
        self.every(min(period, self.contract.safety.environment_timeout / 4.0), self._say)
        self._say()

    def deactivate(self) -> None:
        """End a running episode: an inactive environment declares nothing later."""
        if self._environment is not None and self._active:
            self._carry(
                self._environment.end(
                    'operator_stop',
                    self.get_name(),
                    'the environment is being deactivated',
                    self.clock.now(),
                )
            )
        self._active = False

    def cleanup(self) -> None:
        """Let go of everything that :meth:`configure` made."""
        self._outgoing = {}
        self._sensors = []
        self._environment = None
        self._transforms = None
        self._procedure = None

    _active = False

    @property
    def environment(self) -> Environment:
        """The environment of the core."""
        if self._environment is None:
            raise BoundaryError(
                'Expect a configured environment, actually: it is not. Configure it first.'
            )
        return self._environment

    def _reset_procedure(self) -> ResetClient:
        environment = self.environment

        def on_world(answer: WorldReset) -> None:
            self._carry(environment.world_reset(answer, self.clock.now()))

        def on_called(service: str, error: str) -> None:
            self._carry(environment.called(service, error, self.clock.now()))

        return ResetClient(self, on_world=on_world, on_called=on_called)

    # Events --------------------------------------------------------------------------------------

    def _field(self, item: Input) -> Callable[[Any, Any], None]:
        def on_message(message: Any, info: Any) -> None:
            self._take(item, message, info)

        return on_message

    def _take(self, item: Input, message: Any, info: Any) -> None:
        """Take a sample of a field; ``info`` is what the middleware says of its message."""
        now = self.clock.now()
        reading = self.read(item, message)
        if reading is None:
            return
        sample = Sample(
            values=reading.values,
            captured=self.clock.captured(reading.stamp, self.contract.robot_host),
            published=None if info is None else self.clock.system(info['source_timestamp']),
            arrived=None if info is None else self.clock.system(info['received_timestamp']),
            confidence=reading.confidence,
            image=reading.image,
        )
        self._carry(self.environment.sample(item.name, sample, now))

    def _feedback(self, item: Input) -> Callable[[Any, Any], None]:
        host = self.contract.robot_host

        def on_message(message: Any, info: Any) -> None:
            now = self.clock.now()
            reading = self.read(item, message)
            if reading is None:
                return
            captured = self.clock.captured(reading.stamp, host)
            self._carry(self.environment.feedback(item.name, reading.values, captured, now))

        return on_message

    def _look_up(self) -> None:
        if self._transforms is None:
            return
        for item, message in self._transforms.new():
            self._take(item, message, None)

    def _on_decision(self, message: Any) -> None:
        self._carry(self.environment.decision(from_msg(GateDecision, message), self.clock.now()))

    def _on_gate_status(self, message: Any) -> None:
        self._carry(self.environment.gate_status(from_msg(GateStatus, message), self.clock.now()))

    def _on_recorder_status(self, message: Any) -> None:
        if message.digest == self.loaded.digest and message.recording:
            self._carry(self.environment.recorder_status(self.clock.now()))

    def _on_advanced(self, message: Any) -> None:
        self._carry(self.environment.advanced(advanced_from(message), self.clock.now()))

    def _catch_up(self) -> None:
        """
        Take what the sensors have sent and still waits.

        The executor runs a timer first, and takes one message of a topic before it looks again: on
        a busy machine a step would be closed on what is old while the newer is there already.
        """
        for subscription, hear, depth in self._sensors:
            for _ in range(depth):
                with subscription.handle:
                    taken = subscription.handle.take_message(subscription.msg_type, False)
                if taken is None:
                    break
                hear(*taken)

    def _on_tick(self) -> None:
        self._catch_up()
        now = self.clock.now()
        late = (now.steady - self._due) / NANOSECONDS
        period = self.contract.period
        # A tick that was missed altogether is not made up for: the next due time lies ahead.
        self._due += round(period * NANOSECONDS) * max(1, round(late / period) + 1)
        self._look_up()
        self._carry(self.environment.tick(now, late))

    def _on_watch(self) -> None:
        if self._procedure is not None:
            self._procedure.watch()
        self._look_up()
        self._carry(self.environment.watch(self.clock.now()))

    def _say(self) -> None:
        self._carry((self.environment.status(self.clock.now()),))

    # Effects -------------------------------------------------------------------------------------

    def _carry(self, effects: Effects) -> None:
        for effect in effects:
            self._carry_one(effect)

    def _carry_one(self, effect: Effect) -> None:
        if isinstance(effect, (ResetWorld, CallService, PublishMessage, AskPerson)):
            assert self._procedure is not None  # made with the environment
            self._procedure.carry(effect)
            return
        now = self.clock.now()
        self._outgoing[type(effect)].publish(to_msg(effect, _stamp_of(effect, now)))
        if isinstance(effect, Transition):
            self._log(effect)
            if effect.reset is not None and self._ticks is not None:
                self._ticks.reset()
                self._due = now.steady + round(self.contract.period * NANOSECONDS)

    def _log(self, transition: Transition) -> None:
        if transition.cause:
            self.get_logger().info(
                f'episode {transition.id.episode_id[:8]} ended after {transition.id.step} steps: '
                f'{transition.cause}, declared by {transition.declared_by}'
            )
        elif transition.reset is not None:
            self.get_logger().info(f'episode {transition.id.episode_id[:8]} runs')
        if transition.overrun:
            self.get_logger().warning(
                f'step {transition.id.step} of {transition.id.episode_id[:8]}: '
                'no action came in time, '
                f'held by the {transition.held_by}',
                throttle_duration_sec=1.0,
            )

    # Services ------------------------------------------------------------------------------------

    def _on_begin(self, request: Any, response: Any) -> Any:
        if not self._active:
            response.result.code = msg.Result.NOT_ACTIVE
            response.result.message = (
                'Expect an active environment, actually: it is not. Activate it.'
            )
            return response
        episode_id = str(uuid.uuid4())
        begin = Begin(
            digest=request.digest,
            client=request.client,
            client_version=request.client_version,
            wrappers=tuple(request.wrappers),
            seed=request.seed if request.seed_given else None,
            options=request.options,
        )
        try:
            seed, effects = self.environment.begin(
                begin,
                episode_id=episode_id,
                drawn_seed=int(np.random.default_rng().integers(2**63)),
                now=self.clock.now(),
            )
        except Refused as refusal:
            response.result.code = int(refusal.code)
            response.result.message = str(refusal)
            return response
        self._carry(effects)
        response.episode_id = episode_id
        response.seed = seed
        return response

    def _on_end(self, request: Any, response: Any) -> Any:
        environment = self.environment
        status = environment.status(self.clock.now())
        causes = self.contract.episode.causes
        if request.episode_id != status.id.episode_id or environment.state in (
            EpisodeState.IDLE,
            EpisodeState.TERMINATED,
            EpisodeState.TRUNCATED,
        ):
            response.result.code = msg.Result.UNKNOWN_EPISODE
            response.result.message = (
                f'Expect the running episode ({status.id.episode_id or "none"}), '
                f'actually: {request.episode_id}.'
            )
        elif request.cause not in causes:
            response.result.code = msg.Result.INVALID_ARGUMENT
            response.result.message = (
                f'Expect a cause out of {", ".join(causes)}, actually: {request.cause!r}.'
            )
        else:
            self._carry(
                environment.end(
                    request.cause, request.client or 'client', request.message, self.clock.now()
                )
            )
        return response

    def _on_confirm(self, request: Any, response: Any) -> Any:
        try:
            effects = self.environment.confirm(
                request.who, request.confirmed, request.message, self.clock.now()
            )
        except Refused as refusal:
            response.result.code = int(refusal.code)
            response.result.message = str(refusal)
            return response
        self._carry(effects)
        return response


def _stamp_of(effect: Effect, now: Instant) -> Instant:
    """Return what the header of a record is stamped with: its own instant, if it has one."""
    if isinstance(effect, Observation):
        return effect.observed
    if isinstance(effect, Transition):
        return effect.closed
    if isinstance(effect, EpisodeStatus) and effect.taken is not None:
        return replace(effect.taken)
    return now


def main() -> int:
    """Run the node ``environment``."""
    return run(EnvironmentNode)


if __name__ == '__main__':
    sys.exit(main())
