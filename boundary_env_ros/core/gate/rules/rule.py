# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a rule of the gate is: one object, in the one file that knows anything of it.

A rule that reads a sensor has a class for what a contract says to it: its keys, how the sensor is
read and how old it may be, and what cannot be meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
import math
from typing import Annotated, ClassVar

from boundary_env_ros.core.contract.grammar import TOPIC
from boundary_env_ros.core.contract.key import BEHAVIOURAL, Key, Part
from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.problem_text import Fault, Path
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.gate.rule_output import Cause, LimitedCommand
from boundary_env_ros.core.gate.rules.limits import Limits, Need
from boundary_env_ros.core.records.decision import measurement_of, RuleInput, RuleResult, Trigger
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


@frozen
class SensorRule:
    """
    What a contract says to a rule about one sensor; each such rule has a class of its own.

    Attributes
    ----------
    name
        Of the user's choice.
    topic
        The sensor.

    """

    #: The key of ``safety`` under which these stand by name, and what the reference says of it.
    section: ClassVar[str]
    about: ClassVar[str]
    #: What the reference calls the name.
    item: ClassVar[str] = 'name'
    #: The keys that say what is measured: a record of others cannot be judged by it.
    measures: ClassVar[tuple[str, ...]] = ('topic', 'type')

    name: Annotated[str, Key('')]
    topic: Annotated[str, Key(spelt=TOPIC)]

    @classmethod
    def part(cls) -> Part:
        """Return the section as a key of ``safety``."""
        return Part(
            attribute=cls.section,
            type=tuple[cls, ...],  # type: ignore[valid-type]
            key=Key(item=cls.item),
            meaning=BEHAVIOURAL,
            is_stored=False,
            default=(),
        )

    @property
    def input(self) -> str:
        """Return the name of what the gate measures for it."""
        return f'{self.section}.{self.name}'

    @property
    def path(self) -> Path:
        """Return where the contract says it."""
        return ('safety', self.section, self.name)

    @property
    def moved_by(self) -> tuple[int, ...]:
        """Return the dimensions of the command that it takes for speeds."""
        return ()

    def need(self, safety: Safety) -> Need:
        """Return when the rule can go by what was measured."""
        raise NotImplementedError

    def reader(self) -> Callable[[Message], Reading]:
        """Return how a message of the sensor is read."""
        raise NotImplementedError

    def faults(self) -> Iterator[Fault]:
        """Yield what its keys cannot say together, by the paths below its section."""
        yield from ()

    def contradictions(self, contract: Contract) -> Iterator[Fault]:
        """Yield what does not fit the rest of a contract."""
        yield from ()

    def too_slow(
        self, contract: Contract, low: Vector, high: Vector, rate: Vector
    ) -> Iterator[Fault]:
        """Yield what the robot cannot brake for in time with other bounds of the command."""
        yield from ()


@frozen
class Rule:
    """
    A rule that may stop the robot.

    Attributes
    ----------
    causes
        Why it steps in; its functions tell nothing else.
    stops
        From what the gate knows, and the command that is asked for, to why the robot must stop.
    limits
        Takes from a command what may not be published; None if it takes nothing.
    of_world
        Whether it is about what the world shows, and asked when :func:`is_seen`.
    keys
        What a contract says to it; None if it has no sensor of its own.

    """

    causes: tuple[Cause, ...]
    stops: Callable[[Limits, RuleInput, Vector | None], Iterable[RuleResult]]
    limits: Callable[[Limits, RuleInput, LimitedCommand], None] | None = None
    of_world: bool = False
    keys: type[SensorRule] | None = None


def safe_in_words(safe: float) -> str:
    """Return what a dimension does in a stop."""
    return f'where it is {"hold_position" if math.isnan(safe) else f"{safe:g}"}'


def is_seen(limits: Limits, inputs: RuleInput) -> bool:
    """
    Return whether the rules about what the world shows are asked.

    In lockstep that is judged with the next request: a timer of another clock would make the
    record depend on how long it took.
    """
    return inputs.others_turn or not (limits.lockstep and inputs.trigger is Trigger.TIMER)


def measured(limits: Limits, inputs: RuleInput, rule: SensorRule) -> Vector:
    """Return what was measured for a rule; empty, and the robot stops for that, if nothing was."""
    measurement = measurement_of(inputs.measurements, rule.input)
    if measurement is None or not limits.needs[rule.input].usable(measurement):
        return ()
    return measurement.values
