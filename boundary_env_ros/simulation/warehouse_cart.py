# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A differential-drive cart in a warehouse, driven step by step.

::

    cart = WarehouseCart()
    cart.reset(ResetTarget(x=-3.5, y=-3.0, yaw=0.0, goal_x=2.5, goal_y=-1.0), seed=7, at_ns=0)
    cart.command(0.5, 0.0, arrived_ns=0)
    for reading in cart.advance(100_000_000):
        ...
"""

from __future__ import annotations

from dataclasses import dataclass
import math

from boundary_env_ros.errors import IllegalMove, ResetFailed, SimulationFailed
from boundary_env_ros.simulation.config import CartConfig, SENSOR_NAMES
from boundary_env_ros.simulation.free_space import FreeSpace
from boundary_env_ros.simulation.light_sensors import Camera, Scan
from boundary_env_ros.simulation.motion_sensors import (
    Contact,
    GroundTruth,
    Imu,
    JointStates,
    Odometry,
    PoseDetections,
    Sensor,
)
from boundary_env_ros.simulation.motor_driver import AppliedCommand, MotorDriver
from boundary_env_ros.simulation.physics import CartGeometry, WarehousePhysics
from boundary_env_ros.simulation.readings import Reading, TruthReading
from boundary_env_ros.simulation.sensor_pipeline import Channel, SensorPipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetTarget:
    """
    Where an episode shall begin and lead to, in the hall's frame.

    Attributes
    ----------
    x, y
        Start of base_link, m.
    yaw
        Heading at the start, rad.
    goal_x, goal_y
        Middle of the goal's mark, m.

    """

    x: float
    y: float
    yaw: float
    goal_x: float
    goal_y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AchievedReset:
    """
    Where the cart really stands after a reset, once it has settled on its wheels.

    Attributes
    ----------
    target
        What was asked for.
    seed
        Of all noise.
    at_ns
        When the episode's time begins, ns, in the clock of the caller.
    x, y
        True position of base_link, m.
    yaw
        True heading, rad.
    position_error
        Distance from the target, m.
    yaw_error
        Heading minus that of the target, rad, in [-pi, pi].

    """

    target: ResetTarget
    seed: int
    at_ns: int
    x: float
    y: float
    yaw: float
    position_error: float
    yaw_error: float


class WarehouseCart:
    """
    The cart with its driver and sensors; time is an argument of every call.

    Physics runs in fixed steps counted from the reset. ``advance`` runs those which fit and keeps
    the rest for the next call, so how the time is cut into calls changes nothing. After a reset
    with the same target and seed, the same commands at the same times since the reset give the
    same readings, bit by bit.

    A new cart stands at its home, reset with seed 0 at ``start_ns``.

    Parameters
    ----------
    config
        What is declared about driver and sensors.
    start_ns
        Present time, ns, in a clock of the caller's choice; it never runs backwards.

    """

    def __init__(self, config: CartConfig | None = None, start_ns: int = 0) -> None:
        self.config = CartConfig() if config is None else config
        self._physics = WarehousePhysics()
        geometry = self._physics.geometry
        self._driver = MotorDriver(
            self.config,
            wheel_radius=geometry.wheel_radius,
            wheel_separation=geometry.wheel_separation,
        )
        sensors = _sensors(self.config, self._physics)
        self._pipeline = SensorPipeline(
            [
                Channel(name=name, config=self.config.sensor(name), sensor=sensors[name])
                for name in SENSOR_NAMES
            ],
            self._physics.step_ns,
        )
        self._now_ns = start_ns
        self._failure: str | None = None
        self.reset(self.home, seed=0, at_ns=start_ns)

    @property
    def home(self) -> ResetTarget:
        """Start and goal that the model itself has."""
        x, y, yaw = self._physics.home
        goal_x, goal_y = self._physics.home_goal
        return ResetTarget(x=x, y=y, yaw=yaw, goal_x=goal_x, goal_y=goal_y)

    @property
    def now_ns(self) -> int:
        """Time up to which the cart was advanced, ns."""
        return self._now_ns

    @property
    def physics_ns(self) -> int:
        """End of the last physics step, ns: at most one step before ``now_ns``."""
        return self._physics_ns

    @property
    def true_state(self) -> TruthReading:
        """True pose and velocity at ``physics_ns``, for evaluators."""
        return self._physics.state(self._physics_ns).truth()

    @property
    def applied_command(self) -> AppliedCommand | None:
        """The last command that took effect since the reset, and when; None before the first."""
        return self._driver.applied

    @property
    def braking_since_ns(self) -> int | None:
        """Since when the driver brakes by itself for want of commands, ns; None if it does not."""
        return self._driver.braking_since_ns

    @property
    def free_space(self) -> FreeSpace:
        """Where in the hall starts and goals can be."""
        return self._physics.free_space

    @property
    def geometry(self) -> CartGeometry:
        """Measures of the cart and places of its sensors."""
        return self._physics.geometry

    def reset(self, target: ResetTarget, seed: int, at_ns: int) -> AchievedReset:
        """
        Put the cart at rest at the target and begin anew at at_ns.

        Commands and readings that were on their way are gone, also those of a simulation that
        failed. A refused reset raises ResetFailed and changes nothing.

        Parameters
        ----------
        target
            Start and goal, both in the hall; the start must touch nothing.
        seed
            Of all noise, 0 or more.
        at_ns
            When, ns; not before ``now_ns``.

        """
        self._check_reset(target, seed, at_ns)
        self._physics.place(target.x, target.y, target.yaw, (target.goal_x, target.goal_y))
        self._failure = None
        self._now_ns = self._physics_ns = at_ns
        self._driver.restart(at_ns)
        state = self._physics.state(at_ns)
        self._pipeline.restart(state, seed)
        self._pipeline.capture(state)
        truth = state.truth()
        return AchievedReset(
            target=target,
            seed=seed,
            at_ns=at_ns,
            x=truth.x,
            y=truth.y,
            yaw=truth.yaw,
            position_error=math.hypot(truth.x - target.x, truth.y - target.y),
            yaw_error=math.remainder(truth.yaw - target.yaw, 2.0 * math.pi),
        )

    def command(self, linear: float, angular: float, arrived_ns: int) -> None:
        """
        Hand the driver a command; it works ``actuator_delay`` later, until the next one does.

        A command whose time of effect is already simulated works from the next physics step on:
        ``applied_command`` tells when it did.

        Parameters
        ----------
        linear
            Forward velocity, m/s. Not finite raises InvalidAction.
        angular
            Yaw rate, rad/s. Not finite raises InvalidAction.
        arrived_ns
            When the driver got it, ns. Before the last command or reset raises IllegalMove.

        """
        self._driver.receive(linear, angular, arrived_ns)

    def advance(self, until_ns: int) -> tuple[Reading, ...]:
        """
        Let time pass and return every reading that is published by then, in that order.

        Readings that got lost are among them, ``dropped``, at the time they would have come.
        Raises SimulationFailed when the physics diverges, and again until the next reset.

        Parameters
        ----------
        until_ns
            New present time, ns. Before ``now_ns`` raises IllegalMove.

        """
        if until_ns < self._now_ns:
            raise IllegalMove(
                f'Expect to advance to {self._now_ns} ns (now) or later, actually: {until_ns} ns. '
                'Time never runs backwards.'
            )
        if self._failure is not None:
            raise SimulationFailed(self._failure)
        step_ns = self._physics.step_ns
        while self._physics_ns + step_ns <= until_ns:
            left, right = self._driver.wheel_speeds(self._physics_ns, step_ns)
            try:
                self._physics.step(left, right)
            except SimulationFailed as error:
                self._failure = str(error)
                raise
            self._physics_ns += step_ns
            if self._pipeline.is_due(self._physics_ns):
                self._pipeline.capture(self._physics.state(self._physics_ns))
        self._now_ns = until_ns
        return self._pipeline.publish(until_ns)

    def _check_reset(self, target: ResetTarget, seed: int, at_ns: int) -> None:
        if at_ns < self._now_ns:
            raise ResetFailed(
                f'Expect a reset at {self._now_ns} ns (now) or later, actually: {at_ns} ns. '
                'Time never runs backwards.'
            )
        if seed < 0:
            raise ResetFailed(f'Expect a seed of 0 or more, actually: {seed}.')
        if not math.isfinite(target.yaw):
            raise ResetFailed(f'Expect a finite yaw, actually: {target.yaw} rad.')
        bounds = self.free_space.bounds
        for what, x, y in (('start', target.x, target.y), ('goal', target.goal_x, target.goal_y)):
            if not bounds.contains(x, y):
                raise ResetFailed(
                    f'Expect a {what} inside the hall, {bounds}, actually: x={x} m, y={y} m.'
                )
        met = self._physics.collides_at(target.x, target.y, target.yaw)
        if met:
            raise ResetFailed(
                f'Expect a start which touches nothing, actually: x={target.x} m, y={target.y} m, '
                f'yaw={target.yaw} rad is in collision with {", ".join(met)}. '
                'Sample starts with free_space.is_free.'
            )


def _sensors(config: CartConfig, physics: WarehousePhysics) -> dict[str, Sensor]:
    geometry = physics.geometry
    return {
        'odometry': Odometry(
            config.odometry,
            wheel_radius=geometry.wheel_radius,
            wheel_separation=geometry.wheel_separation,
        ),
        'joint_states': JointStates(config.joint_states),
        'imu': Imu(config.imu, gravity=physics.gravity),
        'scan': Scan(config.scan, physics, geometry.scan_mount),
        'camera': Camera(config.camera, physics, geometry.camera_mount, geometry.camera_pitch),
        'pose_detections': PoseDetections(config.pose_detections),
        'ground_truth': GroundTruth(),
        'contact': Contact(),
    }
