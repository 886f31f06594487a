# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Camera images of a run, small and few enough for a page: a number and a size are declared."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import hashlib
import io
import struct
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import FieldSpec
from boundary_env_ros.core.contract.sources import ENCODINGS
from boundary_env_ros.core.environment.observation import ImageReference
from boundary_env_ros.core.sources.images import as_rgb, Image
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.errors import RecordError
from boundary_env_ros.evidence.report.timeline import Picture
from boundary_env_ros.storage.pixels import pixels_of
from boundary_env_ros.storage.records import Message

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


@dataclass(frozen=True, slots=True)
class Wanted:
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


class Frames:
    """
    Finds the chosen pictures in the raw messages of a bag, and makes them small.

    Parameters
    ----------
    wanted
        See :func:`choose`.
    fields
        The fields of the contract by name, which tell what the pixels mean.
    budget
        How large each may be.

    """

    def __init__(
        self, wanted: Iterable[Wanted], fields: Mapping[str, FieldSpec], budget: FrameBudget
    ) -> None:
        self._fields, self._budget = fields, budget
        self._open: dict[tuple[str, int], list[Wanted]] = {}
        self.found: dict[int, list[Frame]] = {}
        #: Pictures that were chosen and could not be shown, by why.
        self.lost: dict[str, int] = {}
        for one in wanted:
            reference = one.picture.reference
            if one.picture.field not in fields:
                self._lose(one, 'the contract does not know the field')
            elif reference.data:
                self._embedded(one, reference)
            else:
                self._open.setdefault((reference.topic, reference.stamp), []).append(one)

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics that chosen pictures are still to be found on."""
        return frozenset(topic for topic, _ in self._open)

    def take(self, message: Message) -> None:
        """Take a message of one of the topics, which most often is not a chosen one."""
        stamp = _stamp(message.data)
        wanted = None if stamp is None else self._open.get((message.topic, stamp))
        if not wanted:
            return
        try:
            decoded: Any = message.decode()
            whole = hashlib.sha256(decoded.data).digest()
        except RecordError:
            return
        for one in tuple(wanted):
            if whole != one.picture.reference.sha256:
                continue
            wanted.remove(one)
            try:
                self._keep(one, pixels_of(self._fields[one.picture.field], decoded))
            except RecordError as error:
                self._lose(one, str(error))
        if not wanted:
            del self._open[message.topic, int(stamp or 0)]

    def finish(self) -> None:
        """Count what was not found."""
        for wanted in self._open.values():
            for one in wanted:
                self._lose(one, 'the record does not hold the image')
        self._open.clear()
        for frames in self.found.values():
            frames.sort(key=lambda frame: frame.step)

    def _embedded(self, one: Wanted, reference: ImageReference) -> None:
        spec = self._fields[one.picture.field]
        dtype = ENCODINGS.get(reference.encoding, (0, 'uint8'))[1]
        try:
            pixels = np.frombuffer(reference.data, dtype).reshape(spec.shape)
        except ValueError as error:
            self._lose(one, str(error))
        else:
            self._keep(one, pixels)

    def _keep(self, one: Wanted, pixels: Image) -> None:
        spec = self._fields[one.picture.field]
        small = _shrunk(as_rgb(spec, pixels), self._budget.each)
        if small is None:
            self._lose(one, 'it would be larger than the budget')
            return
        kind, width, height, data = small
        self.found.setdefault(one.episode, []).append(
            Frame(
                field=one.picture.field,
                step=one.picture.step,
                width=width,
                height=height,
                data=f'data:image/{kind};base64,{base64.b64encode(data).decode("ascii")}',
            )
        )

    def _lose(self, one: Wanted, why: str) -> None:
        self.lost[why] = self.lost.get(why, 0) + 1


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


def _stamp(data: bytes) -> int | None:
    """
    Return the stamp of a serialized message that begins with a header, nanoseconds.

    Images are large, and most are not wanted: they are not worth decoding for their stamp.
    """
    if len(data) < 12:
        return None
    order = '<' if data[1] & 1 else '>'
    seconds, nanoseconds = struct.unpack_from(f'{order}iI', data, 4)
    return int(seconds) * NANOSECONDS + int(nanoseconds)
