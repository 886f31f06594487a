# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstrate how an SO-101 picks up a red cube that it sees from above."""

from collections.abc import Mapping
from importlib import resources
import math
from typing import Any

import mujoco
import numpy as np

# The scene camera of simulation/so101.xml looks straight down from here, m.
CAMERA = np.array([0.2, 0.0, 0.5])
TAN_HALF_VIEW = math.tan(math.radians(45.0) / 2.0)  # of the image's height

OPEN, CLOSED = 0.8, 0.0  # rad, of the gripper
# Middle of a cube beside the fixed jaw, in the gripper's frame, m.
GRASP = np.array([0.004, 0.0, -0.098])
# By how much roll and pan turn the gripper away from the sides of the cube.
SKEW = np.array([[-1.0, 0.0, 0.0, 0.0, 1.0]])
STRIDE = 0.03  # rad that a target is ahead of the one before, at most
# Height of the grasp over the table, m, opening of the gripper, and steps to wait there.
WAYPOINTS = ((0.08, OPEN, 0), (0.012, OPEN, 3), (0.012, CLOSED, 12), (0.10, CLOSED, 30))


class PickUp:
    """Look once, then go from waypoint to waypoint; actions are the six angles, rad."""

    def __init__(self, contract: object, **_: Any) -> None:
        text = resources.files('boundary_env_ros.simulation').joinpath('so101.xml').read_text()
        self.model = mujoco.MjModel.from_xml_string(text)

    def reset(self, seed: int | None) -> None:
        """Forget the cube of the episode before."""
        self.plan: list[tuple[np.ndarray, int]] = []

    def __call__(self, observation: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the next target of the joints, shape (6,)."""
        if not self.plan:
            x, y = find_cube(observation['scene'])
            self.target = observation['joints'].astype(float)
            for height, gripper, steps in WAYPOINTS:
                angles = self.angles_for(np.array([x, y, height]))
                self.plan.append((np.append(angles, gripper), steps))
        goal, steps = self.plan[0]
        self.target = self.target + np.clip(goal - self.target, -STRIDE, STRIDE)
        if np.abs(goal - self.target).max() < 1e-6 and len(self.plan) > 1:
            self.plan[0] = (goal, steps - 1)
            if steps <= 0:
                self.plan.pop(0)
        return self.target.astype(np.float32)

    def angles_for(self, place: np.ndarray) -> np.ndarray:
        """Return five angles, rad, that bring a gripper that points down to a place."""
        data, angles = mujoco.MjData(self.model), np.array([0.0, 0.0, 0.3, 1.2, 0.0])
        move, turn = np.zeros((2, 3, self.model.nv))
        low, high = 0.98 * self.model.jnt_range[:5].T
        for _ in range(100):  # damped least squares
            data.qpos[:5] = angles
            mujoco.mj_kinematics(self.model, data)
            mujoco.mj_comPos(self.model, data)
            gripper = data.body('gripper')
            axes = gripper.xmat.reshape(3, 3)
            point = gripper.xpos + axes @ GRASP
            mujoco.mj_jac(self.model, data, move, turn, point, gripper.id)
            tilt = np.cross(axes[:, 2], [0.0, 0.0, 1.0])
            error = np.concatenate([place - point, 0.1 * tilt[:2], -SKEW @ angles])
            slope = np.vstack([move[:, :5], 0.1 * turn[:2, :5], SKEW])
            angles += np.linalg.solve(slope.T @ slope + 1e-4 * np.eye(5), slope.T @ error)
            angles = np.clip(angles, low, high)
        return angles


def find_cube(image: np.ndarray) -> tuple[float, float]:
    """
    Return where a red cube lies on the table, x and y from the base, m.

    Raises
    ------
    ValueError
        If nothing in the image, shape (height, width, 3), uint8, is red.

    """
    red, green, _ = np.moveaxis(image.astype(int), -1, 0)
    rows, columns = np.nonzero((red > 110) & (green < 60))
    if not len(rows):
        raise ValueError('No cube in sight (expected red pixels in the scene camera, got none).')
    height, width = image.shape[:2]
    scale = (CAMERA[2] - 0.025) * TAN_HALF_VIEW / (height / 2.0)  # m a pixel, on its upper face
    x = CAMERA[0] + ((height - 1) / 2.0 - rows.mean()) * scale
    y = CAMERA[1] + ((width - 1) / 2.0 - columns.mean()) * scale
    return float(x), float(y)
