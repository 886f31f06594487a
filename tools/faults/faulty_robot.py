# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The simulated robot with sensors, and a clock, that can be made to fail while it drives.

It is the node ``simulated_robot`` but for what leaves it: a message on the topic ``fault`` says,
as JSON, what every topic does from then on, ``{"scan": "frozen"}``; ``{}`` heals all. The instant
at which it took effect is answered on ``fault_applied``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import copy
import json
import math
import sys
import time
from typing import Any

from std_msgs.msg import String

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.ros import names
from boundary_env_ros.ros.contract_node import run
from boundary_env_ros.ros.conversions import message_of, set_time
from boundary_env_ros.ros.nodes.simulated_robot import SimulatedRobotNode

FAULT = 'fault'
APPLIED = 'fault_applied'

FORWARD, BACKWARD = 10.0, -1.0
"""Seconds by which the clock jumps: more than any sensor may be old, less than it has run."""


class Failing:
    """
    A publisher that sends what a broken sensor would.

    Parameters
    ----------
    publisher
        The real one.
    fault
        Name of the present fault of its topic; empty: none.

    """

    def __init__(self, publisher: Any, fault: Callable[[], str]) -> None:
        self._publisher = publisher
        self.msg_type = publisher.msg_type
        self._fault = fault
        self._held: Any = None

    def publish(self, message: Any) -> None:
        """Publish a message or the bytes of one, or what the fault makes of it."""
        fault = self._fault()
        if not fault:
            self._held = message
            self._publisher.publish(message)
        elif fault != 'silent':
            self._publisher.publish(FAULTS[fault](self._read(message), self._read(self._held)))

    def _read(self, message: Any) -> Any:
        return message_of(self.msg_type, message) if isinstance(message, bytes) else message


def _frozen(message: Any, held: Any) -> Any:
    return held


def _frozen_fresh(message: Any, held: Any) -> Any:
    same = copy.deepcopy(held)
    same.header.stamp = message.header.stamp
    return same


def _ranges(value: float) -> Callable[[Any, Any], Any]:
    def fill(message: Any, held: Any) -> Any:
        message.ranges = [value] * len(message.ranges)
        return message

    return fill


def _twist_nan(message: Any, held: Any) -> Any:
    message.twist.twist.linear.x = message.twist.twist.angular.z = math.nan
    return message


def _clock(seconds: float) -> Callable[[Any, Any], Any]:
    def shift(message: Any, held: Any) -> Any:
        now = message.clock.sec * NANOSECONDS + message.clock.nanosec
        set_time(message.clock, max(1, now + round(seconds * NANOSECONDS)))
        return message

    return shift


FAULTS: Mapping[str, Callable[[Any, Any], Any]] = {
    'frozen': _frozen,
    'frozen_fresh': _frozen_fresh,
    'zeros': _ranges(0.0),
    'infinities': _ranges(math.inf),
    'minus_infinities': _ranges(-math.inf),
    'nan': _ranges(math.nan),
    'twist_nan': _twist_nan,
    'forward': _clock(FORWARD),
    'backward': _clock(BACKWARD),
}
"""What each fault makes of a message and the last good one before it; ``silent`` sends nothing."""


class FaultyRobot(SimulatedRobotNode):
    """The simulated robot, whose every topic can fail."""

    def __init__(self) -> None:
        self._faults: dict[str, str] = {}
        super().__init__()
        self._applied = self.create_publisher(String, APPLIED, names.RECORD)
        self.create_subscription(String, FAULT, self._on_fault, names.RECORD)

    def _on_fault(self, message: Any) -> None:
        self._faults = json.loads(message.data)
        self._applied.publish(String(data=str(time.monotonic_ns())))

    def add_publisher(self, kind: Any, topic: str, qos: Any) -> Any:
        """Return a publisher that can fail."""
        return Failing(
            super().add_publisher(kind, topic, qos), lambda: self._faults.get(topic, '')
        )


def main() -> int:
    """Run the node ``simulated_robot``, which can fail."""
    return run(FaultyRobot)


if __name__ == '__main__':
    sys.exit(main())
