# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishing a record again: its topics on their time line, with a clock of their own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
import math
import os
from pathlib import Path
import signal
import threading
import time
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from boundary_env_ros.core.contract import Contract
from boundary_env_ros.core.timebase import NANOSECONDS, to_nanoseconds
from boundary_env_ros.errors import BoundaryError, RecordError
from boundary_env_ros.evidence.run_files import Run
from boundary_env_ros.ros.contract_node import PARENT
from boundary_env_ros.ros.own_node import OwnNode
from boundary_env_ros.ros.replaying_keys import HELP, Keyboard, keyboard
from boundary_env_ros.ros.replaying_player import in_order, Player, Recorded, Unit
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
# Longest sleep between two looks at keyboard, services and signals, s.
_LOOK = 0.02
# A paused replay tells its time so often, for whoever comes later, s.
_PAUSED_CLOCK = 0.5
# For the last messages to come, s a topic.
_LAST = 1.0
# For an answer of the main loop to a service, s: it may be on its way to a far place.
_ANSWER = 60.0

_TRANSITION = 'boundary_env_ros/msg/Transition'
_FASTER = 1.1
_JUMPS: Mapping[str, float] = {'forward': 1, 'back': -1, 'far forward': 10, 'far back': -10}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """
    How a record is gone through.

    Attributes
    ----------
    rate
        Seconds of the record in one second.
    start, duration
        Seconds from the beginning of the record, and how many from there; None: all.
    loop, paused
        Whether it begins again after the end; whether it waits for the first command.
    delay
        Seconds before the first message.
    clock_rate
        How often the time is told between messages, 1/s.
    order
        Whether a message comes at the time when it was ``sent`` or ``received``.

    """

    rate: float = 1.0
    start: float = 0.0
    duration: float | None = None
    loop: bool = False
    paused: bool = False
    delay: float = 0.0
    clock_rate: float = 40.0
    order: str = 'sent'


