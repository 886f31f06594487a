# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Sensors which feel the cart's own motion.

A sensor is asked at each of its captures, and only then, and draws noise only from the generator
that it was restarted with: so its readings depend on seed and motion, on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
import math
from typing import Generic, TypeVar

import numpy as np

from boundary_env_ros.simulation.cart_config import (
    ContactConfig,
    ImuConfig,
    JointStateConfig,
    OdometryConfig,
    PoseDetectionsConfig,
)
from boundary_env_ros.simulation.cart_state import BodyState
from boundary_env_ros.simulation.messages import (
    Fields,
    Float64Array,
    joint_state,
    odometry,
    planar_pose,
    quaternion,
    vector,
)
from boundary_env_ros.simulation.readings import TrueState

State = TypeVar('State', contravariant=True)

_WHEELS = ('left_wheel_joint', 'right_wheel_joint')


class Sensor(ABC, Generic[State]):
    """Turns the true state of a robot into a measurement."""

    def restart(self, state: State, noise: np.random.Generator) -> None:
        """Begin again at a reset: forget the past and draw from this generator from now on."""
        self._noise = noise

    @abstractmethod
    def capture(self, state: State) -> Fields:
        """Return a message without its header; called in the order of time."""


class Odometry(Sensor[BodyState]):
    """Dead reckoning: integrates what the wheel encoders say, errors included."""

    def __init__(
        self, config: OdometryConfig, *, wheel_radius: float, wheel_separation: float
    ) -> None:
        self._config = config
        self._radius = wheel_radius
        self._separation = wheel_separation

    def restart(self, state: BodyState, noise: np.random.Generator) -> None:
        """Start at the true pose, and draw how wrong the believed wheel radii are."""
        super().restart(state, noise)
        radii = self._radius * (1.0 + self._config.scale_error * noise.standard_normal(2))
        self._radii = radii.tolist()
        self._x, self._y = float(state.position[0]), float(state.position[1])
        self._yaw = state.yaw
        self._at_ns, self._angles = state.at_ns, state.wheel_angles.tolist()

    def capture(self, state: BodyState) -> Fields:
        """Add the travel since the capture before along its mean heading."""
        angles, noise = state.wheel_angles.tolist(), self._noise.standard_normal(2).tolist()
        # Lists: for two numbers NumPy takes much longer.
        left, right = (
            radius * (angle - before) * (1.0 + self._config.travel_noise * chance)
            for radius, angle, before, chance in zip(
                self._radii, angles, self._angles, noise, strict=True
            )
        )
        forward, turn = (left + right) / 2.0, (right - left) / self._separation
        middle = self._yaw + turn / 2.0
        self._x += forward * math.cos(middle)
        self._y += forward * math.sin(middle)
        self._yaw = wrapped(self._yaw + turn)
        seconds = (state.at_ns - self._at_ns) * 1e-9
        self._at_ns, self._angles = state.at_ns, angles
        return odometry(
            self._x,
            self._y,
            self._yaw,
            # The first capture may be the reset itself, when the cart stands.
            linear=forward / seconds if seconds > 0.0 else 0.0,
            angular=turn / seconds if seconds > 0.0 else 0.0,
        )


class JointStates(Sensor[BodyState]):
    """Angle and speed of the wheels."""

    def __init__(self, config: JointStateConfig) -> None:
        self._config = config

    def capture(self, state: BodyState) -> Fields:
        """Measure both wheels."""
        position, velocity = self._noise.standard_normal((2, 2))
        return joint_state(
            _WHEELS,
            state.wheel_angles + self._config.position_noise * position,
            state.wheel_speeds + self._config.velocity_noise * velocity,
        )


