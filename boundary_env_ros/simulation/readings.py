# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What comes of the sensors of a simulated robot, and what they measure from."""

from __future__ import annotations

from boundary_env_ros.frozen import frozen
from boundary_env_ros.simulation.messages import Fields


@frozen(eq=False)
class TrueState:
    """
    What is true of a robot at one instant; sensors measure from it.

    Attributes
    ----------
    at_ns
        When, ns, in the clock of the caller.
    touch_steps
        Physics steps so far in which it touched what it must not touch; never goes back.

    """

    at_ns: int
    touch_steps: int


@frozen(eq=False)
class SensorReading:
    """
    One reading on its way from a sensor to its subscribers.

    Attributes
    ----------
    robot
        Number of the robot whose it is, from 0.
    sensor
        Name of the sensor, as the configuration of the robot has it.
    captured_ns
        When it was measured, ns, in the clock of the caller.
    published_ns
        When it is published, or would have been, ns, in the clock of the caller.
    sequence
        Counts the sensor's captures since the reset, dropped ones included, from 0.
    fields
        What was measured, as its message without the header; None if the reading was dropped, so
        that it cannot be used by mistake.

    """

    robot: int
    sensor: str
    captured_ns: int
    published_ns: int
    sequence: int
    fields: Fields | None

    @property
    def dropped(self) -> bool:
        """Tell whether the reading was lost on its way: it must not be published."""
        return self.fields is None
