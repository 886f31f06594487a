# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A rate is told by how a sensor speaks, not by when nobody listened."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.evidence.infer_contract.survey import Pace

EVEN = [step / 20 for step in range(200)]


def pace(seconds: Iterable[float]) -> Pace:
    made = Pace()
    for at in seconds:
        made.count(round(at * NANOSECONDS))
    return made


@pytest.mark.parametrize(
    ('seconds', 'rate'),
    [
        (EVEN, 20.0),
        ([at + Random(int(100 * at)).uniform(-0.01, 0.01) for at in EVEN], 20.0),
        ([at for step, at in enumerate(EVEN) if step % 4], 20.0),  # lost on the way
        ([at + late for at in EVEN[::2] for late in (0.0, 0.001)], 20.0),  # in bunches
        ([0.0, 1.0, 300.0, 301.0, 600.0, 601.0], 1.0),
        ([30.0 * step for step in range(20)], 1 / 30),
    ],
)
def test_rate_is_that_of_the_sensor_whatever_is_lost_or_late(
    seconds: list[float], rate: float
) -> None:
    assert pace(seconds).rate == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize('seconds', [[], [1.0], [1.0, 1.0]])
def test_there_is_no_rate_of_what_came_at_one_instant(seconds: list[float]) -> None:
    assert pace(seconds).rate is None


def test_pauses_are_told_apart_from_a_clock_that_was_set_back() -> None:
    seconds = [begin + at for begin in (0.0, 300.0, 600.0, 400.0) for at in EVEN]
    assert pace(EVEN).jumps() == ''
    assert pace(seconds).jumps() == '2 times ahead, by up to 290 s and 1 time back, by up to 210 s'
