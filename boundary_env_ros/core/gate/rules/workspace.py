# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Where a place may be, with what it needs to brake in: stop, and slow down before a boundary.

From the measured place, from what was sent before and from a command follows a convex area that
the place cannot leave before the robot rests, whatever the gate does afterwards, even if it dies.
The command may go out if that area keeps the margin from every boundary. What is slowed down is
what was asked for, all that moves the place in the same proportion, until what the other rules
leave of it (:func:`.motion.limit_change`) keeps it.

A place that is nearer to a boundary than the margin already, or beyond it, may move but not come
nearer: the margin is then what is left of it; and from beyond the edge of a polygon it may move
only towards the nearest place inside, over that edge alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
import math
from typing import Annotated, ClassVar

from boundary_env_ros.core.contract.grammar import TYPE, UNIT
from boundary_env_ros.core.contract.key import DIMENSION, DIMENSIONS, Key, Section
from boundary_env_ros.core.contract.model import Contract, Interface
from boundary_env_ros.core.contract.paths import Message
from boundary_env_ros.core.contract.problem_text import Fault, Path, Text
from boundary_env_ros.core.contract.safety import OF_PLACE, Polygon, Safety
from boundary_env_ros.core.contract.sources import OF_ADAPTER, Source
from boundary_env_ros.core.gate.geometry import (
    added,
    distances,
    is_inside,
    is_simple,
    nearest,
    Point,
    sector,
    Shape,
)
from boundary_env_ros.core.gate.rule_output import Cause, LimitedCommand
from boundary_env_ros.core.gate.rules.limits import Limits, Need
from boundary_env_ros.core.gate.rules.motion import limit_change
from boundary_env_ros.core.gate.rules.pending_motion import pending_motion, PendingMotion
from boundary_env_ros.core.gate.rules.rule import (
    Rule,
    safe_in_words,
    SensorRule,
)
from boundary_env_ros.core.records.decision import (
    measurement_of,
    Reason,
    RuleInput,
    RuleResult,
    SentCommand,
    Trigger,
    Verdict,
)
from boundary_env_ros.core.sources import readers
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen

#: How much nearer than it may is taken for rounding, in the unit of the place.
_ROUNDING = 1e-9
#: Nearer to an edge than this a place counts as beyond it: what is kept from it is not measurable.
_AT_THE_EDGE = 1e-6
#: The speed that is left is found to within one of so many parts of what was asked for.
_PARTS = 2**16
#: What may be reached in all directions is within so many times its radius: polygons around it are
#: larger by less than 1 %, and the rest is for rounding.
_AROUND = 1.02

_IN_TIME = 'The command could not be lowered in time.'

_NO_ROOM = Cause('workspace_stop', Reason.WORKSPACE)
_NEARER = Cause('workspace', Reason.WORKSPACE, Verdict.LIMITED)


# What a contract says ----------------------------------------------------------------------------


class Moves(Enum):
    """
    How a command moves a place.

    ``AXES``: each dimension is the speed along one axis of the place, as for joints, or for a
    robot that moves in the frame of the place. ``BODY``: the dimensions are the speed forward and,
    if there is a second, to the left, in the frame of a robot whose heading is the last value of
    the place (x, y, yaw).
    """

    AXES = 'axes'
    BODY = 'body'


