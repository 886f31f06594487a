# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node that was killed still serves, for the middleware: its successor is asked, too."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
import time
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from ros_world import reserved_domain

from boundary_env_ros.core.contract import Pacing
from boundary_env_ros.errors import LinkTimeout
from boundary_env_ros.ros import names
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.link import RosLink
from boundary_env_ros.ros.own_node import OwnNode
from boundary_env_ros.ros.processes import isolated_environment
from boundary_env_ros.storage.contract_file import load

pytestmark = [pytest.mark.ros, pytest.mark.patient]

_LONG = 30.0


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[RosLink]:
    with reserved_domain() as domain:
        for name, value in isolated_environment(domain).items():
            monkeypatch.setenv(name, value)
        made = RosLink(load('warehouse_cart', Pacing.LOCKSTEP), domain_id=domain)
        yield made
        made.close()


def server(link: RosLink, episode_id: str, *, alive: bool) -> tuple[OwnNode, list[Any]]:
    """Return a node that serves the beginning of episodes, or seems to, and what it was asked."""
    asked: list[Any] = []

    def begin(request: Any, response: Any) -> Any:
        asked.append(request)
        response.episode_id = episode_id
        return response

    made = OwnNode('environment', domain_id=link._own.domain_id, namespace='')
    made.node.create_service(srv.BeginEpisode, names.BEGIN_EPISODE, begin)
    if alive:
        made.spin_in_thread(f'serves {episode_id}')
    return made, asked


def ask(link: RosLink, seconds: float) -> Any:
    assert link._begin.wait_for_service(_LONG)
    request = srv.BeginEpisode.Request(client='ann')
    return link._call(
        link._begin,
        request,
        'the environment',
        sign_of_life=0.2,
        deadline=time.monotonic() + seconds,
    )


def test_whom_nobody_answered_is_answered_by_the_successor(link: RosLink) -> None:
    dead, _ = server(link, 'never', alive=False)
    with ThreadPoolExecutor(1) as policy:
        answer = policy.submit(ask, link, _LONG)
        while not link._begin.service_is_ready():
            time.sleep(0.01)
        time.sleep(0.1)  # for the first question to be out; without it the test proves less
        successor, asked = server(link, 'new', alive=True)
        assert answer.result(_LONG).episode_id == 'new'
    assert asked
    successor.close()
    dead.close()


def test_who_is_never_answered_is_told_who_was_silent_and_for_how_long(link: RosLink) -> None:
    dead, _ = server(link, 'never', alive=False)
    with pytest.raises(LinkTimeout, match=r'answer of the environment within 1\.5 s'):
        ask(link, 1.5)
    dead.close()
