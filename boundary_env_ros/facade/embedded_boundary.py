# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gate and environment of one agent side by side, and what they hear of a robot's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from boundary_env_ros import __version__
from boundary_env_ros.core import documents
from boundary_env_ros.core.contract.model import Contract, FieldSpec, slices_of
from boundary_env_ros.core.environment.environment import Environment
from boundary_env_ros.core.environment.environment_state import Output, Outputs, Setup
from boundary_env_ros.core.environment.episode import EpisodeState
from boundary_env_ros.core.environment.input_events import (
    FieldSampled,
    GroupMeasured,
    InputUnusable,
    MessageArrived,
    SensorsRead,
)
from boundary_env_ros.core.gate.events import Measured
from boundary_env_ros.core.gate.gate import Gate
from boundary_env_ros.core.gate.rules.limits import OPERATOR
from boundary_env_ros.core.sources.inputs import (
    acknowledgement_inputs,
    feedback_inputs,
    field_inputs,
    gate_inputs,
    image_fields,
    Input,
    sensor_topics,
)
from boundary_env_ros.core.sources.readers import Reading
from boundary_env_ros.core.sources.transforms import TransformFields
from boundary_env_ros.core.timebase import ClockReading, Stamp
from boundary_env_ros.facade.steps import ignore, Image, StepResult
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.task_check import fitting_task


@dataclass(slots=True)
class _Topic:
    """One topic, as the contract names it, with its uses and what came since the last look."""

    name: str
    gate: list[Input] = field(default_factory=list)
    operator: list[Input] = field(default_factory=list)
    fields: list[Input] = field(default_factory=list)
    feedback: list[Input] = field(default_factory=list)
    transforms: list[Input] = field(default_factory=list)
    picture: FieldSpec | None = None
    waiting: list[object] = field(default_factory=list)
    newest: int | None = None


class Boundary:
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
        self.gate = Gate(
            contract,
            digest=loaded.digest,
            agent=agent,
            topics={item.name: topics[item.topic] for item in gate_inputs(contract)},
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
        self._transforms = TransformFields(contract)
        self._unknown: dict[str, str] = {}  # why a field cannot be looked up
        self._uses = _uses(contract, topics)
        for item in self._transforms.inputs:
            self._uses[topics[item.topic]].transforms.append(item)
        self.commands = tuple(
            (contract.topic_of(agent, group.topic), part)
            for group, part in slices_of(contract.action)
        )
        self.documents = documents.topics(contract, agent)
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

    def hear(self, topic: str, message: object, stamp: int | None, now: ClockReading) -> Outputs:
        """
        Keep a message of one of ``topics`` for :meth:`look`; what counts of every one is read.

        That is feedback, whose course is the evidence of execution, and the operator's device.
        """
        uses, outputs = self._uses[topic], list[Output]()
        uses.waiting.append(message)
        uses.newest = stamp
        for item in uses.feedback:
            reading = item.read(message)
            outputs += self.environment.apply(
                GroupMeasured(
                    name=item.name, values=reading.values, captured=_stamp(reading.stamp, now)
                )
            )
        for item in uses.operator:
            self._measure(item, message, now)
        for item in uses.transforms:
            item.read(message)
        return tuple(outputs)

    def look(self, now: ClockReading) -> Outputs:
        """Read the newest of each topic: all of them arrived at this one instant."""
        due = False
        for uses in self._uses.values():
            if not uses.waiting:
                continue
            newest, count = uses.waiting[-1], len(uses.waiting)
            if uses.fields or uses.feedback or uses.transforms:
                came = MessageArrived(
                    topic=uses.name, captured=uses.newest, steady=now.steady, count=count
                )
                self.environment.apply(came)
                due = True
            if uses.picture is not None:
                self.images[uses.picture.name] = pixels_of(uses.picture, newest)
            for item in uses.gate:
                self._measure(item, newest, now)
            for item in uses.fields:
                for message in reversed(uses.waiting):
                    if self._use(item.name, item.read(message), now):
                        break  # one that measured nothing is passed over
            uses.waiting.clear()
        unknown = dict.fromkeys(self._unknown, '')
        for name, reading in self._transforms.new(now.ros.nanoseconds, self._unknown):
            self._use(name, reading, now)
        for name, why in (unknown | self._unknown).items():
            self.environment.apply(InputUnusable(name=name, why=why))
        if not due or not self.environment.state.due:
            return ()
        return self.environment.apply(SensorsRead(now=now))

    def _measure(self, item: Input, message: object, now: ClockReading) -> None:
        reading = item.read(message)
        self.gate.apply(
            Measured(
                name=item.name, values=reading.values, captured=_stamp(reading.stamp, now), now=now
            )
        )

    def _use(self, name: str, reading: Reading, now: ClockReading) -> bool:
        sample = reading.sample(_stamp(reading.stamp, now))
        self.environment.apply(FieldSampled(name=name, sample=sample))
        return self.environment.state.buffer.latest.get(name) is sample


def _uses(contract: Contract, topics: Mapping[str, str]) -> dict[str, _Topic]:
    """Return what is read from each topic, by the name that the robot has for it."""
    uses = {name: _Topic(topic) for topic, name in topics.items()}
    for item in gate_inputs(contract):
        if item.name == OPERATOR:
            uses[topics[item.topic]].operator.append(item)
        else:
            uses[topics[item.topic]].gate.append(item)
    for item in field_inputs(contract, topics):
        uses[topics[item.topic]].fields.append(item)
    for item in (*feedback_inputs(contract), *acknowledgement_inputs(contract)):
        uses[topics[item.topic]].feedback.append(item)
    for spec in image_fields(contract):
        uses[topics[spec.topic]].picture = spec
    return uses


def _stamp(nanoseconds: int | None, now: ClockReading) -> Stamp | None:
    if nanoseconds is None:
        return None
    return Stamp(clock=now.ros.clock, nanoseconds=nanoseconds, host=now.ros.host)
