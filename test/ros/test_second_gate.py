# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two safety gates of one name, each a process of its own: neither lets anything through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.core.records.decision import GateDecision, GateState, Reason, Verdict
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.processes import isolated_environment, NodeProcess, NodeSpec
from boundary_env_ros.storage.record_reader import open_records
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_SOON = 30.0
_AHEAD = np.array([0.3, 0.0], dtype=np.float32)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    changes = {**PATIENT, 'episode': {'time_limit': 60.0}}
    return make_world(recorder=True, changes=changes)


@pytest.fixture
def env(world: World) -> Iterator[BoundaryEnv]:
    made = world.environment(startup_timeout=_SOON)
    yield made
    made.close()


@pytest.fixture
def second(world: World, env: BoundaryEnv, tmp_path: Path) -> Iterator[NodeProcess]:
    """Start a second gate in mid-episode; it comes up while the test goes on."""
    # Before, it could be armed beside the first: both serve the name that a client asks.
    env.reset(seed=1, options={'scenario': 'far'})
    environment = isolated_environment(world.domain_id)
    made = NodeProcess(
        NodeSpec(
            name='safety_gate',
            parameters={'contract': str(world.file), 'pacing': world.pacing},
            module='support.second_gate',
        ),
        environment={**environment, 'PYTHONPATH': str(Path(__file__).parents[1])},
        log=tmp_path / 'second_gate.log',
    )
    yield made
    made.stop()


def drive_until(
    world: World, env: BoundaryEnv, decided: Callable[[GateDecision], bool]
) -> GateDecision | None:
    """Drive until one of the gates has decided so; return that decision, None if not in time."""
    deadline = time.monotonic() + _SOON
    since = time.monotonic_ns()
    while time.monotonic() < deadline:
        *_, terminated, truncated, info = env.step(_AHEAD)
        assert not terminated
        assert not truncated, info['ending']
        for decision in world.decisions(since):
            if decided(decision):
                return decision
    return None


def foreign_seen(decision: GateDecision) -> bool:
    """Return whether another publisher is a reason."""
    return Reason.FOREIGN_PUBLISHER in {result.reason for result in decision.rules}


def unarmed(decision: GateDecision) -> bool:
    """Return whether it is one of the gate that nobody armed."""
    return decision.verdict is Verdict.REJECTED and not decision.inputs.armed


def test_a_second_gate_of_the_same_name_stops_the_robot_until_it_is_gone_and_the_audit_tells(
    world: World, env: BoundaryEnv, second: NodeProcess
) -> None:
    stop = drive_until(world, env, foreign_seen)
    assert stop is not None, second.last_output()
    assert stop.verdict is Verdict.STOPPED
    assert drive_until(world, env, unarmed) is not None, second.last_output()

    def recorded() -> bool:
        return any(map(unarmed, open_records(world.run).records(GateDecision)))

    # It may hear the second gate later than the probe.
    assert drive_until(world, env, lambda _: recorded()) is not None, 'not in the record'
    world.probe.until(lambda: world.commands()[-1][1] == (0.0, 0.0), _SOON, 'a robot at rest')
    world.probe.until(
        lambda: any(m.foreign_publishers for m in world.probe.messages(names.GATE_STATUS)),
        _SOON,
        'a gate that says how many others there are',
    )
    # Discovery may know a publisher before it knows of which node that is.
    for process in (world.processes['safety_gate'], second):
        world.probe.until(
            lambda process=process: 'a second /safety_gate' in process.last_output(1000),
            _SOON,
            'a gate that names the other',
        )
    world.end_episode()

    assert second.stop() == 0
    world.probe.until(
        lambda: (
            world.gate_state() is GateState.DISARMED
            and world.probe.last(names.GATE_STATUS).foreign_publishers == 0
        ),
        _SOON,
        'a gate that is alone again',
    )
    env.reset(seed=2, options={'scenario': 'far'})
    since = time.monotonic_ns()
    for _ in range(10):
        env.step(_AHEAD)
    assert max(command[0] for _, command in world.commands(since)) > 0.05

    env.close()
    world.drain()
    world.processes['recorder'].stop(grace=20.0)
    report = audit_path(world.run)
    # The second has refused every request that it heard, and numbered that. Where both have used
    # one number, other rules speak, too.
    assert 'decision-sequence' in report.counts, f'\n{report}'
