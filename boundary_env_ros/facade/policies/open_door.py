# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Opening the door of the shipped contract by a script: look at the handle, grasp it, pull."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np

from boundary_env_ros.facade.policies.policy import Array

# The arm, m: shoulder above the foot, upper arm, forearm, wrist to the point between the fingers.
SHOULDER, UPPER_ARM, FOREARM, HAND = 0.15, 0.45, 0.40, 0.18
OPEN, CLOSED = 0.08, 0.0


def joint_angles(tool: Array, yaw: float) -> list[float]:
    """Return the angles, rad, which bring the level tool to a point, m, heading yaw, rad."""
    x, y, z = tool - HAND * np.array([math.cos(yaw), math.sin(yaw), 0.0])
    out, up = math.hypot(x, y), z - SHOULDER
    square = out**2 + up**2
    cosine = (square - UPPER_ARM**2 - FOREARM**2) / (2.0 * UPPER_ARM * FOREARM)
    elbow = math.acos(min(1.0, max(-1.0, cosine)))
    inner = math.atan2(FOREARM * math.sin(elbow), UPPER_ARM + FOREARM * math.cos(elbow))
    pan, lift = math.atan2(y, x), -(math.atan2(up, out) + inner)
    return [pan, lift, elbow, -(lift + elbow), yaw - pan, 0.0]


class OpenDoorPolicy:
    """
    Grasps the handle where it is seen, and pulls it along its arc.

    Parameters
    ----------
    speed
        How fast the tool goes to the handle, m/s.
    ahead
        How far before the handle, as it is seen, the tool is sent while it pulls, m: the arm
        gives like a spring, so this is how hard it pulls.
    period
        Of a step, s.

    """

    def __init__(self, *, speed: float = 0.25, ahead: float = 0.03, period: float = 0.1) -> None:
        self._speed, self._period = speed, period
        self._ahead = ahead
        self.reset()

    def reset(self, seed: int = 0) -> None:
        """Begin again; nothing is drawn."""
        self._phase = 'look'
        self._waited = 0.0
        self._tool, self._yaw = np.zeros(3), 0.0
        self._handle, self._handle_yaw = np.zeros(3), 0.0

    def __call__(self, observation: Mapping[str, Array]) -> Array:
        """Return six joint angles, rad, and the opening of the gripper, m."""
        self._look(observation['handle'], float(observation['handle_yaw'][0]), observation['tool'])
        into = np.array([math.cos(self._handle_yaw), math.sin(self._handle_yaw), 0.0])
        if self._phase == 'approach':
            before = self._handle - 0.12 * into
            self._go(before)
            if math.dist(self._tool, before) < 0.005:
                self._phase = 'reach'
        elif self._phase == 'reach':
            self._go(self._handle)
            if math.dist(observation['tool'], self._handle) < 0.012:
                self._phase = 'grasp'
        elif self._phase == 'grasp':
            self._waited += self._period
            if self._waited > 0.6:
                self._phase = 'pull'
        else:
            self._tool, self._yaw = self._handle - self._ahead * into, self._handle_yaw
        opening = OPEN if self._phase in ('approach', 'reach') else CLOSED
        return np.array([*joint_angles(self._tool, self._yaw), opening], dtype=np.float32)

    def _look(self, handle: Array, handle_yaw: float, tool: Array) -> None:
        """Take in where the handle is; what hardly moves is seen better over some pictures."""
        if self._phase == 'look':
            self._tool, self._yaw = tool.astype(float), 0.0
            self._handle, self._handle_yaw = handle.astype(float), handle_yaw
            self._phase = 'approach'
        trust = 0.5 if self._phase == 'pull' else 0.3
        self._handle = self._handle + trust * (handle - self._handle)
        self._handle_yaw += trust * (handle_yaw - self._handle_yaw)

    def _go(self, target: Array) -> None:
        """Move where the tool is to be towards a point, and its heading to the handle's."""
        way = target - self._tool
        length = float(np.linalg.norm(way))
        self._tool = self._tool + way * min(1.0, self._speed * self._period / max(length, 1e-9))
        self._yaw += min(0.1, max(-0.1, self._handle_yaw - self._yaw))
