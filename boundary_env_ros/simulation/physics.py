# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The cart and its hall in MuJoCo: the one module that imports it.

Everything that leaves this module is a plain value, so that sensors, driver and cart can be read,
typed and tested without knowing MuJoCo.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
import math

import numpy as np

from boundary_env_ros.errors import MissingDependency, SimulationFailed
from boundary_env_ros.simulation.body_state import BodyState, RayHits
from boundary_env_ros.simulation.free_space import Footprint, FreeSpace, HallBounds
from boundary_env_ros.simulation.readings import Float64Array, read_only

try:
    import mujoco
except ImportError as error:
    raise MissingDependency(
        'Expect MuJoCo for the simulated cart, actually: it cannot be imported '
        f'({error}). Install it with `pip install boundary_env_ros[sim]`.'
    ) from error

# Geom groups, as warehouse.xml explains them.
_HALL, _FLOOR, _CART, _MARK = 0, 1, 2, 3

# Steps in which the cart sinks into its contacts after it was placed (0.2 s), unseen by sensors.
_SETTLING_STEPS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CartGeometry:
    """
    Measures of the cart, from the model; positions in base_link.

    Attributes
    ----------
    wheel_radius, wheel_separation
        m.
    front, rear, side
        How far the cart reaches forward, backward and to either side of base_link, m.
    height
        Top of the cart above the floor, m.
    imu_mount, scan_mount, camera_mount
        x, y, z of each sensor, m.
    camera_pitch
        How far the camera looks down, rad.

    """

    wheel_radius: float
    wheel_separation: float
    front: float
    rear: float
    side: float
    height: float
    imu_mount: tuple[float, float, float]
    scan_mount: tuple[float, float, float]
    camera_mount: tuple[float, float, float]
    camera_pitch: float

    @property
    def footprint_radius(self) -> float:
        """Radius about base_link within which the cart can turn on the spot, m."""
        return math.hypot(max(self.front, self.rear), self.side)


