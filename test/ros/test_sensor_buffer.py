# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One subscription for each topic; what came is decoded when it is polled at."""

from __future__ import annotations

from collections import deque
from functools import partial
import math
import time
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Header

from boundary_env_ros.core.contract.model import Qos
from boundary_env_ros.core.contract.sources import Joints
from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.core.sources.inputs import Input, Purpose
from boundary_env_ros.core.sources.listener import Listener
from boundary_env_ros.core.sources.readers import reader
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import Clock, Stamp
from boundary_env_ros.frozen import replace
from boundary_env_ros.ros.conversions import decoded, header_stamp, message_class
from boundary_env_ros.ros.executors import STAMPS_AT_TAKE
from boundary_env_ros.ros.sensor_buffer import SensorBuffer

INFO = {'source_timestamp': 5, 'received_timestamp': 7}


class Waiting(deque[tuple[bytes, Any]]):
    """What waits in a subscription, the newest of it."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def take_message(self, kind: Any, raw: bool) -> tuple[bytes, Any] | None:
        return self.popleft() if self else None


class Listening:
    """A node that is being configured; what a middleware would hand over is handed over here."""

    def __init__(self, pacing: Pacing) -> None:
        self.contract = SimpleNamespace(pacing=pacing, is_lockstep=pacing is Pacing.LOCKSTEP)
        self.callbacks: list[tuple[str, Any]] = []
        self.depths: list[int] = []
        self.unattended: dict[str, bool] = {}
        self.waiting: dict[str, Waiting] = {}
        self.warnings: list[str] = []

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.warnings.append)

    def topic_of(self, agent: str, topic: str) -> str:
        return topic

    def refuse(self, what: str, error: Exception) -> None:
        """Take note of nothing: what counts here is that it goes on."""

    def add_subscription(
        self, kind: Any, topic: str, callback: Any, qos: Any, *, raw: bool, unattended: bool
    ) -> Any:
        assert raw
        self.unattended[topic] = unattended
        self.callbacks.append((topic, callback))
        self.depths.append(qos.depth)
        self.waiting[topic] = Waiting(maxlen=qos.depth)
        return SimpleNamespace(handle=self.waiting[topic], msg_type=kind, raw=raw)

    def send(self, topic: str, data: bytes) -> None:
        for name, callback in self.callbacks:
            if name == topic and self.unattended[topic]:
                self.waiting[topic].append((data, INFO))
            elif name == topic:
                callback((data, INFO))  # as the EventsExecutor does


def joint(name: str, topic: str = 'joints', depth: int = 10) -> Input:
    read = reader(Joints(names=(name,), quantities=('position',)))
    return Input(
        purpose=Purpose.FIELD,
        name=name,
        topic=topic,
        at=topic,
        type='sensor_msgs/msg/JointState',
        read=lambda message: Reading(values=read(message)),
        qos=Qos(depth=depth),
    )


def stamp(nanoseconds: int | None) -> Stamp | None:
    if nanoseconds is None:
        return None
    return Stamp(clock=Clock.SYSTEM, nanoseconds=nanoseconds, host='here')


def state(second: int, frame: str = '', **positions: float) -> bytes:
    header = Header(stamp=Time(sec=second), frame_id=frame)
    return bytes(
        serialize_message(
            JointState(header=header, name=list(positions), position=list(positions.values()))
        )
    )


class Polled:
    """A buffer, and what was read from it."""

    def __init__(
        self, fields: list[Input], feedback: list[Input], pacing: Pacing = Pacing.REALTIME
    ) -> None:
        self.node = Listening(pacing)
        self.arrived: list[tuple[str, int | None]] = []
        self.steady: list[int] = []
        self.fields: dict[str, tuple[float, ...]] = {}
        self.feedback: list[tuple[str, tuple[float, ...]]] = []
        listener = Listener(
            [*fields, *(replace(item, purpose=Purpose.FEEDBACK) for item in feedback)],
            captured=stamp,
            middleware=stamp,
            decoder=lambda kind: partial(decoded, message_class(kind)),
            kept=10,
            refuse=lambda item, error: None,
        )
        self.buffer = SensorBuffer(
            self.node,  # type: ignore[arg-type]
            'cart',
            listener,
            arrived=self._on_arrival,
            due=lambda: None,
        )

    def _on_arrival(self, topic: str, captured: int | None, steady: int) -> bool:
        self.arrived.append((topic, captured))
        self.steady.append(steady)
        return False

    def _on_reading(self, item: Input, reading: Reading) -> None:
        assert (reading.published, reading.arrived) == (stamp(5), stamp(7))
        if item.purpose is Purpose.FIELD:
            self.fields[item.name] = reading.values
        else:
            self.feedback.append((item.name, reading.values))

    def poll(self) -> None:
        self.buffer.poll(self._on_reading, 0)


def test_a_topic_is_listened_to_once_however_many_read_it() -> None:
    polled = Polled([joint('a'), joint('b', depth=20)], [joint('a'), joint('b', 'others')])
    assert [topic for topic, _ in polled.node.callbacks] == ['joints', 'others']
    assert polled.node.depths == [20, 10]


def test_a_field_is_read_from_the_newest_message_and_feedback_from_every_one() -> None:
    polled = Polled([joint('a')], [joint('a'), joint('b', 'others')], Pacing.LOCKSTEP)
    polled.node.send('joints', state(1, a=1.0))
    polled.node.send('others', state(2, b=2.0))
    polled.node.send('joints', state(3, a=3.0))
    polled.poll()
    assert polled.fields == {'a': (3.0,)}
    # In the order in which they came, whatever their topic.
    assert polled.feedback == [('a', (1.0,)), ('b', (2.0,)), ('a', (3.0,))]
    assert polled.arrived == [('joints', 10**9), ('others', 2 * 10**9), ('joints', 3 * 10**9)]


def test_joints_of_two_drivers_on_one_topic_are_both_read() -> None:
    polled = Polled([joint('a'), joint('b')], [])
    polled.node.send('joints', state(1, a=1.0))
    polled.node.send('joints', state(2, b=2.0))
    polled.poll()
    assert polled.fields == {'a': (1.0,), 'b': (2.0,)}


def test_a_message_that_measured_nothing_leaves_the_one_before() -> None:
    polled = Polled([joint('a')], [])
    polled.node.send('joints', state(1, a=1.0))
    polled.node.send('joints', state(2, a=math.nan))
    polled.poll()
    assert polled.fields == {'a': (1.0,)}


def test_a_message_of_another_frame_is_read_and_warned_of_once() -> None:
    polled = Polled([replace(joint('a'), frames=frozenset(('', 'base')))], [])
    for second, frame in enumerate(('', 'base', 'map', 'map'), start=1):
        polled.node.send('joints', state(second, frame, a=float(second)))
        polled.poll()
        assert len(polled.node.warnings) == (second > 2)
    assert polled.fields == {'a': (4.0,)}
    assert "(a; expected 'base', got 'map')" in polled.node.warnings[0]


@pytest.mark.parametrize('pacing', list(Pacing))
def test_what_only_the_newest_counts_of_wakes_nobody_in_realtime(pacing: Pacing) -> None:
    fields = [joint('a'), joint('b', 'others'), joint('c', 'others')]
    polled = Polled(fields, [joint('a')], pacing)
    # Where the middleware knows when a message came.
    unattended = pacing is Pacing.REALTIME and not STAMPS_AT_TAKE
    assert polled.node.unattended == {'joints': False, 'others': unattended}


def test_a_shallow_queue_holds_what_each_field_of_a_topic_is_read_from() -> None:
    polled = Polled([joint('a', depth=1), joint('b', depth=1)], [])
    polled.node.send('joints', state(1, b=1.0))
    polled.node.send('joints', state(2, a=2.0))
    polled.node.send('joints', state(3, a=math.nan))
    polled.poll()
    assert polled.fields == {'a': (2.0,), 'b': (1.0,)}


def test_a_message_that_an_executor_handed_over_came_after_the_last_poll() -> None:
    # By the system clock, which was set since, it came before anything.
    polled = Polled([joint('a')], [joint('b', 'others')])
    polled.poll()
    before = time.monotonic_ns()
    polled.poll()
    polled.node.send('others', state(1, b=1.0))
    assert before <= polled.steady[-1] <= time.monotonic_ns()


def test_what_nobody_looks_at_does_not_pile_up() -> None:
    polled = Polled([joint('a', depth=1000), joint('b')], [])
    polled.node.send('joints', state(1, b=1.0))
    for second in range(2, 100):
        polled.node.send('joints', state(second, a=float(second)))
    polled.poll()
    assert polled.fields == {'a': (99.0,)}


def test_what_was_polled_at_is_not_read_again() -> None:
    polled = Polled([joint('a')], [joint('a')])
    polled.node.send('joints', state(1, a=1.0))
    polled.poll()
    polled.fields.clear()
    polled.feedback.clear()
    polled.poll()
    assert (polled.fields, polled.feedback) == ({}, [])


@pytest.mark.parametrize('data', [b'', b'\0\1\0\0', b'\xff' * 64])
def test_bytes_that_are_no_message_are_passed_over(data: bytes) -> None:
    polled = Polled([joint('a')], [joint('a')])
    polled.node.send('joints', state(1, a=1.0))
    polled.node.send('joints', data)
    polled.poll()
    assert polled.fields == {'a': (1.0,)}


@pytest.mark.parametrize('seconds', [0, 1, 2**31 - 1])
def test_the_stamp_is_read_from_the_bytes(seconds: int) -> None:
    data = state(seconds, a=1.0)
    assert header_stamp(JointState)(data) == (seconds * 10**9 or None)
    big = b'\0\0\0\0' + seconds.to_bytes(4, 'big') + (7).to_bytes(4, 'big')
    assert header_stamp(JointState)(big) == seconds * 10**9 + 7
    assert header_stamp(Bool)(bytes(serialize_message(Bool(data=True)))) is None
