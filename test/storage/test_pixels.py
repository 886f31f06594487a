# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pixels of images, compressed ones above all: what was put in comes out, or is refused."""

from __future__ import annotations

import builtins
import io
import struct
from typing import Any
import zlib

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import DECOMPRESSED, ENCODINGS, Picture
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import RecordError
from boundary_env_ros.storage.pixels import pixels_of
from support.core_messages import image
from support.core_world import stamped

PIL_Image = pytest.importorskip('PIL.Image', reason='needs boundary_env_ros[images]')


def field(
    encoding: str,
    height: int,
    width: int,
    compressed: str = '',
    low: Vector = (),
    high: Vector = (),
) -> FieldSpec:
    channels, dtype = ENCODINGS[encoding]
    return FieldSpec(
        name='camera', topic='camera', source=Picture(encoding=encoding, compressed=compressed),
        shape=(height, width, channels), dtype=dtype, unit=('mm',) if low else (), low=low,
        high=high,
    )  # fmt: skip


def packed(pixels: np.ndarray, form: str, **options: Any) -> bytes:
    """Return pixels as a file of an image: (h, w, 3) as colours, (h, w) as grey."""
    file = io.BytesIO()
    PIL_Image.fromarray(pixels).save(file, form, **options)
    return file.getvalue()


def message(data: bytes, form: str) -> Any:
    return stamped(1.0, format=form, data=data)


@st.composite
def pixels(draw: Any, dtype: str, channels: int) -> np.ndarray:
    height, width = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    raw = draw(
        st.binary(min_size=height * width * channels * 2, max_size=height * width * channels * 2)
    )
    values = np.frombuffer(raw, 'uint16').astype(dtype)
    shape = (height, width) if channels == 1 else (height, width, channels)
    return values.reshape(shape)


@pytest.mark.parametrize('encoding', DECOMPRESSED)
@given(data=st.data())
def test_a_png_comes_out_as_it_was_put_in(encoding: str, data: st.DataObject) -> None:
    channels, dtype = ENCODINGS[encoding]
    drawn = data.draw(pixels(dtype, channels))
    bounds = {'low': (0.0,), 'high': (65535.0,)} if encoding == '16UC1' else {}
    spec = field(encoding, *drawn.shape[:2], 'png', **bounds)
    found = pixels_of(spec, message(packed(drawn, 'png'), 'png'))
    assert (found.shape, found.dtype) == (spec.shape, np.dtype(dtype))
    expected = drawn[..., ::-1] if encoding == 'bgr8' else drawn
    assert found.tolist() == expected.reshape(spec.shape).tolist()
    assert found.flags.c_contiguous


@pytest.mark.parametrize('form', ['16UC1; compressedDepth png', '16UC1; compressedDepth'])
def test_depths_behind_the_header_of_image_transport_come_out_as_they_were_put_in(
    form: str,
) -> None:
    depths = np.arange(500, 548, dtype=np.uint16).reshape(6, 8)
    spec = field('16UC1', 6, 8, 'png', low=(0.0,), high=(10000.0,))
    data = struct.pack('<iff', 0, 0.0, 0.0) + packed(depths, 'png')
    assert pixels_of(spec, message(data, form))[..., 0].tolist() == depths.tolist()


@pytest.mark.parametrize('encoding', ['mono8', 'rgb8', 'bgr8'])
def test_a_jpeg_comes_out_nearly_as_it_was_put_in(encoding: str) -> None:
    ramp = np.linspace(0, 255, 16 * 24).reshape(16, 24)
    grey = np.broadcast_to(ramp[..., None], (16, 24, 3)).astype(np.uint8).copy()
    grey[..., 0] = 200
    source = grey[..., 1] if encoding == 'mono8' else grey
    spec = field(encoding, 16, 24, 'jpeg')
    data = packed(np.ascontiguousarray(source), 'jpeg', quality=95, subsampling=0)
    found = pixels_of(spec, message(data, 'rgb8; jpeg compressed bgr8')).astype(int)
    expected = source[..., ::-1] if encoding == 'bgr8' else source
    assert np.abs(found - expected.reshape(spec.shape)).mean() < 3.0


