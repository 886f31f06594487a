# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Images: the reference that a record holds, and the pixels that it resolves to."""

from __future__ import annotations

import array
from dataclasses import replace
import hashlib
import math
import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import DEPTHS, ENCODINGS, Picture
from boundary_env_ros.core.sources.images import as_rgb, decode, reference
from boundary_env_ros.core.sources.readers import adapter
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from support.core_messages import image
from support.core_world import shipped

FRONT = next(spec for spec in shipped().observation if spec.name == 'front')
HEIGHT, WIDTH, _ = FRONT.shape


def front(**changes: Any) -> Any:
    changes = {'data': bytes(HEIGHT * WIDTH * 3), **changes}
    return image(changes.pop('height', HEIGHT), changes.pop('width', WIDTH), **changes)


def field(
    encoding: str,
    height: int,
    width: int,
    *,
    low: Vector = (),
    high: Vector = (),
    invalid: float = 0.0,
) -> FieldSpec:
    channels, dtype = ENCODINGS[encoding]
    return replace(
        FRONT,
        source=Picture(encoding=encoding, invalid=invalid),
        shape=(height, width, channels),
        dtype=dtype,
        low=low,
        high=high,
    )


# References --------------------------------------------------------------------------------------


def test_an_image_is_referred_to_by_topic_stamp_and_content() -> None:
    message = front()
    reading = adapter(FRONT, '/camera/image_raw')(message)
    assert reading.values == ()
    assert reading.image is not None
    assert reading.image.topic == '/camera/image_raw'
    assert reading.image.stamp == 2_000_000_000
    assert reading.image.sha256 == hashlib.sha256(message.data).digest()
    assert (reading.image.height, reading.image.width) == FRONT.shape[:2]


def test_another_content_is_another_image() -> None:
    one, other = front(), front(data=bytes([1, *bytes(HEIGHT * WIDTH * 3 - 1)]))
    assert reference(one, FRONT, '/c', 1).sha256 != reference(other, FRONT, '/c', 1).sha256


def test_the_content_is_the_same_whatever_holds_it() -> None:
    """Bytes, or the array of a ROS message."""
    plain, wire = front(), front(data=array.array('B', bytes(HEIGHT * WIDTH * 3)))
    assert reference(plain, FRONT, '/c', 1) == reference(wire, FRONT, '/c', 1)
    assert np.array_equal(decode(FRONT, plain), decode(FRONT, wire))


@pytest.mark.parametrize('changes', [{'height': 47}, {'width': 1}, {'encoding': 'bgr8'}])
def test_an_image_of_another_size_or_encoding_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(RecordError, match='Wrong image on /camera.* .expected 64x48 rgb8'):
        reference(front(**changes), FRONT, '/camera', 1)


@pytest.mark.parametrize('form', ['jpeg', 'JPG', 'rgb8; jpeg compressed bgr8'])
def test_the_format_of_a_compressed_image_is_read_as_image_transport_writes_it(form: str) -> None:
    spec = replace(FRONT, source=Picture(encoding='rgb8', compressed='jpeg'))
    message = front(format=form, data=b'not looked at here')
    found = adapter(spec, '/camera/compressed')(message).image
    assert found is not None
    assert (found.encoding, found.height, found.width) == ('jpeg', HEIGHT, WIDTH)


@pytest.mark.parametrize('form', ['', 'png', 'rgb8; png compressed', 'h264'])
def test_a_compressed_image_of_another_format_is_refused(form: str) -> None:
    spec = replace(FRONT, source=Picture(encoding='rgb8', compressed='jpeg'))
    with pytest.raises(
        RecordError, match='Wrong compression on /camera.* .expected jpeg'
    ) as caught:
        reference(front(format=form), spec, '/camera', 1)
    assert repr(form) in str(caught.value)


@pytest.mark.parametrize(
    ('form', 'fits'),
    [
        ('16UC1; compressedDepth png', True),
        ('16UC1; compressedDepth', True),
        ('16UC1; compressedDepth rvl', False),
        ('32FC1; compressedDepth png', False),
    ],
)
def test_depths_with_a_header_are_those_of_the_contract_or_refused(form: str, fits: bool) -> None:
    spec = replace(FRONT, source=Picture(encoding='16UC1', compressed='png'))
    if fits:
        assert reference(front(format=form), spec, '/depth', 1).encoding == 'png'
    else:
        with pytest.raises(RecordError, match='expected png of 16UC1, got') as caught:
            reference(front(format=form), spec, '/depth', 1)
        assert form in str(caught.value)


def test_an_image_that_lacks_bytes_is_refused_before_anybody_wants_its_pixels() -> None:
    with pytest.raises(RecordError, match='expected 48 rows of 192 bytes, got .* in rows of 64'):
        reference(front(step=64), FRONT, '/camera', 1)


# Pixels ------------------------------------------------------------------------------------------

ITEMS = {'uint8': 'B', 'uint16': 'H', 'float32': 'f'}


