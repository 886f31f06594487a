# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Contract, gate, environment and a simulated robot in one process, in lockstep, with no middleware.

The same core objects as over ROS, in the same order, leave the same records. The ROS clock is the
world's own time, which starts at the first period so that no stamp is zero.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
import json
import socket
import time
import uuid

import numpy as np

from boundary_env_ros import __version__
from boundary_env_ros.core.contract import Contract, Pacing, Vector
from boundary_env_ros.core.decision import ActionRequest, GateDecision, StepId
from boundary_env_ros.core.environment import Begin, Effect, Environment
from boundary_env_ros.core.episode import EpisodeStatus
from boundary_env_ros.core.gate import Gate
from boundary_env_ros.core.inputs import (
    feedback_inputs,
    field_inputs,
    gate_inputs,
    image_fields,
    Input,
    sensor_topics,
)
from boundary_env_ros.core.lockstep import Advanced, WorldAdvance
from boundary_env_ros.core.observation import Sample
from boundary_env_ros.core.reset import ResetWorld
from boundary_env_ros.core.timebase import Clock, Instant, Stamp, to_nanoseconds
from boundary_env_ros.core.transition import Transition
from boundary_env_ros.errors import LinkError, ResetFailed, SimulationFailed
from boundary_env_ros.facade.link import Delivery, Image
from boundary_env_ros.simulation.messages import plain_message
from boundary_env_ros.simulation.robot import CartRobot, Emission, report_of, SimulatedRobot
from boundary_env_ros.storage.contract_file import LoadedContract, make_task

Sink = Callable[[Effect | GateDecision], None]
Listener = Callable[[object, Instant], Sequence[Effect]]


class EmbeddedLink:
    """
    A world of its own, in this process.

    Parameters
    ----------
    loaded
        The contract; its pacing must be lockstep.
    robot
        The robot; default: the warehouse cart.
    sink
        Is given every record as it is made.
    client
        Name of this client in the record.

    """

    def __init__(
        self,
        loaded: LoadedContract,
        *,
        robot: SimulatedRobot | None = None,
        sink: Sink | None = None,
        client: str = 'embedded',
    ) -> None:
        contract = loaded.contract
        if contract.pacing is not Pacing.LOCKSTEP:
            raise LinkError(
                'Expect a contract in lockstep for the embedded link, actually: realtime. '
                "Pass pacing='lockstep'."
            )
        self._contract, self._digest = contract, loaded.digest
        self._agent = contract.agents[0]
        self._host = socket.gethostname()
        self._now = to_nanoseconds(contract.period)
        self._robot = robot if robot is not None else CartRobot(start=self._now)
        self._sink = sink or (lambda record: None)
        self._client = client
        topics = {topic: topic for topic in sensor_topics(contract)}
        self._gate = Gate(
            contract,
            digest=self._digest,
            agent=self._agent,
            topics={item.name: item.topic for item in gate_inputs(contract)},
            software_version=__version__,
        )
        self._environment = Environment(
            contract,
            digest=self._digest,
            task=make_task(contract),
            agent=self._agent,
            topics=topics,
            software_version=__version__,
        )
        self._hear = _listeners(contract, topics, self._environment, self._gate)
        self._image_shapes = {
            spec.topic: (spec.name, spec.shape) for spec in image_fields(contract)
        }
        self._images: dict[str, Image] = {}
        self._last: Delivery | None = None
        self._lease_id = ''
        self._sequence = 0
        self._closed: list[Delivery] = []
        self._failed = ''

    def begin(
        self, *, seed: int | None, options: Mapping[str, object], wrappers: Sequence[str]
    ) -> Delivery:
        """Begin an episode; see :meth:`Link.begin`."""
        self._closed.clear()
        self._failed = ''
        episode_id = str(uuid.uuid4())
        now = self._instant()
        _, effects = self._environment.begin(
            Begin(
                digest=self._digest,
                client=self._client,
                client_version=__version__,
                wrappers=tuple(wrappers),
                seed=seed,
                options=json.dumps(dict(options)) if options else '',
            ),
            episode_id=episode_id,
            drawn_seed=int(np.random.default_rng().integers(2**63)),
            now=now,
        )
        # The gate must hear of the episode before it can be armed for it.
        for effect in effects:
            if isinstance(effect, EpisodeStatus):
                self._gate.heard(effect, now)
        self._lease_id = str(uuid.uuid4())
        self._sequence = 0
        self._gate.arm(
            digest=self._digest,
            agent=self._agent,
            episode_id=episode_id,
            client=self._client,
            lease_id=self._lease_id,
            now=now,
        )
        self._alive()
        self._run(effects)
        if not self._closed or self._closed[-1].transition.truncated:
            message = self._environment.status(self._instant()).message
            raise ResetFailed(
                message or self._failed or 'Expect a reset world, actually: none came.'
            )
        self._last = self._closed[-1]
        return self._last

    def step(self, action: Vector) -> tuple[Delivery, ...]:
        """Send one action; see :meth:`Link.step`."""
        last = self._last
        if last is None:
            raise LinkError('Expect an episode, actually: none was begun. Call begin() first.')
        self._closed.clear()
        self._sequence += 1
        now = self._instant()
        self._alive()
        request = ActionRequest(
            id=StepId(
                digest=self._digest,
                agent=self._agent,
                episode_id=last.transition.id.episode_id,
                step=last.transition.id.step + 1,
            ),
            lease_id=self._lease_id,
            sequence=self._sequence,
            action=action,
            observed=last.transition.closed,
            delivered=last.delivered,
            requested=now,
            client=self._client,
            client_version=__version__,
        )
        self._decided(self._gate.request(request, now))
        if not self._closed:
            raise SimulationFailed(self._failed or 'Expect a closed step, actually: none.')
        self._last = self._closed[-1]
        return tuple(self._closed)

    def close(self) -> None:
        """Let go of the world."""
        self._last = None

    # Carrying ------------------------------------------------------------------------------------

    def _instant(self) -> Instant:
        return Instant(
            ros=Stamp(clock=Clock.ROS, nanoseconds=self._now, host=self._host),
            steady=time.monotonic_ns(),
        )

    def _alive(self) -> None:
        """
        Be the sign of life of gate, environment and recorder.

        In one process they live and die together.
        """
        now = self._instant()
        self._run(self._environment.recorder_status(now))
        self._run(self._environment.gate_status(self._gate.status(now), now))
        self._gate.heard(self._environment.status(now), now)

    def _decided(self, decisions: Sequence[GateDecision]) -> None:
        for decision in decisions:
            now = self._instant()
            whole = replace(decision, commanded=now) if decision.published else decision
            if whole.published:
                self._robot.command(whole.command, self._now)
            self._sink(whole)
            self._run(self._environment.decision(whole, now))

    def _run(self, effects: Sequence[Effect]) -> None:
        queue = deque(effects)
        while queue:
            effect = queue.popleft()
            now = self._instant()
            if isinstance(effect, ResetWorld):
                queue.extend(
                    self._environment.world_reset(self._robot.reset(effect, self._now), now)
                )
            elif isinstance(effect, WorldAdvance):
                self._advance(effect, queue)
            else:
                if isinstance(effect, EpisodeStatus):
                    self._gate.heard(effect, now)
                if isinstance(effect, Transition):
                    self._closed.append(
                        Delivery(transition=effect, delivered=now, images=dict(self._images))
                    )
                self._sink(effect)

    def _advance(self, advance: WorldAdvance, queue: deque[Effect]) -> None:
        target = self._now + advance.duration
        try:
            emissions = self._robot.advance(target)
            self._failed = ''
        except SimulationFailed as error:
            emissions = ()
            self._failed = str(error)
        self._now = target
        now = self._instant()
        for emission in emissions:
            if emission.fields is not None:
                queue.extend(self._deliver(emission, now))
        report = Advanced(report=report_of(advance.id, emissions, self._failed), now=self._now)
        self._decided(self._gate.advanced(report, now))
        queue.extend(self._environment.advanced(report, now))

    def _deliver(self, emission: Emission, now: Instant) -> list[Effect]:
        assert emission.fields is not None  # dropped ones are not delivered
        message = plain_message(emission.fields)
        if emission.topic in self._image_shapes:
            name, shape = self._image_shapes[emission.topic]
            self._images[name] = np.frombuffer(message.data, np.uint8).reshape(shape)
        effects: list[Effect] = []
        for hear in self._hear.get(emission.topic, ()):
            effects += hear(message, now)
        return effects


