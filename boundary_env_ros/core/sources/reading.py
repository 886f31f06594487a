# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What an input reads from one message, until it is frozen, and whether it can be used.

Gate, environment and audit judge by the same: infinity is a measurement only where it says that
nothing was in range, or that something was too near; anywhere else, and NaN everywhere, nothing
was measured. A stamp from the future is no better than one from the past.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
import math

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


#: Message types whose numbers are ranges, in which REP-117 gives infinity a meaning.
RANGES = frozenset(
    f'sensor_msgs/msg/{name}' for name in ('LaserScan', 'MultiEchoLaserScan', 'Range')
)


def is_measured(values: Vector, *, infinite: int = 0) -> bool:
    """
    Return whether values were measured at all.

    Parameters
    ----------
    values
        The values.
    infinite
        How many of them, from the first one on, are ranges and may be infinite.

    """
    return not any(map(math.isnan, islice(values, infinite))) and all(
        map(math.isfinite, islice(values, infinite, None))
    )


def not_measured(values: Vector, names: Sequence[str], *, infinite: int = 0) -> str:
    """
    Return which values were not measured, in words: ``FL_hip is nan, and 2 others``.

    Parameters
    ----------
    values
        The values, one of which at least was not measured.
    names
        A name for each of them; their places are named if there are not as many.
    infinite
        As in :func:`is_measured`.

    """
    bad = [
        i
        for i, value in enumerate(values)
        if math.isnan(value) or (i >= infinite and math.isinf(value))
    ]
    name = names[bad[0]] if len(names) == len(values) else f'value {bad[0]}'
    others = f', and {len(bad) - 1} other{"" if len(bad) == 2 else "s"}' if bad[1:] else ''
    return f'{name} is {values[bad[0]]:g}{others}'


def is_fresh(age: float | None, most: float) -> bool:
    """Return whether an age in seconds, negative for a stamp from the future, is known and low."""
    return age is not None and abs(age) <= most
