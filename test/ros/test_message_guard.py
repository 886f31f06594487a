# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The guard of a node's callbacks: what cannot be read, or comes too often, is refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from boundary_env_ros.core.records.decision import RuleInput

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from rcl_interfaces.msg import SetParametersResult
from rclpy.serialization import serialize_message
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from boundary_env_ros import __version__
from boundary_env_ros.core.gate.rules.admission import LAST_STEP, well_formed
from boundary_env_ros.core.records.decision import (
    ActionRequest,
    GateDecision,
    Reason,
    RuleResult,
    RuntimeLimits,
    SentCommand,
    Verdict,
)
from boundary_env_ros.core.records.decision import Trigger as Cause
from boundary_env_ros.core.records.parts import KeyValue, StepId
from boundary_env_ros.core.sources import json_documents
from boundary_env_ros.core.sources.inputs import image_fields
from boundary_env_ros.core.timebase import Clock, ClockReading, Stamp
from boundary_env_ros.errors import RecordError, ResultCode
from boundary_env_ros.ros import conversions, message_guard
from boundary_env_ros.ros.conversions import header_stamp, message_of, to_msg
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.message_guard import (
    Budget,
    Incoming,
    MOST_BYTES,
    most_of_decision,
    most_of_request,
)
from boundary_env_ros.storage.contract_file import load


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
    for data in (b'', whole[:3], whole[:6], whole.replace(b'\x04', b'\xff'), whole):
        hear(data)
    assert heard == ['abc']
    assert guard.refused == 4


@pytest.mark.parametrize('kind', [String, TFMessage])
@pytest.mark.parametrize('data', [b'', b'\0', b'\0\1\0'])
def test_no_middleware_is_given_less_than_a_message_can_be(
    monkeypatch: pytest.MonkeyPatch, kind: Any, data: bytes
) -> None:
    # One of them makes an empty message of it, or ends the process.
    monkeypatch.setattr(conversions, 'deserialize_message', lambda data, kind: kind())
    with pytest.raises(RecordError, match=rf'^{len(data)} bytes cannot be read'):
        message_of(kind, data)
    assert header_stamp(kind)(data) is None


def test_an_interrupt_while_a_message_is_read_is_one(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise TypeError('Unable to convert function return value') from KeyboardInterrupt()

    monkeypatch.setattr(conversions, 'deserialize_message', read)
    guard = Incoming(node)
    with pytest.raises(KeyboardInterrupt):
        guard.subscription('text', String, lambda message: None, 0.0)(b'bytes')
    assert guard.refused == 0


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


def test_what_is_too_large_is_refused_unread_and_the_next_is_heard(node: Node) -> None:
    heard: list[Any] = []
    guard = Incoming(node)
    hear = guard.subscription('request', String, lambda m: heard.append(m.data), 0.0, 100)
    largest, next_one = String(data='x' * 91), String(data='y')
    assert len(serialize_message(largest)) == 100
    for taken in (b'\0' * 101, (b'\0' * 101, {'source_timestamp': 1})):
        hear(taken)
    hear(serialize_message(largest))
    hear(serialize_message(next_one))
    assert heard == [largest.data, next_one.data]
    assert guard.refused == 2
    [logged] = node.logged
    assert logged.startswith(
        'request: the message is too large (expected at most 100 bytes, got 101).'
    )


def test_a_request_of_a_service_with_a_text_without_end_is_answered_unread(node: Node) -> None:
    def arm(request: Any, response: Any) -> Any:
        response.lease_id = 'yours'
        return response

    armed = Incoming(node).service('arm', srv.Arm, arm, 0.0)
    longest = srv.Arm.Request(client='x' * MOST_BYTES)
    assert armed(longest, srv.Arm.Response()).lease_id == 'yours'
    longest.client += 'x'
    answer = armed(longest, srv.Arm.Response())
    assert answer.lease_id == ''
    assert answer.result.code == ResultCode.INVALID_ARGUMENT
    assert answer.result.message == (
        f'client is too long (expected at most {MOST_BYTES} characters, got {MOST_BYTES + 1}).'
    )


# The longest honest messages ---------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
CONTRACTS = sorted(
    file
    for folder in ('config', 'examples', 'test/storage/good_contracts')
    for file in (ROOT / folder).rglob('*.yaml')
    if file.read_text(encoding='utf-8').find('\ncontract: ') >= 0
    or file.read_text(encoding='utf-8').startswith('contract: ')
)
#: A name of a host, a client or a version is no longer.
NAME = 'x' * 1000


def test_all_shipped_contracts_are_looked_at() -> None:
    found = {file.stem for file in CONTRACTS}
    assert {'warehouse_cart', 'door_arm', 'two_carts', 'rover', 'invoice_desk'} <= found


@pytest.mark.parametrize('file', CONTRACTS, ids=lambda file: file.stem)
@pytest.mark.parametrize('horizon', [None, 5000])
def test_no_honest_message_is_too_large(file: Path, horizon: int | None) -> None:
    loaded = load(file)
    contract = replace(loaded.contract, horizon=horizon or loaded.contract.horizon)
    instant = ClockReading(
        ros=Stamp(clock=Clock.SYSTEM, nanoseconds=2**62, host=NAME), steady=2**62
    )
    id_ = StepId(digest=loaded.digest, agent=NAME, episode_id=NAME, step=LAST_STEP)
    request = ActionRequest(
        id=id_,
        lease_id=NAME,
        sequence=LAST_STEP,
        action=(math.nan,) * (contract.horizon * contract.action_size),
        observed=instant,
        delivered=instant,
        requested=instant,
        client=NAME,
        client_version=__version__,
        horizon=contract.horizon,
        unresolved=tuple(field.name for field in image_fields(contract)),
        metadata=tuple(KeyValue(key=f'{NAME}{i}', value=NAME) for i in range(20)),
        payload='x' * json_documents.MOST_BYTES if contract.documents else '',
        authentication=bytes(64),
    )
    assert len(serialize_message(to_msg(request))) <= most_of_request(contract)

    command = (math.nan,) * contract.command_size
    results = tuple(
        RuleResult(rule=f'obstacle_slow.{NAME}', outcome=Verdict.LIMITED, reason=Reason(1))
        for _ in range(12 * contract.command_size)
    )
    limits = RuntimeLimits(low=command, high=command, rate=command)
    decision = GateDecision(
        id=id_,
        sequence=LAST_STEP,
        verdict=Verdict.REJECTED,
        inputs=RuleInput(
            trigger=Cause.REQUEST,
            time_step=0.1,
            previous_command=command,
            previous_rate=command,
            previous_acceleration=command,
            recent_commands=(SentCommand(age=1.0, command=command),) * 100,
            lease_id=NAME,
            lease_episode=NAME,
        ),
        request=request,
        received=instant,
        decided=instant,
        commanded=instant,
        admitted_action=request.action,
        requested_command=command,
        command=command,
        rules=(
            *well_formed(request.action, contract.action_size, contract.horizon, contract.horizon),
            *results,
        ),
        runtime_limits=limits,
    )
    assert len(serialize_message(to_msg(decision))) <= most_of_decision(contract)
    described = loaded.described(NAME, NAME)
    assert len(serialize_message(to_msg(described))) <= MOST_BYTES
