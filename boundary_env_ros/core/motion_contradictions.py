# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What groups say of their motion, held against the rest of the contract."""

from __future__ import annotations

from collections.abc import Iterator
import math

from boundary_env_ros.core.contract import ActionSpec, Contract
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.safety import STOPS_WITHIN


def report_motion(contract: Contract, top: Reader) -> None:
    """Report what a group needs of the gate to move as it says, and what does not fit it."""
    start = 0
    for group in contract.action:
        if group.acceleration or group.jerk:
            _profile(contract, group, top)
        _rotation(contract, group, start, top)
        _deactivation(group, top)
        start += group.size


def _profile(contract: Contract, group: ActionSpec, top: Reader) -> None:
    """
    Ask for a gate that goes on along the profile between two actions.

    A command is never given more than one period of the profile. If the one before it were older,
    the robot would have stood still for the rest of that time, and its sequence would have a kink.
    """
    most = contract.period - contract.safety.gate_period
    duration = getattr(group.source, 'duration', math.inf)
    if duration < contract.period:
        top.problem(
            ('action', group.name, 'duration'),
            f'at least period ({contract.period:g} s), with `acceleration` or `jerk`',
            duration,
            'The profile is that of a driver that takes as long to a point as the gate to the '
            'next.',
        )
    again = contract.safety.republish
    if again is not None and again <= most:
        return
    top.problem(
        ('safety', 'republish'),
        f'at most period - gate_period ({most:g} s), with `acceleration` or `jerk` '
        f'(action.{group.name})',
        said('nothing') if again is None else again,
        'Between two actions the gate then goes on along the profile.',
    )


def _deactivation(group: ActionSpec, top: Reader) -> None:
    """
    Ask for a driver that brakes by itself where the stop profile takes long.

    A gate that is deactivated or ended follows the profile for so long, and is silent then.
    """
    if group.driver_timeout is not None:
        return
    longest = max(
        (
            max(high - safe, safe - low) / stop
            for low, high, safe, stop in zip(
                group.low, group.high, group.safe, group.stop, strict=True
            )
            if not math.isnan(safe)
        ),
        default=0.0,
    )
    if longest > STOPS_WITHIN:
        top.problem(
            ('action', group.name, 'driver_timeout'),
            f'seconds, with a stop that takes up to {longest:g} s (from the bounds to `safe`, at '
            '`stop`)',
            said('none'),
            f'A gate that is deactivated or ended brakes for {STOPS_WITHIN:g} s and falls silent; '
            'such a driver would go on at what is left.',
        )


def _rotation(contract: Contract, group: ActionSpec, start: int, top: Reader) -> None:
    """Refuse rules that take a part of a quaternion for a speed or a place."""
    path = ('action', group.name, 'rotation')
    four = {start + i for i in group.rotation}
    for dimension, what in _used_as_speed(contract):
        if dimension in four:
            top.problem(path, 'dimensions that no other rule is about', said(what))
    operator = contract.safety.operator
    scales = operator.scale if operator is not None else ()
    if any(scales[i] != 1.0 for i in four if i < len(scales)):
        top.problem(
            ('safety', 'operator', 'scale'),
            f'1 for the rotation of action.{group.name}',
            list(scales),
        )


def _used_as_speed(contract: Contract) -> Iterator[tuple[int, str]]:
    for rule in contract.safety.obstacles:
        yield rule.dimension, f'{rule.input} is about dimension {rule.dimension}'
    for place in contract.safety.workspaces:
        turn = () if place.turn is None else (place.turn,)
        for dimension in (*place.dimensions, *turn):
            yield dimension, f'{place.input} is about dimension {dimension}'