def test_colours_may_be_asked_for_as_grey_and_grey_as_colours() -> None:
    colours = np.full((2, 3, 3), 80, np.uint8)
    assert (
        pixels_of(field('mono8', 2, 3, 'png'), message(packed(colours, 'png'), 'png')).tolist()
        == [[[80]] * 3] * 2
    )
    found = pixels_of(field('rgb8', 2, 3, 'png'), message(packed(colours[..., 0], 'png'), 'png'))
    assert found.tolist() == colours.tolist()


def test_depths_are_brought_within_their_bounds() -> None:
    depths = np.array([[0, 500, 65535]], np.uint16)
    spec = field('16UC1', 1, 3, 'png', (100.0,), (4000.0,))
    assert pixels_of(spec, message(packed(depths, 'png'), 'png')).ravel().tolist() == [
        100, 500, 4000,
    ]  # fmt: skip


def test_an_image_that_is_not_compressed_is_delivered_too() -> None:
    found = pixels_of(field('mono8', 1, 2), image(1, 2, bytes([7, 8]), encoding='mono8'))
    assert found.ravel().tolist() == [7, 8]


# What is refused ---------------------------------------------------------------------------------

COLOURS = np.zeros((4, 5, 3), np.uint8)


@pytest.mark.parametrize(
    ('encoding', 'data', 'told'),
    [
        ('rgb8', packed(np.zeros((5, 4, 3), np.uint8), 'png'), '4x5, mode RGB'),
        # A conversion would change what the numbers mean.
        ('rgb8', packed(np.zeros((4, 5), np.uint16), 'png'), '5x4, mode I'),
        ('mono8', packed(np.zeros((4, 5), np.uint16), 'png'), '5x4, mode I'),
        ('16UC1', packed(np.zeros((4, 5), np.uint8), 'png'), '5x4, mode L'),
        ('mono16', packed(COLOURS, 'png'), '5x4, mode RGB'),
    ],
)
def test_another_size_or_depth_is_refused(encoding: str, data: bytes, told: str) -> None:
    with pytest.raises(RecordError, match=f'expected images of 5x4 {encoding}') as caught:
        pixels_of(field(encoding, 4, 5, 'png'), message(data, 'png'))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ('compressed', 'data'),
    [
        ('png', b''),
        ('png', b'\x00' * 100),
        ('png', packed(COLOURS, 'png')[:-30]),
        ('png', packed(COLOURS, 'jpeg')),
        ('jpeg', packed(COLOURS, 'png')),
        ('jpeg', packed(COLOURS, 'jpeg')[:200]),
        ('png', packed(COLOURS, 'bmp')),
    ],
)
def test_what_is_no_whole_image_of_the_declared_format_is_refused(
    compressed: str, data: bytes
) -> None:
    with pytest.raises(RecordError, match=f"Not a {compressed} image for the field 'camera'"):
        pixels_of(field('rgb8', 4, 5, compressed), message(data, compressed))


def test_a_small_file_with_a_very_large_image_is_refused_before_it_is_unpacked() -> None:
    def chunk(kind: bytes, content: bytes) -> bytes:
        checked = kind + content
        return struct.pack('>I', len(content)) + checked + struct.pack('>I', zlib.crc32(checked))

    for side in (20_000, 12_000, 60_000):
        header = struct.pack('>IIBBBBB', side, side, 8, 0, 0, 0, 0)
        data = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(b''))
        with pytest.raises(RecordError), pytest.MonkeyPatch.context() as patch:
            patch.setattr(PIL_Image.Image, 'load', lambda _: pytest.fail('it was unpacked'))
            pixels_of(field('mono8', 4, 5, 'png'), message(data, 'png'))


@given(
    form=st.sampled_from(['png', 'jpeg']),
    changes=st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), max_size=4),
    length=st.integers(0, 900),
)
def test_any_damage_is_refused_in_words_or_leaves_an_image(
    form: str, changes: list[tuple[int, bytes]], length: int
) -> None:
    data = packed(COLOURS, form)
    for place, new in changes:
        data = data[:place] + new + data[place + 2 :]
    try:
        found = pixels_of(field('rgb8', 4, 5, form), message(data[:length], form))
    except RecordError:
        return
    assert (found.shape, found.dtype) == ((4, 5, 3), np.uint8)


def test_without_pillow_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any) -> Any:
        if name.startswith('PIL'):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, '__import__', missing)
    with pytest.raises(RecordError, match='pip install Pillow'):
        pixels_of(field('rgb8', 4, 5, 'png'), message(packed(COLOURS, 'png'), 'png'))