@frozen
class Workspace(SensorRule):
    """
    Where a place may be, and what a command must leave to brake in.

    Attributes
    ----------
    topic
        Where it is measured.
    type
        Of its messages; for ``body`` the values are x, y and the heading (rad).
    source
        Where the place is measured: values in the unit and frame of ``unit``, ``frame``. For
        ``BODY`` x, y and the heading (rad).
    unit
        Of the place.
    frame
        Frame of the place and of all that bounds it. A message of another frame is [not
        usable](nodes/safety_gate.md#frames); ``''``: any may come.
    moves
        ``axes``: each dimension of the command is the speed along one coordinate. ``body``: speed
        forward, and to the left if there is a second, of a robot at x, y, yaw.
    dimensions
        Dimensions of the command that move it.
    turn
        For ``body``: the dimension of the command that turns it, rad/s.
    inside
        Where it may be.
    low
        Least value of each coordinate (for ``body`` x and y).
    high
        Greatest value.
    polygon
        Area of the first two coordinates, its corners in order.
    keep_out
        Areas where it must not be, by name, each by its corners.
    margin
        Distance to keep from every boundary: half the size of the robot, and the error of the
        measurement.
    delay
        From a command until the robot follows it.
    braking
        What the robot brakes with, for each of ``dimensions``, then for ``turn``; not more than
        ``max_acceleration`` and ``max_deceleration`` of the dimension, whose ``safe`` must be 0.

    """

    section: ClassVar[str] = 'workspace'
    about: ClassVar[str] = (
        'Places by name that commands move, and where each may be: [the '
        'formula](nodes/safety_gate.md#workspace). Where in its message it is is said as for a '
        'field.'
    )
    item: ClassVar[str] = 'place'
    measures: ClassVar[tuple[str, ...]] = ('topic', 'type', 'source', 'unit', 'frame')

    type: Annotated[str, Key(spelt=TYPE)]
    source: Annotated[Source, Key('')]
    unit: Annotated[tuple[str, ...], Key(spelt=UNIT, shown='list of texts', same_as=OF_ADAPTER)]
    frame: Annotated[str, Key()]
    moves: Annotated[Moves, Key()]
    dimensions: Annotated[tuple[int, ...], Key(shown=DIMENSIONS)]
    turn: Annotated[int | None, Key(least=0, shown=DIMENSION)] = None
    inside: ClassVar[Annotated[Section, Key()]] = Section()
    low: Annotated[
        tuple[float | None, ...], Key('inside.low', unit=OF_PLACE, words=('none',), one_of=True)
    ]
    high: Annotated[
        tuple[float | None, ...], Key('inside.high', unit=OF_PLACE, words=('none',), one_of=True)
    ]
    polygon: Annotated[
        Polygon, Key('inside.polygon', unit=OF_PLACE, shown='list of corners [x, y]')
    ] = ()
    keep_out: Annotated[
        tuple[tuple[str, Polygon], ...],
        Key(unit=OF_PLACE, item='area', shown='list of corners [x, y]'),
    ] = ()
    margin: Annotated[float, Key(unit=OF_PLACE, least=0.0)]
    delay: Annotated[float, Key(unit='s', least=0.0)]
    braking: Annotated[Vector, Key(unit='unit/s^2', above=0.0)]

    @property
    def moved_by(self) -> tuple[int, ...]:
        """Return every dimension of the command that moves or turns it."""
        return self.dimensions if self.turn is None else (*self.dimensions, self.turn)

    def need(self, safety: Safety) -> Need:
        """Return when the rule can go by what was measured."""
        return Need(most=safety.sensor_timeout, size=len(self.unit))

    def reader(self) -> Callable[[Message], Reading]:
        """Return how a message with the place is read."""
        return readers.measured(self.source, self.type)

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong with what moves it, and with what bounds it."""
        count, margin = len(self.unit), self.margin
        if self.moves is Moves.BODY and count != 3:
            yield ('fields',), 'three values with `moves: body`: x, y, yaw', Text(f'{count}')
        if self.turn in self.dimensions:
            yield ('turn',), 'a dimension that is not in `dimensions`', Text('one of them')
        for index, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if low is not None and high is not None and high - low <= 2.0 * margin:
                expected = f'more than low ({low:g}) and twice the margin ({margin:g})'
                yield ('inside', 'high', index), expected, high
        areas: list[tuple[Path, Polygon]] = [(('inside', 'polygon'), self.polygon)]
        areas += [(('keep_out', name), corners) for name, corners in self.keep_out]
        for path, corners in areas:
            if corners and count < 2 and self.moves is Moves.AXES:
                yield path, 'a place of two values or more, for an area', Text(f'{count}')
            if corners and not is_simple(corners):
                expected = 'corners in order around an area, without an edge that meets another'
                actual = Text('edges that cross, touch or go back')
                hint = 'Name each corner once; the last is joined to the first.'
                yield path, expected, actual, hint

    def contradictions(self, contract: Contract) -> Iterator[Fault]:
        """Ask that a place is moved by speeds that can be brought to rest with its ``braking``."""
        yield from _units(contract, self)
        yield from self.too_slow(contract, (), (), contract.flat('rate'))
        for braking, dimension in zip(self.braking, self.moved_by, strict=True):
            moved = contract.command_dimensions[dimension]
            most = contract.flat('stop')[dimension]
            if braking > most:
                expected = f'not more than `max_deceleration` ({most:g}) of {moved}'
                yield (*self.path, 'braking'), expected, braking, _IN_TIME
            safe = contract.flat('safe')[dimension]
            if safe != 0.0:
                expected = 'a dimension whose `safe` is 0, so that to stop is to stand still'
                actual = Text(f'{moved}, {safe_in_words(safe)}')
                yield (*self.path, _key(self, dimension)), expected, actual

    def too_slow(
        self, contract: Contract, low: Vector, high: Vector, rate: Vector
    ) -> Iterator[Fault]:
        """Ask that commands are lowered as fast as the robot is said to slow down."""
        for braking, dimension in zip(self.braking, self.moved_by, strict=True):
            if braking > rate[dimension]:
                moved = contract.command_dimensions[dimension]
                expected = f'not more than `max_acceleration` ({rate[dimension]:g}) of {moved}'
                yield (*self.path, 'braking'), expected, braking, _IN_TIME


def _key(place: Workspace, dimension: int) -> str:
    return 'turn' if dimension == place.turn else 'dimensions'


def _units(contract: Contract, place: Workspace) -> Iterator[Fault]:
    path, units = place.path, list(place.unit)
    if place.moves is Moves.BODY:
        if units[0] != units[1] or units[2] != 'rad':
            yield (*path, 'unit'), 'one unit for x and y, and rad', units
        units = units[:1] * len(place.dimensions) + ['rad'] * (place.turn is not None)
    elif (place.polygon or place.keep_out) and units[0] != units[1]:
        yield (*path, 'unit'), 'one unit for x and y, for an area', units[:2]
    for dimension, unit in zip(place.moved_by, units, strict=True):
        actual, interface = contract.command_unit[dimension], contract.interfaces[dimension]
        moved = contract.command_dimensions[dimension]
        if actual != f'{unit}/s':
            speed = f'{unit}/s, the speed of what is measured in {unit}'
            hint = 'A command of positions is kept inside by its bounds.' if actual == unit else ''
            at = (*path, _key(place, dimension))
            yield at, f'a dimension of the command in {speed}', Text(f'{moved}, in {actual}'), hint
            return
        if interface is not Interface.VELOCITY:
            actual = Text(f'{moved}, which is {interface.value}')
            yield (*path, _key(place, dimension)), 'a velocity', actual
            return


# What follows from it ----------------------------------------------------------------------------


def _stops(limits: Limits, inputs: RuleInput, _: Vector | None) -> Iterator[RuleResult]:
    """
    Stop when what was commanded last leads out of a workspace faster than it can slow down.

    Judged is the least that the limits on the rate let follow, until the gate looks again; for the
    timer the last command itself, since it may send no other.
    """
    if not inputs.previous_command:
        return
    for place in limits.of(Workspace):
        least, by_timer = inputs.previous_command, inputs.trigger is Trigger.TIMER
        course = _Course.of(limits, inputs, place, hold=_until_next_check(limits))
        if course is None or course.is_far(least if by_timer else _fastest(limits, least)):
            continue
        if not by_timer:
            least = _scaled_command(limits, inputs, least, place.moved_by, 0.0)
            if course.is_far(least):
                continue
        gap = min(rule(least) for rule, _ in course.rules)
        if gap.missing:
            yield _NO_ROOM.result('', gap.distance, gap.required, place.unit[0])


def _keep_inside(limits: Limits, inputs: RuleInput, shaped: LimitedCommand) -> None:
    """
    Limit the speed towards a boundary to what can be braked before it.

    Where each dimension moves the place along an axis of its own and only that axis is bounded,
    only that dimension is slowed down.
    """
    most = _fastest(limits, inputs.previous_command)
    for place in limits.of(Workspace):
        course = _Course.of(limits, inputs, place, hold=_until_the_driver_brakes(limits))
        if course is None or course.is_far(most):
            continue
        for rule, dimensions in course.rules:
            _slow_down(limits, inputs, shaped, course, rule, dimensions)


def history_span(contract: Contract) -> float:
    """Return for how many seconds a command that is in force no more still matters."""
    safety, low, high = contract.safety, contract.flat('low'), contract.flat('high')
    return max(
        (
            safety.sensor_timeout + place.delay + max(abs(low[i]), abs(high[i])) / braking
            for place in safety.of(Workspace)
            for i, braking in zip(place.moved_by, place.braking, strict=True)
        ),
        default=0.0,
    )


def _until_next_check(limits: Limits) -> float:
    return limits.period if limits.lockstep else limits.safety.gate_period


def _until_the_driver_brakes(limits: Limits) -> float:
    """
    Return how long a command may be in force if the gate sends no other: it may be gone.

    A driver without a timeout of its own would go on for ever; with it the gate is trusted to come
    back, and to stop for having been late.
    """
    if limits.lockstep:
        return limits.period  # without the gate the world stands still
    late = limits.safety.gate_lateness
    timeouts = [group.driver_timeout for group in limits.groups]
    return max(late if timeout is None else timeout for timeout in timeouts)


# Slowing down ------------------------------------------------------------------------------------


def _slow_down(
    limits: Limits,
    inputs: RuleInput,
    shaped: LimitedCommand,
    course: _Course,
    rule: _Rule,
    dimensions: Sequence[int],
) -> None:
    """Leave the greatest part of some dimensions that a rule lets pass."""
    wanted = tuple(shaped.values)
    follows = _scaled_command(limits, inputs, wanted, dimensions, 1.0)
    if course.is_far(follows):
        return
    gap = rule(follows)
    if not gap.missing:
        return
    passes = _most_that_passes(
        lambda part: rule(_scaled_command(limits, inputs, wanted, dimensions, part)).slack,
        gap.slack,
    )
    for dimension in dimensions:
        if wanted[dimension] != 0.0:
            numbers = passes * wanted[dimension], gap.distance, gap.required
            shaped.limit(_NEARER, dimension, *numbers, course.place.unit[0])


def _most_that_passes(slack: Callable[[float], float], at_most: float) -> float:
    """
    Return the greatest part of something that is not too much, on a grid of ``_PARTS``.

    None of it is as little as can be: if that were too much, the robot would be stopped.

    Parameters
    ----------
    slack
        What a part leaves to spare.
    at_most
        What all of it leaves, which is too little.

    """
    # Chandrupatla's method: a parabola through the last three where that is safe, else a half.
    (here, left), (across, beyond) = (_PARTS, at_most + _ROUNDING), (0, slack(0.0) + _ROUNDING)
    share = 0.5
    while abs(across - here) > 1:
        part = here + round(share * (across - here))
        part = min(max(part, min(here, across) + 1), max(here, across) - 1)
        found = slack(part / _PARTS) + _ROUNDING
        last, lasted = here, left
        if (found >= 0.0) is not (left >= 0.0):
            last, lasted, across, beyond = across, beyond, here, left
        here, left = part, found
        share = _share((here, left), (across, beyond), (last, lasted))
    return min(here, across) / _PARTS


def _share(one: Point, other: Point, third: Point) -> float:
    """Return at which part of the way from one to the other a function may be 0."""
    (x1, f1), (x2, f2), (x3, f3) = one, other, third
    if not (math.isfinite(f2) and math.isfinite(f3)) or f2 == f3 or f1 == f3:
        return 0.5
    along, change = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    if not (change * change < along and (1.0 - change) ** 2 < 1.0 - along):
        return 0.5
    return f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (
        f3 - f2
    )


def _fastest(limits: Limits, previous: Vector | None) -> Vector:
    """Return the greatest magnitude that each dimension of the next command can have."""
    before = previous or (0.0,) * len(limits.low)
    return tuple(
        max(-low, high, abs(value))
        for low, high, value in zip(limits.low, limits.high, before, strict=True)
    )


def _scaled_command(
    limits: Limits, inputs: RuleInput, wanted: Vector, dimensions: Sequence[int], part: float
) -> Vector:
    """Return what would be sent if only a part of some dimensions were asked for."""
    slower = LimitedCommand(
        tuple([part * v if i in dimensions else v for i, v in enumerate(wanted)]), explains=False
    )
    limit_change(limits, inputs, slower)
    return tuple(slower.values)


# What a command needs ----------------------------------------------------------------------------


@frozen(kw_only=False, order=True)
class _Gap:
    """
    How far what is needed stays from a boundary.

    Attributes
    ----------
    slack
        ``distance`` less ``required``.
    distance
        Of what is needed, from the boundary; less than 0 beyond it.
    required
        The distance that is to be kept.

    """

    slack: float
    distance: float
    required: float

    @classmethod
    def of(cls, distance: float, required: float) -> _Gap:
        return cls(distance - required, distance, required)

    @property
    def missing(self) -> bool:
        """Return whether that is too near."""
        return not self.slack >= -_ROUNDING


_ANY = _Gap(math.inf, math.inf, 0.0)
#: From a command to how near it may bring the place to a boundary.
_Rule = Callable[[Vector], _Gap]


class _Course:
    """
    Where a place is, and what of the commands before is under way there.

    Parameters
    ----------
    place, at
        The workspace, and where the place was measured.
    age
        Seconds since then.
    sent
        What was sent before, the oldest first.
    hold
        Seconds that the next command may be in force.

    """

    __slots__ = ('_ages', '_speeds', '_ways', 'age', 'at', 'hold', 'place')

    def __init__(
        self, place: Workspace, at: Vector, age: float, sent: Sequence[SentCommand], hold: float
    ) -> None:
        self.place, self.at, self.age, self.hold = place, at, age, hold
        self._ages = [one.age for one in sent]
        # Up and down each dimension that moves it.
        ups = [[one.command[dimension] for one in sent] for dimension in place.moved_by]
        self._speeds = [(up, [-speed for speed in up]) for up in ups]
        self._ways: list[tuple[PendingMotion, ...]] = []

    @classmethod
    def of(
        cls, limits: Limits, inputs: RuleInput, place: Workspace, *, hold: float
    ) -> _Course | None:
        """Return it; None if there is no measurement, for which the rule ``sensors`` stops."""
        found = measurement_of(inputs.measurements, place.input)
        if found is None or found.age is None or not limits.needs[place.input].usable(found):
            return None
        sent = inputs.recent_commands
        if inputs.previous_command and (not sent or sent[-1].command != inputs.previous_command):
            # It was measured, or nothing is known of what was before.
            sent = (*sent, SentCommand(age=0.0, command=inputs.previous_command))
        return cls(place, found.values, max(found.age, 0.0), sent, hold)

    @property
    def ways(self) -> list[tuple[PendingMotion, ...]]:
        """What is under way up and down each dimension; found when it is asked for."""
        if not self._ways:
            self._ways = [
                tuple(
                    pending_motion(
                        tuple(zip(self._ages, speeds, strict=True)),
                        age=self.age,
                        delay=self.place.delay,
                        braking=braking,
                    )
                    for speeds in both
                )
                for both, braking in zip(self._speeds, self.place.braking, strict=True)
            ]
        return self._ways

    @property
    def borders(self) -> list[_Border]:
        """Return what bounds it in the plane."""
        place = self.place
        areas = [(area, False) for _, area in place.keep_out]
        if place.polygon:
            areas.append((place.polygon, True))
        if not areas:
            return []
        x, y = self.at[:2]
        return [_Border.of(area, (x, y), place.margin, inside=inside) for area, inside in areas]

    @property
    def rules(self) -> tuple[tuple[_Rule, tuple[int, ...]], ...]:
        """Return what is to be kept, each with the dimensions that are slowed down for it."""
        place = self.place
        plane: tuple[tuple[_Rule, tuple[int, ...]], ...] = ()
        if place.moves is Moves.BODY:
            return ((self._in_the_plane, place.moved_by),)
        if place.polygon or place.keep_out:
            plane = ((self._in_the_plane, place.dimensions[:2]),)
        axes = tuple(
            (self._along(index), (dimension,)) for index, dimension in enumerate(place.dimensions)
        )
        return (*axes, *plane)

    def is_far(self, command: Vector) -> bool:
        """
        Return whether no boundary is near enough for any command that is no greater.

        A rough figure, as most of the time it is enough: as if the fastest that was sent had been
        in force all the time, and were braked then, in all directions at once.
        """
        place, hold, reach = self.place, self.hold, 0.0
        acting = self.age + place.delay
        for i, both, braking in zip(place.dimensions, self._speeds, place.braking, strict=False):
            requested = abs(command[i])
            for speeds in both:
                fastest = max([0.0, *speeds])
                reach += fastest * acting + requested * (place.delay + hold)
                reach += 0.5 * max(fastest, requested) ** 2 / braking
        reach *= _AROUND
        for at, low, high in zip(self.at, place.low, place.high, strict=False):
            if low is not None and not at - low - reach >= place.margin:
                return False
            if high is not None and not high - at - reach >= place.margin:
                return False
        return all(
            border.back is None and border.apart - reach >= max(border.required)
            for border in self.borders
        )

    def _needs(self, index: int, command: Vector) -> tuple[float, float]:
        """Return how far a command may lead up and down one of the dimensions."""
        speed = command[self.place.moved_by[index]]
        up, down = self.ways[index]
        return up.needs(speed, self.hold), down.needs(-speed, self.hold)

    def _along(self, index: int) -> _Rule:
        def rule(command: Vector) -> _Gap:
            up, down = self._needs(index, command)
            return self._bounds(index, self.at[index] - down, self.at[index] + up)

        return rule

    def _bounds(self, index: int, least: float, most: float) -> _Gap:
        """Return how far from the bounds of one coordinate a range of it stays."""
        place, at = self.place, self.at[index]
        gaps = [_ANY]
        low, high = place.low[index], place.high[index]
        if low is not None:
            gaps.append(_Gap.of(least - low, min(place.margin, at - low)))
        if high is not None:
            gaps.append(_Gap.of(high - most, min(place.margin, high - at)))
        return min(gaps)

    def _in_the_plane(self, command: Vector) -> _Gap:
        shape = self._shape(command)
        gaps = [_ANY]
        if self.place.moves is Moves.BODY:
            for index in range(2):
                values = [corner[index] for corner in shape]
                gaps.append(self._bounds(index, min(values), max(values)))
        gaps += [border.gap(shape) for border in self.borders]
        return min(gaps)

    def _shape(self, command: Vector) -> Shape:
        """Return the area of the plane that a command may lead to."""
        x, y = self.at[:2]
        needs = [self._needs(index, command) for index in range(len(self.ways))]
        if self.place.moves is Moves.AXES:
            (up_x, down_x), (up_y, down_y) = needs[:2]
            return added(
                added(((-down_x, 0.0), (up_x, 0.0)), ((0.0, -down_y), (0.0, up_y))), ((x, y),)
            )
        # However it turns, each part of its way has one of the headings that it may have, or is
        # across it. So what it moves is a sum of vectors between these, of that length together.
        heading, left, right = self.at[2], 0.0, 0.0
        if self.place.turn is not None:
            left, right = needs.pop()
        shape: Shape = ((x, y),)
        for index, (up, down) in enumerate(needs):
            for direction, turned in ((up, 0.0), (down, math.pi)):
                middle = heading + turned + index * 0.5 * math.pi
                shape = added(shape, sector(direction, middle - right, middle + left))
        return shape


@frozen(kw_only=False)
class _Border:
    """
    The edges of a polygon that a place is not to cross, or, from beyond them, to come back over.

    Attributes
    ----------
    polygon, at
        The polygon, and where the place is.
    required
        What is to be kept from each edge, in their order.
    apart
        Distance from the nearest place of an edge.
    back
        Direction of the way back from beyond the edges; None if it is not beyond.

    """

    polygon: Polygon
    at: Point
    required: Vector
    apart: float
    back: Point | None

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, polygon: Polygon, at: Point, margin: float, *, inside: bool) -> _Border:
        """Return it; the gate asks more often than the place is measured."""
        now, foot, inward = nearest(polygon, at)
        apart = min(now)
        # What is kept is seen from what it is kept from, so none at all would be none too few.
        margin = max(margin, _AT_THE_EDGE)
        if is_inside(polygon, at) is inside and apart >= _AT_THE_EDGE:
            return cls(polygon, at, tuple(min(margin, d) for d in now), apart, None)
        back = inward if inside else (-inward[0], -inward[1])
        if apart >= _AT_THE_EDGE:
            back = ((foot[0] - at[0]) / apart, (foot[1] - at[1]) / apart)
        crossed = apart + _AT_THE_EDGE
        required = tuple(-math.inf if d < crossed else min(margin, d) for d in now)
        return cls(polygon, at, required, apart, back)

    def gap(self, shape: Shape) -> _Gap:
        """Return how far what may be reached stays from it."""
        x, y = self.at
        farthest = max(math.hypot(a - x, b - y) for a, b in shape)
        required = max(self.required)
        if self.back is None and self.apart - farthest >= required:
            return _Gap.of(self.apart - farthest, required)  # whatever its directions are
        gaps = [
            _Gap.of(d, k)
            for d, k in zip(distances(shape, self.polygon), self.required, strict=True)
        ]
        if self.back is not None:
            back = self.back
            gaps.append(_Gap.of(min((a - x) * back[0] + (b - y) * back[1] for a, b in shape), 0.0))
        return min(gaps)


WORKSPACES = Rule(
    causes=(_NO_ROOM, _NEARER), stops=_stops, limits=_keep_inside, of_world=True, keys=Workspace
)
