# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The sections ``observation``, ``state`` and ``evaluator`` of a contract."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from boundary_env_ros.core.contract import Beyond, Confidence, FieldSpec, Qos, WhenStale
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.derived_parser import parse_derived
from boundary_env_ros.core.grammar import (
    A_NAME,
    A_PATH,
    A_TOPIC,
    A_TYPE,
    A_UNIT,
    FLOATS,
    is_name,
    is_topic,
    is_type,
)
from boundary_env_ros.core.images import DECOMPRESSED, DEPTHS, ENCODINGS
from boundary_env_ros.core.paths import is_path
from boundary_env_ros.core.source_parser import (
    CLOUD,
    COMPRESSED,
    IMAGE,
    parse_source,
    SCAN,
    Values,
)
from boundary_env_ros.core.sources import Lookup, Picture

_DEEPEST_QUEUE = 100_000
#: 32 Mi: an image of 4K in colours is below that.
_MOST_PIXELS = 2**25
_MOST_FLOAT32 = float(np.finfo(np.float32).max)
_TRANSFORM = 'geometry_msgs/msg/TransformStamped'

Fields = tuple[FieldSpec, ...]


def parse_fields(top: Reader) -> tuple[Fields, Fields, Fields]:
    """Return the fields of observation, state and evaluator."""
    observation, state, evaluator = (
        {name: _named(section, name) for name in section.names()}
        for section in (
            top.section('observation'),
            top.section('state', required=False),
            top.section('evaluator', required=False),
        )
    )
    policy_side = {**state, **observation}
    waiting = {name: key for name, key in policy_side.items() if key.has('derive')}
    direct = {
        name: _field(key, name, of_task=True)
        for name, key in policy_side.items()
        if name not in waiting
    }
    # What the evaluator knows is nothing to derive what the policy sees from.
    known = {**direct, **parse_derived(waiting, direct)}
    return (
        tuple(known[name] for name in observation),
        tuple(known[name] for name in state),
        tuple(_field(key, name, of_task=False) for name, key in evaluator.items()),
    )


def _named(section: Reader, name: str) -> Reader:
    if not is_name(name):
        section.problem((name,), A_NAME, name)
    return section.section(name)


# Fields ------------------------------------------------------------------------------------------


def _field(key: Reader, name: str, *, of_task: bool) -> FieldSpec:
    if of_task and key.has('task'):
        spec = _task_field(key, name)
    elif key.has('transform'):
        spec = _looked_up(key, name)
    else:
        spec = _topic_field(key, name)
    key.finish()
    return spec


def _task_field(key: Reader, name: str) -> FieldSpec:
    unit = key.texts('unit', expected=A_UNIT)
    if not unit and key.has('unit'):
        key.problem(('unit',), 'the unit of each value', said('none'))
    count = max(1, len(unit))
    low, high = bounds(key, count)
    return FieldSpec(
        name=name,
        task=key.text('task', expected=A_NAME, check=is_name),
        shape=(count,),
        dtype=_dtype(key, low, high),
        unit=unit,
        frame=key.text('frame', default=''),
        low=low,
        high=high,
    )


def _looked_up(key: Reader, name: str) -> FieldSpec:
    section = key.section('transform')
    frame = section.text('in', expected='the name of a frame')
    of = section.text('of', expected='the name of a frame')
    section.finish()
    values = parse_source(key, 'geometry_msgs/msg/Transform')
    looked_up = replace(values, source=Lookup(target=frame, source=of, paths=values.paths))
    return _numbers(key, name, looked_up, topic='', type_name=_TRANSFORM, frame=frame)


def _topic_field(key: Reader, name: str) -> FieldSpec:
    topic = key.text('topic', expected=A_TOPIC, check=is_topic)
    type_name = key.text('type', expected=A_TYPE, check=is_type)
    frame = key.text('frame', default='')
    if type_name in (IMAGE, COMPRESSED):
        return _image(key, name, topic, type_name, frame)
    values = parse_source(key, type_name)
    return _numbers(key, name, values, topic=topic, type_name=type_name, frame=frame)


def _numbers(
    key: Reader,
    name: str,
    values: Values,
    *,
    topic: str,
    type_name: str,
    frame: str,
) -> FieldSpec:
    count = values.count
    unit = _unit(key, values)
    low, high = (
        bounds(key, count, columns=values.shape[-1])
        if len(values.shape) > 1
        else bounds(key, count)
    )
    pad = values.pad
    for index, value in enumerate(pad):
        if value < low[index] or value > high[index]:
            key.problem(('pad',), f'a value in [{low[index]:g}, {high[index]:g}]', value)
    max_age, when_stale = _ageing(key)
    fraction = type_name in (SCAN, CLOUD) and not values.paths
    return FieldSpec(
        name=name,
        topic=topic,
        type=type_name,
        source=values.source,
        shape=values.shape,
        dtype=_dtype(key, low, high),
        unit=unit,
        frame=frame,
        low=low,
        high=high,
        beyond=Beyond(key.choice('beyond', ('clip', 'truncate'), default='clip')),
        max_age=max_age,
        when_stale=when_stale,
        skew=_skew(key),
        qos=_qos(key),
        # That of a scan and of a cloud is the fraction that was measured.
        confidence=None if fraction else _confidence(key),
    )


