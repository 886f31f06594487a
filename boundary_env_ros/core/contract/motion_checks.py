# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion that the gate cannot keep: profiles, parts of a rotation, long stops."""

from __future__ import annotations

from collections.abc import Iterator
import math

from boundary_env_ros.core.contract.model import ActionSpec, Contract, Interface, slices_of
from boundary_env_ros.core.contract.problem_text import Fault, Path, said
from boundary_env_ros.core.contract.safety import STOPS_WITHIN


def motion(contract: Contract) -> Iterator[Fault]:
    """Yield what a group needs of the gate to move as it says, and what does not fit it."""
    for group, part in slices_of(contract.action):
        path = ('action', group.name)
        if min(*group.acceleration, *group.jerk) < math.inf:
            yield from _profile(contract, group, path)
        yield from _rotation(contract, group, part.start, path)
        yield from _deactivation(group, path)


def _profile(contract: Contract, group: ActionSpec, path: Path) -> Iterator[Fault]:
    """
    Ask for a gate that goes on along the profile between two actions.

    A command is never given more than one period of the profile. If the one before it were older,
    the robot would have stood still for the rest of that time, and its sequence would have a kink.
    """
    period, limits = contract.period, f'with `{_profile_key(group)}`'
    duration = getattr(group.source, 'duration', math.inf)
    if duration < period:
        hint = (
            'The profile is that of a driver that takes as long to a point as the gate to the '
            'next.'
        )
        yield (*path, 'duration'), f'at least period ({period:g} s), {limits}', duration, hint
    most, again = period - contract.safety.gate_period, contract.safety.republish_period
    if again is None or not again <= most:
        expected = f'at most period - gate_period ({most:g} s), {limits} (action.{group.name})'
        hint = 'Between two actions the gate then goes on along the profile.'
        actual = said('nothing') if again is None else again
        yield ('safety', 'republish_period'), expected, actual, hint


def _profile_key(group: ActionSpec) -> str:
    """Return the key that asks for a profile."""
    positions = Interface.POSITION in group.interface and group.max_acceleration
    return 'max_acceleration' if positions else 'max_jerk'


def _deactivation(group: ActionSpec, path: Path) -> Iterator[Fault]:
    """
    Ask for a driver that brakes by itself where the stop profile takes long.

    A gate that is deactivated or ended follows the profile for so long, and is silent then.
    """
    bounds = zip(group.low, group.high, group.safe, group.stop, strict=True)
    moving = (one for one in bounds if not math.isnan(one[2]))
    times = (max(high - safe, safe - low) / stop for low, high, safe, stop in moving)
    longest = max(times, default=0.0)
    if group.driver_timeout is None and longest > STOPS_WITHIN:
        expected = (
            f'seconds, with a stop that takes up to {longest:g} s (from the bounds to `safe`)'
        )
        hint = (
            f'A gate that is deactivated or ended brakes for {STOPS_WITHIN:g} s and falls silent; '
            'such a driver would go on at what is left.'
        )
        yield (*path, 'driver_timeout'), expected, said('none'), hint


def _rotation(contract: Contract, group: ActionSpec, start: int, path: Path) -> Iterator[Fault]:
    """Refuse rules that take a part of a quaternion for a speed or a place."""
    safety, four = contract.safety, {start + i for i in group.rotation}
    for rule in safety.rules:
        for dimension in four.intersection(rule.moved_by):
            actual = said(f'{rule.input} is about {contract.command_dimensions[dimension]}')
            yield (*path, 'rotation'), 'dimensions that no other rule is about', actual
    scales = safety.operator.scale if safety.operator is not None else ()
    if any(abs(scales[i] - 1.0) > 0.0 for i in four if i < len(scales)):
        expected = f'1 for the rotation of action.{group.name}'
        yield ('safety', 'operator', 'scale'), expected, list(scales)
