# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Publishing a record again: its topics at their recorded times, with a clock of their own.

Unlike ``ros2 bag play`` it needs no ROS installation, and publishes what can move a robot only if
that is asked for, and never beside a safety gate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
import time
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.errors import BoundaryError, ContractError, LinkError, RecordError
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.processes import one_interrupt
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.definitions import definition_of, parse_definition
from boundary_env_ros.storage.mcap_scan import Channel
from boundary_env_ros.storage.rosbag2 import Bag, offers_of_bag, open_bag

NAME = 'replay'

_CLOCK, _CLOCK_TYPE = '/clock', 'rosgraph_msgs/msg/Clock'
_GATE_STATUS = 'boundary_env_ros/msg/GateStatus'
# Every node writes these.
_OF_EVERY_NODE = ('/rosout', '/parameter_events')
# What a late subscriber gets of a latched topic: several nodes may latch a message on one.
_LATCHED = 50
# Latched where the bag does not say what its publishers offered.
_LATCHED_TYPES = frozenset(
    f'boundary_env_ros/msg/{name}'
    for name in ('ContractDescription', 'EpisodeStatus', 'GateStatus', 'RecorderStatus')
)

# For other publishers to be found before the first message, s; longer where a robot could move.
_DISCOVERY, _DISCOVERY_OF_COMMANDS = 1.0, 3.0
# Between two looks for publishers that came later, s.
_LOOK_AROUND = 0.5
# Longest time between two messages on /clock, s.
_TELL_TIME = 0.025
# For the last messages to arrive, s a topic.
_LAST = 1.0


def replay(
    path: Path,
    *,
    topics: Collection[str] = (),
    exclude: Collection[str] = (),
    commands: bool = False,
    rate: float = 1.0,
    start: float = 0.0,
    contract: str | None = None,
    domain_id: int | None = None,
    say: Callable[[str], None] = print,
    show: Callable[[str], None] = lambda text: None,
) -> int:
    """
    Publish a record until its end, or until SIGINT or SIGTERM.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.db3`` file.
    topics, exclude
        Only these (empty: all), and none of those.
    commands
        Publish what can move a robot, too.
    rate
        Seconds of the record in one second.
    start
        Seconds of the record that are left out.
    contract
        File or name of the contract that says what commands the robot; default: the record's own.
    domain_id
        ROS domain; None: that of ``ROS_DOMAIN_ID``.
    say, show
        Print lines that stay, and a line that takes the place of the one before.

    Returns
    -------
    int
        0.

    Raises
    ------
    BoundaryError
        If no contract says what commands the robot, and commands were not asked for.
    LinkError
        If ROS does not start, or another node publishes where the record is to be published.
    RecordError
        If it is no bag, has not such a topic, or nothing in it can be published.

    """
    bag = open_bag(path)
    terms = load(contract).contract if contract else _own_contract(path)
    chosen, left_out = _choose(bag, terms, topics, exclude, commands)
    begin, end = _span(bag, start)
    own = IsolatedNode(NAME, domain_id=domain_id, unique=False)
    try:
        with own, one_interrupt():
            player = _Player(own.node, chosen, (begin, end), rate, show)
            moving = any(topic.commands for topic in chosen)
            # Listeners find the publishers meanwhile, too.
            time.sleep(_DISCOVERY_OF_COMMANDS if moving else _DISCOVERY)
            _check_neighbours(own.node, chosen)
            say(_format(path, terms, chosen, left_out, (end - begin) / NANOSECONDS))
            player.play(bag.messages(lambda c: any(c.topic == t.name for t in chosen)))
    except KeyboardInterrupt:
        pass
    return 0


def _own_contract(path: Path) -> Contract | None:
    terms = Run(path).terms()
    if terms.contract is None and terms.problem:
        raise BoundaryError(
            f'The contract of {path}, which says what commands the robot, cannot be read: '
            f'{terms.problem} Name another with --contract.'
        )
    return terms.contract


def _span(bag: Bag, start: float) -> tuple[int, int]:
    """Return first and last time to be replayed, nanoseconds of the record."""
    contents = [file.contents() for file in bag.files]
    starts = [c.start for c in contents if c.start is not None]
    ends = [c.end for c in contents if c.end is not None]
    if not starts:
        raise RecordError(f'{bag.path} has no messages.')
    begin, end = min(starts), max(ends)
    length = (end - begin) / NANOSECONDS
    if not 0.0 <= start <= length:
        raise RecordError(
            f'The start is outside of {bag.path} (expected 0 to {length:.1f} s, got {start:g} s).'
        )
    return begin + to_nanoseconds(start), end


