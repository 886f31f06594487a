# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gazebo's own transport: its requests, and its messages as a Fortress server said them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
import json
import math
from pathlib import Path
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from boundary_env_ros.errors import MissingDependency, SimulationFailed
from boundary_env_ros.simulation.gazebo.transport import (
    COMMAND,
    FIELDS,
    Relay,
    time_ns,
    Transport,
    WorldServices,
)
from boundary_env_ros.simulation.messages import WIRE

SAID: dict[str, Any] = json.loads(
    Path(__file__).with_name('gazebo_messages.json').read_text(encoding='utf-8')
)


class Message(SimpleNamespace):
    """A message whose nested ones are there as soon as they are asked for."""

    def __getattr__(self, name: str) -> Message:
        nested = Message()
        setattr(self, name, nested)
        return nested


class FakeNode:
    """Gazebo's node, with one server that answers as it is told."""

    answer: tuple[bool, bool] = (True, True)

    def __init__(self) -> None:
        self.asked: list[tuple[str, Message]] = []
        self.published: list[Message] = []
        nodes.append(self)

    def advertise(self, topic: str, kind: type) -> SimpleNamespace:
        assert (topic, kind.__name__) == (COMMAND, 'Twist')
        return SimpleNamespace(publish=self.published.append)

    def request(
        self, service: str, request: Message, kind: type, answer: type, timeout: int
    ) -> tuple[bool, Message]:
        assert isinstance(request, kind)
        assert (answer.__name__, timeout) == ('Boolean', 5000)
        self.asked.append((service, request))
        done, data = self.answer
        return done, answer(data=data)


nodes: list[FakeNode] = []


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeNode]]:
    """Install the bindings of Ionic, whose modules have numbers."""
    for name in ('gz', 'gz.transport14', 'gz.msgs11'):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules['gz.transport14'], 'Node', FakeNode, raising=False)
    for kind in ('Twist', 'WorldControl', 'Pose', 'Boolean', 'LaserScan'):
        file = 'world_control' if kind == 'WorldControl' else kind.lower()
        module = ModuleType(f'gz.msgs11.{file}_pb2')
        setattr(module, kind, type(kind, (Message,), {}))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    nodes.clear()
    yield nodes
    nodes.clear()


def test_without_bindings_it_says_which_are_needed() -> None:
    with pytest.raises(MissingDependency, match=r'gz\.transport13, got none\)\. Install'):
        Transport()


def test_messages_are_those_of_the_release_that_is_installed(installed: list[FakeNode]) -> None:
    kind = Transport().kind('gz.msgs.LaserScan')
    assert kind.__name__ == 'LaserScan'
    assert len(installed) == 1


def test_the_world_is_stepped_and_the_cart_placed_and_driven(installed: list[FakeNode]) -> None:
    services = WorldServices('hall', 5.0)
    services.drive(0.3, -0.1)
    services.control('step', pause=True, multi_step=50)
    services.place('cart', 1.0, -2.0, 0.1, math.pi)
    (node,) = installed
    (twist,) = node.published
    assert (twist.linear.x, twist.angular.z) == (0.3, -0.1)
    (service, control), (other, pose) = node.asked
    assert (service, other) == ('/world/hall/control', '/world/hall/set_pose')
    assert vars(control) == {'pause': True, 'multi_step': 50}
    assert (pose.name, pose.position.x, pose.position.y) == ('cart', 1.0, -2.0)
    assert (pose.orientation.z, pose.orientation.w) == pytest.approx((1.0, 0.0))


@pytest.mark.parametrize(
    ('answer', 'said'),
    [
        ((False, False), r'control did not answer within 5 s, which is needed to step'),
        ((True, False), r'refused to step \(/world/hall/control\)'),
    ],
)
def test_no_answer_and_a_refusal_are_told(
    installed: list[FakeNode],
    monkeypatch: pytest.MonkeyPatch,
    answer: tuple[bool, bool],
    said: str,
) -> None:
    monkeypatch.setattr(FakeNode, 'answer', answer)
    with pytest.raises(SimulationFailed, match=said):
        WorldServices('hall', 5.0).control('step', pause=True, multi_step=1)


# What is passed on -------------------------------------------------------------------------------

STEP = 2_000_000
JOINTS, SCAN = 'gz.msgs.Model', 'gz.msgs.LaserScan'


class Told(list[int]):
    """The times that a relay told, on a clock that is moved."""

    steady = 0.0

    def relay(self) -> Relay:
        return Relay(50.0, self.append, lambda: self.steady)


def test_the_time_is_told_at_every_second_step_and_where_the_world_stands() -> None:
    told = Told()
    relay = told.relay()
    for now in (*range(0, 7 * STEP, STEP), 6 * STEP, 6 * STEP):
        relay.on_clock(now)
    assert told == [0, 2 * STEP, 4 * STEP, 6 * STEP]
    relay.on_clock(7 * STEP)
    relay.on_clock(7 * STEP)
    assert told[-1] == 7 * STEP
    told.steady = 0.2
    relay.on_clock(7 * STEP)
    assert told[-2:] == [7 * STEP, 7 * STEP]


