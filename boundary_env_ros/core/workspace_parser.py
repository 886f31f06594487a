# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The key ``workspace`` of the section ``safety``: places by name, and where they may be."""

from __future__ import annotations

import math

from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.geometry import is_simple
from boundary_env_ros.core.safety import Moves, OF_PLACE, Polygon, Workspace
from boundary_env_ros.core.source_parser import are_dimensions, parse_source, parse_unit, Values
from boundary_env_ros.core.sources import COMMAND_FORMS, Vector

_NO_BOUND = 'none'


def parse_workspaces(safety: Reader, size: int) -> tuple[Workspace, ...]:
    """Return the rules about places, in order; ``size`` is that of the command."""
    if not safety.has('workspace'):
        return ()
    section = safety.section('workspace')
    return tuple(_workspace(section.section(name), name, size) for name in sorted(section.named()))


def _workspace(key: Reader, name: str, size: int) -> Workspace:
    type_name = key.value(Workspace, 'type')
    values = parse_source(key, type_name, COMMAND_FORMS)
    before = len(key.problems)
    moves = key.value(Workspace, 'moves')
    if len(key.problems) > before and key.has('turn'):
        moves = Moves.BODY  # as it was meant: nothing more is to be said
    body = moves is Moves.BODY
    if body and values.count != 3:
        key.problem(
            ('fields',), 'three values with `moves: body`: x, y, yaw', said(f'{values.count}')
        )
    dimensions = _dimensions(key, values, size, body=body)
    turn = _turn(key, dimensions, size, body=body)
    before = len(key.problems)
    inside = key.inner('inside')
    count = 2 if body else values.count
    low, high = _bounds(inside, count)
    polygon: Polygon = ()
    if inside.has('polygon'):
        polygon = _polygon(inside, 'polygon')
        _plane(inside, ('polygon',), count)
    keep_out = _keep_out(key, count)
    margin = key.value(Workspace, 'margin')
    _room(inside, low, high, margin)
    bounded = any(bound is not None for bound in (*low, *high)) or polygon or keep_out
    if not bounded and len(key.problems) == before:
        key.problem((), 'a bound: `inside` with low, high or polygon, or `keep_out`', said('none'))
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
        margin=margin,
        braking=_braking(key, dimensions, turn),
    )
    key.finish()
    return workspace


def _dimensions(key: Reader, values: Values, size: int, *, body: bool) -> tuple[int, ...]:
    found = key.numbers(
        'dimensions', key.length('dimensions'), unit='dimensions of the command', least=0.0
    )
    if body:
        wanted, right = 'one or two: forward, and to the left', len(found) in (1, 2)
    else:
        wanted = f'{values.count}, one for each value of the place'
        right = len(found) == values.count
    if any(map(math.isnan, found)):
        return ()
    if not (right and are_dimensions(found, size)):
        key.problem(
            ('dimensions',),
            f'different dimensions of the command, below {size}: {wanted}',
            list(found),
        )
        return ()
    return tuple(map(int, found))


def _turn(key: Reader, dimensions: tuple[int, ...], size: int, *, body: bool) -> int | None:
    if not key.has('turn'):
        return None
    if not body:
        key.problem(('turn',), 'nothing, with `moves: axes`', said('it is there'))
        key.skip('turn')
        return None
    before = len(key.problems)
    turn = key.integer('turn', most=size - 1)
    if turn in dimensions and len(key.problems) == before:
        key.problem(('turn',), 'a dimension that is not in `dimensions`', turn)
    return turn


def _bounds(
    inside: Reader, count: int
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Return the bounds of each coordinate; None where there is none."""
    low, high = (
        inside.numbers(name, count, unit=f'{OF_PLACE}, or {_NO_BOUND}', words=(_NO_BOUND,))
        if inside.has(name)
        else (math.nan,) * count
        for name in ('low', 'high')
    )
    return tuple(map(_or_none, low)), tuple(map(_or_none, high))


def _room(
    inside: Reader, low: tuple[float | None, ...], high: tuple[float | None, ...], margin: float
) -> None:
    """Ask that something is left between the bounds of a coordinate."""
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least is not None and most is not None and most - least <= 2.0 * margin:
            inside.problem(
                ('high', index),
                f'more than low ({least:g}) and twice the margin ({margin:g})',
                most,
            )


def _or_none(bound: float) -> float | None:
    return None if math.isnan(bound) else bound


def _keep_out(key: Reader, count: int) -> tuple[tuple[str, Polygon], ...]:
    if not key.has('keep_out'):
        return ()
    section = key.section('keep_out')
    areas = [(name, _polygon(section, name)) for name in sorted(section.named())]
    if not areas:
        key.problem(('keep_out',), 'at least one area by name', said('none'))
    _plane(key, ('keep_out',), count)
    return tuple(areas)


def _polygon(section: Reader, name: str) -> Polygon:
    """Return the corners of an area; none if they do not make one."""
    before = len(section.problems)
    corners = section.points(name, unit=OF_PLACE)
    if len(section.problems) > before:
        return ()
    if len(corners) < 3:
        section.problem((name,), 'at least three corners', said(f'{len(corners)}'))
    elif not is_simple(corners):
        section.problem(
            (name,),
            'corners in order around an area, without an edge that meets another',
            said('edges that cross, touch or go back'),
            'Name each corner once; the last is joined to the first.',
        )
    else:
        return corners
    return ()


def _plane(key: Reader, path: tuple[str, ...], count: int) -> None:
    if count < 2:
        key.problem(path, 'a place of two values or more, for an area', said(f'{count}'))


def _braking(key: Reader, dimensions: tuple[int, ...], turn: int | None) -> Vector:
    if not dimensions:
        key.skip('braking')  # nobody knows how many
        return ()
    count = len(dimensions) + (turn is not None)
    braking: Vector = key.value(Workspace, 'braking', count=count)
    return braking