def _listeners(
    contract: Contract, topics: Mapping[str, str], environment: Environment, gate: Gate
) -> dict[str, list[Listener]]:
    """Return who hears each topic: the gate first, as it is the one that must be right at once."""
    hear: dict[str, list[Listener]] = {}
    for item in gate_inputs(contract):
        hear.setdefault(item.topic, []).append(_gate_listener(gate, item))
    for item in field_inputs(contract, topics):
        hear.setdefault(item.topic, []).append(_field_listener(environment, item))
    for item in feedback_inputs(contract):
        hear.setdefault(item.topic, []).append(_feedback_listener(environment, item))
    return hear


def _stamp(nanoseconds: int | None, now: Instant) -> Stamp | None:
    return None if nanoseconds is None else replace(now.ros, nanoseconds=nanoseconds)


def _gate_listener(gate: Gate, item: Input) -> Listener:
    def hear(message: object, now: Instant) -> Sequence[Effect]:
        reading = item.read(message)
        gate.measure(item.name, reading.values, _stamp(reading.stamp, now), now)
        return ()

    return hear


def _field_listener(environment: Environment, item: Input) -> Listener:
    def hear(message: object, now: Instant) -> Sequence[Effect]:
        reading = item.read(message)
        sample = Sample(
            values=reading.values,
            captured=_stamp(reading.stamp, now),
            confidence=reading.confidence,
            image=reading.image,
        )
        return environment.sample(item.name, sample, now)

    return hear


def _feedback_listener(environment: Environment, item: Input) -> Listener:
    def hear(message: object, now: Instant) -> Sequence[Effect]:
        reading = item.read(message)
        return environment.feedback(item.name, reading.values, _stamp(reading.stamp, now), now)

    return hear
