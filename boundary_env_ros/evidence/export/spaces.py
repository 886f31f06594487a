# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Spaces of a contract as Minari writes them: JSON that becomes Gymnasium's spaces again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, FieldSpec
from boundary_env_ros.evidence.export.layout import Layout, NUMBERS

Json = dict[str, Any]


def observation_space(layout: Layout) -> Json:
    """Return the space of the observation: a box for each field."""
    return _dictionary({s.name: field_space(s) for s in (*layout.numbers, *layout.images)})


def field_space(spec: FieldSpec) -> Json:
    """Return the space of a field."""
    low = spec.low or (0.0,)
    high = spec.high or (float(np.iinfo(spec.dtype).max),)
    return _box(low, high, spec.shape, spec.dtype)


def action_space(layout: Layout) -> Json:
    """Return the space of the action; numbers are doubles, as in the record."""
    groups = layout.contract.action
    if layout.action_is_numbers:
        return _numbers(groups)
    if any(group.kind in NUMBERS for group in groups):
        return _dictionary({group.name: _group(group) for group in groups})
    counts = [len(options) for group in groups for options in group.options]
    if len(groups) == 1 and groups[0].kind is ActionKind.DISCRETE:
        return _discrete(counts[0])
    return _multi_discrete(counts)


def _group(group: ActionSpec) -> Json:
    if group.kind in NUMBERS:
        return _numbers((group,))
    counts = [len(options) for options in group.options]
    return _discrete(counts[0]) if group.kind is ActionKind.DISCRETE else _multi_discrete(counts)


def _numbers(groups: Sequence[ActionSpec]) -> Json:
    low: list[float] = []
    high: list[float] = []
    for group in groups:
        delta = group.kind is ActionKind.DELTA
        low += (-most for most in group.max_delta) if delta else group.low
        high += group.max_delta if delta else group.high
    return _box(low, high, (len(low),), 'float64')


def _dictionary(subspaces: Json) -> Json:
    return {'type': 'Dict', 'subspaces': subspaces}


def _box(low: Sequence[float], high: Sequence[float], shape: tuple[int, ...], dtype: str) -> Json:
    bounds = (
        np.broadcast_to(np.asarray(b, dtype), shape)
        if len(b) == 1
        else np.asarray(b, dtype).reshape(shape)
        for b in (low, high)
    )
    least, most = (bound.tolist() for bound in bounds)
    return {'type': 'Box', 'dtype': dtype, 'shape': list(shape), 'low': least, 'high': most}


def _discrete(count: int) -> Json:
    return {'type': 'Discrete', 'dtype': 'int64', 'start': 0, 'n': count}


def _multi_discrete(counts: list[int]) -> Json:
    start = [0] * len(counts)
    return {'type': 'MultiDiscrete', 'dtype': 'int64', 'nvec': counts, 'start': start}
