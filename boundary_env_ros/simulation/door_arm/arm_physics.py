# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Arm and door in MuJoCo.

Everything that leaves this module is a plain value, so that sensors, driver and arm can be read,
typed and tested without knowing MuJoCo.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import numpy as np
import numpy.typing as npt

from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.door_arm.arm_state import (
    ARM_JOINTS,
    ArmState,
    DoorReset,
    FramePose,
)
from boundary_env_ros.simulation.engine import mujoco, RayCaster, report_failure
from boundary_env_ros.simulation.messages import Float64Array

# Geom groups, as door_arm.xml explains them.
_STILL, _FLOOR, _ARM, _FINGERS, _DOOR, _HANDLE = range(6)

_JOINTS = len(ARM_JOINTS)
_LEFT, _RIGHT, _HINGE = _JOINTS, _JOINTS + 1, _JOINTS + 2

# How much of the door's edge must be left above, below and beside the handle's bar, m.
_MARGIN = 0.1


@frozen
class DoorGeometry:
    """
    Measures of arm and door, from the model, world's axes.

    Attributes
    ----------
    joint_low, joint_high
        Limits of the arm's joints, rad.
    most_open
        Farthest that the fingers can be apart, m.
    hinge_low, hinge_high
        Limits of the door, rad.
    radius_low, radius_high
        How far from the hinge the handle can be, m.
    height_low, height_high
        How high above the arm's foot the handle's middle can be, m.

    """

    joint_low: tuple[float, ...]
    joint_high: tuple[float, ...]
    most_open: float
    hinge_low: float
    hinge_high: float
    radius_low: float
    radius_high: float
    height_low: float
    height_high: float


