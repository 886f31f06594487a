# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A record published again over real DDS: whole, in order, in its time, and beside nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('rosbags', reason='bags are written by an independent implementation')

from geometry_msgs.msg import TwistStamped
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Bool

from boundary_env_ros.errors import BoundaryError, LinkError, RecordError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.ros.interfaces import msg
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.ros.replaying import replay
from boundary_env_ros.storage.contract_file import load, make_task
from support.bag_maker import make_tape, Tape, wire, write_bag
from support.record_maker import Bench
from support.ros_world import Probe, reserved_domain

pytestmark = pytest.mark.ros

COMMAND, TRANSITION, CONTRACT = '/cmd_vel', '/boundary/transition', '/boundary/contract'
NS = 1_000_000_000
# All of the record, however late the listener is.
DEEP = QoSProfile(depth=20_000)


class Stage:
    """A bag of three episodes, a domain to replay it in, and somebody who listens there."""

    def __init__(self, folder: Path, domain_id: int) -> None:
        loaded = load('warehouse_cart')
        self.tape: Tape = make_tape(Bench, loaded, make_task(loaded.contract), seed=1)
        self.bag = folder / 'bag'
        write_bag(self.bag, self.tape)
        self.domain_id = domain_id
        self.begin = min(sent.log_time for sent in self.tape)
        self.probe = Probe(domain_id)
        self._types = {sent.topic: sent.type or _type(sent.what) for sent in self.tape}
        self._subscriptions: list[Any] = []
        self._listen()

    def _listen(self) -> None:
        """Listen again: what the replay before sent last is nobody's."""
        node = self.probe.node
        for subscription in self._subscriptions:
            node.destroy_subscription(subscription)
        heard, clock = [], []
        self.heard: list[tuple[str, bytes]] = heard
        self.clock: list[int] = clock

        def on_clock(message: Any) -> None:
            clock.append(message.clock.sec * NS + message.clock.nanosec)

        self._subscriptions = []
        for topic, kind in self._types.items():
            self._subscriptions.append(
                node.create_subscription(
                    message_class(kind),
                    topic,
                    lambda data, topic=topic: heard.append((topic, data)),
                    # It is latched before we are found.
                    names.LATCHED_MANY if topic == CONTRACT else DEEP,
                    raw=True,
                )
            )
        # The last one: whoever has found it has found the others, too.
        self._subscriptions.append(node.create_subscription(Clock, '/clock', on_clock, DEEP))

    def data(self, topic: str) -> list[bytes]:
        """Return the bytes that came on a topic."""
        return [data for where, data in list(self.heard) if where == topic]

    def recorded(self, topic: str, begin: float = 0.0, end: float = 1e9) -> list[bytes]:
        """Return the bytes of a topic between two seconds of the record, as they were sent."""
        return [
            wire(sent)
            for sent in sorted(self.tape, key=lambda s: s.log_time)
            if sent.topic == topic and begin <= (sent.log_time - self.begin) / NS <= end
        ]

    @contextmanager
    def replaying(self, **arguments: Any) -> Iterator[Future[int]]:
        """Replay in a thread, to the end."""
        self._listen()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(
                replay,
                self.bag,
                domain_id=self.domain_id,
                **arguments,
            )
            self.until(
                lambda: future.done() or self.probe.node.count_publishers('/clock'), 'a clock'
            )
            yield future

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition."""
        self.probe.until(condition, 20.0, what)


def _type(record: object) -> str:
    return f'boundary_env_ros/msg/{type(record).__name__}'


@pytest.fixture(scope='module')
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return one stage for all of them."""
    with ExitStack() as stack:
        domain = stack.enter_context(reserved_domain())
        previous = dict(os.environ)
        os.environ.update(isolated_environment(domain))
        stack.callback(os.environ.update, previous)
        made = Stage(tmp_path_factory.mktemp('stage'), domain)
        stack.callback(made.probe.close)
        yield made


# What comes --------------------------------------------------------------------------------------


