# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gate and environment of one agent side by side, and what they hear of a robot's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from boundary_env_ros import __version__
from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.environment import Effect, Environment
from boundary_env_ros.core.episode import EpisodeState
from boundary_env_ros.core.gate import Gate
from boundary_env_ros.core.gate_rules.limits import FEEDBACK
from boundary_env_ros.core.inputs import (
    feedback_inputs,
    field_inputs,
    gate_inputs,
    image_fields,
    Input,
    sensor_topics,
)
from boundary_env_ros.core.observation import Sample
from boundary_env_ros.core.timebase import Instant, Stamp
from boundary_env_ros.facade.link import Delivery, Image
from boundary_env_ros.storage.contract_file import LoadedContract
from boundary_env_ros.storage.task_check import fitting_task

Listener: TypeAlias = Callable[[object, Instant], Sequence[Effect]]


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
    hear
        Who hears each of them.
    pictures
        The field of each of them that carries images for the policy.
    commands
        Command topic and number of dimensions of each group of the action.
    images
        The newest image of each field.
    closed
        What was delivered: the last delivery of the step before, then those of this step.
    lease_id, sequence
        Of the gate's lease, and of the last request under it.
    on_delivery
        Is told every delivery, if the client asked for that.

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
            contract,
            digest=loaded.digest,
            task=fitting_task(contract),
            agent=agent,
            topics=topics,
            software_version=__version__,
        )
        self.hear = _listeners(contract, topics, self.environment, self.gate)
        self.pictures = {topics[spec.topic]: spec for spec in image_fields(contract)}
        self.commands = tuple(
            (contract.topic_of(agent, group.topic), group.size) for group in contract.action
        )
        self.forget('')

    def forget(self, lease_id: str) -> None:
        """Begin anew, with this lease."""
        self.images: dict[str, Image] = {}
        self.closed: list[Delivery] = []
        self.lease_id = lease_id
        self.sequence = 0
        self.on_delivery: Callable[[Delivery], None] | None = None

    @property
    def state(self) -> EpisodeState:
        """Where the episode stands."""
        return self.environment.state

    @property
    def last(self) -> Delivery:
        """The last delivery."""
        return self.closed[-1]


def _listeners(
    contract: Contract, topics: Mapping[str, str], environment: Environment, gate: Gate
) -> dict[str, list[Listener]]:
    """Return who hears each topic."""
    hear: dict[str, list[Listener]] = {topic: [] for topic in topics.values()}
    for item in gate_inputs(contract):
        if not item.name.startswith(FEEDBACK):
            hear[topics[item.topic]].append(_gate_listener(gate, item))
    for item in field_inputs(contract, topics):
        hear[topics[item.topic]].append(_field_listener(environment, item))
    for item in feedback_inputs(contract):
        hear[topics[item.topic]].append(_feedback_listener(environment, gate, item))
    return hear


def _stamp(nanoseconds: int | None, now: Instant) -> Stamp | None:
    if nanoseconds is None:
        return None
    return Stamp(clock=now.ros.clock, nanoseconds=nanoseconds, host=now.ros.host)


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


def _feedback_listener(environment: Environment, gate: Gate, item: Input) -> Listener:
    """Return what reads the feedback of a group once, for gate and environment."""
    name = f'{FEEDBACK}.{item.name}'

    def hear(message: object, now: Instant) -> Sequence[Effect]:
        reading = item.read(message)
        stamp = _stamp(reading.stamp, now)
        gate.measure(name, reading.values, stamp, now)
        return environment.feedback(item.name, reading.values, stamp, now)

    return hear
