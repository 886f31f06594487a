# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cannot be declared about a cart is refused by name."""

from __future__ import annotations

import math

import pytest

from boundary_env_ros.simulation.cart_config import CartConfig, ScanConfig, SensorConfig


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (
            lambda: SensorConfig(rate=-1.0),
            'SensorConfig.rate: expected a finite number, 0 or more',
        ),
        (lambda: SensorConfig(rate=1.0, delay=math.nan), 'SensorConfig.delay'),
        (lambda: ScanConfig(range_noise=-0.1), 'ScanConfig.range_noise'),
        (lambda: CartConfig(driver_timeout=0.03), 'driver_timeout above actuator_delay'),
    ],
)
def test_impossible_declaration_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_stop_bound_is_timeout_and_braking_and_lag():
    config = CartConfig(driver_timeout=0.25, braking_deceleration=2.0)
    assert config.stop_bound(-0.8) == pytest.approx(0.25 + 0.4 + 0.1)
