# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""No motion while a number of some message is outside a range: a door, a temperature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar

from boundary_env_ros.core.contract.grammar import PATH, TYPE
from boundary_env_ros.core.contract.key import Key
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.problem_text import Fault, Text
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.contract.sources import OF_VALUE, Paths
from boundary_env_ros.core.gate.rule_output import Cause
from boundary_env_ros.core.gate.rules.limits import Limits, Need
from boundary_env_ros.core.gate.rules.rule import measured, Rule, SensorRule
from boundary_env_ros.core.records.decision import Reason, RuleInput, RuleResult
from boundary_env_ros.core.sources import readers
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

_OUTSIDE = Cause('interlock', Reason.OUT_OF_BOUNDS, sentence='a value is outside of its range')


@frozen
class Interlock(SensorRule):
    """
    A number, and the range that it must be in while the robot moves.

    Attributes
    ----------
    topic
        Where it comes.
    type
        Of its messages, for example ``std_msgs/msg/Bool``.
    field
        Where it is in them: ``data``; true is 1, false 0.
    low
        Least value with which the robot may move.
    high
        Greatest value. One of the two must be there.
    unit
        Of the value.
    max_age
        Older, the value is not known.

    """

    section: ClassVar[str] = 'interlock'
    about: ClassVar[str] = (
        'Numbers by name, such as a door contact or a temperature, outside of whose range the '
        'robot is stopped.'
    )
    measures: ClassVar[tuple[str, ...]] = ('topic', 'type', 'field', 'unit')

    type: Annotated[str, Key(spelt=TYPE)]
    field: Annotated[str, Key(spelt=PATH)]
    low: Annotated[float | None, Key(unit=OF_VALUE)] = None
    high: Annotated[float | None, Key(unit=OF_VALUE)] = None
    unit: Annotated[str, Key()] = ''
    max_age: Annotated[float, Key(unit='s', above=0.0)]

    def need(self, _: Safety) -> Need:
        """Return when the rule can go by what was measured."""
        return Need(most=self.max_age, size=1)

    def reader(self) -> Callable[[Message], Reading]:
        """Return how a message is read."""
        return readers.measured(Paths(paths=(self.field,)), self.type)

    def faults(self) -> Iterator[Fault]:
        """Yield a range that bounds nothing, or that nothing is in."""
        if self.low is None and self.high is None:
            yield ('low',), '`low`, `high` or both', Text('neither')
        elif self.low is not None and self.high is not None and self.low > self.high:
            yield ('high',), f'a value not below low ({self.low:g})', self.high


def _stops(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    for rule in limits.of(Interlock):
        for value in measured(limits, inputs, rule):
            if rule.low is not None and value < rule.low:
                yield _OUTSIDE.result(rule.name, value, rule.low, rule.unit)
            elif rule.high is not None and value > rule.high:
                yield _OUTSIDE.result(rule.name, value, rule.high, rule.unit)


INTERLOCK = Rule(causes=(_OUTSIDE,), stops=_stops, of_world=True, keys=Interlock)
