# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Images: what an observation refers to, and the array that a reference resolves to.

The encodings are those of ``sensor_msgs/image_encodings.hpp``. A Bayer image is delivered as it
was sampled, one channel: which interpolation suits is the policy's business.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import ENCODINGS, Picture
from boundary_env_ros.core.records.observation import ImageReference
from boundary_env_ros.core.timebase import RosTime
from boundary_env_ros.errors import RecordError

Image = npt.NDArray[Any]
Message = Any  # anything with the attributes of the message

#: What the format of a ``CompressedImage`` of depths says, of which the encoding comes first.
_DEPTHS = 'compresseddepth'


def reference(message: Message, spec: FieldSpec, topic: str, stamp: int) -> ImageReference:
    """
    Return the reference to an image.

    Parameters
    ----------
    message
        ``sensor_msgs/Image`` or ``CompressedImage``.
    spec
        The field.
    topic
        Its resolved topic.
    stamp
        ``header.stamp``, nanoseconds.

    Raises
    ------
    RecordError
        If its size or encoding is not what the contract declares.

    """
    source = _picture(spec)
    height, width = spec.shape[:2]
    if source.compressed:
        encoding = source.compressed
        _check_format(message, source, topic)
    else:
        encoding = source.encoding
        found = (message.height, message.width, message.encoding)
        if found != (height, width, encoding):
            raise RecordError(
                f'Wrong image on {topic} (expected {width}x{height} {encoding}, got '
                f'{message.width}x{message.height} {message.encoding}). Change shape or encoding '
                f'of the field {spec.name!r} in the contract, or the configuration of the camera.'
            )
        _step(message, source, spec)
    return ImageReference(
        topic=topic,
        stamp=RosTime(stamp),
        height=height,
        width=width,
        encoding=encoding,
        sha256=hashlib.sha256(message.data).digest(),
    )


def decode(spec: FieldSpec, message: Message) -> Image:
    """
    Return the pixels of an image that is not compressed, shape and dtype of the field.

    Raises
    ------
    RecordError
        If the message does not hold as many as it should.

    """
    return within_bounds(spec, _plain(message, _picture(spec), spec))


def within_bounds(spec: FieldSpec, pixels: Image) -> Image:
    """Return pixels within the bounds of the field; those that measured nothing as declared."""
    if not spec.low:
        return pixels
    source = _picture(spec)
    if pixels.dtype.kind == 'f':
        pixels = np.where(np.isfinite(pixels), pixels, np.float32(source.invalid))
    low, high = (np.asarray(bound[0], dtype=pixels.dtype) for bound in (spec.low, spec.high))
    bounded: Image = np.clip(pixels, low, high)
    return bounded


def as_rgb(spec: FieldSpec, pixels: Image) -> Image:
    """
    Return pixels of a field as a picture to look at, shape (height, width, 3), RGB, uint8.

    Depths, and other images of more than 8 bits, go from black at their lower bound to white at
    their upper one.
    """
    encoding = _picture(spec).encoding
    if pixels.dtype != np.uint8:
        low, high = (spec.low[0], spec.high[0]) if spec.low else (0.0, 65535.0)
        scaled = (pixels.astype(np.float64) - low) / ((high - low) or 1.0)
        pixels = np.rint(np.clip(scaled, 0.0, 1.0) * 255.0).astype(np.uint8)
    colours = pixels[..., :3]
    if encoding in ('bgr8', 'bgra8', '8UC3'):
        colours = colours[..., ::-1]
    picture: Image = np.broadcast_to(colours, (*pixels.shape[:2], 3)).copy()
    return picture


def _picture(spec: FieldSpec) -> Picture:
    assert isinstance(spec.source, Picture)  # the caller asks is_image first
    return spec.source


def payload(message: Message) -> bytes:
    """Return a compressed image, without the 12 bytes that image_transport puts before depths."""
    return bytes(message.data)[12 if _DEPTHS in message.format.lower() else 0 :]


def _step(message: Message, source: Picture, spec: FieldSpec) -> tuple[int, int]:
    """Return the bytes of a row, with and without padding; raise if the message lacks some."""
    height, width, channels = spec.shape
    row = width * channels * np.dtype(ENCODINGS[source.encoding][1]).itemsize
    step = message.step or row
    if step < row or len(message.data) < step * (height - 1) + row:
        raise RecordError(
            f'Wrong size of an image of the field {spec.name!r} (expected {height} rows of {row} '
            f'bytes, got {len(message.data)} bytes in rows of {step}).'
        )
    return step, row


def _plain(message: Message, source: Picture, spec: FieldSpec) -> Image:
    (step, row), height = _step(message, source, spec), spec.shape[0]
    dtype = np.dtype(ENCODINGS[source.encoding][1])
    data = np.frombuffer(message.data, np.uint8)
    if step == row:
        packed = data[: height * row]
    else:
        # Rows may be padded; the last one need not be.
        padded = np.zeros(height * step, np.uint8)
        padded[: min(len(data), height * step)] = data[: height * step]
        packed = np.ascontiguousarray(padded.reshape(height, step)[:, :row]).ravel()
    big = message.is_bigendian and dtype.itemsize > 1
    values = packed.view(dtype.newbyteorder('>' if big else '<')).reshape(spec.shape)
    pixels: Image = values.astype(dtype, copy=False)
    return pixels


def _check_format(message: Message, source: Picture, topic: str) -> None:
    # 'jpeg', or as image_transport writes it: 'rgb8; jpeg compressed bgr8'. Of depths it is
    # '16UC1; compressedDepth png', before ROS 2 Humble without the last word.
    form = message.format.lower().replace('jpg', 'jpeg')
    encoding, is_depth, packing = form.partition(_DEPTHS)
    if is_depth:
        form = packing.strip() or 'png' if encoding.strip('; ') == source.encoding.lower() else ''
    if source.compressed not in form:
        raise RecordError(
            f'Wrong compression on {topic} (expected {source.compressed} of {source.encoding}, '
            f'got {message.format!r}). Change `compressed` or `encoding` in the contract, or what '
            'the camera sends.'
        )
