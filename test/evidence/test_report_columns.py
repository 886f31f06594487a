# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Down-sampling is honest: no value lies outside what is drawn, and what is drawn was there."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from boundary_env_ros.evidence.report.columns import Band, Columns, DIGITS, rounded

values = st.lists(
    st.one_of(st.none(), st.floats(width=32), st.just(math.nan)), min_size=1, max_size=200
)


@given(values=values, most=st.integers(1, 50))
def test_every_column_has_the_least_and_the_greatest_of_its_steps(
    values: list[float | None], most: int
) -> None:
    columns = Columns(len(values), most)
    assert columns.count <= most
    band = Band(columns.count)
    groups: list[list[float]] = [[] for _ in range(columns.count)]
    for index, value in enumerate(values):
        band.add(columns.of(index), value)
        if value is not None and math.isfinite(value):
            groups[columns.of(index)].append(value)
    told = band.to_json()
    low, high = told['low'], told.get('high', told['low'])
    assert isinstance(low, list)
    assert isinstance(high, list)
    for group, least, greatest in zip(groups, low, high, strict=True):
        assert least == (rounded(min(group)) if group else None)
        assert greatest == (rounded(max(group)) if group else None)


@pytest.mark.parametrize(('steps', 'most'), [(0, 10), (1, 1), (10, 10), (11, 10), (99_999, 800)])
def test_all_steps_have_a_column_in_order(steps: int, most: int) -> None:
    columns = Columns(steps, most)
    found = [columns.of(index) for index in range(steps)]
    assert found == sorted(found)
    assert set(found) == set(range(columns.count)) or not steps


def test_one_peak_among_a_million_steps_is_drawn() -> None:
    columns = Columns(1_000_000, 800)
    band = Band(columns.count)
    for index in range(0, 1_000_000, 97):
        band.add(columns.of(index), 0.0)
    band.add(columns.of(123_456), 7.5)
    high = band.to_json()['high']
    assert isinstance(high, list)
    assert high[columns.of(123_456)] == 7.5


def test_numbers_keep_their_digits_and_unknown_is_null() -> None:
    assert rounded(0.1234567) == 0.12346
    assert rounded(-3.0) == -3
    assert isinstance(rounded(2.0), int)
    assert rounded(math.nan) is None
    assert abs(rounded(math.pi) / math.pi - 1) < 10.0 ** (1 - DIGITS)  # type: ignore[operator]
