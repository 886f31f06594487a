# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a recorder listens to, and how: everything that belongs to a boundary, raw, with nothing left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.inputs import sensor_topics
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.storage.bag_metadata import OfferedQos

# A second of the fastest sensors, and more.
_DEPTH = 1000

_OWN = {
    names.CONTRACT: 'ContractDescription',
    names.OBSERVATION: 'Observation',
    names.ACTION_REQUEST: 'ActionRequest',
    names.GATE_DECISION: 'GateDecision',
    names.TRANSITION: 'Transition',
    names.EVALUATOR: 'EvaluatorRecord',
    names.ACTUATION_EVIDENCE: 'ActuationEvidence',
    names.EPISODE_STATUS: 'EpisodeStatus',
    names.GATE_STATUS: 'GateStatus',
    names.RECORDER_STATUS: 'RecorderStatus',
    names.WORLD_ADVANCE: 'WorldAdvance',
    names.WORLD_ADVANCED: 'WorldAdvanced',
}
_LATCHED = frozenset(
    {names.CONTRACT, names.EPISODE_STATUS, names.GATE_STATUS, names.RECORDER_STATUS}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTopic:
    """
    A topic to be recorded.

    Attributes
    ----------
    name, type
        Fully qualified name, and type.
    latched
        Whether its publishers keep their last message for whoever comes later.
    foreign
        Whether it belongs to somebody else, who may offer less than we ask for.

    """

    name: str
    type: str
    latched: bool = False
    foreign: bool = True


def recorded_topics(node: Node, contract: Contract) -> tuple[RecordedTopic, ...]:
    """Return every topic of the boundary of a contract, each once, with its name as the node resolves it."""
    found = [
        RecordedTopic(
            name=node.resolve_topic_name(name),
            type=f'boundary_env_ros/msg/{kind}',
            latched=name in _LATCHED,
            foreign=False,
        )
        for name, kind in _OWN.items()
    ]
    others = dict(sensor_topics(contract))
    others.update({group.topic: group.type for group in contract.action})
    if contract.safety.emergency_stop:
        others[contract.safety.emergency_stop] = 'std_msgs/msg/Bool'
    if contract.sim_time:
        others['/clock'] = 'rosgraph_msgs/msg/Clock'
    found.extend(
        RecordedTopic(name=node.resolve_topic_name(name), type=kind)
        for name, kind in others.items()
    )
    return tuple(found)


class RawSubscription:
    """
    A subscription that gets the bytes of all messages of a topic.

    It asks for reliable delivery, so that what publishers repeat is not lost. A foreign publisher that offers best effort
    only would not be heard at all then: as soon as one is found, the subscription is made anew with best effort, which every
    publisher matches.

    Parameters
    ----------
    node, topic
        Who listens, to what.
    on_message
        Gets the bytes, and when they were published and received in nanoseconds of system time, 0 if that is unknown.
    on_lost
        Gets the number of messages that the middleware lost.

    """

    def __init__(
        self,
        node: Node,
        topic: RecordedTopic,
        on_message: Callable[[bytes, int, int], None],
        on_lost: Callable[[int], None],
    ) -> None:
        self._node = node
        self._topic = topic
        self._on_message = on_message
        self._on_lost = on_lost
        self._subscription = self._make(ReliabilityPolicy.RELIABLE)

    def _make(self, reliability: ReliabilityPolicy) -> Any:
        latched = self._topic.latched
        adapts = self._topic.foreign and reliability is ReliabilityPolicy.RELIABLE
        return self._node.create_subscription(
            message_class(self._topic.type),
            self._topic.name,
            self._take,
            QoSProfile(
                history=HistoryPolicy.KEEP_LAST,
                depth=_DEPTH,
                reliability=reliability,
                durability=(
                    DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
                ),
            ),
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(
                incompatible_qos=self._fall_back if adapts else None,
                message_lost=lambda info: self._on_lost(info.total_count_change),
            ),
        )

    def _take(self, data: bytes, info: Any) -> None:
        self._on_message(data, info['source_timestamp'], info['received_timestamp'])

    def _fall_back(self, info: Any) -> None:
        self._node.get_logger().warning(
            f'a publisher on {self._topic.name} offers best effort only; what it loses is not repeated'
        )
        self._node.destroy_subscription(self._subscription)
        self._subscription = self._make(ReliabilityPolicy.BEST_EFFORT)

    def drain(self) -> None:
        """Take what has come and waits in the queue, at most as much as a queue holds."""
        for _ in range(_DEPTH):
            with self._subscription.handle:
                taken = self._subscription.handle.take_message(self._subscription.msg_type, True)
            if taken is None:
                return
            self._take(*taken)

    def close(self) -> None:
        """Listen no more."""
        self._node.destroy_subscription(self._subscription)


def offered_qos(node: Node, topic: str) -> tuple[OfferedQos, ...]:
    """
    Return what the publishers of a topic that are known now offer, each different profile once.

    Nothing is known any more once a signal ends the process.
    """
    if not node.context.ok():
        return ()
    infos: Iterable[Any] = node.get_publishers_info_by_topic(topic)
    return tuple(dict.fromkeys(_offered(info.qos_profile) for info in infos))


def _offered(profile: QoSProfile) -> OfferedQos:
    return OfferedQos(
        history=profile.history.name.lower(),
        depth=profile.depth,
        reliability=profile.reliability.name.lower(),
        durability=profile.durability.name.lower(),
        deadline=profile.deadline.nanoseconds,
        lifespan=profile.lifespan.nanoseconds,
        liveliness=profile.liveliness.name.lower(),
        liveliness_lease_duration=profile.liveliness_lease_duration.nanoseconds,
    )
