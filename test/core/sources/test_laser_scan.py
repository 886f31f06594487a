# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laser scans by REP-117: nearest returns of sectors, and the distances of obstacles."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import assume, given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.core.contract.sources import Beams
from boundary_env_ros.core.sources import laser_scan
from boundary_env_ros.core.sources.laser_scan import nearest_of_sectors, obstacle_distances
from boundary_env_ros.core.sources.readers import adapter
from boundary_env_ros.errors import RecordError
from support.core_messages import AROUND, ring, scan
from support.core_world import shipped, stamped

CONTRACT = shipped()
SCAN = next(spec for spec in CONTRACT.observation if spec.name == 'scan')
HALF_ANGLE = 0.6

# Sectors -----------------------------------------------------------------------------------------


def binned(ranges: list[float], beams: int, **changes: float) -> tuple[float, ...]:
    return nearest_of_sectors(scan(ranges, **changes), beams)[0]


def test_a_sector_is_its_nearest_return() -> None:
    assert binned([5.0, 1.0, 4.0, 3.0, 2.0, 9.0], 3) == (1.0, 3.0, 2.0)


def test_beams_that_do_not_divide_evenly_all_count_once() -> None:
    values = binned([float(i) for i in range(1, 8)], 3)
    assert len(values) == 3
    assert values[0] == 1.0
    assert sorted(values) == list(values)


@pytest.mark.parametrize(
    ('value', 'seen'),
    [
        (math.inf, 10.0),  # nothing in reach: as far as the sensor sees
        (-math.inf, 0.0),  # too near to measure
        (math.nan, 0.0),  # not measured
        (0.0, 0.0),  # below range_min: how drivers say invalid
        (0.05, 0.0),
        (10.5, 0.0),  # beyond range_max: to be discarded
        (0.1, 0.1),
        (10.0, 10.0),
    ],
)
def test_an_unusable_beam_never_looks_like_free_space(value: float, seen: float) -> None:
    assert binned([value, value], 1) == (seen,)


def test_the_confidence_of_a_scan_is_its_fraction_of_usable_beams() -> None:
    spec = replace(SCAN, source=Beams(count=2), shape=(2,))
    reading = adapter(spec, '/scan')(scan([1.0, math.nan, math.inf, 0.0]))
    assert reading.confidence == 0.5


@given(
    ranges=st.lists(st.one_of(st.floats(), st.floats(0.1, 10.0)), min_size=4, max_size=60),
    beams=st.integers(1, 4),
)
def test_every_sector_of_any_scan_is_a_distance_in_reach(ranges: list[float], beams: int) -> None:
    values = binned(ranges, beams)
    assert len(values) == beams
    assert all(0.0 <= value <= 10.0 for value in values)
    usable = [r for r in ranges if 0.1 <= r <= 10.0 or r == math.inf]
    if len(usable) == len(ranges):
        assert min(values) == min(min(ranges), 10.0)


def test_a_scan_with_too_few_beams_is_refused() -> None:
    with pytest.raises(RecordError, match='expected at least 36, got 35'):
        adapter(SCAN, '/scan')(scan([1.0] * 35))


# Obstacle distances ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('sectors', 'distances', 'valid'),
    [
        ({}, (5.0, 5.0), (1.0, 1.0)),
        ({'ahead': 1.0}, (1.0, 5.0), (1.0, 1.0)),
        ({'behind': 0.3}, (5.0, 0.3), (1.0, 1.0)),
        ({'ahead': math.inf}, (10.0, 5.0), (1.0, 1.0)),  # nothing as far as it sees
        ({'ahead': -math.inf}, (0.0, 5.0), (1.0, 1.0)),
        ({'ahead': math.nan}, (math.inf, 5.0), (0.0, 1.0)),
        ({'ahead': 0.0}, (0.0, 5.0), (1.0, 1.0)),
        ({'ahead': 0.05}, (0.0, 5.0), (1.0, 1.0)),  # below range_min
        ({'ahead': -1.0}, (0.0, 5.0), (1.0, 1.0)),
        ({'ahead': 99.0}, (math.inf, 5.0), (0.0, 1.0)),
        ({'behind': math.nan}, (5.0, math.inf), (1.0, 0.0)),
    ],
)
def test_the_nearest_of_each_sector_and_how_much_of_it_is_usable(
    sectors: dict[str, float], distances: tuple[float, ...], valid: tuple[float, ...]
) -> None:
    assert obstacle_distances(scan(ring(**sectors)), HALF_ANGLE) == (*distances, *valid)


