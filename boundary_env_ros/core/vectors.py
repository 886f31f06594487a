# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Vectors of numbers, and the angles (rad) among them that wrap.

A whole turn further on is the same place, by another number.
"""

from __future__ import annotations

from collections.abc import Collection
import math
from typing import TypeAlias

Vector: TypeAlias = tuple[float, ...]

#: Two turns between the bounds of a command, less what a number of few digits leaves out: so much
#: room has the short way from wherever a reading within half a turn of their middle is.
ROOM = 12.5


def near(value: float, reference: float) -> float:
    """Return the number of an angle that is nearest to a reference; itself, if that is."""
    apart = value - reference
    if abs(apart) <= math.pi or not math.isfinite(apart):
        return value
    return reference + math.remainder(apart, math.tau)


def all_near(values: Vector, reference: Vector, wrap: Collection[int]) -> Vector:
    """Return values with the angles among them as near to a reference as they can be."""
    return tuple(
        near(value, other) if i in wrap else value
        for i, (value, other) in enumerate(zip(values, reference, strict=True))
    )


def nearest_turn(value: float, start: float, low: float, high: float) -> float:
    """
    Return the number of an angle that is nearest to a start, of those within bounds.

    A value that is itself out of bounds stays so: that is for the rule about bounds.
    """
    if not low <= value <= high:
        return value
    turns = round((start - value) / math.tau)
    least, most = math.ceil((low - value) / math.tau), math.floor((high - value) / math.tau)
    return min(max(value + min(max(turns, least), most) * math.tau, low), high)
