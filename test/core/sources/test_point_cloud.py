# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Point clouds of any layout, against an oracle that unpacks one number at a time."""

from __future__ import annotations

import array
import math
import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import Points
from boundary_env_ros.core.sources.point_cloud import evenly_spaced
from boundary_env_ros.core.sources.readers import adapter
from boundary_env_ros.errors import RecordError
from support.core_world import Message, stamped

#: Of each datatype of ``sensor_msgs/PointField``, how struct calls it.
FORMATS = {1: 'b', 2: 'B', 3: 'h', 4: 'H', 5: 'i', 6: 'I', 7: 'f', 8: 'd'}


def channel(name: str, offset: int, datatype: int) -> Message:
    return Message(name=name, offset=offset, datatype=datatype, count=1)


def cloud(
    rows: list[list[tuple[float, ...]]],
    channels: list[tuple[str, int]],
    *,
    big: bool = False,
    gap: int = 0,
    tail: int = 0,
) -> Message:
    """
    Return a cloud of rows of points.

    Parameters
    ----------
    channels
        Name and datatype of each value of a point.
    gap, tail
        Bytes of padding before each value, and at the end of a row.

    """
    order = '>' if big else '<'
    fields, offset = [], 0
    for name, datatype in channels:
        offset += gap
        fields.append(channel(name, offset, datatype))
        offset += struct.calcsize(FORMATS[datatype])
    data = b''
    for row in rows:
        for point in row:
            for value, (_, datatype) in zip(point, channels, strict=True):
                data += b'\xee' * gap + struct.pack(order + FORMATS[datatype], value)
        data += b'\xdd' * tail
    width = len(rows[0]) if rows else 0
    return stamped(
        1.0, height=len(rows), width=width, fields=fields, is_bigendian=big, point_step=offset,
        row_step=width * offset + tail, data=data, is_dense=False,
    )  # fmt: skip


def taken(message: Message, count: int, *channels: str, pad: float = -1.0) -> tuple[Any, float]:
    source = Points(count=count, channels=channels, pad=(pad,) * len(channels))
    values, fraction = evenly_spaced(message, source)
    return np.reshape(values, (count, len(channels))).tolist(), fraction


FLOATS = [('x', 7), ('y', 7), ('z', 7)]


def line(count: int) -> Message:
    return cloud([[(float(i), 0.0, 1.0) for i in range(count)]], FLOATS)


# Values ------------------------------------------------------------------------------------------


