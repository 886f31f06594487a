# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The audit of what is published now, over real DDS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TwistStamped
import numpy as np
from rclpy.duration import Duration
from ros_world import PATIENT, SOON, World

from boundary_env_ros.errors import LinkError
from boundary_env_ros.evidence.findings import AuditReport, Finding
from boundary_env_ros.ros import names
from boundary_env_ros.ros.live_audit import live_audit

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_STEPS = 6

_EPISODES = 2
"""
Episodes that are audited: of the first one a listener that has just come may miss whole topics,
since it is not matched to all of them at once.
"""


@pytest.fixture(scope='module', params=['realtime', 'lockstep'])
def world(request: pytest.FixtureRequest, make_world: MakeWorld) -> World:
    """Return a world in each pacing."""
    return make_world(changes=PATIENT, pacing=request.param, namespace='hall')


@contextmanager
def listening(world: World, **arguments: object) -> Iterator[Future[AuditReport]]:
    """Audit the world in a thread, from when it hears until the block and its episode end."""
    heard: list[int] = []

    def progress(ended: int, messages: int) -> None:
        heard.append(messages)

    with ThreadPoolExecutor(1) as pool:
        audit = pool.submit(
            live_audit,
            domain_id=world.domain_id,
            namespace=world.namespace,
            progress=progress,
            seconds=120.0,
            **arguments,
        )
        world.probe.until(
            lambda: audit.done() or (heard and heard[-1]), 30.0, 'the audit hears something'
        )
        yield audit


def drive(world: World, disturb: Callable[[], None] = lambda: None) -> None:
    env = world.environment(client='audited')
    env.reset(seed=4)
    for step in range(_STEPS):
        if step == _STEPS // 2:
            disturb()
        _, _, terminated, truncated, _ = env.step(np.array([0.2, 0.1], np.float32))
        assert not terminated
        assert not truncated
    world.end_episode()


def audited(
    world: World, audit: Future[AuditReport], disturb: Callable[[], None] = lambda: None
) -> AuditReport:
    """Drive until the audit has heard as many episodes from their beginning as it waits for."""
    for _ in range(_EPISODES + 2):
        drive(world, disturb)
        if wait([audit], timeout=1.0).done:
            return audit.result()
    return audit.result()


def test_honest_episodes_are_clean_while_they_are_published(world: World) -> None:
    with listening(world, episodes=_EPISODES) as audit:
        report = audited(world, audit)
    assert report.ok, f'\n{report}'
    assert report.episodes == _EPISODES
    assert report.transitions > _STEPS
    for what in ('fields', 'measurements', 'commands', 'observations'):
        assert report.from_topics[what] >= _STEPS, f'\n{report}'


def test_command_of_somebody_else_is_told_at_once(world: World) -> None:
    told: list[Finding] = []
    topic = world.loaded.contract.action[0].topic

    def disturb() -> None:
        node = world.probe.node
        readers = node.count_subscribers(node.resolve_topic_name(topic))
        with world.probe.publisher(TwistStamped, topic, names.COMMAND, readers) as publisher:
            command = TwistStamped()
            command.header.stamp.sec = 7
            publisher.publish(command)
            assert publisher.wait_for_all_acked(Duration(seconds=SOON))

    with listening(world, episodes=1, told=told.append) as audit:
        report = audited(world, audit, disturb)
    assert 'command-on-topic' in report.counts, f'\n{report}'
    assert 'command-on-topic' in {finding.rule for finding in told}


def test_without_a_boundary_it_says_what_to_look_for(world: World) -> None:
    with pytest.raises(LinkError, match='/nowhere/boundary/contract within 1 s'):
        live_audit(domain_id=world.domain_id, namespace='nowhere', wait=1.0)
