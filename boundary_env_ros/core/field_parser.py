# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The sections ``observation``, ``state`` and ``evaluator`` of a contract."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

import numpy as np

from boundary_env_ros.core.contract import Beyond, Confidence, FieldSpec, WhenStale
from boundary_env_ros.core.contract_reader import Reader, said
from boundary_env_ros.core.derived_parser import parse_derived
from boundary_env_ros.core.source_parser import parse_source, parse_unit, Values
from boundary_env_ros.core.sources import (
    CLOUD,
    COMPRESSED,
    DECOMPRESSED,
    DEPTHS,
    ENCODINGS,
    IMAGE,
    Lookup,
    Picture,
    SCAN,
)

#: 32 Mi: an image of 4K in colours is below that.
_MOST_PIXELS = 2**25
_MOST_FLOAT32 = float(np.finfo(np.float32).max)
_TRANSFORM = 'geometry_msgs/msg/TransformStamped'

Fields = tuple[FieldSpec, ...]


def parse_fields(top: Reader) -> tuple[Fields, Fields, Fields]:
    """Return the fields of observation, state and evaluator."""
    observation, state, evaluator = (
        {name: section.section(name) for name in section.named()}
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
    unit = key.value(FieldSpec, 'unit')
    if not unit and key.has('unit'):
        key.problem(('unit',), 'the unit of each value', said('none'))
    count = max(1, len(unit))
    low, high = bounds(key, FieldSpec, count)
    return FieldSpec(
        name=name,
        task=key.value(FieldSpec, 'task'),
        shape=(count,),
        dtype=_dtype(key, low, high),
        unit=unit,
        frame=key.value(FieldSpec, 'frame'),
        low=low,
        high=high,
    )


def _looked_up(key: Reader, name: str) -> FieldSpec:
    values = parse_source(key, 'geometry_msgs/msg/Transform')
    source = key.make(Lookup, paths=values.paths)
    looked_up = replace(values, source=source)
    return _numbers(key, name, looked_up, topic='', type=_TRANSFORM, frame=source.target)


def _topic_field(key: Reader, name: str) -> FieldSpec:
    type_name = key.value(FieldSpec, 'type')
    if type_name in (IMAGE, COMPRESSED):
        return _image(key, name, type_name)
    return _numbers(key, name, parse_source(key, type_name), type=type_name)


def _numbers(key: Reader, name: str, values: Values, **given: Any) -> FieldSpec:
    columns = values.shape[-1] if len(values.shape) > 1 else None
    low, high = bounds(key, FieldSpec, values.count, columns=columns)
    for index, value in enumerate(values.pad):
        if value < low[index] or value > high[index]:
            key.problem(('pad',), f'a value in [{low[index]:g}, {high[index]:g}]', value)
    if given['type'] in (SCAN, CLOUD) and not values.paths:
        # Its confidence is the fraction that was measured.
        given['confidence'] = None
    elif key.has('confidence'):
        given['confidence'] = _confidence(key.section('confidence'))
    return _aged(
        key,
        name,
        source=values.source,
        shape=values.shape,
        dtype=_dtype(key, low, high),
        unit=parse_unit(key, values, FieldSpec),
        low=low,
        high=high,
        **given,
    )


def _aged(key: Reader, name: str, **given: Any) -> FieldSpec:
    """Return a field of a topic, or of tf, which grows old."""
    spec = key.make(FieldSpec, name=name, task='', derived=None, **given)
    if spec.when_stale is not WhenStale.MARK and spec.max_age is None:
        key.problem(
            ('max_age',), f'an age (s) for `when_stale: {spec.when_stale.value}`', said('nothing')
        )
    return spec


def bounds(
    key: Reader, model: type, count: int, *, columns: int | None = None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """
    Return low and high, ``count`` numbers each.

    One number stands for all; for a field of several rows, so does one number for each column.
    """
    low = key.value(model, 'low', count=count, columns=columns)
    high = key.value(model, 'high', count=count, columns=columns)
    for index, (least, most) in enumerate(zip(low, high, strict=True)):
        if least > most:
            key.problem(('high', index), f'a bound not below low ({least:g})', most)
    return low, high


def _dtype(key: Reader, low: tuple[float, ...], high: tuple[float, ...]) -> str:
    dtype: str = key.value(FieldSpec, 'dtype')
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


def _confidence(section: Reader) -> Confidence:
    if section.has('field'):
        given: dict[str, Any] = {'variance': '', 'tolerance': 0.0}
    else:
        given = {'field': ''}
    result = section.make(Confidence, **given)
    section.finish()
    return result


# Images ------------------------------------------------------------------------------------------


def _image(key: Reader, name: str, type_name: str) -> FieldSpec:
    encoding = key.value(Picture, 'encoding')
    compressed = ''
    if type_name == COMPRESSED:
        compressed = key.value(Picture, 'compressed')
        if encoding and encoding not in DECOMPRESSED:
            key.problem(('encoding',), f'one of {", ".join(DECOMPRESSED)}', encoding)
    channels, dtype = ENCODINGS[encoding or 'rgb8']
    if compressed == 'jpeg' and dtype != 'uint8':
        key.problem(('encoding',), 'an encoding of 8 bits for jpeg', encoding)
    unit: tuple[str, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    invalid = 0.0
    if encoding in DEPTHS:
        unit = (key.text('unit', expected='the unit of a pixel, for example m or mm'),)
        low, high = bounds(key, FieldSpec, 1)
        if dtype == 'float32':
            report_beyond_float32(key, low, high, 'a bound that a pixel of 32FC1 can have')
            invalid = key.value(Picture, 'invalid')
            if not low[0] <= invalid <= high[0]:
                key.problem(('invalid',), f'a value in [{low[0]:g}, {high[0]:g}]', invalid)
        else:
            _whole(key, low, high)
    return _aged(
        key,
        name,
        type=type_name,
        source=Picture(encoding=encoding, compressed=compressed, invalid=invalid),
        shape=_shape(key, encoding, channels),
        dtype=dtype,
        unit=unit,
        low=low,
        high=high,
        beyond=Beyond.CLIP,
        confidence=None,
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