def replay(
    path: Path,
    *,
    wish: Mapping[str, Any],
    pace: Mapping[str, Any],
    contract: str = '',
    beside: bool = False,
    domain_id: int | None = None,
    keys: bool = True,
    say: Callable[[str], None] = print,
    show: Callable[[str], None] = lambda text: None,
) -> int:
    """
    Publish a record until it is over, or somebody stops it.

    Parameters
    ----------
    path
        Run folder, bag, ``.mcap`` or ``.db3`` file.
    wish, pace
        The attributes of :class:`~boundary_env_ros.ros.replaying_topics.Wish` and of
        :class:`Pace` that are not as by default.
    contract
        File or name of the contract that says what commands the robot; default: the record's own.
    beside
        Publish beside other publishers of a topic; never on ``/clock``, nor what moves a robot.
    domain_id
        ROS domain; None: that of ``ROS_DOMAIN_ID``.
    keys
        Whether the terminal is listened to, if there is one.
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
    bag = open_bag(path)
    wanted, gone_through = Wish(**wish), Pace(**pace)
    terms = load(contract).contract if contract else _own_contract(path)
    choice = choose(bag, terms, wanted)
    topics = frozenset(topic.recorded for topic in choice.topics if not topic.released)
    begin, end = _span(bag, gone_through)
    ending = threading.Event()
    with (
        _stopped_by_signals(ending),
        OwnNode(NAME, domain_id=domain_id, namespace=wanted.namespace, unique=False) as own,
    ):
        neighbours = Neighbours(own.node, choice.topics, beside=beside)
        moving = any(topic.commands for topic in choice.topics)
        _wait(_DISCOVERY_OF_COMMANDS if moving else _DISCOVERY, ending)
        neighbours.check(own=0)
        made = Publishers(own.node, choice.topics)
        player = Player(
            lambda: in_order(_messages(bag, topics, gone_through.order == 'sent')),
            begin,
            end,
            rate=gone_through.rate,
            paused=gone_through.paused,
            loop=gone_through.loop,
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
        with keyboard() if keys else _no_keyboard() as terminal:
            if terminal is not None:
                say(HELP)
            running = _Replay(
                own, player, made, neighbours, (begin, end), gone_through, ending, show
            )
            running.run(terminal)
    return 0


def _own_contract(path: Path) -> Contract | None:
    terms = Run(path).terms()
    if terms.contract is None and terms.problem:
        raise BoundaryError(
            f'Expect the contract of {path} to be readable, since it says what commands the '
            f'robot, actually: {terms.problem} Name another with --contract.'
        )
    return terms.contract


def _span(bag: Bag, pace: Pace) -> tuple[int, int]:
    """Return first and last time to be replayed, nanoseconds of the record."""
    contents = [file.contents() for file in bag.files]
    starts = [c.start for c in contents if c.start is not None]
    ends = [c.end for c in contents if c.end is not None]
    if not starts:
        raise RecordError(f'Expect messages in {bag.path}, actually: none.')
    begin, end = min(starts), max(ends)
    length = (end - begin) / NANOSECONDS
    if not 0.0 <= pace.start <= length:
        raise RecordError(
            f'Expect a start within the {length:.1f} s of {bag.path}, actually: {pace.start:g} s.'
        )
    begin += to_nanoseconds(pace.start)
    if pace.duration is not None:
        end = min(end, begin + to_nanoseconds(pace.duration))
    return begin, end


def _messages(bag: Bag, topics: frozenset[str], sent: bool) -> Iterator[Recorded]:
    first = None
    for channel, received, published, data in bag.messages(lambda c: c.topic in topics):
        if first is None:
            first = received
        # The record begins when its first message came; some were sent a moment before.
        time = max(published, first) if sent and published else received
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
    The loop that publishes, and does what keyboard, services and parameters ask for.

    Others only leave their wishes; all is done by the loop, between two messages.
    """

    def __init__(
        self,
        own: OwnNode,
        player: Player,
        publishers: Publishers,
        neighbours: Neighbours,
        span: tuple[int, int],
        pace: Pace,
        ending: threading.Event,
        show: Callable[[str], None],
    ) -> None:
        self._player, self._publishers, self._neighbours = player, publishers, neighbours
        self._begin, self._end = span
        self._pace, self._ending, self._show = pace, ending, show
        self._wishes: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._woken = threading.Event()
        self._clock = -1
        self._told = self._shown = self._looked = -math.inf
        self._published = 0
        self._serve(own)
        own.spin_in_thread(NAME)

    # Ways in -------------------------------------------------------------------------------------

    def _serve(self, own: OwnNode) -> None:
        for name, act in (
            ('pause', lambda: self._set_paused(True)),
            ('resume', lambda: self._set_paused(False)),
            ('toggle_paused', self._toggle),
            ('play_next', lambda: self._step(Unit.MESSAGE)),
            ('step', lambda: self._step(Unit.TRANSITION)),
            ('restart', lambda: self._seek(self._begin)),
            ('stop', self._ending.set),
        ):
            own.node.create_service(Trigger, f'~/{name}', self._service(act))
        own.node.declare_parameter(
            'rate',
            self._pace.rate,
            ParameterDescriptor(description='Seconds of the record in one second.'),
        )
        own.node.declare_parameter(
            'seek',
            self._pace.start,
            ParameterDescriptor(
                description='Set it to go there: seconds from the beginning of the record.'
            ),
        )
        own.node.add_on_set_parameters_callback(_check_parameters)
        own.node.add_post_set_parameters_callback(self._take_parameters)

    def _service(self, act: Callable[[], None]) -> Callable[[Any, Any], Any]:
        def serve(request: Any, response: Any) -> Any:
            response.success = self._wish(act).wait(_ANSWER)
            response.message = self._state()
            return response

        return serve

    def _take_parameters(self, parameters: Sequence[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == 'rate':
                self._wish(partial(self._set_rate, parameter.value))
            elif parameter.name == 'seek':
                place = self._record_begin + to_nanoseconds(parameter.value)
                self._wish(partial(self._seek, place))

    @property
    def _record_begin(self) -> int:
        return self._begin - to_nanoseconds(self._pace.start)

    def _wish(self, act: Callable[[], None]) -> threading.Event:
        done = threading.Event()
        self._wishes.append((act, done))
        self._woken.set()
        return done

    def _take_key(self, meaning: str) -> None:
        if meaning in _JUMPS:
            here = self._player.timeline.position(time.monotonic_ns())
            self._seek(here + to_nanoseconds(_JUMPS[meaning]))
        else:
            {
                'toggle': self._toggle,
                'message': lambda: self._step(Unit.MESSAGE),
                'step': lambda: self._step(Unit.TRANSITION),
                'faster': lambda: self._set_rate(self._player.timeline.rate * _FASTER),
                'slower': lambda: self._set_rate(self._player.timeline.rate / _FASTER),
                'restart': lambda: self._seek(self._begin),
                'quit': self._ending.set,
            }[meaning]()

    # What they can ask for (the loop) ------------------------------------------------------------

    def _set_paused(self, paused: bool) -> None:
        self._player.timeline.set_paused(paused, time.monotonic_ns())

    def _toggle(self) -> None:
        self._set_paused(not self._player.timeline.paused)

    def _set_rate(self, rate: float) -> None:
        self._player.timeline.set_rate(rate, time.monotonic_ns())

    def _seek(self, place: int) -> None:
        self._player.seek(place)
        # From here on the time may go back.
        self._clock = -1
        self._tell_time(self._player.timeline.position(time.monotonic_ns()))

    def _step(self, unit: Unit) -> None:
        self._publish(self._player.step(unit, time.monotonic_ns()))

    # The loop ------------------------------------------------------------------------------------

    def run(self, terminal: Keyboard | None) -> None:
        """Publish until the record is over, or somebody stops it."""
        _wait(self._pace.delay, self._ending)
        while not self._ending.is_set():
            self._listen(terminal)
            now = time.monotonic_ns()
            before = self._player.timeline.position(now)
            self._publish(self._player.due(now))
            if self._player.over and not self._player.timeline.paused:
                break
            position = self._player.timeline.position(now)
            if position < before:
                self._clock = -1  # it has begun again
            self._heartbeat(min(position, self._end))
            self._look_around()
            wait = min(self._player.wait(time.monotonic_ns()), _LOOK)
            if wait > 0.0:
                self._woken.wait(wait)
        self._publishers.finish(_LAST)
        self._status()

    def _listen(self, terminal: Keyboard | None) -> None:
        self._woken.clear()
        while self._wishes:
            act, done = self._wishes.popleft()
            act()
            done.set()
        if terminal is not None:
            for meaning in terminal.pressed():
                self._take_key(meaning)

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
        if now - self._told >= 1.0 / self._pace.clock_rate:
            self._tell_time(position)
        if now - self._told >= _PAUSED_CLOCK:
            self._told = now
            self._publishers.tell_time(self._clock)

    def _look_around(self) -> None:
        now = time.monotonic()
        if now - self._shown > 0.1:
            self._shown = now
            self._status()
        if now - self._looked > _LOOK_AROUND:
            self._looked = now
            self._neighbours.check(own=1)
            if os.environ.get(PARENT, str(os.getppid())) != str(os.getppid()):
                self._ending.set()  # the launch that started it is gone

    def _status(self) -> None:
        self._show(self._state())

    def _state(self) -> str:
        timeline = self._player.timeline
        here = min(timeline.position(time.monotonic_ns()), self._end) - self._record_begin
        whole = self._end - self._record_begin
        paused = ', paused' if timeline.paused else ''
        return (
            f'{here / NANOSECONDS:.2f} of {whole / NANOSECONDS:.2f} s, x{timeline.rate:.3g}'
            f'{paused}, {self._published} messages'
        )


def _check_parameters(parameters: Sequence[Parameter]) -> SetParametersResult:
    """Refuse values that mean nothing; nothing is done yet."""
    for parameter in parameters:
        value = parameter.value
        if parameter.name not in ('rate', 'seek'):
            continue
        least = 'more than 0' if parameter.name == 'rate' else '0 or more'
        good = isinstance(value, float) and math.isfinite(value) and value >= 0.0
        if not good or (parameter.name == 'rate' and value == 0.0):
            return SetParametersResult(
                successful=False,
                reason=f'Expect {parameter.name} to be {least}, actually: {value!r}.',
            )
    return SetParametersResult(successful=True)


def _wait(seconds: float, ending: threading.Event) -> None:
    if seconds > 0.0:
        ending.wait(seconds)


@contextmanager
def _no_keyboard() -> Iterator[None]:
    yield None


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
