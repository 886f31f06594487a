# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Another node that publishes commands, or what the gate goes by, stops the robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.serialization import serialize_message
from sensor_msgs.msg import LaserScan

from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.interfaces import msg
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_SOON = 30.0
_AHEAD = np.array([0.3, 0.0], dtype=np.float32)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    return make_world(changes={**PATIENT, 'episode': {'time_limit': 60.0}})


@pytest.fixture
def env(world: World) -> Iterator[BoundaryEnv]:
    made = world.environment(startup_timeout=_SOON)
    made.reset(seed=1, options={'scenario': 'far'})
    yield made
    made.close()
    world.end_episode()


def drive_until(
    world: World, env: BoundaryEnv, decided: Callable[[GateDecision], bool]
) -> GateDecision | None:
    """Drive until the gate has decided so; return that decision, None if it did not in time."""
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


def goes_on(decision: GateDecision) -> bool:
    return decision.verdict in (Verdict.ADMITTED, Verdict.LIMITED)


def competing_by(rule: str) -> Callable[[GateDecision], bool]:
    return lambda decision: (
        (rule, Reason.FOREIGN_PUBLISHER)
        in {(result.rule, result.reason) for result in decision.rules}
    )


# A driver may read what the gate cannot, or does not for its size.
@pytest.mark.parametrize(
    'frame', [b'wheels', b'\xff\xfeeels', b'x' * 10_000_000], ids=['text', 'no text', 'giant']
)
def test_one_command_of_a_publisher_that_is_gone_at_once_stops_the_robot(
    world: World, env: BoundaryEnv, frame: bytes
) -> None:
    assert drive_until(world, env, goes_on) is not None
    with world.probe.publisher(TwistStamped, world.command_topic, names.COMMAND, 4) as made:
        stranger = TwistStamped()
        stranger.header.frame_id = 'wheels'
        stranger.twist.linear.x = 5.0
        made.publish(serialize_message(stranger).replace(b'wheels', frame))
        assert made.wait_for_all_acked(Duration(seconds=_SOON))
    stop = drive_until(world, env, competing_by('foreign_publisher'))
    assert stop is not None, world.processes['safety_gate'].last_output()
    assert stop.verdict is Verdict.STOPPED
    assert drive_until(world, env, goes_on) is not None


def test_the_gate_takes_none_of_its_own_commands_for_that_of_another(
    world: World, env: BoundaryEnv
) -> None:
    since = time.monotonic_ns()
    for _ in range(30):
        env.step(_AHEAD)
    assert {decision.inputs.foreign for decision in world.decisions(since)} == {0}


@pytest.mark.parametrize(
    ('kind', 'topic'),
    [(LaserScan, 'scan'), (Odometry, 'odom'), (msg.EpisodeStatus, names.EPISODE_STATUS)],
)
def test_a_second_publisher_on_what_the_gate_goes_by_stops_the_robot_for_as_long_as_it_is_there(
    world: World, env: BoundaryEnv, kind: Any, topic: str
) -> None:
    assert drive_until(world, env, goes_on) is not None
    events = PublisherEventCallbacks(use_default_callbacks=False)
    made = world.probe.node.create_publisher(kind, topic, names.RECORD, event_callbacks=events)
    try:
        stop = drive_until(world, env, competing_by(f'foreign_publisher.{topic}'))
        assert stop is not None, world.processes['safety_gate'].last_output()
        assert (stop.verdict, stop.inputs.foreign) == (Verdict.STOPPED, 1)
        gate = world.processes['safety_gate']
        words = f'Too many publishers on {topic} (expected 1, '
        world.probe.until(lambda: words in gate.last_output(1000), _SOON, f'in the log: {words}')
    finally:
        world.probe.node.destroy_publisher(made)
    assert drive_until(world, env, goes_on) is not None