def test_a_scan_of_zeros_with_no_least_range_is_an_obstacle() -> None:
    assert obstacle_distances(scan([0.0] * AROUND, low=0.0), HALF_ANGLE)[0] == 0.0


def test_one_beam_that_is_too_near_to_measure_is_enough() -> None:
    ranges = ring()
    ranges[AROUND // 2] = -math.inf
    assert obstacle_distances(scan(ranges), HALF_ANGLE)[0] == 0.0


@pytest.mark.parametrize('value', [0.0, 0.02, 0.099, -0.5])
def test_beams_below_the_least_range_are_an_obstacle_however_many_others_are_free(
    value: float,
) -> None:
    ranges = ring(ahead=6.0)
    ahead = [i for i, distance in enumerate(ranges) if distance == 6.0]
    for i in ahead[: len(ahead) * 45 // 100]:
        ranges[i] = value
    distance, _, valid, _ = obstacle_distances(scan(ranges), HALF_ANGLE)
    assert (distance, valid) == (0.0, 1.0)


@pytest.mark.parametrize(
    ('low', 'high'), [(math.nan, 10.0), (0.1, math.nan), (2.0, 1.0), (-1.0, 10.0)]
)
def test_a_scan_whose_limits_make_no_sense_is_refused(low: float, high: float) -> None:
    for ranges in (ring(), ring(ahead=math.inf)):
        with pytest.raises(RecordError, match='expected 0 <= range_min <= range_max'):
            obstacle_distances(scan(ranges, low=low, high=high), HALF_ANGLE)


def test_one_broken_beam_among_good_ones_does_not_hide_them() -> None:
    ranges = ring(ahead=1.0)
    ranges[AROUND // 2] = math.nan
    ahead, _, valid, _ = obstacle_distances(scan(ranges), HALF_ANGLE)
    assert ahead == 1.0
    assert 0.9 < valid < 1.0


def test_a_sector_that_the_scan_does_not_cover_has_nothing_usable() -> None:
    front = stamped(
        1.0, ranges=[2.0] * 90, range_min=0.1, range_max=10.0, angle_min=-0.7,
        angle_increment=1.4 / 90,
    )  # fmt: skip
    assert obstacle_distances(front, HALF_ANGLE) == (2.0, math.inf, 1.0, 0.0)


def test_an_empty_scan_has_nothing_usable() -> None:
    assert obstacle_distances(scan([]), HALF_ANGLE) == (math.inf, math.inf, 0.0, 0.0)


@given(start=st.floats(-7.0, 7.0), shift=st.integers(0, AROUND - 1))
def test_the_sectors_are_the_same_wherever_the_scan_begins(start: float, shift: int) -> None:
    """Put one near return at an angle, and let the scan begin anywhere."""
    angle = start + shift * math.tau / AROUND
    off = abs(math.remainder(angle, math.tau))
    assume(abs(off - HALF_ANGLE) > 1e-6)
    assume(abs(off - (math.pi - HALF_ANGLE)) > 1e-6)
    ranges = [5.0] * AROUND
    ranges[shift] = 1.0
    ahead, behind, *_ = obstacle_distances(scan(ranges, start=start), HALF_ANGLE)
    assert (ahead == 1.0) is (off <= HALF_ANGLE)
    assert (behind == 1.0) is (off >= math.pi - HALF_ANGLE)


@given(st.lists(st.floats(), max_size=50))
def test_any_scan_gives_distances_and_fractions(ranges: list[float]) -> None:
    ahead, behind, *valid = obstacle_distances(scan(ranges), HALF_ANGLE)
    for distance in (ahead, behind):
        assert distance >= 0.0  # not NaN, which is not
    assert all(0.0 <= fraction <= 1.0 for fraction in valid)


def test_of_a_scan_with_beams_without_end_nothing_is_kept() -> None:
    kept = laser_scan._sectors.cache_info().misses
    assert obstacle_distances(scan([1.0] * 100_001), HALF_ANGLE)[0] == 1.0
    assert laser_scan._sectors.cache_info().misses == kept