def test_the_time_of_a_world_that_began_anew_is_told() -> None:
    told = Told()
    relay = told.relay()
    relay.on_clock(5_000_000_000)
    relay.on_clock(0)
    assert told == [5_000_000_000, 0]


def test_a_message_that_is_ahead_of_the_clock_follows_its_time() -> None:
    # Seen: in realtime sensors overtook the clock, and 118 measurements were after their step.
    told = Told()
    passed: list[str] = []
    relay = told.relay()
    relay.on_clock(0)
    relay.pass_on('scan', SCAN, 3 * STEP, partial(passed.append, 'scan'))
    assert (told, passed) == ([0, 3 * STEP], [])
    relay.on_clock(4 * STEP)
    relay.pass_on('odom', 'gz.msgs.Odometry', 4 * STEP, partial(passed.append, 'odom'))
    assert passed == []
    relay.on_clock(6 * STEP)
    assert (told, passed) == ([0, 3 * STEP, 4 * STEP, 6 * STEP], ['scan', 'odom'])


def test_where_the_world_stands_all_that_was_measured_comes() -> None:
    told = Told()
    passed: list[str] = []
    relay = told.relay()
    relay.on_clock(0)
    relay.on_clock(2 * STEP)
    relay.pass_on('scan', SCAN, 2 * STEP, partial(passed.append, 'scan'))
    relay.on_clock(2 * STEP)
    assert passed == ['scan']


def test_joint_states_come_at_their_rate_and_nothing_comes_twice() -> None:
    # Seen: about 460 a second, also while the world is paused.
    relay = Told().relay()
    passed: list[tuple[str, int]] = []

    def say(topic: str, kind: str, n: int) -> None:
        relay.pass_on(topic, kind, n * STEP, partial(passed.append, (topic, n)))

    for n in range(31):
        say('joint_states', JOINTS, n)
    say('joint_states', JOINTS, 30)
    say('scan', SCAN, 30)
    say('scan', SCAN, 30)
    for _ in range(3):
        relay.on_clock(30 * STEP)
    assert passed == [('joint_states', n) for n in (0, 10, 20, 30)] + [('scan', 30)]


# Messages as a server said them ------------------------------------------------------------------


def _message(plain: Any) -> Any:
    if isinstance(plain, dict):
        if 'stamp' in plain:
            plain = {'data': [], **plain}
        return Message(**{name: _message(value) for name, value in plain.items()})
    return [_message(value) for value in plain] if isinstance(plain, list) else plain


@pytest.fixture(params=sorted({*SAID} - {'/clock'}))
def said(request: pytest.FixtureRequest) -> tuple[str, str, Any]:
    """Topic, type and message; of the camera two pixels, of the scan four ranges."""
    message = _message(SAID[request.param]['message'])
    if 'data' in vars(message):
        message.data = bytes.fromhex(message.data)
    return request.param, SAID[request.param]['type'], message


def test_a_message_fills_the_ros_message_of_its_topic(said: tuple[str, str, Any]) -> None:
    topic, kind, message = said
    conversions = pytest.importorskip(
        'boundary_env_ros.ros.conversions', reason='needs boundary_env_ros[ros]'
    )
    types = dict(WIRE.values())
    filled = conversions.fill(conversions.message_class(types[topic])(), FIELDS[kind](message))
    at = filled.header.stamp
    assert at.sec * 1_000_000_000 + at.nanosec == time_ns(message.header.stamp)


def test_numbers_stay_where_they_are() -> None:
    def fields(topic: str) -> Any:
        message = _message(SAID[topic]['message'])
        return FIELDS[SAID[topic]['type']](message)

    assert time_ns(_message(SAID['/clock']['message']).sim) == 12_432_000_000
    odometry = fields('odom')
    assert (odometry['header']['frame_id'], odometry['child_frame_id']) == ('hall', 'base_link')
    assert odometry['pose']['pose']['position']['x'] == -1.5e-05
    scan = fields('scan')
    assert scan['ranges'] == pytest.approx([1.587, 1.582, 1.598, 1.614], abs=1e-3)
    assert (scan['range_min'], scan['range_max'], scan['angle_increment']) == (0.1, 8.0, 0.034907)
    assert fields('imu')['linear_acceleration']['z'] == pytest.approx(9.81, abs=0.2)
    joints = fields('joint_states')
    assert joints['name'] == ['left_wheel_joint', 'right_wheel_joint']
    assert joints['position'] == [-0.000152, -0.000152]


def test_a_stamp_was_ahead_of_the_clock_that_came_with_it() -> None:
    clock, joints = (_message(SAID[topic]['message']) for topic in ('/clock', 'joint_states'))
    assert time_ns(joints.header.stamp) > time_ns(clock.sim)
