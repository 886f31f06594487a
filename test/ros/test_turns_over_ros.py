# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two agents over ROS that act one after the other, as their contract declares."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from pettingzoo.test import api_test

from boundary_env_ros.core.records.decision import holds_for_another, Reason, Verdict
from boundary_env_ros.core.records.transition import Transition
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.replay.recompute import recompute
from boundary_env_ros.facade.multi_agent import BoundaryAECEnv
from boundary_env_ros.ros.world import RosWorld
from boundary_env_ros.storage.record_reader import open_records
from support.carts_world import (
    AGENTS,
    APART,
    begin_together,
    carts_world,
    CartsWorld,
    IN_TURN,
    without_options,
)

pytestmark = pytest.mark.ros

AHEAD = np.array([0.3, 0.0], dtype=np.float32)
#: The goal of cart_b right ahead of its start, so that its episode ends early.
B_ENDS = {**APART, 'cart_b': {'goal': [-0.9, 1.5]}}


def _carts(pacing: str, folder: Path) -> Iterator[CartsWorld]:
    """Run one world for all tests of one pacing; in the end its record is sound."""
    with carts_world(folder, pacing, IN_TURN) as world:
        yield world
    report = audit_path(world.run)
    assert report.ok, str(report)
    verdict = recompute(world.run)
    assert verdict.same, str(verdict)


@pytest.fixture(scope='module')
def carts(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CartsWorld]:
    """Return a world that waits for whose turn it is."""
    yield from _carts('lockstep', tmp_path_factory.mktemp('carts'))


@pytest.fixture(scope='module')
def carts_in_realtime(_run: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CartsWorld]:
    """Return a world that goes on when a turn is missed."""
    yield from _carts('realtime', tmp_path_factory.mktemp('carts'))


def test_the_turns_of_an_episode_go_on_in_their_order_when_one_has_ended(
    carts: CartsWorld,
) -> None:
    made: BoundaryAECEnv = carts.env
    made.reset(seed=1, options=B_ENDS)
    acted: list[tuple[str, int]] = []
    alone = 0
    while alone < 3:
        agent = made.agent_selection
        *_, terminated, truncated, info = made.last()
        if terminated or truncated:
            assert (agent, info['ending']) == ('cart_b', 'success')
            made.step(None)
            continue
        acted.append((agent, info['step'] + 1))
        made.step(AHEAD)
        alone += made.agents == ['cart_a']
    order = carts.loaded.contract
    assert all(order.has_turn(agent, step) for agent, step in acted)
    assert [step for _, step in acted][:6] == [1, 2, 3, 4, 5, 6]
    # Nobody acts in the turns of who has ended.
    assert [agent for agent, _ in acted[-2:]] == ['cart_a'] * 2
    assert acted[-1][1] - acted[-2][1] == 2


def test_who_misses_its_turn_is_held_and_the_turn_passes_on(carts_in_realtime: CartsWorld) -> None:
    made: BoundaryAECEnv = carts_in_realtime.env
    made.reset(seed=1, options=APART)
    # On a busy machine an action may come too late for its turn: it is then that of the next one.
    for action in (AHEAD, None, None):
        while made.agent_selection != 'cart_b':
            made.step(AHEAD)
        made.step(action)
    assert made.infos['cart_b']['overrun']
    while made.agent_selection != 'cart_a':
        made.step(AHEAD)
    for _ in range(3):
        made.step(AHEAD)
    assert made.infos['cart_b']['ending'] == ''


def test_between_its_turns_an_agent_is_held_by_its_gate(carts: CartsWorld) -> None:
    made: BoundaryAECEnv = carts.env
    made.reset(seed=1, options=APART)
    for _ in range(3):
        made.step(AHEAD)
    (held,) = made.last_results['cart_a'].transition.decisions
    assert holds_for_another(held)
    assert held.verdict is Verdict.HELD
    assert {result.reason for result in held.rules} >= {Reason.REPUBLISHED}


@pytest.mark.filterwarnings('ignore::UserWarning')
def test_it_is_a_turn_based_environment_by_pettingzoos_own_test(carts: CartsWorld) -> None:
    api_test(without_options(carts.env), num_cycles=6)


def test_a_client_of_one_agent_waits_for_its_turn_and_says_what_it_had_seen(
    carts: CartsWorld,
) -> None:
    carts.env.close()
    worlds = {
        agent: RosWorld(carts.loaded, domain_id=carts.domain_id, agent=agent) for agent in AGENTS
    }
    try:
        begin_together(worlds.values())
        with ThreadPoolExecutor(1) as policy:
            second = policy.submit(worlds['cart_a'].step, {'cart_a': (0.3, 0.0)})
            (first,) = worlds['cart_b'].step({'cart_b': (0.3, 0.0)})['cart_b']
            passed, own = second.result(30.0)['cart_a']
    finally:
        for world in worlds.values():
            world.close()
        carts.renew()
    assert [each.transition.id.step for each in (first, passed, own)] == [1, 1, 2]
    request = own.transition.decisions[own.transition.decision].request
    assert request is not None
    assert (request.observed_step, request.skipped) == (0, 1)


def test_every_step_of_the_record_says_whose_turn_it_was(carts: CartsWorld) -> None:
    made: BoundaryAECEnv = carts.env
    made.reset(seed=1, options=APART)
    for _ in range(12):
        made.step(AHEAD)
    episode = carts.last('cart_a').id.episode_id
    made.close()
    carts.renew()
    carts.drain()
    contract: Any = carts.loaded.contract
    found = [
        (t.id.step, pair.value)
        for t in open_records(carts.run).records(Transition)
        for pair in t.diagnostics
        if pair.key == 'turn' and t.id.episode_id == episode
    ]
    assert len(found) > 10
    assert all(contract.turn_of(step) == turn for step, turn in found)
