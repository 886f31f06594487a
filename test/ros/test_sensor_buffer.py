# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One subscription for each topic; what came is decoded when it is looked at."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Header

from boundary_env_ros.core.contract.model import Pacing, Qos
from boundary_env_ros.core.contract.sources import Joints
from boundary_env_ros.core.sources.inputs import Input
from boundary_env_ros.core.sources.readers import reader, Reading, stamp_of
from boundary_env_ros.ros.conversions import header_stamp
from boundary_env_ros.ros.sensor_buffer import SensorBuffer

INFO = {'source_timestamp': 5, 'received_timestamp': 7}


class Listening:
    """A node that is being configured; what a middleware would hand over is handed over here."""

    contract = SimpleNamespace(pacing=Pacing.REALTIME)

    def __init__(self) -> None:
        self.callbacks: list[tuple[str, Any]] = []
        self.depths: list[int] = []
        self.warnings: list[str] = []

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.warnings.append)

    def topic_of(self, agent: str, topic: str) -> str:
        return topic

    def refuse(self, what: str, error: Exception) -> None:
        """Take note of nothing: what counts here is that it goes on."""

    def add_subscription(
        self, kind: Any, topic: str, callback: Any, qos: Any, *, raw: bool
    ) -> Any:
        assert raw
        self.callbacks.append((topic, callback))
        self.depths.append(qos.depth)
        return SimpleNamespace(handle=None)

    def send(self, topic: str, data: bytes) -> None:
        for name, callback in self.callbacks:
            if name == topic:
                callback((data, INFO))  # as the EventsExecutor does


def joint(name: str, topic: str = 'joints', depth: int = 10) -> Input:
    read = reader(Joints(names=(name,), quantities=('position',)))
    return Input(
        name=name,
        topic=topic,
        type='sensor_msgs/msg/JointState',
        read=lambda message: Reading(values=read(message), stamp=stamp_of(message)),
        qos=Qos(depth=depth),
    )


def state(second: int, frame: str = '', **positions: float) -> bytes:
    header = Header(stamp=Time(sec=second), frame_id=frame)
    return bytes(
        serialize_message(
            JointState(header=header, name=list(positions), position=list(positions.values()))
        )
    )


class Looked:
    """A buffer, and what was read from it."""

    def __init__(self, fields: list[Input], feedback: list[Input]) -> None:
        self.node = Listening()
        self.heard: list[tuple[str, int | None]] = []
        self.fields: dict[str, tuple[float, ...]] = {}
        self.feedback: list[tuple[str, tuple[float, ...]]] = []
        self.buffer = SensorBuffer(
            self.node,  # type: ignore[arg-type]
            'cart',
            fields=fields,
            feedback=feedback,
            heard=self._on_heard,
            stamped=True,
            due=lambda: None,
            unusable=lambda name, why: None,
        )

    def _on_heard(self, topic: str, stamp: int | None, steady: int) -> bool:
        self.heard.append((topic, stamp))
        return False

    def look(self) -> None:
        def on_field(name: str, reading: Reading, arrival: Any) -> bool:
            assert (arrival.published, arrival.arrived) == (5, 7)
            self.fields[name] = reading.values
            return reading.values != (0.0,)

        self.buffer.look(on_field, lambda name, r: self.feedback.append((name, r.values)))


def test_a_topic_is_listened_to_once_however_many_read_it() -> None:
    looked = Looked([joint('a'), joint('b', depth=20)], [joint('a'), joint('b', 'others')])
    assert [topic for topic, _ in looked.node.callbacks] == ['joints', 'others']
    assert looked.node.depths == [20, 10]


def test_a_field_is_read_from_the_newest_message_and_feedback_from_every_one() -> None:
    looked = Looked([joint('a')], [joint('a'), joint('b', 'others')])
    looked.node.send('joints', state(1, a=1.0))
    looked.node.send('others', state(2, b=2.0))
    looked.node.send('joints', state(3, a=3.0))
    looked.look()
    assert looked.fields == {'a': (3.0,)}
    # In the order in which they came, whatever their topic.
    assert looked.feedback == [('a', (1.0,)), ('b', (2.0,)), ('a', (3.0,))]
    assert looked.heard == [('joints', 10**9), ('others', 2 * 10**9), ('joints', 3 * 10**9)]


def test_joints_of_two_drivers_on_one_topic_are_both_read() -> None:
    looked = Looked([joint('a'), joint('b')], [])
    looked.node.send('joints', state(1, a=1.0))
    looked.node.send('joints', state(2, b=2.0))
    looked.look()
    assert looked.fields == {'a': (1.0,), 'b': (2.0,)}


def test_a_message_that_measured_nothing_leaves_the_one_before() -> None:
    looked = Looked([joint('a')], [])
    looked.node.send('joints', state(1, a=1.0))
    looked.node.send('joints', state(2, a=0.0))
    looked.look()
    assert looked.fields == {'a': (1.0,)}


def test_a_message_of_another_frame_is_read_and_warned_of_once() -> None:
    looked = Looked([replace(joint('a'), frames=frozenset(('', 'base')))], [])
    for second, frame in enumerate(('', 'base', 'map', 'map'), start=1):
        looked.node.send('joints', state(second, frame, a=float(second)))
        looked.look()
        assert len(looked.node.warnings) == (second > 2)
    assert looked.fields == {'a': (4.0,)}
    assert "(a; expected 'base', got 'map')" in looked.node.warnings[0]


def test_what_nobody_looks_at_does_not_pile_up() -> None:
    looked = Looked([joint('a', depth=1000), joint('b')], [])
    looked.node.send('joints', state(1, b=1.0))
    for second in range(2, 100):
        looked.node.send('joints', state(second, a=float(second)))
    looked.look()
    assert looked.fields == {'a': (99.0,)}


def test_what_was_looked_at_is_not_read_again() -> None:
    looked = Looked([joint('a')], [joint('a')])
    looked.node.send('joints', state(1, a=1.0))
    looked.look()
    looked.fields.clear()
    looked.feedback.clear()
    looked.look()
    assert (looked.fields, looked.feedback) == ({}, [])


@pytest.mark.parametrize('data', [b'', b'\0\1\0\0', b'\xff' * 64])
def test_bytes_that_are_no_message_are_passed_over(data: bytes) -> None:
    looked = Looked([joint('a')], [joint('a')])
    looked.node.send('joints', state(1, a=1.0))
    looked.node.send('joints', data)
    looked.look()
    assert looked.fields == {'a': (1.0,)}


@pytest.mark.parametrize('seconds', [0, 1, 2**31 - 1])
def test_the_stamp_is_read_from_the_bytes(seconds: int) -> None:
    data = state(seconds, a=1.0)
    assert header_stamp(JointState)(data) == (seconds * 10**9 or None)
    big = b'\0\0\0\0' + seconds.to_bytes(4, 'big') + (7).to_bytes(4, 'big')
    assert header_stamp(JointState)(big) == seconds * 10**9 + 7
    assert header_stamp(Bool)(bytes(serialize_message(Bool(data=True)))) is None
