# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the arm measures.

A sensor is asked at each of its captures, and only then, and draws noise only from the generator
that it was restarted with: so its readings depend on seed and motion, on nothing else.
"""

from __future__ import annotations

import numpy as np

from boundary_env_ros.simulation.cart_config import JointStateConfig
from boundary_env_ros.simulation.door_arm.arm_config import HandlePoseConfig, WrenchConfig
from boundary_env_ros.simulation.door_arm.arm_state import (
    ARM_JOINTS,
    ArmState,
    GRIPPER_JOINT,
    HINGE_JOINT,
)
from boundary_env_ros.simulation.engine import mujoco
from boundary_env_ros.simulation.messages import (
    Fields,
    Float64Array,
    joint_state,
    quaternion,
    vector,
)
from boundary_env_ros.simulation.motion_sensors import Sensor, turned

# The gripper's encoder, m, is finer than the joints', rad.
_GRIPPER_NOISE = 0.1


class ArmJointStates(Sensor[ArmState]):
    """Angle and speed of the arm's joints, and the opening of the gripper."""

    def __init__(self, config: JointStateConfig) -> None:
        scale = np.array([1.0] * len(ARM_JOINTS) + [_GRIPPER_NOISE])
        self._position_noise = config.position_noise * scale
        self._velocity_noise = config.velocity_noise * scale

    def capture(self, state: ArmState) -> Fields:
        """Measure all joints."""
        noise = self._noise.standard_normal((2, len(ARM_JOINTS) + 1))
        position = np.append(state.angles, state.opening)
        velocity = np.append(state.speeds, state.opening_speed)
        return joint_state(
            (*ARM_JOINTS, GRIPPER_JOINT),
            position + self._position_noise * noise[0],
            velocity + self._velocity_noise * noise[1],
        )


class Wrench(Sensor[ArmState]):
    """What the world does to the gripper."""

    def __init__(self, config: WrenchConfig) -> None:
        self._config = config

    def restart(self, state: ArmState, noise: np.random.Generator) -> None:
        """Draw how wrong the zero of the force is."""
        super().restart(state, noise)
        self._bias = self._config.force_bias * noise.standard_normal(3)

    def capture(self, state: ArmState) -> Fields:
        """Measure force and torque in the axes of the wrist."""
        force, torque = self._noise.standard_normal((2, 3))
        return {
            'wrench': {
                'force': vector(*(state.force + self._bias + self._config.force_noise * force)),
                'torque': vector(*(state.torque + self._config.torque_noise * torque)),
            }
        }


class ToolPose(Sensor[ArmState]):
    """Where the arm itself believes its tool to be: exact, as its encoders are."""

    def capture(self, state: ArmState) -> Fields:
        """Compute the pose of the tool."""
        return _pose(state.tool.position, np.roll(_quaternion(state.tool.rotation), -1))


class HandlePose(Sensor[ArmState]):
    """A detector of the handle, unbiased."""

    def __init__(self, config: HandlePoseConfig) -> None:
        self._config = config

    def capture(self, state: ArmState) -> Fields:
        """Detect the handle."""
        shift, turn = self._noise.standard_normal((2, 3))
        return _pose(
            state.handle.position + self._config.position_noise * shift,
            turned(_quaternion(state.handle.rotation), self._config.angle_noise * turn),
        )


class Hinge(Sensor[ArmState]):
    """The true angle of the door, privileged."""

    def capture(self, state: ArmState) -> Fields:
        """Tell the truth."""
        angle, speed = np.array([state.hinge]), np.array([state.hinge_speed])
        return joint_state((HINGE_JOINT,), angle, speed)


def _pose(position: Float64Array, orientation: Float64Array) -> Fields:
    return {'pose': {'position': vector(*position), 'orientation': quaternion(orientation)}}


def _quaternion(rotation: Float64Array) -> Float64Array:
    """Return a rotation matrix as a quaternion w, x, y, z with w not negative."""
    found = np.empty(4)
    mujoco.mju_mat2Quat(found, rotation.ravel())
    return found if found[0] >= 0.0 else -found
