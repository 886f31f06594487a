# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``safety`` of a contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

from boundary_env_ros.core.contract.group_checks import obstacle_faults, place_faults
from boundary_env_ros.core.contract.key import Key, parts_of
from boundary_env_ros.core.contract.problem_text import said
from boundary_env_ros.core.contract.safety import (
    Corridor,
    Moves,
    Obstacle,
    OF_PLACE,
    Operator,
    Polygon,
    Safety,
    Sector,
    Side,
    Workspace,
)
from boundary_env_ros.core.contract.sources import CLOUD, COMMAND_FORMS, RANGE, Vector
from boundary_env_ros.storage.contract.forms import dimension_form, Form, list_form, number_form
from boundary_env_ros.storage.contract.reader import Reader
from boundary_env_ros.storage.contract.sources import parse_source, parse_unit, Values


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
        'environment_timeout': silence,
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
        emergency_stop=''  # said to be none
        if key.is_word('emergency_stop', 'none')
        else key.value(Safety, 'emergency_stop'),
        obstacles=_obstacles(key, dimension),
        workspaces=tuple(
            _workspace(place, name, dimension) for name, place in _by_name(key, 'workspace')
        ),
        operator=_operator(key, len(dimensions)),
    )
    if safety.emergency_stop_heartbeat is not None and not safety.emergency_stop:
        key.problem(('emergency_stop_heartbeat',), 'a topic under `emergency_stop`', said('none'))
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
        key.problem(('fields',), expected, said(f'{values.count}'))
    return key.make(Operator, count=size, type=type_name, source=values.source)


# Obstacles ---------------------------------------------------------------------------------------


def _obstacles(safety: Reader, dimension: Form) -> tuple[Obstacle, ...]:
    """Return the only rule, or several in the order of their names."""
    if not safety.has('obstacle'):
        rules = _by_name(safety, 'obstacles')
        return tuple(_obstacle(rule, name, dimension) for name, rule in rules)
    if safety.has('obstacles'):
        safety.problem(('obstacles',), '`obstacle`, or several by name here', said('both'))
    return (_obstacle(safety.section('obstacle'), '', dimension),)


def _obstacle(key: Reader, name: str, dimension: Form) -> Obstacle:
    type_name = key.value(Obstacle, 'type')
    index, zone = key.one('dimension', dimension), _zone(key, type_name)
    rule = key.make(Obstacle, name=name, type=type_name, dimension=index, zone=zone)
    key.report(obstacle_faults(rule))
    return rule


def _zone(key: Reader, type_name: str) -> Sector | Side | Corridor:
    if not type_name:  # reported, and what else was meant is unknown
        for name in ('direction', *parts_of(Sector), *parts_of(Corridor)):
            key.has(name)
        return Sector(half_angle=math.nan)
    if type_name == RANGE:
        side: Side = key.value(Obstacle, 'direction')
        return side
    return key.make(Corridor) if type_name == CLOUD else key.make(Sector)


# Places ------------------------------------------------------------------------------------------


def _workspace(key: Reader, name: str, dimension: Form) -> Workspace:
    type_name = key.value(Workspace, 'type')
    values = parse_source(key, type_name, COMMAND_FORMS)
    before = len(key.problems)
    moves = key.value(Workspace, 'moves')
    if len(key.problems) > before and key.has('turn'):
        moves = Moves.BODY  # as it was meant: nothing more is to be said
    body = moves is Moves.BODY
    dimensions = _dimensions(key, values, dimension, body=body)
    turn = _turn(key, dimension, body=body)
    before = len(key.problems)
    inside = key.inner('inside')
    count = 2 if body else values.count
    low, high = (_bounds(inside, bound, count) for bound in ('low', 'high'))
    has_area = inside.has('polygon') or key.has('keep_out')
    polygon = _polygon(inside, 'polygon') if inside.has('polygon') else ()
    keep_out = tuple((area, _polygon(one, area)) for area, one in _areas(key))
    bounded = any(bound is not None for bound in (*low, *high)) or has_area
    if not bounded and len(key.problems) == before:
        key.problem((), 'a bound: `inside` with low, high or polygon, or `keep_out`', said('none'))
    if has_area and count < 2:
        path = ('inside', 'polygon') if inside.has('polygon') else ('keep_out',)
        key.problem(path, 'a place of two values or more, for an area', said(f'{count}'))
    workspace = key.make(
        Workspace,
        name=name,
        type=type_name,
        source=values.source,
        unit=parse_unit(key, values, Workspace),
        moves=moves,
        dimensions=dimensions,
        turn=turn,
        low=low,
        high=high,
        polygon=polygon,
        keep_out=keep_out,
        braking=_braking(key, len(dimensions), turns=body and key.has('turn')),
    )
    key.report(place_faults(workspace, values.count))
    return workspace


def _dimensions(key: Reader, values: Values, form: Form, *, body: bool) -> tuple[int, ...]:
    if not key.has('dimensions') or not form.words:
        key.many('dimensions', form)
        return ()
    wanted, right = f'{values.count}, one for each value of the place', {values.count}
    if body:
        wanted, right = 'one or two, forward and to the left', {1, 2}
    return key.different('dimensions', form, f'different dimensions: {wanted}', right)


def _turn(key: Reader, form: Form, *, body: bool) -> int | None:
    if not key.has('turn'):
        return None
    if body:
        found: int | None = key.one('turn', replace(form, unfit=None))
        return found
    key.problem(('turn',), 'no `turn` with `moves: axes`', said('one'))
    return None


def _bounds(inside: Reader, name: str, count: int) -> tuple[float | None, ...]:
    """Return a bound of each coordinate; None where there is none."""
    if not inside.has(name):
        return (None,) * count
    form = number_form(Key(unit=f'{OF_PLACE}, or none', words=('none',)))
    return tuple(
        None if math.isnan(bound) else bound for bound in inside.many(name, form, count=count)
    )


def _areas(key: Reader) -> list[tuple[str, Reader]]:
    if not key.has('keep_out'):
        return []
    section = key.section('keep_out')
    areas = [(name, section) for name in sorted(section.named())]
    if not areas:
        key.problem(('keep_out',), 'at least one area by name', said('none'))
    return areas


def _polygon(section: Reader, name: str) -> Polygon:
    """Return the corners of an area; none if they could not be read."""
    before = len(section.problems)
    expected = f'a list of points [x, y] ({OF_PLACE})'
    corners: Polygon = section.many(name, list_form(OF_PLACE, 2), expected=expected)
    if len(section.problems) > before:
        return ()
    if len(corners) < 3:
        section.problem((name,), 'at least three corners', said(f'{len(corners)}'))
        return ()
    return corners


def _braking(key: Reader, count: int, *, turns: bool) -> Vector:
    if not count:
        key.has('braking')  # how many is unknown
        return ()
    braking: Vector = key.value(Workspace, 'braking', count=count + turns)
    return braking
