# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A cart that has the warehouse for itself, driven step by step.

::

    cart = WarehouseCart()
    cart.reset(ResetTarget(x=-3.5, y=-3.0, yaw=0.0, goal_x=2.5, goal_y=-1.0), seed=7, at_ns=0)
    cart.command(0.5, 0.0, arrived_ns=0)
    for reading in cart.advance(100_000_000):
        ...
"""

from __future__ import annotations

from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.cart_state import ResetTarget, TruthReading
from boundary_env_ros.simulation.hall_physics import CartGeometry
from boundary_env_ros.simulation.readings import SensorReading
from boundary_env_ros.simulation.warehouse import Warehouse


class WarehouseCart:
    """
    The only cart of a :class:`Warehouse`, which says what its methods mean.

    Parameters
    ----------
    config
        What is declared about driver and sensors.
    start_ns
        Present time, ns, in a clock of the caller's choice; it never runs backwards.

    """

    def __init__(self, config: CartConfig | None = None, start_ns: int = 0) -> None:
        self._hall = Warehouse(config, start_ns)
        self.config = self._hall.config

    @property
    def home(self) -> ResetTarget:
        """Start and goal that the model itself has."""
        return self._hall.homes[0]

    @property
    def now_ns(self) -> int:
        """Time up to which the cart was advanced, ns."""
        return self._hall.now_ns

    @property
    def physics_ns(self) -> int:
        """End of the last physics step, ns: at most one step before ``now_ns``."""
        return self._hall.physics_ns

    @property
    def true_state(self) -> TruthReading:
        """True pose and velocity at ``physics_ns``, privileged."""
        return self._hall.true_state(0)

    @property
    def applied_command(self) -> tuple[float, float] | None:
        """The command at work, m/s and rad/s; None before the first."""
        return self._hall.drivers[0].applied

    @property
    def braking_since_ns(self) -> int | None:
        """Since when the driver brakes by itself for want of commands, ns; None if it does not."""
        return self._hall.drivers[0].braking_since_ns

    def clearance(self, x: float, y: float) -> float:
        """Return how far a point is from everything; see ``WarehousePhysics``."""
        return self._hall._physics.clearance(x, y)

    @property
    def geometry(self) -> CartGeometry:
        """Measures of the cart and places of its sensors."""
        return self._hall.geometry

    def reset(self, target: ResetTarget, seed: int, at_ns: int) -> TruthReading:
        """Put the cart at rest at the target and begin again; see :meth:`Warehouse.reset`."""
        (achieved,) = self._hall.reset([target], seed, at_ns)
        return achieved

    def command(self, linear: float, angular: float, arrived_ns: int) -> None:
        """Hand the driver a command, m/s and rad/s; see :meth:`Warehouse.command`."""
        self._hall.command(0, linear, angular, arrived_ns)

    def advance(self, until_ns: int) -> tuple[SensorReading, ...]:
        """Let time pass and return what is published by then; see :meth:`Warehouse.advance`."""
        return self._hall.advance(until_ns)
