# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules of the gate need of a contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.contract.model import (
    ActionSpec,
    Contract,
    Interface,
    OnStale,
    OutOfBounds,
    Pacing,
)
from boundary_env_ros.core.contract.safety import Safety
from boundary_env_ros.core.contract.sources import Trajectory, Vector
from boundary_env_ros.core.gate.decision import Measurement
from boundary_env_ros.core.gate.motion_profile import MotionLimits
from boundary_env_ros.core.sources.obstacle_distance import DISTANCES
from boundary_env_ros.core.sources.usable import is_fresh, is_measured

FEEDBACK = 'feedback'
ALIVE = 'alive'
OPERATOR = 'operator'
EMERGENCY_STOP = 'emergency_stop'


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """
    When the rules can go by an input.

    Attributes
    ----------
    most
        Greatest age, s.
    size
        Number of values.
    infinite
        How many of them, from the first one on, may be infinite: those that say how far it is to
        the next thing in range.

    """

    most: float
    size: int
    infinite: int = 0

    def fresh(self, measurement: Measurement | None) -> bool:
        """Return whether a measurement is there, and neither too old nor from the future."""
        return measurement is not None and is_fresh(measurement.age, self.most)

    def usable(self, measurement: Measurement | None) -> bool:
        """Return whether a measurement says what it is to say, however old it is."""
        return (
            measurement is not None
            and len(measurement.values) == self.size
            and is_measured(measurement.values, infinite=self.infinite)
        )