# Topics ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topic:
    """
    A topic that is published again.

    Attributes
    ----------
    name, type
        Its name and type.
    reliable, latched
        What its publishers offered.
    commands
        Whether it can move a robot.

    """

    name: str
    type: str
    reliable: bool
    latched: bool
    commands: bool


def _choose(
    bag: Bag,
    contract: Contract | None,
    topics: Collection[str],
    exclude: Collection[str],
    commands: bool,
) -> tuple[tuple[_Topic, ...], dict[str, str]]:
    """Return the topics to publish, and the others with the reason."""
    if contract is None and not commands:
        raise BoundaryError(
            f'{bag.path} has no contract, which says what topics command the robot. Name one '
            'with --contract, or publish every topic with --commands where no robot listens.'
        )
    channels = {channel.topic: channel for channel in bag.channels()}
    unknown = sorted({*topics, *exclude} - set(channels))
    if unknown:
        raise RecordError(
            f'{bag.path} does not have these topics '
            f'(expected {", ".join(sorted(channels)) or "none"}, got {", ".join(unknown)}).'
        )
    offers = offers_of_bag(bag.path.parent if bag.path.is_file() else bag.path)
    chosen: list[_Topic] = []
    left_out: dict[str, str] = {}
    for name, channel in sorted(channels.items()):
        if name in exclude or (topics and name not in topics):
            continue
        moves = contract is None or _commands(contract, name)
        if name == _CLOCK:
            left_out[name] = 'the replay has a clock of its own'
        elif name in _OF_EVERY_NODE and name not in topics:
            left_out[name] = 'every node writes it; name it with --topic'
        elif moves and not commands:
            left_out[name] = 'it can move a robot; --commands publishes it'
        elif problem := _not_installed(channel):
            left_out[name] = problem
        else:
            reliability, durability = offers.get(name, ('', ''))
            chosen.append(
                _Topic(
                    name=name,
                    type=channel.type,
                    reliable=reliability != 'best_effort',
                    latched=durability == 'transient_local'
                    or (not durability and channel.type in _LATCHED_TYPES),
                    commands=moves,
                )
            )
    if not chosen:
        reasons = '; '.join(f'{topic}: {why}' for topic, why in left_out.items())
        raise RecordError(
            f'{bag.path} has no topic to publish{f" ({reasons})" if reasons else ""}.'
        )
    return tuple(chosen), left_out


