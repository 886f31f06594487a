# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Plane geometry: how far what may be reached is from the edges of a polygon.

What may be reached is a convex polygon, given by its corners counterclockwise; it may be a single
point, or a segment of two. A round shape is taken for a polygon around it, so distances come out
too small rather than too large.
"""

from __future__ import annotations

from collections.abc import Iterable
import math
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from boundary_env_ros.core.contract.safety import Polygon

Point: TypeAlias = tuple[float, float]
Shape: TypeAlias = tuple[Point, ...]
_Points: TypeAlias = NDArray[np.float64]

#: Greatest angle between two corners of the polygon around an arc: 1 % of the radius outside it.
_ARC = math.pi / 12.0
#: An arc of more than this is as good as a whole circle, whose polygon is convex without doubt.
_WIDEST = 0.9 * math.pi


# Polygons ----------------------------------------------------------------------------------------


def is_inside(polygon: Polygon, point: Point) -> bool:
    """Return whether a point is inside a simple polygon (m corners); on an edge, either."""
    x, y = point
    inside = False
    for (x0, y0), (x1, y1) in _edges(polygon):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            inside = not inside
    return inside


def area(polygon: Polygon) -> float:
    """Return the area of a simple polygon, greater than 0 if its corners go counterclockwise."""
    return 0.5 * sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in _edges(polygon))


def is_simple(polygon: Polygon) -> bool:
    """Return whether no two edges meet but those that share a corner, and none goes back."""
    edges = list(_edges(polygon))
    last = len(edges) - 1
    for i, one in enumerate(edges):
        for j in range(i + 1, len(edges)):
            other = edges[j]
            if j == i + 1 or (i == 0 and j == last):
                corner = one[1] if j == i + 1 else one[0]
                ends = (one[0] if j == i + 1 else one[1], other[1] if j == i + 1 else other[0])
                if _reverses(corner, *ends):
                    return False
            elif _touch(one, other):
                return False
    return True


def _edges(polygon: Polygon) -> Iterable[tuple[Point, Point]]:
    return zip(polygon, (*polygon[1:], *polygon[:1]), strict=True)


def _cross(o: Point, a: Point, b: Point) -> float:
    """Return twice the area of a triangle, greater than 0 if it goes counterclockwise."""
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def _reverses(corner: Point, one: Point, other: Point) -> bool:
    dot = (one[0] - corner[0]) * (other[0] - corner[0]) + (one[1] - corner[1]) * (
        other[1] - corner[1]
    )
    return corner in (one, other) or (_cross(corner, one, other) == 0.0 and dot > 0.0)


def _touch(one: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    sides = [_cross(*one, p) for p in other] + [_cross(*other, p) for p in one]
    if sides[0] * sides[1] < 0.0 and sides[2] * sides[3] < 0.0:
        return True
    pairs = [(one, p, s) for p, s in zip(other, sides[:2], strict=True)]
    pairs += [(other, p, s) for p, s in zip(one, sides[2:], strict=True)]
    return any(
        s == 0.0
        and min(e[0][0], e[1][0]) <= p[0] <= max(e[0][0], e[1][0])
        and min(e[0][1], e[1][1]) <= p[1] <= max(e[0][1], e[1][1])
        for e, p, s in pairs
    )


# What may be reached -----------------------------------------------------------------------------


def hull(points: Iterable[Point]) -> Shape:
    """Return the convex hull of some points: its corners counterclockwise, each once."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return tuple(ordered)
    chains = []
    for row in (ordered, ordered[::-1]):
        chain: list[Point] = []
        for point in row:
            while len(chain) > 1 and _cross(chain[-2], chain[-1], point) <= 0.0:
                chain.pop()
            chain.append(point)
        chains.append(chain[:-1])
    return (*chains[0], *chains[1])


