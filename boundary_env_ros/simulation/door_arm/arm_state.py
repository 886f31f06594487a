# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arm and door as values: how an episode begins, and the truth that sensors measure from."""

from __future__ import annotations

from typing import NamedTuple

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.messages import Float64Array
from boundary_env_ros.simulation.readings import TrueState

#: The joints of the arm, from the foot to the flange.
ARM_JOINTS = (
    'shoulder_pan_joint',
    'shoulder_lift_joint',
    'elbow_joint',
    'wrist_pitch_joint',
    'wrist_yaw_joint',
    'wrist_roll_joint',
)

#: The gripper as joint states have it: how far its fingers are apart, m.
GRIPPER_JOINT = 'gripper_joint'

#: The hinge of the door; a positive angle is open.
HINGE_JOINT = 'door_hinge'


@frozen
class DoorReset:
    """
    How an episode shall begin; the gripper is open then.

    Attributes
    ----------
    joints
        Of the arm, rad, in the order of ``ARM_JOINTS``.
    hinge
        Angle of the door, rad.
    friction
        Of its hinge, N m.
    radius, height
        Of the handle: from the hinge, and above the arm's foot, m.

    """

    joints: Vector
    hinge: float = 0.0
    friction: float = 1.0
    radius: float = 0.55
    height: float = 0.25


class FramePose(NamedTuple):
    """
    A frame in the world, which is base_link.

    Attributes
    ----------
    position
        m, shape (3,).
    rotation
        From the frame's axes to the world's, shape (3, 3).

    """

    position: Float64Array
    rotation: Float64Array


@frozen(eq=False)
class ArmState(TrueState):
    """
    True state of arm and door at the end of a physics step.

    The arm must touch nothing but with its fingers, and they nothing but door and handle.

    Attributes
    ----------
    angles, speeds
        Of the arm's joints, rad and rad/s, shape (6,).
    opening, opening_speed
        How far the fingers are apart, m, and how fast that grows, m/s.
    tool
        Point between the fingers' pads; x forward out of the flange.
    handle
        Middle of the handle's bar; x into the door, as a gripper comes.
    wrist_camera, scene_camera
        The cameras; x is where they look, z up.
    force, torque
        What the world does to the gripper, its weight apart, in the axes of the wrist, N and N m,
        shape (3,).
    hinge, hinge_speed
        Of the door, rad and rad/s.

    """

    angles: Float64Array
    speeds: Float64Array
    opening: float
    opening_speed: float
    tool: FramePose
    handle: FramePose
    wrist_camera: FramePose
    scene_camera: FramePose
    force: Float64Array
    torque: Float64Array
    hinge: float
    hinge_speed: float
