# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the gate adds to the command path: a request to its command, against bare relays.

They are asked alternately, so that whatever else the machine does meets all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import math
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
import numpy as np
import rclpy
from sensor_msgs.msg import LaserScan
from std_msgs.msg import Bool

from bench.relay import KINDS
from bench.table import Figure, show
from boundary_env_ros import __version__
from boundary_env_ros.core.authentication import Role
from boundary_env_ros.core.records.decision import ActionRequest
from boundary_env_ros.core.records.episode import EpisodeState, EpisodeStatus
from boundary_env_ros.core.records.parts import Pacing, StepId
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.clock import NodeClock
from boundary_env_ros.ros.conversions import to_bytes
from boundary_env_ros.ros.domain import free_domain
from boundary_env_ros.ros.executors import fastest_executor
from boundary_env_ros.ros.interfaces import msg, srv
from boundary_env_ros.ros.processes import isolated_environment, NodeSpec, running
from boundary_env_ros.storage.contract_file import load

ROUNDS, PARTS = 1500, 10
EPISODE = '00000000-0000-4000-8000-000000000000'


class Bench:
    """Plays environment, sensors and policy for one gate, and the asker of the relays."""

    def __init__(self) -> None:
        loaded = load('warehouse_cart')
        self.digest, self.agent = loaded.digest, loaded.contract.agents[0]
        self.node = rclpy.create_node('bench')
        self.clock = NodeClock(self.node.get_clock(), sim_time=False)
        authenticity = Authenticity(self.node.context.get_domain_id(), Role.CLIENT)

        def make(*arguments: Any) -> Any:
            return authenticity.publisher(self.node.create_publisher(*arguments))

        self.status = make(msg.EpisodeStatus, names.EPISODE_STATUS, names.LATCHED)
        self.odometry = make(Odometry, 'odom', names.SENSOR_LOCKSTEP)
        self.scan = make(LaserScan, 'scan', names.SENSOR_LOCKSTEP)
        self.emergency_stop = make(Bool, 'emergency_stop', names.LATCHED)
        self.to_gate = make(msg.ActionRequest, names.ACTION_REQUEST, names.RECORD)
        self.to_relay = {
            kind: make(msg.ActionRequest, f'{kind}/request', names.RECORD) for kind in KINDS
        }
        self.arrived = 0
        for topic in ('cmd_vel', *(f'{kind}/cmd_vel' for kind in KINDS)):
            self.node.create_subscription(
                TwistStamped, topic, self._on_command, names.COMMAND, raw=True
            )
        self.arm = authenticity.client(self.node.create_client(srv.Arm, names.ARM))
        self.executor = fastest_executor()
        self.executor.add_node(self.node)
        self.sequence = 0
        self.lease = ''

    def _on_command(self, data: bytes) -> None:
        self.arrived = time.monotonic_ns()

    def live(self, state: EpisodeState = EpisodeState.RUNNING) -> None:
        """Be environment and sensors once."""
        now = self.clock.now()
        status = EpisodeStatus(
            id=StepId(digest=self.digest, agent=self.agent, episode_id=EPISODE),
            state=state,
            pacing=Pacing.REALTIME,
            stamp=now,
        )
        self.status.publish(to_bytes(status, now.ros.nanoseconds))
        odometry = Odometry(child_frame_id='base_link')
        odometry.header.frame_id = 'hall'
        odometry.header.stamp = self.node.get_clock().now().to_msg()
        self.odometry.publish(odometry)
        scan = LaserScan(
            angle_min=-math.pi,
            angle_max=math.pi,
            angle_increment=2 * math.pi / 180,
            range_min=0.1,
            range_max=8.0,
            ranges=[5.0] * 180,
        )
        scan.header.stamp = odometry.header.stamp
        scan.header.frame_id = 'laser'
        self.scan.publish(scan)

    def wait(self, condition: Any, seconds: float = 10.0) -> None:
        """Spin until a condition holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit('Gate and relay do not answer.')
            self.executor.spin_once(timeout_sec=0.05)

    def take_lease(self) -> None:
        """Arm the gate."""
        self.wait(self.arm.service_is_ready)
        self.wait(
            lambda: all(
                publisher.get_subscription_count()
                for publisher in (self.to_gate, *self.to_relay.values())
            ),
            60.0,
        )
        deadline = time.monotonic() + 10.0
        while not self.lease and time.monotonic() < deadline:
            self.live(EpisodeState.RESETTING)
            future = self.arm.call_async(
                srv.Arm.Request(
                    digest=self.digest, agent=self.agent, episode_id=EPISODE, client='bench'
                )
            )
            self.wait(future.done)
            self.lease = future.result().lease_id
        if not self.lease:
            raise SystemExit(f'The gate is not armed: {future.result().result.message}')
        self.live()

    def ask(self, publisher: Any) -> float:
        """Send one request and return the microseconds until its command arrived."""
        self.sequence += 1
        now = self.clock.now()
        request = ActionRequest(
            id=StepId(
                digest=self.digest, agent=self.agent, episode_id=EPISODE, step=self.sequence
            ),
            lease_id=self.lease,
            sequence=self.sequence,
            action=(0.1 * math.sin(self.sequence / 50.0), 0.0),
            observed=now,
            delivered=now,
            requested=now,
            client='bench',
            client_version=__version__,
        )
        message = to_bytes(request, now.ros.nanoseconds)
        self.arrived = 0
        sent = time.monotonic_ns()
        publisher.publish(message)
        self.wait(lambda: self.arrived, 2.0)
        return (self.arrived - sent) / 1e3


def measure() -> Sequence[Figure]:
    """Return the figures."""
    domain = free_domain()
    os.environ.update(isolated_environment(domain))
    with tempfile.TemporaryDirectory() as folder:
        spec = NodeSpec(name='safety_gate', parameters={'contract': 'warehouse_cart'})
        with running([spec], domain_id=domain, logs=Path(folder)):
            relays = [
                subprocess.Popen([sys.executable, '-m', 'bench.relay', kind]) for kind in KINDS
            ]
            rclpy.init(domain_id=domain)
            try:
                return _figures()
            finally:
                rclpy.shutdown()
                for relay in relays:
                    relay.send_signal(signal.SIGINT)
                for relay in relays:
                    relay.wait(5.0)


def _figures() -> Sequence[Figure]:
    bench = Bench()
    bench.take_lease()
    publishers = {'gate': bench.to_gate, **bench.to_relay}
    took: dict[str, list[float]] = {who: [] for who in publishers}
    order = deque(publishers)
    for _ in range(ROUNDS):
        bench.live()
        # What the gate does with its sensors is not what is measured here.
        deadline = time.monotonic() + 0.004
        while time.monotonic() < deadline:
            bench.executor.spin_once(timeout_sec=0.001)
        for who in order:
            took[who].append(bench.ask(publishers[who]))
        order.rotate()
    return [
        Figure(
            name=f'gate on the command path, {name}, beside {what}',
            unit='us',
            values=_by_part(took['gate'], share),
            bare=_by_part(took[kind], share),
            ratio=ratio,
            budget=budget,
        )
        for name, share, budget in (('p50', 50, '<= 0.4'), ('p99', 99, ''))
        for kind, what, ratio, budget in (
            ('objects', 'a relay of message objects', 'added/bare', budget),
            ('raw', 'a relay of bytes', 'ours/bare', ''),
        )
    ]


def _by_part(values: Sequence[float], share: float) -> list[float]:
    """Return a percentile of each of some parts of the run."""
    return [float(np.percentile(part, share)) for part in np.array_split(values, PARTS)]


if __name__ == '__main__':
    print(show(measure()))
