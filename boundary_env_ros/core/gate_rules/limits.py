# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules of the gate need of a contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
import math

from boundary_env_ros.core.contract import ActionSpec, Beyond, Contract, Pacing, WhenStale
from boundary_env_ros.core.motion_profile import MotionLimits
from boundary_env_ros.core.safety import Safety
from boundary_env_ros.core.sources import Vector

FEEDBACK = 'feedback'
ALIVE = 'alive'
OPERATOR = 'operator'


@dataclass(frozen=True, slots=True)
class Rotation:
    """
    Four dimensions of the command that are one unit quaternion.

    Attributes
    ----------
    dimensions
        Where its x, y, z and w are.
    rate, stop
        Most that it may turn, rad/s: normally, and while stopping.

    """

    dimensions: tuple[int, ...]
    rate: float
    stop: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What the rules need of a contract, flat over the dimensions of the command.

    ``alive`` holds, by name of its input, the greatest age of each field that holds the robot when
    it is stale. ``acceleration`` and ``jerk`` are infinite where there is no limit.

    The rest follows from the others: ``bounded`` are the dimensions with bounds of their own,
    ``plain`` those that nothing but a rate limits, ``profiled`` those that follow ``profile``,
    ``rotations`` and ``curvatures`` the sets of dimensions that are one thing, ``speeds`` those
    that move the robot for as long as they are in force, and have a safe value: their unit is
    something per second.
    ``followed`` are the inputs that say whether the robot still does what was commanded.
    """

    groups: tuple[ActionSpec, ...]
    alive: Mapping[str, float]
    low: Vector
    high: Vector
    safe: Vector
    rate: Vector
    acceleration: Vector
    jerk: Vector
    stop: Vector
    unit: tuple[str, ...]
    reject_beyond: tuple[bool, ...]
    safety: Safety
    pacing: Pacing
    period: float
    lockstep_deadline: float
    bounded: tuple[int, ...] = field(init=False, repr=False, compare=False)
    plain: tuple[int, ...] = field(init=False, repr=False, compare=False)
    profiled: tuple[int, ...] = field(init=False, repr=False, compare=False)
    profile: MotionLimits | None = field(init=False, repr=False, compare=False)
    rotations: tuple[Rotation, ...] = field(init=False, repr=False, compare=False)
    curvatures: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    speeds: tuple[int, ...] = field(init=False, repr=False, compare=False)
    followed: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        turned = _sets(self.groups, 'rotation')
        of_rotations = {i for dimensions in turned for i in dimensions}
        bounded = tuple(i for i in range(len(self.low)) if i not in of_rotations)
        profiled = tuple(i for i in bounded if min(self.acceleration[i], self.jerk[i]) < math.inf)
        # The profile keeps the bounds of the contract; stricter ones, that are set while the robot
        # moves, are where it goes to, so that it does not jump to get inside of them.
        low = tuple(value for group in self.groups for value in group.low)
        high = tuple(value for group in self.groups for value in group.high)
        profile = MotionLimits(
            low=tuple(low[i] for i in profiled),
            high=tuple(high[i] for i in profiled),
            rate=tuple(self.rate[i] for i in profiled),
            acceleration=tuple(self.acceleration[i] for i in profiled),
            jerk=tuple(self.jerk[i] for i in profiled),
        )
        for name, value in (
            ('bounded', bounded),
            ('plain', tuple(i for i in bounded if i not in profiled)),
            ('profiled', profiled),
            ('profile', profile if profiled else None),
            (
                'rotations',
                tuple(
                    Rotation(
                        four, min(self.rate[i] for i in four), min(self.stop[i] for i in four)
                    )
                    for four in turned
                ),
            ),
            ('curvatures', _sets(self.groups, 'curvature')),
            (
                'speeds',
                tuple(
                    i
                    for i in bounded
                    if self.unit[i].endswith('/s') and not math.isnan(self.safe[i])
                ),
            ),
            ('followed', frozenset(f'{FEEDBACK}.{name}' for name in _followed(self))),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, contract: Contract) -> Limits:
        """Return the limits of a contract."""
        return cls(
            groups=contract.action,
            alive={
                f'{ALIVE}.{field.name}': field.max_age
                for field in (*contract.observation, *contract.state)
                if field.when_stale is WhenStale.HOLD and field.max_age is not None
            },
            low=contract.flat('low'),
            high=contract.flat('high'),
            safe=contract.flat('safe'),
            rate=contract.flat('rate'),
            acceleration=_or_infinite(contract, 'acceleration'),
            jerk=_or_infinite(contract, 'jerk'),
            stop=contract.flat('stop'),
            unit=contract.command_unit,
            reject_beyond=tuple(
                group.beyond is Beyond.REJECT and i not in group.rotation
                for group in contract.action
                for i in range(group.size)
            ),
            safety=contract.safety,
            pacing=contract.pacing,
            period=contract.period,
            lockstep_deadline=contract.lockstep_deadline,
        )


def _or_infinite(contract: Contract, attribute: str) -> Vector:
    return tuple(
        value
        for group in contract.action
        for value in getattr(group, attribute) or (math.inf,) * group.size
    )


def _followed(limits: Limits) -> Iterable[str]:
    """Return the groups that are looked at for whether they still do what was commanded."""
    looks = limits.pacing is Pacing.REALTIME and any(group.depart for group in limits.groups)
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
