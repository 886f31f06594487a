# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What tests of the door arm share: a hand that is led about, and few or perfect sensors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import runpy
from typing import Any

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='needs boundary_env_ros[sim]')

from boundary_env_ros.facade.policies.baselines import joint_angles
from boundary_env_ros.simulation.door_arm.arm import DoorArm
from boundary_env_ros.simulation.door_arm.arm_config import ArmConfig
from boundary_env_ros.simulation.readings import SensorReading

MS = 1_000_000
EXAMPLE: dict[str, Any] = runpy.run_path(
    str(Path(__file__).parents[2] / 'examples' / 'open_door.py'), run_name='example'
)


def only(*names: str, base: ArmConfig | None = None) -> ArmConfig:
    """Return a configuration in which all sensors but the named ones are off."""
    config = ArmConfig() if base is None else base
    off: dict[str, Any] = {
        name: replace(config.sensors[name], rate=0.0)
        for name in config.sensors
        if name not in names
    }
    return replace(config, **off)


def lead(
    arm: DoorArm,
    to: tuple[float, float, float],
    *,
    yaw: float = 0.0,
    opening: float = 0.08,
    seconds: float = 1.5,
) -> tuple[SensorReading, ...]:
    """Bring the level tool to a point on a straight line, with a command every 20 ms."""
    begin = arm.true_state.tool.position
    readings: list[SensorReading] = []
    steps = round(seconds / 0.02)
    for step in range(1, steps + 1):
        way = begin + (np.array(to) - begin) * min(1.0, 1.5 * step / steps)
        arm.command_arm(tuple(joint_angles(way, yaw)), arm.now_ns)
        arm.command_gripper(opening, arm.now_ns)
        readings += arm.advance(arm.now_ns + 20 * MS)
    return tuple(readings)


def grasp(arm: DoorArm) -> None:
    """Take the handle of a closed door."""
    x, y, z = arm.true_state.handle.position
    lead(arm, (x - 0.1, y, z))
    lead(arm, (x, y, z))
    lead(arm, (x, y, z), opening=0.0, seconds=1.0)