class DoorPhysics:
    """
    Bodies, contacts and rays of arm and door; no sensors, no commands, no clock.

    Equal calls in equal order give equal bits: nothing here is random, and nothing but ``place``
    and ``step`` changes the state.
    """

    def __init__(self) -> None:
        text = resources.files(__package__).joinpath('door_arm.xml').read_text(encoding='utf-8')
        self._model = mujoco.MjModel.from_xml_string(text)
        self._data = mujoco.MjData(self._model)
        # Tries a start out, so that a refused reset leaves everything where it was.
        self._probe_model = mujoco.MjModel.from_xml_string(text)
        self._probe = mujoco.MjData(self._probe_model)
        self._touch_steps = 0
        self.step_ns: int = round(self._model.opt.timestep * 1e9)
        self._handle_body: int = self._model.body('handle').id
        self._hinge_dof = int(self._model.joint('hinge').dofadr[0])
        self._is_bad_touch = self._bad_touches()
        self._gripper_mass, self._gripper_middle = self._weigh_gripper()
        self.geometry = self._measure()

    def collisions(self, start: DoorReset) -> tuple[str, ...]:
        """Return what of the arm would touch what else in a scene, each as two names."""
        self._put(self._probe_model, self._probe, start)
        mujoco.mj_forward(self._probe_model, self._probe)
        touching = {
            ' with '.join(sorted(self._model.geom(int(geom)).name for geom in pair))
            for pair in self._probe.contact.geom
        }
        return tuple(sorted(touching))

    def place(self, start: DoorReset) -> None:
        """Put arm and door at rest, the gripper open."""
        self._put(self._model, self._data, start)
        mujoco.mj_forward(self._model, self._data)

    def step(self, joints: Sequence[float], opening: float) -> None:
        """
        Integrate one step of ``step_ns`` with set angles, rad, and a set opening, m.

        A simulation that diverged raises SimulationFailed; only ``place`` brings it back.
        """
        data = self._data
        data.ctrl[:_JOINTS] = joints
        data.ctrl[_JOINTS] = opening / 2.0
        mujoco.mj_step(self._model, data)
        if data.warning.number.any():
            report_failure(data)
        if data.ncon:
            pairs = data.contact.geom
            if self._is_bad_touch[pairs[:, 0], pairs[:, 1]].any():
                self._touch_steps += 1

    def angles(self) -> list[float]:
        """Return where the arm's joints are, rad."""
        return list(map(float, self._data.qpos[:_JOINTS]))

    def opening(self) -> float:
        """Return how far the fingers are apart, m."""
        return float(self._data.qpos[_LEFT] + self._data.qpos[_RIGHT])

    def state(self, at_ns: int) -> ArmState:
        """Return the true state, with the caller's time of it."""
        # After a step, the places of things are still those of its begin. Forces stay so, 2 ms
        # old: to compute them again would change what the solver starts the next step from.
        mujoco.mj_kinematics(self._model, self._data)
        data = self._data
        force, torque = self._feel()
        return ArmState(
            at_ns=at_ns,
            angles=data.qpos[:_JOINTS].copy(),
            speeds=data.qvel[:_JOINTS].copy(),
            opening=self.opening(),
            opening_speed=float(data.qvel[_LEFT] + data.qvel[_RIGHT]),
            tool=self._site('tool'),
            handle=self._site('handle'),
            wrist_camera=self._site('wrist_camera'),
            scene_camera=self._site('scene_camera'),
            force=force,
            torque=torque,
            hinge=float(data.qpos[_HINGE]),
            hinge_speed=float(data.qvel[_HINGE]),
            touch_steps=self._touch_steps,
        )

    def caster(self) -> RayCaster:
        """Return what casts the rays of the cameras; they see the arm as well."""
        return RayCaster(self._model, self._data, range(6))

    def _put(self, model: mujoco.MjModel, data: mujoco.MjData, start: DoorReset) -> None:
        mujoco.mj_resetData(model, data)
        model.body_pos[self._handle_body, 1:] = start.radius, start.height
        model.dof_frictionloss[self._hinge_dof] = start.friction
        data.qpos[:_JOINTS] = start.joints
        data.qpos[[_LEFT, _RIGHT]] = self.geometry.most_open / 2.0
        data.qpos[_HINGE] = start.hinge
        # The motors are to stay there, so that the wrist feels nothing at once.
        data.ctrl[:_JOINTS] = start.joints
        data.ctrl[_JOINTS] = self.geometry.most_open / 2.0

    def _site(self, name: str) -> FramePose:
        site = self._data.site(name)
        return FramePose(position=site.xpos.copy(), rotation=site.xmat.reshape(3, 3).copy())

    def _feel(self) -> tuple[Float64Array, Float64Array]:
        """Return what the world does to the gripper, as a sensor tells that knows its weight."""
        to_wrist = self._data.site('wrench').xmat.reshape(3, 3).T
        weight = self._gripper_mass * (to_wrist @ self._model.opt.gravity)
        # MuJoCo tells what the arm does to the gripper.
        force = -self._data.sensor('force').data - weight
        torque = -self._data.sensor('torque').data - np.cross(self._gripper_middle, weight)
        return force, torque

    def _weigh_gripper(self) -> tuple[float, Float64Array]:
        """Return mass, kg, and centre of mass in the wrist's axes, m; the fingers are alike."""
        model, data = self._probe_model, self._probe
        mujoco.mj_forward(model, data)
        body = model.body('tool0').id
        site = data.site('wrench')
        middle = site.xmat.reshape(3, 3).T @ (data.subtree_com[body] - site.xpos)
        return float(model.body_subtreemass[body]), np.asarray(middle)

    def _bad_touches(self) -> npt.NDArray[np.bool_]:
        """Return for each two geoms whether they must not touch."""
        group = self._model.geom_group
        arm, fingers = group == _ARM, group == _FINGERS
        still = (group == _STILL) | (group == _FLOOR)
        door = (group == _DOOR) | (group == _HANDLE)
        bad = np.outer(arm, still | door) | np.outer(fingers, still)
        return np.asarray(bad | bad.T)

    def _measure(self) -> DoorGeometry:
        model = self._model
        ranges = [model.joint(name).range for name in ARM_JOINTS]
        hinge_low, hinge_high = model.joint('hinge').range
        panel, bar = model.geom('panel'), model.geom('bar')
        door = model.body('door').pos
        return DoorGeometry(
            joint_low=tuple(float(low) for low, _ in ranges),
            joint_high=tuple(float(high) for _, high in ranges),
            most_open=2.0 * float(model.joint('left_finger_joint').range[1]),
            hinge_low=float(hinge_low),
            hinge_high=float(hinge_high),
            radius_low=float(panel.pos[1] - panel.size[1] + _MARGIN),
            radius_high=float(panel.pos[1] + panel.size[1] - _MARGIN / 2.0),
            height_low=float(door[2] + panel.pos[2] - panel.size[2] + bar.size[1] + _MARGIN),
            height_high=float(door[2] + panel.pos[2] + panel.size[2] - bar.size[1] - _MARGIN),
        )
