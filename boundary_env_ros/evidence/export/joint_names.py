# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of observation and action by name, as LeRobot's robots name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, FieldSpec
from boundary_env_ros.core.contract.sources import Array, Joints, Trajectory, value_names

#: How LeRobot's robots end the name of a joint, by what is measured or commanded of it.
SUFFIX = {'position': 'pos', 'velocity': 'vel', 'effort': 'effort'}


def names_of_fields(fields: Iterable[FieldSpec]) -> tuple[str, ...]:
    """
    Return a name for each number of some fields, in their order.

    ``shoulder_pan.pos`` of a joint, else ``FIELD.PART``, ``FIELD.INDEX`` or, of one number,
    ``FIELD``. A joint that several fields have has the name of its field before it.
    """
    return _apart((spec.name, _of_field(spec)) for spec in fields)


def names_of_action(groups: Iterable[ActionSpec]) -> tuple[str, ...]:
    """
    Return a name for each number of an action, as :func:`names_of_fields` does for a field.

    That of a difference ends in ``.delta``.
    """
    return _apart((group.name, _of_group(group)) for group in groups)


def _apart(named: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
    found = [(owner, name) for owner, names in named for name in names]
    often = Counter(name for _, name in found)
    return tuple(f'{owner}.{name}' if often[name] > 1 else name for owner, name in found)


def _of_field(spec: FieldSpec) -> tuple[str, ...]:
    source = spec.source
    if isinstance(source, Joints):
        return tuple(f'{j}.{SUFFIX[q]}' for q in source.quantities for j in source.names)
    if spec.size == 1:
        return (spec.name,)
    names = value_names(source)
    names = names if len(names) == spec.size else tuple(map(str, range(spec.size)))
    return tuple(f'{spec.name}.{name}' for name in names)


def _of_group(group: ActionSpec) -> tuple[str, ...]:
    if group.kind is ActionKind.DISCRETE:
        return (group.name,)
    return tuple(_of_dimensions(group))


def _of_dimensions(group: ActionSpec) -> Iterator[str]:
    sources = (group.source, group.feedback.source)
    joints = next((s.names for s in sources if isinstance(s, (Joints, Trajectory, Array))), ())
    is_delta = group.kind is ActionKind.DELTA
    for dimension, interface in zip(group.dimensions, group.interface, strict=True):
        name = dimension.removeprefix(f'{group.name}/')
        end = '.delta' if is_delta else ''
        yield f'{name}.{SUFFIX[interface.value]}{end}' if joints else f'{group.name}.{name}{end}'
