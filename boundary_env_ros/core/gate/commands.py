# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
From an action to a command, and from a command to its message.

The action is what the policy chooses: a command, a difference to the last one, or an index. The
command is what the robot gets; the rules of the gate work on commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import math
from typing import Any

import numpy as np

from boundary_env_ros.core.contract.model import ActionKind, ActionSpec, OutOfBounds, slices_of
from boundary_env_ros.core.contract.paths import put, split_call
from boundary_env_ros.core.contract.sources import Array, Joints, Paths, Trajectory
from boundary_env_ros.core.gate.rule_output import BEYOND, BOUNDS
from boundary_env_ros.core.records.decision import RuleResult
from boundary_env_ros.core.timebase import NANOSECONDS
from boundary_env_ros.core.vectors import nearest_turn, Vector

Results = tuple[RuleResult, ...]


def translate(
    groups: Sequence[ActionSpec], action: Vector, previous: Vector | None
) -> tuple[Vector | None, Results]:
    """
    Return the command that an action means, before any rule but that of its own bounds.

    Parameters
    ----------
    groups
        Groups of the action.
    action
        A well-formed action.
    previous
        Last command, which a difference is added to.

    Returns
    -------
    tuple
        The command, or None if there is none: an index that names nothing, or a difference to an
        unknown command. And what the rule ``bounds`` did, in command space.

    """
    command: list[float] = []
    results: list[RuleResult] = []
    known = True
    for group, values, part in _slices(groups, action):
        before = previous[part] if previous else None
        if group.kind is ActionKind.CONTINUOUS:
            command += turned(group, values, before)
        elif group.kind is ActionKind.DELTA:
            if before is None:
                known = False
                continue
            found, limited = _difference(group, values, before, part.start)
            command += found
            results += limited
        else:
            chosen, refusal = _chosen(group, values, part.start)
            command += chosen
            if refusal is not None:
                results.append(refusal)
                known = False
    return (tuple(command) if known else None), tuple(results)


def turned(group: ActionSpec, values: Vector, previous: Vector | None) -> Vector:
    """Return a command of one group, with each angle that wraps on the short way from before."""
    if not group.wrap or not previous:
        return values
    return tuple(
        nearest_turn(value, was, low, high) if i in group.wrap else value
        for i, (value, was, low, high) in enumerate(
            zip(values, previous, group.low, group.high, strict=True)
        )
    )


def turned_all(groups: Sequence[ActionSpec], command: Vector, previous: Vector | None) -> Vector:
    """Return the same of a command of all groups; one of another size as it is."""
    if len(command) != sum(group.size for group in groups):
        return command
    found: list[float] = []
    for group, part in slices_of(groups):
        found += turned(group, command[part], previous and previous[part])
    return tuple(found)


def as_action(groups: Sequence[ActionSpec], command: Vector, previous: Vector | None) -> Vector:
    """
    Return the action that means a command; NaN where none does.

    Parameters
    ----------
    groups
        Groups of the action.
    command
        A command, as it was published.
    previous
        The command before it.

    """
    action: list[float] = []
    for group, part in slices_of(groups):
        values = command[part]
        if group.kind is ActionKind.CONTINUOUS:
            action += values
        elif group.kind is ActionKind.DELTA:
            before = previous[part] if previous else values
            action += (value - was for value, was in zip(values, before, strict=True))
        elif group.kind is ActionKind.DISCRETE:
            (commands,) = group.options
            action.append(commands.index(values) if values in commands else math.nan)
        else:
            action += (
                float(levels.index(value)) if value in levels else math.nan
                for levels, value in zip(group.levels, values, strict=True)
            )
    return tuple(map(float, action))


