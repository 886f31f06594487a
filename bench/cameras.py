# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What cameras cost on their way from topic to array, against a bare subscriber.

Cameras of 640x480 at 30 Hz, each from a process of its own, are fields of the cart's observation
at 10 Hz. The environment freezes which image a step has, and the policy resolves it. The bare
thing subscribes to the same topics and makes an array of the newest image of each, ten times a
second.

    python -m bench.cameras [--seconds 10]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
import rclpy
from rclpy.experimental import EventsExecutor
from rclpy.qos import qos_profile_sensor_data
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image
import yaml

from bench.step_path import drive, slow_contract, spent
from bench.table import Figure, show

HEIGHT, WIDTH, CAMERA_RATE, STEP_RATE = 480, 640, 30.0, 10.0


def topic(number: int) -> str:
    """Return the topic of a camera."""
    return f'bench_camera_{number}/image'


def _until_interrupted(node: Any, work: Callable[[], None], rate: float) -> None:
    """Do something at a rate, and let callbacks run in between."""
    executor = EventsExecutor()
    executor.add_node(node)
    due = time.monotonic()
    try:
        while rclpy.ok():
            executor.spin_once(timeout_sec=max(0.0, due - time.monotonic()))
            if time.monotonic() >= due:
                due += 1.0 / rate
                work()
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


def send(number: int) -> None:
    """Be a camera."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is a KeyboardInterrupt
    node = rclpy.create_node(f'bench_camera_{number}')
    publisher = node.create_publisher(Image, topic(number), qos_profile_sensor_data)
    image = Image(height=HEIGHT, width=WIDTH, encoding='rgb8', step=3 * WIDTH)
    image.header.frame_id = 'camera'
    image.data.frombytes(bytes(3 * WIDTH * HEIGHT))

    def publish() -> None:
        image.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(image)

    _until_interrupted(node, publish, CAMERA_RATE)


def receive(count: int) -> None:
    """Be the bare subscriber."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is a KeyboardInterrupt
    node = rclpy.create_node('bench_bare')
    newest: dict[int, bytes] = {}
    for number in range(count):

        def keep(data: bytes, number: int = number) -> None:
            newest[number] = data

        node.create_subscription(Image, topic(number), keep, qos_profile_sensor_data, raw=True)

    def look() -> None:
        for data in newest.values():
            image = deserialize_message(data, Image)
            np.frombuffer(image.data, np.uint8).reshape(HEIGHT, WIDTH, 3)

    _until_interrupted(node, look, STEP_RATE)


@contextmanager
def _program(*arguments: object) -> Iterator[int]:
    """Run this file as another process; yields its id."""
    command = [sys.executable, '-m', 'bench.cameras', *map(str, arguments)]
    with subprocess.Popen(command) as process:
        try:
            yield process.pid
        finally:
            process.send_signal(signal.SIGINT)


def _contract(folder: Path, count: int) -> Path:
    path = slow_contract(folder, STEP_RATE)
    data = yaml.safe_load(path.read_text())
    for number in range(count):
        data['observation'][f'camera_{number}'] = {
            **data['observation']['front'],
            'topic': topic(number),
            'shape': [HEIGHT, WIDTH, 3],
            'max_age': 3.0,
        }
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def measure(count: int, seconds: float) -> tuple[float, float]:
    """Return shares of a core: of environment and policy together, and of the bare subscriber."""
    from contextlib import ExitStack

    from boundary_env_ros.ros.domain import free_domain
    from boundary_env_ros.ros.processes import isolated_environment

    domain = free_domain()
    os.environ.update(isolated_environment(domain))
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        for number in range(count):
            stack.enter_context(_program('--send', number))
        bare = stack.enter_context(_program('--receive', count)) if count else 0
        contract = _contract(Path(name), count)
        before = spent(bare) if count else 0.0
        begun = time.perf_counter()
        found = drive(
            contract,
            Path(name),
            run=Path(name) / 'run',
            rate=STEP_RATE,
            pacing='realtime',
            domain=domain,
            enough=lambda _, passed: passed >= seconds,
        )
        share = (spent(bare) - before) / (time.perf_counter() - begun) if count else 0.0
    return found['share']['environment'] + found['share']['policy'], share


def figures(seconds: float) -> Sequence[Figure]:
    """Return the figures; what the cart costs without cameras is taken off."""
    without, _ = measure(0, seconds)
    found = []
    for count in (1, 4):
        ours, bare = measure(count, seconds)
        found.append(
            Figure(
                name=f'{count} cameras 640x480 at 30 Hz' if count > 1 else 'camera 640x480, 30 Hz',
                unit='% of a core',
                values=[100.0 * (ours - without)],
                bare=[100.0 * bare],
                ratio='ours/bare',
                budget='<= 1.3',
            )
        )
    return found


def main(arguments: Sequence[str] = ()) -> None:
    """Print the figures, or be one of the other processes."""
    parser = argparse.ArgumentParser(prog='bench.cameras')
    parser.add_argument('--seconds', type=float, default=10.0, help='for each figure')
    parser.add_argument('--send', type=int, help=argparse.SUPPRESS)
    parser.add_argument('--receive', type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.send is not None:
        send(options.send)
    elif options.receive is not None:
        receive(options.receive)
    else:
        print(show(figures(options.seconds)))


if __name__ == '__main__':
    main(sys.argv[1:])
