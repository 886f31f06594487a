# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera images of a run, small and few enough for a page: a number and a size are declared."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import io
from typing import Any, NamedTuple

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import ENCODINGS
from boundary_env_ros.core.sources.images import as_rgb, Image
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.report.timeline import Picture
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.recorded_images import RecordedImages
from boundary_env_ros.storage.records import RecordSource

#: Widths that are tried, and the quality of JPEG with each.
_SIZES = ((320, 80), (240, 65), (160, 50), (96, 40))

#: Images up to so many bytes without a loss are kept as PNG: a small one stays what it was.
_PLAIN = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameBudget:
    """
    How many camera images a page may hold.

    Attributes
    ----------
    count
        Most of them.
    size
        Bytes of all of them together.

    """

    count: int = 400
    size: int = 8_000_000

    @property
    def each(self) -> int:
        """Return the bytes that one may take."""
        return self.size // self.count if self.count else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """
    One camera image of the page.

    Attributes
    ----------
    field, step
        Which field of which step it is.
    width, height
        As it is on the page.
    data
        A ``data:`` address.

    """

    field: str
    step: int
    width: int
    height: int
    data: str


class Wanted(NamedTuple):
    """A picture of one episode."""

    episode: int
    picture: Picture


def choose(
    pictures: Mapping[int, Sequence[Picture]],
    moments: Mapping[int, Sequence[int]],
    budget: FrameBudget,
) -> tuple[Wanted, ...]:
    """
    Choose the pictures that the page shows, at most as many as the budget has.

    Parameters
    ----------
    pictures
        Those that there are, by episode, in the order of their steps.
    moments
        Suspicious steps, by episode: their pictures come first.
    budget
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
                chosen[Wanted(episode, near)] = None
    every = [Wanted(episode, picture) for episode, found in pictures.items() for picture in found]
    rest = [wanted for wanted in every if wanted not in chosen]
    first = tuple(chosen)[: budget.count]
    left = min(budget.count - len(first), len(rest))
    return (*first, *(rest[i * len(rest) // left] for i in range(left)))


def frames_of(
    wanted: Iterable[Wanted],
    fields: Mapping[str, FieldSpec],
    source: RecordSource,
    budget: FrameBudget,
) -> tuple[dict[int, list[Frame]], Counter[str]]:
    """
    Find the chosen pictures in a record, and make them small.

    Parameters
    ----------
    wanted
        See :func:`choose`.
    fields
        The fields of the contract by name, which tell what the pixels mean.
    source
        The record.
    budget
        How large each may be.

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
    for episode, picture in sorted(wanted, key=lambda one: one.picture.log_time):
        spec = fields.get(picture.field)
        if spec is None:
            lost['the contract does not know the field'] += 1
            continue
        try:
            frame = _frame(spec, picture, images, budget.each)
        except (RecordError, ValueError) as error:
            lost[str(error)] += 1
        else:
            found.setdefault(episode, []).append(frame)
    for frames in found.values():
        frames.sort(key=lambda frame: frame.step)
    return found, lost


def _frame(spec: FieldSpec, picture: Picture, images: RecordedImages, most: int) -> Frame:
    reference = picture.reference
    if reference.data:
        dtype = ENCODINGS.get(reference.encoding, (0, 'uint8'))[1]
        pixels = np.frombuffer(reference.data, dtype).reshape(spec.shape)
    else:
        message = images.message(reference, picture.log_time)
        if message is None:
            raise RecordError('the record does not hold the image')
        pixels = pixels_of(spec, message)
    small = _shrunk(as_rgb(spec, pixels), most)
    if small is None:
        raise RecordError('it would be larger than the budget')
    kind, width, height, data = small
    return Frame(
        field=picture.field,
        step=picture.step,
        width=width,
        height=height,
        data=f'data:image/{kind};base64,{base64.b64encode(data).decode("ascii")}',
    )


def pillow_is_there() -> bool:
    """Return whether images can be made small."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        return False
    return True


def _shrunk(pixels: Image, most: int) -> tuple[str, int, int, bytes] | None:
    """Return format, width, height and bytes of an image that fits; None if none does."""
    import PIL.Image

    picture = PIL.Image.fromarray(pixels)
    if max(picture.size) <= _SIZES[0][0]:
        data = _encoded(picture, 'PNG', optimize=True)
        if len(data) <= min(most, _PLAIN):
            return 'png', *picture.size, data
    for width, quality in _SIZES:
        picture.thumbnail((width, width))
        data = _encoded(picture, 'JPEG', quality=quality)
        if len(data) <= most:
            return 'jpeg', *picture.size, data
    return None


def _encoded(picture: Any, kind: str, **options: Any) -> bytes:
    written = io.BytesIO()
    picture.save(written, kind, **options)
    return written.getvalue()
