# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What tests of the simulated cart share: carts with few sensors, and how to compare readings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.simulation.cart_config import CartConfig
from boundary_env_ros.simulation.readings import SensorReading
from support.warehouse_cart import WarehouseCart

MS = 1_000_000

Fingerprint = tuple[tuple[str, int, int, int, bytes | None], ...]


@pytest.fixture
def cart() -> WarehouseCart:
    """Return a new cart at its home, as configured by default."""
    return WarehouseCart()


@pytest.fixture
def only() -> Callable[..., CartConfig]:
    """Return a maker of configurations in which all sensors but the named ones are off."""

    def make(*names: str, base: CartConfig | None = None) -> CartConfig:
        config = CartConfig() if base is None else base
        off = {name: replace(config.sensors[name], rate=0.0) for name in config.sensors}
        return replace(config, **{name: off[name] for name in config.sensors if name not in names})

    return make


@pytest.fixture
def fingerprint() -> Callable[[tuple[SensorReading, ...], int], Fingerprint]:
    """Return a function that turns readings into bits which can be compared, times from zero."""

    def bits(value: Any) -> bytes:
        if isinstance(value, dict):
            return b''.join(name.encode() + bits(part) for name, part in value.items())
        return np.asarray(value).tobytes()

    def make(readings: tuple[SensorReading, ...], zero_ns: int) -> Fingerprint:
        return tuple(
            (
                reading.sensor,
                reading.sequence,
                reading.captured_ns - zero_ns,
                reading.published_ns - zero_ns,
                None if reading.fields is None else bits(reading.fields),
            )
            for reading in readings
        )

    return make


@pytest.fixture
def drive() -> Callable[..., tuple[SensorReading, ...]]:
    """Return a driver that commands every 20 ms, as a live client would, and collects readings."""

    def run(
        cart: WarehouseCart, seconds: float, linear: float, angular: float = 0.0
    ) -> tuple[SensorReading, ...]:
        readings: list[SensorReading] = []
        for _ in range(round(seconds / 0.02)):
            cart.command(linear, angular, arrived_ns=cart.now_ns)
            readings += cart.advance(cart.now_ns + 20 * MS)
        return tuple(readings)

    return run
