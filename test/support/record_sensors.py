# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the cart on paper measures, as messages."""

from __future__ import annotations

from collections.abc import Mapping
import math
import random
from types import SimpleNamespace
from typing import Any

import numpy as np

from boundary_env_ros.core.timebase import Stamp

Fields = Mapping[str, Any]  # a message: numbers, texts, lists, bytes or again such mappings

#: Boxes that the scan sees, m: the four walls of the hall and a rack.
BOXES = np.array(
    [
        [-5.6, -4.6, 5.6, -4.5],
        [-5.6, 4.5, 5.6, 4.6],
        [-5.6, -4.6, -5.5, 4.6],
        [5.5, -4.6, 5.6, 4.6],
        [-1.4, -0.6, -0.6, 0.6],
    ]
)


def plain(fields: Fields) -> SimpleNamespace:
    """Return fields as an object with attributes, which reads like the message."""
    return SimpleNamespace(
        **{k: plain(v) if isinstance(v, Mapping) else v for k, v in fields.items()}
    )


def time_fields(nanoseconds: int) -> Fields:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return {'sec': seconds, 'nanosec': rest}


def _pose(pose: list[float]) -> Fields:
    x, y, yaw = pose
    return {
        'position': {'x': x, 'y': y, 'z': 0.0},
        'orientation': {'x': 0.0, 'y': 0.0, 'z': math.sin(yaw / 2), 'w': math.cos(yaw / 2)},
    }


class CartSensors:
    """The sensors of the cart; whoever has them lets their messages arrive."""

    random: random.Random
    _pose: list[float]
    _velocity: list[float]

    def stamp(self, at: int | None = None) -> Stamp:
        raise NotImplementedError

    def _hear(self, topic: str, fields: Fields, delay: float) -> None:
        raise NotImplementedError

    def _header(self, frame: str) -> Fields:
        return {'stamp': time_fields(self.stamp().nanoseconds), 'frame_id': frame}

    def _odometry(self) -> None:
        linear, angular = (v + self.random.gauss(0, 0.004) for v in self._velocity)
        self._hear(
            '/odom',
            {
                'header': self._header('hall'),
                'twist': {'twist': {'linear': {'x': linear}, 'angular': {'z': angular}}},
            },
            5,
        )
        truth = {'header': self._header('hall'), 'pose': {'pose': _pose(self._pose)}}
        self._hear('/ground_truth', truth, 5)
        self._hear('/contact', {'data': False}, 5)

    def _pose_and_camera(self) -> None:
        seen = [v + self.random.gauss(0, 0.02) for v in self._pose]
        covariance = [0.0] * 36
        covariance[0] = covariance[7] = covariance[35] = 0.0004
        self._hear(
            '/pose_detections',
            {
                'header': self._header('hall'),
                'pose': {'pose': _pose(seen), 'covariance': covariance},
            },
            self.random.uniform(90, 150),
        )
        self._hear(
            '/camera/image_raw',
            {
                'header': self._header('camera'),
                'height': 48,
                'width': 64,
                'encoding': 'rgb8',
                'step': 192,
                'data': self.random.randbytes(48 * 64 * 3),
            },
            30,
        )

    def _scan(self) -> None:
        angles = np.linspace(-math.pi, math.pi, 36, endpoint=False)
        ranges = self._cast(angles + self._pose[2]).astype(np.float32)
        ranges[ranges > 8.0] = np.inf
        self._hear(
            '/scan',
            {
                'header': self._header('laser'),
                'angle_min': -math.pi,
                'angle_max': float(angles[-1]),
                'angle_increment': float(angles[1] - angles[0]),
                'range_min': 0.05,
                'range_max': 8.0,
                'ranges': ranges.tolist(),
            },
            12,
        )

    def _cast(self, angles: np.ndarray) -> np.ndarray:
        x, y, _ = self._pose
        with np.errstate(divide='ignore'):
            slope_x, slope_y = 1.0 / np.cos(angles)[:, None], 1.0 / np.sin(angles)[:, None]
        one_x, two_x = (BOXES[:, 0] - x) * slope_x, (BOXES[:, 2] - x) * slope_x
        one_y, two_y = (BOXES[:, 1] - y) * slope_y, (BOXES[:, 3] - y) * slope_y
        near = np.maximum(np.minimum(one_x, two_x), np.minimum(one_y, two_y))
        far = np.minimum(np.maximum(one_x, two_x), np.maximum(one_y, two_y))
        hit = np.where((near <= far) & (far > 0), np.maximum(near, 0.0), np.inf)
        return hit.min(axis=1)
