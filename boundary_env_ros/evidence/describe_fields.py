# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fields and action groups of a contract, drawn for a reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
import math
import textwrap

from boundary_env_ros.core.contract import (
    ActionKind,
    ActionSpec,
    Beyond,
    FieldSpec,
    WhenStale,
)
from boundary_env_ros.core.sources import (
    Array,
    Beams,
    Joints,
    Lookup,
    Paths,
    Picture,
    Points,
    Source,
    Trajectory,
)

_STALE = {
    WhenStale.MARK: 'it says so',
    WhenStale.HOLD: 'the gate holds the robot at its safe command',
    WhenStale.TRUNCATE: 'the episode ends (sensor_lost)',
}
_BEYOND = {
    Beyond.CLIP: 'brought inside, and marked so',
    Beyond.TRUNCATE: 'brought inside, and the episode ends (sensor_lost)',
}
_REFUSED = {
    Beyond.CLIP: 'limited, and said so (LIMITED)',
    Beyond.REJECT: 'the whole action is refused (REJECTED)',
}
_CHOSEN = {
    ActionKind.CONTINUOUS: 'the command itself',
    ActionKind.DELTA: 'by how much the command is to differ from the last one',
    ActionKind.DISCRETE: 'one of the commands below, by its index',
    ActionKind.MULTI_DISCRETE: 'for each dimension one of its levels, by its index',
}

Row = Sequence[str]


def number(value: float) -> str:
    """Return a number as short as it can be; ``hold`` for NaN."""
    return 'hold' if math.isnan(value) else f'{value:.6g}'


def describe_field(field: FieldSpec, width: int) -> Iterator[str]:
    """Yield the lines of one field of observation, state or evaluator."""
    frame = f', frame {field.frame}' if field.frame else ''
    shape = 'x'.join(map(str, field.shape))
    yield f'  {field.name}  [{shape}] rank {len(field.shape)}, {field.dtype}{frame}'
    yield from _indented(_origin(field), width)
    if not field.low:
        yield '      each pixel as its encoding has it'
    else:
        yield from _table(_values(field))
    rules = []
    if field.low and field.derived is None:
        rules.append(f'out of bounds: {_BEYOND[field.beyond]}')
    if field.max_age is not None:
        rules.append(f'older than {number(field.max_age)} s: {_STALE[field.when_stale]}')
    elif field.derived is None and not field.task:
        rules.append('does not age')
    if field.skew is not None:
        rules.append(
            f'more than {number(field.skew)} s behind the newest that has a skew: as if too old'
        )
    if field.confidence is not None:
        confidence = field.confidence
        rules.append(
            f'confidence: {confidence.field}'
            if confidence.field
            else f'confidence: that it is within {number(confidence.tolerance)}, by the variance '
            f'{confidence.variance}'
        )
    yield from _indented('; '.join(rules), width)


def _origin(field: FieldSpec) -> str:
    if field.task:
        return f'from the task: {field.task}'
    if field.derived is not None:
        derived = field.derived
        parameters = [f'{name}: {value}' for name, value in derived.parameters.items()]
        return f'derived: {derived.function}({", ".join([*derived.of, *parameters])})'
    source = field.source
    if isinstance(source, Lookup):
        return f'from tf: {source.source} in {source.target}'
    qos = [
        *(['reliable'] if field.qos.reliable else []),
        *(['latched'] if field.qos.transient_local else []),
        *([f'depth {field.qos.depth}'] if field.qos.depth != 10 else []),
    ]
    listened = f', {", ".join(qos)}' if qos else ''
    return f'from {field.topic} ({field.type}{listened}){_form(source)}'


def _form(source: Source | None) -> str:
    match source:
        case Beams(count=count):
            return f': nearest return of each of {count} equal sectors'
        case Points(count=count, pad=pad):
            return f': {count} points, {", ".join(map(number, pad))} where there are too few'
        case Picture(encoding=encoding, compressed=compressed):
            return f': {encoding}' + (f', compressed as {compressed}' if compressed else '')
    return ''


