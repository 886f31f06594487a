# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A process that publishes one message as fast as it can: TYPE TOPIC HEX-BYTES SECONDS."""

from __future__ import annotations

import sys
import time

import rclpy

from boundary_env_ros.core.authentication import Role
from boundary_env_ros.ros import names
from boundary_env_ros.ros.authenticity import Authenticity
from boundary_env_ros.ros.conversions import message_class


def main() -> int:
    """Flood a topic, once somebody listens; print how many were sent; end when told."""
    kind, topic, data, seconds = sys.argv[1:5]
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
    sent, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        publisher.publish(bytes.fromhex(data))
        sent += 1
    print(sent, flush=True)
    sys.stdin.read()  # who has not heard the last message yet gets it while its publisher is there
    node.destroy_node()
    rclpy.shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
