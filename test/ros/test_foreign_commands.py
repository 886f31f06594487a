# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who publishes commands beside the gate does not have the last word."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from geometry_msgs.msg import TwistStamped

from boundary_env_ros.core.records.decision import GateDecision, Reason, Verdict
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.storage.record_reader import open_records
from support.flooding import flood
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = [pytest.mark.ros, pytest.mark.timed]

_SOON = 30.0
# How long the other commands, s, and how fast, m/s. Unanswered it drives the cart 2.6 m and more.
_SECONDS, _SPEED = 2.0, 3.0
_STAYS = np.zeros(2, dtype=np.float32)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    # Nothing is asked for while the process of the other starts.
    safety = {**PATIENT['safety'], 'foreign_publisher': 'stop_always', 'policy_timeout': 60.0}
    changes = {**PATIENT, 'safety': safety, 'episode': {'time_limit': 60.0}}
    return make_world(recorder=True, changes=changes)


@pytest.fixture
def env(world: World) -> BoundaryEnv:
    """Return a facade in an episode; the cart has room ahead."""
    made = world.environment(startup_timeout=_SOON)
    made.reset(seed=1, options={'scenario': 'far'})
    made.step(_STAYS)
    return made


def place(world: World) -> tuple[float, float]:
    position = world.probe.last('ground_truth').pose.pose.position
    return position.x, position.y


def attack(world: World, rate: float, env: BoundaryEnv | None = None) -> float:
    """Return how far the cart goes (m) while another process commands it, and after that."""
    world.probe.until(lambda: world.speed() < 0.01, _SOON, 'a cart at rest')
    before, farthest = place(world), 0.0
    stranger = TwistStamped()
    stranger.twist.linear.x = _SPEED
    with flood(stranger, world.command_topic, _SECONDS, rate) as attacker:
        end = time.monotonic() + _SECONDS + 1.0
        while time.monotonic() < end:
            if env is None:
                time.sleep(0.05)
            else:
                *_, terminated, truncated, info = env.step(_STAYS)
                assert not terminated
                assert not truncated, info['ending']
            farthest = max(farthest, math.dist(before, place(world)))
        assert attacker.stdout is not None
        sent = int(attacker.stdout.readline())
    print(f'{sent} commands at {rate:g} Hz: {farthest:.2f} m')
    return farthest


def test_who_commands_between_episodes_is_answered_at_once_where_the_contract_says_so(
    world: World, env: BoundaryEnv
) -> None:
    env.close()
    world.end_episode()
    assert attack(world, 90.0) < 1.0


def test_a_flood_of_commands_does_not_keep_the_gate_from_its_timer(
    world: World, env: BoundaryEnv
) -> None:
    since = time.monotonic_ns()
    attack(world, 1000.0, env)
    ticks = [d.inputs.since_tick for d in world.decisions(since)]
    assert max(tick for tick in ticks if tick is not None) < 1.0
    world.probe.until(
        lambda: world.commands()[-1][1] == (0.0, 0.0), _SOON, 'a last word of the gate'
    )
    env.close()
    world.end_episode()


def test_who_commands_in_an_episode_is_answered_at_once_and_the_record_tells_both_apart(
    world: World, env: BoundaryEnv
) -> None:
    since = time.monotonic_ns()
    assert attack(world, 90.0, env) < 1.0
    stops = [d for d in world.decisions(since) if Reason.FOREIGN_PUBLISHER in reasons(d)]
    assert {d.verdict for d in stops} == {Verdict.STOPPED}
    env.close()
    world.end_episode()

    world.drain()
    world.processes['recorder'].stop(grace=20.0)
    report = audit_path(world.run)
    topic = world.probe.node.resolve_topic_name(world.command_topic)
    recorded = [message.decode() for message in open_records(world.run).messages({topic})]
    foreign = sum(message.twist.linear.x == _SPEED for message in recorded)
    assert len(recorded) - foreign > report.from_topics['commands'] + 90, 'a stop was not repeated'
    assert set(report.counts) == {'command-on-topic', 'foreign-publisher'}, report
    assert report.counts['command-on-topic'] == foreign, report


def reasons(decision: GateDecision) -> set[Reason]:
    return {result.reason for result in decision.rules}
