# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observations as values, frozen by :mod:`boundary_env_ros.core.environment.freezing`."""

from __future__ import annotations

from enum import IntEnum

from boundary_env_ros.core.records.parts import StepId
from boundary_env_ros.core.timebase import ClockReading, RosTime, Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


class FieldStatus(IntEnum):
    """How far a field of an observation can be trusted."""

    FRESH = 1
    STALE = 2
    MISSING = 3


@frozen
class ImageReference:
    """
    Which image an observation means: topic, stamp and content.

    Attributes
    ----------
    stamp
        ``header.stamp`` of the image, nanoseconds.
    sha256
        Hash of its ``data``.
    data
        The processed image, if the contract embeds it.

    """

    topic: str
    stamp: RosTime
    height: int
    width: int
    encoding: str
    sha256: bytes
    data: bytes = b''


@frozen
class ObservationField:
    """One field of an observation; ``ObservationField.msg`` has the meaning of each attribute."""

    name: str
    status: FieldStatus
    values: Vector = ()
    clipped: bool = False
    captured: Stamp | None = None
    published: Stamp | None = None
    arrived: Stamp | None = None
    age: float | None = None
    confidence: float | None = None
    source: str = ''
    frame_id: str = ''
    image: ImageReference | None = None
    document: str = ''


@frozen
class Observation:
    """What the policy sees, frozen at one instant."""

    id: StepId
    observed: ClockReading
    fields: tuple[ObservationField, ...]

    def __getitem__(self, name: str) -> ObservationField:
        """Return the field of that name."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)
