# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A process that publishes one message: TYPE TOPIC HEX-BYTES SECONDS RATE.

So many times a second; 0: as fast as it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import subprocess
import sys
import time
from typing import Any

import rclpy
from rclpy.serialization import serialize_message

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.conversions import message_class


@contextmanager
def flood(
    message: Any, topic: str, seconds: float, rate: float = 0.0
) -> Iterator[subprocess.Popen[str]]:
    """Have another process publish a message, and go on once it has begun to."""
    kind = type(message)
    name = f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'
    data = serialize_message(message).hex()
    process = subprocess.Popen(
        [sys.executable, __file__, name, topic, data, str(seconds), str(rate)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == 'begins'
        yield process
    finally:
        process.stdin.close()
        process.wait()


def main() -> int:
    """Flood a topic, once somebody listens; print how many were sent; end when told."""
    kind, topic, data, seconds, rate = sys.argv[1:6]
    pause = 1.0 / float(rate) if float(rate) else 0.0
    rclpy.init()
    node = rclpy.create_node('flood')
    authenticity = Authenticity(node.context.get_domain_id(), Role.CLIENT)
    publisher = authenticity.publisher(
        node.create_publisher(message_class(kind), topic, names.LATCHED)
    )
    given_up = time.monotonic() + 20.0
    while not publisher.get_subscription_count() and time.monotonic() < given_up:
        time.sleep(0.01)
    print('begins', flush=True)
    sent, begun = 0, time.monotonic()
    while (now := time.monotonic() - begun) < float(seconds):
        if now >= sent * pause:
            publisher.publish(bytes.fromhex(data))
            sent += 1
        else:
            time.sleep(sent * pause - now)
    print(sent, flush=True)
    sys.stdin.read()  # who has not heard the last message yet gets it while its publisher is there
    node.destroy_node()
    rclpy.shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
