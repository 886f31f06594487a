# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gate and environment of one agent side by side, and what they hear of a robot's messages."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from boundary_env_ros import __version__
from boundary_env_ros.core.contract.model import slices_of
from boundary_env_ros.core.environment.environment import Environment
from boundary_env_ros.core.environment.environment_events import MessageArrived, SensorsRead
from boundary_env_ros.core.environment.environment_state import Output, Outputs, Setup
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.gate_events import Measured
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.sources import json_documents
from boundary_env_ros.core.sources.inputs import image_fields, Input, Purpose, sensor_topics
from boundary_env_ros.core.sources.listener import inputs_of, Listener
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.facade.steps import ignore, Image, StepResult
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.task_check import fitting_task


class EmbeddedBoundary:
    """
    Gate and environment of one agent, and what its policy was told.

    Parameters
    ----------
    loaded
        The contract.
    agent
        Whose boundary it is.

    Attributes
    ----------
    topics
        The sensor topics of the agent, as the robot names them.
    commands
        Command topic of each group of the action, and its part of the command.
    documents
        Topic of each group of documents.
    images
        The newest image of each field.
    closed
        The last result of the step before, then those of this step.
    lease_id, sequence
        Of the gate's lease, and of the last request under it.
    on_result
        Is called with every result.

    """

    def __init__(self, loaded: LoadedContract, agent: str) -> None:
        contract = loaded.contract
        self.agent = agent
        topics = {topic: contract.topic_of(agent, topic) for topic in sensor_topics(contract)}
        self.topics = frozenset(topics.values())
        transforms = TransformFields(contract)
        inputs = inputs_of(contract, topics, transforms)
        self.gate = Gate(
            contract,
            digest=loaded.digest,
            agent=agent,
            topics={item.name: item.at for item in inputs if item.purpose is Purpose.GATE},
            software_version=__version__,
        )
        self.environment = Environment(
            Setup(
                contract=contract,
                digest=loaded.digest,
                task=fitting_task(contract),
                agent=agent,
                topics=topics,
                software_version=__version__,
            )
        )
        self._listener = Listener(
            inputs,
            captured=self._captured,
            transforms=transforms,
            refuse=_raise,
            on_problem=self._on_problem,
        )
        #: Name in the contract of each topic that the environment reads.
        self._names = {item.at: item.topic for item in inputs if item.purpose is not Purpose.GATE}
        self._pictures = {topics[spec.topic]: spec for spec in image_fields(contract)}
        self._newest: dict[str, object] = {}
        #: Newest stamp and number of the messages that came of each of those since the last poll.
        self._came: dict[str, tuple[int | None, int]] = {}
        self.commands = tuple(
            (contract.topic_of(agent, group.topic), part)
            for group, part in slices_of(contract.action)
        )
        self.documents = json_documents.topics(contract, agent)
        self.forget('')

    def forget(self, lease_id: str) -> None:
        """Begin again, with this lease."""
        self.images: dict[str, Image] = {}
        self.closed: list[StepResult] = []
        self.lease_id = lease_id
        self.sequence = 0
        self.on_result: Callable[[StepResult], None] = ignore

    @property
    def state(self) -> EpisodeState:
        """Where the episode stands."""
        return self.environment.state.episode.state

    @property
    def last(self) -> StepResult:
        """The last result."""
        return self.closed[-1]

    def on_message(
        self, topic: str, message: object, stamp: int | None, now: ClockReading
    ) -> Outputs:
        """
        Keep a message of one of ``topics`` for :meth:`poll`; what counts of every one is read.

        That is feedback, whose course is the evidence of execution, and the operator's device.
        """
        self._now = now
        if topic in self._names:
            self._came[topic] = stamp, self._came.get(topic, (None, 0))[1] + 1
        if topic in self._pictures:
            self._newest[topic] = message
        self._listener.on_message(topic, message)
        outputs: list[Output] = []
        for item, reading in self._listener.poll_each():
            outputs += self._on_reading(item, reading)
        return tuple(outputs)

    def poll(self, now: ClockReading) -> Outputs:
        """Read the newest of each topic: all of them arrived at this one instant."""
        self._now = now
        came, self._came = self._came, {}
        for topic, (captured, count) in came.items():
            name = self._names[topic]
            self.environment.apply(
                MessageArrived(topic=name, captured=captured, steady=now.steady, count=count)
            )
        for topic, message in self._newest.items():
            spec = self._pictures[topic]
            self.images[spec.name] = pixels_of(spec, message)
        self._newest.clear()
        listener = self._listener
        for item, reading in chain(listener.poll_newest(), listener.look_up(now.ros.nanoseconds)):
            self._on_reading(item, reading)
        if not came or not self.environment.state.due:
            return ()
        return self.environment.apply(SensorsRead(now=now))

    def _on_reading(self, item: Input, reading: Reading) -> Outputs:
        """Give a reading to those whose input it is."""
        if item.purpose is Purpose.GATE:
            values, captured = reading.values, reading.captured
            self.gate.apply(
                Measured(name=item.name, values=values, captured=captured, now=self._now)
            )
            return ()
        return self.environment.on_reading(item, reading)

    def _on_problem(self, item: Input, why: str) -> None:
        if item.purpose is not Purpose.GATE:
            self.environment.on_problem(item, why)

    def _captured(self, nanoseconds: int | None) -> Stamp | None:
        """Return the stamp of a header, on the clock of the world."""
        return None if nanoseconds is None else replace(self._now.ros, nanoseconds=nanoseconds)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why what came last of some inputs cannot be used, each with its name."""
        found = self._listener.problems.items()
        return tuple(f'{item.name}: {why}' for item, why in found if why)


def _raise(item: Input, error: Exception) -> None:
    raise error
