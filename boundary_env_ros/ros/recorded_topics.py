# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a recorder listens to, and how: all topics of a boundary, raw, with nothing left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.core.contract.sources import STRING
from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.frozen import frozen
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.ros.executors import take, Unattended
from boundary_env_ros.ros.message_guard import LARGE
from boundary_env_ros.storage.bag_metadata import Qos

# What a queue holds between two polls of it; of messages that may have a megabyte each, what a
# camera sends in three seconds.
_DEPTH = 1000
_DEPTH_OF_LARGE = 100
# Publishers of one topic, the gate and those that come and go, whose numbers are told apart.
_PUBLISHERS = 4

#: What the nodes of the domain log: in the record, it tells what was refused, and why.
LOG = '/rosout'

# Services that are there once for a world, however many agents it has.
_SERVICES_OF_WORLD = (names.LABEL_EPISODE, names.ASK_WORLD)


@frozen
class RecordedTopic:
    """
    A topic to be recorded.

    Attributes
    ----------
    name, type
        Fully qualified name, and type.
    latched
        Whether its publishers keep their last message for late subscribers.
    foreign
        Whether it is another package's, which may offer less than is asked for.
    numbered
        Whether its messages have numbers of their own, by which a gap is found.

    """

    name: str
    type: str
    latched: bool = False
    foreign: bool = True
    numbered: bool = False


def places_of(contract: Contract, name: str) -> tuple[str, ...]:
    """Return where a topic or service of this package is, relative to the boundary's namespace."""
    topic = names.OWN_TOPICS.get(name)
    of_world = name in _SERVICES_OF_WORLD if topic is None else topic.of_world
    # Each gate latches the contract of its agent, too.
    each = contract.agents if not of_world or name == names.CONTRACT else ()
    whole = (name,) if of_world else ()
    return (*whole, *(contract.topic_of(agent, name) for agent in each))


def foreign_topics(contract: Contract) -> dict[str, str]:
    """Return the types of the topics that are the robot's, by relative name."""
    sensors = dict(sensor_topics(contract))
    sensors.update({group.topic: group.type for group in contract.action})
    sensors.update({group.topic: STRING for group in contract.documents})
    if contract.safety.emergency_stop:
        sensors[contract.safety.emergency_stop] = STOP_TYPE
    others = {
        contract.topic_of(agent, name): kind
        for agent in contract.agents
        for name, kind in sensors.items()
    }
    if contract.sim_time:
        others['/clock'] = 'rosgraph_msgs/msg/Clock'
    return others


def own_topics(contract: Contract) -> dict[str, str]:
    """Return the name of each topic of this package by its place in the boundary's namespace."""
    return {
        place: name
        for name, topic in names.OWN_TOPICS.items()
        if topic.recorded
        for place in places_of(contract, name)
    }


def recorded_topics(node: Node, contract: Contract) -> tuple[RecordedTopic, ...]:
    """Return every topic of a boundary, each once, with its name as the node resolves it."""
    own = tuple(
        RecordedTopic(
            name=node.resolve_topic_name(place),
            type=f'boundary_env_ros/msg/{names.OWN_TOPICS[name].type}',
            latched=names.OWN_TOPICS[name].latched,
            foreign=False,
            numbered=names.OWN_TOPICS[name].numbered,
        )
        for place, name in own_topics(contract).items()
    )
    foreign = tuple(
        RecordedTopic(
            name=node.resolve_topic_name(name), type=kind, latched=name == contract.tf_topics[1]
        )
        for name, kind in (*foreign_topics(contract).items(), (LOG, 'rcl_interfaces/msg/Log'))
    )
    return (*own, *foreign)


@frozen(kw_only=False)
class RawMessage:
    """
    A message that is not decoded.

    Attributes
    ----------
    topic
        Where it came from.
    data
        Its bytes on the wire.
    received, published
        When that happened, nanoseconds of system time; 0 if the middleware does not say.

    """

    topic: RecordedTopic
    data: bytes
    received: int
    published: int


