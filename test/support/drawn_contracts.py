# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The text of a contract in another layout, and values that its fields may meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from boundary_env_ros.core.contract.model import Contract, FieldSpec
from boundary_env_ros.core.sources.reading import Reading
from boundary_env_ros.core.timebase import Stamp
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.storage.yaml_text import YamlText

#: Where the order of keys is part of the meaning.
_ORDERED = frozenset(
    [('observation',), ('state',), ('privileged',), ('action',), ('episode', 'endings')]
)


def relaid(text: str) -> str:
    """
    Return a contract with the same meaning in another layout.

    No comment is left, keys stand in another order where that says nothing, defaults are written
    out, and whole numbers lose their point.
    """
    # Read as contracts are: another reader of YAML takes `off` for false.
    data: Any = YamlText(text, 'contract').data
    for section, defaults in (
        ('observation', {'on_stale': 'mark'}),
        ('state', {'on_stale': 'mark'}),
        ('action', {'kind': 'continuous', 'out_of_bounds': 'clip', 'frame': ''}),
    ):
        for entry in (data.get(section) or {}).values():
            if 'topic' in entry:
                entry.update({key: value for key, value in defaults.items() if key not in entry})
    usual = {'clock': 'ros', 'pacing': 'realtime', 'lockstep': {'deadline': 10}}
    data.update({key: value for key, value in usual.items() if key not in data})
    return yaml.safe_dump(_turned(data, ()), sort_keys=False)


def _turned(value: Any, path: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        kept = path in _ORDERED or (path[:1] == ('action',) and path[2:] == ('choices',))
        names = list(value) if kept else list(reversed(value))
        return {name: _turned(value[name], (*path, str(name))) for name in names}
    if isinstance(value, list):
        return [_turned(item, path) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def measured(
    contract: Contract, rng: np.random.Generator, captured: Stamp
) -> Mapping[str, Reading]:
    """Return a sample of each field that has a source: inside its bounds, at them, or far out."""
    return {
        spec.name: Reading(
            values=() if spec.is_image else _far_or_near(spec, rng), captured=captured
        )
        for spec in (*contract.observation, *contract.state)
        if spec.derived is None
    }


def _far_or_near(spec: FieldSpec, rng: np.random.Generator) -> Vector:
    low, high = np.asarray(spec.low), np.asarray(spec.high)
    far = rng.normal(size=spec.size) * 10.0 ** rng.uniform(-3.0, 12.0, size=spec.size)
    choices = (rng.uniform(low, high), low, high, far, np.full(spec.size, np.inf), -low - high)
    picked = rng.integers(len(choices), size=spec.size)
    return tuple(np.choose(picked, choices).tolist())
