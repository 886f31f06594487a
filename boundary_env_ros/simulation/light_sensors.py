# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Sensors of light: laser scanner and camera, both by casting rays at the physics' own geoms.

The camera casts rays, too, instead of rendering with OpenGL. A GL context is what a robot's
container, a CI machine and a laptop without a GPU do not have in common; and where they have
one, drivers differ in the last bits, so that the same seed would not give the same record.
Rays need nothing but MuJoCo and see what the laser scanner sees. The price: flat colours,
no shadows, no textures but the floor's tiles, and a small image.
"""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
import numpy.typing as npt

from boundary_env_ros.simulation.cart_config import CameraConfig, ScanConfig
from boundary_env_ros.simulation.cart_state import BodyState
from boundary_env_ros.simulation.engine import RayCaster
from boundary_env_ros.simulation.messages import Fields, Float64Array, image
from boundary_env_ros.simulation.motion_sensors import Sensor, State

# The camera's world: light from above and a little from the south-west, haze with distance.
_LIGHT = np.array([-0.35, -0.5, 0.8]) / math.sqrt(0.35**2 + 0.5**2 + 0.8**2)
_HAZE = np.array([[0.70], [0.73], [0.76]])
_HAZE_DISTANCE = 15.0
_SIGHT = 30.0
_TILE = 1.0
_DARK_TILE = 0.82


class Scan(Sensor[BodyState]):
    """Planar laser scanner; the cart does not see itself."""

    def __init__(
        self, config: ScanConfig, caster: RayCaster, mount: tuple[float, float, float]
    ) -> None:
        self._config = config
        self._caster = caster
        self._mount = np.array(mount)
        self._increment = 2.0 * math.pi / config.beams
        angles = -math.pi + self._increment * np.arange(config.beams)
        self._beams = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)

    def capture(self, state: BodyState) -> Fields:
        """
        Measure all beams at this one instant.

        As in REP-117, a range is +inf where nothing was within ``range_max`` and -inf where
        something was nearer than ``range_min``.
        """
        config = self._config
        distance, _, _ = self._caster.cast(
            state.position + state.rotation @ self._mount,
            self._beams @ state.rotation.T,
            config.range_max,
        )
        ranges = distance + config.range_noise * self._noise.standard_normal(config.beams)
        ranges[ranges > config.range_max] = np.inf
        ranges[ranges < config.range_min] = -np.inf
        return {
            'angle_min': -math.pi,
            'angle_max': -math.pi + self._increment * (config.beams - 1),
            'angle_increment': self._increment,
            'range_min': config.range_min,
            'range_max': config.range_max,
            'ranges': ranges.astype('float32'),
        }


class Camera(Sensor[State]):
    """
    A picture of the world: one ray a pixel, flat shading by colour, surface normal and distance.

    Parameters
    ----------
    config
        Size, opening angle and noise.
    caster
        What the rays meet.
    mount
        Returns where the lens is in a state: its origin in the world, m, shape (3,), and the
        rotation from the axes of the mount (x forward, y left, z up) to the world's, shape (3, 3).
    pitch
        How far it looks down in its mount, rad.

    """

    def __init__(
        self,
        config: CameraConfig,
        caster: RayCaster,
        mount: Callable[[State], tuple[Float64Array, Float64Array]],
        pitch: float = 0.0,
    ) -> None:
        self._config = config
        self._caster = caster
        self._mount = mount
        self._colours = np.ascontiguousarray(caster.geom_colours.T)
        self._pixel_rays = _pixel_rays(config, pitch)

    def capture(self, state: State) -> Fields:
        """Expose all pixels at this one instant."""
        config = self._config
        origin, rotation = self._mount(state)
        light = self._shade(origin, self._pixel_rays @ rotation.T)
        levels = self._noise.standard_normal((config.height * config.width, 3))
        levels *= config.intensity_noise
        light *= 255.0
        levels += light.T
        pixels = np.clip(np.rint(levels, out=levels), 0.0, 255.0, out=levels).astype(np.uint8)
        return image(pixels.reshape(config.height, config.width, 3))

    def _shade(self, origin: Float64Array, rays: Float64Array) -> Float64Array:
        """Return red, green and blue, 0 to 1, of each ray, shape (3, rays)."""
        distance, geom, normal = self._caster.cast(origin, rays, _SIGHT)
        unseen = geom < 0
        distance[unseen] = _SIGHT
        brightness = 0.6 + 0.4 * (normal @ _LIGHT)
        dark = (geom == self._caster.floor_geom) & _odd_tiles(origin, rays, distance)
        brightness[dark] *= _DARK_TILE
        # Colours by row: NumPy is slow where the last of the axes has but three.
        colour = self._colours.take(geom, axis=1)
        colour *= brightness
        colour[:, unseen] = _HAZE
        clear = 1.0 / (1.0 + (distance / _HAZE_DISTANCE) ** 2)
        colour *= clear
        colour += (1.0 - clear) * _HAZE
        return colour


def _pixel_rays(config: CameraConfig, pitch: float) -> Float64Array:
    """Return unit vectors through the pixels' middles, row by row, shape (n, 3)."""
    focal = 0.5 * config.width / math.tan(0.5 * config.field_of_view)
    left = (0.5 * (config.width - 1) - np.arange(config.width)) / focal
    up = (0.5 * (config.height - 1) - np.arange(config.height)) / focal
    up_grid, left_grid = np.meshgrid(up, left, indexing='ij')
    cos, sin = math.cos(pitch), math.sin(pitch)
    rays = np.stack([cos + sin * up_grid, left_grid, cos * up_grid - sin], axis=-1)
    rays = rays.reshape(-1, 3)
    return np.asarray(rays / np.linalg.norm(rays, axis=1, keepdims=True))


def _odd_tiles(
    origin: Float64Array, rays: Float64Array, distance: Float64Array
) -> npt.NDArray[np.bool_]:
    """Return which rays end over a dark tile: the floor has them, so that motion can be seen."""
    x, y = (np.floor((origin[axis] + distance * rays[:, axis]) / _TILE) for axis in range(2))
    half = 0.5 * (x + y)
    return np.asarray(half != np.floor(half))  # a remainder costs three times as much
