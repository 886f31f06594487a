# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Differential-drive carts that share a warehouse hall, driven step by step.

::

    hall = Warehouse(carts=2)
    hall.reset([target_of_the_first, target_of_the_second], seed=7, at_ns=0)
    hall.command(0, 0.5, 0.0, arrived_ns=0)
    for reading in hall.advance(100_000_000):
        ...
"""

from __future__ import annotations

from collections.abc import Sequence
import math

from boundary_env_ros.errors import ResetFailed
from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_state import BodyState, ResetTarget, TruthReading
from boundary_env_ros.simulation.hall_physics import WarehousePhysics
from boundary_env_ros.simulation.light_sensors import Camera, Scan
from boundary_env_ros.simulation.messages import Float64Array
from boundary_env_ros.simulation.motion_sensors import (
    Contact,
    GroundTruth,
    Imu,
    JointStates,
    Odometry,
    PoseDetections,
    Sensor,
)
from boundary_env_ros.simulation.motor_driver import MotorDriver
from boundary_env_ros.simulation.sensor_pipeline import SensorPipeline
from boundary_env_ros.simulation.stepped_world import SteppedWorld


class Warehouse(SteppedWorld[BodyState]):
    """
    Carts with their drivers and sensors in one hall; time is an argument of every call.

    Physics runs in fixed steps counted from the reset. ``advance`` runs those which fit and keeps
    the rest for the next call, so how the time is cut into calls changes nothing. After a reset
    with the same targets and seed, the same commands at the same times since the reset give the
    same readings, bit by bit.

    New carts stand at their homes, reset with seed 0 at ``start_ns``. Carts are counted from 0.

    Parameters
    ----------
    config
        What is declared about driver and sensors of every cart.
    start_ns
        Present time, ns, in a clock of the caller's choice; it never runs backwards.
    carts
        How many carts there are.

    Attributes
    ----------
    geometry
        Measures of a cart and places of its sensors; all are built alike.
    drivers
        The driver of each cart, to look at.

    """

    def __init__(
        self, config: CartConfig | None = None, start_ns: int = 0, *, carts: int = 1
    ) -> None:
        self.config = CartConfig() if config is None else config
        self._physics = WarehousePhysics(
            carts, payload=self.config.payload, wheel_friction=self.config.wheel_friction
        )
        self.geometry = geometry = self._physics.geometry
        self.drivers = tuple(
            MotorDriver(
                self.config,
                wheel_radius=geometry.wheel_radius,
                wheel_separation=geometry.wheel_separation,
            )
            for _ in range(carts)
        )
        super().__init__(
            step_ns=self._physics.step_ns,
            pipelines=[
                SensorPipeline(
                    self.config.sensors,
                    _sensors(self.config, self._physics, cart),
                    self._physics.step_ns,
                    robot=cart,
                )
                for cart in range(carts)
            ],
            start_ns=start_ns,
        )
        self.reset(self.homes, seed=0, at_ns=start_ns)

    @property
    def homes(self) -> tuple[ResetTarget, ...]:
        """Starts and goals that the model itself has."""
        return tuple(map(self._physics.home, range(self._physics.carts)))

    def true_state(self, cart: int) -> TruthReading:
        """Return true pose and velocity of a cart at ``physics_ns``, privileged."""
        return self._state(cart).truth()

    def _state(self, robot: int) -> BodyState:
        return self._physics.state(self.physics_ns, robot)

    def reset(
        self, targets: Sequence[ResetTarget], seed: int, at_ns: int
    ) -> tuple[TruthReading, ...]:
        """
        Put every cart at rest at its target, begin again at at_ns, and return how they stand.

        Commands and readings that were on their way are gone, also those of a simulation that
        failed. A refused reset raises ResetFailed and changes nothing.

        Parameters
        ----------
        targets
            Start and goal of each cart, all in the hall; a start must touch nothing.
        seed
            Of all noise, 0 or more.
        at_ns
            When, ns; not before ``now_ns``.

        """
        self._check_reset(targets, seed, at_ns)
        self._physics.place(targets)
        for driver in self.drivers:
            driver.restart(at_ns)
        self._restart(seed, at_ns)
        return tuple(map(self.true_state, range(self._physics.carts)))

    def command(self, cart: int, linear: float, angular: float, arrived_ns: int) -> None:
        """
        Hand a driver a command; it works ``actuator_delay`` later, until the next one does.

        A command whose time of effect is already simulated works from the next physics step on.

        Parameters
        ----------
        cart
            Whose driver.
        linear
            Forward velocity, m/s. Not finite raises InvalidAction.
        angular
            Yaw rate, rad/s. Not finite raises InvalidAction.
        arrived_ns
            When the driver got it, ns. Before the last command or reset raises InvalidState.

        """
        self.drivers[cart].receive(linear, angular, arrived_ns)

    def _step(self, begin_ns: int, most: int) -> int:
        step_ns = self._physics.step_ns
        speeds = [
            speed for driver in self.drivers for speed in driver.wheel_speeds(begin_ns, step_ns)
        ]
        until_ns = min(driver.unchanged_until(begin_ns) for driver in self.drivers)
        if until_ns < begin_ns + most * step_ns:
            most = max(1, -(-(int(until_ns) - begin_ns) // step_ns))
        return self._physics.step(speeds, most)

    def _check_reset(self, targets: Sequence[ResetTarget], seed: int, at_ns: int) -> None:
        self._check_restart(seed, at_ns)
        if len(targets) != self._physics.carts:
            raise ResetFailed(
                f'Wrong number of targets (expected a target for each of {self._physics.carts} '
                f'carts, got {len(targets)}).'
            )
        for target in targets:
            self._check_target(target)
        met = self._physics.collisions(targets)
        for target, names in zip(targets, met, strict=True):
            if names:
                raise ResetFailed(
                    f'The start x={target.x} m, y={target.y} m, yaw={target.yaw} rad is in '
                    f'collision with {", ".join(names)} (expected no contact). Choose a '
                    'start with more clearance.'
                )

    def _check_target(self, target: ResetTarget) -> None:
        if not math.isfinite(target.yaw):
            raise ResetFailed(f'Wrong yaw (expected a finite yaw, got {target.yaw} rad).')
        most_x, most_y = self._physics.half_size
        for what, x, y in (('start', target.x, target.y), ('goal', target.goal_x, target.goal_y)):
            if not (abs(x) <= most_x and abs(y) <= most_y):
                raise ResetFailed(
                    f'The {what} is outside (expected a {what} inside the hall, up to '
                    f'x={most_x:g} m and y={most_y:g} m from its middle, got '
                    f'x={x} m, y={y} m).'
                )


def _sensors(
    config: CartConfig, physics: WarehousePhysics, cart: int
) -> dict[str, Sensor[BodyState]]:
    geometry = physics.geometry
    laser, lens = (physics.caster(cart, marks=marks) for marks in (False, True))

    def eye(state: BodyState) -> tuple[Float64Array, Float64Array]:
        return state.position + state.rotation @ geometry.camera_mount, state.rotation

    return {
        'odometry': Odometry(
            config.odometry,
            wheel_radius=geometry.wheel_radius,
            wheel_separation=geometry.wheel_separation,
        ),
        'joint_states': JointStates(config.joint_states),
        'imu': Imu(config.imu, gravity=physics.gravity),
        'scan': Scan(config.scan, laser, geometry.scan_mount),
        'camera': Camera(config.camera, lens, eye, geometry.camera_pitch),
        'pose_detections': PoseDetections(config.pose_detections),
        'ground_truth': GroundTruth(),
        'contact': Contact(config.contact),
    }