@given(
    encoding=st.sampled_from(sorted(ENCODINGS)),
    height=st.integers(1, 4),
    width=st.integers(1, 5),
    padding=st.integers(0, 3),
    big=st.booleans(),
    last_row_padded=st.booleans(),
    data=st.data(),
)
def test_pixels_are_where_the_message_says_by_row_and_byte_order(
    encoding: str,
    height: int,
    width: int,
    padding: int,
    big: bool,
    last_row_padded: bool,
    data: st.DataObject,
) -> None:
    """Build the bytes one number at a time, and read them back whole."""
    channels, dtype = ENCODINGS[encoding]
    most = {'uint8': 255, 'uint16': 65535}.get(dtype)
    number = st.integers(0, most) if most else st.floats(-1e6, 1e6, width=32)
    count = width * channels
    rows = data.draw(
        st.lists(
            st.lists(number, min_size=count, max_size=count), min_size=height, max_size=height
        )
    )
    form = f'{">" if big else "<"}{count}{ITEMS[dtype]}'
    packed = b''
    for index, row in enumerate(rows):
        last = index == height - 1 and not last_row_padded
        packed += struct.pack(form, *row) + b'\xaa' * (0 if last else padding)
    step = struct.calcsize(form) + padding
    bounds = {'low': (-1e6,), 'high': (1e6,)} if dtype == 'float32' else {}
    message = image(height, width, packed, encoding=encoding, step=step, is_bigendian=int(big))
    pixels = decode(field(encoding, height, width, **bounds), message)
    assert pixels.dtype == dtype
    assert pixels.dtype.isnative
    assert pixels.tolist() == np.reshape(rows, (height, width, channels)).tolist()


def test_an_image_without_a_step_is_packed() -> None:
    pixels = decode(field('mono8', 2, 3), image(2, 3, bytes(range(6)), encoding='mono8', step=0))
    assert pixels[..., 0].tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ('changes', 'found'),
    [
        ({'data': b''}, '0 bytes'),
        ({'data': bytes(5)}, '5 bytes'),
        ({'step': 2}, 'rows of 2'),
        ({'step': 4}, '6 bytes in rows of 4'),
    ],
)
def test_an_image_that_lacks_bytes_is_refused(changes: dict[str, Any], found: str) -> None:
    changes = {'data': bytes(6), 'encoding': 'mono8', **changes}
    with pytest.raises(RecordError, match='an image of .*expected 2 rows of 3 bytes') as caught:
        decode(field('mono8', 2, 3), image(2, 3, **changes))
    assert found in str(caught.value)


def test_bytes_after_the_last_row_are_passed_over() -> None:
    pixels = decode(field('mono8', 1, 2), image(1, 2, bytes([7, 8, 9, 9]), encoding='mono8'))
    assert pixels.ravel().tolist() == [7, 8]


# Depths ------------------------------------------------------------------------------------------


def depths(values: list[float], **bounds: Any) -> list[float]:
    spec = field('32FC1', 1, len(values), **{'low': (0.2,), 'high': (5.0,), **bounds})
    message = image(1, len(values), struct.pack(f'<{len(values)}f', *values), encoding='32FC1')
    pixels = decode(spec, message)
    found: list[float] = pixels.ravel().tolist()
    return found


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_a_depth_that_was_not_measured_is_what_stands_for_it(value: float) -> None:
    assert depths([value, 1.5], invalid=0.5) == [0.5, 1.5]


def test_depths_are_brought_within_their_bounds() -> None:
    low, high = np.float32(0.2), np.float32(5.0)
    assert depths([0.0, 1.0, 9.0, -3.0], invalid=0.2) == [low, 1.0, high, low]


def test_depths_of_whole_millimetres_are_brought_within_their_bounds() -> None:
    spec = field('16UC1', 1, 4, low=(100.0,), high=(4000.0,))
    data = struct.pack('<4H', 0, 100, 4001, 65535)
    pixels = decode(spec, image(1, 4, data, encoding='16UC1'))
    assert pixels.ravel().tolist() == [100, 100, 4000, 4000]
    assert pixels.dtype == np.uint16


@given(
    values=st.lists(st.floats(width=32), min_size=1, max_size=8),
    low=st.floats(-1e6, 1e6),
    width=st.floats(0.0, 1e6),
)
def test_no_depth_image_leaves_its_bounds(values: list[float], low: float, width: float) -> None:
    high = low + width
    found = depths(values, low=(low,), high=(high,), invalid=low)
    assert all(np.float32(low) <= value <= np.float32(high) for value in found)


# To look at --------------------------------------------------------------------------------------


@pytest.mark.parametrize('encoding', sorted(ENCODINGS))
def test_any_image_can_be_looked_at(encoding: str) -> None:
    channels, dtype = ENCODINGS[encoding]
    bounds = {'low': (0.0,), 'high': (2.0,)} if encoding in DEPTHS else {}
    pixels = np.ones((2, 3, channels), dtype=dtype)
    picture = as_rgb(field(encoding, 2, 3, **bounds), pixels)
    assert (picture.shape, picture.dtype) == ((2, 3, 3), np.uint8)


def test_a_picture_has_its_colours_in_order() -> None:
    blue_first = np.array([[[1, 2, 3]]], dtype=np.uint8)
    assert as_rgb(field('bgr8', 1, 1), blue_first).ravel().tolist() == [3, 2, 1]
    with_alpha = np.array([[[1, 2, 3, 4]]], dtype=np.uint8)
    assert as_rgb(field('bgra8', 1, 1), with_alpha).ravel().tolist() == [3, 2, 1]
    assert as_rgb(field('rgba8', 1, 1), with_alpha).ravel().tolist() == [1, 2, 3]


def test_a_depth_is_black_at_its_least_and_white_at_its_most() -> None:
    spec = field('32FC1', 1, 3, low=(1.0,), high=(3.0,))
    pixels = np.array([[[1.0], [2.0], [3.0]]], dtype=np.float32)
    assert as_rgb(spec, pixels)[0, :, 0].tolist() == [0, 128, 255]
