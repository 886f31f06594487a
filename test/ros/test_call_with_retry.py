# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is asked twice, of whom, and what is asked once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from rclpy import create_node
from rclpy.node import Node

from boundary_env_ros.core.records.parts import Pacing
from boundary_env_ros.errors import LinkTimeout
from boundary_env_ros.ros import names
from boundary_env_ros.ros.agent_client import AgentClient
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.ros.service_client import BoundaryClient
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.storage.contract_file import load
from support.ros_world import reserved_domain

pytestmark = pytest.mark.ros

_LONG = 30.0


@pytest.fixture
def isolated(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    with reserved_domain() as domain:
        for name, value in isolated_environment(domain).items():
            monkeypatch.setenv(name, value)
        yield domain


@pytest.fixture
def client(isolated: int) -> Iterator[AgentClient]:
    world = RosWorld(load('warehouse_cart', Pacing.LOCKSTEP), domain_id=isolated)
    yield world._clients['cart']
    world.close()


def server(client: AgentClient, episode_id: str, *, alive: bool) -> tuple[IsolatedNode, list[Any]]:
    """Return a node that serves the beginning of episodes, or seems to, and what it was asked."""
    asked: list[Any] = []

    def begin(request: Any, response: Any) -> Any:
        asked.append(request)
        response.episode_id = episode_id
        return response

    made = IsolatedNode('environment', domain_id=client._own.domain_id, namespace='')
    made.node.create_service(srv.BeginEpisode, names.BEGIN_EPISODE, begin)
    if alive:
        made.spin_in_thread(f'serves {episode_id}')
    return made, asked


def policy_server(domain: int, *, alive: bool) -> tuple[IsolatedNode, list[str]]:
    """Return a node that serves what is needed here, or seems to, and what it was asked."""
    asked: list[str] = []
    made = IsolatedNode('policy_server', domain_id=domain)

    def serve(kind: Any, name: str, seconds: float = 0.0) -> None:
        def answer(_: Any, response: Any) -> Any:
            asked.append(name.rpartition('/')[2])
            time.sleep(seconds)
            return response

        made.node.create_service(kind, name, answer)

    for kind, name in (
        (srv.Spaces, names.SPACES),
        (srv.Render, names.RENDER),
    ):
        serve(kind, name)
    # It takes longer than the client waits.
    serve(srv.Reset, names.RESET, 4.0)
    made.node.create_publisher(msg.EnvironmentEvent, names.EVENT, names.RECORD)
    if alive:
        made.spin_in_thread('serves')
    return made, asked


def ask(client: AgentClient, seconds: float) -> Any:
    assert client._begin.wait_for_service(_LONG)
    request = srv.BeginEpisode.Request(client='ann')
    return client._call(
        client._begin,
        request,
        'the environment',
        sign_of_life=0.2,
        deadline=time.monotonic() + seconds,
    )


def test_no_lease_is_asked_for_before_the_recorder_can_have_the_first_request(
    client: AgentClient,
) -> None:
    asked: list[Any] = []

    def arm(request: Any, response: Any) -> Any:
        asked.append(request)
        response.lease_id = 'granted'
        return response

    def reader(name: str) -> tuple[IsolatedNode, Node]:
        made = nodes.enter_context(IsolatedNode(name, domain_id=client._own.domain_id))
        node = create_node(name, context=made.context)
        made.executor.add_node(node)
        topic, qos = names.ACTION_REQUEST, names.RECORD
        node.create_subscription(msg.ActionRequest, topic, lambda message: None, qos)
        return made, node

    with ExitStack() as nodes:
        gate, node = reader('safety_gate')
        node.create_service(srv.Arm, names.ARM, arm)
        gate.spin_in_thread('grants leases')
        assert client._arm.wait_for_service(_LONG)
        client._deadline = time.monotonic() + 0.1
        with pytest.raises(
            LinkTimeout, match='the recorder to listen to /boundary/action_request'
        ):
            client.arm()
        assert not asked
        reader('recorder')
        client._deadline = time.monotonic() + _LONG
        client.arm()
        assert client._lease_id == 'granted'


def test_whom_nobody_answered_is_answered_by_the_successor(client: AgentClient) -> None:
    dead, _ = server(client, 'never', alive=False)
    with ThreadPoolExecutor(1) as policy:
        answer = policy.submit(ask, client, _LONG)
        while not client._begin.service_is_ready():
            time.sleep(0.01)
        time.sleep(0.1)  # for the first question to be out; without it the test proves less
        successor, asked = server(client, 'new', alive=True)
        assert answer.result(_LONG).episode_id == 'new'
    assert asked
    successor.close()
    dead.close()


def test_a_question_that_changes_nothing_is_asked_of_the_successor_too(
    isolated: int,
) -> None:
    dead, _ = policy_server(isolated, alive=False)
    with BoundaryClient('ann', domain_id=isolated, timeout=_LONG) as client:
        with ThreadPoolExecutor(1) as other:
            answer = other.submit(client.render)
            rendering = client._clients[names.RENDER]
            while not rendering.service_is_ready():
                time.sleep(0.01)
            time.sleep(0.1)  # as above
            successor, asked = policy_server(isolated, alive=True)
            answer.result(_LONG)
        assert asked
    successor.close()
    dead.close()


def test_a_reset_is_asked_for_once_and_not_before_the_client_is_known(isolated: int) -> None:
    frozen, asked = policy_server(isolated, alive=False)
    with BoundaryClient('ann', domain_id=isolated, timeout=3.0, startup_timeout=3.0) as client:
        found = (
            client._clients[names.SPACES].service_is_ready,
            client._listener.get_publisher_count,
        )
        deadline = time.monotonic() + _LONG
        while not all(each() for each in found):
            assert time.monotonic() < deadline, 'Expect the services to be found.'
            time.sleep(0.01)
        with pytest.raises(LinkTimeout, match=r'policy_server/spaces did not answer within 3 s'):
            client.reset()
        frozen.spin_in_thread('thawed')
        with pytest.raises(LinkTimeout, match=r'policy_server/reset did not answer within 3 s'):
            client.reset()
    assert asked.count('reset') == 1
    frozen.close()


def test_who_is_never_answered_is_told_who_was_silent_and_for_how_long(
    client: AgentClient,
) -> None:
    dead, _ = server(client, 'never', alive=False)
    with pytest.raises(LinkTimeout, match=r'answer of the environment within 1\.5 s'):
        ask(client, 1.5)
    dead.close()
