# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The sections ``observation``, ``state`` and ``privileged`` of a contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from typing import Any

from boundary_env_ros.core.contract.grammar import TEXT
from boundary_env_ros.core.contract.group_checks import field_faults
from boundary_env_ros.core.contract.model import Confidence, FieldSpec
from boundary_env_ros.core.contract.problem_text import Fault, Text
from boundary_env_ros.core.contract.sources import (
    CLOUD,
    COMPRESSED,
    DEPTHS,
    ENCODINGS,
    IMAGE,
    Lookup,
    Picture,
    SCAN,
    STRING,
)
from boundary_env_ros.core.sources.json_documents import schema_fault
from boundary_env_ros.errors import MissingDependency
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract.derived import parse_derived
from boundary_env_ros.storage.contract.forms import integer_form, text_form
from boundary_env_ros.storage.contract.section_reader import Reader
from boundary_env_ros.storage.contract.sources import parse_source, parse_unit, Values

#: 32 Mi: an image of 4K in colours is below that.
_MOST_PIXELS = 2**25
_TRANSFORM = 'geometry_msgs/msg/TransformStamped'

Fields = tuple[FieldSpec, ...]

#: What every field of a topic may say, and what a field of the task may.
_OF_TOPIC = ('topic', 'max_age', 'on_stale', 'skew', 'qos')
_OF_TASK = ('low', 'high', 'task', 'frame', 'dtype')


def parse_fields(top: Reader) -> tuple[Fields, Fields, Fields]:
    """Return the fields of observation, state and privileged."""
    observation, state, privileged = (
        {name: section.section(name) for name in section.named()}
        for where in ('observation', 'state', 'privileged')
        for section in (top.section(where, required=where == 'observation'),)
    )
    policy_side = {**state, **observation}
    waiting = {name: key for name, key in policy_side.items() if key.has('derive')}
    direct = {
        name: _field(key, name, of_task=True)
        for name, key in policy_side.items()
        if name not in waiting
    }
    # What the policy sees is not derived from privileged fields.
    known = {**direct, **parse_derived(waiting, direct)}
    return (
        tuple(known[name] for name in observation),
        tuple(known[name] for name in state),
        tuple(_field(key, name, of_task=False) for name, key in privileged.items()),
    )


# Fields ------------------------------------------------------------------------------------------


def _field(key: Reader, name: str, *, of_task: bool) -> FieldSpec:
    if of_task and key.has('task'):
        spec = _task_field(key, name)
    elif key.has('transform'):
        if key.has('topic'):
            for each in filter(key.has, ('topic', 'type')):
                key.value(FieldSpec, each)
            hint = 'No message is transformed: have its publisher tell its frame on /tf as well.'
            key.problem(('topic',), 'either `topic`, or `transform`', Text('both'), hint)
        values = parse_source(key, 'geometry_msgs/msg/Transform')
        source = key.make(Lookup, paths=values.paths)
        values = replace(values, source=source)
        spec = _numbers(key, values, name=name, topic='', type=_TRANSFORM, frame=source.target)
    else:
        type_name = key.value(FieldSpec, 'type')
        if type_name in (IMAGE, COMPRESSED):
            spec = _image(key, name, type_name)
        elif key.has('schema'):
            spec = _document(key, name, type_name)
        else:
            spec = _numbers(key, parse_source(key, type_name), name=name, type=type_name)
    key.report(field_faults(spec))
    return spec


def _task_field(key: Reader, name: str) -> FieldSpec:
    unit = key.value(FieldSpec, 'unit')
    if not unit and key.has('unit'):
        key.problem(('unit',), 'the unit of each value', Text('none'))
    count = max(1, len(unit))
    return key.make(FieldSpec, only=_OF_TASK, count=count, name=name, shape=(count,), unit=unit)


def _numbers(key: Reader, values: Values, **given: Any) -> FieldSpec:
    if given['type'] in (SCAN, CLOUD) and not values.paths:
        # Its confidence is the fraction that was measured.
        given['confidence'] = None
    elif key.has('confidence'):
        given['confidence'] = _confidence(key.section('confidence'))
    return key.make(
        FieldSpec,
        count=values.count,
        columns=values.shape[-1] if len(values.shape) > 1 else None,
        source=values.source,
        shape=values.shape,
        unit=parse_unit(key, values, FieldSpec),
        task='',
        derived=None,
        **given,
    )


def _document(key: Reader, name: str, type_name: str) -> FieldSpec:
    if type_name != STRING:
        key.problem(('type',), f'{STRING}, with a `schema`', type_name)
    only = (*_OF_TOPIC, 'schema')
    spec = key.make(FieldSpec, only=only, name=name, type=type_name, shape=(0,), unit=())
    key.report(schema_problems(spec.schema))
    return spec


def schema_problems(schema: Mapping[str, object]) -> Iterator[Fault]:
    """Yield what is wrong with the JSON Schema of a document."""
    try:
        fault = schema_fault(schema)
    except MissingDependency as error:
        fault = str(error)
    if fault or not schema:
        yield ('schema',), 'a JSON Schema (draft 2020-12)', Text(fault or 'nothing')


def _confidence(section: Reader) -> Confidence:
    of_field: dict[str, Any] = {'variance': '', 'tolerance': 0.0}
    given = of_field if section.has('field') else {'field': ''}
    return section.make(Confidence, **given)


def _image(key: Reader, name: str, type_name: str) -> FieldSpec:
    source = key.make(Picture)
    channels, dtype = ENCODINGS[source.encoding or 'rgb8']
    unit: tuple[str, ...] = ()
    only: tuple[str, ...] = (*_OF_TOPIC, 'frame')
    if source.encoding in DEPTHS:
        unit = (key.one('unit', text_form(TEXT, 'the unit of a pixel, for example m or mm')),)
        only = (*only, 'low', 'high')
    shape = key.many('shape', replace(integer_form(1, math.inf), unfit=0), count=3)
    if math.prod(shape) > _MOST_PIXELS:
        key.problem(('shape',), f'at most {_MOST_PIXELS} values', math.prod(shape))
    return key.make(
        FieldSpec,
        only=only,
        count=1,
        name=name,
        type=type_name,
        source=source,
        unit=unit,
        shape=shape if 0 < math.prod(shape) <= _MOST_PIXELS else (1, 1, channels),
        dtype=dtype,
    )
