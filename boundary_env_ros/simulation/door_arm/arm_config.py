# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is declared about the simulated arm: its drivers, and how well each sensor measures."""

from __future__ import annotations

from typing import ClassVar

from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.cart_config import (
    CameraConfig,
    ContactConfig,
    JointStateConfig,
    RobotConfig,
    SensorConfig,
)


@frozen
class WrenchConfig(SensorConfig):
    """
    Force-torque sensor in the wrist, which has subtracted the weight of the gripper.

    Attributes
    ----------
    force_noise
        Standard deviation of each axis, N.
    torque_noise
        Standard deviation of each axis, N m.
    force_bias
        Standard deviation of the constant error of each axis, N; drawn once a reset.

    """

    rate: float = 100.0
    delay: float = 0.004
    force_noise: float = 0.3
    torque_noise: float = 0.02
    force_bias: float = 0.3


@frozen
class HandlePoseConfig(SensorConfig):
    """
    Detector which finds the handle in the pictures of the scene.

    Attributes
    ----------
    position_noise
        Standard deviation of each axis, m.
    angle_noise
        Standard deviation about each axis, rad.

    """

    rate: float = 20.0
    delay: float = 0.05
    dropout: float = 0.03
    position_noise: float = 0.002
    angle_noise: float = 0.01


@frozen
class ArmConfig(RobotConfig):
    """
    Everything that is declared about the simulated arm.

    Attributes
    ----------
    actuator_delay
        From the arrival of a command to its effect, s.
    arm_timeout, gripper_timeout
        After so long without a command the arm, or the gripper, stays where it is, s; more than
        actuator_delay.
    point_duration
        From the effect of a command of the arm until it is to be there, s: the time from the
        start of the trajectory to its one point.
    max_joint_speed
        Fastest that the arm's driver moves the set angle of a joint, rad/s.
    max_gripper_speed
        Fastest that the gripper's driver moves the set opening, m/s.
    joint_states
        Of all joints; the noise of the gripper's opening is a tenth (in m) of the declared one.
    wrench, tool_pose, handle_pose, wrist_camera, scene_camera, hinge, contact
        The other sensors. The hinge, which is the truth, has neither delay nor dropout.

    """

    TIMEOUTS: ClassVar[tuple[str, ...]] = ('arm_timeout', 'gripper_timeout')

    actuator_delay: float = 0.02
    arm_timeout: float = 0.25
    gripper_timeout: float = 0.25
    point_duration: float = 0.1
    max_joint_speed: float = 1.5
    max_gripper_speed: float = 0.15
    joint_states: JointStateConfig = JointStateConfig(rate=100.0, velocity_noise=0.005)
    wrench: WrenchConfig = WrenchConfig()
    tool_pose: SensorConfig = SensorConfig(rate=50.0, delay=0.005)
    handle_pose: HandlePoseConfig = HandlePoseConfig()
    wrist_camera: CameraConfig = CameraConfig(field_of_view=1.2)
    scene_camera: CameraConfig = CameraConfig(field_of_view=1.0)
    hinge: SensorConfig = SensorConfig(rate=50.0)
    contact: ContactConfig = ContactConfig()
