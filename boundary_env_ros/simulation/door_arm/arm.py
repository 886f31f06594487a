# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
An arm in front of a door, driven step by step.

::

    arm = DoorArm()
    arm.reset(arm.home, seed=7, at_ns=0)
    arm.command_arm((0.0, -2.0, 2.2, -0.2, 0.0, 0.0), arrived_ns=0)
    for reading in arm.advance(100_000_000):
        ...
"""

from __future__ import annotations

import math

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.simulation.door_arm.arm_config import ArmConfig
from boundary_env_ros.simulation.door_arm.arm_physics import DoorPhysics
from boundary_env_ros.simulation.door_arm.arm_sensors import (
    ArmJointStates,
    HandlePose,
    Hinge,
    ToolPose,
    Wrench,
)
from boundary_env_ros.simulation.door_arm.arm_state import ARM_JOINTS, ArmState, DoorReset
from boundary_env_ros.simulation.door_arm.position_driver import OnSilence, PositionDriver
from boundary_env_ros.simulation.light_sensors import Camera
from boundary_env_ros.simulation.motion_sensors import Contact, Sensor
from boundary_env_ros.simulation.sensor_pipeline import SensorPipeline
from boundary_env_ros.simulation.stepped_world import SteppedWorld


class DoorArm(SteppedWorld[ArmState]):
    """
    The arm with its drivers and sensors; time is an argument of every call.

    After a reset with the same target and seed, the same commands at the same times since the
    reset give the same readings, bit by bit, however time is cut into calls.

    A new arm stands at its home, reset with seed 0 at ``start_ns``.

    Parameters
    ----------
    config
        What is declared about drivers and sensors.
    start_ns
        Present time, ns, in a clock of the caller's choice; it never runs backwards.

    Attributes
    ----------
    arm, gripper
        The drivers, to look at.
    geometry
        Measures of arm and door.

    """

    home = DoorReset(joints=(0.0, -2.0, 2.2, -0.2, 0.0, 0.0))

    def __init__(self, config: ArmConfig | None = None, start_ns: int = 0) -> None:
        self.config = config = ArmConfig() if config is None else config
        self._physics = DoorPhysics()
        self.geometry = geometry = self._physics.geometry
        self.arm = PositionDriver(
            low=geometry.joint_low,
            high=geometry.joint_high,
            max_speed=config.max_joint_speed,
            duration=config.point_duration,
            delay=config.actuator_delay,
            timeout=config.arm_timeout,
            on_silence=OnSilence.MEASURED,
        )
        self.gripper = PositionDriver(
            low=(0.0,),
            high=(geometry.most_open,),
            max_speed=config.max_gripper_speed,
            duration=0.0,
            delay=config.actuator_delay,
            timeout=config.gripper_timeout,
            on_silence=OnSilence.SET,
        )
        pipeline = SensorPipeline(
            config.sensors, _sensors(config, self._physics), self._physics.step_ns
        )
        super().__init__(step_ns=self._physics.step_ns, pipelines=[pipeline], start_ns=start_ns)
        self.reset(self.home, seed=0, at_ns=start_ns)

    @property
    def true_state(self) -> ArmState:
        """True state at the end of the last physics step, privileged."""
        return self._state()

    def _state(self, robot: int = 0) -> ArmState:
        return self._physics.state(self.physics_ns)

    def reset(self, target: DoorReset, seed: int, at_ns: int) -> ArmState:
        """
        Put arm and door at rest as wanted, begin again at at_ns, and return how they stand.

        Commands and readings that were on their way are gone, also those of a simulation that
        failed. A refused reset raises ResetFailed and changes nothing.

        Parameters
        ----------
        target
            Arm, door and handle; the arm must touch nothing.
        seed
            Of all noise, 0 or more.
        at_ns
            When, ns; not before ``now_ns``.

        """
        self._check_restart(seed, at_ns)
        self._check(target)
        self._physics.place(target)
        self.arm.restart(at_ns, target.joints)
        self.gripper.restart(at_ns, (self.geometry.most_open,))
        self._restart(seed, at_ns)
        return self.true_state

    def command_arm(self, targets: Vector, arrived_ns: int) -> None:
        """Hand the arm's driver an angle for each joint, rad; see ``PositionDriver.receive``."""
        self.arm.receive(targets, arrived_ns)

    def command_gripper(self, opening: float, arrived_ns: int) -> None:
        """Hand the gripper's driver an opening, m; see ``PositionDriver.receive``."""
        self.gripper.receive((opening,), arrived_ns)

    def _step(self, begin_ns: int, most: int) -> int:
        step_ns = self._physics.step_ns
        joints = self.arm.set_positions(begin_ns, step_ns, self._physics.angles)
        (opening,) = self.gripper.set_positions(
            begin_ns, step_ns, lambda: [self._physics.opening()]
        )
        # One by one: the set positions are on their way nearly always, and any step may touch.
        self._physics.step(joints, opening)
        return 1

    def _check(self, target: DoorReset) -> None:
        geometry = self.geometry
        if len(target.joints) != len(ARM_JOINTS):
            raise ResetFailed(
                f'Wrong start (expected a start of {len(ARM_JOINTS)} joint angles, got '
                f'{len(target.joints)}).'
            )
        for name, value, low, high in zip(
            ARM_JOINTS, target.joints, geometry.joint_low, geometry.joint_high, strict=True
        ):
            _check_range(name, value, low, high, 'rad')
        _check_range('door angle', target.hinge, geometry.hinge_low, geometry.hinge_high, 'rad')
        _check_range('door friction', target.friction, 0.0, math.inf, 'N m')
        _check_range(
            'handle radius', target.radius, geometry.radius_low, geometry.radius_high, 'm'
        )
        _check_range(
            'handle height', target.height, geometry.height_low, geometry.height_high, 'm'
        )
        met = self._physics.collisions(target)
        if met:
            raise ResetFailed(
                'The start is in collision (expected a start which touches nothing, got '
                f'{", ".join(met)} at joints {list(target.joints)} rad).'
            )


def _check_range(what: str, value: float, low: float, high: float, unit: str) -> None:
    if not (low <= value <= high and math.isfinite(value)):
        raise ResetFailed(
            f'Wrong {what} (expected a {what} of {low:g} to {high:g} {unit}, got {value} {unit}).'
        )


def _sensors(config: ArmConfig, physics: DoorPhysics) -> dict[str, Sensor[ArmState]]:
    caster = physics.caster()
    return {
        'joint_states': ArmJointStates(config.joint_states),
        'wrench': Wrench(config.wrench),
        'tool_pose': ToolPose(),
        'handle_pose': HandlePose(config.handle_pose),
        'wrist_camera': Camera(config.wrist_camera, caster, lambda state: state.wrist_camera),
        'scene_camera': Camera(config.scene_camera, caster, lambda state: state.scene_camera),
        'hinge': Hinge(),
        'contact': Contact(config.contact),
    }
