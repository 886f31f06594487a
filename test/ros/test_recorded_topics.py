# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a recorder listens to, on a middleware that does not number its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from std_msgs.msg import String

from boundary_env_ros.ros import names, recorded_topics
from boundary_env_ros.ros.executors import take
from boundary_env_ros.ros.isolated_node import IsolatedNode
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.ros.recorded_topics import RawSubscriptions, RecordedTopic
from support.ros_world import reserved_domain, SOON, wait_until

pytestmark = pytest.mark.ros


def test_messages_without_a_number_are_told_as_uncounted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What Cyclone DDS says of a message.
    def unnumbered(subscription: Any, most: int) -> Iterator[tuple[Any, Any]]:
        for data, info in take(subscription, most):
            yield data, {**info, 'publication_sequence_number': None}

    monkeypatch.setattr(recorded_topics, 'take', unnumbered)
    told: list[tuple[str, int | None]] = []
    with reserved_domain() as domain:
        for key, value in isolated_environment(domain).items():
            monkeypatch.setenv(key, value)
        with IsolatedNode('listener', domain_id=domain) as own:
            node: Any = own.node
            subscriptions = RawSubscriptions(
                node,
                (RecordedTopic(name='/said', type='std_msgs/msg/String'),),
                lambda topic, number: told.append((topic.name, number)),
            )
            publisher = node.create_publisher(String, '/said', names.RECORD)
            wait_until(publisher.get_subscription_count, SOON, 'the subscription')
            came: list[Any] = []

            def two_came() -> bool:
                came.extend(subscriptions.take())
                return len(came) == 2

            for _ in range(2):
                publisher.publish(String())
            wait_until(two_came, SOON, 'both messages')
    assert told == [('/said', None)]
