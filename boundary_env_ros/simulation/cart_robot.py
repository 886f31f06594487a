# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Carts in the warehouse as a simulated robot: one, or one for each agent of a contract."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.environment.reset import ResetWorld, WorldReset
from boundary_env_ros.core.sources.inputs import sensor_topics, TF_TYPE
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import BoundaryError, ResetFailed
from boundary_env_ros.frozen import replace
from boundary_env_ros.simulation.cart_config import CartConfig, REALITY
from boundary_env_ros.simulation.cart_state import achieved, target_of
from boundary_env_ros.simulation.hall_model import MOST_CARTS
from boundary_env_ros.simulation.hall_physics import CartGeometry
from boundary_env_ros.simulation.messages import (
    BASE,
    CAMERA,
    Fields,
    HALL,
    LASER,
    rotation_about,
    transforms,
    vector,
    WIRE,
)
from boundary_env_ros.simulation.robot import Emission, emission
from boundary_env_ros.simulation.warehouse import Warehouse

#: Where in the configuration each option stands, and what it means.
_PLACES: Mapping[str, tuple[str, str]] = {
    'actuator_delay': ('actuator_delay', 'Seconds from the arrival of a command to its effect.'),
    'camera_rate': ('camera.rate', 'Images a second; 0 switches the camera off.'),
    'payload': ('payload', 'Kilograms that lie in the chassis besides its own mass.'),
    'pose_bias': (
        'pose_detections.position_bias',
        'Metres that every detected pose is off, along x of the hall.',
    ),
    'scan_noise': (
        'scan.range_noise',
        'Standard deviation of a range of the laser scanner, metres.',
    ),
    'wheel_friction': (
        'wheel_friction',
        'Dry friction in the bearing of each wheel, newton metres.',
    ),
}


def _options(config: CartConfig) -> dict[str, tuple[float, str]]:
    return {name: (attrgetter(at)(config), text) for name, (at, text) in _PLACES.items()}


class CartRobot:
    """
    Carts as a :class:`~boundary_env_ros.simulation.robot.SimulatedRobot`.

    Each agent of the contract has a cart. Its command is (forward m/s, turn rad/s). A reset puts
    it at ``start`` (x, y, yaw: m, rad, frame hall) and marks its ``goal`` (x, y); of several
    agents, these are named ``<agent>.start`` and ``<agent>.goal``.

    Parameters
    ----------
    contract
        Its agents, its command topic, and the timeout of the driver.
    start
        Present time, ns.
    options
        See ``OPTIONS``.
    config
        What is declared about driver and sensors besides; default: ``CONFIG``.

    """

    CONFIG = CartConfig()
    OPTIONS: Mapping[str, tuple[float, str]] = _options(CONFIG)

    def __init__(
        self,
        contract: Contract,
        *,
        start: int,
        options: Mapping[str, float] | None = None,
        config: CartConfig | None = None,
    ) -> None:
        agents = contract.agents
        if len(agents) > MOST_CARTS:
            raise BoundaryError(
                f'Too many agents (expected at most {MOST_CARTS} agents in the hall, got '
                f'{len(agents)}).'
            )
        self._prefixes = [f'{agent}.' if len(agents) > 1 else '' for agent in agents]
        group = contract.action[0]
        if len(contract.action) != 1 or group.size != 2:
            raise BoundaryError(
                'Wrong action of the contract (expected an action with one group of two '
                f'dimensions (forward m/s, turn rad/s) for carts, got {len(contract.action)} of '
                f'{contract.command_size}).'
            )
        try:
            config = _configured(config or self.CONFIG, options or {}, contract)
            config = _without_unread(config, contract)
            self._hall = Warehouse(config, start, carts=len(agents))
        except ValueError as error:
            raise BoundaryError(str(error)) from error
        self._command_of = {
            contract.topic_of(agent, group.topic): cart for cart, agent in enumerate(agents)
        }
        read = sensor_topics(contract)
        self._wire = tuple(
            {
                name: contract.topic_of(agent, topic)
                for name, (topic, _) in WIRE.items()
                if topic in read
            }
            for agent in agents
        )
        self.topics: Mapping[str, str] = {
            topic: WIRE[name][1] for wire in self._wire for name, topic in wire.items()
        }
        self._tf = contract.tf_topics[0]
        if self._tf in read:
            self.topics = {**self.topics, self._tf: TF_TYPE}

    def reset(self, request: ResetWorld, at: int) -> WorldReset:
        """Put every cart at its start, and mark every goal."""
        try:
            targets = [target_of(request, prefix) for prefix in self._prefixes]
            truths = self._hall.reset(targets, request.seed, at)
        except ResetFailed as error:
            return WorldReset(error=str(error))
        return WorldReset(
            achieved=tuple(
                named
                for each in zip(targets, truths, self._prefixes, strict=True)
                for named in achieved(*each)
            ),
            completed=at,
            confirmed_by='simulated_robot',
        )

    def command(self, topic: str, values: Vector, arrived: int) -> None:
        """Take a command; the actuator executes it after its declared delay."""
        if topic not in self._command_of:
            raise BoundaryError(
                f'Unknown command topic (expected a command on {", ".join(self._command_of)}, got '
                f'on {topic}).'
            )
        if len(values) != 2:
            raise BoundaryError(
                'Wrong size of a command (expected a command of two values (forward m/s, turn '
                f'rad/s), got {len(values)} on {topic}).'
            )
        linear, angular = values
        self._hall.command(self._command_of[topic], linear, angular, arrived)

    def advance(self, until: int) -> tuple[Emission, ...]:
        """Let the carts run until then."""
        emissions = []
        for reading in self._hall.advance(until):
            if reading.sensor == 'odometry' and self._tf in self.topics:
                fields = reading.fields
                if fields is not None:
                    pose, stamp = fields['pose']['pose'], reading.captured_ns
                    fields = cart_transforms(pose, stamp, self._hall.geometry)
                emissions.append(Emission(topic=self._tf, fields=fields))
            wire = self._wire[reading.robot]
            if reading.sensor in wire:
                emissions.append(emission(reading, wire[reading.sensor]))
        return tuple(emissions)


