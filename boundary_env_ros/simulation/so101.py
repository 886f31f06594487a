# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An SO-101 arm on a table with a cube and two cameras, in MuJoCo, as a plugin."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.simulation.cart_config import CameraConfig
from boundary_env_ros.simulation.engine import mujoco, RayCaster
from boundary_env_ros.simulation.light_sensors import Camera
from boundary_env_ros.simulation.messages import Float64Array
from boundary_env_ros.simulation.plugin import Baseline, EnvironmentPlugin, PluginSpace, Update

#: As LeRobot names the motors, base first.
JOINTS = ('shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex', 'wrist_roll', 'gripper')
#: Angles that an episode begins with, rad: the gripper open above the table, pointing down.
HOME = (0.0, -1.7, 1.3, 1.6, 0.0, 0.8)

_SUBSTEPS = 16  # of the physics in an update, whose time step is 1/30 s
_LIFTED = 0.05  # m above the table, of the middle of the cube: a success
_HEIGHT, _WIDTH = 96, 128


class So101Plugin(EnvironmentPlugin):
    """
    Pick up a red cube of 25 mm: the gripper opens and closes, position servos hold the joints.

    The start value ``cube`` is where the cube lies on the table: x and y from the middle of the
    base, m, and its heading, rad.
    """

    def start(
        self, seed: int, target: Mapping[str, Vector], options: Mapping[str, Any]
    ) -> Baseline:
        """Put the arm into its home pose, and the cube where the task wants it."""
        text = resources.files(__package__).joinpath('so101.xml').read_text(encoding='utf-8')
        self._model = mujoco.MjModel.from_xml_string(text)
        self._data = mujoco.MjData(self._model)
        x, y, heading = target.get('cube', (0.25, 0.0, 0.0))
        self._data.joint('cube').qpos[:] = (
            *(x, y, 0.0125),
            *(math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2)),
        )
        self._data.qpos[: len(JOINTS)] = self._data.ctrl[:] = HOME
        mujoco.mj_forward(self._model, self._data)
        caster = RayCaster(self._model, self._data, groups=(0, 1))
        self._cameras = {
            f'{name}_camera/image_raw': Camera(
                CameraConfig(
                    rate=30.0,
                    height=_HEIGHT,
                    width=_WIDTH,
                    field_of_view=self._field_of_view(name),
                ),
                caster,
                lambda _, name=name: self._lens(name),  # type: ignore[misc]
            )
            for name in ('wrist', 'scene')
        }
        for number, camera in enumerate(self._cameras.values()):
            camera.restart(None, np.random.default_rng((seed, number)))
        low, high = (tuple(map(float, self._model.jnt_range[: len(JOINTS), k])) for k in (0, 1))
        unit = ('rad',) * len(JOINTS)
        return Baseline(
            sensors=(
                # A joint gives way a little at the end of its range.
                PluginSpace(
                    name='joint_states',
                    values=JOINTS,
                    unit=unit,
                    low=(-3.2,) * len(JOINTS),
                    high=(3.2,) * len(JOINTS),
                ),
                *(PluginSpace(name=n, shape=(_HEIGHT, _WIDTH, 3)) for n in self._cameras),
            ),
            actuators=(
                PluginSpace(
                    name='position_controller/commands',
                    values=JOINTS,
                    unit=unit,
                    low=low,
                    high=high,
                ),
            ),
            readings=self._readings(),
            time_step=_SUBSTEPS * self._model.opt.timestep,
            rewards=('reach', 'lift'),
            achieved={'cube': (x, y, heading)},
        )

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        """Let the servos move the joints to their set-points."""
        (self._data.ctrl[:],) = setpoints.values()
        mujoco.mj_step(self._model, self._data, _SUBSTEPS)
        cube, tip = self._data.body('cube').xpos, self._data.site('tip').xpos
        is_lifted = bool(cube[2] > _LIFTED)
        return Update(
            readings=self._readings(),
            rewards={'reach': -float(np.linalg.norm(cube - tip)), 'lift': float(is_lifted)},
            done=is_lifted,
            success=is_lifted,
        )

    def _readings(self) -> dict[str, Vector | NDArray[np.uint8]]:
        angles = tuple(map(float, self._data.qpos[: len(JOINTS)]))
        pictures = {name: _pixels(camera) for name, camera in self._cameras.items()}
        return {'joint_states': angles, **pictures}

    def _field_of_view(self, name: str) -> float:
        vertical = math.radians(float(self._model.camera(name).fovy[0]))
        return 2.0 * math.atan(math.tan(vertical / 2.0) * _WIDTH / _HEIGHT)

    def _lens(self, name: str) -> tuple[Float64Array, Float64Array]:
        """Return where a camera is, and its axes as :class:`Camera` has them."""
        camera = self._data.camera(name)
        right, up, back = camera.xmat.reshape(3, 3).T
        return camera.xpos, np.stack([-back, -right, up], axis=1)


def _pixels(camera: Camera[None]) -> NDArray[np.uint8]:
    data: Any = camera.capture(None)['data']
    return np.frombuffer(data, dtype=np.uint8).reshape(_HEIGHT, _WIDTH, 3)
