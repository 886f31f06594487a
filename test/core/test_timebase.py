# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time: clocks that do not mix, and hosts whose steady clocks do not."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.timebase import (
    Clock,
    ClockReading,
    elapsed,
    NANOSECONDS,
    seconds_between,
    Stamp,
    to_nanoseconds,
)

SECOND = NANOSECONDS
nanoseconds = st.integers(min_value=-(2**62), max_value=2**62)


def stamp(clock: Clock, at: int, host: str = 'robot') -> Stamp:
    return Stamp(clock=clock, nanoseconds=at, host=host)


def system(at: int, host: str = 'robot') -> Stamp:
    return stamp(Clock.SYSTEM, at, host)


@pytest.mark.parametrize(('one', 'other'), list(permutations(Clock, 2)))
def test_stamps_of_different_clocks_refuse_to_be_subtracted(one: Clock, other: Clock) -> None:
    assert seconds_between(stamp(one, 1), stamp(other, 2)) is None


@pytest.mark.parametrize('clock', list(Clock))
@given(start=nanoseconds, end=nanoseconds)
def test_on_one_clock_a_duration_is_the_difference(clock: Clock, start: int, end: int) -> None:
    assert seconds_between(stamp(clock, start), stamp(clock, end)) == (end - start) / SECOND


def test_a_stamp_is_exact_where_seconds_as_a_float_are_not() -> None:
    epoch = 1_700_000_000 * SECOND
    assert seconds_between(system(epoch), system(epoch + 1)) == 1e-9


@pytest.mark.parametrize(('start', 'end'), [(None, system(1)), (system(1), None), (None, None)])
def test_unknown_is_a_value_of_its_own_and_never_zero(
    start: Stamp | None, end: Stamp | None
) -> None:
    assert seconds_between(start, end) is None


def test_steady_stamps_of_two_hosts_refuse_to_be_subtracted() -> None:
    there, here = stamp(Clock.STEADY, 0, 'camera'), stamp(Clock.STEADY, 1, 'robot')
    assert seconds_between(there, here) is None


def test_elapsed_is_steady_time_whatever_the_ros_clock_did() -> None:
    before = ClockReading(ros=system(100 * SECOND), steady=5 * SECOND)
    after = ClockReading(ros=system(3 * SECOND), steady=7 * SECOND)
    assert elapsed(before, after) == 2.0


def test_elapsed_is_unknown_between_hosts_and_with_an_unknown_end() -> None:
    here = ClockReading(ros=system(0, 'robot'), steady=1)
    there = ClockReading(ros=system(0, 'camera'), steady=2)
    assert elapsed(here, there) is None
    assert elapsed(None, here) is None
    assert elapsed(here, None) is None


def test_a_stamp_does_not_change_after_it_was_taken() -> None:
    with pytest.raises(FrozenInstanceError):
        system(1).nanoseconds = 2


@given(st.integers(min_value=-(10**6), max_value=10**6))
def test_seconds_become_the_nearest_nanosecond(milliseconds: int) -> None:
    assert to_nanoseconds(milliseconds / 1000) == milliseconds * 1_000_000
