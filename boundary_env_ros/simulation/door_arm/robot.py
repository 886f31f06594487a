# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The arm as a simulated robot, which a contract is run with."""

from __future__ import annotations

from collections.abc import Mapping

from boundary_env_ros.core.contract.model import ActionSpec, Contract
from boundary_env_ros.core.contract.sources import Trajectory
from boundary_env_ros.core.environment.reset import by_name, ResetWorld, WorldReset
from boundary_env_ros.core.records.parts import NamedValues
from boundary_env_ros.core.sources.inputs import sensor_topics, TF_TYPE
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, ResetFailed
from boundary_env_ros.frozen import replace
from boundary_env_ros.simulation.door_arm.arm import DoorArm
from boundary_env_ros.simulation.door_arm.arm_config import ArmConfig
from boundary_env_ros.simulation.door_arm.arm_state import DoorReset
from boundary_env_ros.simulation.messages import BASE, TOOL, transforms
from boundary_env_ros.simulation.robot import Emission, emission

ARM_TOPIC = 'arm_controller/joint_trajectory'
GRIPPER_TOPIC = 'gripper_controller/commands'

#: Relative topic and ROS type of each sensor, in the order of ``ArmConfig``.
WIRE: Mapping[str, tuple[str, str]] = {
    'joint_states': ('joint_states', 'sensor_msgs/msg/JointState'),
    'wrench': ('wrench', 'geometry_msgs/msg/WrenchStamped'),
    'tool_pose': ('tool_pose', 'geometry_msgs/msg/PoseStamped'),
    'handle_pose': ('handle_pose', 'geometry_msgs/msg/PoseStamped'),
    'wrist_camera': ('wrist_camera/image_raw', 'sensor_msgs/msg/Image'),
    'scene_camera': ('scene_camera/image_raw', 'sensor_msgs/msg/Image'),
    'hinge': ('door/hinge', 'sensor_msgs/msg/JointState'),
    'contact': ('contact', 'std_msgs/msg/Bool'),
}

_DEFAULT = ArmConfig()
_UNITS: Mapping[str, tuple[str, ...]] = {
    'start': ('rad',) * 6,
    'door': ('rad', 'N m'),
    'handle': ('m', 'm'),
}


class DoorArmRobot:
    """
    The arm as a :class:`~boundary_env_ros.simulation.robot.SimulatedRobot`.

    It takes the angles of its six joints, rad, on ``arm_controller/joint_trajectory``, and the
    opening of its gripper, m, on ``gripper_controller/commands``. Timeouts of both drivers, and
    the time of the trajectory's point, are those of the contract.

    Parameters
    ----------
    contract
        The contract that it is run with.
    start
        Present time, ns.
    options
        Values of some of ``OPTIONS``.
    config
        What is declared about drivers and sensors besides.

    """

    OPTIONS: Mapping[str, tuple[float, str]] = {
        'actuator_delay': (
            _DEFAULT.actuator_delay,
            'Seconds from the arrival of a command to its effect.',
        ),
        'camera_rate': (
            _DEFAULT.wrist_camera.rate,
            'Images a second of each camera; 0 switches the cameras off.',
        ),
    }

    def __init__(
        self,
        contract: Contract,
        *,
        start: int,
        options: Mapping[str, float] | None = None,
        config: ArmConfig = _DEFAULT,
    ) -> None:
        try:
            self._arm = DoorArm(_configured(config, options or {}, contract), start)
        except ValueError as error:
            raise BoundaryError(str(error)) from error
        read = sensor_topics(contract)
        self._tf = contract.tf_topics[0]
        frames = {self._tf: TF_TYPE} if self._tf in read else {}
        self.topics: Mapping[str, str] = {**dict(WIRE.values()), **frames}

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """
        Put the arm at ``start`` and the door at ``door``, with its ``handle``.

        ``start``: six joint angles (rad). ``door``: angle (rad) and friction of the hinge (N m).
        ``handle``: distance from the hinge and height above the arm's foot (m).
        """
        values = by_name(request.target)
        sizes = {name: len(unit) for name, unit in _UNITS.items()}
        if {name: len(values.get(name, ())) for name in sizes} != sizes:
            return WorldReset(
                error='Wrong reset target (expected start (6 joint angles), door (angle, '
                'friction), handle (radius, height), got '
                f'{ {name: list(v) for name, v in values.items()} }).'
            )
        (hinge, friction), (radius, height) = values['door'], values['handle']
        target = DoorReset(
            joints=values['start'], hinge=hinge, friction=friction, radius=radius, height=height
        )
        try:
            achieved = self._arm.reset(target, request.seed, at)
        except ResetFailed as error:
            return WorldReset(error=str(error))
        reached: Mapping[str, Vector] = {
            'start': tuple(achieved.angles.tolist()),
            'door': (achieved.hinge, friction),
            'handle': (radius, height),
        }
        return WorldReset(
            achieved=tuple(
                NamedValues(name=name, values=reached[name], unit=unit)
                for name, unit in _UNITS.items()
            ),
            completed=at,
            confirmed_by='simulated_robot',
        )

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        """Take a command on one of the two topics; its driver executes it after its delay."""
        if topic == ARM_TOPIC:
            self._arm.command_arm(values, arrived)
        elif topic == GRIPPER_TOPIC and len(values) == 1:
            self._arm.command_gripper(values[0], arrived)
        else:
            raise BoundaryError(
                f'Wrong size of a command (expected six angles on {ARM_TOPIC} or one opening on '
                f'{GRIPPER_TOPIC}, got {len(values)} values on {topic}).'
            )

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Let the arm run until then."""
        emissions = []
        for reading in self._arm.advance(until):
            sent = emission(reading, WIRE[reading.sensor][0])
            emissions.append(sent)
            if reading.sensor == 'tool_pose' and self._tf in self.topics:
                fields = sent.fields
                if fields is not None:
                    pose = fields['pose']
                    link = (BASE, TOOL, pose['position'], pose['orientation'])
                    fields = transforms(reading.captured_ns, link)
                emissions.append(replace(sent, topic=self._tf, fields=fields))
        return tuple(emissions)


def _configured(config: ArmConfig, options: Mapping[str, float], contract: Contract) -> ArmConfig:
    arm, gripper = _group(contract, ARM_TOPIC, 6), _group(contract, GRIPPER_TOPIC, 1)
    source, wrist, scene = arm.source, config.wrist_camera, config.scene_camera
    return replace(
        config,
        actuator_delay=options.get('actuator_delay', config.actuator_delay),
        arm_timeout=_timeout(arm, config.arm_timeout),
        gripper_timeout=_timeout(gripper, config.gripper_timeout),
        point_duration=(
            source.duration if isinstance(source, Trajectory) else config.point_duration
        ),
        wrist_camera=replace(wrist, rate=options.get('camera_rate', wrist.rate)),
        scene_camera=replace(scene, rate=options.get('camera_rate', scene.rate)),
    )


def _group(contract: Contract, topic: str, size: int) -> ActionSpec:
    found = [group for group in contract.action if group.topic == topic and group.size == size]
    if len(found) != 1:
        commands = ', '.join(f'{group.size} on {group.topic}' for group in contract.action)
        raise BoundaryError(
            f'Wrong command of the contract (expected a contract with {size} command values on '
            f'{topic}, got {commands}).'
        )
    return found[0]


def _timeout(group: ActionSpec, default: float) -> float:
    return default if group.driver_timeout is None else group.driver_timeout
