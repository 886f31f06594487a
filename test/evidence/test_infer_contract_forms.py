# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Images and scans in drafts, and what is written is read back."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
import pytest
import yaml

from boundary_env_ros.core.contract.sources import Beams
from boundary_env_ros.evidence.infer_contract.survey import (
    ImageForm,
    Lengths,
    Span,
    TopicSurvey,
)
from boundary_env_ros.evidence.infer_contract.writing import nice, Page, rounded, written
from boundary_env_ros.storage.contract_file import loads
from support.infer_contract_surveys import drafted, GROUP, number

# Images, scans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('form', 'says'),
    [
        (ImageForm(height=2, width=3, encoding='yuv422'), "its encoding 'yuv422' is none"),
        (ImageForm(height=0, width=0, encoding='rgb8'), '0x0 is no size of an image'),
    ],
)
def test_image_that_no_contract_knows_is_left_out(form: ImageForm, says: str) -> None:
    image = TopicSurvey(
        name='/image',
        type='sensor_msgs/msg/Image',
        messages=1,
        image=form,
    )
    assert says in drafted(number(), image)[0].replace('\n# ', ' ')


def test_scan_with_fewer_beams_than_sectors_has_as_many_sectors() -> None:
    seen = TopicSurvey(
        name='/scan',
        type='sensor_msgs/msg/LaserScan',
        messages=3,
        stamped=3,
        rate=5.0,
        spans={'range_max': Span(low=7.0, high=8.0)},
        lengths={'ranges': Lengths(least=7, most=9)},
    )
    field = drafted(seen)[1].observation[0]
    assert field.source == Beams(count=7)
    assert (field.low[0], field.high[0]) == (0.0, 8.0)


# Writing -----------------------------------------------------------------------------------------

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(value=st.one_of(FINITE, st.text(), st.booleans(), st.integers()), depth=st.integers(0, 4))
def test_what_is_written_is_read_back(value: Any, depth: int) -> None:
    for written_value in (value, [value, 1.5], [value]):
        back = yaml.safe_load(f'key: {written(written_value)}')['key']
        assert back == written_value
        assert type(back) is type(written_value)


@given(text=st.text())
def test_comment_stays_a_comment(text: str) -> None:
    page = Page()
    page.note(text)
    page.key('a', 1, 0, text)
    page.key('b', 'x' * 60, 0, text)
    assert yaml.safe_load(page.text()) == {'a': 1, 'b': 'x' * 60}


@given(low=FINITE, high=FINITE)
def test_bounds_are_rounded_away_from_and_limits_towards_each_other(
    low: float, high: float
) -> None:
    assume(low <= high and math.isfinite(high - low))
    below, above = rounded(low, high)
    assert below <= low <= high <= above
    least, most = rounded(low, high, inward=True)
    assert low <= least <= most <= high
    if high > 0.0:
        assert high <= nice(high) * (1 + 1e-8)


def test_costmap_of_100_by_100_is_a_field() -> None:
    data = yaml.safe_load(drafted(number())[0])
    data['action'] = {'base': GROUP}
    data['observation']['costmap'] = {
        'topic': 'costmap',
        'type': 'nav_msgs/msg/OccupancyGrid',
        'array': 'data',
        'length': 10_000,
        'unit': '',
        'low': -1,
        'high': 100,
    }
    (field,) = (f for f in loads(yaml.safe_dump(data)).contract.observation if f.name == 'costmap')
    assert field.size == 10_000
