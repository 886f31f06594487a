# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tests over whole episodes: what they are exactly, and that they raise no false alarm."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import numpy.typing as npt
import pytest

from boundary_env_ros.evidence.compare.permutation import Deals, enough, holm, TestedFamily

Array = npt.NDArray[np.float64]


def column(*values: float) -> Array:
    return np.array(values)[:, np.newaxis]


def result_of(first: Array, second: Array) -> TestedFamily:
    found = Deals(len(first), len(second)).test(first, second, alpha=0.05)
    assert found is not None
    return found


def test_of_all_deals_the_share_that_is_as_far_apart_is_p() -> None:
    # 20 ways to deal six numbers to three and three; two are as far apart as this.
    found = result_of(column(1, 2, 3), column(4, 5, 6))
    assert found.p == pytest.approx(2 / 20)
    assert found.difference == pytest.approx([3.0])


def test_of_proportions_it_is_the_exact_test_of_fisher() -> None:
    # R. A. Fisher's lady: of eight cups she names all four; one-sided 1/70, two-sided 2/70.
    found = result_of(column(1, 1, 1, 1), column(0, 0, 0, 0))
    assert found.p == pytest.approx(2 / 70)


@pytest.mark.parametrize('count', [7, 30])
def test_interval_holds_what_the_test_does_not_refuse(count: int) -> None:
    random = np.random.default_rng(count)
    first, second = random.normal(0.0, 1.0, (count, 1)), random.normal(0.8, 1.0, (count, 1))
    found = result_of(first, second)
    low, high = float(found.low[0]), float(found.high[0])
    assert low < found.difference[0] < high
    for shift, refused in ((low - 0.01, True), (low + 0.01, False), (high + 0.01, True)):
        assert (result_of(first, second - shift).p <= 0.05) is refused


def test_with_too_few_episodes_the_interval_has_no_end() -> None:
    found = result_of(column(1, 2, 3), column(10, 11, 12))
    assert (found.low[0], found.high[0]) == (-math.inf, math.inf)


def test_chance_is_called_a_difference_no_more_often_than_alpha() -> None:
    random = np.random.default_rng(7)
    count = 6
    deals = Deals(count, count)
    ps = []
    for _ in range(400):
        # Ten quantities that hang together, as those of one field do.
        both = random.normal(size=(2 * count, 1)) + random.exponential(size=(2 * count, 10))
        found = deals.test(both[:count], both[count:], alpha=0.05)
        assert found is not None
        ps.append(found.p)
    share = float(np.mean(np.array(ps) <= 0.05))
    # Of 400 at 5 %: 20, with a standard deviation of 4.4.
    assert share <= 0.09


def test_the_quantity_that_differs_is_named_among_others() -> None:
    random = np.random.default_rng(3)
    first, second = random.normal(size=(10, 8)), random.normal(size=(10, 8))
    second[:, 5] += 4.0
    found = result_of(first, second)
    assert int(np.argmin(found.each)) == 5
    assert found.p == found.each[5] < 0.001
    assert np.delete(found.each, 5).min() > 0.05


def test_what_has_no_value_in_some_episodes_is_tested_with_the_others() -> None:
    first, second = column(1, 2, 3, math.nan), column(4, 5, 6, math.nan)
    found = result_of(first, second)
    assert found.episodes == (3, 3)
    assert found.first == pytest.approx([2.0])
    assert 0.0 < found.p <= 2 / 20 + 0.1


def test_what_is_the_same_everywhere_is_no_test() -> None:
    same = np.full((5, 2), 3.0)
    assert Deals(5, 5).test(same, same, alpha=0.05) is None
    assert Deals(5, 5).test(same * math.nan, same, alpha=0.05) is None


def test_rounding_does_not_tell_equal_deals_apart() -> None:
    # Sums of these in another order differ in the last bits.
    first, second = column(0.1, 0.2, 0.3, 5.0), column(0.3, 0.2, 0.1, 5.0)
    assert result_of(first, second).p == pytest.approx(1.0)
    tiny = column(*(5.0 + 1e-8 * np.arange(1, 5)))
    assert result_of(tiny, tiny + 4e-8).p == pytest.approx(2 / 70)


@pytest.mark.parametrize(
    ('first', 'second', 'least'), [(3, 3, 2 / 20), (3, 4, 1 / 35), (40, 40, 2e-4)]
)
def test_the_smallest_p_that_there_can_be_is_known(first: int, second: int, least: float) -> None:
    deals = Deals(first, second)
    assert deals.least == pytest.approx(least)
    apart = np.concatenate([np.arange(first), 1000.0 + np.arange(second)])[:, np.newaxis]
    found = deals.test(apart[:first], apart[first:], alpha=0.05)
    assert found is not None
    assert found.p == pytest.approx(least)


def test_very_many_episodes_do_not_take_memory_without_end() -> None:
    deals = Deals(9000, 9000)
    assert deals.least == pytest.approx(1 / 1112)
    random = np.random.default_rng(9)
    a, b = random.normal(size=(9000, 1)), random.normal(0.1, 1.0, (9000, 1))
    tracemalloc.start()
    try:
        found = deals.test(a, b, alpha=0.05)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A table of distances would take 18000 times 18000 numbers, 2.6 GB.
    assert most < 400e6
    assert found is not None
    assert found.p == pytest.approx(1 / 1112)


def test_holm_corrects_step_by_step() -> None:
    # Worked by hand: 4 * 0.01; 3 * 0.02; 2 * 0.03; what follows is no smaller.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx((0.06, 0.04, 0.06, 0.06))
    assert holm([]) == ()
    assert holm([0.9, 0.8]) == pytest.approx((1.0, 1.0))


def test_it_says_how_many_episodes_it_takes() -> None:
    assert enough(1, 0.05) == 4  # 2 / 70
    assert enough(40, 0.05) == 7
