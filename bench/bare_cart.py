# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The bare thing to hold embedded steps against: the cart's model in an environment of its own.

It is what somebody writes who wants no boundary: MuJoCo, Gymnasium and NumPy, and none of our
classes. The model file is the same, and so is what is simulated for an observation: 50 physics
steps in one call, one turn of the scanner and one picture by rays, and the pose with noise. It
has no delays, no dropouts, no gate, no record.
"""

from __future__ import annotations

from importlib import resources
import math
from typing import Any, TypeAlias

import gymnasium
from gymnasium.spaces import Box, Dict
import mujoco
import numpy as np
import numpy.typing as npt

PHYSICS_STEPS = 50
BEAMS, SECTORS, RANGE = 180, 36, 8.0
HEIGHT, WIDTH, FIELD_OF_VIEW, PITCH, SIGHT = 48, 64, 1.2, 0.12, 30.0
WHEEL_RADIUS, WHEEL_SEPARATION = 0.1, 0.34
SCAN, CAMERA = np.array([0.08, 0.0, 0.2]), np.array([0.34, 0.0, 0.13])
LIGHT = np.array([-0.35, -0.5, 0.8]) / math.sqrt(0.35**2 + 0.5**2 + 0.8**2)
HAZE = np.array([[0.70], [0.73], [0.76]])

Array: TypeAlias = npt.NDArray[Any]


class BareCart(gymnasium.Env[dict[str, Array], Array]):
    """The cart in its hall, and nothing else."""

    def __init__(self) -> None:
        text = resources.files('boundary_env_ros.simulation').joinpath('warehouse.xml').read_text()
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        self.body = self.model.body('base_link').id
        self.floor = self.model.geom('floor').id
        self.colours = np.ascontiguousarray(self.model.geom_rgba[:, :3].T.astype(np.float64))
        angles = -math.pi + 2.0 * math.pi / BEAMS * np.arange(BEAMS)
        self.beams = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
        self.pixels = _pixel_rays()
        self.action_space = Box(np.float32([-0.3, -1.5]), np.float32([0.8, 1.5]))
        self.observation_space = Dict(
            {
                'pose': Box(-10.0, 10.0, (3,)),
                'velocity': Box(-6.0, 6.0, (2,)),
                'scan': Box(0.0, RANGE, (SECTORS,)),
                'front': Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8),
                'goal': Box(-10.0, 10.0, (2,)),
            }
        )

    def reset(
        self, *, seed: int | None = None, options: Any = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Put the cart on its wheels at ``start`` (x, y, yaw), the mark at ``goal`` (x, y)."""
        super().reset(seed=seed)
        (x, y, yaw), self.goal = (np.array(options[of]) for of in ('start', 'goal'))
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:2] = x, y
        self.data.qpos[3:7] = math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)
        self.data.mocap_pos[0, :2] = self.goal
        mujoco.mj_step(self.model, self.data, 100)
        return self._observe(), {}

    def step(self, action: Array) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Drive for a period."""
        forward, turn = np.clip(action, self.action_space.low, self.action_space.high)  # type: ignore[attr-defined]
        half = 0.5 * WHEEL_SEPARATION * turn
        self.data.ctrl[:] = (forward - half) / WHEEL_RADIUS, (forward + half) / WHEEL_RADIUS
        before = self.data.qpos[:2].copy()
        mujoco.mj_step(self.model, self.data, PHYSICS_STEPS)
        after = self.data.qpos[:2]
        distance = float(np.linalg.norm(self.goal - after))
        reward = float(np.linalg.norm(self.goal - before)) - distance
        return self._observe(), reward, distance < 0.3, False, {}

    def _observe(self) -> dict[str, Array]:
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, self.data.qpos[3:7])
        rotation = rotation.reshape(3, 3)
        place = self.data.qpos[:3].copy()
        noise = self.np_random
        yaw = math.atan2(rotation[1, 0], rotation[0, 0])
        pose = np.array([place[0], place[1], yaw]) + 0.01 * noise.standard_normal(3)
        velocity = rotation.T @ self.data.qvel[:3]
        return {
            'pose': pose.astype(np.float32),
            'velocity': np.array([velocity[0], self.data.qvel[5]], dtype=np.float32),
            'scan': self._scan(place + rotation @ SCAN, rotation),
            'front': self._picture(place + rotation @ CAMERA, rotation),
            'goal': self.goal.astype(np.float32),
        }

    def _rays(
        self, origin: Array, directions: Array, cutoff: float, *, marks: bool
    ) -> tuple[Array, Array, Array]:
        count = len(directions)
        distance, geom = np.empty(count), np.empty(count, dtype=np.int32)
        normal = np.empty(3 * count)
        groups = np.array([1, 1, 0, marks, 0, 0], dtype=np.uint8)
        mujoco.mj_multiRay(
            self.model,
            self.data,
            origin,
            directions.reshape(-1),
            groups,
            True,
            self.body,
            geom,
            distance,
            normal,
            count,
            cutoff,
        )
        return distance, geom, normal.reshape(count, 3)

    def _scan(self, origin: Array, rotation: Array) -> Array:
        distance, geom, _ = self._rays(origin, self.beams @ rotation.T, RANGE, marks=False)
        distance[geom < 0] = RANGE
        distance += 0.01 * self.np_random.standard_normal(BEAMS)
        nearest = np.clip(distance, 0.0, RANGE).reshape(SECTORS, -1).min(axis=1)
        return nearest.astype(np.float32)

    def _picture(self, origin: Array, rotation: Array) -> Array:
        rays = self.pixels @ rotation.T
        distance, geom, normal = self._rays(origin, rays, SIGHT, marks=True)
        seen = geom >= 0
        distance = np.where(seen, distance, SIGHT)
        x, y = (np.floor(origin[axis] + distance * rays[:, axis]) for axis in range(2))
        dark = (geom == self.floor) & ((x + y) % 2.0 == 1.0)
        brightness = (0.6 + 0.4 * (normal @ LIGHT)) * np.where(dark, 0.82, 1.0)
        colour = np.where(seen, self.colours[:, geom] * brightness, HAZE)
        clear = 1.0 / (1.0 + (distance / 15.0) ** 2)
        levels = 255.0 * (clear * colour + (1.0 - clear) * HAZE).T
        levels += 3.0 * self.np_random.standard_normal(levels.shape)
        return np.clip(np.rint(levels), 0.0, 255.0).astype(np.uint8).reshape(HEIGHT, WIDTH, 3)


def _pixel_rays() -> Array:
    focal = 0.5 * WIDTH / math.tan(0.5 * FIELD_OF_VIEW)
    left = (0.5 * (WIDTH - 1) - np.arange(WIDTH)) / focal
    up = (0.5 * (HEIGHT - 1) - np.arange(HEIGHT)) / focal
    up_grid, left_grid = np.meshgrid(up, left, indexing='ij')
    cos, sin = math.cos(PITCH), math.sin(PITCH)
    rays = np.stack([cos + sin * up_grid, left_grid, cos * up_grid - sin], axis=-1).reshape(-1, 3)
    return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))
