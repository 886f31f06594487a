# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A policy for the rover: drive to a point."""

import math


def make(contract, x=1.5, y=0.5):
    """Return a policy that drives to (x, y), m, in the frame odom."""

    def policy(observation):
        here_x, here_y, yaw = observation['pose']
        to_x, to_y = x - here_x, y - here_y
        if math.hypot(to_x, to_y) < 0.1:
            return [0.0, 0.0]
        bearing = math.remainder(math.atan2(to_y, to_x) - yaw, math.tau)
        return [0.5 * max(0.0, math.cos(bearing)), 2.0 * bearing]

    return policy
