# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cannot be declared about a cart is refused by name."""

from __future__ import annotations

import math

import pytest

from boundary_env_ros.simulation.config import (
    CameraConfig,
    CartConfig,
    ScanConfig,
    SENSOR_NAMES,
    SensorConfig,
)


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (
            lambda: SensorConfig(rate=-1.0),
            'SensorConfig.rate: expected a finite number, 0 or more',
        ),
        (lambda: SensorConfig(rate=1.0, delay=math.nan), 'SensorConfig.delay'),
        (lambda: SensorConfig(rate=1.0, dropout=1.1), 'dropout of 0 to 1, got 1.1'),
        (lambda: ScanConfig(range_noise=-0.1), 'ScanConfig.range_noise'),
        (lambda: ScanConfig(beams=0), 'at least 1 beam'),
        (lambda: ScanConfig(range_min=9.0), 'range_min below range_max'),
        (lambda: ScanConfig(dropout=2.0), 'dropout of 0 to 1'),
        (lambda: CameraConfig(width=0), '1 x 1 pixel'),
        (lambda: CameraConfig(field_of_view=math.pi), 'field_of_view between 0 and pi'),
        (lambda: CartConfig(max_wheel_accel=0.0), 'max_wheel_accel above 0'),
        (lambda: CartConfig(braking_deceleration=0.0), 'braking_deceleration above 0'),
        (lambda: CartConfig(driver_timeout=0.03), 'driver_timeout above actuator_delay'),
        (
            lambda: CartConfig(ground_truth=SensorConfig(rate=50.0, delay=0.1)),
            'ground_truth without delay',
        ),
        (lambda: CartConfig().sensor('radar'), "got 'radar'"),
    ],
)
def test_impossible_declaration_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_sensor_has_its_declaration():
    assert all(isinstance(CartConfig().sensor(name), SensorConfig) for name in SENSOR_NAMES)


def test_stop_bound_is_timeout_and_braking_and_lag():
    config = CartConfig(driver_timeout=0.25, braking_deceleration=2.0)
    assert config.stop_bound(-0.8) == pytest.approx(0.25 + 0.4 + 0.1)
