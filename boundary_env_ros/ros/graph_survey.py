# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Looking at a live robot: listening for a while to everything that is published."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from boundary_env_ros.errors import ContractError, LinkError
from boundary_env_ros.evidence.infer_contract.draft import draft, is_own
from boundary_env_ros.evidence.infer_contract.observer import TopicObserver
from boundary_env_ros.evidence.infer_contract.survey import Survey, TopicSurvey
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.storage.message_types import message_types, MessageTypes

Progress = Callable[[float, int, int], None]
"""Told how many seconds have passed, and how many topics and messages there were so far."""

# Messages of a topic that wait while another one is being decoded.
_DEPTH = 200
# Seconds between two looks at the graph, and of one wait for messages.
_LOOK, _WAIT = 0.5, 0.05


def init_from_graph(
    *,
    seconds: float,
    domain_id: int | None = None,
    progress: Progress | None = None,
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
    return draft(survey_graph(seconds=seconds, domain_id=domain_id, progress=progress))


def survey_graph(
    *,
    seconds: float,
    domain_id: int | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Return what is to be seen of a robot on a ROS graph; see :func:`init_from_graph`."""
    with IsolatedNode('boundary_env_init', domain_id=domain_id, listens_only=True) as own:
        watch = _GraphWatch(own.node, message_types())
        begin = look = time.monotonic()
        while (now := time.monotonic()) - begin < seconds:
            if now >= look:
                look = now + _LOOK
                watch.look()
                if progress is not None:
                    progress(now - begin, *watch.size())
            own.executor.spin_once(timeout_sec=min(_WAIT, max(0.0, begin + seconds - now)))
        watch.look()
        topics = watch.results()
        domain = own.domain_id
    if progress is not None:
        progress(seconds, *watch.size())
    if not topics:
        raise LinkError(
            f'No topics of a robot on the ROS domain {domain} within {seconds:g} s. '
            'Start the robot, check ROS_DOMAIN_ID, or look longer.'
        )
    return Survey(
        source=f'the live ROS graph of domain {domain}', seconds=seconds, topics=topics, notes=()
    )


class _GraphWatch:
    """Subscriptions to all topics that are there, made as they appear."""

    def __init__(self, node: Node, types: MessageTypes) -> None:
        self._node, self._types = node, types
        self._observers: dict[tuple[str, str], TopicObserver] = {}
        self._subscribed: set[tuple[str, str]] = set()
        self._most: dict[str, tuple[int, int]] = {}

    def look(self) -> None:
        """Look for topics that are new, and for publishers and subscribers."""
        node = self._node
        for name, kinds in node.get_topic_names_and_types():
            publishers = node.count_publishers(name)
            for kind in kinds:
                key = (name, kind)
                if is_own(name, kind):
                    continue
                if key not in self._observers:
                    self._observers[key] = TopicObserver(name, kind, self._types)
                # A topic without a publisher has no messages, but may have a driver.
                if key not in self._subscribed and publishers:
                    self._subscribed.add(key)
                    self._subscribe(name, kind)
            ours = sum(topic == name for topic, _ in self._subscribed)
            subscribers = max(0, node.count_subscribers(name) - ours)
            most = self._most.get(name, (0, 0))
            self._most[name] = (max(most[0], publishers), max(most[1], subscribers))

    def _subscribe(self, name: str, kind: str) -> None:
        observer = self._observers[(name, kind)]
        # What hears all publishers of it, and what they have kept.
        reliability, durability = _offered(self._node, name)
        qos = names.profile(
            _DEPTH,
            reliable=reliability == 'reliable',
            latched=durability == 'transient_local',
        )
        silent = SubscriptionEventCallbacks(use_default_callbacks=False)
        try:
            cls = message_class(kind)
            self._node.create_subscription(
                cls, name, listener(observer, cls), qos, event_callbacks=silent, raw=True
            )
        except ContractError:
            observer.give_up('its type is not installed here')
        except (RuntimeError, ValueError) as error:
            observer.give_up(f'it cannot be listened to: {error}')

    def size(self) -> tuple[int, int]:
        """Return how many topics and messages there were so far."""
        messages = sum(observer.messages for observer in self._observers.values())
        return len(self._observers), messages

    def results(self) -> tuple[TopicSurvey, ...]:
        """Return what was seen of each topic."""
        found = []
        for (name, _), observer in self._observers.items():
            publishers, subscribers = self._most.get(name, (0, 0))
            reliability, durability = _offered(self._node, name)
            found.append(
                observer.result(
                    publishers=publishers,
                    subscribers=subscribers,
                    reliability=reliability,
                    durability=durability,
                )
            )
        return tuple(found)


def listener(observer: TopicObserver, kind: Any) -> Callable[[bytes, Any], None]:
    """Return a callback that looks into the bytes of each message, as far as they can be read."""

    def on_message(data: bytes, info: Any) -> None:
        arrived = info['received_timestamp'] or time.time_ns()
        if observer.is_readable:
            try:
                observer.see(deserialize_message(data, kind), arrived)
                return
            except (RuntimeError, ValueError, TypeError) as error:
                observer.give_up(f'a message could not be decoded: {error}')
        observer.count(arrived)

    return on_message


def _offered(node: Node, name: str) -> tuple[str, str]:
    """Return what all publishers of a topic offer; empty if they are not of one mind."""
    profiles = [info.qos_profile for info in node.get_publishers_info_by_topic(name)]
    reliability = {profile.reliability.name.lower() for profile in profiles}
    durability = {profile.durability.name.lower() for profile in profiles}
    return (
        reliability.pop() if len(reliability) == 1 else '',
        durability.pop() if len(durability) == 1 else '',
    )
