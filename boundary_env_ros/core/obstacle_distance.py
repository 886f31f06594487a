# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules about obstacles need of the message of a sensor."""

from __future__ import annotations

from collections.abc import Callable

from boundary_env_ros.core.laser_scan import obstacle_distances
from boundary_env_ros.core.paths import Message
from boundary_env_ros.core.safety import Obstacle, Sector
from boundary_env_ros.core.sources import Vector


def distance_reader(rule: Obstacle) -> Callable[[Message], Vector]:
    """
    Return the reader of a sensor's message for a rule.

    It returns the nearest distance ahead and behind (m, +inf if nothing is in reach), and the
    fraction of what it looked at that was usable, ahead and behind.
    """
    zone = rule.zone
    if isinstance(zone, Sector):
        return lambda message: obstacle_distances(message, zone.half_angle)
    raise NotImplementedError
