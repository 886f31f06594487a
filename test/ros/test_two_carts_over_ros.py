# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two agents over ROS in realtime: together in one world, and each with its own fate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.core.records.episode import EpisodeState
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.errors import LinkError, PeerLost, ResetFailed
from boundary_env_ros.ros import names
from boundary_env_ros.ros.processes import NodeSpec, running
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.storage.record_reader import open_records
from support.carts_world import AGENTS, APART, carts_world, CartsWorld
from support.ros_world import reserved_domain, SOON

pytestmark = pytest.mark.ros


@pytest.fixture(scope='module')
def carts(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CartsWorld]:
    """Return one world for all tests of this module, whose dead are raised after each."""
    with carts_world(tmp_path_factory.mktemp('carts'), 'realtime') as world:
        yield world


@pytest.fixture(autouse=True)
def _raise_the_dead(carts: CartsWorld) -> Iterator[None]:
    yield
    carts.revive()


def rules_of(transition: Transition) -> set[Reason]:
    return {result.reason for d in transition.decisions for result in d.rules}


def test_all_begin_over_one_reset_and_carts_that_meet_are_stopped_apart_by_their_gates(
    carts: CartsWorld,
) -> None:
    seen, infos = carts.env.reset(seed=3, options={'scenario': 'aisle'})
    assert infos['cart_a']['reset']['sampled'] == infos['cart_b']['reset']['sampled']
    for agent, observation in seen.items():
        start = infos[agent]['reset']['achieved'][f'{agent}.start']
        assert observation['pose'][:2] == pytest.approx(start[:2], abs=0.2)

    stopped = set()

    def both_stopped(now: dict[str, Any]) -> bool:
        for agent in AGENTS:
            if Reason.OBSTACLE_STOP in rules_of(carts.env.last_results[agent].transition):
                stopped.add(agent)
        return stopped == set(AGENTS)

    carts.drive(until=both_stopped, speed=0.6)
    for agent in AGENTS:
        last = carts.env.last_results[agent].transition
        assert {field.name: field.values for field in last.state}['contact'] == (0.0,)
        assert {d.id.agent for d in last.decisions} == {agent}


def test_whose_policy_misses_its_turns_is_held_then_stopped_then_lost_and_the_other_goes_on(
    carts: CartsWorld,
) -> None:
    carts.env.reset(seed=1, options=APART)
    carts.drive(until=lambda infos: infos['cart_b']['step'] > 5)
    infos = carts.drive('cart_a', until=lambda infos: infos['cart_b']['ending'])
    assert infos['cart_b']['ending'] == 'policy_lost'
    assert infos['cart_b']['overrun']
    assert carts.env.agents == ['cart_a']
    infos = carts.drive(until=lambda infos: infos['cart_a']['verdict'] == 'ADMITTED')
    assert set(infos) == {'cart_a'}

    def of_cart_b() -> list[GateDecision]:
        decisions = open_records(carts.run).records(GateDecision)
        return [d for d in decisions if d.id.episode_id == ended.id.episode_id]

    ended = carts.env.last_results['cart_b'].transition
    carts.probe.until(
        lambda: any(d.verdict is Verdict.STOPPED for d in of_cart_b()), 30.0, 'a stop of cart_b'
    )
    silent = [d.verdict for d in of_cart_b() if d.request is None]
    assert silent[0] is Verdict.HELD
    assert silent.index(Verdict.STOPPED) > 0


def test_an_agent_that_begins_alone_fails_and_says_who_did_not(carts: CartsWorld) -> None:
    carts.env.reset(seed=1, options=APART)
    alone = RosWorld(carts.loaded, domain_id=carts.domain_id, agent='cart_b')
    try:
        # Of another client, it may not even begin while the episode runs.
        carts.env.close()
        with pytest.raises(ResetFailed, match='waiting for cart_a to begin as well'):
            alone.reset(seed=1, options=APART, wrappers=())
    finally:
        alone.close()
        carts.renew()


def test_whose_gate_is_killed_stands_still_and_the_other_goes_on(carts: CartsWorld) -> None:
    carts.env.reset(seed=1, options=APART)
    carts.drive(until=lambda infos: infos['cart_b']['step'] > 8)
    carts.kill('cart_b/safety_gate')
    infos = carts.drive(until=lambda infos: infos.get('cart_b', {}).get('ending'))
    assert (infos['cart_b']['ending'], infos['cart_b']['declared_by']) == (
        'gate_lost',
        'environment',
    )
    velocity = {f.name: f.values for f in carts.env.last_results['cart_b'].transition.after}[
        'velocity'
    ]
    assert velocity[0] == pytest.approx(0.0, abs=0.05)
    infos = carts.drive(until=lambda infos: infos['cart_a']['verdict'] == 'ADMITTED')
    assert set(infos) == {'cart_a'}


def test_a_gate_that_is_not_told_whose_it_is_refuses(tmp_path: Path) -> None:
    spec = NodeSpec(name='safety_gate', parameters={'contract': 'two_carts'})
    with (
        reserved_domain() as domain,
        pytest.raises(LinkError, match='parameter agent .*expected one of cart_a, cart_b'),
        running([spec], domain_id=domain, logs=tmp_path),
    ):
        pytest.fail('it came up')


def test_when_the_environment_is_killed_the_recorder_declares_the_end_of_both(
    carts: CartsWorld,
) -> None:
    carts.env.reset(seed=1, options=APART)
    carts.kill('environment')
    with pytest.raises(PeerLost, match='environment'):
        while True:
            carts.env.step(carts.forward())
    for agent in AGENTS:
        topic = f'{agent}/{names.EPISODE_STATUS}'
        carts.probe.until(
            lambda topic=topic: carts.probe.last(topic).ending == 'environment_lost',
            SOON,
            f'the last word on {agent}',
        )
        last = carts.probe.last(topic)
        assert EpisodeState(last.state) is EpisodeState.TRUNCATED
        assert last.declared_by == 'recorder'
