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
        topics, notes = watch.results(), watch.notes()
        domain = own.domain_id
    if progress is not None:
        progress(seconds, *watch.size())
    if not topics:
        raise LinkError(
            f'No topics of a robot on the ROS domain {domain} within {seconds:g} s. '
            'Start the robot, check ROS_DOMAIN_ID, or look longer.'
        )
    return Survey(
        source=f'the live ROS graph of domain {domain}',
        seconds=seconds,
        topics=topics,
        notes=notes,
    )


class _GraphWatch:
    """Subscriptions to all topics that are there, made as they appear."""

    def __init__(self, node: Node, types: MessageTypes) -> None:
        self._node = node
        self._types = types
        self._observers: dict[tuple[str, str], TopicObserver] = {}
        self._subscriptions: dict[tuple[str, str], Any] = {}
        self._listeners: dict[tuple[str, str], Listener] = {}
        self._most: dict[str, tuple[int, int]] = {}

    def look(self) -> None:
        """Look for topics that are new, and for publishers and subscribers."""
        for name, kinds in self._node.get_topic_names_and_types():
            for kind in kinds:
                key = (name, kind)
                if is_own(name, kind):
                    continue
                if key not in self._observers:
                    self._observers[key] = TopicObserver(name, kind, self._types)
                # A topic without a publisher has no messages, but may have a driver.
                if key not in self._subscriptions and self._node.count_publishers(name):
                    self._subscribe(name, kind)
            self._count(name)

    def _count(self, name: str) -> None:
        ours = sum(topic == name for topic, _ in self._subscriptions)
        publishers = self._node.count_publishers(name)
        subscribers = max(0, self._node.count_subscribers(name) - ours)
        before = self._most.get(name, (0, 0))
        self._most[name] = (max(before[0], publishers), max(before[1], subscribers))

    def _subscribe(self, name: str, kind: str) -> None:
        observer = self._observers[(name, kind)]
        self._subscriptions[(name, kind)] = None
        # What hears all publishers of it, and what they have kept.
        reliability, durability = _offered(self._node, name)
        try:
            message_type = message_class(kind)
            listener = self._listeners[(name, kind)] = Listener(observer, message_type)
            self._subscriptions[(name, kind)] = self._node.create_subscription(
                message_type,
                name,
                listener,
                names.profile(
                    _DEPTH,
                    reliable=reliability == 'reliable',
                    latched=durability == 'transient_local',
                ),
                event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
                raw=True,
            )
        except ContractError:
            observer.give_up('its type is not installed here')
        except (RuntimeError, ValueError) as error:
            observer.give_up(f'it cannot be listened to: {error}')

    def size(self) -> tuple[int, int]:
        """Return how many topics and messages there were so far."""
        messages = sum(observer.messages for observer in self._observers.values())
        return len(self._observers), messages

    def notes(self) -> tuple[str, ...]:
        """Return what was missed, a sentence for each topic of one publisher."""
        return tuple(
            f'Of {name} {listener.lost} messages were lost while looking: its rate is higher.'
            for (name, _), listener in sorted(self._listeners.items())
            if listener.lost and self._most.get(name, (0, 0))[0] == 1
        )

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


class Listener:
    """
    What looks into the messages of one topic, and counts those that are missing.

    Parameters
    ----------
    observer
        Sums the messages up.
    kind
        Their class.

    """

    def __init__(self, observer: TopicObserver, kind: Any) -> None:
        self._observer = observer
        self._kind = kind
        self._last: int | None = None
        self.lost = 0

    def __call__(self, data: bytes, info: Any) -> None:
        """Take the bytes of a message, and what the middleware says of it."""
        self._count(info.get('publication_sequence_number'))
        observer = self._observer
        arrived = info['received_timestamp'] or time.time_ns()
        if not observer.is_readable:
            observer.count(arrived)
            return
        try:
            message = deserialize_message(data, self._kind)
        except (RuntimeError, ValueError, TypeError) as error:
            observer.count(arrived)
            observer.give_up(f'a message could not be decoded: {error}')
            return
        observer.see(message, arrived)

    def _count(self, number: int | None) -> None:
        # A number that does not grow is that of another publisher.
        if number is not None and self._last is not None and number > self._last:
            self.lost += number - self._last - 1
        self._last = number


def _offered(node: Node, name: str) -> tuple[str, str]:
    """Return what all publishers of a topic offer; empty if they are not of one mind."""
    profiles = [info.qos_profile for info in node.get_publishers_info_by_topic(name)]
    reliability = {profile.reliability.name.lower() for profile in profiles}
    durability = {profile.durability.name.lower() for profile in profiles}
    return (
        reliability.pop() if len(reliability) == 1 else '',
        durability.pop() if len(durability) == 1 else '',
    )