class RawSubscriptions:
    """
    Subscriptions to the bytes of all messages of some topics.

    They are polled by :meth:`take`, not called back, nor do they wake the executor. What that
    spends on each message is many times what it takes to write it, and no node waits for a
    recorder: the middleware notes when a message came.

    They ask for reliable delivery, so that what publishers repeat is not lost. A foreign publisher
    that offers best effort only is not received then: when :meth:`adapt` finds one, it makes
    the subscription again with best effort, which every publisher matches.

    Parameters
    ----------
    node, topics
        Who listens, to what.
    on_lost
        Gets a topic and the number of its messages that got lost on the way, by the middleware's
        numbers; not called for topics with numbers of their own, or with several publishers, whose
        numbers cannot be told apart. None, once: the middleware does not number its messages.

    """

    def __init__(
        self,
        node: ContractNode,
        topics: tuple[RecordedTopic, ...],
        on_lost: Callable[[RecordedTopic, int | None], None],
    ) -> None:
        self._node = node
        self._on_lost = on_lost
        self._group = Unattended()
        # The last number of each publisher of a topic, of which a few may take turns.
        self._numbers: dict[RecordedTopic, list[int]] = {}
        self._publishers = {topic: 0 for topic in topics if topic.foreign}
        self._made = {topic: self._subscribe(topic, reliable=True) for topic in topics}

    def take(self) -> list[RawMessage]:
        """Return what has come since the last time, in the order in which it came."""
        messages = [message for topic in self._made for message in self._take(topic)]
        messages.sort(key=lambda message: message.received)
        return messages

    def adapt(self) -> None:
        """Look for publishers that are not received; to be called now and then."""
        for topic, known in tuple(self._publishers.items()):
            count = self._node.count_publishers(topic.name)
            if count == known:
                continue
            self._publishers[topic] = count
            infos = self._node.get_publishers_info_by_topic(topic.name)
            if any(i.qos_profile.reliability is ReliabilityPolicy.BEST_EFFORT for i in infos):
                self._node.get_logger().warning(
                    f'a publisher on {topic.name} offers best effort only: lost is lost'
                )
                del self._publishers[topic]
                self._node.destroy_subscription(self._made[topic])
                self._made[topic] = self._subscribe(topic, reliable=False)

    def close(self) -> None:
        """Listen no more."""
        for subscription in self._made.values():
            self._node.destroy_subscription(subscription)
        self._made.clear()
        self._publishers.clear()

    def _take(self, topic: RecordedTopic) -> Iterator[RawMessage]:
        # Not more than were there: a flood on one topic does not keep the others waiting.
        for data, info in take(self._made[topic], _DEPTH):
            self._count(topic, info.get('publication_sequence_number'))
            yield RawMessage(topic, data, info['received_timestamp'], info['source_timestamp'])

    def _count(self, topic: RecordedTopic, number: int | None) -> None:
        if topic.numbered:
            return
        if number is None:
            if topic not in self._numbers:
                self._numbers[topic] = []
                self._on_lost(topic, None)
            return
        last = self._numbers.setdefault(topic, [])
        before = max((other for other in last if other < number), default=None)
        if before is not None:
            last.remove(before)
        last.append(number)
        del last[:-_PUBLISHERS]
        missing = 0 if before is None else number - before - 1
        if missing > 0 and self._node.count_publishers(topic.name) == 1:
            self._on_lost(topic, missing)

    def _subscribe(self, topic: RecordedTopic, *, reliable: bool) -> Any:
        return self._node.create_subscription(
            message_class(topic.type),
            topic.name,
            _never_called,
            names.profile(
                _DEPTH_OF_LARGE if topic.type in LARGE else _DEPTH,
                reliable=reliable,
                latched=topic.latched,
            ),
            callback_group=self._group,
            raw=True,
        )


def _never_called(_: bytes) -> None:
    """Be the callback that a subscription must have."""


def offered_qos(node: Node, topic: str) -> Sequence[Qos]:
    """Return what the publishers of a topic offer that are known now, each profile once."""
    infos = node.get_publishers_info_by_topic(topic)
    profiles = [_offered(info.qos_profile) for info in infos]
    return [each for i, each in enumerate(profiles) if each not in profiles[:i]]


def _offered(profile: QoSProfile) -> Qos:
    """Return a profile in the words and the order of rosbag2."""
    return {
        'history': profile.history.name.lower(),
        'depth': profile.depth,
        'reliability': profile.reliability.name.lower(),
        'durability': profile.durability.name.lower(),
        'deadline': _time(profile.deadline),
        'lifespan': _time(profile.lifespan),
        'liveliness': profile.liveliness.name.lower(),
        'liveliness_lease_duration': _time(profile.liveliness_lease_duration),
        'avoid_ros_namespace_conventions': False,
    }


def _time(duration: Duration) -> dict[str, int]:
    seconds, rest = divmod(duration.nanoseconds, NANOSECONDS)
    return {'sec': seconds, 'nsec': rest}
