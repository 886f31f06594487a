# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which topics of a record are published again, under which names, and who must not be there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.safety import STOP_TYPE
from boundary_env_ros.errors import BoundaryError, ContractError, LinkError, RecordError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.storage.definitions import definition_of, parse_definition
from boundary_env_ros.storage.mcap_scan import Channel
from boundary_env_ros.storage.rosbag2 import Bag, offers_of_bag

CLOCK = '/clock'
CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
_STATUS_TYPE = 'boundary_env_ros/msg/GateStatus'

# What every node writes, and what is published here itself.
_NEVER = (CLOCK, '/rosout', '/parameter_events')
_UNKNOWN = '_NODE_NAME_UNKNOWN_'
_DEPTH = 1000
# Latched messages of one topic that stay true beside each other, each from a node of its own.
_BESIDE = {'boundary_env_ros/msg/ContractDescription': 50, 'tf2_msgs/msg/TFMessage': 50}
_LATCHED_TYPES = frozenset(
    f'boundary_env_ros/msg/{name}'
    for name in ('ContractDescription', 'EpisodeStatus', 'GateStatus', 'RecorderStatus')
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTopic:
    """
    A topic that is published again.

    Attributes
    ----------
    recorded, name, type
        Its name in the record, the one that it is published under, and its type.
    reliable
        Whether its publishers offered reliable delivery.
    latched
        How many messages somebody gets who comes later; 0: none.
    commands
        Whether it can move a robot.
    released
        Whether the record does not have it: an emergency stop, said to be released.

    """

    recorded: str
    name: str
    type: str
    reliable: bool
    latched: int
    commands: bool
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is published, and what is not, with the reason."""

    topics: tuple[ReplayedTopic, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """
    What somebody wants of a record.

    Attributes
    ----------
    topics, exclude
        Recorded names: only these (all, if empty), and none of those.
    commands
        Publish what can move a robot, too.
    namespace
        Is put in front of every name.

    """

    topics: Sequence[str] = ()
    exclude: Sequence[str] = ()
    commands: bool = False
    namespace: str = ''


def choose(bag: Bag, contract: Contract | None, wish: Wish) -> Choice:
    """
    Choose the topics to publish.

    Parameters
    ----------
    bag
        The record.
    contract
        Says which topics command the robot; None: every topic may.
    wish
        What is wanted.

    Raises
    ------
    RecordError
        If a topic is named that the record has not, or nothing is left to publish.
    BoundaryError
        If nobody knows what commands the robot, and commands were not asked for.

    """
    if contract is None and not wish.commands:
        raise BoundaryError(
            f'{bag.path} has no contract, which says what topics command the robot. Name one '
            'with --contract, or publish every topic with --commands where no robot listens.'
        )
    channels = {channel.topic: channel for channel in bag.channels()}
    unknown = sorted({*wish.topics, *wish.exclude} - set(channels))
    if unknown:
        raise RecordError(
            f'{bag.path} does not have these topics '
            f'(expected {", ".join(sorted(channels)) or "none"}, got {", ".join(unknown)}).'
        )
    offers = _offers(bag.path)
    left_out: dict[str, str] = {}
    chosen: list[ReplayedTopic] = []
    for topic, channel in sorted(channels.items()):
        name = _placed(topic, wish.namespace)
        commands = contract is not None and (
            _commands(contract, topic) or _commands(contract, name)
        )
        why = _why_not(channel, wish, commands)
        if why is None:
            reliability, durability = offers.get(topic, ('', ''))
            latched = durability == 'transient_local' or (
                not durability and channel.type in _LATCHED_TYPES
            )
            chosen.append(
                ReplayedTopic(
                    recorded=topic,
                    name=name,
                    type=channel.type,
                    reliable=reliability != 'best_effort',
                    latched=_BESIDE.get(channel.type, 1) if latched else 0,
                    commands=commands or contract is None,
                )
            )
        elif why:
            left_out[topic] = why
    if contract is not None and chosen and not wish.topics:
        chosen += _released(contract, channels, wish)
    if not chosen:
        reasons = '; '.join(f'{topic}: {why}' for topic, why in left_out.items())
        raise RecordError(
            f'{bag.path} has no topic to publish{f" ({reasons})" if reasons else ""}.'
        )
    return Choice(topics=tuple(chosen), left_out=left_out)


def _released(contract: Contract, recorded: Iterable[str], wish: Wish) -> Iterator[ReplayedTopic]:
    """Yield the emergency stops that the record does not have: no gate is armed without them."""
    stop = contract.safety.emergency_stop
    for agent in contract.agents if stop else ():
        topic = f'/{contract.topic_of(agent, stop).lstrip("/")}'
        if topic not in wish.exclude and not any(name.endswith(topic) for name in recorded):
            yield ReplayedTopic(
                recorded=topic,
                name=_placed(topic, wish.namespace),
                type=STOP_TYPE,
                reliable=True,
                latched=1,
                commands=False,
                released=True,
            )


def _offers(path: Path) -> Mapping[str, tuple[str, str]]:
    """Return what publishers offered, by the metadata beside a file, too."""
    return offers_of_bag(path.parent if path.is_file() else path)


def _placed(topic: str, namespace: str) -> str:
    """Return a name within a namespace; what had no slash at its front gets one."""
    return '/'.join(['', *(part for part in (namespace.strip('/'), topic.strip('/')) if part)])


def _commands(contract: Contract, topic: str) -> bool:
    """
    Return whether a recorded topic may move the robot of a contract, in whatever namespace.

    The operator's topic does, through a gate.
    """
    named = [group.topic for group in contract.action]
    if contract.safety.operator is not None:
        named.append(contract.safety.operator.topic)
    return any(
        f'/{topic.lstrip("/")}'.endswith(f'/{contract.topic_of(agent, name).lstrip("/")}')
        for agent in contract.agents
        for name in named
    )


def _why_not(channel: Channel, wish: Wish, commands: bool) -> str | None:
    """Return why a topic is not published; empty if that goes without saying, None if it is."""
    topic = channel.topic
    if topic == CLOCK:
        return 'the replay has a clock of its own'
    if topic in wish.exclude or (wish.topics and topic not in wish.topics):
        return ''
    if topic in _NEVER and topic not in wish.topics:
        return 'written by every node; name it with --topics'
    if commands and not wish.commands:
        return 'it can move a robot; --commands publishes it'
    if channel.encoding != 'cdr':
        return f'its messages are written as {channel.encoding or "nothing known"}, not as CDR'
    return _differs(channel)


def _differs(channel: Channel) -> str | None:
    """Return why bytes of the record are no message of the installed type; None if they are."""
    try:
        message_class(channel.type)
    except (ContractError, ValueError):
        return f'its type {channel.type} is not installed'
    if channel.definition_encoding != 'ros2msg':
        return None  # nobody knows better
    try:
        text, _ = definition_of(channel.type)
        installed = parse_definition(channel.type, text)
        recorded = parse_definition(channel.type, channel.definition.decode(errors='replace'))
    except RecordError:
        return None
    if installed != recorded:
        return f'its type {channel.type} has other fields here than when it was recorded'
    return None


class Publishers:
    """
    Publishers of recorded topics, which take bytes, and of ``/clock``.

    Parameters
    ----------
    node
        Whose they are.
    topics
        The topics.

    """

    def __init__(self, node: Node, topics: Sequence[ReplayedTopic]) -> None:
        self._node = node
        self._made = {
            topic.recorded: node.create_publisher(
                message_class(topic.type),
                topic.name,
                names.profile(
                    topic.latched or _DEPTH, reliable=topic.reliable, latched=topic.latched > 0
                ),
            )
            for topic in topics
        }
        for topic in topics:
            if topic.released:
                self._made[topic.recorded].publish(message_class(topic.type)())
        self._clock_class = message_class(CLOCK_TYPE)
        self._clock = node.create_publisher(self._clock_class, CLOCK, names.RECORD)

    def publish(self, topic: str, data: bytes) -> None:
        """Publish the bytes of one message of a recorded topic."""
        self._made[topic].publish(data)

    def tell_time(self, nanoseconds: int) -> None:
        """Publish a time on ``/clock``."""
        message: Any = self._clock_class()
        message.clock.sec, message.clock.nanosec = divmod(nanoseconds, 1_000_000_000)
        self._clock.publish(message)

    def finish(self, seconds: float) -> None:
        """Wait until all that was published has come, of reliable topics, but not for ever."""
        for publisher in (*self._made.values(), self._clock):
            publisher.wait_for_all_acked(Duration(seconds=seconds))


class Neighbours:
    """
    Who else publishes what a replay publishes.

    Parameters
    ----------
    node
        The node of the replay.
    topics
        What it publishes.
    beside
        Whether others may publish there too; never on ``/clock``, nor what can move a robot.

    """

    def __init__(self, node: Node, topics: Sequence[ReplayedTopic], *, beside: bool) -> None:
        self._node, self._topics, self._beside = node, topics, beside

    def check(self, own: int) -> None:
        """
        Refuse neighbours with whom a replay cannot be.

        Parameters
        ----------
        own
            How many publishers of each topic are the replay's: 0 before they were made, 1 after.

        Raises
        ------
        LinkError
            If there is one.

        """
        others = self._others(CLOCK, own)
        if others:
            raise LinkError(
                f'Somebody else publishes {CLOCK}: {", ".join(others)}. A replay and a '
                'simulation, or two replays, need two ROS domains: --domain-id.'
            )
        for topic in self._topics:
            others = self._others(topic.name, own)
            if others and topic.commands:
                raise LinkError(
                    f'Somebody else publishes {topic.name}, which can move a robot: '
                    f'{", ".join(others)}. Replay it in another domain (--domain-id), or leave '
                    'out --commands.'
                )
            if others and not self._beside:
                raise LinkError(
                    f'Somebody else publishes {topic.name}: {", ".join(others)}. Who listens '
                    'could not tell the record from what is. Replay in another domain '
                    '(--domain-id) or --namespace, leave it out with --exclude, or allow it with '
                    '--allow-publishers.'
                )
        if any(topic.commands for topic in self._topics):
            self._check_gates(own)

    def _check_gates(self, own: int) -> None:
        mine = {topic.name for topic in self._topics}
        for name, types in self._node.get_topic_names_and_types():
            if _STATUS_TYPE in types:
                gates = self._others(name, own if name in mine else 0)
                if gates:
                    raise LinkError(
                        f'A safety gate runs where commands are replayed: {", ".join(gates)}. '
                        'Its robot would hear two masters. Replay in another domain '
                        '(--domain-id), or leave out --commands.'
                    )

    def _others(self, topic: str, own: int) -> tuple[str, ...]:
        """Return the nodes that publish a topic, but for our own publishers of it."""
        found: list[str] = []
        mine = 0
        for info in self._node.get_publishers_info_by_topic(topic):
            place = f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            if place == self._node.get_fully_qualified_name() and mine < own:
                mine += 1
            else:
                # Who it is comes a moment later than that there is one.
                found.append('somebody' if _UNKNOWN in place else place)
        return tuple(sorted(found))
