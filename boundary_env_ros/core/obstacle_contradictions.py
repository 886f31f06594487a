# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rules about obstacles that the action cannot keep: no speed to stop, no room to stop in."""

from __future__ import annotations

import math
from operator import attrgetter

from boundary_env_ros.core.contract import Contract, Interface
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.obstacle_parser import obstacle_path
from boundary_env_ros.core.safety import Obstacle

#: Of a few sums of seconds and metres.
_ROUNDING = 1e-9


def report_obstacles(contract: Contract, top: Reader) -> None:
    """
    Ask that each rule is about a speed that it can bring to rest, in zones wide enough for that.

    What the gate needs to notice is counted in.
    """
    if any(problem.path[:1] == ('action',) for problem in top.problems):
        return  # nobody knows what the dimensions are
    for rule in contract.safety.obstacles:
        if rule.dimension < contract.command_size and _is_speed(contract, rule, top):
            _braking(contract, rule, top)


def _is_speed(contract: Contract, rule: Obstacle, top: Reader) -> bool:
    """Ask for a speed that is 0 when the robot stops, and that may be as low as that."""
    index = rule.dimension
    unit, safe = contract.command_unit[index], contract.flat('safe')[index]
    low, high = contract.flat('low')[index], contract.flat('high')[index]
    interface = [one for group in contract.action for one in group.interface][index]
    if interface is not Interface.VELOCITY:
        expected, actual = 'a velocity', f'which is {interface.value}'
    elif unit != 'm/s':
        expected, actual = 'a dimension in m/s', f'which is in {unit!r}'
    elif low > 0.0 or high < 0.0:
        expected = 'a dimension whose bounds hold 0, since the robot may have to stand'
        actual = f'which is from {low:g} to {high:g}'
    elif safe != 0.0:
        expected = 'a dimension whose `safe` is 0, since to stop is to go there'
        actual = f'where it is {"hold" if math.isnan(safe) else f"{safe:g}"}'
    else:
        return True
    top.problem((*obstacle_path(rule), 'dimension'), expected, said(f'{index}, {actual}'))
    return False


def _braking(contract: Contract, rule: Obstacle, top: Reader) -> None:
    """
    Ask for zones that are wide enough to brake in.

    From v to w at a rate r takes (v^2 - w^2) / (2 r). A rate that has to build up at a limited
    acceleration a, and that at a limited jerk j, costs up to r / a + a / j more, as an S-curve
    from one constant speed to another does; and as much again if the speed was rising at its rate
    when it had to fall.
    """
    stop, rate, low, high = (
        contract.flat(name)[rule.dimension] for name in ('stop', 'rate', 'low', 'high')
    )
    if not (stop > 0.0 and rate > 0.0 and rule.stop_distance < rule.slow_distance):
        return
    path, fastest = obstacle_path(rule), max(abs(low), abs(high))
    slow = min(rule.slow_speed, fastest)
    delay = contract.period + _build_up(contract, rule.dimension, rate)
    room = rule.slow_distance - rule.stop_distance
    needed = fastest * delay + max(0.0, fastest**2 - slow**2) / (2.0 * rate)
    if needed > room + _ROUNDING:
        top.problem(
            (*path, 'slow_distance'),
            f'at least {_up(rule.stop_distance + needed)} m, to slow down from {fastest:g} m/s '
            'at `rate`',
            rule.slow_distance,
        )
    # A sensor may be silent for almost its timeout, at the edge of either zone.
    reaction = contract.safety.gate_period + contract.safety.sensor_timeout
    braked = max(0.0, room - fastest * (reaction + delay))
    left = max(slow, math.sqrt(max(0.0, fastest**2 - 2.0 * rate * braked)))
    needed = left * reaction + left**2 / (2.0 * stop)
    if needed > rule.stop_distance + _ROUNDING:
        top.problem(
            (*path, 'stop_distance'),
            f'at least {_up(needed)} m, to stop from {_speed_at_stop(left, slow)} after '
            'sensor_timeout + gate_period',
            rule.stop_distance,
        )
    # A speed of distance / time falls by speed / time each second, most at the fastest.
    needed = fastest / rate + delay
    if rule.time_to_collision is not None and needed > rule.time_to_collision + _ROUNDING:
        top.problem(
            (*path, 'time_to_collision'),
            f'at least {_up(needed)} s, to slow down from {fastest:g} m/s at `rate`',
            rule.time_to_collision,
        )


def _up(value: float) -> str:
    """Return a number rounded up, so that it is enough."""
    # At a rate of almost nothing it is more than any number.
    up = math.ceil(100.0 * (value - _ROUNDING)) / 100.0 if value < 1e12 else value
    return f'{up:.2f}'


def _speed_at_stop(speed: float, slow_speed: float) -> str:
    if speed == slow_speed:
        return 'slow_speed'
    return f'the {speed:.2f} m/s that may be left there'


def _build_up(contract: Contract, dimension: int, rate: float) -> float:
    """Return the seconds that a change takes longer because its rate has to build up."""
    acceleration, jerk = (
        [v for g in contract.action for v in limit(g) or (math.inf,) * g.size][dimension]
        for limit in (attrgetter('acceleration'), attrgetter('jerk'))
    )
    highest = min(acceleration, math.sqrt(rate * jerk))
    return 2.0 * (rate / highest + highest / jerk) if highest < math.inf else 0.0
