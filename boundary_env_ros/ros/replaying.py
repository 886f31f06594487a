# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishing a record again: its topics on their time line, with a clock of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
import math
from pathlib import Path
import signal
import threading
import time
from typing import Any

from std_srvs.srv import Trigger

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.replaying_player import in_order, Player, Recorded
from boundary_env_ros.ros.replaying_topics import (
    Choice,
    choose,
    Neighbours,
    Publishers,
    Wish,
)
from boundary_env_ros.storage.contract_file import load
from boundary_env_ros.storage.rosbag2 import Bag, open_bag

NAME = 'replay'

# For other publishers to be found before the first message, s; longer where a robot could move.
_DISCOVERY, _DISCOVERY_OF_COMMANDS = 1.0, 3.0
# Between two looks for publishers that came later, s.
_LOOK_AROUND = 0.5
# Longest sleep between two looks at services and signals, s.
_LOOK = 0.02
# The time is told at least so often, s.
_CLOCK = 0.025
# A paused replay tells its time so often, for whoever comes later, s.
_PAUSED_CLOCK = 0.5
# For the last messages to come, s a topic.
_LAST = 1.0
# For an answer of the main loop to a service, s: it may be on its way to a far place.
_ANSWER = 60.0

_TRANSITION = 'boundary_env_ros/msg/Transition'


def replay(
    path: Path,
    *,
    wish: Mapping[str, Any],
    rate: float = 1.0,
    start: float = 0.0,
    paused: bool = False,
    contract: str = '',
    beside: bool = False,
    domain_id: int | None = None,
    say: Callable[[str], None] = print,
    show: Callable[[str], None] = lambda text: None,
) -> int:
    """
    Publish a record until it is over, or somebody stops it.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.db3`` file.
    wish
        The attributes of :class:`~boundary_env_ros.ros.replaying_topics.Wish` that are not as by
        default.
    rate
        Seconds of the record in one second.
    start
        Seconds of the record that are left out.
    paused
        Whether it waits to be resumed before the first message.
    contract
        File or name of the contract that says what commands the robot; default: the record's own.
    beside
        Publish beside other publishers of a topic; never on ``/clock``, nor what moves a robot.
    domain_id
        ROS domain; None: that of ``ROS_DOMAIN_ID``.
    say, show
        Are told lines to keep, and lines that take the place of the one before.

    Returns
    -------
    int
        0.

    Raises
    ------
    BoundaryError
        If nobody knows what commands the robot.
    LinkError
        If ROS does not start, or somebody else publishes where the record is to be published.
    RecordError
        If it is no bag, or nothing in it can be published.

    """
    bag, wanted = open_bag(path), Wish(**wish)
    terms = load(contract).contract if contract else _own_contract(path)
    choice = choose(bag, terms, wanted)
    topics = frozenset(topic.recorded for topic in choice.topics if not topic.released)
    begin, end = _span(bag, start)
    ending = threading.Event()
    with (
        _stopped_by_signals(ending),
        IsolatedNode(NAME, domain_id=domain_id, namespace=wanted.namespace, unique=False) as own,
    ):
        neighbours = Neighbours(own.node, choice.topics, beside=beside)
        moving = any(topic.commands for topic in choice.topics)
        ending.wait(_DISCOVERY_OF_COMMANDS if moving else _DISCOVERY)
        neighbours.check(own=0)
        made = Publishers(own.node, choice.topics)
        player = Player(
            lambda: in_order(_messages(bag, topics)),
            begin,
            rate=rate,
            paused=paused,
            latched={
                topic.recorded: topic.latched
                for topic in choice.topics
                if topic.recorded in topics and topic.latched
            },
            # Without any, a step would be all that is left, in one breath.
            transition=_TRANSITION if _TRANSITION in {t.type for t in choice.topics} else '',
            stopped=ending.is_set,
        )
        say(_told(path, choice, begin, end, terms))
        _Replay(own, player, made, neighbours, (begin, end), ending, show).run()
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


def _messages(bag: Bag, topics: frozenset[str]) -> Iterator[Recorded]:
    first = None
    for channel, received, published, data in bag.messages(lambda c: c.topic in topics):
        if first is None:
            first = received
        # The record begins when its first message came; some were sent a moment before.
        time = max(published, first) if published else received
        yield Recorded(channel.topic, channel.type, received, time, data)


