# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``action`` of a contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Any

from boundary_env_ros.core.contract.group_checks import group_faults
from boundary_env_ros.core.contract.key import Key, REQUIRED
from boundary_env_ros.core.contract.model import (
    Acknowledgement,
    ActionSpec,
    dimension_names,
    Feedback,
    implied_interface,
    Interface,
)
from boundary_env_ros.core.contract.problem_text import said
from boundary_env_ros.core.contract.sources import (
    Array,
    COMMAND_FORMS,
    JOINTS,
    Joints,
    OF_VALUE,
    Source,
    TRAJECTORY,
    Trajectory,
    Vector,
)
from boundary_env_ros.storage.contract.forms import dimension_form, number_form
from boundary_env_ros.storage.contract.reader import Reader
from boundary_env_ros.storage.contract.sources import (
    parse_source,
    parse_unit,
    Values,
)

_POSITION, _VELOCITY, _EFFORT = Interface.POSITION, Interface.VELOCITY, Interface.EFFORT

#: What each limit is of; by the first, unless that is None, it is needed.
_OF = {
    'max_velocity': (_POSITION,),
    'max_acceleration': (_VELOCITY, _POSITION),
    'max_jerk': (None, _VELOCITY, _POSITION),
    'max_deceleration': (None, _VELOCITY, _POSITION),
    'max_effort_rate': (_EFFORT,),
}


def parse_action(section: Reader, period: float) -> tuple[ActionSpec, ...]:
    """Return the groups of the action, in order."""
    return tuple(_group(section.section(name), name, period) for name in section.named())


def _group(key: Reader, name: str, period: float) -> ActionSpec:
    type_name = key.value(ActionSpec, 'type')
    values = (
        _trajectory(key)
        if type_name == TRAJECTORY
        else parse_source(key, type_name, COMMAND_FORMS, command=True)
    )
    count = values.count
    interface = _interface(key, type_name, values)
    low, high = _bounds(key, interface)
    feedback = key.section('feedback')
    measured = _feedback(feedback, values, interface, (low, high))
    names = dimension_names(values.source, measured.source, count)
    known = {f'{name}/{one}': index for index, one in enumerate(names)}
    dimension = dimension_form(known | {one: index for index, one in enumerate(names)})
    dimensions: dict[str, Any] = {
        each: key.different(each, dimension, 'different dimensions')
        for each in ('rotation', 'scale_together', 'wrap')
    }
    spec = key.make(
        ActionSpec,
        count=count,
        name=name,
        type=type_name,
        source=values.source,
        interface=interface,
        unit=parse_unit(key, values, ActionSpec),
        low=low,
        high=high,
        safe=_safe(key, interface),
        **_limits(key, interface),
        driver_timeout=_driver_timeout(key),
        **dimensions,
        feedback=measured,
        acknowledgement=_acknowledgement(key, values, interface),
    )
    if not feedback.has('threshold'):
        # What one step can do is evidence.
        pairs = zip(spec.feedback.threshold, spec.rate, strict=False)
        threshold = tuple(min(usual, period * rate / 4.0) for usual, rate in pairs)
        spec = replace(spec, feedback=replace(spec.feedback, threshold=threshold))
    key.report(group_faults(spec))
    return spec


def _trajectory(key: Reader) -> Values:
    source = key.make(Trajectory)
    return Values(source=source, shape=(max(1, len(source.names)),))


def _interface(key: Reader, type_name: str, values: Values) -> tuple[Interface, ...]:
    """Return what each dimension of the command is: what its type says, or else its key."""
    source, count = values.source, values.count
    quantities = source.quantities if isinstance(source, Joints) else ()
    implied: tuple[Interface, ...] = ()
    if set(quantities) <= {'position', 'velocity', 'effort'}:
        implied = implied_interface(type_name, quantities, count)
    if implied and not key.has('interface'):
        return implied
    before = len(key.problems)
    found: tuple[Interface, ...] = key.value(ActionSpec, 'interface')
    if len(key.problems) > before:
        return implied or (Interface.VELOCITY,) * count
    found *= count if len(found) == 1 else 1
    if len(found) != count:
        expected = f'one interface, or one for each of {count} values'
        key.problem(('interface',), expected, said(f'{len(found)}'))
        return implied or (Interface.VELOCITY,) * count
    if implied and found != implied:
        actual = said(' '.join(dict.fromkeys(one.value for one in found)))
        key.problem(('interface',), f'{implied[0].value}, as {type_name} says', actual)
    return found


def _bounds(key: Reader, interface: Sequence[Interface]) -> tuple[Vector, Vector]:
    """Return the bounds of the command; of velocities they may be said as one number."""
    count = len(interface)
    if set(interface) != {Interface.VELOCITY} or not key.has('max_velocity'):
        low, high = (key.value(ActionSpec, bound, count=count) for bound in ('low', 'high'))
        return low, high
    for bound in ('low', 'high'):
        if key.has(bound):
            key.problem((bound,), 'either low and high or max_velocity', said('both'))
    speed = number_form(Key(unit='m/s or rad/s', above=0.0))
    fastest: Vector = key.many('max_velocity', speed, count=count)
    return tuple(-value for value in fastest), fastest