def _unit(key: Reader, values: Values) -> tuple[str, ...]:
    """Return the units that are declared, or else those that the message itself declares."""
    if values.unit and not key.has('unit'):
        return values.unit
    unit = key.texts('unit', expected=A_UNIT)
    allowed = {1, values.count, values.shape[-1]}
    if key.has('unit') and len(unit) not in allowed:
        key.problem(
            ('unit',),
            f'one unit, or one for each of {values.shape[-1]} values',
            said(f'{len(unit)}'),
        )
    if len(unit) == values.shape[-1]:
        return unit * (values.count // len(unit))
    return unit * values.count if len(unit) == 1 else unit


def bounds(
    key: Reader, count: int, *, columns: int | None = None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """
    Return low and high, ``count`` numbers each.

    One number stands for all; for a field of several rows, so does one number for each column.
    """
    low = key.numbers('low', count, unit='in the unit of the value', columns=columns)
    high = key.numbers('high', count, unit='in the unit of the value', columns=columns)
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least > most:
            key.problem(('high', index), f'a bound not below low ({least:g})', most)
    return low, high


def _dtype(key: Reader, low: tuple[float, ...], high: tuple[float, ...]) -> str:
    dtype = key.choice('dtype', FLOATS, default='float32')
    if dtype == 'float32':
        report_beyond_float32(key, low, high, 'a bound that float32 can hold, or `dtype: float64`')
    return dtype


def report_beyond_float32(
    key: Reader, low: tuple[float, ...], high: tuple[float, ...], expected: str
) -> None:
    """Report bounds that the numbers of a space cannot have."""
    for name, values in (('low', low), ('high', high)):
        for index, value in enumerate(values):
            if abs(value) > _MOST_FLOAT32:
                key.problem((name, index), expected, value)


def _ageing(key: Reader) -> tuple[float | None, WhenStale]:
    max_age = key.number('max_age', unit='s', above=0.0) if key.has('max_age') else None
    when_stale = key.one_of('when_stale', WhenStale, default=WhenStale.MARK)
    if when_stale is not WhenStale.MARK and max_age is None:
        key.problem(
            ('max_age',), f'an age (s) for `when_stale: {when_stale.value}`', said('nothing')
        )
    return max_age, when_stale


def _skew(key: Reader) -> float | None:
    return key.number('skew', unit='s', above=0.0) if key.has('skew') else None


def _qos(key: Reader) -> Qos:
    if not key.has('qos'):
        return Qos()
    section = key.section('qos')
    qos = Qos(
        reliable=section.choice('reliability', ('best_effort', 'reliable'), default='best_effort')
        == 'reliable',
        transient_local=section.choice(
            'durability', ('volatile', 'transient_local'), default='volatile'
        )
        == 'transient_local',
        depth=section.integer('depth', default=10, least=1, most=_DEEPEST_QUEUE),
    )
    section.finish()
    return qos


def _confidence(key: Reader) -> Confidence | None:
    if not key.has('confidence'):
        return None
    section = key.section('confidence')
    if section.has('field'):
        result = Confidence(field=section.text('field', expected=A_PATH, check=is_path))
    else:
        result = Confidence(
            variance=section.text('variance', expected=A_PATH, check=is_path),
            tolerance=section.number('tolerance', unit='in the unit of the value', above=0.0),
        )
    section.finish()
    return result


# Images ------------------------------------------------------------------------------------------


def _image(key: Reader, name: str, topic: str, type_name: str, frame: str) -> FieldSpec:
    compressed = ''
    choices = tuple(ENCODINGS)
    if type_name == COMPRESSED:
        compressed = key.choice('compressed', ('jpeg', 'png'))
        choices = DECOMPRESSED
    encoding = key.choice('encoding', choices, fallback='')
    channels, dtype = ENCODINGS[encoding or 'rgb8']
    if compressed == 'jpeg' and dtype != 'uint8':
        key.problem(('encoding',), 'an encoding of 8 bits for jpeg', encoding)
    unit: tuple[str, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    invalid = 0.0
    if encoding in DEPTHS:
        unit = (key.text('unit', expected='the unit of a pixel, for example m or mm'),)
        low, high = bounds(key, 1)
        if dtype == 'float32':
            report_beyond_float32(key, low, high, 'a bound that a pixel of 32FC1 can have')
            invalid = key.number('invalid', unit=unit[0], default=0.0)
            if not low[0] <= invalid <= high[0]:
                key.problem(('invalid',), f'a value in [{low[0]:g}, {high[0]:g}]', invalid)
        else:
            _whole(key, low, high)
    max_age, when_stale = _ageing(key)
    return FieldSpec(
        name=name,
        topic=topic,
        type=type_name,
        source=Picture(encoding=encoding, compressed=compressed, invalid=invalid),
        shape=_shape(key, encoding, channels),
        dtype=dtype,
        unit=unit,
        frame=frame,
        low=low,
        high=high,
        max_age=max_age,
        when_stale=when_stale,
        skew=_skew(key),
        qos=_qos(key),
    )


def _whole(key: Reader, low: tuple[float, ...], high: tuple[float, ...]) -> None:
    """Ask for bounds that a pixel of 16 bits can have."""
    for name, (bound,) in (('low', low), ('high', high)):
        if not math.isnan(bound) and not (bound.is_integer() and 0.0 <= bound <= 65535.0):
            key.problem((name,), 'a whole number from 0 to 65535 for 16UC1', bound)


def _shape(key: Reader, encoding: str, channels: int) -> tuple[int, ...]:
    shape = key.numbers('shape', 3, unit='pixels', above=0.0)
    if any(map(math.isnan, shape)):
        return (1, 1, channels)
    if any(not side.is_integer() for side in shape):
        key.problem(('shape',), '[height, width, channels], whole numbers', list(shape))
        return (1, 1, channels)
    if encoding and shape[2] != channels:
        key.problem(('shape', 2), f'{channels} channels for {encoding}', shape[2])
    if math.prod(shape) > _MOST_PIXELS:
        key.problem(('shape',), f'at most {_MOST_PIXELS} values', math.prod(shape))
        return (1, 1, channels)
    return tuple(int(side) for side in shape)
