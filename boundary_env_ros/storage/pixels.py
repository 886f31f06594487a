# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pixels that an image of the observation refers to, compressed or not."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import ENCODINGS, Picture
from boundary_env_ros.core.sources.images import decode, Image, payload, within_bounds
from boundary_env_ros.errors import RecordError

Message = Any  # anything with the attributes of the message

_MODES = {'mono8': 'L', 'rgb8': 'RGB', 'bgr8': 'RGB'}


def pixels_of(spec: FieldSpec, message: Message) -> Image:
    """
    Return the pixels of an image, shape and dtype of the field, each within its bounds.

    Parameters
    ----------
    spec
        The field.
    message
        ``sensor_msgs/Image`` or ``CompressedImage``; for the latter Pillow is needed, which the
        extra ``images`` brings.

    Raises
    ------
    RecordError
        If the message does not hold as many as it should, or cannot be decompressed.

    """
    source = spec.source
    if isinstance(source, Picture) and source.compressed:
        return within_bounds(spec, _decompressed(spec, source, message))
    return decode(spec, message)


def _decompressed(spec: FieldSpec, source: Picture, message: Message) -> Image:
    try:
        import PIL.Image
    except ImportError as error:
        raise RecordError(
            'Pillow, which decompresses images, is not installed. Install it: pip install Pillow.'
        ) from error
    height, width, _ = spec.shape
    try:
        # No other format than the declared one: what comes over a network chooses no decoder.
        with PIL.Image.open(io.BytesIO(payload(message)), formats=(source.compressed,)) as opened:
            # Before anything is decompressed: a small file may hold a very large image.
            fits = opened.size == (width, height) and _has_depth_of(source, opened.mode)
            mode = _MODES.get(source.encoding)
            found = np.asarray(opened.convert(mode) if mode else opened) if fits else None
            actual = f'{opened.size[0]}x{opened.size[1]}, mode {opened.mode}'
    except (
        PIL.UnidentifiedImageError,
        PIL.Image.DecompressionBombError,
        OSError,
        ValueError,
        SyntaxError,
    ) as error:
        raise RecordError(
            f'Not a {source.compressed} image for the field {spec.name!r}: {error}.'
        ) from error
    if found is None:
        raise RecordError(
            f'Wrong image (expected images of {width}x{height} {source.encoding} for the field '
            f'{spec.name!r}, got {actual}). Change shape or encoding in the contract.'
        )
    pixels = found.reshape(spec.shape)
    if source.encoding == 'bgr8':
        pixels = pixels[..., ::-1]
    return np.ascontiguousarray(pixels).astype(ENCODINGS[source.encoding][1], copy=False)


def _has_depth_of(source: Picture, mode: str) -> bool:
    """
    Return whether an image in a mode of Pillow has as many bits as the declared encoding.

    A conversion between 8 and 16 bits would change what the numbers mean, unnoticed.
    """
    return mode.startswith('I') == (source.encoding not in _MODES)