def test_every_message_comes_once_in_order_with_its_time_on_the_clock(stage: Stage) -> None:
    with stage.replaying(commands=True, rate=20.0) as future:
        assert future.result(60.0) == 0
    topics = {sent.topic for sent in stage.tape}
    stage.until(lambda: len(stage.heard) >= len(stage.tape), 'the last message')
    for topic in topics:
        assert stage.data(topic) == stage.recorded(topic), topic
    times = {sent.log_time for sent in stage.tape}
    stage.until(lambda: stage.clock[-1] >= max(times), 'the last time')
    assert stage.clock == sorted(stage.clock)
    assert times <= set(stage.clock)


def test_a_part_is_replayed_with_what_was_latched_before(stage: Stage) -> None:
    latched: list[Any] = []
    node = stage.probe.node
    topics = ['/scan', '/boundary/episode_status']
    # There before: a reader that comes late hears only what was latched last.
    subscription = node.create_subscription(
        msg.EpisodeStatus, '/boundary/episode_status', latched.append, names.LATCHED, raw=True
    )
    with stage.replaying(topics=topics, start=3.0, rate=10.0) as future:
        assert future.result(60.0) == 0
    stage.until(lambda: latched, 'what is latched')
    before = stage.recorded('/boundary/episode_status', 0.0, 3.0)
    assert latched[0] in before
    rest = stage.recorded('/scan', 3.0)
    stage.until(lambda: len(stage.data('/scan')) >= len(rest), 'the scans')
    assert stage.data('/scan') == rest
    assert {topic for topic, _ in stage.heard} == set(topics)
    node.destroy_subscription(subscription)


# Beside whom -------------------------------------------------------------------------------------


def test_what_moves_a_robot_is_not_published_unless_it_is_asked_for(stage: Stage) -> None:
    with pytest.raises(RecordError, match=r'/cmd_vel: it can move a robot; --commands'):
        replay(stage.bag, topics=[COMMAND])
    with stage.replaying(rate=50.0) as future:
        assert future.result(30.0) == 0
    stage.until(lambda: stage.data('/odom'), 'the odometry')
    assert stage.data(COMMAND) == []
    # Whose contract nobody knows, of that nobody knows what moves a robot.
    foreign = [sent for sent in stage.tape if sent.topic in (COMMAND, '/odom')]
    folder = stage.bag.parent / 'foreign'
    if not folder.exists():
        write_bag(folder, foreign)
    with pytest.raises(BoundaryError, match=r'which says what topics command the robot'):
        replay(folder)
    with pytest.raises(RecordError, match='can move a robot'):
        replay(folder, topics=[COMMAND], contract='warehouse_cart')


@pytest.mark.parametrize(
    ('kind', 'topic', 'arguments', 'says'),
    [
        (Clock, '/clock', {}, 'Another node publishes /clock: '),
        (TwistStamped, COMMAND, {'commands': True}, 'Another node publishes /cmd_vel'),
        (msg.GateStatus, '/a/gate_status', {'commands': True}, 'A safety gate runs where'),
        (Bool, '/contact', {}, r'Another node publishes /contact: .*--exclude'),
    ],
    ids=['a clock', 'a command', 'a gate', 'a sensor'],
)
def test_it_refuses_to_be_beside(
    stage: Stage, kind: Any, topic: str, arguments: dict[str, Any], says: str
) -> None:
    with publishing(stage, kind, topic), pytest.raises(LinkError, match=says):
        replay(stage.bag, **arguments, domain_id=stage.domain_id)


@contextmanager
def publishing(stage: Stage, kind: Any, topic: str) -> Iterator[None]:
    made = stage.probe.node.create_publisher(kind, topic, names.RECORD)
    try:
        yield
    finally:
        stage.probe.node.destroy_publisher(made)


def test_it_ends_when_another_clock_comes(stage: Stage) -> None:
    with (
        stage.replaying(rate=0.1) as future,
        publishing(stage, Clock, '/clock'),
        pytest.raises(LinkError, match='Another node publishes /clock'),
    ):
        future.result(20.0)
