# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The spaces of a contract without Gymnasium: as fields, and as JSON Schemas.

They describe what the services carry: an observation by name, an action as the numbers of all
groups one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
import json
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, Contract, FieldSpec
from boundary_env_ros.core.contract.sources import STRING, Vector

Schema = Mapping[str, Any]

_DIALECT = 'https://json-schema.org/draft/2020-12/schema'


class SpaceKind(IntEnum):
    """Numbers within bounds, one choice, several choices, or a JSON document."""

    BOX = 1
    DISCRETE = 2
    MULTI_DISCRETE = 3
    DOCUMENT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceField:
    """
    One field of an observation, action or privileged space; see ``SpaceField.msg``.

    Attributes
    ----------
    dtype, shape
        NumPy name of the element type, and shape; empty: a scalar.
    low, high
        Bounds, one for each element (row-major), or one for all. For choices ``high`` is how many
        there are.
    unit, frame_id
        Unit of each element, or one for all; frame, empty if there is none.
    source
        Where it comes from, or goes to: a topic and its type, or ``task:<name>``.
    schema
        JSON Schema of a document; empty for the other kinds.

    """

    name: str
    kind: SpaceKind
    dtype: str
    shape: tuple[int, ...]
    low: Vector
    high: Vector
    unit: tuple[str, ...] = ()
    frame_id: str = ''
    source: str = ''
    schema: str = ''


def fields_of(specs: Sequence[FieldSpec]) -> tuple[SpaceField, ...]:
    """Return fields of a contract as those of a space, in their order."""
    return tuple(
        _document(spec.name, spec.schema, _source(spec))
        if spec.is_document
        else SpaceField(
            name=spec.name,
            kind=SpaceKind.BOX,
            dtype=spec.dtype,
            shape=spec.shape,
            low=spec.low or (0.0,),
            # An image without bounds has those of its numbers.
            high=spec.high or (float(np.iinfo(spec.dtype).max),),
            unit=spec.unit,
            frame_id=spec.frame,
            source=_source(spec),
        )
        for spec in specs
    )


def _document(name: str, schema: Schema, source: str) -> SpaceField:
    return SpaceField(
        name=name,
        kind=SpaceKind.DOCUMENT,
        dtype='',
        shape=(),
        low=(),
        high=(),
        source=source,
        schema=json.dumps(schema),
    )


def _source(spec: FieldSpec) -> str:
    if spec.task:
        return f'task:{spec.task}'
    if spec.derived is not None:
        return f'derived:{spec.derived.function}'
    return f'{spec.topic} {spec.type}' if spec.topic else 'tf'


def reward_fields(space: Mapping[str, tuple[float, float]], task: str) -> tuple[SpaceField, ...]:
    """Return the terms of the reward, each with its bounds, as fields of a space."""
    return tuple(
        SpaceField(
            name=name,
            kind=SpaceKind.BOX,
            dtype='float64',
            shape=(),
            low=(low,),
            high=(high,),
            source=f'task:{task}',
        )
        for name, (low, high) in space.items()
    )


def action_fields(contract: Contract) -> tuple[SpaceField, ...]:
    """Return the groups of the action as fields of a space, then those of documents."""
    numbers = tuple(_group(group) for group in contract.action)
    return numbers + tuple(
        _document(g.name, g.schema, f'{g.topic} {STRING}') for g in contract.documents
    )


_NUMBERS = (ActionKind.CONTINUOUS, ActionKind.DELTA)


def _group(group: ActionSpec) -> SpaceField:
    source = f'{group.topic} {group.type}'
    if group.kind in _NUMBERS:
        low, high = _bounds(group)
        return SpaceField(
            name=group.name,
            kind=SpaceKind.BOX,
            dtype='float64',
            shape=(group.action_size,),
            low=low,
            high=high,
            unit=group.unit,
            frame_id=group.frame,
            source=source,
        )
    counts = tuple(float(len(options)) for options in group.options)
    one = group.kind is ActionKind.DISCRETE
    return SpaceField(
        name=group.name,
        kind=SpaceKind.DISCRETE if one else SpaceKind.MULTI_DISCRETE,
        dtype='int64',
        shape=() if one else (len(counts),),
        low=(0.0,) * len(counts),
        high=counts,
        source=source,
    )


