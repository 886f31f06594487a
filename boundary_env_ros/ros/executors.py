# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which executor a node runs on."""

from __future__ import annotations

from rclpy.executors import Executor, SingleThreadedExecutor


def fastest_executor() -> Executor:
    """
    Return the executor with the least latency, for nodes whose callbacks take no ``MessageInfo``.

    That is the EventsExecutor where rclpy has it (Jazzy and later); with ``MessageInfo`` it
    raises.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    executor: Executor = EventsExecutor()
    return executor
