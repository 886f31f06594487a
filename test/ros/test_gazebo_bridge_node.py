# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The node ``gazebo_bridge``, before a process with the services and topics of Gazebo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, ExitStack
from functools import partial
import os
from pathlib import Path
import select
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')
pytest.importorskip(
    'ros_gz_interfaces', reason='needs ros_gz_interfaces, which is on no package index'
)

from lifecycle_msgs.msg import Transition as Lifecycle
from lifecycle_msgs.srv import ChangeState
from rclpy.task import Future

from boundary_env_ros.errors import LinkError, ResetFailed
from boundary_env_ros.evidence.audit.audit import audit_path
from boundary_env_ros.facade.env import BoundaryEnv
from boundary_env_ros.ros.conversions import message_class
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.names import SENSOR_LOCKSTEP
from boundary_env_ros.ros.processes import isolated_environment, NodeProcess, NodeSpec, running
from support.ros_world import MARK, PATIENT, Probe, reserved_domain, write_contract

pytestmark = pytest.mark.ros

AHEAD = np.array([0.3, 0.0], dtype=np.float32)
CLEAR = {'scenario': 'clear'}


class Hall:
    """A simulator, the node before it, and a boundary around both."""

    def __init__(self, file: Path, run: Path, domain: int, pacing: str, probe: Probe) -> None:
        self.file, self.run, self.domain, self.pacing, self.probe = (
            file,
            run,
            domain,
            pacing,
            probe,
        )
        self.processes: dict[str, NodeProcess] = {}
        self.server: subprocess.Popen[bytes] | None = None

    def said(self) -> bytes:
        """Return the next line of the simulator."""
        assert self.server is not None
        assert self.server.stdout is not None
        assert select.select([self.server.stdout], [], [], 20.0)[0], 'the simulator says nothing'
        return self.server.stdout.readline()

    def environment(self) -> BoundaryEnv:
        return BoundaryEnv(self.file, world='ros', pacing=self.pacing, domain_id=self.domain)

    def speed(self) -> float:
        last = self.probe.last('ground_truth')
        return 0.0 if last is None else abs(float(last.twist.twist.linear.x))


@contextmanager
def hall(
    _run: str, folder: Path, pacing: str, mode: str = '', entity: str = 'warehouse_cart'
) -> Iterator[Hall]:
    with reserved_domain() as domain, ExitStack() as stack:
        environment = {**isolated_environment(domain), MARK: _run}
        changes = {**PATIENT, 'clock': 'sim', 'pacing': pacing}
        file = write_contract(folder / 'contract.yaml', changes)
        server = subprocess.Popen(
            [sys.executable, Path(__file__).parents[1] / 'support/simulator_server.py', mode],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
        )
        stack.callback(server.wait)
        stack.callback(server.send_signal, signal.SIGINT)
        assert server.stdout is not None
        assert server.stdout.readline() == b'ready\n'
        common = {'contract': str(file), 'pacing': pacing}
        nodes = {
            'gazebo_bridge': {**common, 'entity': entity},
            'recorder': {**common, 'run': str(folder / 'run')},
            'safety_gate': common,
            'environment': common,
        }
        processes = stack.enter_context(
            running(
                [NodeSpec(name=name, parameters=p) for name, p in nodes.items()],
                domain_id=domain,
                logs=folder / 'logs',
                timeout=60.0,
            )
        )
        probe = Probe(domain)
        stack.callback(probe.close)
        probe.subscribe('ground_truth', message_class('nav_msgs/msg/Odometry'), SENSOR_LOCKSTEP)
        made = Hall(file, folder / 'run', domain, pacing, probe)
        made.processes, made.server = processes, server
        yield made


Open = Callable[..., Hall]


