# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The services of a world of two agents: a conversation with each, by a client of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
import json
import re
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.errors import RequestRejected, ResultCode
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.ros import names
from boundary_env_ros.ros.interfaces import srv
from boundary_env_ros.ros.service_client import BoundaryClient
from support.carts_world import AGENTS, APART, carts_world, CartsWorld, PATIENT
from support.ros_world import Probe

pytestmark = pytest.mark.ros

AHEAD = (0.3, 0.0)
_LONG = 60.0


@pytest.fixture(scope='module')
def carts(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CartsWorld]:
    """Return one world with services for all tests of this module; its record is sound."""
    folder = tmp_path_factory.mktemp('carts')
    # On a busy machine a client is found in seconds; an episode must not end meanwhile.
    changes = {**PATIENT, 'lockstep': {'deadline': _LONG}}
    services = {'websocket': '127.0.0.1:0'} if find_spec('aiohttp') else True
    with carts_world(folder, 'lockstep', changes, services=services) as world:
        yield world
    report = audit_path(world.run)
    assert report.ok, str(report)


@pytest.fixture
def clients(carts: CartsWorld) -> Iterator[dict[str, BoundaryClient]]:
    """Return a client for each agent."""
    made = {
        agent: BoundaryClient(
            f'of {agent}', domain_id=carts.domain_id, namespace=agent, timeout=_LONG
        )
        for agent in AGENTS
    }
    yield made
    for client in made.values():
        client.close()


def test_two_clients_hold_an_agent_each_and_drive_them_in_one_world(
    carts: CartsWorld, clients: dict[str, BoundaryClient]
) -> None:
    a, b = clients.values()
    with ThreadPoolExecutor(2) as both:
        first = both.submit(a.reset, seed=3, options=APART)
        waiting = f'cart_a/{names.EPISODE_STATUS}'
        carts.probe.until(
            lambda: any(m.state == EpisodeState.RESETTING for m in carts.probe.messages(waiting)),
            20.0,
            'cart_a to wait for the other',
        )
        second = both.submit(b.reset, options=APART)
        began = {'cart_a': first.result(_LONG), 'cart_b': second.result(_LONG)}
        assert {agent: each.transition[0].id.agent for agent, each in began.items()} == {
            agent: agent for agent in AGENTS
        }
        # Who names no seed has that of who waits for it.
        assert [each.transition[0].seed for each in began.values()] == [3, 3]
        stranger = BoundaryClient(
            'stranger', domain_id=carts.domain_id, namespace='cart_a', timeout=_LONG
        )
        with pytest.raises(RequestRejected, match='of cart_a') as refused:
            stranger.reset(seed=3, options=APART)
        assert refused.value.code is ResultCode.LEASE_HELD
        stranger.close()
        for _ in range(3):
            steps = [both.submit(client.step, AHEAD) for client in (a, b)]
            stepped = [step.result(_LONG) for step in steps]
        assert [each.transitions[-1].id.agent for each in stepped] == list(AGENTS)
        assert [each.transitions[-1].id.step for each in stepped] == [3, 3]
    assert [planned.id.agent for planned in b.evaluate_actions([AHEAD]).decisions] == ['cart_b']
    # One ends its session; the other goes on, and is not waited for.
    b.end()
    assert not a.step(AHEAD).transitions[-1].ending
    a.end()


def test_each_agent_has_services_of_its_own_and_refuses_who_means_another(
    carts: CartsWorld, clients: dict[str, BoundaryClient]
) -> None:
    probe: Probe = carts.probe
    for agent in AGENTS:
        place = f'{agent}/{names.SPACES}'
        spaces = probe.call(srv.Spaces, place, srv.Spaces.Request(agent=agent))
        assert list(spaces.agents) == list(AGENTS)
        (other,) = set(AGENTS) - {agent}
        refused = probe.call(srv.Spaces, place, srv.Spaces.Request(agent=other))
        assert refused.result.code == ResultCode.UNKNOWN_AGENT
        assert (
            refused.result.message == f"Another agent is here (expected '{agent}', got '{other}')."
        )


def test_each_agent_has_a_socket_of_its_own_and_hears_of_itself_alone(carts: CartsWorld) -> None:
    aiohttp = pytest.importorskip('aiohttp', reason='needs boundary_env_ros[http]')
    places = re.findall(r'ws://\S+', carts.processes['policy_server'].log.read_text())
    assert [place.rpartition('/')[0].rpartition('/')[2] for place in places] == list(AGENTS)

    async def of(place: str) -> set[str]:
        agents: set[str] = set()

        async def call(name: str, **body: object) -> Any:
            await ws.send_json({'type': f'env/{name}/req', 'id': name, 'body': body})
            while (told := await ws.receive_json(timeout=_LONG))['type'] == 'env/state_push':
                agents.add(told['body']['id']['agent'])
            return told['body']

        async with aiohttp.ClientSession() as session, session.ws_connect(place) as ws:
            began = await call('reset', client='ws', options=json.dumps(APART))
            stepped = await call('step', episode_id=began['episode_id'], action=AHEAD)
            agents.add(stepped['observation']['id']['agent'])
            await call('close', episode_id=began['episode_id'], client='ws')
        return agents

    async def both() -> list[set[str]]:
        return await asyncio.gather(*(of(place) for place in places))

    assert asyncio.run(both()) == [{agent} for agent in AGENTS]
