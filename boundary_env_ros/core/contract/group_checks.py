# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What keys of one field or of one group of the action cannot say together."""

from __future__ import annotations

from collections.abc import Iterator
import math

import numpy as np

from boundary_env_ros.core.contract.grammar import COMMAND_PATH
from boundary_env_ros.core.contract.model import (
    ActionKind,
    ActionSpec,
    FieldSpec,
    Interface,
    OnStale,
)
from boundary_env_ros.core.contract.paths import split_call
from boundary_env_ros.core.contract.problem_text import Fault, Path, Text
from boundary_env_ros.core.contract.sources import (
    COMPRESSED,
    DECOMPRESSED,
    ENCODINGS,
    Paths,
    Picture,
    Points,
)
from boundary_env_ros.core.vectors import ROOM, Vector

_MOST_FLOAT32 = float(np.finfo(np.float32).max)


def bounds(low: Vector, high: Vector, float32: str = '') -> Iterator[Fault]:
    """
    Yield bounds that are none.

    ``float32`` says what to expect of a bound that a number of 32 bits cannot have; empty if the
    numbers of the space are of more.
    """
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least > most:
            yield ('high', index), f'a bound not below low ({least:g})', most
        for name, value in (('low', least), ('high', most)):
            if float32 and abs(value) > _MOST_FLOAT32:
                yield (name, index), float32, value


def inside(path: Path, values: Vector, low: Vector, high: Vector) -> Iterator[Fault]:
    """Yield values that are out of the bounds."""
    for index, (value, least, most) in enumerate(zip(values, low, high, strict=True)):
        if (value < least or value > most) and least <= most:
            yield (*path, index), f'a value in [{least:g}, {most:g}]', value


def field_faults(field: FieldSpec) -> Iterator[Fault]:
    """Yield what is wrong with a field, by the paths below it."""
    source, low, high = field.source, field.low, field.high
    float32 = 'a bound that float32 can hold, or `dtype: float64`'
    if isinstance(source, Picture):
        float32 = 'a bound that a pixel of 32FC1 can have'
        yield from _picture(field, source)
    yield from bounds(low, high, float32 if field.dtype == 'float32' else '')
    if isinstance(source, Points):
        some = len(source.pad)
        yield from inside(('pad',), source.pad, low[:some], high[:some])
    stale = field.on_stale
    if stale is not OnStale.MARK and field.max_age is None:
        yield ('max_age',), f'an age (s) for `on_stale: {stale.value}`', Text('nothing')


def _picture(field: FieldSpec, source: Picture) -> Iterator[Fault]:
    encoding, shape = source.encoding, field.shape
    if field.type == COMPRESSED and encoding and encoding not in DECOMPRESSED:
        yield ('encoding',), f'one of {", ".join(DECOMPRESSED)}', encoding
    if source.compressed == 'jpeg' and field.dtype != 'uint8':
        yield ('encoding',), 'an encoding of 8 bits for jpeg', encoding
    channels = ENCODINGS[encoding][0] if encoding else shape[2]
    if shape[2] != channels:
        yield ('shape', 2), f'{channels} channels for {encoding}', shape[2]
    if encoding == '32FC1' and not field.low[0] <= source.invalid <= field.high[0]:
        expected = f'a value in [{field.low[0]:g}, {field.high[0]:g}]'
        yield ('invalid',), expected, source.invalid
    for name, bound in (*(('low', b) for b in field.low), *(('high', b) for b in field.high)):
        whole = math.isnan(bound) or (bound.is_integer() and 0.0 <= bound <= 65535.0)
        if encoding == '16UC1' and not whole:
            yield (name,), 'a whole number from 0 to 65535 for 16UC1', bound


def group_faults(group: ActionSpec) -> Iterator[Fault]:
    """Yield what is wrong with a group, by the paths below it."""
    low, high = group.low, group.high
    yield from _paths(group.source)
    yield from bounds(low, high, 'a bound that float32 can hold, as the action space does')
    yield from inside(('safe',), group.safe, low, high)
    if group.driver_timeout_probe:
        yield from inside(('driver_timeout_probe',), group.driver_timeout_probe, low, high)
        yield from _probe(group)
    yield from _choices(group)
    for dimension, levels in enumerate(group.levels):
        yield from _levels(('levels', dimension), levels, low[dimension], high[dimension])
    numbers = group.kind in (ActionKind.CONTINUOUS, ActionKind.DELTA)
    for name in ('scale_together', 'wrap'):
        if getattr(group, name) and not numbers:
            yield ('kind',), f'continuous or delta, with {name}', group.kind.value
    if len(group.scale_together) == 1:
        yield ('scale_together',), 'two or more dimensions', _named(group, 'scale_together')
    for i in group.scale_together:
        if low[i] > 0.0:
            yield ('low', i), 'at most 0, with scale_together', low[i]
        if high[i] < 0.0:
            yield ('high', i), 'at least 0, with scale_together', high[i]
    for i, (slowing, limit) in enumerate(zip(group.deceleration, group.acceleration, strict=True)):
        if slowing < limit:
            least = 'no max_deceleration without max_acceleration, of a position'
            if limit < math.inf:
                least = f'at least max_acceleration ({limit:g}), of a position'
            hint = 'With less it could run out of its bounds in a stop.'
            yield ('max_deceleration', i), least, slowing, hint
    if group.rotation:
        yield from _rotation(group)
    yield from _wrap(group)


