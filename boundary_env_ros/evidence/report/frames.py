# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera images of a run, small and few enough for a page."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
import io
from typing import NamedTuple, TypeAlias

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import ENCODINGS
from boundary_env_ros.core.sources.images import as_rgb
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.report.timeline import TimelinePicture
from boundary_env_ros.storage.record_reader import Bag
from boundary_env_ros.storage.recorded_images import RecordedImages

#: Greatest side of an image of the page, pixels, and its quality as JPEG; a small image is kept
#: without a loss.
_SIDE, _QUALITY, _SMALL = 240, 75, 128


#: A picture, and the number of the episode that it is of.
Wanted: TypeAlias = tuple[int, TimelinePicture]


class Frame(NamedTuple):
    """One camera image of the page: of which field and step, and a ``data:`` address."""

    field: str
    step: int
    data: str


def choose(
    pictures: Mapping[int, Sequence[TimelinePicture]],
    moments: Mapping[int, Sequence[int]],
    most: int,
) -> tuple[Wanted, ...]:
    """
    Choose the pictures that the page shows, at most so many.

    Parameters
    ----------
    pictures
        Those that there are, by episode, in the order of their steps.
    moments
        Suspicious steps, by episode: their pictures come first.
    most
        How many.

    Returns
    -------
    tuple
        The pictures of the moments, then an even choice of the others.

    """
    chosen: dict[Wanted, None] = {}
    for episode, found in pictures.items():
        for field in dict.fromkeys(picture.field for picture in found):
            one = [picture for picture in found if picture.field == field]
            for step in moments.get(episode, ()):
                near = min(one, key=lambda picture: abs(picture.step - step))
                chosen[episode, near] = None
    every = [(episode, picture) for episode, found in pictures.items() for picture in found]
    rest = [wanted for wanted in every if wanted not in chosen]
    first = tuple(chosen)[:most]
    left = min(most - len(first), len(rest))
    return (*first, *(rest[i * len(rest) // left] for i in range(left)))


def frames_of(
    wanted: Iterable[Wanted],
    fields: Mapping[str, FieldSpec],
    source: Bag,
) -> tuple[dict[int, list[Frame]], Counter[str]]:
    """
    Find the chosen pictures in a record, and make them small.

    Parameters
    ----------
    wanted
        See :func:`choose`.
    fields
        The fields of the contract by name, which define what the pixels mean.
    source
        The record.

    Returns
    -------
    dict
        The images of each episode, in the order of their steps.
    Counter
        How many could not be shown, by why.

    """
    found: dict[int, list[Frame]] = {}
    lost: Counter[str] = Counter()
    images = RecordedImages(source, [spec for spec in fields.values() if spec.is_image])
    for episode, picture in sorted(wanted, key=lambda one: one[1].log_time):
        try:
            frame = _frame(fields[picture.field], picture, images)
        except (RecordError, ValueError) as error:
            lost[str(error)] += 1
        else:
            found.setdefault(episode, []).append(frame)
    for frames in found.values():
        frames.sort(key=lambda frame: frame.step)
    return found, lost


def _frame(spec: FieldSpec, picture: TimelinePicture, images: RecordedImages) -> Frame:
    import PIL.Image

    reference = picture.reference
    if reference.data:
        dtype = ENCODINGS.get(reference.encoding, (0, 'uint8'))[1]
        pixels = np.frombuffer(reference.data, dtype).reshape(spec.shape)
    else:
        found = images.pixels(spec, reference, picture.log_time)
        if found is None:
            raise RecordError('the record does not hold the image')
        pixels = found
    small = PIL.Image.fromarray(as_rgb(spec, pixels))
    kind = 'png' if max(small.size) <= _SMALL else 'jpeg'
    small.thumbnail((_SIDE, _SIDE))
    written = io.BytesIO()
    small.save(written, kind, quality=_QUALITY)
    data = base64.b64encode(written.getvalue()).decode('ascii')
    return Frame(field=picture.field, step=picture.step, data=f'data:image/{kind};base64,{data}')


def pillow_is_there() -> bool:
    """Return whether images can be made small."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        return False
    return True