@pytest.fixture
def opened(_run: str, tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(
            hall(_run, tmp_path, *arguments, **options)
        )


def test_in_lockstep_an_episode_is_driven_and_its_record_is_clean(opened: Open) -> None:
    world = opened('lockstep')
    env = world.environment()
    try:
        for seed in (1, 2):
            first, info = env.reset(seed=seed, options=CLEAR)
            start = info['reset']['achieved'] if 'achieved' in info.get('reset', {}) else None
            for _ in range(12):
                last, *_, ended, _, info = env.step(AHEAD)
                assert not ended
            moved = np.hypot(*(last['pose'][:2] - first['pose'][:2]))
            assert 0.2 < moved < 0.6, (start, moved)
            assert last['velocity'][0] == pytest.approx(0.3, abs=0.05)
    finally:
        env.close()
    world.processes['recorder'].stop(grace=20.0)
    report = audit_path(world.run)
    assert not report.counts, f'\n{report}'


def test_in_realtime_the_driver_stands_when_the_gate_is_gone(opened: Open) -> None:
    world = opened('realtime')
    env = world.environment()
    try:
        env.reset(seed=3, options=CLEAR)
        # Up to the moment in which it moves: without another action the gate would stop it.
        steps = 0
        while world.speed() <= 0.2:
            steps += 1
            assert steps < 100, 'the cart does not move'
            env.step(AHEAD)
        world.processes['safety_gate'].send(signal.SIGKILL)
        world.probe.until(lambda: world.speed() < 0.02, 20.0, 'a cart that stands')
    finally:
        env.close()


def test_a_cart_that_the_simulator_does_not_have_fails_the_reset_by_name(opened: Open) -> None:
    world = opened('lockstep', entity='forklift')
    env = world.environment()
    try:
        with pytest.raises(ResetFailed, match='forklift is not at rest in its place'):
            env.reset(seed=1, options=CLEAR)
    finally:
        env.close()


def test_what_the_bridge_does_not_bring_is_named(opened: Open) -> None:
    world = opened('lockstep', 'no_scan')
    env = world.environment()
    try:
        with pytest.raises(ResetFailed, match=r'are missing after .*: scan\. Look at the bridge'):
            env.reset(seed=1, options=CLEAR)
    finally:
        env.close()


def test_a_step_that_does_not_fit_into_the_period_is_refused(tmp_path: Path) -> None:
    parameters = {'contract': 'warehouse_cart', 'pacing': 'lockstep', 'step': 0.003}
    node = NodeSpec(name='gazebo_bridge', parameters=parameters)
    with (
        reserved_domain() as domain,
        pytest.raises(LinkError, match=r'into 0\.1 s of warehouse_cart, got 0\.003 s'),
        running([node], domain_id=domain, logs=tmp_path),
    ):
        pass


def test_who_waits_for_a_simulator_that_does_not_answer_learns_of_a_deactivation(
    opened: Open,
) -> None:
    world = opened('lockstep', 'no_answer')
    change = partial(world.probe.call, ChangeState, 'gazebo_bridge/change_state')
    client = world.probe.node.create_client(srv.ResetWorld, 'reset_world')
    world.probe.until(client.service_is_ready, 20.0, 'the service reset_world')
    target = [
        msg.NamedValues(name='start', values=[1.0, 0.0, 0.0]),
        msg.NamedValues(name='goal', values=[2.0, 0.0]),
    ]

    def ask() -> Future:
        future = client.call_async(srv.ResetWorld.Request(seed=1, target=target))
        assert world.said() == b'asked\n'
        return future

    def failure(answer: Future) -> str:
        world.probe.until(answer.done, 20.0, 'an answer')
        assert answer.result().result.code == msg.Result.RESET_FAILED
        return str(answer.result().result.message)

    asked = ask()
    for code in (Lifecycle.TRANSITION_DEACTIVATE, Lifecycle.TRANSITION_ACTIVATE):
        assert change(ChangeState.Request(transition=Lifecycle(id=code))).success
    assert 'was deactivated meanwhile' in failure(asked)
    assert 'put warehouse_cart in its place' in failure(ask())
    world.probe.node.destroy_client(client)
