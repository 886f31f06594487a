# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``safety`` of a contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
import math
from typing import Any

from boundary_env_ros.core.contract.key import parts_of
from boundary_env_ros.core.contract.problem_text import Text
from boundary_env_ros.core.contract.safety import (
    Corridor,
    Operator,
    Safety,
    Sector,
    Side,
)
from boundary_env_ros.core.contract.sources import CLOUD, COMMAND_FORMS, RANGE
from boundary_env_ros.core.gate.rules.obstacles import Obstacle
from boundary_env_ros.core.gate.rules.rule import SensorRule
from boundary_env_ros.core.gate.rules.stopping import SENSOR_RULES
from boundary_env_ros.core.gate.rules.workspace import Moves, Workspace
from boundary_env_ros.storage.contract.forms import dimension_form, Form
from boundary_env_ros.storage.contract.section_reader import Reader
from boundary_env_ros.storage.contract.sources import parse_source, parse_unit


def parse_safety(key: Reader, dimensions: Sequence[str], period: float) -> Safety:
    """
    Return what the gate enforces.

    Parameters
    ----------
    key
        The section.
    dimensions
        Names of the dimensions of the command.
    period
        Seconds between two actions of one agent, from which the defaults follow.

    """
    dimension = dimension_form({name: index for index, name in enumerate(dimensions)})
    # What stops the robot comes first; what ends an episode has more patience.
    silence, ending = max(0.1, min(3.0 * period, 0.5)), max(0.5, 4.0 * period)
    command_timeout = key.value(Safety, 'command_timeout', default=silence)
    usual_hold = min(1.5 * period, (period + command_timeout) / 2.0)
    hold_timeout = key.value(Safety, 'hold_timeout', default=usual_hold)
    if command_timeout <= hold_timeout and key.has('command_timeout'):
        least = f'more than hold_timeout ({hold_timeout:g} s)'
        key.problem(('command_timeout',), least, command_timeout)
    elif command_timeout <= hold_timeout:
        most = f'less than command_timeout ({command_timeout:g} s, its default)'
        key.problem(('hold_timeout',), most, hold_timeout)
    usual = {
        'gate_period': min(0.02, period),
        'policy_timeout': max(1.0, 10.0 * period),
        # At short periods a hiccup of the machine is longer than three of them, and its silence
        # ends the episode; without it the policy has nothing to answer, and is soon silent too.
        'environment_timeout': max(0.25, silence),
        'gate_timeout': ending,
        'robot_timeout': ending,
        'sensor_timeout': silence,
        'max_action_age': silence,
    }
    safety = key.make(
        Safety,
        command_timeout=command_timeout,
        hold_timeout=hold_timeout,
        **{name: key.value(Safety, name, default=value) for name, value in usual.items()},
        rules=tuple(
            _READERS.get(rule, partial(_sensor_rule, rule))(section, name, dimension)
            for rule in SENSOR_RULES
            for name, section in _by_name(key, rule.section)
        ),
        operator=_operator(key, len(dimensions)),
    )
    if safety.emergency_stop_heartbeat is not None and not safety.emergency_stop:
        key.problem(('emergency_stop_heartbeat',), 'a topic under `emergency_stop`', Text('none'))
    rule = safety.overruns
    if rule is not None and rule.exceeded > rule.of:
        key.problem(('overruns', 'exceeded'), f'at most `of` ({rule.of})', rule.exceeded)
    return safety


def _by_name(key: Reader, name: str) -> list[tuple[str, Reader]]:
    """Return sections by the names of the user's choice; how they stand has no meaning."""
    if not key.has(name):
        return []
    section = key.section(name)
    return [(one, section.section(one)) for one in sorted(section.named())]


def _operator(safety: Reader, size: int) -> Operator | None:
    if not safety.has('operator'):
        return None
    key = safety.section('operator')
    type_name = key.value(Operator, 'type')
    values = parse_source(key, type_name, COMMAND_FORMS)
    if values.count != size:
        expected = f'{size} values, one for each dimension of the command'
        key.problem(('fields',), expected, Text(f'{values.count}'))
    return key.make(Operator, count=size, type=type_name, source=values.source)


# Rules with a sensor of their own ----------------------------------------------------------------


def _sensor_rule(
    rule: type[SensorRule], key: Reader, name: str, dimension: Form, **known: Any
) -> SensorRule:
    """Return what is said to a rule under one name; some of it may be known already."""
    read = key.make(rule, dimension=dimension, name=name, **known)
    key.report(read.faults())
    return read


def _obstacle(key: Reader, name: str, dimension: Form) -> SensorRule:
    type_name = key.value(Obstacle, 'type')
    zone = _zone(key, type_name)
    return _sensor_rule(Obstacle, key, name, dimension, type=type_name, zone=zone)


def _zone(key: Reader, type_name: str) -> Sector | Side | Corridor:
    if not type_name:  # reported, and what else was meant is unknown
        for name in ('direction', *parts_of(Sector), *parts_of(Corridor)):
            key.has(name)
        return Sector(half_angle=math.nan)
    if type_name == RANGE:
        side: Side = key.value(Obstacle, 'direction')
        return side
    return key.make(Corridor) if type_name == CLOUD else key.make(Sector)


def _workspace(key: Reader, name: str, dimension: Form) -> SensorRule:
    type_name = key.value(Workspace, 'type')
    values = parse_source(key, type_name, COMMAND_FORMS)
    moves, turn = key.value(Workspace, 'moves'), key.value(Workspace, 'turn', dimension=dimension)
    wanted, right = f'{values.count}, one for each value of the place', {values.count}
    if moves is Moves.BODY:
        wanted, right = 'one or two, forward and to the left', {1, 2}
    dimensions = key.value(Workspace, 'dimensions', dimension=dimension)
    body = moves is Moves.BODY or turn is not None
    if body and moves is not Moves.BODY:
        key.problem(('moves',), 'body, with `turn`', Text(moves.value))
        turn, dimensions = None, ()
    elif dimension.words and len(dimensions) not in right:
        key.problem(('dimensions',), f'different dimensions: {wanted}', Text(f'{len(dimensions)}'))
        dimensions = ()
    inside = key.section('inside', required=False)
    given = [*map(inside.has, ('low', 'high', 'polygon')), key.has('keep_out')]
    if not any(given):
        key.problem((), 'a bound: `inside` with low, high or polygon, or `keep_out`', Text('none'))
    braking = len(dimensions) + (turn is not None)
    key.has('braking')
    unit = parse_unit(key, values, Workspace)
    return _sensor_rule(
        Workspace,
        key,
        name,
        dimension,
        count=2 if body else values.count,
        type=type_name,
        source=values.source,
        # One too many or too few is reported, and nothing more is to be said of that.
        unit=unit if len(unit) == values.count else unit[:1] * values.count,
        moves=moves,
        dimensions=dimensions,
        turn=turn,
        braking=key.value(Workspace, 'braking', count=braking) if dimensions else (),
    )


#: Rules whose keys decide on each other.
_READERS: Mapping[type[SensorRule], Callable[..., SensorRule]] = {
    Obstacle: _obstacle,
    Workspace: _workspace,
}