@st.composite
def clouds(draw: Any) -> tuple[Message, list[str], list[list[float]]]:
    """Draw a cloud of any layout, with its channels and all of its points."""
    names = draw(st.lists(st.sampled_from('xyzir'), min_size=1, max_size=4, unique=True))
    channels = [(name, draw(st.sampled_from(sorted(FORMATS)))) for name in names]
    height, width = draw(st.integers(0, 3)), draw(st.integers(0, 4))

    def value(datatype: int) -> float:
        form = FORMATS[datatype]
        if form == 'f':
            return draw(st.floats(width=32))
        if form == 'd':
            return draw(st.floats())
        bits = 8 * struct.calcsize(form)
        low, high = (
            (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if form.islower() else (0, 2**bits - 1)
        )
        return draw(st.integers(low, high))

    rows = [
        [tuple(value(datatype) for _, datatype in channels) for _ in range(width)]
        for _ in range(height)
    ]
    message = cloud(
        rows, channels, big=draw(st.booleans()), gap=draw(st.integers(0, 3)),
        tail=draw(st.integers(0, 5)),
    )  # fmt: skip
    return message, names, [list(map(float, point)) for row in rows for point in row]


@given(data=st.data(), count=st.integers(1, 6))
def test_points_of_any_layout_are_where_the_message_says(data: st.DataObject, count: int) -> None:
    message, names, points = data.draw(clouds())
    channels = data.draw(st.permutations(names))
    wanted = channels[: data.draw(st.integers(1, len(names)))]
    places = [names.index(name) for name in wanted]
    chosen = [[point[place] for place in places] for point in points]
    measured = [point for point in chosen if all(map(math.isfinite, point))]
    found, fraction = taken(message, count, *wanted)
    number = min(count, len(measured))
    assert found[:number] == [measured[i * len(measured) // number] for i in range(number)]
    assert found[number:] == [[-1.0] * len(wanted)] * (count - number)
    assert fraction == number / count


def test_of_many_points_every_nth_is_taken() -> None:
    assert [point[0] for point in taken(line(10), 5, 'x')[0]] == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert [point[0] for point in taken(line(7), 3, 'x')[0]] == [0.0, 2.0, 4.0]
    assert taken(line(5), 5, 'x')[1] == 1.0


def test_a_point_with_a_value_that_is_not_finite_was_not_measured() -> None:
    message = cloud(
        [[(1.0, 0.0, 0.0), (2.0, math.nan, 0.0), (3.0, 0.0, math.inf), (4.0, 0.0, 0.0)]], FLOATS
    )
    assert taken(message, 3, 'x', 'y', 'z') == (
        [[1.0, 0.0, 0.0], [4.0, 0.0, 0.0], [-1.0, -1.0, -1.0]], 2 / 3,
    )  # fmt: skip
    # Nobody asked for the channel in which it was not.
    assert taken(message, 4, 'x')[1] == 1.0


def test_an_empty_cloud_is_all_padding_and_nothing_of_it_was_measured() -> None:
    for message in (cloud([], FLOATS), cloud([[]], FLOATS), line(0)):
        assert taken(message, 2, 'x', 'z', pad=9.0) == ([[9.0, 9.0]] * 2, 0.0)


def test_an_organised_cloud_goes_row_by_row() -> None:
    rows = [[(float(10 * row + column), 0.0, 0.0) for column in range(2)] for row in range(3)]
    message = cloud(rows, FLOATS, tail=7)
    assert [point[0] for point in taken(message, 6, 'x')[0]] == [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]


def test_the_data_may_be_the_array_of_a_ros_message() -> None:
    message = line(3)
    message.data = array.array('B', message.data)
    assert [point[0] for point in taken(message, 3, 'x')[0]] == [0.0, 1.0, 2.0]


def test_the_choice_of_points_depends_on_nothing_but_the_message() -> None:
    assert taken(line(100), 7, 'x') == taken(line(100), 7, 'x')


def test_the_confidence_of_a_cloud_is_the_fraction_that_was_measured() -> None:
    spec = FieldSpec(
        name='cloud', topic='points', shape=(4, 1), dtype='float32', unit=('m',) * 4,
        source=Points(count=4, channels=('x',), pad=(0.0,)), low=(0.0,) * 4, high=(9.0,) * 4,
    )  # fmt: skip
    reading = adapter(spec, '/points')(line(3))
    assert reading.confidence == 0.75
    assert len(reading.values) == 4


# What is refused ---------------------------------------------------------------------------------


def test_a_cloud_without_a_channel_is_refused_by_its_name() -> None:
    with pytest.raises(RecordError, match='point cloud lacks channels .expected x, intensity'):
        taken(line(3), 3, 'x', 'intensity')


@pytest.mark.parametrize('cut', [1, 12, 35, 36])
def test_a_cloud_that_is_shorter_than_it_says_is_refused(cut: int) -> None:
    message = line(3)
    message.data = message.data[: len(message.data) - cut]
    with pytest.raises(RecordError, match='expected 1 rows of 36 bytes'):
        taken(message, 3, 'x')


def test_rows_that_are_shorter_than_their_points_are_refused() -> None:
    message = line(3)
    message.row_step = 24
    with pytest.raises(RecordError, match='in rows of 24'):
        taken(message, 3, 'x')


@pytest.mark.parametrize(
    'changes',
    [
        {'fields': [channel('x', 0, 9)]},
        {'fields': [channel('x', 0, 0)]},
        {'point_step': 0},
        {'point_step': 3},
        {'fields': [channel('x', 9, 7)]},
        {'fields': [channel('x', 10**9, 7)]},
    ],
)
def test_a_cloud_whose_points_do_not_fit_their_fields_is_refused(changes: dict[str, Any]) -> None:
    message = line(3)
    message.__dict__.update(changes)
    with pytest.raises(RecordError, match=' point cloud '):
        taken(message, 3, 'x')


@given(
    height=st.integers(0, 4), width=st.integers(0, 4), point_step=st.integers(0, 20),
    row_step=st.integers(0, 60), size=st.integers(0, 80), offset=st.integers(0, 24),
    datatype=st.integers(0, 10), big=st.booleans(),
)  # fmt: skip
def test_any_message_is_read_or_refused_in_words(
    height: int, width: int, point_step: int, row_step: int, size: int, offset: int, datatype: int,
    big: bool,
) -> None:  # fmt: skip
    message = stamped(
        1.0, height=height, width=width, point_step=point_step, row_step=row_step,
        data=bytes(size), fields=[channel('x', offset, datatype)], is_bigendian=big,
    )  # fmt: skip
    try:
        found, fraction = taken(message, 3, 'x')
    except RecordError:
        return
    assert len(found) == 3
    assert 0.0 <= fraction <= 1.0
