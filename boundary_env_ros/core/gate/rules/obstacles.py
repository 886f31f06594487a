# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Distance to obstacles: stop and slow down, on the side that the robot moves to.

Each rule of the contract is about one sensor and one dimension of the command, the forward speed;
several may be about the same dimension, and then the strictest wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import math
from typing import Annotated, ClassVar

from boundary_env_ros.core.contract.key import DIMENSION, Key
from boundary_env_ros.core.contract.model import Contract, Interface
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.problem_text import Fault, Text
from boundary_env_ros.core.contract.safety import Corridor, Safety, Sector, Side
from boundary_env_ros.core.contract.sources import CLOUD, RANGE, SCAN
from boundary_env_ros.core.gate.rule_output import Cause, LimitedCommand
from boundary_env_ros.core.gate.rules.limits import Limits, Need
from boundary_env_ros.core.gate.rules.rule import (
    measured,
    Rule,
    safe_in_words,
    SensorRule,
)
from boundary_env_ros.core.records.decision import Reason, RuleInput, RuleResult, Verdict
from boundary_env_ros.core.sources.obstacle_distance import distance_reader, DISTANCES
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: Speed (m/s) up to which a robot is at rest: what rounding leaves of a stop must not count as the
#: wish to drive into what is behind. It makes less than 4 mm in an hour.
AT_REST = 1e-6

#: Of a few sums of seconds and metres.
_ROUNDING = 1e-9

_UNUSABLE = Cause('obstacle_stop', Reason.SENSOR_INVALID, anomaly='silence')
_NEAR = Cause('obstacle_stop', Reason.OBSTACLE_STOP)
_SLOW = Cause('obstacle_slow', Reason.OBSTACLE_SLOW, Verdict.LIMITED)
_SOON = Cause('time_to_collision', Reason.TIME_TO_COLLISION, Verdict.LIMITED)


# What a contract says ----------------------------------------------------------------------------


