# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time: clocks that do not mix, hosts that need an offset, an estimate that holds the truth."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.timebase import (
    between,
    Clock,
    ClockOffset,
    ClockReading,
    elapsed,
    NANOSECONDS,
    offset_from_exchange,
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
    assert between(stamp(one, 1), stamp(other, 2)) is None


@pytest.mark.parametrize('clock', list(Clock))
@given(start=nanoseconds, end=nanoseconds)
def test_on_one_host_a_duration_is_the_difference_and_is_certain(
    clock: Clock, start: int, end: int
) -> None:
    duration = between(stamp(clock, start), stamp(clock, end))
    assert duration is not None
    assert duration.seconds == (end - start) / SECOND
    assert (duration.clock_offset, duration.uncertainty) == (0.0, 0.0)


def test_a_stamp_is_exact_where_seconds_as_a_float_are_not() -> None:
    epoch = 1_700_000_000 * SECOND
    duration = between(system(epoch), system(epoch + 1))
    assert duration is not None
    assert duration.seconds == 1e-9


def test_a_negative_duration_is_reported_as_it_is() -> None:
    duration = between(system(5 * SECOND), system(3 * SECOND))
    assert duration is not None
    assert duration.seconds == -2.0


@pytest.mark.parametrize(('start', 'end'), [(None, system(1)), (system(1), None), (None, None)])
def test_unknown_is_a_value_of_its_own_and_never_zero(
    start: Stamp | None, end: Stamp | None
) -> None:
    assert between(start, end) is None


def test_across_hosts_without_a_measured_offset_the_uncertainty_is_unknown() -> None:
    duration = between(system(0, 'camera'), system(SECOND, 'robot'))
    assert duration is not None
    assert duration.seconds == 1.0
    assert duration.uncertainty is None


def test_across_hosts_the_measured_offset_is_taken_out_in_both_directions() -> None:
    # The camera's clock is 0.25 s ahead of the robot's: what it stamps 10.25 happened at 10.0.
    known = ClockOffset(host='camera', reference='robot', offset=0.25, uncertainty=0.01)
    captured, observed = system(10_250_000_000, 'camera'), system(10_100_000_000, 'robot')
    there = between(captured, observed, [known])
    back = between(observed, captured, [known])
    assert there is not None
    assert back is not None
    assert there.seconds == pytest.approx(0.1)
    assert there.clock_offset == 0.25
    assert back.seconds == pytest.approx(-0.1)
    assert back.clock_offset == -0.25
    assert there.uncertainty == back.uncertainty == 0.01


def test_an_offset_of_other_hosts_is_not_used() -> None:
    foreign = ClockOffset(host='lidar', reference='robot', offset=9.0, uncertainty=0.0)
    duration = between(system(0, 'camera'), system(0, 'robot'), [foreign])
    assert duration is not None
    assert (duration.seconds, duration.uncertainty) == (0.0, None)


def test_simulated_time_is_one_clock_for_every_host() -> None:
    duration = between(stamp(Clock.ROS, 0, 'simulator'), stamp(Clock.ROS, SECOND, 'robot'))
    assert duration is not None
    assert (duration.seconds, duration.uncertainty) == (1.0, 0.0)


def test_steady_stamps_of_two_hosts_refuse_even_with_a_known_offset() -> None:
    known = ClockOffset(host='camera', reference='robot', offset=0.0, uncertainty=0.0)
    there, here = stamp(Clock.STEADY, 0, 'camera'), stamp(Clock.STEADY, 1, 'robot')
    assert between(there, here, [known]) is None


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


# Four stamps, and a truth to hold them against ---------------------------------------------------

delay = st.integers(min_value=0, max_value=5 * SECOND)


@given(
    truth=st.integers(min_value=-(10**15), max_value=10**15),
    sent=st.integers(min_value=0, max_value=10**18),
    there=delay,
    work=delay,
    back=delay,
)
def test_the_true_offset_lies_within_the_uncertainty_of_every_exchange(
    truth: int, sent: int, there: int, work: int, back: int
) -> None:
    """Simulate a request and its answer; the answering clock is ``truth`` ahead of true time."""
    received, returned = sent + there, sent + there + work
    home = returned + back
    estimate = offset_from_exchange(
        sent=system(sent, 'policy'),
        received=system(received + truth, 'robot'),
        returned=system(returned + truth, 'robot'),
        back=system(home, 'policy'),
    )
    assert (estimate.host, estimate.reference) == ('robot', 'policy')
    assert estimate.uncertainty == pytest.approx((there + back) / 2 / SECOND)
    assert abs(estimate.offset - truth / SECOND) <= estimate.uncertainty + 1e-9
    assert estimate.measured == system(home, 'policy')


@given(truth=st.integers(min_value=-(10**12), max_value=10**12), one_way=delay)
def test_equal_delays_both_ways_give_the_offset_exactly(truth: int, one_way: int) -> None:
    estimate = offset_from_exchange(
        sent=system(0, 'policy'),
        received=system(one_way + truth, 'robot'),
        returned=system(one_way + truth, 'robot'),
        back=system(2 * one_way, 'policy'),
    )
    assert estimate.offset == pytest.approx(truth / SECOND, abs=1e-9)


@given(
    truth=st.integers(min_value=-(10**12), max_value=10**12),
    there=delay,
    back=delay,
    length=st.integers(min_value=0, max_value=10**12),
)
def test_a_duration_across_hosts_is_right_within_its_uncertainty(
    truth: int, there: int, back: int, length: int
) -> None:
    known = offset_from_exchange(
        sent=system(0, 'policy'),
        received=system(there + truth, 'robot'),
        returned=system(there + truth, 'robot'),
        back=system(there + back, 'policy'),
    )
    start, end = system(SECOND + truth, 'robot'), system(SECOND + length, 'policy')
    duration = between(start, end, [known])
    assert duration is not None
    assert duration.uncertainty is not None
    assert abs(duration.seconds - length / SECOND) <= duration.uncertainty + 1e-6


@given(st.integers(min_value=-(10**6), max_value=10**6))
def test_seconds_become_the_nearest_nanosecond(milliseconds: int) -> None:
    assert to_nanoseconds(milliseconds / 1000) == milliseconds * 1_000_000
