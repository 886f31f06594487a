# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two agents over ROS in lockstep: one advance of their world, and the record of one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')
pytest.importorskip('pettingzoo', reason='needs boundary_env_ros[pettingzoo]')

from pettingzoo.test import parallel_api_test, parallel_seed_test

from boundary_env_ros.core.records.transition import (
    ActuationEvidence,
    PrivilegedObservation,
    Transition,
)
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.replay.recompute import recompute
from boundary_env_ros.facade.multi_agent import BoundaryParallelEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.conversions import from_msg
from boundary_env_ros.ros.world import RosWorld
from support.carts_world import AGENTS, begin_together, carts_world, CartsWorld, without_options
from support.lockstep_records import compared, of_kinds, plain, Records
from support.ros_world import SOON

pytestmark = pytest.mark.ros


EXAMPLE = Path(__file__).parents[2] / 'examples/two_carts.py'


@pytest.fixture(
    scope='module',
    params=[False, pytest.param(True, marks=pytest.mark.nightly)],
    ids=['processes', 'one_process'],
)
def carts(
    _run: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[CartsWorld]:
    """Return one world for all tests of this module; in the end its record is sound."""
    folder = tmp_path_factory.mktemp('carts')
    with carts_world(folder, 'lockstep', one_process=request.param) as world:
        yield world
    report = audit_path(world.run)
    assert report.ok, str(report)
    verdict = recompute(world.run)
    assert verdict.same, str(verdict)


def episode(env: BoundaryParallelEnv, steps: int) -> None:
    """Drive at each other, at times wildly, as what was seen says."""
    seen, _ = env.reset(seed=11, options={'scenario': 'aisle'})
    for step in range(steps):
        actions = {}
        for agent in env.agents:
            total = float(seen[agent]['scan'].sum()) + float(seen[agent]['front'].sum())
            turn = np.sin(total) if step % 4 == 3 else 0.0
            actions[agent] = np.array([0.6, turn], dtype=np.float32)
        seen, *_ = env.step(actions)


def test_the_record_of_both_over_ros_is_that_of_one_process(carts: CartsWorld) -> None:
    records: list[Any] = []
    embedded = BoundaryParallelEnv(
        carts.file, world='embedded', robot=carts.robot(), sink=records.append
    )
    episode(embedded, 15)
    episode(carts.env, 15)
    for agent in AGENTS:
        expected = of_kinds(records, embedded.last_results[agent].transition.id.episode_id)
        wanted = carts.env.last_results[agent].transition.id.episode_id
        enough = len(expected)
        carts.probe.until(
            lambda agent=agent, wanted=wanted, enough=enough: (
                len(on_the_wire(carts, agent, wanted)) >= enough
            ),
            SOON,
            f'{enough} records of {agent} on the wire',
        )
        found = on_the_wire(carts, agent, wanted)
        assert [type(r).__name__ for r in found] == [type(r).__name__ for r in expected]
        differences = [
            difference
            for one, other in zip(plain(found), plain(expected), strict=True)
            for difference in compared(one, other, one['kind_of_record'])
        ]
        assert not differences, '\n'.join(differences[:20])
    embedded.close()


def on_the_wire(carts: CartsWorld, agent: str, episode_id: str) -> Records:
    heard = [
        from_msg(kind, message)
        for kind, topic in (
            (Transition, names.TRANSITION),
            (PrivilegedObservation, names.PRIVILEGED_OBSERVATION),
            (ActuationEvidence, names.ACTUATION_EVIDENCE),
        )
        for message in carts.probe.messages(f'{agent}/{topic}')
    ]
    return of_kinds(heard, episode_id)


def test_it_is_a_parallel_environment_by_pettingzoos_own_test(carts: CartsWorld) -> None:
    parallel_api_test(without_options(carts.env), num_cycles=5)


def test_the_same_seed_gives_the_same_by_pettingzoos_own_test(
    carts: CartsWorld,
) -> None:
    """In two worlds, since that test drives two environments at once: here, and over ROS."""
    other = BoundaryParallelEnv(carts.file, world='embedded', robot=carts.robot())
    worlds = iter((carts.env, other))
    parallel_seed_test(lambda: next(worlds), num_cycles=5)
    carts.renew()


def test_the_example_drives_the_carts_of_the_nodes(carts: CartsWorld) -> None:
    carts.env.close()
    told = subprocess.run(
        [sys.executable, str(EXAMPLE), '--world', 'ros', '--contract', str(carts.file)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120.0,
    )
    carts.renew()
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1] == 'success'


def test_who_does_not_decide_is_lost_and_who_waited_for_it_goes_on(carts: CartsWorld) -> None:
    carts.env.close()
    worlds = {
        agent: RosWorld(carts.loaded, domain_id=carts.domain_id, agent=agent) for agent in AGENTS
    }
    try:
        begin_together(worlds.values())
        # The other's policy thinks for ever; the world waits, and then goes on without it.
        for _ in range(2):
            (step,) = worlds['cart_a'].step({'cart_a': (0.2, 0.0)})['cart_a']
            assert not step.transition.ending
        carts.probe.until(
            lambda: carts.last('cart_b').ending == 'policy_lost', SOON, 'the ending of cart_b'
        )
    finally:
        for world in worlds.values():
            world.close()
        carts.renew()