def _bounds(group: ActionSpec) -> tuple[Vector, Vector]:
    if group.kind is ActionKind.DELTA:
        return tuple(-most for most in group.max_delta), group.max_delta
    return group.low, group.high


def observation_schema(contract: Contract) -> Schema:
    """Return the JSON Schema of an observation: an object with nested arrays by field."""
    fields = fields_of(contract.observation)
    return {
        '$schema': _DIALECT,
        'title': f'Observation of {contract.name} {contract.version}',
        'type': 'object',
        'properties': {field.name: _field_schema(field) for field in fields},
        'required': [field.name for field in fields],
        'additionalProperties': False,
    }


def _field_schema(field: SpaceField) -> Schema:
    if field.kind is SpaceKind.DOCUMENT:
        found: Schema = json.loads(field.schema)
        return found
    each = len(field.shape) == 1 and not _uniform(field)
    whole = field.dtype.startswith(('int', 'uint'))
    numbers = [_number(*element, whole=whole) for element in _elements(field, each=each)]
    about = {
        'dtype': field.dtype,
        **({'frame': field.frame_id} if field.frame_id else {}),
        'source': field.source,
    }
    if each:
        schema: dict[str, Any] = {**_array(field.shape[0]), 'prefixItems': numbers}
        return {**schema, **about}
    schema = numbers[0]
    for length in reversed(field.shape):
        schema = {**_array(length), 'items': schema}
    return {**schema, **about}


def _uniform(field: SpaceField) -> bool:
    return all(len(set(values)) < 2 for values in (field.low, field.high, field.unit))


def _elements(field: SpaceField, *, each: bool) -> list[tuple[float, float, str]]:
    """Return bounds and unit of each element, or the widest of all."""
    units = field.unit or ('',)
    if not each:
        return [(min(field.low), max(field.high), units[0])]
    units = units if len(units) == len(field.low) else units[:1] * len(field.low)
    return list(zip(field.low, field.high, units, strict=True))


def _array(length: int) -> dict[str, Any]:
    return {'type': 'array', 'minItems': length, 'maxItems': length}


def action_schema(contract: Contract) -> Schema:
    """
    Return the JSON Schema of an action: all groups one after the other, row by row for a chunk.

    What is outside the bounds here is sent all the same, and limited or refused by the gate.
    """
    numbers = [number for group in contract.action for number in _dimensions(group)]
    size, most = len(numbers), contract.horizon
    schema: dict[str, Any] = {
        '$schema': _DIALECT,
        'title': f'Action of {contract.name} {contract.version}',
        'type': 'array',
        'prefixItems': numbers * most,
        'items': False,
        'minItems': size,
    }
    if most > 1:
        schema['description'] = f'Rows of {size} numbers, at most {most}, one after the other.'
    return schema


def _dimensions(group: ActionSpec) -> list[Schema]:
    field = _group(group)
    if field.kind is SpaceKind.BOX:
        numbers = [_number(*element, whole=False) for element in _elements(field, each=True)]
    else:
        numbers = [_number(0, int(count) - 1, '', whole=True) for count in field.high]
    names = (group.name,) if field.kind is SpaceKind.DISCRETE else group.dimensions
    return [{'title': name, **number} for name, number in zip(names, numbers, strict=True)]


def _number(low: float, high: float, unit: str, *, whole: bool) -> dict[str, Any]:
    number = {'type': 'integer' if whole else 'number', 'minimum': low, 'maximum': high}
    return {**number, 'unit': unit} if unit else number