class WarehousePhysics:
    """
    Bodies, contacts and rays of the warehouse; no sensors, no commands, no clock.

    Equal calls in equal order give equal bits: nothing here is random, and nothing but ``place``
    and ``step`` changes the state.
    """

    def __init__(self) -> None:
        text = resources.files(__package__).joinpath('warehouse.xml').read_text(encoding='utf-8')
        self._model = mujoco.MjModel.from_xml_string(text)
        self._data = mujoco.MjData(self._model)
        # Tries a start out, so that a refused reset leaves the cart where it was.
        self._probe = mujoco.MjData(self._model)
        self._touch_steps = 0
        self.step_ns: int = round(self._model.opt.timestep * 1e9)
        # Hall's axes, m/s^2.
        self.gravity = read_only(self._model.opt.gravity)
        self.floor_geom: int = self._model.geom('floor').id
        self.geom_colours = read_only(self._model.geom_rgba[:, :3])
        group = self._model.geom_group
        self._is_obstacle = group == _HALL
        self._goal_mocap = int(self._model.body('goal').mocapid[0])
        self.geometry = self._measure_cart()
        self.free_space = self._survey_hall()
        self.home = (float(self._model.qpos0[0]), float(self._model.qpos0[1]), 0.0)
        goal_x, goal_y, _ = _triple(self._model.body('goal').pos)
        self.home_goal = (goal_x, goal_y)

    def collides_at(self, x: float, y: float, yaw: float) -> tuple[str, ...]:
        """Return the names of what the cart would stand in with base_link at this pose."""
        self._put(self._probe, x, y, yaw)
        mujoco.mj_forward(self._model, self._probe)
        met = self._obstacles_met(self._probe)
        return tuple(sorted({self._model.geom(int(geom)).name for geom in met}))

    def place(self, x: float, y: float, yaw: float, goal: tuple[float, float]) -> None:
        """Put the cart at rest at a pose, m and rad, and the goal's mark at a point, m."""
        self._put(self._data, x, y, yaw)
        self._data.mocap_pos[self._goal_mocap, :2] = goal
        for _ in range(_SETTLING_STEPS):
            self.step(0.0, 0.0)

    def step(self, left: float, right: float) -> None:
        """
        Integrate one step of ``step_ns`` with set speeds of the wheels, rad/s.

        A simulation that diverged raises SimulationFailed; only ``place`` brings it back.
        """
        data = self._data
        data.ctrl[0] = left
        data.ctrl[1] = right
        mujoco.mj_step(self._model, data)
        if data.warning.number.any():
            self._report_failure()
        if self._is_obstacle[data.contact.geom].any():
            self._touch_steps += 1

    def state(self, at_ns: int) -> BodyState:
        """Return the true state of the cart, with the caller's time of it."""
        qpos, qvel = self._data.qpos, self._data.qvel
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, qpos[3:7])
        return BodyState(
            at_ns=at_ns,
            position=qpos[:3],
            orientation=qpos[3:7],
            rotation=rotation.reshape(3, 3),
            velocity=qvel[:3],
            angular_velocity=qvel[3:6],
            wheel_angles=qpos[7:9],
            wheel_speeds=qvel[6:8],
            touch_steps=self._touch_steps,
        )

    def cast_rays(
        self,
        origin: Float64Array,
        directions: Float64Array,
        *,
        cutoff: float,
        marks: bool,
    ) -> RayHits:
        """Find what rays meet, the cart itself excluded; see ``body_state.RayCaster``."""
        count = len(directions)
        distance = np.empty(count)
        geom = np.empty(count, dtype=np.int32)
        normal = np.empty(3 * count)
        groups = np.zeros(6, dtype=np.uint8)
        groups[[_HALL, _FLOOR]] = 1
        groups[_MARK] = marks
        mujoco.mj_multiRay(
            self._model,
            self._data,
            origin,
            directions.reshape(-1),
            groups,
            True,
            -1,
            geom,
            distance,
            normal,
            count,
            cutoff,
        )
        distance[geom < 0] = np.inf
        return RayHits(distance=distance, geom=geom, normal=normal.reshape(count, 3))

    def _put(self, data: mujoco.MjData, x: float, y: float, yaw: float) -> None:
        mujoco.mj_resetData(self._model, data)
        data.qpos[:2] = x, y
        data.qpos[3:7] = math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)

    def _obstacles_met(self, data: mujoco.MjData) -> list[int]:
        pairs = data.contact.geom
        return [int(geom) for geom in pairs[self._is_obstacle[pairs]]]

    def _report_failure(self) -> None:
        numbers = self._data.warning.number
        names = [
            mujoco.mjtWarning(kind).name
            for kind in range(int(mujoco.mjtWarning.mjNWARNING))
            if numbers[kind]
        ]
        raise SimulationFailed(
            f'Expect a physics step without warnings, actually: {", ".join(names)} after '
            f'{self._data.time:.3f} s of simulation. Reset the cart to go on.'
        )

    def _measure_cart(self) -> CartGeometry:
        model = self._model
        chassis, mast = model.geom('chassis'), model.geom('mast')
        wheel, axle = model.geom('left_wheel'), model.body('left_wheel')
        camera = model.site('camera')
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, camera.quat)
        return CartGeometry(
            wheel_radius=float(wheel.size[0]),
            wheel_separation=2.0 * float(axle.pos[1]),
            front=float(chassis.pos[0] + chassis.size[0]),
            rear=float(chassis.size[0] - chassis.pos[0]),
            side=float(chassis.size[1]),
            height=float(wheel.size[0] + mast.pos[2] + mast.size[1]),
            imu_mount=_triple(model.site('imu').pos),
            scan_mount=_triple(model.site('scan').pos),
            camera_mount=_triple(camera.pos),
            camera_pitch=-math.asin(rotation[6]),
        )

    def _survey_hall(self) -> FreeSpace:
        """Read walls and obstacles from the geoms of the hall; refuse shapes it cannot judge."""
        walls: dict[str, tuple[Float64Array, Float64Array]] = {}
        obstacles = []
        for number in np.flatnonzero(self._is_obstacle):
            geom = self._model.geom(int(number))
            size = geom.size
            if geom.name.startswith('wall_'):
                walls[geom.name] = (geom.pos, size)
                continue
            is_box = geom.type[0] == mujoco.mjtGeom.mjGEOM_BOX
            is_cylinder = geom.type[0] == mujoco.mjtGeom.mjGEOM_CYLINDER
            rotation = np.empty(9)
            mujoco.mju_quat2Mat(rotation, geom.quat)
            if not (is_box or is_cylinder) or not math.isclose(rotation[8], 1.0):
                raise SimulationFailed(
                    f'warehouse.xml, geom {geom.name!r}: expect an upright box or cylinder, '
                    'actually: another shape or a tilted one.'
                )
            half_height = size[2] if is_box else size[1]
            if geom.pos[2] - half_height >= self.geometry.height:
                continue
            obstacles.append(
                Footprint(
                    name=geom.name,
                    x=float(geom.pos[0]),
                    y=float(geom.pos[1]),
                    yaw=math.atan2(rotation[3], rotation[0]),
                    half_length=float(size[0]) if is_box else 0.0,
                    half_width=float(size[1]) if is_box else 0.0,
                    radius=0.0 if is_box else float(size[0]),
                )
            )
        east, west = walls['wall_east'], walls['wall_west']
        north, south = walls['wall_north'], walls['wall_south']
        bounds = HallBounds(
            x_min=float(west[0][0] + west[1][0]),
            x_max=float(east[0][0] - east[1][0]),
            y_min=float(south[0][1] + south[1][1]),
            y_max=float(north[0][1] - north[1][1]),
        )
        return FreeSpace(bounds=bounds, obstacles=tuple(obstacles))


def _triple(values: Float64Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
