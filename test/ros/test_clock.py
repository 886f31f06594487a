# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The clocks of a node."""

from __future__ import annotations

from dataclasses import dataclass
import time

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.ros.clock import NodeClock

pytestmark = pytest.mark.ros


@dataclass(frozen=True)
class Reading:
    nanoseconds: int


class Interrupted:
    """A clock whose first readers lose the processor for 50 ms after they have read it."""

    def __init__(self, times: int) -> None:
        self.left = times

    def now(self) -> Reading:
        reading = Reading(time.time_ns())
        if self.left:
            self.left -= 1
            time.sleep(0.05)
        return reading


def test_both_clocks_of_an_instant_are_read_at_one_instant() -> None:
    apart = time.time_ns() - time.monotonic_ns()
    instant = NodeClock(Interrupted(1), sim_time=False).now()
    assert abs(instant.ros.nanoseconds - instant.steady - apart) < 25_000_000


def test_an_instant_is_read_however_busy_the_machine_is() -> None:
    assert NodeClock(Interrupted(100), sim_time=False).now().steady > 0
