# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nothing that arrives ends a node: no message, request, parameter, nor what a robot raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import gc
import inspect
import math
from pathlib import Path
from typing import Any, NoReturn

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message

from boundary_env_ros.errors import SimulationFailed
from boundary_env_ros.ros import message_guard
from boundary_env_ros.ros.contract_node import ContractNode
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.ros.nodes.environment import EnvironmentNode
from boundary_env_ros.ros.nodes.policy_server import PolicyServer
from boundary_env_ros.ros.nodes.recorder import Recorder
from boundary_env_ros.ros.nodes.safety_gate import SafetyGate
from boundary_env_ros.ros.nodes.simulated_robot import SimulatedRobotNode
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.ros.recorded_topics import RawMessage
from support.extremes import extremes
from support.ros_world import CYCLONE_DDS, reserved_domain, write_contract

pytestmark = pytest.mark.ros

EVERY_SENSOR = Path(__file__).parents[1] / 'storage/good_contracts/every_sensor.yaml'
NODES = (SafetyGate, EnvironmentNode, SimulatedRobotNode, Recorder, PolicyServer)
INFO = {'source_timestamp': 1, 'received_timestamp': 2}


@pytest.fixture(scope='module')
def domain() -> Iterator[int]:
    """Return a domain; a lifecycle node holds its ports until it is collected, with a cycle."""
    with reserved_domain() as number:
        yield number
        gc.unfreeze()  # what is active freezes itself
        gc.collect()


@pytest.fixture(params=['realtime', 'lockstep'])
def pacing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def contract() -> Path | None:
    """Return the contract of the node, if it is not the shipped one."""
    return None


