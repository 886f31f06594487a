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
        (
            lambda: SensorConfig(rate=1.0, dropout=1.1),
            'dropout: .* 0 or more, 1 at most, got 1.1',
        ),
        (lambda: ScanConfig(range_noise=-0.1), 'ScanConfig.range_noise'),
        (
            lambda: ScanConfig(beams=0),
            'ScanConfig.beams: .* 1 or more, got 0',
        ),
        (lambda: ScanConfig(range_min=9.0), 'range_min below range_max'),
        (lambda: ScanConfig(dropout=2.0), 'ScanConfig.dropout: .* 1 at most, got 2.0'),
        (
            lambda: CameraConfig(width=0),
            'CameraConfig.width: .* 1 or more, got 0',
        ),
        (
            lambda: CameraConfig(field_of_view=math.pi),
            'field_of_view: .* more than 0, 3.14159 at',
        ),
        (
            lambda: CartConfig(max_wheel_accel=0.0),
            'max_wheel_accel: .* more than 0, got 0',
        ),
        (
            lambda: CartConfig(braking_deceleration=0.0),
            'braking_deceleration: .* more than 0, g',
        ),
        (lambda: CartConfig(driver_timeout=0.03), 'driver_timeout above actuator_delay'),
        (
            lambda: CartConfig(ground_truth=SensorConfig(rate=50.0, delay=0.1)),
            'ground_truth without delay',
        ),
    ],
)
def test_impossible_declaration_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_stop_bound_is_timeout_and_braking_and_lag():
    config = CartConfig(driver_timeout=0.25, braking_deceleration=2.0)
    assert config.stop_bound(-0.8) == pytest.approx(0.25 + 0.4 + 0.1)