@frozen
class Obstacle(SensorRule):
    """
    Distance to obstacles along the forward axis of a sensor, and what it means for one dimension.

    Attributes
    ----------
    topic
        The sensor. Its x axis must be the direction of forward motion.
    type
        What it is.
    frame
        Frame of the sensor. A message of another frame is [not
        usable](nodes/safety_gate.md#frames); empty: any may come.
    zone
        What of its message is in the way.
    direction
        Of a ``Range``: the side that it looks at. Nothing is limited on the other.
    dimension
        The dimension of the command that is the forward speed: ``base/linear.x``.
    slow_distance
        Nearer than this, the speed towards it is limited to ``slow_speed`` (LIMITED).
    slow_speed
        Speed towards what is nearer than ``slow_distance``.
    stop_distance
        Nearer than this, measured from the sensor, the robot stops (STOPPED) if it moves, or is
        asked to move, towards it.
    time_to_collision
        The speed is limited so that the stop distance is at least so long away (LIMITED).
    min_valid
        Least fraction of usable beams or points; with fewer the robot stops.

    """

    section: ClassVar[str] = 'obstacles'
    about: ClassVar[str] = 'Rules about obstacles by name, one for each sensor.'
    measures: ClassVar[tuple[str, ...]] = ('topic', 'type', 'zone', 'min_valid')

    type: Annotated[str, Key(choices=(SCAN, RANGE, CLOUD))] = SCAN
    frame: Annotated[str, Key()] = ''
    zone: Annotated[Sector | Side | Corridor, Key('')]
    direction: ClassVar[Annotated[Side, Key(required=True, when=('type', RANGE))]]
    dimension: Annotated[int, Key(least=0, shown=DIMENSION)]
    slow_distance: Annotated[float, Key(unit='m', above=0.0)]
    slow_speed: Annotated[float, Key(unit='m/s', least=0.0)]
    stop_distance: Annotated[float, Key(unit='m', least=0.0)]
    time_to_collision: Annotated[float | None, Key(unit='s', above=0.0)] = None
    min_valid: Annotated[float, Key(above=0.0, most=1.0)] = 0.5

    @property
    def input(self) -> str:
        """Return the name of what the gate measures for it."""
        return f'obstacle.{self.name}'

    @property
    def moved_by(self) -> tuple[int, ...]:
        """Return the dimensions of the command that it takes for speeds."""
        return (self.dimension,)

    def need(self, safety: Safety) -> Need:
        """Return when the rule can go by what was measured: the distances may be infinite."""
        return Need(most=safety.sensor_timeout, size=DISTANCES, infinite=DISTANCES // 2)

    def reader(self) -> Callable[[Message], Reading]:
        """Return how a message of the sensor is read: distances and fractions of two sides."""
        distances = distance_reader(self.zone)
        return lambda message: Reading(values=distances(message))

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong with zone and distances."""
        slow, zone = self.slow_distance, self.zone
        if self.stop_distance >= slow:
            expected = f'a distance below slow_distance ({slow:g} m)'
            yield ('stop_distance',), expected, self.stop_distance
        if isinstance(zone, Corridor) and zone.bottom >= zone.top:
            yield ('top',), f'a height above bottom ({zone.bottom:g} m)', zone.top

    def contradictions(self, contract: Contract) -> Iterator[Fault]:
        """
        Ask that it is about a speed that it can bring to rest, in zones wide enough for that.

        What the gate needs to notice is counted in.
        """
        fault = _no_speed(contract, self.dimension)
        if fault is not None:
            expected, actual = fault
            name = contract.command_dimensions[self.dimension]
            yield (*self.path, 'dimension'), expected, Text(f'{name}, {actual}')
            return
        yield from self.too_slow(contract, *map(contract.flat, ('low', 'high', 'rate')))

    def too_slow(
        self, contract: Contract, low: Vector, high: Vector, rate: Vector
    ) -> Iterator[Fault]:
        """Ask for zones that are wide enough to brake in."""
        i = self.dimension
        yield from _braking(contract, self, max(abs(low[i]), abs(high[i])), rate[i])


def _no_speed(contract: Contract, index: int) -> tuple[str, str] | None:
    """Return why it is no speed that is 0 when the robot stops, and that may be as low as that."""
    unit = contract.command_unit[index]
    safe, low, high = (contract.flat(name)[index] for name in ('safe', 'low', 'high'))
    interface = contract.interfaces[index]
    if interface is not Interface.VELOCITY:
        return 'a velocity', f'which is {interface.value}'
    if unit != 'm/s':
        return 'a dimension in m/s', f'which is in {unit!r}'
    if low > 0.0 or high < 0.0:
        expected = 'a dimension whose bounds hold 0, since the robot may have to stand'
        return expected, f'which is from {low:g} to {high:g}'
    if safe != 0.0:
        return 'a dimension whose `safe` is 0, since to stop is to go there', safe_in_words(safe)
    return None


def _braking(contract: Contract, rule: Obstacle, fastest: float, rate: float) -> Iterator[Fault]:
    """
    Ask for zones that are wide enough to brake in.

    From v to w at an acceleration a takes (v^2 - w^2) / (2 a). One that has to build up at a
    limited jerk j costs up to a / j more, as an S-curve from one constant speed to another does;
    and as much again if the speed was rising when it had to fall.
    """
    stop, jerk = (contract.flat(name)[rule.dimension] for name in ('stop', 'acceleration'))
    if not (stop > 0.0 and rate > 0.0 and rule.stop_distance < rule.slow_distance):
        return
    slow = min(rule.slow_speed, fastest)
    delay = contract.period + 2.0 * rate / jerk
    span = rule.slow_distance - rule.stop_distance
    slowing = f'to slow down from {fastest:g} m/s at `max_acceleration`'
    needed = fastest * delay + max(0.0, fastest**2 - slow**2) / (2.0 * rate)
    if needed > span + _ROUNDING:
        expected = f'at least {_up(rule.stop_distance + needed)} m, {slowing}'
        yield (*rule.path, 'slow_distance'), expected, rule.slow_distance
    # A sensor may be silent for almost its timeout, at the edge of either zone.
    reaction = contract.safety.gate_period + contract.safety.sensor_timeout
    braked = max(0.0, span - fastest * (reaction + delay))
    left = max(slow, math.sqrt(max(0.0, fastest**2 - 2.0 * rate * braked)))
    needed = left * reaction + left**2 / (2.0 * stop)
    if needed > rule.stop_distance + _ROUNDING:
        speed = 'slow_speed' if left == slow else f'the {left:.2f} m/s that may be left there'
        expected = (
            f'at least {_up(needed)} m, to stop from {speed} after sensor_timeout + gate_period'
        )
        yield (*rule.path, 'stop_distance'), expected, rule.stop_distance
    # A speed of distance / time falls by speed / time each second, most at the fastest.
    needed = fastest / rate + delay
    if rule.time_to_collision is not None and needed > rule.time_to_collision + _ROUNDING:
        expected = f'at least {_up(needed)} s, {slowing}'
        yield (*rule.path, 'time_to_collision'), expected, rule.time_to_collision


def _up(value: float) -> str:
    """Return a number rounded up, so that it is enough."""
    # At a rate of almost nothing it is more than any number.
    up = math.ceil(100.0 * (value - _ROUNDING)) / 100.0 if value < 1e12 else value
    return f'{up:.2f}'


# What follows from it ----------------------------------------------------------------------------


def _stops(limits: Limits, inputs: RuleInput, wanted: Vector | None) -> Iterator[RuleResult]:
    """Stop before what is near, on the side that the robot moves to or is asked to move to."""
    for rule in limits.of(Obstacle):
        for distance, valid, sign in _sides(limits, inputs, rule):
            if not _heads(rule.dimension, sign, inputs.previous_command, wanted):
                continue
            if valid < rule.min_valid:
                yield _UNUSABLE.result(rule.name, valid, rule.min_valid, _of_what(rule))
            elif distance < rule.stop_distance:
                yield _NEAR.result(rule.name, distance, rule.stop_distance, 'm')


def _slow_down(limits: Limits, inputs: RuleInput, shaped: LimitedCommand) -> None:
    """Limit the speed towards what is inside a slow-down zone, or would be reached too soon."""
    seen = [(rule, _sides(limits, inputs, rule)) for rule in limits.of(Obstacle)]
    for apply in (_slow_zone, _collision):
        for rule, sides in seen:
            for distance, _, sign in sides:
                apply(rule, distance, sign, shaped)


def _slow_zone(rule: Obstacle, distance: float, sign: int, shaped: LimitedCommand) -> None:
    speed = shaped.values[rule.dimension] * sign
    if speed > rule.slow_speed and distance < rule.slow_distance:
        most, zone = sign * rule.slow_speed + 0.0, rule.slow_distance
        shaped.limit(_SLOW, rule.dimension, most, distance, zone, 'm', rule.name)


def _collision(rule: Obstacle, distance: float, sign: int, shaped: LimitedCommand) -> None:
    """Leave a speed that needs the declared time, or longer, to the stop distance."""
    speed = shaped.values[rule.dimension] * sign
    if rule.time_to_collision is None or not speed > 0.0:
        return
    left = max(0.0, distance - rule.stop_distance)
    most = left / rule.time_to_collision
    if speed > most:
        numbers = sign * most + 0.0, left / speed, rule.time_to_collision
        shaped.limit(_SOON, rule.dimension, *numbers, 's', rule.name)


def _sides(
    limits: Limits, inputs: RuleInput, rule: Obstacle
) -> tuple[tuple[float, float, int], ...]:
    """
    Return (distance, usable fraction, sign of the motion to it) ahead and behind.

    Without a usable one there are no sides: the rule about sensors stops the robot then.
    """
    values = measured(limits, inputs, rule)
    if not values:
        return ()
    ahead, behind, valid_ahead, valid_behind = values
    return (ahead, valid_ahead, 1), (behind, valid_behind, -1)


def _heads(dimension: int, sign: int, *vectors: Vector | None) -> bool:
    return any(vector and vector[dimension] * sign > AT_REST for vector in vectors)


def _of_what(rule: Obstacle) -> str:
    if isinstance(rule.zone, Sector):
        return 'of the beams'
    return 'of the points' if isinstance(rule.zone, Corridor) else 'of the readings'


OBSTACLES = Rule(
    causes=(_UNUSABLE, _NEAR, _SLOW, _SOON),
    stops=_stops,
    limits=_slow_down,
    of_world=True,
    keys=Obstacle,
)