def _limits(key: Reader, interface: Sequence[Interface]) -> dict[str, Any]:
    """Return the limits on the motion; infinite for a dimension that one says nothing of."""
    # Of velocities alone it has been read as their bounds.
    found: dict[str, Vector] = {'max_velocity': ()} if set(interface) == {_VELOCITY} else {}
    for name, (needed_by, *others) in _OF.items():
        if name in found:
            continue
        before = len(key.problems)
        usual = REQUIRED if needed_by in interface else None
        values: Vector = key.value(ActionSpec, name, default=usual, count=len(interface))
        for index, (value, one) in enumerate(zip(values, interface, strict=False)):
            if len(key.problems) == before and math.isnan(value) and one is needed_by:
                key.problem((name, index), f'a number, of {one.value}', said('none'))
            elif not math.isnan(value) and one not in (needed_by, *others):
                known = ', '.join(each for each, of in _OF.items() if one in of)
                hint = f'Limits of {one.value}: low, high, {known}.'
                key.problem((name, index), f'none, of {one.value}', value, hint)
                break
        limits = tuple(math.inf if math.isnan(value) else value for value in values)
        found[name] = limits if min(limits, default=math.inf) < math.inf else ()
    declared, usual_stop = (
        found[name] or (math.inf,) * len(interface)
        for name in ('max_deceleration', 'max_acceleration')
    )
    stop = tuple(
        usual if most == math.inf else most
        for most, usual in zip(declared, usual_stop, strict=False)
    )
    found['max_deceleration'] = stop if min(stop, default=math.inf) < math.inf else ()
    return found


def _safe(key: Reader, interface: Sequence[Interface]) -> Vector:
    """Return the safe command: NaN for a position, which is held where it is."""
    held = tuple(one is Interface.POSITION for one in interface)
    safe: Vector = tuple(math.nan if holds else 0.0 for holds in held)
    if not key.has('safe') and Interface.EFFORT not in interface:
        return safe
    number = Key(unit=OF_VALUE)
    if any(held):
        number = Key(unit=f'{OF_VALUE}, or the word hold_position', words=('hold_position',))
        if key.is_word('safe', 'hold_position'):
            return (math.nan,) * len(held)
    before = len(key.problems)
    safe = key.many('safe', number_form(number), count=len(held))
    for index, (holds, value) in enumerate(zip(held, safe, strict=True)):
        if holds and not math.isnan(value):
            hint = 'A stop sends a robot nowhere; a pose to begin in belongs to the reset.'
            key.problem(('safe', index), 'hold_position, of a position', value, hint)
        elif not holds and math.isnan(value) and len(key.problems) == before:
            expected = f'a number, of {interface[index].value}'
            key.problem(('safe', index), expected, said('hold_position'))
    return tuple(math.nan if holds else value for holds, value in zip(held, safe, strict=True))


def _driver_timeout(key: Reader) -> float | None:
    acknowledged = key.value(ActionSpec, 'driver_timeout_acknowledged')
    if key.is_word('driver_timeout', 'none'):
        if not acknowledged:
            key.problem(
                ('driver_timeout',),
                'a number of seconds, or `none` with `driver_timeout_acknowledged: true`',
                said('none, not acknowledged'),
                'A driver without a timeout keeps moving when the gate dies.',
            )
        return None
    timeout: float = key.value(ActionSpec, 'driver_timeout')
    return timeout


def _feedback(
    key: Reader,
    command: Values,
    interface: Sequence[Interface],
    limits: tuple[Vector, Vector],
) -> Feedback:
    """Return what tells what the robot did."""
    type_name = key.value(Feedback, 'type')
    source = _of_command(key, type_name, command, interface)
    # Bounds the wrong way round are told where they stand.
    threshold = tuple(abs(high - low) / 20.0 for low, high in zip(*limits, strict=True))
    if key.has('threshold') or any(each <= 0.0 for each in threshold):
        threshold = key.value(Feedback, 'threshold', count=command.count)
    return key.make(Feedback, type=type_name, source=source, threshold=threshold)


def _acknowledgement(
    key: Reader, command: Values, interface: Sequence[Interface]
) -> Acknowledgement | None:
    """Return what tells which command was applied; None if nothing does."""
    if not key.has('acknowledgement'):
        return None
    section = key.section('acknowledgement')
    type_name = section.value(Acknowledgement, 'type')
    source = _of_command(section, type_name, command, interface)
    return section.make(Acknowledgement, type=type_name, source=source)


def _of_command(
    key: Reader, type_name: str, command: Values, interface: Sequence[Interface]
) -> Source:
    """
    Return where a message has a value for each dimension of the command.

    Of joints it is, unless the keys say otherwise, that quantity of those that are commanded.
    """
    count, source, commanded = command.count, command.source, None
    if type_name == JOINTS and len(set(interface)) == 1:
        names = source.names if isinstance(source, (Joints, Array, Trajectory)) else ()
        commanded = Joints(names=names, quantities=(interface[0].value,))
    values = parse_source(key, type_name, COMMAND_FORMS, commanded=commanded)
    given = any(map(key.has, COMMAND_FORMS))
    # Without a path nothing was read, which is told already.
    if values.count != count and values.paths != ('',):
        key.problem(
            ('joints',) if type_name == JOINTS else ('fields',),
            f'{count} values, one for each dimension of the command',
            said(f'{values.count}'),
            '' if given else 'Add `fields: [...]`, a path for each dimension.',
        )
    return values.source
