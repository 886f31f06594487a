# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The section ``action`` of a contract."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
import math
from typing import Any, TypeVar

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
from boundary_env_ros.core.contract.problem_text import Text
from boundary_env_ros.core.contract.sources import (
    Array,
    COMMAND_FORMS,
    JOINTS,
    Joints,
    OF_VALUE,
    Trajectory,
)
from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.frozen import replace
from boundary_env_ros.storage.contract.forms import dimension_form, number_form
from boundary_env_ros.storage.contract.section_reader import Reader
from boundary_env_ros.storage.contract.sources import (
    parse_source,
    parse_unit,
    Values,
)

T = TypeVar('T')

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
    values = parse_source(key, type_name, COMMAND_FORMS, command=True)
    count = values.count
    interface = _interface(key, type_name, values)
    low, high = _bounds(key, interface)
    feedback = key.section('feedback')
    measured = _measured(feedback, Feedback, values, interface, threshold=())
    names = dimension_names(values.source, measured.source, count)
    known = {f'{name}/{one}': index for index, one in enumerate(names)}
    spec = key.make(
        ActionSpec,
        count=count,
        dimension=dimension_form(known | {one: index for index, one in enumerate(names)}),
        name=name,
        type=type_name,
        source=values.source,
        interface=interface,
        unit=parse_unit(key, values, ActionSpec),
        low=low,
        high=high,
        safe=_safe(key, interface),
        **_limits(key, interface),
        feedback=measured,
        acknowledgement=_measured(
            key.section('acknowledgement'), Acknowledgement, values, interface
        )
        if key.has('acknowledgement')
        else None,
    )
    # A twentieth of what there is, and what one step can do, is evidence.
    usual: Vector | None = tuple(
        min(abs(most - least) / 20.0, period * rate / 4.0)
        for least, most, rate in zip(low, high, spec.rate, strict=True)
    )
    if any(most == least for least, most in zip(low, high, strict=True)):
        usual = None
    threshold = feedback.value(Feedback, 'threshold', default=usual, count=count)
    spec = replace(spec, feedback=replace(measured, threshold=threshold))
    if not key.value(ActionSpec, 'driver_timeout_acknowledged') and spec.driver_timeout is None:
        key.problem(
            ('driver_timeout',),
            'a number of seconds, or `none` with `driver_timeout_acknowledged: true`',
            Text('none, not acknowledged'),
            'A driver without a timeout keeps moving when the gate dies.',
        )
    key.report(group_faults(spec))
    return spec


def _interface(key: Reader, type_name: str, values: Values) -> tuple[Interface, ...]:
    """Return what each dimension of the command is: what its type says, or else its key."""
    source, count = values.source, values.count
    quantities = source.quantities if isinstance(source, Joints) else ()
    implied = implied_interface(type_name, quantities, count) if '' not in quantities else ()
    if implied and not key.has('interface'):
        return implied
    found: tuple[Interface, ...] = key.value(ActionSpec, 'interface', count=count)
    if implied and found != implied:
        actual = Text(' '.join(dict.fromkeys(one.value for one in found)))
        key.problem(('interface',), f'{implied[0].value}, as {type_name} says', actual)
    return implied or found


def _bounds(key: Reader, interface: Sequence[Interface]) -> tuple[Vector, Vector]:
    """Return the bounds of the command; of velocities they may be said as one number."""
    count = len(interface)
    if set(interface) != {Interface.VELOCITY} or not key.has('max_velocity'):
        low, high = (key.value(ActionSpec, bound, count=count) for bound in ('low', 'high'))
        return low, high
    for bound in ('low', 'high'):
        if key.has(bound):
            key.problem((bound,), 'either low and high or max_velocity', Text('both'))
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
        usual = REQUIRED if needed_by in interface else None
        values: Vector = key.value(ActionSpec, name, default=usual, count=len(interface))
        for index, (value, one) in enumerate(zip(values, interface, strict=False)):
            if math.isnan(value) and one is needed_by:
                key.problem((name, index), f'a number, of {one.value}', Text('none'))
            elif not math.isnan(value) and one not in (needed_by, *others):
                known = ', '.join(each for each, of in _OF.items() if one in of)
                hint = f'Limits of {one.value}: low, high, {known}.'
                key.problem((name, index), f'none, of {one.value}', value, hint)
                break
        limits = tuple(math.inf if math.isnan(value) else value for value in values)
        found[name] = limits if min(limits, default=math.inf) < math.inf else ()
    stop = tuple(
        usual if most == math.inf else most
        for most, usual in zip_longest(
            found['max_deceleration'], found['max_acceleration'], fillvalue=math.inf
        )
    )
    found['max_deceleration'] = stop if min(stop, default=math.inf) < math.inf else ()
    return found


def _safe(key: Reader, interface: Sequence[Interface]) -> Vector:
    """Return the safe command: NaN for a position, which is held where it is."""
    held = tuple(one is _POSITION for one in interface)
    if not key.has('safe') and _EFFORT not in interface:
        return tuple(math.nan if holds else 0.0 for holds in held)
    number = Key(unit=OF_VALUE, words=('hold_position',) if any(held) else ())
    safe: Vector = key.many('safe', number_form(number), count=len(held))
    for index, (one, value) in enumerate(zip(interface, safe, strict=True)):
        if one is _POSITION and not math.isnan(value):
            hint = 'A stop sends a robot nowhere; a pose to begin in belongs to the reset.'
            key.problem(('safe', index), 'hold_position, of a position', value, hint)
        elif one is not _POSITION and math.isnan(value):
            key.problem(('safe', index), f'a number, of {one.value}', Text('hold_position'))
    return tuple(math.nan if holds else value for holds, value in zip(held, safe, strict=True))


def _measured(
    key: Reader, model: type[T], command: Values, interface: Sequence[Interface], **given: Any
) -> T:
    """
    Return what measures a value for each dimension of the command.

    Of joints it is, unless the keys say otherwise, that quantity of those that are commanded.
    """
    type_name = key.value(model, 'type')
    count, source, commanded = command.count, command.source, None
    if type_name == JOINTS and len(set(interface)) == 1:
        names = source.names if isinstance(source, (Joints, Array, Trajectory)) else ()
        commanded = Joints(names=names, quantities=(interface[0].value,))
    values = parse_source(key, type_name, COMMAND_FORMS, commanded=commanded)
    # Without a path nothing was read, which is reported already.
    if values.count != count and values.paths != ('',):
        place = ('joints',) if type_name == JOINTS else ('fields',)
        given_paths = any(map(key.has, COMMAND_FORMS))
        hint = '' if given_paths else 'Add `fields: [...]`, a path for each dimension.'
        expected = f'{count} values, one for each dimension of the command'
        key.problem(place, expected, Text(f'{values.count}'), hint)
    return key.make(model, type=type_name, source=values.source, **given)