def _paths(source: object) -> Iterator[Fault]:
    """Ask for paths that a value can be written to, and that nothing else writes to."""
    paths = source.paths if isinstance(source, Paths) else ()
    for index, path in enumerate(paths):
        if path and not COMMAND_PATH.fits(path):
            yield ('fields', index), COMMAND_PATH.expected, path
    if len(set(paths)) != len(paths):
        yield ('fields',), 'every path once', list(paths)
        return
    # Angles are written as the quaternion that they make, which then nothing else may write to.
    places = {split_call(path)[1]: path for path in paths}
    for index, path in enumerate(paths):
        function, place = split_call(path)
        for other, holder in places.items():
            both = function and split_call(holder)[0]
            same = place == other and path != holder and not both
            if same or place.startswith(f'{other}.'):
                yield ('fields', index), f'a path that is not part of {holder}', path


def _probe(group: ActionSpec) -> Iterator[Fault]:
    """Ask for a probe that shows something: a robot that has to fall back from it by itself."""
    if group.driver_timeout is None:
        yield ('driver_timeout_probe',), 'no probe, of a driver without a timeout', Text('one')
    if any(map(math.isnan, group.safe)):
        hint = 'How long a driver holds a place by itself cannot be seen.'
        expected = 'no probe, in a group that stays where it is'
        yield ('driver_timeout_probe',), expected, Text('safe: hold_position'), hint
    elif all(
        not abs(value - safe) > threshold
        for value, safe, threshold in zip(
            group.driver_timeout_probe, group.safe, group.feedback.threshold, strict=True
        )
    ):
        expected = (
            'a command that differs from safe by more than feedback.threshold in some dimension'
        )
        yield ('driver_timeout_probe',), expected, list(group.driver_timeout_probe)


def _choices(group: ActionSpec) -> Iterator[Fault]:
    if group.kind is ActionKind.DISCRETE and len(group.choices) < 2:
        yield ('choices',), 'at least two commands by name', Text(f'{len(group.choices)}')
    seen: dict[Vector, str] = {}
    for name, values in group.choices:
        yield from inside(('choices', name), values, group.low, group.high)
        if values in seen and not any(map(math.isnan, values)):
            # A record could not tell which of them was chosen.
            yield ('choices', name), f'another command than {seen[values]!r}', list(values)
        seen.setdefault(values, name)


def _levels(path: Path, levels: Vector, low: float, high: float) -> Iterator[Fault]:
    if len(levels) < 2:
        yield path, 'at least two levels', Text(f'{len(levels)}')
    if len(set(levels)) != len(levels):
        yield path, 'every level once', list(levels)
    for value in levels:
        if value < low or value > high:
            yield path, f'values in [{low:g}, {high:g}]', value


def _named(group: ActionSpec, name: str) -> list[str]:
    return [group.dimensions[i] for i in getattr(group, name)]


def _rotation(group: ActionSpec) -> Iterator[Fault]:
    """Ask for four dimensions that can be one unit quaternion."""
    four = group.rotation
    if len(four) != 4:
        yield ('rotation',), 'four dimensions', _named(group, 'rotation')
        return
    if group.kind is not ActionKind.CONTINUOUS:
        yield ('kind',), 'continuous, with rotation', group.kind.value
    for name in ('scale_together', 'wrap'):
        if set(four) & set(getattr(group, name)):
            yield (name,), 'no dimension of the rotation', _named(group, name)
    for name in ('max_acceleration', 'max_jerk'):
        if getattr(group, name):
            yield (name,), f'no {name}, in a group with rotation', Text('one')
    for i in four:
        for name, value, bound in (('low', group.low[i], -1.0), ('high', group.high[i], 1.0)):
            if value != bound and not math.isnan(value):
                yield (name, i), f'{bound:g}, of a unit quaternion', value
    turning = [group.rate[i] for i in four]
    if len(set(turning)) > 1:
        yield ('max_velocity',), 'one number (rad/s) for all four of the rotation', turning
    others = {group.interface[i].value for i in four} - {Interface.POSITION.value}
    if others:
        yield ('interface',), 'position, of a rotation', Text(' '.join(sorted(others)))


def _wrap(group: ActionSpec) -> Iterator[Fault]:
    """Ask for angles of a joint, and for numbers that go on where a turn ends."""
    for i in group.wrap if len(group.unit) == group.size else ():
        interface, unit, turns = group.interface[i], group.unit[i], group.high[i] - group.low[i]
        if interface is not Interface.POSITION or unit != 'rad':
            actual = Text(f'{interface.value} in {unit or "no unit"}')
            yield ('wrap',), f'positions in rad, in {group.dimensions[i]}', actual
        elif turns < ROOM:
            expected = (
                f'at least two turns from low to high ({ROOM} rad), in {group.dimensions[i]}'
            )
            hint = (
                'The numbers that are sent go on where a turn ends: from 3.1 to 3.2, not to -3.1.'
            )
            yield ('wrap',), expected, turns, hint
