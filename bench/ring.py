# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The bare thing to hold a lockstep step over ROS against: a ring of plain nodes.

As many hops, of messages as large, between as many processes as in a step of the cart: policy,
gate, environment, world, environment, policy; the world sends as many sensor messages as the
simulated cart, which environment and gate take and throw away. Nothing is decoded, and none of our
classes is here.

    python -m bench.ring [--laps 300]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.qos import QoSProfile
from std_msgs.msg import UInt8MultiArray

#: Topic, from, to, bytes.
HOPS = (
    ('request', 'policy', 'gate', 600),
    ('decision', 'gate', 'environment', 2000),
    ('advance', 'environment', 'world', 200),
    ('advanced', 'world', 'environment', 900),
    ('result', 'environment', 'policy', 5000),
)
#: Sensor messages of a step: how many, bytes.
SENSORS = (('state', 15, 700), ('scan', 2, 800), ('image', 1, 9300))
_TICKS = os.sysconf('SC_CLK_TCK')
_QOS = QoSProfile(depth=50)


def _message(size: int) -> UInt8MultiArray:
    message = UInt8MultiArray()
    message.data.frombytes(bytes(size))
    return message


class Part:
    """One process of the ring."""

    def __init__(self, role: str) -> None:
        self.node = rclpy.create_node(f'ring_{role}')
        self.executor = EventsExecutor()
        self.executor.add_node(self.node)
        self.arrived = 0
        kind = UInt8MultiArray
        sent = {
            topic: (self.node.create_publisher(kind, f'ring/{topic}', _QOS), _message(size))
            for topic, source, _, size in HOPS
            if source == role
        }
        self.sent = sent
        sensors = [
            (self.node.create_publisher(kind, f'ring/{topic}', _QOS), _message(size), count)
            for topic, count, size in SENSORS
            if role == 'world'
        ]
        if role in ('environment', 'gate'):
            for topic, _, _ in SENSORS:
                self.subscribe(topic, lambda data: None)
        for number, (topic, _, to, _) in enumerate(HOPS):
            if to == role:
                following = HOPS[(number + 1) % len(HOPS)][0]
                self.subscribe(topic, self.passing(sent[following], sensors))

    def subscribe(self, topic: str, hear: Any) -> None:
        """Subscribe to bytes."""
        self.node.create_subscription(UInt8MultiArray, f'ring/{topic}', hear, _QOS, raw=True)

    def passing(self, following: tuple[Any, Any], sensors: Sequence[Any]) -> Any:
        """Return what passes a message on; the policy only takes note of it."""
        if following is self.sent.get('request'):
            return self.note

        def on_message(data: bytes) -> None:
            for publisher, message, count in sensors:
                for _ in range(count):
                    publisher.publish(message)
            publisher, message = following
            publisher.publish(message)

        return on_message

    def note(self, data: bytes) -> None:
        """Take note that a lap is done."""
        self.arrived += 1


def _spent(process: int) -> float:
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measure(laps: int, domain: int) -> dict[str, Any]:
    """Return seconds of each lap, and milliseconds of processor time of all processes a lap."""
    roles = ('gate', 'environment', 'world')
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain)}
    others = [
        subprocess.Popen([sys.executable, '-m', 'bench.ring', '--role', role], env=environment)
        for role in roles
    ]
    rclpy.init(domain_id=domain)
    try:
        part = Part('policy')
        publisher, message = part.sent['request']
        deadline = time.monotonic() + 60.0
        while not part.arrived:  # discovery
            if time.monotonic() > deadline:
                raise SystemExit('The ring is not closed (expected a lap in 60 s, got none).')
            publisher.publish(message)
            part.executor.spin_once(timeout_sec=0.5)
        settled = time.monotonic() + 2.0
        while time.monotonic() < settled:
            part.executor.spin_once(timeout_sec=0.2)
        processes = [os.getpid(), *(other.pid for other in others)]
        seconds = []
        before = sum(map(_spent, processes))
        for _ in range(laps):
            seen, begun = part.arrived, time.perf_counter()
            publisher.publish(message)
            while part.arrived == seen:
                if time.perf_counter() > begun + 10.0:
                    raise SystemExit('A lap was lost (expected one in 10 s, got none).')
                part.executor.spin_once(timeout_sec=0.05)
            seconds.append(time.perf_counter() - begun)
        spent = sum(map(_spent, processes)) - before
        return {'seconds': seconds, 'cpu_ms': 1e3 * spent / laps}
    finally:
        rclpy.shutdown()
        for other in others:
            other.send_signal(signal.SIGINT)
        for other in others:
            other.wait(10.0)


def main(arguments: Sequence[str] = ()) -> None:
    """Be one of the others, or print the figures."""
    parser = argparse.ArgumentParser(prog='bench.ring')
    parser.add_argument('--role', help='which process to be; empty: the one that measures')
    parser.add_argument('--laps', type=int, default=300)
    options = parser.parse_args(arguments)
    if not options.role:
        from boundary_env_ros.ros.domain import free_domain
        from boundary_env_ros.ros.processes import isolated_environment

        domain = free_domain()
        os.environ.update(isolated_environment(domain))
        found = measure(options.laps, domain)
        middle = sorted(found['seconds'])[options.laps // 2]
        print(f'ring: {1e3 * middle:.2f} ms a lap, {found["cpu_ms"]:.2f} ms CPU')
        return
    rclpy.init()
    part = Part(options.role)
    try:
        while rclpy.ok():
            part.executor.spin_once(timeout_sec=0.2)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


if __name__ == '__main__':
    main(sys.argv[1:])
