# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Looking at a live robot: listening for a while to everything that is published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import time
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node

from boundary_env_ros.errors import ContractError, LinkError
from boundary_env_ros.evidence.infer_contract.draft import draft, is_own
from boundary_env_ros.evidence.infer_contract.survey import TopicSurvey
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import message_class, message_of
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.storage.message_types import message_types, MessageTypes

#: Told how many seconds have passed, and how many topics and messages there were so far.
Progress = Callable[[float, int, int], None]

# Messages of a topic that wait while another one is being decoded.
_DEPTH = 200
# Seconds between two polls of the graph, and of one wait for messages.
_POLL, _WAIT = 0.5, 0.05


def init_from_graph(
    *,
    seconds: float,
    domain_id: int | None = None,
    progress: Progress = lambda seconds, topics, messages: None,
) -> str:
    """
    Return the text of a contract that is drafted from a live robot.

    Parameters
    ----------
    seconds
        How long to look, steady time.
    domain_id
        ROS domain; None: that of ``ROS_DOMAIN_ID``.
    progress
        Called now and then; see :data:`Progress`.

    Raises
    ------
    LinkError
        If there is no ROS graph to look at, or no robot on it.
    RecordError
        If nothing that was seen makes a contract.

    """
    with IsolatedNode('boundary_env_init', domain_id=domain_id, listens_only=True) as own:
        watch = _GraphWatch(own.node, message_types())
        begin = next_poll = time.monotonic()
        while (now := time.monotonic()) - begin < seconds:
            if now >= next_poll:
                next_poll = now + _POLL
                watch.poll()
                progress(now - begin, *watch.size())
            own.executor.spin_once(timeout_sec=min(_WAIT, max(0.0, begin + seconds - now)))
        watch.poll()
        topics = tuple(watch.topics.values())
        domain = own.domain_id
    progress(seconds, *watch.size())
    if not topics:
        raise LinkError(
            f'No topics of a robot on the ROS domain {domain} within {seconds:g} s. '
            'Start the robot, check ROS_DOMAIN_ID, or look longer.'
        )
    return draft(f'the live ROS graph of domain {domain}', seconds, topics)


class _GraphWatch:
    """Subscriptions to all topics that are there, made as they appear."""

    def __init__(self, node: Node, types: MessageTypes) -> None:
        self._node, self._types = node, types
        self.topics: dict[tuple[str, str], TopicSurvey] = {}
        self._subscribed: set[tuple[str, str]] = set()
        self._flags: list[TopicSurvey] = []

    def poll(self) -> None:
        """Look for topics that are new, and for publishers and subscribers."""
        node = self._node
        for name, kinds in node.get_topic_names_and_types():
            publishers = node.count_publishers(name)
            for kind in kinds:
                key = (name, kind)
                if is_own(name, kind):
                    continue
                topic = self.topics.get(key)
                if topic is None:
                    topic = self.topics[key] = TopicSurvey(name, kind, self._types, self._flags)
                # A topic without a publisher has no messages, but may have a driver.
                if key not in self._subscribed and publishers:
                    self._subscribed.add(key)
                    self._subscribe(name, kind)
                own_count = sum(subscribed == name for subscribed, _ in self._subscribed)
                subscribers = node.count_subscribers(name) - own_count
                topic.publishers = max(topic.publishers or 0, publishers)
                topic.subscribers = max(topic.subscribers or 0, subscribers)

    def _subscribe(self, name: str, kind: str) -> None:
        topic = self.topics[(name, kind)]
        # What receives all publishers of it, and what they have kept.
        profiles = [info.qos_profile for info in self._node.get_publishers_info_by_topic(name)]
        reliable = {profile.reliability.name for profile in profiles} == {'RELIABLE'}
        topic.latched = {profile.durability.name for profile in profiles} == {'TRANSIENT_LOCAL'}
        qos = names.profile(_DEPTH, reliable=reliable, latched=topic.latched)
        silent = SubscriptionEventCallbacks(use_default_callbacks=False)
        try:
            cls = message_class(kind)
            self._node.create_subscription(
                cls, name, listener(topic, cls), qos, event_callbacks=silent, raw=True
            )
        except ContractError:
            topic.give_up('its type is not installed here')
        except (RuntimeError, ValueError) as error:
            topic.give_up(f'it cannot be listened to: {error}')

    def size(self) -> tuple[int, int]:
        """Return how many topics and messages there were so far."""
        return len(self.topics), sum(topic.messages for topic in self.topics.values())


def listener(topic: TopicSurvey, kind: Any) -> Callable[[bytes, Any], None]:
    """Return a callback that looks into the bytes of each message, as far as they can be read."""

    def on_message(data: bytes, info: Any) -> None:
        arrived = info['received_timestamp'] or time.time_ns()
        topic.on_message(partial(message_of, kind, data), arrived)

    return on_message