class Imu(Sensor[BodyState]):
    """
    Orientation, angular velocity and acceleration with gravity.

    The acceleration is the mean since the capture before, as units with a sampling filter give
    it; contact solvers make that of a single instant useless.
    """

    def __init__(self, config: ImuConfig, *, gravity: Float64Array) -> None:
        self._config = config
        self._gravity = gravity

    def restart(self, state: BodyState, noise: np.random.Generator) -> None:
        """Begin again at rest."""
        super().restart(state, noise)
        self._before = state

    def capture(self, state: BodyState) -> Fields:
        """Measure in base_link, as REP-145 asks; about (0, 0, 9.81) m/s^2 at rest."""
        config = self._config
        tilt, rate, force = self._noise.standard_normal((3, 3))
        seconds = (state.at_ns - self._before.at_ns) * 1e-9
        gained = state.velocity - self._before.velocity
        acceleration = gained / seconds if seconds > 0.0 else np.zeros(3)
        self._before = state
        felt = state.rotation.T @ (acceleration - self._gravity)
        turning = state.angular_velocity + config.angular_velocity_noise * rate
        return {
            'orientation': quaternion(turned(state.orientation, config.orientation_noise * tilt)),
            'angular_velocity': vector(*turning),
            'linear_acceleration': vector(*(felt + config.linear_acceleration_noise * force)),
        }


class PoseDetections(Sensor[BodyState]):
    """A fiducial detector: a pose with honest standard deviations, unbiased if not declared so."""

    def __init__(self, config: PoseDetectionsConfig) -> None:
        self._config = config

    def capture(self, state: BodyState) -> Fields:
        """Detect the cart; farther and faster is less certain, and says so."""
        config = self._config
        truth = state.truth()
        growth = (
            1.0
            + config.distance_growth * math.hypot(truth.x, truth.y)
            + config.speed_growth * math.hypot(truth.linear, truth.lateral)
        )
        position_std, yaw_std = config.position_noise * growth, config.yaw_noise * growth
        x, y, yaw = (float(value) for value in self._noise.standard_normal(3))
        pose = planar_pose(
            truth.x + config.position_bias + position_std * x,
            truth.y + position_std * y,
            wrapped(truth.yaw + yaw_std * yaw),
        )
        covariance = [0.0] * 36
        covariance[0] = covariance[7] = position_std**2
        covariance[35] = yaw_std**2
        return {'pose': {'pose': pose, 'covariance': covariance}}


class GroundTruth(Sensor[BodyState]):
    """The truth, privileged."""

    def capture(self, state: BodyState) -> Fields:
        """Tell the truth."""
        truth = state.truth()
        return odometry(
            truth.x,
            truth.y,
            truth.yaw,
            linear=truth.linear,
            lateral=truth.lateral,
            angular=truth.angular,
        )


class Contact(Sensor[TrueState]):
    """A bumper all around: it remembers a touch until it is read, and holds it as declared."""

    def __init__(self, config: ContactConfig) -> None:
        self._hold_ns = round(config.hold * 1e9)

    def restart(self, state: TrueState, noise: np.random.Generator) -> None:
        """Begin again, untouched."""
        self._counted = state.touch_steps
        self._touched_ns: int | None = None

    def capture(self, state: TrueState) -> Fields:
        """Tell whether what must not be touched was, since the capture before."""
        if state.touch_steps > self._counted:
            self._counted, self._touched_ns = state.touch_steps, state.at_ns
        held = self._touched_ns is not None and state.at_ns <= self._touched_ns + self._hold_ns
        return {'data': held}


def wrapped(angle: float) -> float:
    """Return the angle, rad, in [-pi, pi]."""
    return math.remainder(angle, 2.0 * math.pi)


def turned(orientation: Float64Array, small: Float64Array) -> Float64Array:
    """Turn a quaternion w, x, y, z by a small rotation vector in its own axes; give x, y, z, w."""
    w, x, y, z = orientation
    a, b, c = small / 2.0
    result = np.array(
        [
            w * a + x + y * c - z * b,
            w * b - x * c + y + z * a,
            w * c + x * b - y * a + z,
            w - x * a - y * b - z * c,
        ]
    )
    return result / float(np.linalg.norm(result))