@pytest.fixture(params=NODES, ids=lambda kind: kind.__name__)
def node(
    request: pytest.FixtureRequest,
    pacing: str,
    domain: int,
    contract: Path | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[ContractNode]:
    """Return an active node of each kind, in this process, whose budgets have no end."""
    monkeypatch.setattr(message_guard.Budget, 'spend', lambda _: True)
    file = contract or write_contract(
        tmp_path / 'contract.yaml', {'recorder': {'required': False}}
    )
    values = {'contract': str(file), 'pacing': pacing, 'run': str(tmp_path / 'run')}
    arguments = [part for key, value in values.items() for part in ('-p', f'{key}:={value}')]
    for key, value in isolated_environment(domain).items():
        monkeypatch.setenv(key, value)
    rclpy.init(args=['--ros-args', *arguments, '--log-level', 'fatal'], domain_id=domain)
    made = request.param()
    try:
        assert made.trigger_configure() is TransitionCallbackReturn.SUCCESS
        assert made.trigger_activate() is TransitionCallbackReturn.SUCCESS
        yield made
    finally:
        made.finish()
        made.destroy_node()
        rclpy.shutdown()
        # It is the process's: other tests look at what is logged.
        set_logger_level('', LoggingSeverity.INFO)


def known(node: ContractNode) -> dict[str, str]:
    """Return texts by which a message looks as if it belonged here."""
    return {'digest': node.loaded.digest, 'agent': node.contract.agents[0]}


def lives(node: ContractNode) -> None:
    """Check that what arrived has left the node in a state in which its timers work."""
    for timer in list(node._periodic):
        timer.callback()
    assert not node.broken
    assert node.loaded


def doors(node: ContractNode) -> list[tuple[Any, Callable[[bytes], object]]]:
    """Return the type of the messages of each subscription, and what takes their bytes."""
    if isinstance(node, Recorder):
        assert node._raw is not None
        return [
            (
                message_class(topic.type),
                lambda data, topic=topic: node._write(RawMessage(topic, data, 1, 2)),
            )
            for topic in node._raw._made
        ]

    def door(subscription: Any) -> Callable[[bytes], object]:
        two = len(inspect.signature(subscription.callback).parameters) == 2
        return lambda data: subscription.callback(*((data, INFO) if two else (data,)))

    # Those that are left to be polled, too.
    of = Node.subscriptions.fget
    found = list(of(node))
    if isinstance(node, PolicyServer):
        worlds = [agent.world._own.node for agent in node._agents]
        # That of the clock is rclpy's own, and decodes in its executor.
        found += [s for each in worlds for s in of(each) if s.raw]
    return [(subscription.msg_type, door(subscription)) for subscription in found]


def test_no_message_ends_a_node(node: ContractNode) -> None:
    found = doors(node)
    assert found
    for kind, take in found:
        for number, data in enumerate(extremes(kind, known(node))):
            take(data)
            if not number % 40:
                lives(node)
        lives(node)
    if isinstance(node, Recorder):
        assert node.recording.lost
        assert node.writer.failure is None
    else:
        assert node.refused


@pytest.mark.parametrize('pacing', ['realtime'])
@pytest.mark.parametrize('contract', [EVERY_SENSOR], ids=['every_sensor'])
@pytest.mark.parametrize(
    'node', [SafetyGate, Recorder], indirect=True, ids=lambda kind: kind.__name__
)
def test_no_message_of_any_sensor_ends_a_node(node: ContractNode) -> None:
    test_no_message_ends_a_node(node)


#: Those whose services do not wait for the other nodes.
_AT_ONCE = (SafetyGate, EnvironmentNode, SimulatedRobotNode, Recorder)

#: What changes the life of a node, or is answered by rclpy's C code.
_PASSED_OVER = ('/change_state', '/get_type_description')

#: Requests that come as far as a node. Cyclone DDS refuses a text that has no end itself.
_LEAST_ASKED = 350 if CYCLONE_DDS else 500


@pytest.mark.parametrize('node', _AT_ONCE, indirect=True, ids=lambda kind: kind.__name__)
def test_no_request_ends_a_node_and_each_is_answered(node: ContractNode) -> None:
    asked = 0
    for service in list(node.services):
        if service.service_name.endswith(_PASSED_OVER):
            continue
        kind = service.srv_type
        for data in extremes(kind.Request, known(node)):
            if len(data) < 4:  # rclpy crashes on it with Cyclone DDS
                continue
            try:
                request = deserialize_message(data, kind.Request)
            except Exception:  # noqa: BLE001, S112 - it would not come as far as the node
                continue
            asked += 1
            assert isinstance(service.callback(request, kind.Response()), kind.Response)
        lives(node)
    assert asked > _LEAST_ASKED


@pytest.mark.parametrize('pacing', ['realtime'])
@pytest.mark.parametrize('node', [SafetyGate], indirect=True)
def test_no_parameter_ends_a_node(node: ContractNode) -> None:
    odd = (0.0, -0.0, -1.0, 5e-324, 1e308, math.inf, -math.inf, math.nan)
    for name in ('stricter.low', 'stricter.high', 'stricter.rate'):
        for value in odd:
            for size in range(4):
                node.set_parameters([Parameter(name, Parameter.Type.DOUBLE_ARRAY, [value] * size)])
                lives(node)
        node.set_parameters([Parameter(name, Parameter.Type.DOUBLE_ARRAY, [])])
    for value in odd:
        node.set_parameters([Parameter('stricter.command_timeout', value=value)])
        lives(node)
    for kind, value in ((Parameter.Type.STRING, 'x'), (Parameter.Type.NOT_SET, None)):
        node.set_parameters([Parameter('stricter.low', kind, value)])
        node.set_parameters([Parameter('stricter.command_timeout', kind, value)])
        lives(node)


@pytest.mark.parametrize('pacing', ['realtime'])
@pytest.mark.parametrize('node', [SimulatedRobotNode], indirect=True)
@pytest.mark.parametrize('error', [SimulationFailed('no wheel'), ZeroDivisionError('no wheel')])
def test_no_robot_that_raises_ends_its_node(
    node: SimulatedRobotNode, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(until: int) -> NoReturn:
        raise error

    monkeypatch.setattr(node.robot, 'advance', fail)
    # As a world does that did not answer for a while.
    node._catch_up_to(node._now + 10**9)
    lives(node)
    assert 'no wheel' in node._failed