class RealityCartRobot(CartRobot):
    """
    The cart as it might be built: other friction, delay, noise and payload, and a biased sensor.

    It is installed as ``warehouse_cart_reality``. Its options are those of the cart with other
    defaults, so each difference can be there alone.
    """

    CONFIG = REALITY
    OPTIONS: Mapping[str, tuple[float, str]] = _options(CONFIG)


def _configured(
    config: CartConfig, options: Mapping[str, float], contract: Contract
) -> CartConfig:
    changes: dict[str, Any] = {}
    for name, value in options.items():
        part, _, key = _PLACES[name][0].rpartition('.')
        changes[part or key] = replace(getattr(config, part), **{key: value}) if part else value
    # Where carts meet, a touch is judged step by step, and none may fall between two of them.
    hold = contract.period if len(contract.agents) > 1 else config.contact.hold
    timeout = contract.action[0].driver_timeout
    if timeout is not None:
        changes['driver_timeout'] = timeout
    # At once: what is declared is refused where it is impossible together.
    return replace(config, contact=replace(config.contact, hold=hold), **changes)


def _without_unread(config: CartConfig, contract: Contract) -> CartConfig:
    """
    Switch off the sensors whose topics the contract does not read.

    Each draws from a generator of its own: without one of them the others measure the same.
    """
    read = sensor_topics(contract)
    for name, (topic, _) in WIRE.items():
        if topic not in read and not (name == 'odometry' and contract.tf_topics[0] in read):
            off: Any = replace(config.sensors[name], rate=0.0)
            config = replace(config, **{name: off})
    return config


def cart_transforms(pose: Fields, stamp: int, geometry: CartGeometry) -> Fields:
    """Return the frames of the cart, which is at the pose that its odometry says."""
    return transforms(
        stamp,
        (HALL, BASE, pose['position'], pose['orientation']),
        (BASE, LASER, vector(*geometry.scan_mount), rotation_about('z', 0.0)),
        (BASE, CAMERA, vector(*geometry.camera_mount), rotation_about('y', geometry.camera_pitch)),
    )
