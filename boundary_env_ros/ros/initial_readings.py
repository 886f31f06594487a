# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What sensors and actuators read before any episode: the baseline of the service ``spaces``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup

from boundary_env_ros.core.environment.observation import (
    age_of,
    FieldStatus,
    ObservationField,
    Sample,
)
from boundary_env_ros.core.environment.observation_buffer import ObservationBuffer
from boundary_env_ros.core.gate.decision import StepId
from boundary_env_ros.core.gate.rules.limits import FEEDBACK
from boundary_env_ros.core.sources.inputs import feedback_inputs, field_inputs, Input
from boundary_env_ros.core.timebase import ClockReading
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import message_class


class _UntilHeard(ReentrantCallbackGroup):
    """
    Keeps a subscription from the executor once it was heard.

    To destroy one in its own callback crashes the MultiThreadedExecutor (rclpy#1206).
    """

    heard = False

    def can_execute(self, entity: Any) -> bool:
        return not self.heard


class FirstReadings:
    """
    The first reading of every field of the observation, and of every group of the action.

    Each topic is taken from until it has spoken once: the rest is of no use here.

    Parameters
    ----------
    node
        Configured node that listens.
    agent
        Whose sensors and actuators they are.

    """

    def __init__(self, node: ContractNode, agent: str) -> None:
        self._node, self._agent = node, agent
        contract, topics = node.contract, node.topics(agent)
        self._sight = ObservationBuffer(contract, topics)
        self._measured: dict[str, ObservationField] = {}
        shown = {spec.name for spec in contract.observation}
        for item in field_inputs(contract, topics):
            if item.name in shown:
                self._listen(item, self._take_field)
        for item in feedback_inputs(contract):
            self._listen(item, self._take_feedback)

    def _listen(self, item: Input, take: Callable[[Input, Sample], bool]) -> None:
        node, group = self._node, _UntilHeard()

        def on_message(message: Any, info: Any) -> None:
            reading = None if group.heard else node.read(item, message)
            if reading is not None:
                at = (info['source_timestamp'], info['received_timestamp'])
                group.heard = take(item, node.sample(reading, *at))

        qos = names.sensor(item.qos, node.contract.pacing)
        topic = node.topic_of(self._agent, item.topic)
        kind = message_class(item.type)
        node.add_subscription(kind, topic, on_message, qos, warn=False, group=group)

    def _take_field(self, item: Input, sample: Sample) -> bool:
        self._sight.take(item.name, sample)
        return item.name in self._sight.latest

    def _take_feedback(self, item: Input, sample: Sample) -> bool:
        self._measured[item.name] = ObservationField(
            name=f'{FEEDBACK}.{item.name}',
            status=FieldStatus.FRESH,
            values=sample.values,
            captured=sample.captured,
            published=sample.published,
            arrived=sample.arrived,
            source=self._node.topics(self._agent)[item.topic],
        )
        return True

    def fields(self, now: ClockReading) -> tuple[ObservationField, ...]:
        """
        Return the fields of the observation and the measured state of every group of the action.

        What the task supplies, and what tf is asked for, is ``MISSING`` until an episode begins.
        Empty, if nothing has come at all.
        """
        if not self._sight.latest and not self._measured:
            return ()
        view = self._sight.view(StepId(digest='', agent=''), now)
        return (*view.observation.fields, *self.measured())

    def measured(self) -> tuple[ObservationField, ...]:
        """Return the first measured state of every group of the action that has come."""
        now = self._node.clock.now()
        return tuple(replace(f, age=age_of(f.captured, now)) for f in self._measured.values())