@dataclass(frozen=True, slots=True)
class Rotation:
    """
    Four dimensions of the command that are one unit quaternion.

    Attributes
    ----------
    dimensions
        Where its x, y, z and w are.
    rate
        Most that it may turn, rad/s.

    """

    dimensions: tuple[int, ...]
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What the rules need of a contract, flat over the dimensions of the command.

    ``needs`` holds, by name, every input that the rules or the seeding of the limits go by.
    ``acceleration`` and ``jerk`` are infinite where there is no limit. ``stop`` is the greatest
    first difference of a stop, unit/s, ``deceleration`` the second one of a position, unit/s^2;
    infinite where it is held at once.

    The rest follows from the others: ``declared`` are the bounds of the contract, ``within`` the
    seconds in which the driver is told to go all the way to a command, infinite where it is not
    told, ``names`` a name for each dimension,
    ``bounded`` the dimensions with bounds of their own, ``plain`` those that nothing but a
    rate limits, ``profiled`` those that follow ``profile``, ``rotations`` and ``curvatures`` the
    sets of dimensions that are one thing, ``angles`` those that wrap, ``speeds`` those that move
    the robot for as long as they are in force: velocities and efforts.
    ``followed`` are the inputs that say whether the robot still does what was commanded.
    """

    groups: tuple[ActionSpec, ...]
    needs: Mapping[str, Need]
    low: Vector
    high: Vector
    safe: Vector
    rate: Vector
    acceleration: Vector
    jerk: Vector
    stop: Vector
    deceleration: Vector
    unit: tuple[str, ...]
    reject_beyond: tuple[bool, ...]
    safety: Safety
    pacing: Pacing
    period: float
    lockstep_deadline: float
    declared: tuple[tuple[float, float], ...] = field(init=False, repr=False, compare=False)
    within: Vector = field(init=False, repr=False, compare=False)
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    bounded: tuple[int, ...] = field(init=False, repr=False, compare=False)
    plain: tuple[int, ...] = field(init=False, repr=False, compare=False)
    profiled: tuple[int, ...] = field(init=False, repr=False, compare=False)
    profile: MotionLimits | None = field(init=False, repr=False, compare=False)
    rotations: tuple[Rotation, ...] = field(init=False, repr=False, compare=False)
    curvatures: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    angles: tuple[int, ...] = field(init=False, repr=False, compare=False)
    speeds: tuple[int, ...] = field(init=False, repr=False, compare=False)
    followed: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        turned = _sets(self.groups, 'rotation')
        of_rotations = {i for dimensions in turned for i in dimensions}
        bounded = tuple(i for i in range(len(self.low)) if i not in of_rotations)
        profiled = tuple(i for i in bounded if min(self.acceleration[i], self.jerk[i]) < math.inf)
        # The profile keeps the bounds of the contract; stricter ones, that are set while the robot
        # moves, are where it goes to, so that it does not jump to get inside of them.
        declared = tuple(
            bounds for group in self.groups for bounds in zip(group.low, group.high, strict=True)
        )
        profile = MotionLimits(
            low=tuple(declared[i][0] for i in profiled),
            high=tuple(declared[i][1] for i in profiled),
            rate=tuple(self.rate[i] for i in profiled),
            acceleration=tuple(self.acceleration[i] for i in profiled),
            jerk=tuple(self.jerk[i] for i in profiled),
        )
        for name, value in (
            ('declared', declared),
            ('within', tuple(within for g in self.groups for within in (_within(g),) * g.size)),
            ('names', tuple(name for g in self.groups for name in g.dimensions)),
            ('bounded', bounded),
            ('plain', tuple(i for i in bounded if i not in profiled)),
            ('profiled', profiled),
            ('profile', profile if profiled else None),
            (
                'rotations',
                tuple(Rotation(four, min(self.rate[i] for i in four)) for four in turned),
            ),
            ('curvatures', _sets(self.groups, 'scale_together')),
            ('angles', tuple(i for wrap in _sets(self.groups, 'wrap') for i in wrap)),
            (
                'speeds',
                tuple(
                    i
                    for i, interface in enumerate(
                        interface for group in self.groups for interface in group.interface
                    )
                    if interface is not Interface.POSITION
                ),
            ),
            ('followed', frozenset(f'{FEEDBACK}.{name}' for name in _followed(self))),
        ):
            object.__setattr__(self, name, value)

    def room(self, dimension: int, previous: Vector | None) -> tuple[float, float]:
        """
        Return the least and the greatest value that a dimension may be sent to.

        These are the bounds in force. From outside of those of the contract, where a robot may
        stand when it is armed, it need not come back, but goes no farther.
        """
        low, high = self.low[dimension], self.high[dimension]
        if previous:
            least, most = self.declared[dimension]
            was = previous[dimension]
            low = low if was >= least else min(low, was)
            high = high if was <= most else max(high, was)
        return low, high

    @classmethod
    def of(cls, contract: Contract) -> Limits:
        """Return the limits of a contract."""
        return cls(
            groups=contract.action,
            needs=_needs(contract),
            low=contract.flat('low'),
            high=contract.flat('high'),
            safe=contract.flat('safe'),
            rate=contract.flat('rate'),
            acceleration=contract.flat('acceleration'),
            jerk=contract.flat('jerk'),
            stop=contract.flat('stop'),
            deceleration=contract.flat('deceleration'),
            unit=contract.command_unit,
            reject_beyond=tuple(
                group.out_of_bounds is OutOfBounds.REJECT and i not in group.rotation
                for group in contract.action
                for i in range(group.size)
            ),
            safety=contract.safety,
            pacing=contract.pacing,
            period=contract.period,
            lockstep_deadline=contract.lockstep_deadline,
        )


def _within(group: ActionSpec) -> float:
    return group.source.duration if isinstance(group.source, Trajectory) else math.inf


def _needs(contract: Contract) -> Mapping[str, Need]:
    """Return what the gate goes by: distances and places, heartbeats, what the robot does."""
    safety = contract.safety
    timeout = safety.sensor_timeout
    needs = {
        rule.input: Need(most=timeout, size=DISTANCES, infinite=DISTANCES // 2)
        for rule in safety.obstacles
    }
    needs.update(
        (place.input, Need(most=timeout, size=len(place.unit))) for place in safety.workspaces
    )
    needs.update(
        (f'{ALIVE}.{field.name}', Need(most=field.max_age, size=1))
        for field in (*contract.observation, *contract.state)
        if field.on_stale is OnStale.STOP and field.max_age is not None
    )
    needs.update(
        (f'{FEEDBACK}.{group.name}', Need(most=timeout, size=group.size))
        for group in contract.action
    )
    if contract.heartbeat is not None:
        needs[EMERGENCY_STOP] = Need(most=contract.heartbeat, size=1)
    return needs


def _followed(limits: Limits) -> Iterable[str]:
    """Return the groups that are looked at for whether they still do what was commanded."""
    looks = limits.pacing is Pacing.REALTIME and any(
        group.max_tracking_error for group in limits.groups
    )
    return (group.name for group in limits.groups) if looks else ()


def _sets(groups: tuple[ActionSpec, ...], attribute: str) -> tuple[tuple[int, ...], ...]:
    """Return the sets of dimensions that groups name, counted over the whole command."""
    found, start = [], 0
    for group in groups:
        dimensions: tuple[int, ...] = getattr(group, attribute)
        if dimensions:
            found.append(tuple(start + i for i in dimensions))
        start += group.size
    return tuple(found)
