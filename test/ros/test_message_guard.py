# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The guard of a node's callbacks: what cannot be read, or comes too often, is refused."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from rcl_interfaces.msg import SetParametersResult
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from std_srvs.srv import Trigger

from boundary_env_ros.errors import RecordError, ResultCode
from boundary_env_ros.ros import message_guard
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.message_guard import Budget, Incoming


class Node:
    """What the guard uses of a node."""

    def __init__(self) -> None:
        self.logged: list[str] = []

    def get_logger(self) -> Any:
        return SimpleNamespace(error=self.logged.append)

    def resolve_topic_name(self, name: str) -> str:
        return f'/{name}'


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return a clock that only the test moves."""
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(message_guard.time, 'monotonic', lambda: made.now)
    return made


@pytest.mark.parametrize('error', [RecordError('Expect more.'), KeyError('x'), MemoryError()])
def test_whatever_reading_a_message_raises_is_a_refusal(node: Node, error: Exception) -> None:
    def read(message: Any) -> None:
        raise error

    guard = Incoming(node)
    hear = guard.subscription('scan', String, read, 0.0)
    for _ in range(3):
        hear(serialize_message(String(data='x')))
    assert guard.refused == 3
    [logged] = node.logged  # once in a while
    assert 'scan: ' in logged
    assert str(error) in logged


def test_bytes_that_are_no_message_are_a_refusal(node: Node) -> None:
    heard: list[str] = []
    guard = Incoming(node)
    hear = guard.subscription('text', String, lambda m: heard.append(m.data), 0.0)
    whole = serialize_message(String(data='abc'))
    for data in (b'', whole[:6], whole.replace(b'\x04', b'\xff'), whole):
        hear(data)
    assert heard == ['abc']
    assert guard.refused == 3


def test_both_executors_may_hand_over_what_the_middleware_says(node: Node) -> None:
    heard: list[Any] = []
    hear = Incoming(node).subscription('text', None, lambda *given: heard.append(given), 0.0)
    hear(b'bytes')
    hear(b'bytes', {'source_timestamp': 1})
    hear((b'bytes', {'source_timestamp': 1}))
    assert heard == [(b'bytes',), *[(b'bytes', {'source_timestamp': 1})] * 2]


def test_a_request_that_cannot_be_taken_is_answered(node: Node) -> None:
    def fail(request: Any, response: Any) -> Any:
        response.success = True
        raise ValueError('no such thing')

    guard = Incoming(node)
    answer = guard.service('stop', Trigger, fail, 0.0)(Trigger.Request(), Trigger.Response())
    assert (answer.success, answer.message) == (False, 'no such thing')
    answer = guard.service('arm', srv.Arm, fail, 0.0)(srv.Arm.Request(), srv.Arm.Response())
    assert answer.result.code == ResultCode.INVALID_ARGUMENT
    assert answer.result.message.startswith("'Arm_Response' object has no attribute 'success'")


def test_a_service_that_waits_is_guarded_as_well(node: Node) -> None:
    async def fail(request: Any, response: Any) -> Any:
        raise ValueError('no such thing')

    guarded = Incoming(node).service('stop', Trigger, fail, 0.0)
    answer = asyncio.run(guarded(Trigger.Request(), Trigger.Response()))
    assert (answer.success, answer.message) == (False, 'no such thing')


def test_a_parameter_that_cannot_be_taken_is_refused(node: Node) -> None:
    def fail(parameters: list[Any]) -> SetParametersResult:
        raise TypeError('no array')

    result = Incoming(node).parameters(fail)([])
    assert (result.successful, result.reason) == (False, 'no array')


def test_a_flood_is_refused_unread_and_what_is_urgent_goes_before_it(
    node: Node, clock: SimpleNamespace
) -> None:
    heard: list[Any] = []
    looked: list[float] = []
    guard = Incoming(node, lambda: looked.append(clock.now))
    hear = guard.subscription('request', None, heard.append, 100.0)
    for _ in range(1000):
        clock.now += 0.001
        hear(b'')
    assert len(heard) == pytest.approx(100, abs=10)
    assert guard.refused == 1000 - len(heard)
    assert len(looked) == 1000
    assert 'more than 100 messages came within a second' in node.logged[0]
    served = Incoming(node).service('stop', Trigger, lambda _, r: r, 10.0)
    served(Trigger.Request(), Trigger.Response())
    assert 'requests came' in served(Trigger.Request(), Trigger.Response()).message


def test_a_budget_without_a_rate_has_no_end() -> None:
    budget = Budget(0.0)
    assert all(budget.spend() for _ in range(10_000))
