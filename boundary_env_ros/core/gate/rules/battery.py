# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""No motion while a battery is below a level."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import math
from typing import Annotated, ClassVar

from boundary_env_ros.core.contract.key import Key
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.contract.sources import Paths
from boundary_env_ros.core.gate.rule_output import Cause
from boundary_env_ros.core.gate.rules.limits import Limits, Need
from boundary_env_ros.core.gate.rules.rule import measured, Rule, SensorRule
from boundary_env_ros.core.records.decision import Reason, RuleInput, RuleResult
from boundary_env_ros.core.sources import readers
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen, replace

_LEVEL = Paths(paths=('percentage',))
_LOW = Cause('battery', Reason.OUT_OF_BOUNDS, sentence='the battery is too low')


@frozen
class Battery(SensorRule):
    """
    A battery, and the level below which the robot must not move.

    Attributes
    ----------
    topic
        Its ``sensor_msgs/msg/BatteryState``.
    min
        Least ``percentage`` (0 to 1) with which the robot may move. One that is not known, which
        the driver says by NaN, stops it, and so does one above 1, which counts something else.
    max_age
        Older, the level is not known.

    """

    section: ClassVar[str] = 'battery'
    about: ClassVar[str] = 'Batteries by name, below a level of which the robot is stopped.'
    type: ClassVar[str] = 'sensor_msgs/msg/BatteryState'

    min: Annotated[float, Key(above=0.0, most=1.0)]
    max_age: Annotated[float, Key(unit='s', above=0.0)]

    def need(self, _: Safety) -> Need:
        """Return when the rule can go by what was measured."""
        return Need(most=self.max_age, size=1)

    def reader(self) -> Callable[[Message], Reading]:
        """Return how a message of the battery is read."""
        read = readers.measured(_LEVEL, self.type)

        def read_level(message: Message) -> Reading:
            reading = read(message)
            if not reading.values[0] > 1.0:
                return reading
            problem = f'percentage is from 0 to 1 (got {reading.values[0]:g})'
            return replace(reading, values=(math.nan,), problem=problem)

        return read_level


def _stops(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    for rule in limits.of(Battery):
        for level in measured(limits, inputs, rule):
            if level < rule.min:
                yield _LOW.result(rule.name, level, rule.min)


BATTERY = Rule(causes=(_LOW,), stops=_stops, of_world=True, keys=Battery)
