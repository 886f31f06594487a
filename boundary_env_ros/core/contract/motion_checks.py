# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion that the gate cannot keep: profiles, speeds to stop, room to stop in, places."""

from __future__ import annotations

from collections.abc import Iterator
import math

from boundary_env_ros.core.contract.model import ActionSpec, Contract, Interface, slices_of
from boundary_env_ros.core.contract.problem_text import Fault, Path, said
from boundary_env_ros.core.contract.safety import (
    Moves,
    Obstacle,
    STOPS_WITHIN,
    Workspace,
)
from boundary_env_ros.core.contract.sources import Vector

_IN_TIME = 'The command could not be lowered in time.'

#: Of a few sums of seconds and metres.
_ROUNDING = 1e-9


# Groups ------------------------------------------------------------------------------------------


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
    speeds: list[tuple[str, tuple[int, ...]]] = [
        (rule.input, (rule.dimension,)) for rule in safety.obstacles
    ]
    speeds += [(place.input, place.moved_by) for place in safety.workspaces]
    for rule, dimensions in speeds:
        for dimension in four.intersection(dimensions):
            actual = said(f'{rule} is about {contract.command_dimensions[dimension]}')
            yield (*path, 'rotation'), 'dimensions that no other rule is about', actual
    scales = safety.operator.scale if safety.operator is not None else ()
    if any(abs(scales[i] - 1.0) > 0.0 for i in four if i < len(scales)):
        expected = f'1 for the rotation of action.{group.name}'
        yield ('safety', 'operator', 'scale'), expected, list(scales)


# Obstacles ---------------------------------------------------------------------------------------


def obstacles(contract: Contract) -> Iterator[Fault]:
    """
    Ask that each rule is about a speed that it can bring to rest, in zones wide enough for that.

    What the gate needs to notice is counted in.
    """
    for rule in contract.safety.obstacles:
        fault = _no_speed(contract, rule)
        if fault is not None:
            expected, actual = fault
            name = contract.command_dimensions[rule.dimension]
            path = ('safety', 'obstacles', rule.name, 'dimension')
            yield path, expected, said(f'{name}, {actual}')
            continue
        low, high, rate = (contract.flat(name)[rule.dimension] for name in ('low', 'high', 'rate'))
        yield from _braking(contract, rule, max(abs(low), abs(high)), rate)


def too_slow(contract: Contract, low: Vector, high: Vector, rate: Vector) -> Iterator[Fault]:
    """Yield what the robot cannot brake for in time with other bounds and rates of the command."""
    for rule in contract.safety.obstacles:
        i = rule.dimension
        yield from _braking(contract, rule, max(abs(low[i]), abs(high[i])), rate[i])
    for place in contract.safety.workspaces:
        yield from _lowered(contract, place, ('safety', 'workspace', place.name), rate)


def _no_speed(contract: Contract, rule: Obstacle) -> tuple[str, str] | None:
    """Return why it is no speed that is 0 when the robot stops, and that may be as low as that."""
    index = rule.dimension
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
        return 'a dimension whose `safe` is 0, since to stop is to go there', _where(safe)
    return None


def _where(safe: float) -> str:
    return f'where it is {"hold_position" if math.isnan(safe) else f"{safe:g}"}'


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
    path = ('safety', 'obstacles', rule.name)
    slow = min(rule.slow_speed, fastest)
    delay = contract.period + 2.0 * rate / jerk
    room = rule.slow_distance - rule.stop_distance
    slowing = f'to slow down from {fastest:g} m/s at `max_acceleration`'
    needed = fastest * delay + max(0.0, fastest**2 - slow**2) / (2.0 * rate)
    if needed > room + _ROUNDING:
        expected = f'at least {_up(rule.stop_distance + needed)} m, {slowing}'
        yield (*path, 'slow_distance'), expected, rule.slow_distance
    # A sensor may be silent for almost its timeout, at the edge of either zone.
    reaction = contract.safety.gate_period + contract.safety.sensor_timeout
    braked = max(0.0, room - fastest * (reaction + delay))
    left = max(slow, math.sqrt(max(0.0, fastest**2 - 2.0 * rate * braked)))
    needed = left * reaction + left**2 / (2.0 * stop)
    if needed > rule.stop_distance + _ROUNDING:
        speed = 'slow_speed' if left == slow else f'the {left:.2f} m/s that may be left there'
        expected = (
            f'at least {_up(needed)} m, to stop from {speed} after sensor_timeout + gate_period'
        )
        yield (*path, 'stop_distance'), expected, rule.stop_distance
    # A speed of distance / time falls by speed / time each second, most at the fastest.
    needed = fastest / rate + delay
    if rule.time_to_collision is not None and needed > rule.time_to_collision + _ROUNDING:
        expected = f'at least {_up(needed)} s, {slowing}'
        yield (*path, 'time_to_collision'), expected, rule.time_to_collision


def _up(value: float) -> str:
    """Return a number rounded up, so that it is enough."""
    # At a rate of almost nothing it is more than any number.
    up = math.ceil(100.0 * (value - _ROUNDING)) / 100.0 if value < 1e12 else value
    return f'{up:.2f}'


# Workspaces --------------------------------------------------------------------------------------


def workspaces(contract: Contract, place: Workspace, path: Path) -> Iterator[Fault]:
    """Ask that a place is moved by speeds that can be brought to rest with its ``braking``."""
    yield from _units(contract, place, path)
    yield from _lowered(contract, place, path, contract.flat('rate'))
    for braking, dimension in zip(place.braking, place.moved_by, strict=True):
        moved = contract.command_dimensions[dimension]
        most = contract.flat('stop')[dimension]
        if braking > most:
            expected = f'not more than `max_deceleration` ({most:g}) of {moved}'
            yield (*path, 'braking'), expected, braking, _IN_TIME
        safe = contract.flat('safe')[dimension]
        if safe != 0.0:
            expected = 'a dimension whose `safe` is 0, so that to stop is to stand still'
            yield (*path, _key(place, dimension)), expected, said(f'{moved}, {_where(safe)}')


def _lowered(contract: Contract, place: Workspace, path: Path, rate: Vector) -> Iterator[Fault]:
    """Ask that commands are lowered as fast as the robot is said to slow down."""
    for braking, dimension in zip(place.braking, place.moved_by, strict=True):
        if braking > rate[dimension]:
            moved = contract.command_dimensions[dimension]
            expected = f'not more than `max_acceleration` ({rate[dimension]:g}) of {moved}'
            yield (*path, 'braking'), expected, braking, _IN_TIME


def _key(place: Workspace, dimension: int) -> str:
    return 'turn' if dimension == place.turn else 'dimensions'


def _units(contract: Contract, place: Workspace, path: Path) -> Iterator[Fault]:
    units = list(place.unit)
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
            yield at, f'a dimension of the command in {speed}', said(f'{moved}, in {actual}'), hint
            return
        if interface is not Interface.VELOCITY:
            actual = said(f'{moved}, which is {interface.value}')
            yield (*path, _key(place, dimension)), 'a velocity', actual
            return
