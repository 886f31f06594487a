# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where in the hall a cart can stand and drive straight: plane geometry, no physics.

Obstacles are convex footprints on the floor. Distances are exact for them.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HallBounds:
    """Inner faces of the hall's walls, m, in the hall's frame."""

    x_min: float
    x_max: float
    y_min: float
    y_max: float

    def contains(self, x: float, y: float, clearance: float = 0.0) -> bool:
        """Tell whether a point is inside, at least clearance, m, away from every wall."""
        return (
            self.x_min + clearance <= x <= self.x_max - clearance
            and self.y_min + clearance <= y <= self.y_max - clearance
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """
    What an obstacle covers of the floor: a rectangle with rounded corners.

    A rectangle has radius 0, a disc half lengths 0.

    Attributes
    ----------
    name
        Name of the obstacle.
    x, y
        Its middle, m, in the hall's frame.
    yaw
        Direction of its first axis, rad.
    half_length, half_width
        Half of its extent along its own first and second axis, m.
    radius
        How far it reaches beyond that rectangle on every side, m.

    """

    name: str
    x: float
    y: float
    yaw: float = 0.0
    half_length: float = 0.0
    half_width: float = 0.0
    radius: float = 0.0

    @property
    def reach(self) -> float:
        """How far it extends from its middle, m."""
        return math.hypot(self.half_length, self.half_width) + self.radius

    def distance(self, a: Point, b: Point) -> float:
        """Return the distance from the line between a and b, m; 0 if they meet."""
        start = self._own_frame(a)
        if a == b:
            return max(0.0, self._to_box(start) - self.radius)
        end = self._own_frame(b)
        if _meets_box(start, end, self.half_length, self.half_width):
            return 0.0
        # Both are convex and apart, so the nearest pair has an end or a corner in it.
        corners = [
            (sx * self.half_length, sy * self.half_width) for sx in (-1, 1) for sy in (-1, 1)
        ]
        nearest = min(
            *(self._to_box(point) for point in (start, end)),
            *(_to_line(corner, start, end) for corner in corners),
        )
        return max(0.0, nearest - self.radius)

    def _own_frame(self, point: Point) -> Point:
        dx, dy = point[0] - self.x, point[1] - self.y
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return cos * dx + sin * dy, cos * dy - sin * dx

    def _to_box(self, point: Point) -> float:
        return math.hypot(
            max(0.0, abs(point[0]) - self.half_length), max(0.0, abs(point[1]) - self.half_width)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeSpace:
    """
    The hall as a cart may use it, so that starts and goals can be sampled.

    Attributes
    ----------
    bounds
        Inner faces of the walls.
    obstacles
        Everything else that reaches into the cart's height.

    """

    bounds: HallBounds
    obstacles: tuple[Footprint, ...]

    def is_free(self, x: float, y: float, clearance: float) -> bool:
        """
        Tell whether everything is at least clearance away from a point.

        Parameters
        ----------
        x, y
            The point, m, in the hall's frame. One that is not finite is not free.
        clearance
            m. A disc of this radius fits in there; see ``CartGeometry.footprint_radius``.

        """
        return self.line_is_free((x, y), (x, y), clearance)

    def clearance(self, x: float, y: float) -> float:
        """Return how far a point is from everything, m; not above 0 where something is."""
        bounds, point = self.bounds, (x, y)
        nearest = min(x - bounds.x_min, bounds.x_max - x, y - bounds.y_min, bounds.y_max - y)
        for obstacle in self.obstacles:
            # Most of them are farther away whichever way they are turned.
            if math.dist(point, (obstacle.x, obstacle.y)) - obstacle.reach < nearest:
                nearest = min(nearest, obstacle.distance(point, point))
        return nearest

    def line_is_free(self, a: Point, b: Point, clearance: float) -> bool:
        """
        Tell whether everything is at least clearance away from the line between two points.

        Parameters
        ----------
        a, b
            The points, m, in the hall's frame.
        clearance
            m. A disc of this radius can be moved from a to b.

        """
        if not math.isfinite(clearance) or clearance < 0.0:
            raise ValueError(
                f'Wrong clearance (expected a clearance of 0 m or more, got {clearance}).'
            )
        if not all(self.bounds.contains(x, y, clearance) for x, y in (a, b)):
            return False
        distances = (obstacle.distance(a, b) for obstacle in self.obstacles)
        return all(distance > 0.0 and distance >= clearance for distance in distances)


def _to_line(point: Point, a: Point, b: Point) -> float:
    """Return the distance of a point from the line between a and b."""
    along_x, along_y = b[0] - a[0], b[1] - a[1]
    off_x, off_y = point[0] - a[0], point[1] - a[1]
    length_squared = along_x * along_x + along_y * along_y
    if length_squared == 0.0:
        return math.hypot(off_x, off_y)
    share = min(1.0, max(0.0, (off_x * along_x + off_y * along_y) / length_squared))
    return math.hypot(off_x - share * along_x, off_y - share * along_y)


def _meets_box(a: Point, b: Point, half_length: float, half_width: float) -> bool:
    """Tell whether the line between a and b meets the box about the origin (slab method)."""
    first, last = 0.0, 1.0
    for start, end, half in ((a[0], b[0], half_length), (a[1], b[1], half_width)):
        step = end - start
        if step == 0.0:
            if abs(start) > half:
                return False
            continue
        near, far = sorted(((-half - start) / step, (half - start) / step))
        first, last = max(first, near), min(last, far)
        if first > last:
            return False
    return True
