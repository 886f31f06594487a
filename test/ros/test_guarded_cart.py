# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The shipped contract ``guarded_cart``, driven through from the probe to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import threading
import time
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip('ruckig', reason='needs boundary_env_ros[motion]')

from sensor_msgs.msg import Joy

from boundary_env_ros.core.records.decision import GateDecision, Reason, Trigger, Verdict
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.evidence.replay.recompute import recompute
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros import names
from boundary_env_ros.ros.interfaces import srv
from support.ros_world import PATIENT, World

if TYPE_CHECKING:
    from conftest import MakeWorld

pytestmark = pytest.mark.ros

_SOON = 30.0
#: For the cart to come to somewhere: held and stopped by silence, it takes a busy machine minutes.
_DRIVEN = 240.0

#: What is not about time here: a machine that is busy otherwise changes nothing. Who waits longer
#: for a sensor needs more room to stop in.
CHANGES: dict[str, Any] = {
    'observation': {name: {'max_age': _SOON} for name in PATIENT['observation']},
    'safety': {
        **dict.fromkeys(PATIENT['safety'], _SOON),
        'sensor_timeout': 1.0,
        'obstacles': {'hall': {'slow_distance': 1.6, 'stop_distance': 0.9}},
    },
    'latency_budget': {'inference': 3.0},
    'episode': {'time_limit': 600.0},
}

#: What was decided in so long is what holds, ns; to go through all decisions holds the policy up.
LATELY = 1_000_000_000

#: West edge of the area to keep out of, and how far its bumper is ahead of the cart, m.
EDGE, BUMPER = 0.2, 0.33

#: Axes of the operator's stick: forward, and turn.
BACKWARDS = (-1.0, 0.2)


@pytest.fixture(scope='module')
def world(make_world: MakeWorld) -> World:
    return make_world(
        contract='guarded_cart',
        recorder=True,
        changes=CHANGES,
    )


@pytest.fixture
def stick(world: World) -> Iterator[Any]:
    """Plug the operator's stick in: to be found can take longer than a policy may be silent."""
    with world.probe.publisher(Joy, 'joy', names.SENSOR) as made:
        yield made


@contextmanager
def a_hand(world: World, stick: Any, axes: Sequence[float]) -> Iterator[None]:
    """Hold the dead-man switch, and speak again and again, as a device does."""
    gone = threading.Event()

    def speak() -> None:
        forward, turn = axes
        while not gone.wait(0.05):
            message = Joy(axes=[0.0, forward, 0.0, turn], buttons=[0, 0, 0, 0, 1])
            message.header.stamp = world.probe.node.get_clock().now().to_msg()
            stick.publish(message)

    thread = threading.Thread(target=speak, name='a hand')
    thread.start()
    try:
        yield
    finally:
        gone.set()
        thread.join()


def x_of(world: World) -> float:
    """Return where the cart truly is, m."""
    return float(world.probe.last('ground_truth').pose.pose.position.x)


def reasons(decisions: Sequence[GateDecision]) -> set[Reason]:
    return {result.reason for decision in decisions for result in decision.rules}


def drive(env: BoundaryEnv, speed: float, until: Callable[[], bool], what: str) -> None:
    """Ask for a speed ahead, step by step, until something has happened."""
    deadline, happened = time.monotonic() + _DRIVEN, False
    while not happened:
        assert time.monotonic() < deadline, (
            f'Expect within {_DRIVEN:g} s: {what}; it did not come.'
        )
        *_, terminated, truncated, info = env.step(np.array([speed, 0.0], dtype=np.float32))
        assert not terminated
        assert not truncated, info['ending']
        happened = until()


def test_the_cart_is_probed_kept_out_driven_out_by_hand_and_goes_on_and_its_record_is_sound(
    world: World, stick: Any
) -> None:
    gate = world.probe

    probe = srv.OperatorCall

    def probed() -> bool:
        # Refused while one goes on; one that failed, on a busy machine, is begun again.
        gate.call(probe, 'safety_gate/probe_driver', probe.Request())
        return any(s > 0.0 for s in gate.last(names.GATE_STATUS).driver_timeouts)

    log = world.processes['safety_gate'].log
    assert log is not None
    assert 'is not measured yet' in log.read_text(encoding='utf-8')
    gate.until(probed, _DRIVEN, 'a measured timeout of the driver')
    env = world.environment(startup_timeout=_SOON)
    env.reset(seed=1, options={'scenario': 'charging'})

    drive(
        env,
        0.5,
        lambda: (
            x_of(world) > -0.6
            and world.speed() < 0.02
            and Reason.WORKSPACE in reasons(world.decisions(time.monotonic_ns() - LATELY))
        ),
        'a cart at rest before the area to keep out of',
    )
    assert x_of(world) + BUMPER < EDGE

    since = time.monotonic_ns()
    with a_hand(world, stick, BACKWARDS):
        drive(
            env,
            0.5,
            lambda: (
                x_of(world) < -1.2
                and any(status.teleoperated for status in gate.messages(names.GATE_STATUS, since))
            ),
            'a cart that was driven out by hand',
        )
    # The probe may have the position of the cart before it has the decisions that led there.
    drive(
        env,
        0.0,
        lambda: any(d.trigger is Trigger.OPERATOR for d in world.decisions(since)),
        'decisions about the operator',
    )
    by_hand = world.decisions(since)
    low = world.loaded.contract.flat('low')
    for decision in by_hand:
        if decision.trigger is Trigger.OPERATOR and decision.command:
            assert decision.command[0] >= low[0] - 1e-9
        elif decision.trigger is Trigger.REQUEST and Reason.OPERATOR in reasons([decision]):
            assert decision.verdict is Verdict.REJECTED

    since = time.monotonic_ns()

    def goes_on() -> bool:
        return any(
            decision.trigger is Trigger.REQUEST and decision.command and decision.command[0] > 0.1
            for decision in world.decisions(since)
        )

    drive(env, 0.3, goes_on, 'a policy that is heard again')
    world.end_episode()
    *_, truncated, info = env.step(np.zeros(2, dtype=np.float32))
    while not truncated:
        *_, truncated, info = env.step(np.zeros(2, dtype=np.float32))
    assert info['ending'] == 'abandoned'
    assert (
        max(m.pose.pose.position.x for m in world.probe.messages('ground_truth')) + BUMPER < EDGE
    )

    world.drain()
    world.processes['recorder'].stop(grace=20.0)
    report = audit_path(world.run)
    assert report.counts == {}, f'\n{report}'
    verdict = recompute(world.run)
    assert verdict.same, str(verdict)
