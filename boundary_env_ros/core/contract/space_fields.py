# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The spaces of a contract without Gymnasium.

They describe what the services carry: an observation by name, an action as the numbers of all
groups one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
import json

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, Contract, FieldSpec
from boundary_env_ros.core.contract.sources import STRING
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import frozen


class SpaceKind(IntEnum):
    """Numbers within bounds, one choice, several choices, or a JSON document."""

    BOX = 1
    DISCRETE = 2
    MULTI_DISCRETE = 3
    DOCUMENT = 4


@frozen
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
    dtype: str = ''
    shape: tuple[int, ...] = ()
    low: Vector = ()
    high: Vector = ()
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


def _document(name: str, schema: Mapping[str, object], source: str) -> SpaceField:
    return SpaceField(
        name=name,
        kind=SpaceKind.DOCUMENT,
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


def _group(group: ActionSpec) -> SpaceField:
    source = f'{group.topic} {group.type}'
    if not group.options:
        low, high = group.action_bounds
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