def _commands(contract: Contract, topic: str) -> bool:
    """
    Return whether a topic may move the robot of a contract, in whatever namespace.

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


def _not_installed(channel: Channel) -> str:
    """Return why the bytes of a topic are no messages of the installed type; empty if they are."""
    if channel.encoding != 'cdr':
        return f'its messages are written as {channel.encoding or "nothing known"}, not as CDR'
    try:
        message_class(channel.type)
    except (ContractError, ValueError):
        return f'its type {channel.type} is not installed'
    if channel.definition_encoding != 'ros2msg':
        return ''  # the record does not say
    try:
        text, _ = definition_of(channel.type)
        installed = parse_definition(channel.type, text)
        recorded = parse_definition(channel.type, channel.definition.decode(errors='replace'))
    except RecordError:
        return ''
    if installed != recorded:
        return f'its type {channel.type} has other fields here than when it was recorded'
    return ''


def _check_neighbours(node: Node, topics: tuple[_Topic, ...]) -> None:
    """Refuse other publishers of the same topics."""
    for name in (_CLOCK, *(topic.name for topic in topics)):
        others = _others(node, name)
        if others:
            raise LinkError(
                f'Another node publishes {name}: {", ".join(others)}. Its subscribers could not '
                'tell the record from it. Replay in another domain (--domain-id), or '
                'leave the topic out with --exclude.'
            )
    if not any(topic.commands for topic in topics):
        return
    for name, types in node.get_topic_names_and_types():
        gates = _others(node, name)
        if _GATE_STATUS in types and gates:
            raise LinkError(
                f'A safety gate runs where commands are replayed: {", ".join(gates)}. Its robot '
                'would get commands of both. Replay in another domain (--domain-id), or leave out '
                '--commands.'
            )


def _others(node: Node, topic: str) -> tuple[str, ...]:
    """Return the nodes that publish a topic, but for one publisher of this node."""
    found = sorted(
        f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        for info in node.get_publishers_info_by_topic(topic)
    )
    if node.get_fully_qualified_name() in found:
        found.remove(node.get_fully_qualified_name())
    return tuple(found)


def _format(
    path: Path,
    contract: Contract | None,
    topics: tuple[_Topic, ...],
    left_out: Mapping[str, str],
    seconds: float,
) -> str:
    under = 'no contract' if contract is None else f'{contract.name} {contract.version}'
    moving = '  (CAN MOVE A ROBOT)'
    lines = [f'{path}: {seconds:.1f} s under {under}']
    lines += [f'  {topic.name}{moving if topic.commands else ""}' for topic in topics]
    return '\n'.join([*lines, *(f'  not {topic}: {why}' for topic, why in left_out.items())])


# Time --------------------------------------------------------------------------------------------


class _Player:
    """
    Publishes messages at their recorded times, and ``/clock``.

    Parameters
    ----------
    node
        Publishes.
    topics
        What is published.
    span
        First and last time, nanoseconds of the record.
    rate
        Seconds of the record in one second.
    show
        Prints where it is.

    """

    def __init__(
        self,
        node: Node,
        topics: tuple[_Topic, ...],
        span: tuple[int, int],
        rate: float,
        show: Callable[[str], None],
    ) -> None:
        self._node, self._topics = node, topics
        self._publishers = {
            topic.name: node.create_publisher(
                message_class(topic.type),
                topic.name,
                names.profile(
                    _LATCHED if topic.latched else names.RECORD.depth,
                    reliable=topic.reliable,
                    latched=topic.latched,
                ),
            )
            for topic in topics
        }
        self._clock = node.create_publisher(message_class(_CLOCK_TYPE), _CLOCK, names.RECORD)
        self._begin, self._end = span
        self._rate, self._show = rate, show
        self._since = self._looked = 0.0
        self._published = self._time = 0

    def play(self, messages: Iterator[tuple[Channel, int, int, bytes]]) -> None:
        """Publish messages, in their order, until the last one or the end."""
        early = {t.name: deque[bytes](maxlen=_LATCHED * t.latched) for t in self._topics}
        self._since = self._looked = time.monotonic()
        for channel, received, _, data in messages:
            if received < self._begin:
                early[channel.topic].append(data)
                continue
            # What was latched before the start is latched again.
            for topic, some in early.items():
                while some:
                    self._publish(topic, some.popleft())
            self._wait(received)
            self._tell_time(received)
            self._publish(channel.topic, data)
        for publisher in (*self._publishers.values(), self._clock):
            publisher.wait_for_all_acked(Duration(seconds=_LAST))
        self._show(self._state())

    def _publish(self, topic: str, data: bytes) -> None:
        self._publishers[topic].publish(data)
        self._published += 1

    def _wait(self, until: int) -> None:
        """Wait until a time of the record is reached."""
        while (here := self._here()) < until:
            self._tell_time(here)
            self._look_around()
            time.sleep(min((until - here) / self._rate / NANOSECONDS, _TELL_TIME))

    def _here(self) -> int:
        """Return the time of the record that is reached."""
        passed = (time.monotonic() - self._since) * self._rate
        return min(self._begin + to_nanoseconds(passed), self._end)

    def _tell_time(self, nanoseconds: int) -> None:
        if nanoseconds <= self._time:
            return
        self._time = nanoseconds
        message: Any = message_class(_CLOCK_TYPE)()
        message.clock.sec, message.clock.nanosec = divmod(nanoseconds, NANOSECONDS)
        self._clock.publish(message)

    def _look_around(self) -> None:
        if time.monotonic() - self._looked > _LOOK_AROUND:
            self._looked = time.monotonic()
            self._show(self._state())
            _check_neighbours(self._node, self._topics)

    def _state(self) -> str:
        return (
            f'{(self._here() - self._begin) / NANOSECONDS:.2f} of '
            f'{(self._end - self._begin) / NANOSECONDS:.2f} s, {self._published} messages'
        )
