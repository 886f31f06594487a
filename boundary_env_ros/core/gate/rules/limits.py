# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the rules of the gate need of a contract."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any, TypeVar

from boundary_env_ros.core.contract.model import (
    ActionSpec,
    Contract,
    Interface,
    OnStale,
    OutOfBounds,
    slices_of,
)
from boundary_env_ros.core.contract.sources import Trajectory
from boundary_env_ros.core.gate.motion_profile import MotionLimits
from boundary_env_ros.core.records.decision import ALIVE, EMERGENCY_STOP, FEEDBACK, Measurement
from boundary_env_ros.core.sources.reading import is_fresh, is_measured
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen, replace

T = TypeVar('T')


@frozen
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


@frozen(kw_only=False)
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


class Limits:
    """
    What the rules need of a contract, flat over the dimensions of the command; it never changes.

    Parameters
    ----------
    contract
        The contract.
    low, high, rate, command_timeout
        What is stricter than there; None: as there.

    Attributes
    ----------
    sensor_rules, kinds
        What the contract says to the rules with a sensor of their own, and to which of them.
    needs
        By name, every input that the rules or the seeding of the limits go by.
    declared
        The bounds of the contract; those in force, ``low`` and ``high``, may be narrower.
    acceleration, jerk
        Infinite where there is no limit.
    stop, deceleration
        The greatest first difference of a stop, unit/s, and the second one of a position,
        unit/s^2; infinite where it is held at once.
    within
        The seconds in which the driver is told to go all the way to a command, infinite where it
        is not told.
    bounded, plain, profiled
        The dimensions with bounds of their own, of these those that nothing but a rate limits,
        and those that follow ``profile``.
    rotations, curvatures, angles
        The sets of dimensions that are one thing, and the dimensions that wrap.
    speeds
        Those that move the robot for as long as they are in force: velocities and efforts.
    followed
        The inputs that say whether the robot still does what was commanded.

    """

    def __init__(
        self,
        contract: Contract,
        *,
        low: Vector | None = None,
        high: Vector | None = None,
        rate: Vector | None = None,
        command_timeout: float | None = None,
    ) -> None:
        self.contract = contract
        self.groups = groups = contract.action
        self.lockstep, self.period = contract.is_lockstep, contract.period
        self.lockstep_deadline = contract.lockstep_deadline
        self.safety = contract.safety
        if command_timeout is not None:
            self.safety = replace(contract.safety, command_timeout=command_timeout)
        self.needs = _needs(contract)
        self.kinds = frozenset(map(type, contract.safety.rules))
        self.sensor_rules: Mapping[type, tuple[Any, ...]] = {
            kind: contract.safety.of(kind) for kind in self.kinds
        }
        self.names, self.unit = contract.command_dimensions, contract.command_unit
        self.low = low or contract.flat('low')
        self.high = high or contract.flat('high')
        self.rate = rate or contract.flat('rate')
        self.declared = tuple(zip(contract.flat('low'), contract.flat('high'), strict=True))
        self.safe = contract.flat('safe')
        self.acceleration, self.jerk = contract.flat('acceleration'), contract.flat('jerk')
        self.stop, self.deceleration = contract.flat('stop'), contract.flat('deceleration')
        self.within = tuple(
            group.source.duration if isinstance(group.source, Trajectory) else math.inf
            for group in groups
            for _ in group.low
        )
        self.reject_beyond = tuple(
            group.out_of_bounds is OutOfBounds.REJECT and i not in group.rotation
            for group in groups
            for i in range(group.size)
        )
        interfaces = (interface for group in groups for interface in group.interface)
        self.speeds = tuple(i for i, x in enumerate(interfaces) if x is not Interface.POSITION)
        self.curvatures = _sets(groups, 'scale_together')
        self.angles = tuple(i for wrap in _sets(groups, 'wrap') for i in wrap)
        self.rotations = tuple(
            Rotation(four, min(self.rate[i] for i in four)) for four in _sets(groups, 'rotation')
        )
        turned = {i for rotation in self.rotations for i in rotation.dimensions}
        self.bounded = tuple(i for i in range(len(self.low)) if i not in turned)
        checked = not self.lockstep and any(g.max_tracking_error for g in groups)
        self.followed = frozenset(f'{FEEDBACK}.{g.name}' for g in groups if checked)
        self.profile: MotionLimits | None
        self.plan()

    def of(self, rule: type[T]) -> tuple[T, ...]:
        """Return what the contract says to a rule with a sensor."""
        return self.sensor_rules.get(rule, ())

    def plan(self) -> None:
        """Set which dimensions follow a profile, and that."""
        limited = [min(both) < math.inf for both in zip(self.acceleration, self.jerk, strict=True)]
        self.profiled = tuple(i for i in self.bounded if limited[i])
        self.plain = tuple(i for i in self.bounded if not limited[i])
        self.profile = None
        if self.profiled:
            # The profile keeps the bounds of the contract; stricter ones, that are set while the
            # robot moves, are where it goes to, so that it does not jump to get inside of them.
            low, high = zip(*self.declared, strict=True)
            limits = (low, high, self.rate, self.acceleration, self.jerk)
            self.profile = MotionLimits(*(tuple(v[i] for i in self.profiled) for v in limits))

    def bounds_at(self, dimension: int, previous: Vector | None) -> tuple[float, float]:
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


def _needs(contract: Contract) -> Mapping[str, Need]:
    """Return what the gate goes by: distances and places, heartbeats, what the robot does."""
    safety = contract.safety
    timeout = safety.sensor_timeout
    needs: dict[str, Need] = {rule.input: rule.need(safety) for rule in safety.rules}
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


def _sets(groups: tuple[ActionSpec, ...], attribute: str) -> tuple[tuple[int, ...], ...]:
    """Return the sets of dimensions that groups name, counted over the whole command."""
    return tuple(
        tuple(part.start + i for i in getattr(group, attribute))
        for group, part in slices_of(groups)
        if getattr(group, attribute)
    )
