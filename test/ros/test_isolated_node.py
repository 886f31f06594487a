# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node with a context of its own leaves nothing, and its thread lives on whatever arrives."""

from __future__ import annotations

from collections.abc import Iterator
import gc
import os
import sys
import threading
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String
from std_srvs.srv import SetBool

from boundary_env_ros.errors import LinkError
from boundary_env_ros.ros import names
from boundary_env_ros.ros.executors import fastest_executor, Unattended
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.processes import isolated_environment
from support.ros_world import ports_of, reserved_domain, SOON, wait_until

pytestmark = pytest.mark.ros


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    with reserved_domain() as number:
        for key, value in isolated_environment(number).items():
            monkeypatch.setenv(key, value)
        yield number


def open_contexts() -> list[Context]:
    return [each for each in gc.get_objects() if isinstance(each, Context) and each.ok()]


def test_closing_lets_go_of_thread_ports_and_context_and_a_second_time_does_nothing(
    domain: int,
) -> None:
    own = IsolatedNode('own', domain_id=domain)
    own.spin_in_thread('own_node')
    assert ports_of([os.getpid()], domain)
    assert 'own_node' in {thread.name for thread in threading.enumerate()}
    own.close()
    own.close()
    assert 'own_node' not in {thread.name for thread in threading.enumerate()}
    assert not ports_of([os.getpid()], domain)
    assert not own.context.ok()


def test_a_context_that_somebody_else_has_shut_down_is_let_go_of_all_the_same(
    domain: int,
) -> None:
    with IsolatedNode('own', domain_id=domain) as own:
        own.spin_in_thread('own_node')
        own.context.shutdown()
    assert 'own_node' not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize('executor', [SingleThreadedExecutor, fastest_executor])
def test_what_a_message_leads_to_does_not_end_the_thread(domain: int, executor: Any) -> None:
    heard: list[str] = []

    def hear(message: String) -> None:
        heard.append(message.data)
        if message.data == 'bad':
            # As rclpy does within its own callbacks, of a time that there cannot be.
            raise ValueError(message.data)

    with (
        IsolatedNode('own', domain_id=domain, executor=executor) as own,
        IsolatedNode('other', domain_id=domain) as other,
    ):
        own.node.create_subscription(String, 'said', hear, 10)
        own.spin_in_thread('own_node')
        publisher = other.node.create_publisher(String, 'said', 10)
        wait_until(publisher.get_subscription_count, SOON, 'the subscriber')
        for word in ('bad', 'good'):
            publisher.publish(String(data=word))
        wait_until(lambda: heard == ['bad', 'good'], SOON, 'the message after the bad one')


@pytest.mark.parametrize('executor', [SingleThreadedExecutor, fastest_executor])
def test_what_came_together_with_a_bad_message_or_request_is_dispatched(
    domain: int, executor: Any
) -> None:
    heard: list[str] = []

    def hear(message: String) -> None:
        heard.append(message.data)
        if message.data.startswith('bad'):
            raise ValueError(message.data)

    def answer(request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if not request.data:
            raise ValueError('False')
        response.success = True
        return response

    with (
        IsolatedNode('own', domain_id=domain, executor=executor) as own,
        IsolatedNode('other', domain_id=domain) as other,
    ):
        own.node.create_subscription(String, 'said', hear, 10)
        own.node.create_service(SetBool, 'asked', answer)
        publisher = other.node.create_publisher(String, 'said', 10)
        client = other.node.create_client(SetBool, 'asked')
        wait_until(publisher.get_subscription_count, SOON, 'the subscriber')
        wait_until(client.service_is_ready, SOON, 'the service')
        good = [client.call_async(SetBool.Request(data=data)) for data in (False, True, True)][1:]
        words = ['bad', 'good', 'bad again', 'better', 'best']
        for word in words:
            publisher.publish(String(data=word))
        publisher.wait_for_all_acked(Duration(seconds=SOON))
        other.spin_in_thread('other_node')
        own.spin_in_thread('own_node')
        wait_until(lambda: heard == words, SOON, 'every message')
        wait_until(lambda: all(each.done() for each in good), SOON, 'an answer to each other')
        assert all(each.result().success for each in good)
        assert own.incoming.refused == 3


def test_it_keeps_its_name_in_a_process_whose_node_a_launch_has_named(
    domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = ['program', '--ros-args', '-r', '__node:=policy_server']
    monkeypatch.setattr(sys, 'argv', renamed)
    with IsolatedNode('own', domain_id=domain) as own:
        assert own.node.get_name().startswith('own_')


def test_arguments_of_a_launch_are_not_taken_for_remappings(
    domain: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, 'argv', ['ros2', 'launch', 'robot_launch.py', 'odom:=elsewhere'])
    with IsolatedNode('own', domain_id=domain) as own:
        assert own.node.resolve_topic_name('odom') == '/odom'
    assert 'deprecated' not in capfd.readouterr().err


def test_no_context_is_left_open_if_the_node_cannot_be_made(domain: int) -> None:
    before = len(open_contexts())
    with pytest.raises(LinkError, match="such as cart_1, got 'no namespace'") as error:
        IsolatedNode('own', domain_id=domain, namespace='no namespace')
    # As long as the error is held, so is what it went through.
    assert error.value
    assert len(open_contexts()) == before


@pytest.mark.parametrize(
    ('number', 'message'),
    [
        (-1, 'ROS did not start: .*zero'),
        (233, r'Not a ROS domain \(expected 0 to 232'),
        ('seven', "ROS did not start: .*'str'"),
    ],
)
def test_a_domain_that_cannot_be_is_an_error_and_leaves_no_context_open(
    number: Any, message: str
) -> None:
    before = len(open_contexts())
    with pytest.raises(LinkError, match=message):
        IsolatedNode('own', domain_id=number)
    assert len(open_contexts()) == before


@pytest.mark.parametrize('executor', [fastest_executor, SingleThreadedExecutor])
def test_what_is_unattended_waits_until_it_is_dispatched(domain: int, executor: Any) -> None:
    attended: list[str] = []
    unattended: list[str] = []
    with IsolatedNode('own', domain_id=domain, executor=executor) as own:

        def listen(came: list[str], group: Unattended | None) -> Any:
            return own.node.create_subscription(
                String,
                '/said',
                lambda it: came.append(it.data),
                names.RECORD,
                callback_group=group,
            )

        listen(attended, None)
        left = listen(unattended, Unattended())
        publisher = own.node.create_publisher(String, '/said', names.RECORD)
        wait_until(lambda: publisher.get_subscription_count() == 2, SOON, 'both subscriptions')
        for word in 'abc':
            publisher.publish(String(data=word))
        wait_until(lambda: own.spin(0.05) or len(attended) == 3, SOON, 'the messages')
        own.drain()
        assert unattended == []
        own.dispatch(left, 2)
        assert unattended == ['a', 'b']
        own.dispatch(left, 2)
        assert unattended == attended == ['a', 'b', 'c']
    own.dispatch(left, 2)  # nothing once it is closed
