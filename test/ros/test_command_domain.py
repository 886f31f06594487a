# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands in a domain of their own: nobody else's reach the driver."""

from __future__ import annotations

from collections.abc import Iterator
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TwistStamped
from lifecycle_msgs.msg import Transition as Lifecycle

from boundary_env_ros.core.records.decision import Reason
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.bring_up import BringUp
from support.flooding import flood
from support.ros_world import PATIENT, Probe, reserved_domain, SOON, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_AHEAD = np.array([0.3, 0.0], dtype=np.float32)
_FAST = TwistStamped()
_FAST.twist.linear.x = 3.0


@pytest.fixture(scope='module')
def commands() -> Iterator[int]:
    """Return the domain of the commands."""
    with reserved_domain() as domain:
        yield domain


@pytest.fixture(scope='module')
def world(make_world: MakeWorld, commands: int) -> World:
    own = {'command_domain': commands}
    # Nothing is asked for while the process of the stranger starts.
    safety = {**PATIENT['safety'], 'policy_timeout': 60.0}
    changes = {**PATIENT, 'safety': safety, 'episode': {'time_limit': 60.0}}
    return make_world(recorder=True, changes=changes, gate=own, robot=own)


def drive(world: World, env: BoundaryEnv, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        *_, terminated, truncated, info = env.step(_AHEAD)
        assert not terminated
        assert not truncated, info['ending']


def foreign_seen(world: World, since: int) -> bool:
    """Return whether another publisher was a reason since an instant, ns."""
    reasons = {result.reason for each in world.decisions(since) for result in each.rules}
    return Reason.FOREIGN_PUBLISHER in reasons


def test_a_command_outside_of_their_domain_moves_nothing_and_one_in_it_stops_the_robot(
    world: World, commands: int
) -> None:
    env = world.environment(startup_timeout=SOON)
    env.reset(seed=1, options={'scenario': 'far'})
    since = time.monotonic_ns()
    with flood(_FAST, world.command_topic, 1.0, 90.0):
        drive(world, env, 2.0)
    speeds = [speed for _, speed, _ in world.motion(since)]
    assert 0.2 < max(speeds) < 0.5, 'it goes as the gate says'
    assert not foreign_seen(world, since)
    inside = Probe(commands)
    try:
        with inside.publisher(TwistStamped, world.command_topic, names.COMMAND, 3) as stranger:
            stranger.publish(_FAST)
            world.probe.until(
                lambda: (drive(world, env, 0.1), foreign_seen(world, since))[1],
                SOON,
                'a stop',
            )
    finally:
        inside.close()
    env.close()
    world.end_episode()


def test_the_record_has_the_commands_and_the_nodes_come_back_to_their_domain(
    world: World,
) -> None:
    bring_up = BringUp(domain_id=world.domain_id)
    try:
        for transition in (
            Lifecycle.TRANSITION_DEACTIVATE,
            Lifecycle.TRANSITION_CLEANUP,
            Lifecycle.TRANSITION_CONFIGURE,
            Lifecycle.TRANSITION_ACTIVATE,
        ):
            for name in ('safety_gate', 'simulated_robot'):
                bring_up.change(world.processes[name], transition, time.monotonic() + SOON)
    finally:
        bring_up.close()
    env = world.environment(startup_timeout=SOON)
    env.reset(seed=2, options={'scenario': 'far'})
    since = time.monotonic_ns()
    drive(world, env, 2.0)
    assert max(speed for _, speed, _ in world.motion(since)) > 0.2
    env.close()
    world.end_episode()
    world.drain()
    world.processes['recorder'].stop(grace=20.0)
    assert audit_path(world.run).from_topics['commands'] > 20