def admitted_action(
    groups: Sequence[ActionSpec],
    requested: Vector,
    command: Vector,
    previous: Vector | None,
) -> Vector:
    """
    Return what was left of an action by the rules.

    What no rule touched is as it was asked for, to the last digit; see :func:`as_action` for what
    one did.

    Parameters
    ----------
    groups
        Groups of the action.
    requested
        The action.
    command, previous
        The command that was published, and the one before it.

    """
    left = as_action(groups, command, previous)
    admitted: list[float] = []
    offset = 0
    for group, values, part in _slices(groups, requested):
        rest = left[offset : offset + group.action_size]
        offset += group.action_size
        if group.kind is ActionKind.CONTINUOUS and group.wrap and previous:
            meant = turned(group, values, previous[part])
            rest = tuple(
                value if goal == published else published
                for value, goal, published in zip(values, meant, rest, strict=True)
            )
        if group.kind is ActionKind.DELTA and previous:
            # A sum less one of its parts is the other part but for rounding.
            rest = tuple(
                value if was + value == published else min(max(found, -most), most)
                for value, found, was, published, most in zip(
                    values,
                    rest,
                    previous[part],
                    command[part],
                    group.max_delta,
                    strict=True,
                )
            )
        admitted += rest
    return tuple(admitted)


def _slices(
    groups: Sequence[ActionSpec], action: Vector
) -> Iterator[tuple[ActionSpec, Vector, slice]]:
    """Yield each group with its part of the action, and which part of the command is its own."""
    offset = 0
    for group, part in slices_of(groups):
        yield group, action[offset : offset + group.action_size], part
        offset += group.action_size


def _difference(
    group: ActionSpec, values: Vector, before: Vector, start: int
) -> tuple[list[float], list[RuleResult]]:
    command, results = [], []
    refused = group.out_of_bounds is OutOfBounds.REJECT
    for index, (value, was, most) in enumerate(zip(values, before, group.max_delta, strict=True)):
        allowed = min(max(value, -most), most)
        # What is too small to be seen in a sum limits nothing.
        if allowed != value and (refused or was + allowed != was + value):
            numbers = '', value, math.copysign(most, value), group.unit[index], start + index
            after = None if refused else was + allowed
            cause = BEYOND if refused else BOUNDS
            results.append(cause.result(*numbers, was + value, after))
        command.append(was + allowed)
    return command, results


def _chosen(
    group: ActionSpec, values: Vector, start: int
) -> tuple[Sequence[float], RuleResult | None]:
    """Return the command that indices name; nothing, and why, if one of them names none."""
    picked: list[Any] = []
    for index, (value, options) in enumerate(zip(values, group.options, strict=True)):
        if not (value.is_integer() and 0 <= value < len(options)):
            dimension = -1 if group.kind is ActionKind.DISCRETE else start + index
            most = float(len(options) - 1)
            return (), BEYOND.result('', value, most, 'index', dimension=dimension)
        picked.append(options[int(value)])
    return (picked[0] if group.kind is ActionKind.DISCRETE else picked), None


# Messages ----------------------------------------------------------------------------------------


def message_fields(group: ActionSpec, values: Vector) -> Mapping[str, Any]:
    """
    Return the fields of the message that carries a command, as nested mappings; no header.

    Parameters
    ----------
    group
        The group of the action.
    values
        Its part of the command.

    """
    match group.source:
        case Paths(paths=paths):
            return _nested(paths, values)
        case Joints(names=names, quantities=quantities):
            count = len(names)
            return {
                'name': list(names),
                **{
                    quantity: list(values[place * count : (place + 1) * count])
                    for place, quantity in enumerate(quantities)
                },
            }
        case Trajectory(names=names, duration=duration):
            seconds, nanoseconds = divmod(round(duration * NANOSECONDS), NANOSECONDS)
            point = {
                'positions': list(values),
                'time_from_start': {'sec': seconds, 'nanosec': nanoseconds},
            }
            return {'joint_names': list(names), 'points': [point]}
        case Array(path=path):
            return _nested((path,), (list(values),))
    raise TypeError(f'No command is written to such a source (got {group.source}).')


