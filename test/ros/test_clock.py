# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The clocks of a node."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

pytest.importorskip('rclpy', reason='needs boundary_env_ros[ros]')

from boundary_env_ros.ros import clock
from boundary_env_ros.ros.clock import NodeClock

pytestmark = pytest.mark.ros

MS = 1_000_000
APART = 1_700_000_000 * 1000 * MS
"""How far the system clock is ahead of the steady one, ns."""


@dataclass(frozen=True)
class Reading:
    nanoseconds: int


class Machine:
    """A machine on which time passes by the readings of its clock, a microsecond each."""

    def __init__(self) -> None:
        self.now = 0

    def monotonic_ns(self) -> int:
        self.now += 1000
        return self.now


class Interrupted:
    """A clock whose first readers lose the processor for 50 ms after they have read it."""

    def __init__(self, machine: Machine, times: int) -> None:
        self.machine, self.left = machine, times

    @property
    def handle(self) -> Interrupted:
        return self

    def get_now(self) -> Reading:
        reading = Reading(self.machine.monotonic_ns() + APART)
        if self.left:
            self.left -= 1
            self.machine.now += 50 * MS
        return reading


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(clock, 'time', made)
    return made


def test_both_clocks_of_an_instant_are_read_at_one_instant(machine: Machine) -> None:
    instant = NodeClock(Interrupted(machine, 1), sim_time=True).now()
    assert abs(instant.ros.nanoseconds - instant.steady - APART) < MS


def test_an_instant_is_read_however_busy_the_machine_is(machine: Machine) -> None:
    assert NodeClock(Interrupted(machine, 100), sim_time=True).now().steady > 0
