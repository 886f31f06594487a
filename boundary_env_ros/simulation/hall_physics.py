# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The hall and its carts in MuJoCo.

Everything that leaves this module is a plain value, so that sensors, driver and cart can be read,
typed and tested without knowing MuJoCo.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.cart_state import BodyState, ResetTarget
from boundary_env_ros.simulation.engine import mujoco, RayCaster, report_failure
from boundary_env_ros.simulation.hall_model import hall_model, prefix
from boundary_env_ros.simulation.messages import Float64Array

# Geom groups, as warehouse.xml explains them.
_HALL, _FLOOR, _CART, _MARK = 0, 1, 2, 3

# Steps in which the cart sinks into its contacts after it was placed (0.2 s), unseen by sensors.
_SETTLING_STEPS = 100

# How far ahead it is known that a cart meets nothing: at most so many steps (0.2 s), in which it
# moves by no more than so many m/s above its speed: its motors (2 x 12 N m at wheels of 0.1 m)
# give its 26 kg less than 10 m/s^2.
_AHEAD_STEPS, _FASTER = 100, 2.0

# Positions and velocities that a cart has in the state: a free joint and two wheels.
_POSITIONS, _VELOCITIES = 9, 8


@frozen
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
    scan_mount, camera_mount
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
    and ``step`` changes the state. Carts are counted from 0.

    Parameters
    ----------
    carts
        How many carts there are.
    payload, wheel_friction
        As ``CartConfig`` has them, kg and N m.

    """

    def __init__(
        self, carts: int = 1, *, payload: float = 0.0, wheel_friction: float = 0.0
    ) -> None:
        self.carts = carts
        self._model = mujoco.MjModel.from_xml_string(
            hall_model(carts, payload=payload, wheel_friction=wheel_friction)
        )
        self._data = mujoco.MjData(self._model)
        # Views of the state, which MuJoCo keeps up to date.
        self._ctrl, self._warnings = self._data.ctrl, self._data.warning.number
        # Tries a start out, so that a refused reset leaves the carts where they were.
        self._probe = mujoco.MjData(self._model)
        self._touch_steps = [0] * carts
        self._steps_apart = 0
        self.step_ns: int = round(self._model.opt.timestep * 1e9)
        # Hall's axes, m/s^2.
        self.gravity: Float64Array = self._model.opt.gravity.copy()
        self._bodies = [int(self._model.body(prefix(c) + 'base_link').id) for c in range(carts)]
        self._is_obstacle = self._model.geom_group == _HALL
        self._owner = self._owners()
        self._is_touch = self._touches()
        self._goals = [
            int(self._model.body(prefix(cart) + 'goal').mocapid[0]) for cart in range(carts)
        ]
        self.geometry = self._measure_cart()
        #: Half of the hall along x and y, m.
        self.half_size: tuple[float, float] = tuple(self._model.geom('floor').size[:2].tolist())
        self._obstacles = self._survey_hall()

    def home(self, cart: int) -> ResetTarget:
        """Return where the model itself has a cart and the mark of its goal."""
        x, y = self._model.qpos0[cart * _POSITIONS :][:2].tolist()
        goal_x, goal_y, _ = self._model.body(prefix(cart) + 'goal').pos.tolist()
        return ResetTarget(x=x, y=y, yaw=0.0, goal_x=goal_x, goal_y=goal_y)

    def collisions(self, targets: Sequence[ResetTarget]) -> tuple[tuple[str, ...], ...]:
        """Return, for each cart, the names of what it would stand in with all at their starts."""
        self._put(self._probe, targets)
        mujoco.mj_forward(self._model, self._probe)
        met: list[set[str]] = [set() for _ in targets]
        for pair in self._met(self._probe):
            for geom, other in (pair, pair[::-1]):
                if self._owner[geom] >= 0:
                    met[self._owner[geom]].add(self._model.geom(other).name)
        return tuple(tuple(sorted(names)) for names in met)

    def place(self, targets: Sequence[ResetTarget]) -> None:
        """Put every cart at rest at its start, and the mark of its goal at its point."""
        self._put(self._data, targets)
        for mark, target in zip(self._goals, targets, strict=True):
            self._data.mocap_pos[mark, :2] = target.goal_x, target.goal_y
        self._steps_apart = 0
        still = (0.0,) * (2 * self.carts)
        left = _SETTLING_STEPS
        while left:
            left -= self.step(still, left)

    def step(self, wheel_speeds: Sequence[float], most: int) -> int:
        """
        Integrate steps of ``step_ns``, and return how many.

        Where something may be touched it is one, so that no touch falls between two looks.

        A simulation that diverged raises SimulationFailed; only ``place`` brings it back.

        Parameters
        ----------
        wheel_speeds
            Set speeds, rad/s: left and right of the first cart, then of the next.
        most
            How many steps at most.

        """
        if not self._steps_apart:
            self._steps_apart = self._count_steps_apart()
        steps = max(1, min(most, self._steps_apart))
        for wheel, speed in enumerate(wheel_speeds):
            self._ctrl[wheel] = speed
        mujoco.mj_step(self._model, self._data, steps)
        # Lists: for a handful of numbers NumPy takes longer than the step itself.
        if any(self._warnings.tolist()):
            report_failure(self._data)
        if self._steps_apart:
            self._steps_apart -= steps
            return steps
        met = self._met(self._data)
        if met:
            for cart in {self._owner[geom] for pair in met for geom in pair} - {-1}:
                self._touch_steps[cart] += 1
        return 1

    def _count_steps_apart(self) -> int:
        """Return for how many steps no cart can meet anything; 0 if one may at once."""
        apart, fastest = math.inf, 0.0
        places: list[tuple[float, float]] = []
        for cart in range(self.carts):
            x, y = self._data.qpos[cart * _POSITIONS :][:2].tolist()
            speed_x, speed_y = self._data.qvel[cart * _VELOCITIES :][:2].tolist()
            radius = self.geometry.footprint_radius
            apart = min(apart, self.clearance(x, y) - radius)
            for other in places:
                # Both may move.
                apart = min(apart, 0.5 * math.dist(other, (x, y)) - radius)
            places.append((x, y))
            fastest = max(fastest, math.hypot(speed_x, speed_y))
        steps = apart / ((fastest + _FASTER) * self.step_ns * 1e-9)
        # A state that is not finite is met by nothing, and by no comparison.
        return min(int(steps), _AHEAD_STEPS) if steps > 0.0 else 0

    def clearance(self, x: float, y: float) -> float:
        """
        Return how far a point is from everything that stands in the hall, m.

        It is not above 0 where something stands. A cart can start, however it is turned, where it
        is more than ``geometry.footprint_radius``.
        """
        middle, axes, half, radius = self._obstacles
        off = np.einsum('nji,nj->ni', axes, (x, y) - middle)
        beyond = np.maximum(np.abs(off) - half, 0.0)
        return float(np.min(np.hypot(beyond[:, 0], beyond[:, 1]) - radius))

    def state(self, at_ns: int, cart: int = 0) -> BodyState:
        """Return the true state of a cart, with the caller's time of it."""
        qpos = self._data.qpos[cart * _POSITIONS :][:_POSITIONS].copy()
        qvel = self._data.qvel[cart * _VELOCITIES :][:_VELOCITIES].copy()
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
            touch_steps=self._touch_steps[cart],
        )

    def caster(self, cart: int, *, marks: bool) -> RayCaster:
        """Return what casts the rays of a cart, itself not seen; ``marks``: goals are."""
        groups = [_HALL, _FLOOR]
        groups += [_MARK] if marks else []
        groups += [_CART] if self.carts > 1 else []
        # The wheels are bodies of their own, but neither camera nor laser looks down on them.
        return RayCaster(self._model, self._data, groups, without=self._bodies[cart])

    def _put(self, data: mujoco.MjData, targets: Sequence[ResetTarget]) -> None:
        mujoco.mj_resetData(self._model, data)
        for cart, target in enumerate(targets):
            qpos = data.qpos[cart * _POSITIONS :]
            qpos[:2] = target.x, target.y
            qpos[3:7] = math.cos(target.yaw / 2), 0.0, 0.0, math.sin(target.yaw / 2)

    def _owners(self) -> list[int]:
        """Return the cart that each geom is of; -1 if it is of none."""
        roots = self._model.body_rootid[self._model.geom_bodyid]
        return [self._bodies.index(root) if root in self._bodies else -1 for root in roots]

    def _touches(self) -> list[list[bool]]:
        """Return which geoms must not touch: a cart and what stands there, or two carts."""
        owner = np.array(self._owner)
        touchy = self._is_obstacle | (owner >= 0)
        foreign = owner[:, np.newaxis] != owner[np.newaxis, :]
        table: list[list[bool]] = (
            foreign & touchy[:, np.newaxis] & touchy[np.newaxis, :]
        ).tolist()
        return table

    def _met(self, data: mujoco.MjData) -> list[tuple[int, int]]:
        """Return the pairs of geoms that touch and must not."""
        return [
            (one, other) for one, other in data.contact.geom.tolist() if self._is_touch[one][other]
        ]

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
            scan_mount=_triple(model.site('scan').pos),
            camera_mount=_triple(camera.pos),
            camera_pitch=-math.asin(rotation[6]),
        )

    def _survey_hall(self) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
        """Return middle, axes, half extents and rounding of what stands in the cart's height."""
        model, data = self._model, self._probe
        mujoco.mj_kinematics(model, data)
        round_ = model.geom_type == mujoco.mjtGeom.mjGEOM_CYLINDER
        half_height = np.where(round_, model.geom_size[:, 1], model.geom_size[:, 2])
        low = data.geom_xpos[:, 2] - half_height < self.geometry.height
        stands = self._is_obstacle & low
        flat = np.where(round_[:, np.newaxis], 0.0, model.geom_size[:, :2])
        radius = np.where(round_, model.geom_size[:, 0], 0.0)
        axes = data.geom_xmat.reshape(-1, 3, 3)[:, :2, :2]
        return data.geom_xpos[stands, :2], axes[stands], flat[stands], radius[stands]


def _triple(values: Float64Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