def extra_content(group: ActionSpec) -> Callable[[Any], str]:
    """
    Return what finds the content of a message besides its command, as text; empty if none.

    A robot may go by every field. What the gate does not command it leaves at zero, and at no
    rotation.

    Parameters
    ----------
    group
        The group of the action, of anything with the attributes and slots of its message.

    """
    zeros = message_fields(group, (0.0,) * group.size)

    def extra(message: Any) -> str:
        for path, value in _other_values(message, zeros, ''):
            if path == 'header.frame_id':
                if value != group.frame:
                    return f'{path} {value!r} (expected {group.frame!r})'
            elif not path.startswith('header.') and not _is_default(path, value):
                return f'{path} {value!r} (expected none, since the contract does not command it)'
        return ''

    return extra


def _is_default(path: str, value: Any) -> bool:
    if hasattr(value, '__len__') and not isinstance(value, (str, bytes)):
        return not any(value)  # an array of fixed size is never empty
    return not value or (path.endswith('.w') and value == 1)


def _other_values(
    message: Any, fields: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, Any]]:
    """Yield the values of a message that are not in some fields, each with its path."""
    for slot in message.__slots__:
        name = slot.lstrip('_')
        if name == 'check_fields':
            continue
        value: Any = getattr(message, name)
        known, path = fields.get(name, {}), f'{prefix}{name}'
        if isinstance(known, list) and known and isinstance(known[0], Mapping):
            for i, (item, inner) in enumerate(zip(value, known, strict=False)):
                yield from _other_values(item, inner, f'{path}[{i}].')
            if len(value) > len(known):
                yield path, f'{len(value)} elements'
        elif not isinstance(known, Mapping):
            continue
        elif hasattr(value, '__slots__') and not isinstance(value, (str, bytes)):
            yield from _other_values(value, known, f'{path}.')
        else:
            yield path, value


def as_sent(
    group: ActionSpec, values: Vector, single: Sequence[bool], *, low: Vector, high: Vector
) -> Vector:
    """
    Return a command in the precision of its message, rounded inwards.

    A float32 next to a bound may be beyond it. A value that is outside already is a place that
    stays there, and is the nearest.

    Parameters
    ----------
    group
        The group of the action.
    values
        Its part of the command.
    single
        Which of them its message holds as float32.
    low, high
        The bounds in force, which may be narrower than those of the group.

    """
    sent = list(values)
    for i, value in enumerate(values):
        if not single[i]:
            continue
        rounded = np.float32(value)
        # Between its own bounds and those in force a value may be on its way back.
        if any(value <= bound < float(rounded) for bound in (group.high[i], high[i])):
            rounded = np.nextafter(rounded, np.float32(-np.inf))
        elif any(float(rounded) < bound <= value for bound in (group.low[i], low[i])):
            rounded = np.nextafter(rounded, np.float32(np.inf))
        sent[i] = float(rounded)
    return tuple(sent)


def _nested(paths: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    angles: dict[str, dict[str, float]] = {}
    for path, value in zip(paths, values, strict=True):
        function, inner = split_call(path)
        if function:
            angles.setdefault(inner, {})[function] = value
        else:
            put(tree, inner, value)
    for path, named in angles.items():
        put(tree, path, quaternion(**named))
    return tree


def quaternion(roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> dict[str, float]:
    """Return the unit quaternion of Z-Y-X angles (rad); see :func:`core.contract.paths.yaw`."""
    cr, cp, cy = (math.cos(angle / 2.0) for angle in (roll, pitch, yaw))
    sr, sp, sy = (math.sin(angle / 2.0) for angle in (roll, pitch, yaw))
    return {
        'x': sr * cp * cy - cr * sp * sy,
        'y': cr * sp * cy + sr * cp * sy,
        'z': cr * cp * sy - sr * sp * cy,
        'w': cr * cp * cy + sr * sp * sy,
    }