def _values(field: FieldSpec) -> list[Row]:
    """Return what each value is, its unit and bounds; one row for neighbours that are alike."""
    names = _names(field.source)
    if field.is_image:
        return [('each pixel', _unit(field.unit[0]), _bounds(field.low[0], field.high[0]))]
    rows = list(zip(map(_unit, field.unit), map(_bounds, field.low, field.high), strict=True))
    if names:
        return [(name, *row) for name, row in zip(names, rows, strict=False)]
    found: list[Row] = []
    first = 0
    for row, some in groupby(rows):
        last = first + len(list(some)) - 1
        found.append((f'[{first}]' if last == first else f'[{first}..{last}]', *row))
        first = last + 1
    return found


def _bounds(low: float, high: float) -> str:
    return f'{number(low)} .. {number(high)}'


def _names(source: Source | None) -> tuple[str, ...]:
    match source:
        case Paths(paths=paths) | Lookup(paths=paths):
            return paths
        case Joints(names=names, quantities=quantities):
            return tuple(f'{name} {quantity}' for quantity in quantities for name in names)
        case Points(channels=channels):
            return channels
    return ()


# Action ------------------------------------------------------------------------------------------


def describe_group(group: ActionSpec, width: int) -> Iterator[str]:
    """Yield the lines of one group of the action."""
    kind = group.kind.value.replace('_', '-')
    size = group.action_size
    yield f'  {group.name}  [{size}] rank 1, {kind}'
    yield from _indented(_CHOSEN[group.kind], width)
    frame = f', frame {group.frame}' if group.frame else ''
    form = ''
    if isinstance(group.source, Trajectory):
        form = f': one point, {number(group.source.duration)} s ahead'
    elif isinstance(group.source, Array):
        form = f': {group.source.path}'
    does = ' and '.join(dict.fromkeys(one.value for one in group.interface))
    yield from _indented(f'{does}, to {group.topic} ({group.type}{frame}){form}', width)
    head: Row = ('', 'unit', 'bounds', 'safe', 'rate', 'stop', 'evidence')
    delta = group.kind is ActionKind.DELTA
    names = group.dimensions
    rows = [
        (
            name,
            _unit(group.unit[index]),
            _bounds(group.low[index], group.high[index]),
            number(group.safe[index]),
            f'{number(group.rate[index])}/s',
            f'{number(group.stop[index])}/s',
            number(group.feedback.threshold[index]),
            *([f'+-{number(group.most[index])}'] if delta else []),
        )
        for index, name in enumerate(names)
    ]
    yield from _table([(*head, *(['at once'] if delta else [])), *rows])
    for index, (name, values) in enumerate(group.choices):
        yield from _indented(f'{index}  {name}: {", ".join(map(number, values))}', width)
    for name, levels in zip(names, group.levels, strict=False):
        yield from _indented(f'{name}: {", ".join(map(number, levels))}', width)
    feedback = group.feedback
    measured = ', '.join(_names(feedback.source)) or _form(feedback.source).lstrip(': ')
    yield from _indented(
        f'measured by {feedback.topic} ({feedback.type}){": " if measured else ""}{measured}',
        width,
    )
    driver = (
        'THE DRIVER NEVER STOPS BY ITSELF (acknowledged)'
        if group.driver_timeout is None
        else f'the driver stops by itself after {number(group.driver_timeout)} s'
    )
    yield from _indented(f'out of bounds: {_REFUSED[group.beyond]}; {driver}', width)


def _unit(unit: str) -> str:
    return unit or '-'


def _table(rows: Sequence[Row]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = '  '.join(f'{cell:<{width}}' for cell, width in zip(row, widths, strict=True))
        yield f'      {cells}'.rstrip()


def _indented(text: str, width: int) -> list[str]:
    """Return a text below the name of its field; what goes on hangs."""
    return textwrap.wrap(
        text,
        width,
        initial_indent='    ',
        subsequent_indent='        ',
        break_long_words=False,
        break_on_hyphens=False,
    )