def sector(radius: float, low: float, high: float) -> Shape:
    """
    Return a convex polygon around a sector of a circle about the origin.

    Parameters
    ----------
    radius
        Of the circle, 0.0 or more.
    low, high
        Directions of its two sides, rad, ``low <= high``. More than 162 degrees of it are taken
        for the whole circle.

    """
    if radius == 0.0:
        return ((0.0, 0.0),)
    whole = high - low > _WIDEST
    if whole:
        low, high = 0.0, 2.0 * math.pi
    count = math.ceil((high - low) / _ARC)
    step = (high - low) / count if count else 0.0
    # Each corner is where the tangents at both ends of its part of the arc meet.
    outer = radius / math.cos(0.5 * step)
    corners = [_polar(outer, low + (k + 0.5) * step) for k in range(count)]
    if not whole:
        corners += [(0.0, 0.0), _polar(radius, low), _polar(radius, high)]
    return hull(corners)


def _polar(radius: float, angle: float) -> Point:
    return radius * math.cos(angle), radius * math.sin(angle)


def added(one: Shape, other: Shape) -> Shape:
    """Return where one reaches after the other has been reached: the Minkowski sum of two."""
    if len(one) == 1 and len(other) > 1:
        one, other = other, one
    if len(other) == 1:
        ((x, y),) = other
        return tuple((a + x, b + y) for a, b in one)
    return hull((a + c, b + d) for a, b in one for c, d in other)


# Distances ---------------------------------------------------------------------------------------


def distances(shape: Shape, polygon: Polygon) -> tuple[float, ...]:
    """
    Return the distance of a filled convex shape (k corners) from each edge of a polygon.

    0.0 for an edge that it touches, crosses or holds. The edge of index i begins at corner i.
    """
    here, there = np.array(shape), np.array((*shape[1:], shape[0]))
    begin, end = np.array(polygon), np.array((*polygon[1:], polygon[0]))
    apart = np.minimum(
        _to_segments(here, begin, end).min(axis=0),
        np.minimum(_to_segments(begin, here, there), _to_segments(end, here, there)).min(axis=1),
    )
    if len(shape) > 1:
        sides = _sides(here, there, begin), _sides(here, there, end)
        across = sides[0] * sides[1] < 0.0
        along = _sides(begin, end, here) * _sides(begin, end, there) < 0.0
        meets = (across & along.T).any(axis=1)
        if len(shape) > 2:
            meets |= (sides[0] >= 0.0).all(axis=1)
        apart[meets] = 0.0
    return tuple(map(float, apart))


def nearest(polygon: Polygon, point: Point) -> tuple[tuple[float, ...], Point, Point]:
    """
    Return how far a point is from each edge of a polygon, and the nearest place of them.

    The third is the direction of the inside there, of length 1.
    """
    x, y = point
    found = []
    for (x0, y0), (x1, y1) in _edges(polygon):
        along = dx, dy = x1 - x0, y1 - y0
        part = ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy)
        part = min(max(part, 0.0), 1.0)
        foot = x0 + part * dx, y0 + part * dy
        found.append((math.dist(point, foot), foot, along))
    _, foot, (dx, dy) = min(found, key=itemgetter(0))
    length = math.copysign(math.hypot(dx, dy), area(polygon))
    return tuple(apart for apart, _, _ in found), foot, (-dy / length, dx / length)


def _to_segments(points: _Points, begin: _Points, end: _Points) -> _Points:
    """Return the distance of each point (n) from each segment (m), shape ``(n, m)``."""
    along = end - begin
    squared = (along * along).sum(axis=1)
    offset = points[:, None, :] - begin[None, :, :]
    part = (offset * along).sum(axis=2) / np.where(squared > 0.0, squared, 1.0)
    miss = offset - np.minimum(np.maximum(part, 0.0), 1.0)[:, :, None] * along
    found: _Points = np.hypot(miss[:, :, 0], miss[:, :, 1])
    return found


def _sides(begin: _Points, end: _Points, points: _Points) -> _Points:
    """Return on which side of each segment (k) each point (n) is: above 0 left, ``(n, k)``."""
    along = end - begin
    offset = points[:, None, :] - begin[None, :, :]
    found: _Points = along[:, 0] * offset[:, :, 1] - along[:, 1] * offset[:, :, 0]
    return found