def _told(path: Path, choice: Choice, begin: int, end: int, contract: Contract | None) -> str:
    under = 'no contract' if contract is None else f'{contract.name} {contract.version}'
    lines = [f'{path}: {(end - begin) / NANOSECONDS:.1f} s under {under}']
    for topic in choice.topics:
        renamed = '' if topic.name == topic.recorded else f' as {topic.name}'
        notes = '  (CAN MOVE A ROBOT)' if topic.commands else ''
        notes += '  (not in the record: said to be released)' if topic.released else ''
        lines.append(f'  {topic.recorded}{renamed}{notes}')
    lines += [f'  not {topic}: {why}' for topic, why in sorted(choice.left_out.items())]
    return '\n'.join(lines)


class _Replay:
    """
    The loop that publishes, and does what the services ask for.

    Others only leave their wishes; all is done by the loop, between two messages.
    """

    def __init__(
        self,
        own: IsolatedNode,
        player: Player,
        publishers: Publishers,
        neighbours: Neighbours,
        span: tuple[int, int],
        ending: threading.Event,
        show: Callable[[str], None],
    ) -> None:
        self._player, self._publishers, self._neighbours = player, publishers, neighbours
        self._begin, self._end = span
        self._ending, self._show = ending, show
        self._wishes: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._woken = threading.Event()
        self._clock = -1
        self._told = self._shown = self._looked = -math.inf
        self._published = 0
        for name, act in (
            ('pause', partial(self._set_paused, True)),
            ('resume', partial(self._set_paused, False)),
            ('step', self._step),
        ):
            own.node.create_service(Trigger, f'~/{name}', self._service(act))
        own.spin_in_thread(NAME)

    def _service(self, act: Callable[[], None]) -> Callable[[Any, Any], Any]:
        def serve(request: Any, response: Any) -> Any:
            done = threading.Event()
            self._wishes.append((act, done))
            self._woken.set()
            response.success = done.wait(_ANSWER)
            response.message = self._state()
            return response

        return serve

    def _set_paused(self, paused: bool) -> None:
        self._player.set_paused(paused, time.monotonic_ns())

    def _step(self) -> None:
        self._publish(self._player.step(time.monotonic_ns()))

    def run(self) -> None:
        """Publish until the record is over, or somebody stops it."""
        while not self._ending.is_set():
            self._woken.clear()
            while self._wishes:
                act, done = self._wishes.popleft()
                act()
                done.set()
            self._publish(self._player.due(time.monotonic_ns()))
            if self._player.over and not self._player.paused:
                break
            self._heartbeat(min(self._player.position(time.monotonic_ns()), self._end))
            self._look_around()
            wait = min(self._player.wait(time.monotonic_ns()), _LOOK)
            if wait > 0.0:
                self._woken.wait(wait)
        self._publishers.finish(_LAST)
        self._show(self._state())

    def _publish(self, messages: Iterable[Recorded]) -> None:
        for message in messages:
            # Nobody gets a message from the future.
            self._tell_time(message.time)
            self._publishers.publish(message.topic, message.data)
            self._published += 1
            if self._ending.is_set():
                return

    def _tell_time(self, nanoseconds: int) -> None:
        if nanoseconds > self._clock:
            self._clock = nanoseconds
            self._told = time.monotonic()
            self._publishers.tell_time(nanoseconds)

    def _heartbeat(self, position: int) -> None:
        now = time.monotonic()
        if now - self._told >= _CLOCK:
            self._tell_time(position)
        if now - self._told >= _PAUSED_CLOCK:
            self._told = now
            self._publishers.tell_time(self._clock)

    def _look_around(self) -> None:
        now = time.monotonic()
        if now - self._shown > 0.1:
            self._shown = now
            self._show(self._state())
        if now - self._looked > _LOOK_AROUND:
            self._looked = now
            self._neighbours.check(own=1)

    def _state(self) -> str:
        here = min(self._player.position(time.monotonic_ns()), self._end) - self._begin
        paused = ', paused' if self._player.paused else ''
        return (
            f'{here / NANOSECONDS:.2f} of {(self._end - self._begin) / NANOSECONDS:.2f} s'
            f'{paused}, {self._published} messages'
        )


@contextmanager
def _stopped_by_signals(ending: threading.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the replay between two messages; in another thread nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    previous = {n: signal.signal(n, lambda number, frame: ending.set()) for n in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
