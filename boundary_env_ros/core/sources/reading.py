# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an input of the contract reads from one message: the form until it is frozen."""

from __future__ import annotations

from boundary_env_ros.core.records.observation import ImageReference
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


@frozen
class Reading:
    """
    What an input reads from one message, or a field has from its source.

    Attributes
    ----------
    values
        In contract order and unit; empty for an image.
    captured, published, arrived
        When the sensor measured it, the middleware sent it and the middleware here had it; None:
        unknown. A reader leaves them to the :class:`.listener.Listener`.
    confidence
        In [0, 1]; None if the field has none.
    image
        Which image it was, for image fields.
    document
        The JSON text, for documents.
    problem
        Why the message could not be read, where that is no error, and there are no values then; or
        why some of them are NaN.
    frame
        That of the header, if it is none of those that may come.

    """

    values: Vector = ()
    captured: Stamp | None = None
    published: Stamp | None = None
    arrived: Stamp | None = None
    confidence: float | None = None
    image: ImageReference | None = None
    document: str = ''
    problem: str = ''
    frame: str = ''
